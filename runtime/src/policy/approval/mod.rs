//! Approvals: the question that stands for every ask about a call, who answers it, and what stays of the answer.
//!
//! An approval is bound to what was shown: [`Binding`] hashes the tool's identity, its component's content, what it
//! is granted and the arguments. Whatever differs in any of these is another call, about which is asked again.

mod binding;
mod content;
mod folder;
mod question;
mod store;
#[cfg(test)]
mod tests;

pub use binding::{Binding, Bound};
pub use content::{Approval, Pending, Scope};
pub use question::{Answer, Approver, Question, Reason};
pub use store::Approvals;
