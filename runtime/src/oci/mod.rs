//! Components from registries that speak the distribution protocol of the OCI: what a reference means now, and the bytes of what
//! was locked. Nothing here is part of a call; whoever loads a component reads what was kept.
//!
//! In reading order: [`Client`] is asked, `session` is one conversation with one registry, `transport` makes its connections,
//! `manifest` and `challenge` read what comes, `credentials` and `helper` find what docker keeps.

mod challenge;
mod client;
mod credentials;
mod failure;
mod helper;
mod manifest;
mod session;
mod transport;

pub use client::{Access, Client};
pub use credentials::docker_config;
