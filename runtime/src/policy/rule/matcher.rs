//! What an argument must be, and when it is.

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::path::{PathPattern, Remembered, fold};
use super::relative::{RelativePattern, relative};
use super::same::{any_text, is_same};

/// Memory of a compiled expression: an operator's own, so this only stops a slip such as `(a{1000}){1000}`.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// What an argument must be. Of an argument that is a list, one item must be it in a deny or ask rule, and all of
/// them in an allow rule.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Matcher {
    /// A path of the guest that a glob from `/` on matches: `*` within one name, `**` across them, `X/**` also `X`
    /// itself. `.`, `..`, double and final slashes, and links inside the grants make no difference; nor does case
    /// in a deny or ask rule, in which a pattern that ends in a name, `/work/secrets` or `/work/sec*`, is also of all that
    /// is beneath it; `/work/*` is not.
    Path(String),
    /// A glob with `/` in it, but not at its beginning. A text that it matches as a whole; in a deny or ask rule also a
    /// path of which it matches the end, from any folder on, with all that holds for [`Path`](Self::Path); in an allow
    /// rule only where the path still matches once `..` and links are followed.
    Relative(String),
    /// A text that a glob matches as a whole, `*` across anything. Case makes no difference in a deny or ask rule, which
    /// also holds for numbers and booleans as texts, whole numbers with and without `.0`.
    Glob(String),
    /// A text in which a regular expression is found; `^` and `$` anchor it. Numbers and booleans as for globs.
    Regex(String),
    /// This value, as the tool's types spell it; `5` is `5.0`, and keys have no order. Null is also an argument that is not
    /// there, and in a deny or ask rule a member that is not there.
    Equals(Value),
    /// One of these.
    Any(Vec<Matcher>),
}

impl Matcher {
    /// A path pattern if `text` begins with `/`, one of paths and texts if there is a `/` in it that is not of a URL,
    /// else a glob of texts.
    fn from_text(text: String) -> Self {
        if text.starts_with('/') {
            return Self::Path(text);
        }
        if text.contains('/') && !text.contains("://") { Self::Relative(text) } else { Self::Glob(text) }
    }

    /// Those of its patterns that look like paths and that no path matches, each with why.
    pub(super) fn without_paths(&self) -> Vec<(&str, &'static str)> {
        match self {
            Self::Relative(pattern) => {
                relative(pattern).err().map(|why| (&**pattern, why)).into_iter().collect()
            }
            Self::Any(matchers) => matchers.iter().flat_map(Self::without_paths).collect(),
            _ => Vec::new(),
        }
    }
}

impl From<&str> for Matcher {
    fn from(text: &str) -> Self {
        Self::from_text(text.to_owned())
    }
}

impl From<String> for Matcher {
    fn from(text: String) -> Self {
        Self::from_text(text)
    }
}

impl From<bool> for Matcher {
    fn from(value: bool) -> Self {
        Self::Equals(value.into())
    }
}

impl From<i64> for Matcher {
    fn from(value: i64) -> Self {
        Self::Equals(value.into())
    }
}

impl<M: Into<Matcher>> From<Vec<M>> for Matcher {
    fn from(matchers: Vec<M>) -> Self {
        Self::Any(matchers.into_iter().map(Into::into).collect())
    }
}

/// How uncertainty is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// By deny and ask rules: whatever may match does.
    Wide,
    /// By allow rules: only what certainly matches does.
    Narrow,
}

/// A matcher with its patterns compiled.
#[derive(Debug, Clone)]
pub(super) enum Compiled {
    Path(PathPattern),
    Relative(RelativePattern),
    Glob { exact: GlobMatcher, folded: GlobMatcher },
    Regex(Regex),
    Equals(Value),
    Any(Vec<Compiled>),
}

