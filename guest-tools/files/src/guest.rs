//! The component's side: WIT in, [`tools`](crate::tools) out.

use std::path::Path;

use crate::page::Budget;
use crate::replace::{PIECE, Replace};
use crate::tools::{edit_file, glob, grep, list_dir, read_file, write_file};
use crate::{Answer, Workspace};
use granted::{Grants, show};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "files", generate_all });
}

use bindings::exports::toolcell::files::tools::{GrepOutput, Guest};
use bindings::toolcell::tool::{context, files};

struct Component;

bindings::export!(Component with_types_in bindings);

fn workspace() -> Workspace {
    let dirs = wasip2::filesystem::preopens::get_directories();
    let budget = context::output_budget();
    Workspace {
        grants: Grants::new(dirs.into_iter().map(|(_, name)| name)),
        budget: Budget { bytes: budget.bytes, lines: budget.lines },
    }
}

/// Replacing through the host, which cleans up if the call dies on the way.
struct HostReplace;

impl Replace for HostReplace {
    fn replace(&self, path: &Path, pieces: &mut dyn Iterator<Item = &[u8]>) -> Result<(), String> {
        let name = path.to_str().ok_or("the path is not UTF-8")?;
        let words = |error| refusal(path, &error);
        let replacement = files::Replacement::open(name, true).map_err(words)?;
        for piece in pieces.flat_map(|piece| piece.chunks(PIECE)) {
            replacement.write(piece).map_err(words)?;
        }
        replacement.commit().map_err(words)
    }
}

/// The host's reason, with what it is the reason of.
fn refusal(path: &Path, error: &files::FileError) -> String {
    match error.kind.as_str() {
        "permissions" => format!(
            "cannot write {}: the permissions of the file, or of a folder above it, do not allow it",
            show(path)
        ),
        "not-permitted" => format!("not permitted: cannot write {}: {}", show(path), error.message),
        _ => format!("cannot write {}: {}", show(path), error.message),
    }
}

impl Guest for Component {
    fn read_file(path: String, offset: Option<u32>, limit: Option<u32>) -> Answer {
        read_file::read_file(&workspace(), &path, offset, limit)
    }

    fn write_file(path: String, content: String) -> Answer {
        write_file::write_file(&workspace(), &HostReplace, &path, &content)
    }

    fn edit_file(path: String, old: String, new: String, all: Option<bool>) -> Answer {
        let edit = edit_file::Edit { old: &old, new: &new, all: all.unwrap_or(false) };
        edit_file::edit_file(&workspace(), &HostReplace, &path, &edit)
    }

    fn list_dir(path: Option<String>, offset: Option<u32>) -> Answer {
        list_dir::list_dir(&workspace(), path.as_deref(), offset)
    }

    fn glob(
        pattern: String,
        path: Option<String>,
        skip_ignored: Option<bool>,
        offset: Option<u32>,
    ) -> Answer {
        let query = glob::Query {
            pattern: &pattern,
            path: path.as_deref(),
            skip_ignored: skip_ignored.unwrap_or(false),
            offset,
        };
        glob::glob(&workspace(), &query)
    }

    fn grep(
        pattern: String,
        path: Option<String>,
        glob: Option<String>,
        ignore_case: Option<bool>,
        literal: Option<bool>,
        context: Option<u32>,
        show: Option<GrepOutput>,
        max_results: Option<u32>,
        include_ignored: Option<bool>,
        offset: Option<u32>,
    ) -> Answer {
        let query = grep::Query {
            pattern: &pattern,
            path: path.as_deref(),
            glob: glob.as_deref(),
            ignore_case: ignore_case.unwrap_or(false),
            literal: literal.unwrap_or(false),
            context: context.unwrap_or(0),
            show: match show {
                None | Some(GrepOutput::Lines) => grep::Show::Lines,
                Some(GrepOutput::Files) => grep::Show::Files,
                Some(GrepOutput::Counts) => grep::Show::Counts,
            },
            max_results: max_results.unwrap_or(grep::DEFAULT_RESULTS),
            offset,
            include_ignored: include_ignored.unwrap_or(false),
        };
        grep::grep(&workspace(), &query)
    }
}
