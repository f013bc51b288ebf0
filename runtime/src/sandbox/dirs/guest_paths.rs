//! Where a path that a guest would open really leads, in the guest's names: what rules on paths are held against.

use std::collections::VecDeque;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::kernel;
use super::template::{DirTemplate, Root};
use crate::policy::{GuestPaths, MAX_PATH, lexical, squeezed};

/// As many links as Linux follows in one path.
const MAX_LINKS: u32 = 40;

/// Looks at the file system, and so **may block**: a dead network mount hangs the thread. Callers keep it off
/// asynchronous threads. Nothing is opened beyond `O_PATH`, so neither a FIFO waits nor a device acts.
///
/// A file of several names is known by the one that is written; `deny` of a grant holds for all of them.
impl GuestPaths for DirTemplate {
    fn resolved(&self, guest_path: &str) -> Vec<String> {
        // Tools take empty parts and `.` away before they open anything.
        if squeezed(guest_path).len() > MAX_PATH {
            return Vec::new();
        }
        let mut starts = vec![format!("/{guest_path}")];
        if guest_path.starts_with('/') {
            starts = vec![guest_path.to_owned()];
        } else {
            // Whether a tool reads it from the root or from a granted directory is its own affair.
            let roots = self.roots.iter();
            starts.extend(roots.map(|root| format!("{}/{guest_path}", root.guest.trim_end_matches('/'))));
        }
        let mut places = Vec::new();
        for start in starts {
            // Some tools take `..` away by its letters before they open anything; links make that another path.
            let (written, plain) = (squeezed(&start), lexical(&start));
            let mut led = self.places(&written);
            if plain != written {
                led.extend(self.places(&plain));
            }
            for place in led {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }
}

impl DirTemplate {
    /// Where an absolute path without empty parts and `.` leads, by every grant that reaches that place.
    fn places(&self, path: &str) -> Vec<String> {
        let Some((index, rest)) = self.find(path) else { return Vec::new() };
        let Some(root) = self.roots.get(index) else { return Vec::new() };
        let Some(below) = below(root, rest) else { return Vec::new() };
        let mut places = vec![join(&root.guest, &below)];
        if let Ok(base) = kernel::real_path(root.dir()) {
            let host = base.join(&below);
            let others = self.roots.iter().enumerate().filter(|(other, _)| *other != index);
            places.extend(others.filter_map(|(_, other)| {
                let base = kernel::real_path(other.dir()).ok()?;
                Some(join(&other.guest, &host.strip_prefix(base).ok()?.to_string_lossy()))
            }));
        }
        places
    }
}

/// Where `path` leads beneath the root, relative to it: what exists of it by the kernel's word, the rest appended.
/// None where it leads out, or where nobody gets through.
fn below(root: &Root, path: &str) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let mut names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut missing: VecDeque<&str> = VecDeque::new();
        let existing = loop {
            match place_of(root, &names.join("/")) {
                Ok(place) => break place?,
                Err(Errno::NOENT | Errno::NOTDIR) => missing.push_front(names.pop()?),
                Err(_) => return None,
            }
        };
        let rest: Vec<&str> = missing.iter().copied().collect();
        // What does not exist may be a link to what does not exist: writing to it makes what it names.
        let target = missing.front().and_then(|name| target_of(root, &existing, name));
        match target {
            Some(target) if target.starts_with('/') => return None,
            Some(target) => {
                let tail = rest.get(1..).unwrap_or_default().join("/");
                path = [existing.as_str(), &target, &tail].join("/");
            }
            None => return plain_below(&existing, &rest),
        }
    }
    None
}

/// Where an existing file is, relative to the root; none inside for what was moved out meanwhile.
fn place_of(root: &Root, path: &str) -> rustix::io::Result<Option<String>> {
    let path = if path.is_empty() { "." } else { path };
    let fd = kernel::open_beneath(root.dir(), path, OFlags::PATH)?;
    let place = || {
        let host = kernel::real_path(&fd).ok()?;
        let base = kernel::real_path(root.dir()).ok()?;
        Some(host.strip_prefix(base).ok()?.to_string_lossy().into_owned())
    };
    Ok(place())
}

