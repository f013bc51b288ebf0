//! The question about a call, and who answers it.

use std::future::Future;

use async_trait::async_trait;
use serde_json::Value;

use crate::output::{clean, visible};
use crate::policy::Digest;

/// The longest name of a session or a user, in bytes, that is shown and kept; of a longer one its hash is.
const MAX_NAME: usize = 512;

/// Characters of a call's identifier that are shown.
const MAX_ID: usize = 64;

/// Everything that is asked about one call. All but the arguments may be shown on a terminal as it is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// The name of the tool.
    pub tool: String,
    /// The name of its component.
    pub component: String,
    /// The digest of its component.
    pub digest: String,
    /// The arguments with which it will run, secrets hidden, and nothing else: [`shown`](Self::shown) has them for readers.
    pub arguments: Value,
    /// Why it is asked.
    pub reasons: Vec<Reason>,
    /// What [`Answer::AlwaysByRule`] would cover, in words; none if that is no answer to this question.
    pub by_rule: Option<String>,
    /// The session of the call: its name, quoted where that could not be shown as it is, or a hash of a long one.
    pub session: Option<String>,
    /// The identifier that the caller gave the call; null if it has none.
    pub call: Value,
    /// Where the call stands among several of one message, counted from 1, and how many these are; nothing where it is alone.
    pub batch: Option<(usize, usize)>,
}

/// One reason to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// Who asks: a rule with its place, a hook by name, the default.
    pub source: String,
    /// Why, in words.
    pub text: String,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// No, possibly with a reason for the model.
    Deny(Option<String>),
    /// Nobody could be asked after all: the question waits in the store of approvals.
    Nobody,
    /// This once.
    Once,
    /// Exactly this, for the rest of the session.
    Session,
    /// Exactly this, from now on.
    Always,
    /// Every call of this tool about which the same rules ask, from now on. A "no" where there is no such scope.
    AlwaysByRule,
}

/// Answers questions about calls. A closure `|question| async { … }` is one too.
///
/// It is given the time that is left of the call; dropped when the call ends before it has answered.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Answers one question; several may be asked at once.
    async fn ask(&self, question: &Question) -> Answer;

    /// Who answers, in a word, for records. The default is `callback`.
    fn name(&self) -> &str {
        "callback"
    }

    /// Whether somebody can be asked about the call that runs on this task. If not, the question waits in the store of
    /// approvals. The default is yes.
    fn is_there(&self) -> bool {
        true
    }

    /// Whether questions about the calls of one batch come one at a time and in the order of the calls, each once all calls
    /// before it are decided. The default is no: several are asked at once, as their calls come to it.
    fn is_asked_in_order(&self) -> bool {
        false
    }

    /// Whether who calls is who answers. Then an answer holds for the calls of its user alone, if the session names one. The
    /// default is no: an operator answers, for everybody.
    fn is_caller(&self) -> bool {
        false
    }
}

#[async_trait]
impl<F, A> Approver for F
where
    F: Fn(Question) -> A + Send + Sync,
    A: Future<Output = Answer> + Send,
{
    async fn ask(&self, question: &Question) -> Answer {
        self(question.clone()).await
    }
}

impl Question {
    /// A question about a call of `tool` with these arguments, in which secrets are hidden already.
    pub fn new(tool: &str, component: &str, digest: &str, arguments: Value) -> Self {
        Self {
            tool: line(tool),
            component: line(component),
            digest: line(digest),
            arguments,
            reasons: Vec::new(),
            by_rule: None,
            session: None,
            call: Value::Null,
            batch: None,
        }
    }

    /// The arguments as JSON, on several lines if it is to be `pretty`, in which everything is to be seen: what a terminal would
    /// obey or a reader would not see is escaped.
    pub fn shown(&self, pretty: bool) -> String {
        let document = match pretty {
            true => serde_json::to_string_pretty(&self.arguments).ok(),
            false => None,
        };
        visible(&document.unwrap_or_else(|| self.arguments.to_string())).into_owned()
    }

    /// Which call it is about, where that is one of several: its place, and its identifier as JSON, of which at most 64
    /// characters, in which everything is to be seen.
    pub fn shown_call(&self) -> Option<String> {
        let (nth, calls) = self.batch?;
        let id = visible(&self.call.to_string()).chars().take(MAX_ID).collect::<String>();
        Some(format!("Call {nth} of {calls}, with the id {id}"))
    }

    /// Adds a reason.
    #[must_use]
    pub fn reason(mut self, source: &str, text: &str) -> Self {
        self.reasons.push(Reason { source: line(source), text: line(text) });
        self
    }

    /// Offers the wider scope.
    #[must_use]
    pub fn by_rule(mut self, words: &str) -> Self {
        self.by_rule = Some(line(words));
        self
    }

    /// Sets the identifier of the call.
    #[must_use]
    pub fn call(mut self, id: &Value) -> Self {
        self.call = id.clone();
        self
    }

    /// Says that the call is the `nth` of several; of one alone it says nothing.
    #[must_use]
    pub fn of_batch(mut self, nth: usize, calls: usize) -> Self {
        self.batch = Some((nth, calls)).filter(|_| calls > 1);
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn session(mut self, session: &str) -> Self {
        self.session = Some(plain_name(session));
        self
    }
}

/// A session or a user as it is shown and compared: no two names become one, and none is more than a line.
pub(super) fn plain_name(name: &str) -> String {
    if name.len() > MAX_NAME {
        return Digest::of(name.as_bytes()).to_string();
    }
    let is_plain = line(name) == name && !name.starts_with('"') && !name.starts_with("sha256:");
    if is_plain { name.to_owned() } else { format!("{name:?}") }
}

/// `text` cleaned and on one line: a second one could pass for ours.
fn line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}
