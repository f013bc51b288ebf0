//! Placeholder of the module `sandbox`.
