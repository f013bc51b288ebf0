//! What a case may reach: copies of folders, which are gone with the case.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use tempfile::TempDir;
use toolcell::policy::HttpGrant;
use toolcell::{Access, DirGrant, Grant};

use super::case::{Case, RawDir};
use super::difference::Difference;

/// A folder for tests is small; one that is not was named by mistake.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 256 << 20;

/// The grant of one case, with the folders that it is made of.
pub(super) struct Scratch {
    pub grant: Grant,
    /// Each granted folder as the tool sees it, and as it is.
    dirs: Vec<(String, PathBuf)>,
    _folders: TempDir,
}

impl Scratch {
    /// Makes what the case grants; host paths start at `base`, and stay in the folder that `confined` names or in `base`.
    pub fn of(case: &Case, base: &Path, confined: Option<&Path>) -> anyhow::Result<Self> {
        let folders = tempfile::tempdir().context("cannot make a folder for the case")?;
        let (mut grant, mut dirs) = (Grant::none(), Vec::new());
        for (index, dir) in case.grant.dirs.iter().enumerate() {
            if !dir.guest.starts_with('/') {
                bail!(
                    "`grant.dirs`: `{}` is no absolute path; the guest's path is, as in \"/work\"",
                    dir.guest
                );
            }
            let copy = folders.path().join(index.to_string());
            if let (Some(project), Some(host)) = (confined, &dir.host) {
                stays_in(&base.join(host), &[project, base])
                    .with_context(|| format!("`grant.dirs`: `{host}`"))?;
            }
            fill(&copy, dir, base).with_context(|| format!("`grant.dirs`: {}", dir.guest))?;
            let access = dir.access.unwrap_or(Access::Read);
            let granted = dir.deny.iter().fold(DirGrant::new(&copy, &dir.guest, access), DirGrant::deny);
            grant = grant.dir_grant(granted);
            dirs.push((dir.guest.trim_end_matches('/').to_owned(), copy));
        }
        if confined.is_some() && !case.grant.http.is_empty() {
            bail!("`grant.http`: a case reaches the network {TRUSTED}");
        }
        for origin in &case.grant.http {
            let entry = HttpGrant::from_flag(origin).map_err(|words| anyhow!("`grant.http`: {words}"))?;
            grant = grant.http(entry);
        }
        grant = case.grant.env.iter().fold(grant, |grant, (name, value)| grant.env(name, value));
        grant = case.grant.config.iter().fold(grant, |grant, (name, value)| grant.config(name, value));
        grant = grant.state(case.grant.state.unwrap_or_default());
        Ok(Self { grant, dirs, _folders: folders })
    }

    /// How the file that the tool knows as `path` differs from what it should be, none for no file.
    pub fn differs(&self, path: &str, expected: Option<&str>) -> Option<Difference> {
        let what = format!("files: {path}");
        let Some(host) = self.host(path) else {
            return Some(Difference::new(what, expected, "a path in no granted folder"));
        };
        // A link of a tool could lead to anything; what it is, not what it leads to, is compared.
        let actual = match fs::symlink_metadata(&host) {
            Err(_) => None,
            Ok(found) if !found.is_file() => Some("something that is no file".to_owned()),
            Ok(_) => Some(fs::read(&host).map_or_else(
                |error| format!("a file that cannot be read: {error}"),
                |bytes| String::from_utf8_lossy(&bytes).into_owned(),
            )),
        };
        (actual.as_deref() != expected).then(|| Difference::new(what, expected, actual))
    }

    fn host(&self, path: &str) -> Option<PathBuf> {
        let inside = |(guest, host): &(String, PathBuf)| {
            let rest = path.strip_prefix(guest.as_str())?.strip_prefix('/')?;
            let rest = plain(rest)?;
            Some((guest.len(), host.join(rest)))
        };
        let found = self.dirs.iter().filter_map(inside).max_by_key(|(length, _)| *length);
        found.map(|(_, path)| path)
    }
}

/// A relative path without anything that leads out.
fn plain(path: &str) -> Option<&Path> {
    let path = Path::new(path);
    let is_plain = |part| matches!(part, Component::Normal(_));
    (path.components().next().is_some() && path.components().all(is_plain)).then_some(path)
}

/// What lets a case reach further.
const TRUSTED: &str = "only beside a toolcell.toml that is trusted (look at it and the cases, and run `toolcell trust`) or \
                       named by --config; `toolcell init` writes one where there is none";

/// Refuses a folder that is in none of these, links followed.
fn stays_in(folder: &Path, allowed: &[&Path]) -> anyhow::Result<()> {
    // What is not there is told of where it would be copied.
    let Ok(real) = folder.canonicalize() else { return Ok(()) };
    let holds = |allowed: &&Path| allowed.canonicalize().is_ok_and(|allowed| real.starts_with(allowed));
    match allowed.iter().any(holds) {
        true => Ok(()),
        false => bail!("a case reaches folders outside of its project {TRUSTED}"),
    }
}

fn fill(copy: &Path, dir: &RawDir, base: &Path) -> anyhow::Result<()> {
    fs::create_dir(copy)?;
    if let Some(host) = &dir.host {
        let from = base.join(host);
        if !from.is_dir() {
            bail!("`{host}` is no folder; paths start at the file of the case");
        }
        Copying::default().folder(&from, copy)?;
    }
    for (name, text) in &dir.files {
        let Some(name) = plain(name) else {
            bail!("`{name}` is no name of a file in the folder");
        };
        let path = copy.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
    }
    Ok(())
}

/// What was copied so far.
#[derive(Default)]
struct Copying {
    files: usize,
    bytes: u64,
}

impl Copying {
    fn folder(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        let entries = fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type()?;
            self.count(&path, entry.metadata()?.len())?;
            let copied = match kind {
                kind if kind.is_dir() => {
                    fs::create_dir(&target)?;
                    self.folder(&path, &target)?;
                    Ok(())
                }
                kind if kind.is_symlink() => {
                    fs::read_link(&path).and_then(|to| std::os::unix::fs::symlink(to, &target))
                }
                kind if kind.is_file() => fs::copy(&path, &target).map(|_| ()),
                _ => bail!("{} is neither a file nor a folder, and cannot be copied", path.display()),
            };
            copied.with_context(|| format!("cannot copy {}", path.display()))?;
        }
        Ok(())
    }

    fn count(&mut self, path: &Path, bytes: u64) -> anyhow::Result<()> {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.files > MAX_FILES || self.bytes > MAX_BYTES {
            bail!(
                "the folder is too large to be copied for a test (at most {MAX_FILES} files and 256 MiB; it was \
                 left at {})",
                path.display()
            );
        }
        Ok(())
    }
}
