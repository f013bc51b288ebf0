//! How a registry wants to be asked, as its header `WWW-Authenticate` says.

/// What a registry wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User and password with each request.
    Basic,
    /// A token that is to be had elsewhere.
    Bearer {
        /// Where.
        realm: String,
        /// For which service.
        service: Option<String>,
    },
}

/// What the values of the header want; a token before a password.
pub(super) fn choose<'v>(values: impl IntoIterator<Item = &'v str>) -> Option<Challenge> {
    let mut found = None;
    for (scheme, parameters) in values.into_iter().flat_map(schemes) {
        let parameter = |name: &str| {
            let mut all = parameters.iter();
            all.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        if scheme.eq_ignore_ascii_case("bearer")
            && let Some(realm) = parameter("realm")
        {
            return Some(Challenge::Bearer { realm, service: parameter("service") });
        }
        if scheme.eq_ignore_ascii_case("basic") {
            found = Some(Challenge::Basic);
        }
    }
    found
}

type Scheme = (String, Vec<(String, String)>);

/// Schemes with their parameters: a word that no `=` follows begins another scheme.
fn schemes(value: &str) -> Vec<Scheme> {
    let mut found: Vec<Scheme> = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = rest.split_at(rest.find([' ', '\t', ',', '=', '"']).unwrap_or(rest.len()));
        if word.is_empty() {
            return found;
        }
        let after_word = after.trim_start_matches([' ', '\t']);
        match (after_word.strip_prefix('='), found.last_mut()) {
            (Some(after), Some((_, parameters))) => {
                let (value, after) = self::value(after.trim_start_matches([' ', '\t']));
                parameters.push((word.to_owned(), value));
                rest = after;
            }
            _ => {
                found.push((word.to_owned(), Vec::new()));
                rest = after;
            }
        }
    }
}

/// A value, in quotes or not, and what is after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, after) = text.split_at(text.find([' ', '\t', ',']).unwrap_or(text.len()));
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Option<Challenge> {
        Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
    }

    #[test]
    fn challenges_are_read_as_servers_write_them() {
        for (values, expected) in [
            (
                &[
                    r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push""#,
                ][..],
                bearer("https://auth.docker.io/token", Some("registry.docker.io")),
            ),
            (&[r#"bearer  Realm = "https://a/\"x" , error=invalid"#], bearer("https://a/\"x", None)),
            (&["Bearer realm=https://a/t,service=s"], bearer("https://a/t", Some("s"))),
            (&[r#"Basic realm="Registry Realm""#], Some(Challenge::Basic)),
            (&["Basic"], Some(Challenge::Basic)),
            (&["Basic realm=\"x\", Bearer realm=\"https://a\""], bearer("https://a", None)),
            (&["Basic realm=\"x\"", "Bearer realm=\"https://a\""], bearer("https://a", None)),
            (&["Negotiate abc==, Basic realm=x"], Some(Challenge::Basic)),
            (&["Bearer"], None),
            (&["Bearer service=\"x\""], None),
            (&[r#"Bearer realm="https://unended"#], bearer("https://unended", None)),
            (&["", "=", "\"", ", ,", "Digest x=\"\\"], None),
            (&[], None),
        ] {
            assert_eq!(choose(values.iter().copied()), expected, "{values:?}");
        }
    }
}
