//! Where approvals are kept: in memory, or in a folder that the user's processes share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::binding::Binding;
use super::content::{Approval, Content, Pending, Scope, now};
use super::folder::Folder;
use super::question::{Answer, Question};
use crate::error::{Error, Result};
#[cfg(feature = "http")]
use crate::shared::SharedStore;

/// The name of all of it in a store that instances share, and for how long it stays there untouched.
#[cfg(feature = "http")]
const SHARED: &str = "approvals";
#[cfg(feature = "http")]
const LIFE: std::time::Duration = std::time::Duration::from_hours(24 * 45);

/// The approvals that were given, and the questions that wait for an answer. A clone is the same store.
///
/// One in a folder is read anew at every question, so that what another process approves or revokes holds at once.
/// Approvals for once and for a session are kept for a day, questions for a week.
#[derive(Debug, Clone)]
pub struct Approvals {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// All of it without a folder; with one, what is for calls without a session in this process.
    memory: Mutex<Content>,
    place: Option<Place>,
}

/// Where approvals are that outlive the process.
#[derive(Debug)]
enum Place {
    Folder(Folder),
    #[cfg(feature = "http")]
    Shared(Arc<SharedStore>),
}

impl Approvals {
    /// A store that is gone with the process.
    pub fn in_memory() -> Self {
        Self { inner: Arc::new(Inner { memory: Mutex::default(), place: None }) }
    }

    /// A store in a folder of the user's own, which is created when it is first needed.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        let place = Some(Place::Folder(Folder::at(path.into())));
        Self { inner: Arc::new(Inner { memory: Mutex::default(), place }) }
    }

    /// A store that other instances share.
    #[cfg(feature = "http")]
    pub fn shared(store: Arc<SharedStore>) -> Self {
        Self { inner: Arc::new(Inner { memory: Mutex::default(), place: Some(Place::Shared(store)) }) }
    }

    /// Whether a call is approved. An approval for once is used up by this.
    ///
    /// # Errors
    /// When the store cannot be read or is damaged: a warning, by which nothing is approved.
    pub fn allows(&self, binding: &Binding, session: Option<&str>) -> Result<bool> {
        Ok(self.given(binding, session)?.is_some())
    }

    /// The approval by which a call may run, if there is one. One for once is used up by this.
    ///
    /// # Errors
    /// As [`allows`](Self::allows).
    pub fn given(&self, binding: &Binding, session: Option<&str>) -> Result<Option<Approval>> {
        let now = now();
        if let Some(given) = self.memory().take(binding, session, now) {
            return Ok(Some(given));
        }
        let Some(folder) = &self.inner.place else { return Ok(None) };
        match folder.read()?.covering(binding, session, now) {
            // Of two processes that saw it, the first to take it has it.
            Some(given) if given.scope == Scope::Once => {
                let (binding, session) = (binding.clone(), session.map(str::to_owned));
                folder.change(move |content| Ok(content.take(&binding, session.as_deref(), now)))
            }
            given => Ok(given.cloned()),
        }
    }

    /// Keeps an answer that reaches beyond its call; a no and a "once" do not. It is for the user of the binding, if that has one.
    ///
    /// # Errors
    /// When the store cannot be written, is full, or there is no such scope for this question.
    pub fn remember(&self, question: &Question, binding: &Binding, answer: &Answer) -> Result<()> {
        if matches!(answer, Answer::Deny(_) | Answer::Nobody | Answer::Once) {
            return Ok(());
        }
        let pending = Pending::new(identifier()?, question, binding, now());
        let Some(mut approval) = pending.approved(answer, now())? else { return Ok(()) };
        approval.user.clone_from(&binding.user);
        // Without a name, the session is this process.
        if approval.scope == Scope::Session && approval.session.is_none() {
            return self.memory().approve(approval);
        }
        self.change(move |content| content.approve(approval.clone()))
    }

    /// Keeps a question that nobody could be asked, and returns the identifier for [`allow`](Self::allow). Its answer is an
    /// operator's, and for everybody.
    ///
    /// # Errors
    /// When the store cannot be written, is of another version, may have been written by others, or 50 other questions of the
    /// same user (or of the same session, or of calls without either) or 150 of all users and sessions wait in it. A
    /// damaged one is put aside and counts as empty.
    pub fn pend(&self, question: &Question, binding: &Binding) -> Result<String> {
        let pending = Pending::new(identifier()?, question, binding, now());
        self.change(move |content| content.pend(pending.clone()))
    }

    /// The questions that wait, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read or is damaged.
    pub fn pending(&self) -> Result<Vec<Pending>> {
        Ok(self.read()?.pending)
    }

    /// Answers a question that waits; a no takes it out.
    ///
    /// # Errors
    /// When none of that identifier waits, there is no such scope for it, or the store is damaged or cannot be written.
    pub fn allow(&self, id: &str, answer: &Answer) -> Result<Pending> {
        // Whoever answers is told of a damaged store; only a new question begins it anew.
        self.read()?;
        let (id, answer) = (id.to_owned(), answer.clone());
        self.change(move |content| {
            let Some(pending) = content.pending.iter().find(|pending| pending.id == id).cloned() else {
                return Err(Error::Approval(format!(
                    "no question `{id}` waits for an answer; `toolcell approvals pending` lists them"
                )));
            };
            if answer == Answer::Session && pending.session.is_none() {
                let message = format!("`{id}`: the call named no session; approve it once or always");
                return Err(Error::Approval(message));
            }
            let approval = pending.approved(&answer, now())?;
            approval.map(|approval| content.approve(approval)).transpose()?;
            content.pending.retain(|other| other.id != id);
            Ok(pending)
        })
    }

    /// What is approved, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read or is damaged.
    pub fn list(&self) -> Result<Vec<Approval>> {
        Ok(self.read()?.approvals)
    }

    /// Takes an approval, or a question that waits, back; says whether it was there.
    ///
    /// # Errors
    /// When the store is damaged or cannot be written.
    pub fn revoke(&self, id: &str) -> Result<bool> {
        self.read()?;
        let id = id.to_owned();
        self.change(move |content| Ok(content.remove(&id)))
    }

    /// Refuses every question that waits, and says how many there were.
    ///
    /// # Errors
    /// When the store is damaged or cannot be written.
    pub fn refuse_pending(&self) -> Result<usize> {
        self.read()?;
        self.change(|content| Ok(content.refuse_all()))
    }

    /// What is wrong with a store that counts as empty, since it is damaged, of another version, or perhaps written by
    /// others; nothing if it is as it should be.
    ///
    /// # Errors
    /// When it cannot be read for another reason.
    pub fn damage(&self) -> Result<Option<Error>> {
        match &self.inner.place {
            Some(Place::Folder(folder)) => folder.damage(),
            #[cfg(feature = "http")]
            Some(Place::Shared(store)) => {
                let bytes = store.get(SHARED).map_err(unshared)?;
                Ok(content(bytes).map_or_else(Some, |content| content.is_none().then(damaged)))
            }
            None => Ok(None),
        }
    }

    /// Puts a store that is damaged, of another version, or perhaps written by others aside, so that the next question
    /// begins anew; says where it is. None if nothing is wrong with it.
    ///
    /// # Errors
    /// When it cannot be read for another reason, or not be renamed.
    pub fn reset(&self) -> Result<Option<PathBuf>> {
        match &self.inner.place {
            Some(Place::Folder(folder)) => folder.reset(),
            #[cfg(feature = "http")]
            Some(Place::Shared(_)) => Ok(None),
            None => Ok(None),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Content> {
        self.inner.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Result<Content> {
        let mut content = match &self.inner.place {
            Some(folder) => folder.read()?,
            None => Content::default(),
        };
        let memory = self.memory();
        content.approvals.extend(memory.approvals.iter().cloned());
        content.pending.extend(memory.pending.iter().cloned());
        content.prune(now());
        Ok(content)
    }

    /// Changes all of it or, on an error of `change`, which then must have changed nothing, none of it.
    fn change<T: Send + 'static>(
        &self,
        mut change: impl FnMut(&mut Content) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.inner.place {
            Some(folder) => folder.change(change),
            None => {
                let mut memory = self.memory();
                memory.prune(now());
                change(&mut memory)
            }
        }
    }
}

impl Place {
    fn read(&self) -> Result<Content> {
        match self {
            Self::Folder(folder) => folder.read(),
            #[cfg(feature = "http")]
            Self::Shared(store) => content(store.get(SHARED).map_err(unshared)?)?.ok_or_else(damaged),
        }
    }

    fn change<T: Send + 'static>(
        &self,
        mut change: impl FnMut(&mut Content) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Folder(folder) => folder.change(change),
            #[cfg(feature = "http")]
            Self::Shared(store) => store
                .change(SHARED, |bytes| {
                    // What is damaged approves nothing, and must not keep others from being approved.
                    let mut content = content(bytes).map_err(Changing::Refused)?.unwrap_or_default();
                    content.prune(now());
                    let changed = change(&mut content).map_err(Changing::Refused)?;
                    let bytes =
                        serde_json::to_vec(&content).map_err(|error| Changing::Broken(error.into()))?;
                    Ok((bytes, LIFE, changed))
                })
                .map_err(|error| match error {
                    Changing::Refused(error) => error,
                    Changing::Broken(error) => unshared(error),
                }),
        }
    }
}

