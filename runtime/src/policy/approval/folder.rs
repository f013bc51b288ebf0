//! Approvals in a folder that the user's processes share.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use super::content::{Content, now};
use crate::error::{Error, Result};
use crate::policy::private::{PrivateFile, ensure_private};

/// A folder of the user's own, with the approvals in one file.
pub(super) struct Folder {
    path: PathBuf,
    file: PrivateFile,
    /// What is to be changed in the file next.
    wishes: Mutex<Vec<Wish>>,
    /// Held by whoever changes it.
    turn: Mutex<()>,
}

/// Changes the content that was read, or learns why it was not, and makes what is told when that was written or not.
type Wish = Box<dyn FnOnce(Result<&mut Content>) -> Granted + Send>;
type Granted = Box<dyn FnOnce(Result<()>) + Send>;

impl fmt::Debug for Folder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Folder").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Folder {
    /// The folder of that path, which is created when it is first needed.
    pub fn at(path: PathBuf) -> Self {
        let consequence =
            "nothing counts as approved; look at it, and run `toolcell approvals reset` to put it aside";
        let file = PrivateFile::new(path.join("approvals.json"), consequence);
        Self { path, file, wishes: Mutex::default(), turn: Mutex::default() }
    }

    /// All that is kept there.
    pub fn read(&self) -> Result<Content> {
        self.ready()?.read()
    }

    /// What is wrong with it, if something is.
    pub fn damage(&self) -> Result<Option<Error>> {
        self.ready()?.damage::<Content>()
    }

    /// Puts a file aside with which something is wrong, and says where it is.
    pub fn reset(&self) -> Result<Option<PathBuf>> {
        let file = self.ready()?;
        let _held = file.lock()?;
        file.put_damaged_aside::<Content>()
    }

    /// The file, in a folder that is there and private.
    fn ready(&self) -> Result<&PrivateFile> {
        ensure_private(&self.path)?;
        Ok(&self.file)
    }

    /// Changes the file once for all who want to change it while others do: each would else read, write and sync all of
    /// it, and those at the end of the queue wait for longer than they may.
    pub fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Content) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, changed) = mpsc::sync_channel(1);
        let wish: Wish = Box::new(move |content| {
            let done = content.and_then(change);
            Box::new(move |written| drop(sender.send(written.and(done))))
        });
        lock(&self.wishes).push(wish);
        {
            let _turn = lock(&self.turn);
            self.grant_wishes();
        }
        changed.recv().unwrap_or_else(|_| Err(Error::Approval("the store of approvals failed".to_owned())))
    }

    /// Does what everybody wants who waits by now; what cannot be written fails for all of them.
    fn grant_wishes(&self) {
        let opened = self.ready().and_then(|file| Ok((file, file.lock()?)));
        // After the lock, for which some time may have been waited.
        let wishes = std::mem::take(&mut *lock(&self.wishes));
        if wishes.is_empty() {
            return;
        }
        let read = opened.and_then(|(file, held)| Ok((file, held, file.read_or_put_damaged_aside()?)));
        let (file, _held, mut content): (_, _, Content) = match read {
            Ok(read) => read,
            Err(error) => return wishes.into_iter().for_each(|wish| wish(Err(again(&error)))(Ok(()))),
        };
        content.prune(now());
        let granted: Vec<Granted> = wishes.into_iter().map(|wish| wish(Ok(&mut content))).collect();
        let written = file.write(&content);
        for granted in granted {
            granted(written.as_ref().copied().map_err(again));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same error for another who is told of it.
fn again(error: &Error) -> Error {
    match error {
        Error::File { action, path, source } => {
            Error::file(action, path)(io::Error::new(source.kind(), source.to_string()))
        }
        error => Error::Approval(error.to_string()),
    }
}
