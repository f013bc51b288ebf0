//! What a session gives up of everything that tools are granted.

use std::collections::BTreeSet;

use globset::Glob;

use super::deny::normal;
use super::{DenySet, Grant, StateScope};
use crate::error::{Error, Result};

/// The pattern that withholds everything in a folder.
const ALL: &str = "**";

/// What is taken from every grant. It names what goes, never what comes: no value of it gives a tool anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowing {
    read_only: bool,
    without_dirs: BTreeSet<String>,
    withheld: BTreeSet<(String, String)>,
    without_env: BTreeSet<String>,
    without_http: bool,
}

impl Narrowing {
    /// Takes nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every directory can be read and no longer changed, what tools keep is gone with the call, and they send only
    /// those requests over HTTP of which the operator says that they read.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Guests no longer see `guest` or anything below it: directories that are granted there are gone, and what lies
    /// inside of one that is granted above it is withheld. The same host directory under another path stays.
    #[must_use]
    pub fn without_dir(mut self, guest: impl Into<String>) -> Self {
        self.without_dirs.insert(guest.into());
        self
    }

    /// Withholds what `pattern`, relative to `guest`, matches, as an entry of a grant's `deny` does, in every directory
    /// that is granted at, above or below `guest`.
    #[must_use]
    pub fn withhold(mut self, guest: impl Into<String>, pattern: impl Into<String>) -> Self {
        self.withheld.insert((guest.into(), pattern.into()));
        self
    }

    /// Guests no longer see the environment variable.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<String>) -> Self {
        self.without_env.insert(name.into());
        self
    }

    /// Guests send no requests over HTTP.
    #[must_use]
    pub fn without_http(mut self) -> Self {
        self.without_http = true;
        self
    }

    /// Whether it takes nothing.
    pub(crate) fn is_none(&self) -> bool {
        let Self { read_only, without_dirs, withheld, without_env, without_http } = self;
        let all = !*read_only && !*without_http;
        all && without_dirs.is_empty() && withheld.is_empty() && without_env.is_empty()
    }

    /// Takes what `other` takes as well.
    ///
    /// # Errors
    /// [`Error::Grant`] for a guest path that is not absolute and plain, a wrong pattern, and an empty name: what
    /// takes nothing by mistake would leave open what was to be closed.
    pub(crate) fn and(mut self, other: Self) -> Result<Self> {
        let wrong = |message: String| Error::Grant { setting: "the session's narrowing".to_owned(), message };
        self.read_only |= other.read_only;
        self.without_http |= other.without_http;
        for guest in other.without_dirs {
            self.without_dirs.insert(guest_path(&guest).map_err(wrong)?);
        }
        for (guest, pattern) in other.withheld {
            DenySet::check(&pattern).map_err(wrong)?;
            self.withheld.insert((guest_path(&guest).map_err(wrong)?, pattern));
        }
        for name in other.without_env {
            if name.is_empty() || name.contains('=') {
                return Err(wrong(format!("`{}` is no name of a variable", name.escape_debug())));
            }
            self.without_env.insert(name);
        }
        Ok(self)
    }

    /// What is left of a grant.
    pub(crate) fn of(&self, grant: &Grant) -> Grant {
        let mut left = if self.read_only { grant.read_only() } else { grant.clone() };
        if self.read_only && matches!(left.state, StateScope::Session | StateScope::Persistent) {
            // What others would find later is a change; what ends with the call is none.
            left.state = StateScope::Call;
        }
        if self.without_http {
            left.http.clear();
        }
        left.env.retain(|name, _| !self.without_env.contains(name));
        left.dirs.retain(|dir| {
            let at = granted_path(&dir.guest);
            !self.without_dirs.iter().any(|guest| below(&at, guest).is_some())
        });
        for dir in &mut left.dirs {
            let at = granted_path(&dir.guest);
            let inside =
                self.without_dirs.iter().filter_map(|guest| Some(globset::escape(below(guest, &at)?)));
            let withheld = self.withheld.iter().flat_map(|(guest, pattern)| relative(guest, pattern, &at));
            for pattern in inside.chain(withheld) {
                if !dir.deny.contains(&pattern) {
                    dir.deny.push(pattern);
                }
            }
        }
        left
    }
}

/// The patterns by which a directory at `at` withholds what `pattern` below `guest` means.
fn relative(guest: &str, pattern: &str, at: &str) -> Vec<String> {
    let Ok(pattern) = normal(pattern) else { return vec![ALL.to_owned()] };
    if let Some(inside) = below(guest, at) {
        let folder = globset::escape(inside);
        return vec![if inside.is_empty() { pattern } else { format!("{folder}/{pattern}") }];
    }
    let Some(rest) = below(at, guest) else { return Vec::new() };
    let (pattern, names): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), rest.split('/').collect());
    let mut patterns = Vec::new();
    after(&pattern, &names, &mut patterns);
    patterns
}

