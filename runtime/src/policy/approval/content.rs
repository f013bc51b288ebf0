//! What is remembered: approvals and questions without an answer. Plain data with the rules of its use; times are
//! seconds since 1970.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::question::{Answer, Question, plain_name};
use crate::error::{Error, Result};
use crate::policy::private::VERSION;

/// How long an approval for once or for a session waits for its call.
const SHORT_LIFE: u64 = 24 * 3600;

/// How long a question waits for its answer.
const PENDING_LIFE: u64 = 7 * 24 * 3600;

/// Questions of one asker that wait; none gives way to another of the same, so that what is asked last cannot hide what was
/// asked first. A model that tries variants must not fill the disk, nor the place of others.
const MAX_OF_ONE: usize = 50;

/// Questions of all askers that are known, by a user or a session; those that are not have a place of their own. The oldest
/// of whoever has most gives way to one of who has fewer: sessions that have ended leave theirs behind.
const MAX_OF_KNOWN: usize = 150;

/// Approvals. Each takes about a kilobyte, so that all of them stay well below what a file may have.
const MAX_APPROVALS: usize = 5000;

/// Bytes of arguments that are kept to be shown.
const MAX_ARGUMENTS: usize = 8 << 10;

/// Bytes of anything else that is kept to be shown.
const MAX_WORDS: usize = 512;

/// Reasons that are kept to be shown.
const MAX_REASONS: usize = 16;

/// How far an approval reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scope {
    /// One call.
    Once,
    /// This call again, in the session.
    Session,
    /// This call again.
    Always,
    /// Every call about which the same rules ask.
    ByRule,
}

/// Something that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Approval {
    /// Its identifier.
    pub id: String,
    /// How far it reaches.
    pub scope: Scope,
    /// The name of the tool.
    pub tool: String,
    /// The name of its component.
    pub component: String,
    /// What it covers in words: arguments, or rules.
    pub covers: String,
    /// The session, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The user whose calls alone it covers, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When it was given, in seconds since 1970.
    pub given: u64,
    /// The digest of what it is bound to.
    pub binding: String,
}

/// A question that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Pending {
    /// Its identifier.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The name of its component.
    pub component: String,
    /// The digest of its component.
    pub digest: String,
    /// The arguments as JSON, cut in the middle where they are long.
    pub arguments: String,
    /// Whether `arguments` was cut.
    pub is_cut: bool,
    /// Why it was asked.
    pub reasons: Vec<String>,
    /// What an approval by rule would cover, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_rule: Option<String>,
    /// The session of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The user who called, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When it was asked, in seconds since 1970.
    pub asked: u64,
    /// The digest of exactly this call.
    pub binding: String,
    /// The digest of all calls about which the same rules ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_binding: Option<String>,
}

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Asker<'a> {
    User(&'a str),
    Session(&'a str),
    Unknown,
}

impl Asker<'_> {
    fn words(self) -> &'static str {
        match self {
            Self::User(_) => "of this user",
            Self::Session(_) => "of this session",
            Self::Unknown => "without a session",
        }
    }
}

/// Everything that is remembered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    version: u32,
    pub(super) approvals: Vec<Approval>,
    pub(super) pending: Vec<Pending>,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: VERSION, approvals: Vec::new(), pending: Vec::new() }
    }
}

impl Scope {
    /// How far it reaches, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "for the session",
            Self::Always => "always, exactly this",
            Self::ByRule => "always, by this rule",
        }
    }
}