impl Compiled {
    /// Compiles a matcher.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn new(matcher: &Matcher) -> Result<Self, String> {
        Ok(match matcher {
            Matcher::Path(pattern) => Self::Path(PathPattern::new(pattern)?),
            Matcher::Relative(pattern) => Self::Relative(RelativePattern::new(pattern)?),
            Matcher::Glob(pattern) => Self::Glob { exact: glob(pattern)?, folded: folded_glob(pattern)? },
            Matcher::Regex(pattern) => {
                let regex = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
                Self::Regex(regex.map_err(|error| no_regex(pattern, &error))?)
            }
            Matcher::Equals(value) => Self::Equals(value.clone()),
            Matcher::Any(matchers) if matchers.is_empty() => {
                return Err("lists nothing that would match; name at least one value".to_owned());
            }
            Matcher::Any(matchers) => Self::Any(matchers.iter().map(Self::new).collect::<Result<_, _>>()?),
        })
    }

    /// Whether it needs to know where paths lead.
    pub(super) fn needs_paths(&self) -> bool {
        match self {
            Self::Path(_) => true,
            Self::Relative(pattern) => pattern.needs_paths(),
            Self::Any(matchers) => matchers.iter().any(Self::needs_paths),
            Self::Glob { .. } | Self::Regex(_) | Self::Equals(_) => false,
        }
    }

    /// The same matcher with what a tool's types make of the values in it, if that is something else.
    pub(super) fn spelt(&self, reading: Reading, spellings: &dyn Fn(&Value) -> Vec<Value>) -> Option<Self> {
        let named = match self {
            Self::Equals(value) => value.clone(),
            // As a pattern of texts it is uncertain of what is no text.
            Self::Glob { exact, .. } if reading == Reading::Wide && is_plain(exact.glob().glob()) => {
                exact.glob().glob().into()
            }
            Self::Any(matchers) => {
                let spelt: Vec<Option<Self>> =
                    matchers.iter().map(|matcher| matcher.spelt(reading, spellings)).collect();
                let of = |(spelt, matcher): (Option<Self>, &Self)| spelt.unwrap_or_else(|| matcher.clone());
                let is_spelt = spelt.iter().any(Option::is_some);
                return is_spelt.then(|| Self::Any(spelt.into_iter().zip(matchers).map(of).collect()));
            }
            _ => return None,
        };
        let others: Vec<Self> = spellings(&named).into_iter().map(Self::Equals).collect();
        (!others.is_empty()).then(|| Self::Any(std::iter::once(self.clone()).chain(others).collect()))
    }

    /// Whether `value`, or enough of its items, matches.
    pub(super) fn matches(&self, value: &Value, reading: Reading, paths: &Remembered<'_>) -> bool {
        if self.matches_whole(value, reading, paths) {
            return true;
        }
        let Value::Array(items) = value else { return false };
        let mut items = items.iter();
        match reading {
            Reading::Wide => items.any(|item| self.matches(item, reading, paths)),
            Reading::Narrow => items.len() > 0 && items.all(|item| self.matches(item, reading, paths)),
        }
    }

    fn matches_whole(&self, value: &Value, reading: Reading, paths: &Remembered<'_>) -> bool {
        match (self, value) {
            (Self::Any(matchers), _) => {
                matchers.iter().any(|matcher| matcher.matches_whole(value, reading, paths))
            }
            (Self::Equals(expected), _) => is_same(expected, value, reading),
            (Self::Path(pattern), Value::String(text)) => pattern.matches(text, reading, paths),
            (Self::Relative(pattern), Value::String(text)) => pattern.matches(text, reading, paths),
            (Self::Glob { exact, folded }, Value::String(text)) => match reading {
                Reading::Wide => exact.is_match(text) || folded.is_match(fold(text)),
                Reading::Narrow => exact.is_match(text),
            },
            (Self::Regex(regex), Value::String(text)) => regex.is_match(text),
            // A tool may write a number as text; how is uncertain, so that it never allows.
            (Self::Glob { exact, .. }, _) => {
                reading == Reading::Wide && any_text(value, |text| exact.is_match(text))
            }
            (Self::Regex(regex), _) => {
                reading == Reading::Wide && any_text(value, |text| regex.is_match(text))
            }
            _ => false,
        }
    }
}

/// A glob over text, in which nothing separates.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern)
        .build()
        .map_err(|error| format!("`{pattern}` is no glob: {}", error.kind()))?;
    Ok(glob.compile_matcher())
}

/// The same for text that went through [`fold`]. Folding may turn a range of letters around, and then only ASCII
/// letters are compared without case.
pub(super) fn folded_glob(pattern: &str) -> Result<GlobMatcher, String> {
    glob(&fold(pattern)).or_else(|_| {
        let mut builder = GlobBuilder::new(pattern);
        let glob = builder.case_insensitive(true).build();
        Ok(glob.map_err(|error| format!("`{pattern}` is no glob: {}", error.kind()))?.compile_matcher())
    })
}

fn no_regex(pattern: &str, error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => format!("`{pattern}` is too big once compiled"),
        _ => format!(
            "`{pattern}` is not a regular expression; there is no look-around and there are no back-references"
        ),
    }
}

/// Whether a glob has nothing in it that stands for something else.
fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}
