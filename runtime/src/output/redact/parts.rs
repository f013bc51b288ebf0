//! What of a secret is one by itself: the lines of a key, the token behind the name of a scheme, and what base64 hides.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A shorter part can be guessed, and may be a word.
const SHORTEST: usize = 8;

/// A shorter line may be one of anything.
const SHORTEST_LINE: usize = 16;

/// What ends a line, also of one that is written in a line.
const ENDS: [&str; 4] = ["\n", "\r", "\\n", "\\r"];

/// Lines of a secret that has several, as they are where somebody indents or joins them; not those that say what it is.
pub(super) fn lines(secret: &str) -> impl Iterator<Item = &str> {
    let mut lines = vec![secret];
    for end in ENDS {
        lines = lines.into_iter().flat_map(|line| line.split(end)).collect();
    }
    let has_several = lines.len() > 1;
    let is_secret =
        move |line: &&str| has_several && line.len() >= SHORTEST_LINE && !line.starts_with("-----");
    lines.into_iter().map(str::trim).filter(is_secret)
}

/// Credentials within one: the token behind a scheme's name (`Basic …`, `Bearer …`), the text that is base64 of a user's name
/// and a password, and that password.
pub(super) fn credentials(secret: &str) -> Vec<String> {
    let mut all = Vec::new();
    let token = secret.split_once(' ').filter(|(scheme, token)| {
        scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) && !token.contains(char::is_whitespace)
    });
    let token = token.map(|(_, token)| token);
    all.extend(token.map(str::to_owned));
    for decoded in [Some(secret), token].into_iter().flatten().filter_map(decoded) {
        all.extend(decoded.split_once(':').map(|(_, password)| password.to_owned()));
        all.push(decoded);
    }
    all.retain(|part| part.len() >= SHORTEST);
    all
}

/// The text that `secret` is base64 of.
fn decoded(secret: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = [&STANDARD, &URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(secret).ok())?;
    // What only happens to be base64 is hardly ever text.
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.chars().any(|letter| letter.is_control() && letter != '\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_a_key_consists_of() {
        let key =
            "-----BEGIN KEY-----\n  MIIEvQIBADANBgkqhkiG\r\nshort\nMIIEvQIBADANBgkqhki2  \n-----END KEY-----";
        let found = ["MIIEvQIBADANBgkqhkiG", "MIIEvQIBADANBgkqhki2"];
        assert_eq!(lines(key).collect::<Vec<_>>(), found);
        assert_eq!(lines(&key.replace('\n', "\\n")).collect::<Vec<_>>(), found);
        assert_eq!(lines("one line that is long enough").count(), 0);
    }

    #[test]
    fn credentials_are_found_in_their_encoding() {
        let basic = "YWxpY2U6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5";
        let inside = ["correct-horse-battery", "alice:correct-horse-battery"];
        assert_eq!(credentials(basic), inside);
        assert_eq!(credentials(&format!("Basic {basic}")), [&[basic][..], &inside].concat());
        assert_eq!(credentials("YWxpY2U6c2hvcnQ="), ["alice:short"]);
        for plain in ["sk-live_AbCd1234-wxyz9876", "73000007", "correct horse battery", "abcdefghijklmnop"] {
            assert_eq!(credentials(plain), [""; 0], "{plain}");
        }
    }
}
