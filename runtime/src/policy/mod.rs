//! What is allowed: grants, what no grant may let a tool write, rules on calls and their approval, and which
//! configurations are trusted.

mod approval;
mod deny;
mod deterministic;
mod digest;
mod entries;
mod grant;
mod http;
mod narrowing;
mod pins;
mod private;
mod protect;
mod rule;
mod secret;
mod switches;
mod target;
mod trust;

pub use approval::{Answer, Approval, Approvals, Approver, Binding, Bound, Pending, Question, Reason, Scope};
pub use deny::DenySet;
pub(crate) use deny::{normal, split_literal};
pub use deterministic::Deterministic;
pub(crate) use deterministic::clock as deterministic_clock;
pub use digest::Digest;
pub(crate) use digest::hexadecimal;
pub use grant::{Access, DirGrant, Grant, StateScope};
pub(crate) use http::FaultItem;
pub use http::{Credential, HttpGrant};
#[cfg(feature = "http")]
pub(crate) use http::{HOST_HEADERS, is_never_sent};
pub use narrowing::Narrowing;
pub use pins::Pins;
pub use private::ensure_private;
pub use protect::Protected;
pub use rule::{
    Action, Decision, GuestPaths, Matcher, NoPaths, Rule, RulePart, RuleSource, Rules, Subject, ToolRules,
};
pub(crate) use rule::{Filters, Known, MAX_PATH, ToolGlob, lexical, squeezed};
pub use secret::{MIN_SECRET_BYTES, Secret, SecretSource};
pub use switches::Switches;
#[cfg(feature = "http")]
pub(crate) use target::{hyphened, leads_elsewhere};
pub use trust::TrustStore;
