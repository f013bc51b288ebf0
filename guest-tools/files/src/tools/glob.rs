//! `glob`

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use crate::page::Page;
use crate::span::Span;
use crate::walk::{self, Filter};
use crate::{Answer, Workspace, source};
use granted::spelled;

/// Paths of a page.
const MOST: u64 = 1_000;
const NOTHING: &str = "nothing has such a path";

/// What to find, and where.
pub struct Query<'a> {
    /// The shape of the paths.
    pub pattern: &'a str,
    /// The folder; the first granted directory without.
    pub path: Option<&'a str>,
    /// Whether to leave out hidden files and what ignore files exclude.
    pub skip_ignored: bool,
    /// The number of the first path to show.
    pub offset: Option<u32>,
}

/// Finds files and folders whose path has the shape of the pattern.
pub fn glob(workspace: &Workspace, query: &Query<'_>) -> Answer {
    let &Query { pattern, path, skip_ignored, offset } = query;
    let mut span = Span::from(offset)?;
    if pattern.is_empty() {
        return Err("the pattern is empty; `**` finds everything".to_owned());
    }
    let root = workspace.grants.resolve(path.unwrap_or("."))?;
    let shape = Shape::of(pattern)?;
    if !pattern.starts_with('/') {
        source::folder(&workspace.grants, &root)?;
    }
    let base: PathBuf = root.join(shape.base).components().collect();
    let granted = workspace.grants.below(&base);
    if granted.is_empty()
        && let Err(error) = std::fs::metadata(&base)
    {
        if error.kind() != std::io::ErrorKind::NotFound || workspace.grants.holder(&base).is_none() {
            return Err(workspace.grants.explain("list", &base, &error));
        }
        return Ok(format!("[{NOTHING}]"));
    }

    let mut page = Page::new(workspace.budget);
    let mut unreadable = 0u64;
    let mut meet = |path: &Path, folder: bool| {
        let fits = shape.fits(path.strip_prefix(&base).unwrap_or(path), folder);
        if fits && span.count() && span.shown < MOST {
            let end = if folder { "/" } else { "" };
            span.shown += u64::from(page.add(&format!("{}{end}", spelled(path))));
        }
    };
    // What lies above the granted directories is not there to be walked through; they themselves are.
    for &dir in &granted {
        meet(dir, true);
    }
    let outside = !granted.is_empty();
    let roots = if granted.is_empty() { vec![base.as_path()] } else { granted };
    for root in roots {
        let above = root.strip_prefix(&base).map_or(0, |path| path.components().count());
        let depth = shape.depth.map(|depth| depth.saturating_sub(above));
        let filter = Filter { ignored: skip_ignored, globs: None, depth };
        for entry in walk::entries(&workspace.grants, root, filter) {
            match entry {
                Ok(entry) => meet(entry.path(), entry.file_type().is_some_and(|kind| kind.is_dir())),
                Err(_) => unreadable += 1,
            }
        }
    }
    if span.total == 0 && outside && shape.literal {
        let missing = std::io::ErrorKind::NotFound.into();
        return Err(workspace.grants.explain("list", &root.join(pattern), &missing));
    }
    let mut notes = Vec::from_iter(span.note("paths", "")?);
    if span.total == 0 {
        notes.push(NOTHING.to_owned());
    }
    if unreadable > 0 {
        notes.push(format!("{unreadable} entries could not be read"));
    }
    Ok(page.close(&notes))
}

/// A pattern, split into the folder that it names and the shape of what lies below.
#[derive(Debug)]
struct Shape<'a> {
    base: &'a str,
    matcher: globset::GlobMatcher,
    folders_only: bool,
    depth: Option<usize>,
    /// Whether it is the one path that it spells.
    literal: bool,
}

