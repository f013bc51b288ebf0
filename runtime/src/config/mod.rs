//! Placeholder of the module `config`.
