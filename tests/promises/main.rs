//! The promises of toolcell, one file each.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up fails")]

mod a_call_costs_little;
mod a_call_gives_a_result;
mod the_command_line_checks;
mod the_command_line_exits_with_the_kind;
mod the_command_line_grants;
mod the_command_line_lists_and_calls;
mod the_command_line_says;
mod the_command_line_takes_arguments;
mod the_command_line_trusts;