impl Pending {
    /// The question as it is kept.
    pub(super) fn new(id: String, question: &Question, binding: &Binding, now: u64) -> Self {
        let arguments = question.shown(false);
        let reasons = question.reasons.iter().take(MAX_REASONS);
        Self {
            id,
            tool: excerpt(&question.tool, MAX_WORDS),
            component: excerpt(&question.component, MAX_WORDS),
            digest: excerpt(&question.digest, MAX_WORDS),
            is_cut: arguments.len() > MAX_ARGUMENTS,
            arguments: excerpt(&arguments, MAX_ARGUMENTS),
            reasons: reasons
                .map(|reason| excerpt(&format!("{} ({})", reason.text, reason.source), MAX_WORDS))
                .collect(),
            by_rule: question.by_rule.as_deref().map(|words| excerpt(words, MAX_WORDS)),
            session: question.session.clone(),
            user: binding.user.clone(),
            asked: now,
            binding: binding.exact.to_string(),
            rule_binding: binding.by_rule.map(|digest| digest.to_string()),
        }
    }

    /// Who asked: the user where one is known, else the session.
    fn asker(&self) -> Asker<'_> {
        match (&self.user, &self.session) {
            (Some(user), _) => Asker::User(user),
            (None, Some(session)) => Asker::Session(session),
            (None, None) => Asker::Unknown,
        }
    }

    /// The approval that an answer makes of it; none for a no.
    ///
    /// # Errors
    /// When there is no such scope for this question.
    pub(super) fn approved(&self, answer: &Answer, now: u64) -> Result<Option<Approval>> {
        let scope = match answer {
            Answer::Deny(_) | Answer::Nobody => return Ok(None),
            Answer::Once => Scope::Once,
            Answer::Session => Scope::Session,
            Answer::Always => Scope::Always,
            Answer::AlwaysByRule => Scope::ByRule,
        };
        let binding = match (scope, &self.rule_binding) {
            (Scope::ByRule, Some(binding)) => binding.clone(),
            (Scope::ByRule, None) => {
                let message =
                    format!("{}: no rule asked about this call; approve it exactly as it is", self.id);
                return Err(Error::Approval(message));
            }
            _ => self.binding.clone(),
        };
        let covers = match scope {
            Scope::ByRule => self.by_rule.clone().unwrap_or_default(),
            _ => excerpt(&self.arguments, MAX_WORDS),
        };
        Ok(Some(Approval {
            id: self.id.clone(),
            scope,
            tool: self.tool.clone(),
            component: self.component.clone(),
            covers,
            session: self.session.clone().filter(|_| matches!(scope, Scope::Session | Scope::Once)),
            user: None,
            given: now,
            binding,
        }))
    }
}

impl Content {
    /// Whether this version of it is the one that is known.
    #[cfg(feature = "http")]
    pub(super) fn is_known(&self) -> bool {
        self.version == VERSION
    }

    /// The approval that covers a call, the one that lasts longest first.
    pub(super) fn covering(&self, binding: &Binding, session: Option<&str>, now: u64) -> Option<&Approval> {
        let session = session.map(plain_name);
        let exact = binding.exact.to_string();
        let by_rule = binding.by_rule.map(|digest| digest.to_string());
        let covers = |approval: &&Approval| {
            lives(approval, now)
                && (approval.user.is_none() || approval.user == binding.user)
                && match approval.scope {
                    Scope::ByRule => by_rule.as_ref() == Some(&approval.binding),
                    Scope::Session => approval.binding == exact && approval.session == session,
                    Scope::Once => {
                        approval.binding == exact
                            && (approval.session.is_none() || approval.session == session)
                    }
                    Scope::Always => approval.binding == exact,
                }
        };
        let lasting = self.approvals.iter().filter(covers);
        lasting.min_by_key(|approval| approval.scope == Scope::Once)
    }

    /// The same; one for once is used up by this.
    pub(super) fn take(&mut self, binding: &Binding, session: Option<&str>, now: u64) -> Option<Approval> {
        let given = self.covering(binding, session, now)?.clone();
        if given.scope == Scope::Once {
            self.remove(&given.id);
        }
        Some(given)
    }

