//! Placeholder of the module `schema`.
