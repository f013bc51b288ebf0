//! Placeholder of the module `output`.