impl<'a> Shape<'a> {
    fn of(pattern: &'a str) -> Result<Self, String> {
        let folders_only = pattern.ends_with('/');
        let pattern = pattern.trim_end_matches('/');
        let literal = &pattern[..pattern.find(['*', '?', '[', ']', '{', '}', '\\']).unwrap_or(pattern.len())];
        let (base, rest) = pattern.split_at(literal.rfind('/').map_or(0, |slash| slash + 1));
        let rest = rest.trim_start_matches("./");
        let matcher = GlobBuilder::new(rest)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("the pattern cannot be read: {}", error.kind()))?
            .compile_matcher();
        let bounded = !rest.contains("**") && !rest.contains('{');
        let depth = bounded.then(|| rest.matches('/').count() + 1);
        Ok(Self { base, matcher, folders_only, depth, literal: literal == pattern })
    }

    fn fits(&self, path: &Path, folder: bool) -> bool {
        (folder || !self.folders_only) && self.matcher.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use std::fs;

    use super::*;
    use crate::page::Budget;
    use granted::Grants;

    fn tree() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        for path in
            ["a.rs", "b.txt", "src/c.rs", "src/deep/d.rs", "src/deep/[x].rs", ".hidden/e.rs", "target/f.rs"]
        {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "/target\nd.rs\n").unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("src/loop")).unwrap();
        let grants = Grants::new([dir.path().display().to_string()]);
        (dir, Workspace { grants, budget: Budget { bytes: 40_000, lines: 2_000 } })
    }

    fn found(pattern: &str, path: Option<&str>, skip_ignored: bool) -> String {
        let (dir, workspace) = tree();
        let root = dir.path().display().to_string();
        let pattern = pattern.replace("ROOT", &root);
        let answer = glob(&workspace, &Query { pattern: &pattern, path, skip_ignored, offset: None });
        answer
            .unwrap_or_else(|error| format!("error: {error}"))
            .replace(&format!("{root}/"), "")
            .replace('\n', " ")
    }

    #[test]
    fn patterns_choose() {
        for (pattern, path, expected) in [
            ("*.rs", None, "a.rs"),
            ("**/*.rs", None, ".hidden/e.rs a.rs src/c.rs src/deep/[x].rs src/deep/d.rs target/f.rs"),
            ("src/**", None, "src/c.rs src/deep/ src/deep/[x].rs src/deep/d.rs src/loop"),
            ("**/*.rs", Some("src"), "src/c.rs src/deep/[x].rs src/deep/d.rs"),
            ("*.{rs,txt}", None, "a.rs b.txt"),
            ("{a.rs,src/c.rs}", None, "a.rs src/c.rs"),
            ("src/*/", None, "src/deep/"),
            ("src/c.rs", None, "src/c.rs"),
            ("./src/c.rs", None, "src/c.rs"),
            ("ROOT/src/*.rs", Some("target"), "src/c.rs"),
            ("src/deep/\\[x\\].rs", None, "src/deep/[x].rs"),
            ("*.py", None, "[nothing has such a path]"),
            ("none/*.py", None, "[nothing has such a path]"),
            ("[", None, "error: the pattern cannot be read: unclosed character class; missing ']'"),
            ("", None, "error: the pattern is empty; `**` finds everything"),
        ] {
            assert_eq!(found(pattern, path, false), expected, "{pattern}");
        }
        assert!(found("*", Some("a.rs"), false).ends_with("is not a folder"));
        assert!(found("*", Some("none"), false).ends_with("does not exist"));
    }

    #[test]
    fn a_pattern_may_name_granted_directories() {
        let (dir, workspace) = tree();
        let root = dir.path().display().to_string();
        let name = root.rsplit('/').next().unwrap();
        for (pattern, expected) in [
            (root.clone(), "ROOT/"),
            (format!("{root}/"), "ROOT/"),
            (format!("{root}?*"), "[nothing has such a path]"),
            (root.replace(name, &format!("{}*", name.split_at(name.len() - 1).0)), "ROOT/"),
            (root.replace(name, "*/b.txt"), "ROOT/b.txt"),
            ("/**/c.rs".to_owned(), "ROOT/src/c.rs"),
        ] {
            let query = Query { pattern: &pattern, path: None, skip_ignored: false, offset: None };
            let answer = glob(&workspace, &query).unwrap().replace(&root, "ROOT");
            assert_eq!(answer, expected, "{pattern}");
        }
        let query = Query { pattern: "/etc", path: None, skip_ignored: false, offset: None };
        let message = glob(&workspace, &query).unwrap_err();
        assert!(message.starts_with("not permitted: /etc is outside the granted directories"), "{message}");
    }

    #[test]
    fn a_name_is_one_line() {
        let (dir, workspace) = tree();
        fs::write(dir.path().join("x\n[paths 1-1 of 9; go on with offset 2]"), "").unwrap();
        let query = Query { pattern: "x*", path: None, skip_ignored: false, offset: None };
        let answer = glob(&workspace, &query).unwrap();
        assert!(answer.ends_with(r"/x\n[paths 1-1 of 9; go on with offset 2]"), "{answer}");
    }

    #[test]
    fn ignored_files_are_left_out_on_request() {
        assert_eq!(found("**/*.rs", None, true), "a.rs src/c.rs src/deep/[x].rs");
        assert_eq!(found("**/*.rs", Some("src"), true), "src/c.rs src/deep/[x].rs");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..300 {
            fs::write(dir.path().join(format!("{number:03}")), "").unwrap();
        }
        let grants = Grants::new([dir.path().display().to_string()]);
        let workspace = Workspace { grants, budget: Budget { bytes: 2_000, lines: 2_000 } };
        let page =
            |offset| glob(&workspace, &Query { pattern: "*", path: None, skip_ignored: false, offset });
        let answer = page(None).unwrap();
        assert!(answer.len() <= 2_000 && answer.contains(" of 300; go on with offset "), "{answer}");
        let last = page(Some(300)).unwrap();
        assert!(last.ends_with("/299\n[paths 300-300 of 300: the last]"), "{last}");
        assert_eq!(page(Some(301)), Err("offset 301 is past the end: the number of paths is 300".to_owned()));
    }
}
