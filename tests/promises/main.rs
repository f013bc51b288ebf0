//! The promises of toolcell, one file each.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up fails")]

mod a_call_costs_little;
mod a_call_gives_a_result;
mod a_deadline_ends_whatever_a_guest_does;
mod a_failure_has_a_kind_of_its_own;
mod a_guest_cannot_harm_the_host;
mod a_guest_meets_no_other_call;
mod an_embedder_gets_back_what_calls_took;
mod an_embedder_may_call_from_anywhere;
mod every_limit_is_named_when_it_is_hit;
