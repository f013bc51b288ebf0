//! The promises of toolcell, one file each.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up fails")]

mod a_call_costs_little;
mod a_call_gives_a_result;
mod the_architecture_is_as_documented;
mod the_readme_is_true;
