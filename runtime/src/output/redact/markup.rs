//! A secret in HTML and XML, as common libraries write it there.

use std::collections::BTreeSet;

use super::json;

/// How the two quotes are written, where they are.
const QUOTES: [(&str, &str); 9] = [
    ("\"", "'"),
    ("&quot;", "'"),
    ("&quot;", "&#39;"),
    ("&quot;", "&#039;"),
    ("&quot;", "&#x27;"),
    ("&quot;", "&#X27;"),
    ("&quot;", "&apos;"),
    ("&#34;", "&#39;"),
    ("&#x22;", "&#x27;"),
];

/// What templates escape beside what HTML means something by, and how: the numbers by tens or sixteens.
const FURTHER: [(&str, Number); 7] = [
    ("", Number::Decimal),
    ("+", Number::Decimal),
    ("/", Number::Lower),
    ("/", Number::Upper),
    ("`=", Number::Lower),
    ("`=", Number::Upper),
    ("`=/", Number::Upper),
];

/// How a character's number is written.
#[derive(Clone, Copy)]
enum Number {
    Decimal,
    Lower,
    Upper,
}

const NUMBERS: [Number; 3] = [Number::Decimal, Number::Lower, Number::Upper];

impl Number {
    fn of(self, letter: char) -> String {
        let number = u32::from(letter);
        match self {
            Self::Decimal => format!("&#{number};"),
            Self::Lower => format!("&#x{number:x};"),
            Self::Upper => format!("&#x{number:X};"),
        }
    }
}

/// Every way, each of them in a JSON string and in markup too, and JSON in the commonest ones.
pub(super) fn nested(text: &str) -> BTreeSet<String> {
    let mut all = once(text);
    let in_json: Vec<String> = all.iter().flat_map(|written| json::of_markup(written)).collect();
    let of_json = json::common(text);
    let of_json: Vec<String> =
        of_json.iter().flat_map(|json| QUOTES.map(|quotes| named(json, quotes, FURTHER[0], None))).collect();
    // As feeds have pages in them: what is left of the first time is the ampersands.
    let twice: Vec<String> = all.iter().map(|written| written.replace('&', "&amp;")).collect();
    all.extend(in_json);
    all.extend(of_json);
    all.extend(twice);
    all
}

/// By names alone, which is nearly always.
pub(super) fn common(text: &str) -> BTreeSet<String> {
    QUOTES.into_iter().map(|quotes| named(text, quotes, FURTHER[0], None)).collect()
}

/// What has letters, digits and a few other characters alone, as templates escape it.
pub(super) fn of_base64(text: &str) -> BTreeSet<String> {
    FURTHER.into_iter().map(|further| named(text, QUOTES[0], further, None)).collect()
}

fn once(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for quotes in QUOTES {
        for further in FURTHER {
            all.insert(named(text, quotes, further, None));
        }
        for number in NUMBERS {
            all.insert(named(text, quotes, FURTHER[0], Some(number)));
        }
    }
    for number in NUMBERS {
        let numbered = |letter: char| match letter.is_ascii_alphanumeric() {
            true => letter.to_string(),
            false => number.of(letter),
        };
        all.insert(text.chars().map(numbered).collect());
        all.insert(text.chars().map(|letter| number.of(letter)).collect());
    }
    all
}

/// With the names that HTML has, and with numbers for some others, and for all beyond ASCII if `beyond` says so.
fn named(
    text: &str,
    (double, single): (&str, &str),
    (further, number): (&str, Number),
    beyond: Option<Number>,
) -> String {
    let mut written = String::new();
    for letter in text.chars() {
        match (letter, beyond) {
            ('&', _) => written.push_str("&amp;"),
            ('<', _) => written.push_str("&lt;"),
            ('>', _) => written.push_str("&gt;"),
            ('"', _) => written.push_str(double),
            ('\'', _) => written.push_str(single),
            (letter, _) if further.contains(letter) => written.push_str(&number.of(letter)),
            (letter, Some(number)) if !letter.is_ascii() => written.push_str(&number.of(letter)),
            (letter, _) => written.push(letter),
        }
    }
    written
}
