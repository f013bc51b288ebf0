//! Placeholder of the module `tool`.