/// What the link `name` in `folder` says, if it is one.
fn target_of(root: &Root, folder: &str, name: &str) -> Option<String> {
    let path = Path::new(folder).join(name);
    let link = kernel::open_beneath(root.dir(), &path, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
    let target = rustix::fs::readlinkat(&link, "", Vec::new()).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// `rest` below an existing folder; none where its `..` lead out.
fn plain_below(existing: &str, rest: &[&str]) -> Option<String> {
    let mut names: Vec<&str> = existing.split('/').filter(|name| !name.is_empty()).collect();
    for name in rest {
        match *name {
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

fn join(guest: &str, below: &str) -> String {
    match below {
        "" => guest.to_owned(),
        below => format!("{}/{below}", guest.trim_end_matches('/')),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::policy::{Access, Action, DirGrant, Rule, Rules, Subject};

    fn tree() -> (tempfile::TempDir, Arc<DirTemplate>) {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        for folder in ["work/secrets/deep", "work/a/b", "work/SECRETS.d", "data", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["work/secrets/k", "work/a/f", "outside/x"] {
            fs::write(at(file), "").unwrap();
        }
        for (target, link) in [
            ("secrets", "work/link"),
            ("../secrets/k", "work/a/key"),
            ("b/../../secrets", "work/a/up"),
            ("link/new", "work/dangling"),
            ("dangling", "work/dangling2"),
            ("loop", "work/loop"),
            ("../outside", "work/out"),
            ("../outside/none", "work/out_dangling"),
            ("/etc", "work/etc"),
            ("/nowhere", "work/absolute_dangling"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("work/fifo"), fifo, 0o600.into(), 0).unwrap();
        let grants = [
            DirGrant::new(at("work"), "/work", Access::Read),
            DirGrant::new(at("data"), "/data", Access::ReadWrite),
            DirGrant::new(at("work/secrets"), "/own", Access::Read),
        ];
        let template = DirTemplate::open(&grants, "component.x.grant.dirs").unwrap();
        (scratch, template)
    }

    #[test]
    fn a_path_leads_where_the_kernel_says_or_to_what_could_be_made_there() {
        let (_scratch, template) = tree();
        let secret = |rest: &str| vec![format!("/work/secrets{rest}"), format!("/own{rest}")];
        let one = |place: &str| vec![place.to_owned()];
        for (path, places) in [
            ("/work", one("/work")),
            ("/work/", one("/work")),
            ("//work/./a//f", one("/work/a/f")),
            ("/work/secrets/k", secret("/k")),
            ("/own/k", vec!["/own/k".to_owned(), "/work/secrets/k".to_owned()]),
            ("/work/link", secret("")),
            ("/work/link/k", secret("/k")),
            ("/work/link/none/x", secret("/none/x")),
            ("/work/a/key", secret("/k")),
            ("/work/a/up/deep", secret("/deep")),
            ("/work/a/../secrets/k", secret("/k")),
            ("/work/dangling", secret("/new")),
            ("/work/dangling2", secret("/new")),
            ("/work/fifo", one("/work/fifo")),
            ("/work/none/../x", one("/work/x")),
            ("/work/none/../link/x", secret("/x")),
            ("/work/a/f/below", one("/work/a/f/below")),
            ("/work/loop", Vec::new()),
            ("/work/out", Vec::new()),
            ("/work/out/x", Vec::new()),
            ("/work/out_dangling", Vec::new()),
            ("/work/etc/passwd", Vec::new()),
            ("/work/absolute_dangling", Vec::new()),
            ("/work/../outside/x", Vec::new()),
            ("/workx", Vec::new()),
            ("/", Vec::new()),
            ("/etc/passwd", Vec::new()),
            ("/work/a\0b", Vec::new()),
        ] {
            let mut found = template.resolved(path);
            let mut expected: Vec<String> = places;
            found.sort();
            expected.sort();
            assert!(expected.iter().all(|place| found.contains(place)), "{path}: {found:?}");
            // By its letters alone a path may lead to one more place.
            assert!(found == expected || path.contains(".."), "{path}: {found:?}");
        }
        assert!(template.resolved(&"/work/a".repeat(1000)).is_empty());
    }

    #[test]
    fn a_link_before_two_dots_is_followed_and_is_not() {
        let (_scratch, template) = tree();
        let found = template.resolved("/work/link/../a");
        assert_eq!(found, ["/work/a"], "secrets lies where a does");
        let found = template.resolved("/work/a/up/../f");
        assert!(
            found.contains(&"/work/f".to_owned()) && found.contains(&"/work/a/f".to_owned()),
            "{found:?}"
        );
        assert_eq!(template.resolved("/work/../data/x"), ["/data/x"], "by its letters");
    }

    #[test]
    fn a_relative_path_may_start_at_any_grant() {
        let (_scratch, template) = tree();
        assert_eq!(template.resolved("a/f"), ["/work/a/f", "/data/a/f", "/own/a/f", "/work/secrets/a/f"]);
        let found = template.resolved("./work/link/k");
        assert!(found.contains(&"/work/secrets/k".to_owned()), "{found:?}");
        assert!(template.resolved("").contains(&"/work".to_owned()));
    }

    #[test]
    fn no_length_of_a_path_evades_a_rule() {
        let (_scratch, template) = tree();
        let subject = Subject {
            tool: "read_file",
            origin: "files.read-file",
            component: "files",
            group: None,
            read_only: true,
            destructive: false,
        };
        let deny = Rule::deny("*").argument("path", "/work/secrets/**");
        let deny = Rules::new(vec![deny], Action::Allow).unwrap().for_tool(&subject);
        let allow = Rule::allow("*").argument("path", "/work/a/**");
        let allow = Rules::new(vec![allow], Action::Deny).unwrap().for_tool(&subject);
        let action = |rules: &crate::policy::ToolRules, path: &str| {
            let arguments = json!({ "path": path });
            rules.decide(&arguments, &arguments, &*template).action
        };
        for nothing in ["./".repeat(2100), "/".repeat(4200), ".//".repeat(1500)] {
            assert_eq!(action(&deny, &format!("/work/{nothing}link/x")), Action::Deny);
            assert_eq!(action(&deny, &format!("{}link/x", nothing.trim_start_matches('/'))), Action::Deny);
            assert_eq!(action(&deny, &format!("/work/{nothing}a/f")), Action::Allow);
            assert_eq!(action(&allow, &format!("/work/{nothing}a/key")), Action::Deny);
            assert_eq!(action(&allow, &format!("/work/{nothing}a/f")), Action::Allow);
        }
        // Nobody can say where these lead: they may be denied, and are not allowed.
        for turns in ["a/../".repeat(1000), "a/b/../../".repeat(500)] {
            assert_eq!(action(&deny, &format!("/work/{turns}link/x")), Action::Deny);
            assert_eq!(action(&allow, &format!("/work/{turns}a/f")), Action::Deny);
        }
    }

    #[test]
    fn a_deny_rule_holds_through_links_and_from_every_start() {
        let (_scratch, template) = tree();
        let rules = vec![Rule::deny("*").argument("path", "/work/secrets/**")];
        let subject = Subject {
            tool: "read_file",
            origin: "files.read-file",
            component: "files",
            group: None,
            read_only: true,
            destructive: false,
        };
        let rules = Rules::new(rules, Action::Allow).unwrap().for_tool(&subject);
        for (path, expected) in [
            ("/work/./secrets/../secrets/x", Action::Deny),
            ("work/secrets/x", Action::Deny),
            ("secrets/x", Action::Deny),
            ("/work/link/x", Action::Deny),
            ("link", Action::Deny),
            ("a/up/k", Action::Deny),
            ("/own/k", Action::Deny),
            ("/work/dangling", Action::Deny),
            ("/work/a/../link/k", Action::Deny),
            ("/work/a/f", Action::Allow),
            ("/work/SECRETS.d", Action::Allow),
            ("/data/secrets", Action::Allow),
        ] {
            let arguments = json!({ "path": path });
            assert_eq!(rules.decide(&arguments, &arguments, &*template).action, expected, "{path}");
        }
    }
}