/// Why something in a shared store is not changed.
#[cfg(feature = "http")]
enum Changing {
    Refused(Error),
    Broken(std::io::Error),
}

#[cfg(feature = "http")]
impl From<std::io::Error> for Changing {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error)
    }
}

/// What is kept in a store that instances share; none if it is damaged.
///
/// # Errors
/// When it is of another version.
#[cfg(feature = "http")]
fn content(bytes: Option<Vec<u8>>) -> Result<Option<Content>> {
    let Some(bytes) = bytes else { return Ok(Some(Content::default())) };
    match serde_json::from_slice::<Content>(&bytes) {
        Ok(content) if !content.is_known() => {
            let told = "the approvals in the store that instances share are of another version; nothing counts as approved";
            Err(Error::Approval(told.to_owned()))
        }
        read => Ok(read.ok()),
    }
}

#[cfg(feature = "http")]
fn damaged() -> Error {
    let told = "the approvals in the store that instances share are damaged; nothing counts as approved";
    Error::Approval(told.to_owned())
}

#[cfg(feature = "http")]
fn unshared(error: std::io::Error) -> Error {
    Error::Approval(format!("the store that instances share cannot be used: {error}"))
}

/// A new identifier: 64 random bits, so that none is ever met twice.
fn identifier() -> Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Approval(format!("no random bytes for an identifier: {error}")))?;
    Ok(bytes.iter().fold("a-".to_owned(), |id, byte| id + &format!("{byte:02x}")))
}
