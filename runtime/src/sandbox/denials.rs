//! What the host refused during one call: each refusal once, so many that a reader can take them in, and how many
//! more there were.

use std::borrow::Cow;
use std::sync::Arc;

use crate::call::Denial;
use crate::output::{Redactor, clean};

/// Refusals that are kept; a guest that tries more has made its point.
const MAX_DENIALS: usize = 64;

/// Bytes of a target that are shown.
const MAX_TARGET: usize = 256;

/// The refusals of one layer of the host.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    kept: Vec<Denial>,
    more: u64,
    redactor: Option<Arc<Redactor>>,
}

impl Denials {
    /// Those of a component with secrets, which are in no target.
    pub fn of(redactor: Option<&Arc<Redactor>>) -> Self {
        Self { redactor: redactor.cloned(), ..Self::default() }
    }

    /// Notes a refusal; its target is the guest's text, and is made fit to be shown.
    pub fn add(&mut self, mut denial: Denial) {
        // As the guest wrote it: in a spelling of ours, or halved by us, a secret is not found any more.
        let target = match &self.redactor {
            Some(redactor) => redactor.text(&denial.target),
            None => Cow::Borrowed(denial.target.as_str()),
        };
        denial.target = shown(&target);
        if self.kept.contains(&denial) {
            return;
        }
        if self.kept.len() < MAX_DENIALS {
            self.kept.push(denial);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// The refusals, and where there were more than are kept, a last entry whose operation is `more`.
    pub fn list(&self) -> Vec<Denial> {
        let mut list = self.kept.clone();
        if let (Some(last), true) = (self.kept.last(), self.more > 0) {
            let target = format!("[... {} more refusals are not listed ...]", self.more);
            list.push(Denial::new(last.capability.clone(), "more", target, last.setting.clone()));
        }
        list
    }
}

/// `target` bounded and without what terminals obey or readers do not see. Control characters are spelled out: they
/// are a part of the name that was refused.
fn shown(target: &str) -> String {
    let mut shown = String::new();
    for character in target.chars() {
        if shown.len() >= MAX_TARGET {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    clean(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(target: &str) -> Denial {
        Denial::new("dirs", "open", target, "component.c.grant.dirs")
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let mut denials = Denials::default();
        for _ in 0..2 {
            for number in 0..MAX_DENIALS {
                denials.add(denial(&number.to_string()));
            }
        }
        assert_eq!(denials.list().len(), MAX_DENIALS);
        denials.add(denial("one"));
        denials.add(denial("two"));
        let list = denials.list();
        assert_eq!(list.len(), MAX_DENIALS + 1);
        let more = "[... 2 more refusals are not listed ...]";
        assert_eq!(list.last(), Some(&Denial::new("dirs", "more", more, "component.c.grant.dirs")));
    }

    #[test]
    fn a_target_has_no_secret_in_it_however_it_is_shown() {
        let secret = "tab\there \"quoted\" secret\u{1}, and \\ more";
        let redactor = Redactor::new([("key", secret)]).ok().flatten().map(Arc::new);
        for before in 0..=MAX_TARGET {
            let mut denials = Denials::of(redactor.as_ref());
            denials.add(denial(&format!("/{}{secret}", "x".repeat(before))));
            let target = denials.list().remove(0).target;
            let left = target.replace(['/', 'x', '…'], "");
            assert!("[redacted:key]".starts_with(&left), "{before}: {target}");
        }
    }

    #[test]
    fn targets_are_shown_as_they_are_read() {
        for (target, seen) in [
            ("/work/a", "/work/a"),
            ("/work/\u{1b}[31m\n", "/work/\\u{1b}[31m\\n"),
            ("/work/\u{202e}gpj.exe", "/work/gpj.exe"),
            ("/work/\u{2066}x\u{2069}", "/work/x"),
        ] {
            assert_eq!(shown(target), seen);
        }
        assert!(shown(&"x".repeat(10_000)).len() <= MAX_TARGET + '…'.len_utf8());
    }
}