    /// Takes out an approval or a question; says whether it was there.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let before = self.approvals.len() + self.pending.len();
        self.approvals.retain(|approval| approval.id != id);
        self.pending.retain(|pending| pending.id != id);
        self.approvals.len() + self.pending.len() < before
    }

    /// Adds an approval, unless the same is there already.
    pub(super) fn approve(&mut self, approval: Approval) -> Result<()> {
        let is_same = |other: &Approval| {
            (other.scope, &other.binding, &other.session, &other.user)
                == (approval.scope, &approval.binding, &approval.session, &approval.user)
        };
        self.approvals.retain(|other| !is_same(other));
        if self.approvals.len() >= MAX_APPROVALS {
            return Err(Error::Approval(format!("there are {MAX_APPROVALS} approvals; revoke some")));
        }
        self.approvals.push(approval);
        Ok(())
    }

    /// Keeps a question, and returns the identifier by which it can be answered: that of the same question, if it
    /// waits already.
    ///
    /// # Errors
    /// When as many of its asker, or of all, wait as are kept.
    pub(super) fn pend(&mut self, question: Pending) -> Result<String> {
        let same = self
            .pending
            .iter_mut()
            .find(|other| (&other.binding, &other.session) == (&question.binding, &question.session));
        if let Some(same) = same {
            *same = Pending { id: same.id.clone(), ..question };
            return Ok(same.id.clone());
        }
        let asker = question.asker();
        let waiting = |counts: &dyn Fn(&Asker<'_>) -> bool| {
            self.pending.iter().filter(|pending| counts(&pending.asker())).count()
        };
        let full = if waiting(&|other| *other == asker) >= MAX_OF_ONE {
            Some(format!("{MAX_OF_ONE} calls {}", asker.words()))
        } else {
            let is_full =
                asker != Asker::Unknown && waiting(&|other| *other != Asker::Unknown) >= MAX_OF_KNOWN;
            match is_full.then(|| self.oldest_of_most(waiting(&|other| *other == asker))) {
                Some(None) => Some(format!("{MAX_OF_KNOWN} calls of users and sessions")),
                Some(Some(oldest)) => {
                    let dropped = self.pending.remove(oldest);
                    tracing::warn!(
                        approval = %dropped.id, tool = %dropped.tool,
                        "a question gave way: {MAX_OF_KNOWN} wait, most of them of who asked this one"
                    );
                    None
                }
                None => None,
            }
        };
        if let Some(calls) = full {
            return Err(Error::Approval(format!(
                "{calls} wait for an approval, and no more are kept: `toolcell approvals pending` lists them, `allow ID` \
                 and `revoke ID` answer one, and `revoke --pending` refuses all"
            )));
        }
        let id = question.id.clone();
        self.pending.push(question);
        Ok(id)
    }

    /// The oldest question of the known asker with most of them, if these are more than `own` and one, or if there are none
    /// of its own: what is left of sessions that have ended is one of each, maybe.
    fn oldest_of_most(&self, own: usize) -> Option<usize> {
        let mut counts: HashMap<Asker<'_>, usize> = HashMap::new();
        for pending in self.pending.iter().filter(|pending| pending.asker() != Asker::Unknown) {
            *counts.entry(pending.asker()).or_default() += 1;
        }
        let most = counts.values().copied().max().filter(|most| own == 0 || *most > own + 1)?;
        // What was kept first was asked first.
        self.pending.iter().position(|pending| counts.get(&pending.asker()) == Some(&most))
    }

    /// Takes out every question, and says how many there were.
    pub(super) fn refuse_all(&mut self) -> usize {
        std::mem::take(&mut self.pending).len()
    }

    /// Forgets what is too old.
    pub(super) fn prune(&mut self, now: u64) {
        self.approvals.retain(|approval| lives(approval, now));
        self.pending.retain(|pending| now.saturating_sub(pending.asked) < PENDING_LIFE);
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

fn lives(approval: &Approval, now: u64) -> bool {
    matches!(approval.scope, Scope::Always | Scope::ByRule) || now.saturating_sub(approval.given) < SHORT_LIFE
}

/// At most about `most` bytes of `text`: its beginning and its end, and how much is missing between them.
fn excerpt(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    let (head, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{head} … [{} bytes not shown] … {end}", text.len() - head.len() - end.len())
}
