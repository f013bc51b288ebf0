//! The component's side: WIT in, [`run`] out.

use std::path::Path;
use std::rc::Rc;

use granted::{Grants, show};

use crate::host::Host;
use crate::run::{Answer, run};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "js", generate_all });
}

use bindings::exports::toolcell::js::tools::Guest;
use bindings::toolcell::tool::types::{Content, Output};
use bindings::toolcell::tool::{events, files};
use bindings::wasi::keyvalue::store::{self, Bucket, Error};

struct Component;

bindings::export!(Component with_types_in bindings);

/// The bucket and the key of the state.
const STATE: &str = "state";

/// Bytes that go to the host at once.
const PIECE: usize = 256 * 1024;

struct Toolcell;

fn kept(error: Error) -> String {
    match error {
        Error::AccessDenied => {
            "there is no `state` here: this tool may keep nothing. Its operator allows it with \
             `grant.state = \"session\"`"
                .to_owned()
        }
        Error::NoSuchStore => "there is no `state` here: the host has no place for it".to_owned(),
        Error::Other(text) => format!("`state`: {text}"),
    }
}

fn bucket() -> Result<Bucket, String> {
    store::open(STATE).map_err(kept)
}

fn refusal(path: &Path, error: &files::FileError) -> String {
    match error.kind.as_str() {
        "not-permitted" => format!("not permitted: cannot write {}: {}", show(path), error.message),
        _ => format!("cannot write {}: {}", show(path), error.message),
    }
}

impl Host for Toolcell {
    fn show(&self, text: &str) {
        events::emit(&Content::Text(text.to_owned()));
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        let name = path.to_str().ok_or("the path is not UTF-8")?;
        let words = |error| refusal(path, &error);
        let replacement = files::Replacement::open(name, false).map_err(words)?;
        for piece in bytes.chunks(PIECE) {
            replacement.write(piece).map_err(words)?;
        }
        replacement.commit().map_err(words)
    }

    fn state(&self) -> Result<Option<String>, String> {
        let bytes = bucket()?.get(STATE).map_err(kept)?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| "`state` is kept in a form that cannot be read".to_owned())
    }

    fn set_state(&self, text: &str) -> Result<(), String> {
        bucket()?.set(STATE, text.as_bytes()).map_err(kept)
    }
}

/// What the model reads after what was printed, and all of it for programs.
fn output(answer: Answer) -> Output {
    let Answer { json, text, printed } = answer;
    let value = json.as_ref().map(|json| format!("\"value\":{json}"));
    let console = printed.as_ref().map(|json| format!("\"console\":{json}"));
    let members: Vec<String> = value.into_iter().chain(console).collect();
    let block = match (text, json) {
        (Some(text), _) => Some(Content::Text(text)),
        (None, Some(json)) => Some(Content::Json(json)),
        (None, None) if printed.is_some() => None,
        (None, None) => Some(Content::Text("undefined".to_owned())),
    };
    Output { content: block.into_iter().collect(), structured: Some(format!("{{{}}}", members.join(","))) }
}

impl Guest for Component {
    fn run_js(code: String) -> Result<Output, String> {
        let dirs = wasip2::filesystem::preopens::get_directories();
        let grants = Grants::new(dirs.into_iter().map(|(_, name)| name));
        run(&code, Rc::new(Toolcell), grants).map(output)
    }
}
