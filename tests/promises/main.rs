//! The promises of toolcell, one file each.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up fails")]

mod a_batch_answers_every_call_in_order;
mod a_cache_is_never_trusted_blindly;
mod a_call_costs_little;
mod a_call_gives_a_result;
mod a_deadline_ends_whatever_a_guest_does;
mod a_failure_has_a_kind_of_its_own;
mod a_file_tool_reads_pages;
mod a_file_tool_says_who_refuses;
mod a_file_tool_searches_to_an_end;
mod a_file_tool_writes_whole_or_not_at_all;
mod a_format_carries_calls_and_results;
mod a_format_describes_tools;
mod a_guest_cannot_harm_the_host;
mod a_guest_meets_no_other_call;
mod a_load_names_every_import;
mod a_load_says_what_a_file_is;
mod a_tool_cannot_change_what_it_may_only_read;
mod a_tool_cannot_leave_its_grant;
mod a_tool_cannot_open_special_files;
mod a_tool_cannot_see_what_is_not_granted;
mod a_tool_cannot_touch_what_is_denied;
mod an_argument_is_mended_or_refused;
mod an_argument_reaches_a_command;
mod an_embedder_gets_back_what_calls_took;
mod an_embedder_may_call_from_anywhere;
mod an_output_fits_its_bounds;
mod an_output_matches_its_schema;
mod every_limit_is_named_when_it_is_hit;
mod the_architecture_is_as_documented;
mod the_command_line_checks;
mod the_command_line_exits_with_the_kind;
mod the_command_line_grants;
mod the_command_line_lists_and_calls;
mod the_command_line_says;
mod the_command_line_takes_arguments;
mod the_command_line_trusts;
mod the_readme_is_true;