/// What is left of a pattern for what lies in the folder `names`, in all the ways in which it can reach there.
fn after(pattern: &[&str], names: &[&str], left: &mut Vec<String>) {
    let ([first, pattern_rest @ ..], [name, names_rest @ ..]) = (pattern, names) else {
        // A pattern that ends at the folder or above it withholds all of it.
        left.push(if pattern.is_empty() { ALL.to_owned() } else { pattern.join("/") });
        return;
    };
    if *first == ALL {
        after(pattern_rest, names, left);
        after(pattern, names_rest, left);
        return;
    }
    match Glob::new(first) {
        Ok(glob) if glob.compile_matcher().is_match(name) => after(pattern_rest, names_rest, left),
        Ok(_) => {}
        // A slash inside of braces: what cannot be told is withheld.
        Err(_) => left.push(ALL.to_owned()),
    }
}

/// `path` relative to `folder`, if it is that or lies below it. Empty for the folder itself.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.trim_end_matches('/').strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// The guest's path of a granted directory, however it is written.
fn granted_path(written: &str) -> String {
    let names: Vec<&str> = written.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    format!("/{}", names.join("/"))
}

/// A guest's path as grants have it: absolute, without `.`, `..`, double or final slashes.
fn guest_path(written: &str) -> Result<String, String> {
    let names: Vec<&str> = written.split('/').filter(|name| !name.is_empty()).collect();
    let plain = names.iter().all(|name| !matches!(*name, "." | ".."));
    if !written.starts_with('/') || !plain || written.chars().any(char::is_control) {
        return Err(format!(
            "the guest path `{}` is not absolute and plain; write for example `/work`",
            written.escape_debug()
        ));
    }
    Ok(format!("/{}", names.join("/")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test's failure is its report")]

    use super::*;
    use crate::policy::Access;

    fn granted() -> Grant {
        Grant::none()
            .dir("/h/work", "/work", Access::ReadWrite)
            .dir("/h/lib", "/work/lib/", Access::ReadWrite)
            .dir("/h/other", "/other", Access::Read)
            .env("A", "1")
            .env("B", "2")
    }

    fn left(narrowing: Narrowing) -> Grant {
        Narrowing::none().and(narrowing).unwrap().of(&granted())
    }

    fn dirs(grant: &Grant) -> Vec<(&str, Vec<&str>)> {
        grant
            .dirs
            .iter()
            .map(|dir| (dir.guest.as_str(), dir.deny.iter().map(String::as_str).collect()))
            .collect()
    }

    #[test]
    fn each_setter_takes_what_it_names_and_nothing_else() {
        assert_eq!(left(Narrowing::none()), granted());
        let read = left(Narrowing::none().read_only());
        assert!(read.dirs.iter().all(|dir| dir.access == Access::Read));
        assert_eq!(
            dirs(&left(Narrowing::none().without_dir("/work/lib"))),
            [("/work", vec!["lib"]), ("/other", vec![])]
        );
        assert_eq!(dirs(&left(Narrowing::none().without_dir("//work/"))), [("/other", vec![])]);
        assert_eq!(dirs(&left(Narrowing::none().without_dir("/"))), []);
        assert_eq!(dirs(&left(Narrowing::none().without_dir("/wor"))), dirs(&granted()));
        let withheld = left(Narrowing::none().withhold("/other", "./keys/").withhold("/work/a[1]", "*.pem"));
        assert_eq!(
            dirs(&withheld),
            [("/work", vec!["a[[]1[]]/*.pem"]), ("/work/lib/", vec![]), ("/other", vec!["keys"])]
        );
        assert_eq!(left(Narrowing::none().without_env("A")).env.len(), 1);
        let odd = Grant::none().dir("/h", "//work/./lib/", Access::Read);
        assert_eq!(Narrowing::none().without_dir("/work/lib").of(&odd).dirs, []);
    }

    #[test]
    fn a_pattern_reaches_into_directories_that_are_granted_below_it() {
        for (guest, pattern, expected) in [
            ("/", "work/lib/k", vec!["k"]),
            ("/work", "lib/k", vec!["k"]),
            ("/work", "lib", vec!["**"]),
            ("/work", "l*/**", vec!["**"]),
            ("/work", "**/*.pem", vec!["**/*.pem"]),
            ("/work", "**/lib/x", vec!["x", "**/lib/x"]),
            ("/work", "other/**", vec![]),
            ("/work", "{lib/a,b}", vec!["**"]),
            ("/work", "[l]ib/{a,b}/c", vec!["{a,b}/c"]),
            ("/elsewhere", "**", vec![]),
        ] {
            assert_eq!(relative(guest, pattern, "/work/lib"), expected, "{guest} {pattern}");
        }
    }

    #[test]
    fn what_takes_nothing_by_mistake_is_refused() {
        for wrong in [
            Narrowing::none().without_dir("work"),
            Narrowing::none().without_dir(""),
            Narrowing::none().without_dir("/work/.."),
            Narrowing::none().withhold("work", "x"),
            Narrowing::none().withhold("/work", ""),
            Narrowing::none().withhold("/work", "../x"),
            Narrowing::none().withhold("/work", "["),
            Narrowing::none().without_env(""),
            Narrowing::none().without_env("A=B"),
        ] {
            assert!(Narrowing::none().and(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
