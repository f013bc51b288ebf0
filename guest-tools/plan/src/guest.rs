//! The component's side: WIT in, [`Plan`] out.

use crate::{Change, Keep, Plan, Status, Task};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "plan", generate_all });
}

use bindings::exports::toolcell::plan::tools::{Guest, Status as WitStatus, Task as WitTask};
use bindings::toolcell::tool::context;
use bindings::toolcell::tool::events::{self, Level};
use bindings::wasi::keyvalue::store::{self, Bucket, Error};
use bindings::wasi::keyvalue::{atomics, batch};

struct Component;

bindings::export!(Component with_types_in bindings);

/// The host's values of this session.
struct Host(Bucket);

fn words(error: Error) -> String {
    match error {
        Error::AccessDenied => {
            "the plan cannot be kept: this tool may keep nothing. Its operator allows it with \
                                `grant.state = \"session\"`"
                .to_owned()
        }
        Error::NoSuchStore => "the plan cannot be kept: the host has no place for it".to_owned(),
        Error::Other(text) => format!("the plan cannot be kept: {text}"),
    }
}

impl Keep for Host {
    fn get(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, String> {
        let found = batch::get_many(&self.0, &keys).map_err(words)?;
        Ok(found.into_iter().map(|found| found.map(|(_, value)| value)).collect())
    }

    fn set(&self, values: Vec<(String, Vec<u8>)>) -> Result<(), String> {
        batch::set_many(&self.0, &values).map_err(words)
    }

    fn keys(&self) -> Result<Vec<String>, String> {
        let mut page = self.0.list_keys(None).map_err(words)?;
        let mut keys = page.keys;
        while page.cursor.is_some() {
            page = self.0.list_keys(page.cursor).map_err(words)?;
            keys.append(&mut page.keys);
        }
        Ok(keys)
    }

    fn next(&self, key: &str) -> Result<u64, String> {
        atomics::increment(&self.0, key, 1).map_err(words)
    }
}

fn plan() -> Result<Plan<Host>, String> {
    store::open("plan").map(|bucket| Plan::new(Host(bucket))).map_err(words)
}

/// Without a session, each call may have a plan of its own, which a model cannot know.
fn with_session(error: String) -> String {
    match context::session() {
        Some(_) => error,
        None => {
            format!("{error}. This call belongs to no session, so tasks of earlier calls may not be kept")
        }
    }
}

/// Tells the operator the same where nothing fails by it.
fn warn_without_session() {
    if context::session().is_none() {
        let words = "this call belongs to no session, so the plan may end with it; name a session, as by `--session`, \
                     or grant `state = \"persistent\"`";
        events::log(Level::Warn, words);
    }
}

fn status(status: WitStatus) -> Status {
    match status {
        WitStatus::Pending => Status::Pending,
        WitStatus::InProgress => Status::InProgress,
        WitStatus::Done => Status::Done,
        WitStatus::Cancelled => Status::Cancelled,
    }
}

fn task(task: Task) -> WitTask {
    let status = match task.status {
        Status::Pending => WitStatus::Pending,
        Status::InProgress => WitStatus::InProgress,
        Status::Done => WitStatus::Done,
        Status::Cancelled => WitStatus::Cancelled,
    };
    WitTask { id: task.id, title: task.title, status, details: task.details }
}

impl Guest for Component {
    fn create_task(title: String, details: Option<String>) -> Result<WitTask, String> {
        let created = plan()?.create(&title, details.as_deref())?;
        // One with others before it shows that they are kept.
        if created.id == 1 {
            warn_without_session();
        }
        Ok(task(created))
    }

    fn get_task(id: u32) -> Result<WitTask, String> {
        plan()?.get(id).map(task).map_err(with_session)
    }

    fn list_tasks(only: Option<WitStatus>) -> Result<Vec<WitTask>, String> {
        let tasks = plan()?.list(only.map(status))?;
        if tasks.is_empty() {
            warn_without_session();
        }
        Ok(tasks.into_iter().map(task).collect())
    }

    fn update_task(
        id: u32,
        now: Option<WitStatus>,
        title: Option<String>,
        details: Option<String>,
    ) -> Result<WitTask, String> {
        let change = Change { status: now.map(status), title, details };
        plan()?.update(id, &change).map(task).map_err(with_session)
    }
}
