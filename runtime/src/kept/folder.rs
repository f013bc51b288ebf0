//! What the tools of all components keep, as their operator looks after it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::file::File;
use super::{KeepError, Kept, file_name};
use crate::error::{Error, Result};

/// How long calls of other processes may be waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder of everything that tools keep between calls.
#[derive(Debug, Clone)]
pub struct StateFolder {
    path: PathBuf,
}

/// What a component keeps in one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptScope {
    /// The component's name.
    pub component: String,
    /// The session whose values they are; none for those that are kept for good.
    pub session: Option<String>,
    /// How many values there are.
    pub values: u64,
    /// What counts against `state_bytes`: keys, values, and 64 bytes for each.
    pub bytes: u64,
    /// When a value was last changed, in seconds since 1970.
    pub changed: u64,
}

/// What was removed of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleared {
    /// Its scopes.
    pub scopes: Vec<KeptScope>,
    /// Why nothing could be removed out of its file, if so: it was removed whole.
    pub unreadable: Option<String>,
}

impl StateFolder {
    /// The folder at `path`, which need not be there.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that is kept, by component and scope; an error for a component whose file cannot be read or is damaged, after
    /// what can be read of it. Reads all of it to know that.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Result<KeptScope>>> {
        let mut all = Vec::new();
        for path in self.files()? {
            let opened = File::open(&path, "", PATIENCE);
            let read = opened.and_then(|file| Ok((scopes(&path, &file)?, file.check())));
            let (scopes, checked) = read.unwrap_or_else(|error| (Vec::new(), Err(error)));
            all.extend(scopes.into_iter().map(Ok));
            all.extend(checked.err().map(|error| Err(wrong(&path, &error))));
        }
        Ok(all)
    }

    /// The names of all components that keep something, also of those whose file cannot be read.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn components(&self) -> Result<Vec<String>> {
        Ok(self.files()?.iter().map(|path| component_of(path)).collect())
    }

    /// Removes what `component` keeps, of all sessions and for good, or of one session. A file out of which nothing can be removed,
    /// as it is damaged or its disk is full, is removed whole, unless only one session's values are to go.
    ///
    /// # Errors
    /// When nothing is there, others hold the file, or it cannot be read or written for one session.
    pub fn clear(&self, component: &str, session: Option<&str>) -> Result<Cleared> {
        let nothing = |what: String| Err(Error::State { path: self.path.clone(), message: what });
        let named =
            |path: &PathBuf| path.file_name().is_some_and(|name| name == file_name(component).as_str());
        let by_stem = |path: &PathBuf| component_of(path) == component;
        let files = self.files()?;
        let Some(path) =
            files.iter().find(|path| named(path)).or_else(|| files.iter().find(|path| by_stem(path)))
        else {
            return nothing(format!("no component `{component}` keeps anything"));
        };
        let mut removed = Vec::new();
        let unreadable = match (clear(path, session, &mut removed), session) {
            (Ok(()), _) => None,
            // Statements need pages that can be read, and room beside them: without either, the file itself can still go.
            (Err(KeepError::Failed(why)), None) => {
                remove(path)?;
                Some(why)
            }
            (Err(error), _) => return Err(wrong(path, &error)),
        };
        if let (Some(session), []) = (session, removed.as_slice()) {
            return nothing(format!("the component `{component}` keeps nothing for a session `{session}`"));
        }
        Ok(Cleared { scopes: removed, unreadable })
    }

    /// Removes what the tools of all components keep for a session that is over. What cannot be removed goes by its age.
    pub(crate) fn forget_session(&self, session: &str) {
        for path in self.files().unwrap_or_default() {
            let file = File::open(&path, "", PATIENCE);
            let _ = file.and_then(|mut file| file.forget_if_there(&format!("session {session}")));
        }
    }

    /// The files of components, in order of their names.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::file("read", &self.path))?,
        };
        let is_ours = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "db");
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| is_ours(path) && path.is_file())
            .collect();
        files.sort();
        Ok(files)
    }
}

/// The component whose file it is. Names that people write in settings are in their file's; of others only this much is
/// known.
fn component_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.rsplit_once('-') {
        Some((name, _)) if path.ends_with(file_name(name)) => name.to_owned(),
        _ => stem,
    }
}

/// Removes a file with what the database puts beside it.
fn remove(path: &Path) -> Result<()> {
    for end in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file("remove", path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes by statements, and says which scopes are meant before it begins.
fn clear(path: &Path, session: Option<&str>, removed: &mut Vec<KeptScope>) -> Kept<()> {
    let mut file = File::open(path, "", PATIENCE)?;
    *removed = scopes(path, &file)?;
    removed.retain(|scope| session.is_none() || scope.session.as_deref() == session);
    for scope in &*removed {
        file.forget(&name_of(scope))?;
    }
    if !removed.is_empty() {
        file.shrink();
    }
    // Statements may have met no damaged page: what is left of such a file would stay.
    if session.is_none() { file.check() } else { Ok(()) }
}

fn scopes(path: &Path, file: &File) -> Kept<Vec<KeptScope>> {
    let component = component_of(path);
    let scopes = file.scopes()?.into_iter();
    Ok(scopes
        .map(|(name, values, bytes, changed)| KeptScope {
            component: component.clone(),
            session: name.strip_prefix("session ").map(str::to_owned),
            values,
            bytes,
            changed,
        })
        .collect())
}

fn name_of(scope: &KeptScope) -> String {
    scope.session.as_ref().map_or_else(|| "persistent".to_owned(), |session| format!("session {session}"))
}

fn wrong(path: &Path, error: &KeepError) -> Error {
    let advice = match error {
        KeepError::Failed(_) => {
            format!("; `toolcell state clear {}` removes it with all that is in it", component_of(path))
        }
        _ => String::new(),
    };
    Error::State { path: path.to_owned(), message: format!("{error}{advice}") }
}
