//! What several instances of one server share of their clients: questions that any of them may be answered on, and the list of
//! full outputs.
//!
//! A client of the current era comes back with what it was given. Here that is a sealed box: it says which question was asked,
//! of which call, until when, and nobody but the instances that have its key makes or opens one.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::schema::sorted;
use crate::shared::SharedStore;

/// What is answered while the store cannot be asked.
pub(super) const SILENT: &str =
    "the store that the instances of this server share cannot be reached; try again later";

/// How long a client may take to come back, as long as a call may take by default.
const LIFE: Duration = Duration::from_mins(10);

/// How long the list of outputs stays, as long as the outputs.
const OUTPUTS: Duration = Duration::from_hours(24);

/// Parts of what is sealed: when it ends, a number of its own, and the question.
const EXPIRY: usize = 8;
const NUMBER: usize = 16;
const QUESTION: usize = 32;

/// What instances share.
pub(super) struct Shared {
    pub store: Arc<SharedStore>,
    key: LessSafeKey,
}

/// The call that a box is about. One of another is none.
pub(super) struct About<'a> {
    pub tool: &'a str,
    pub arguments: &'a Value,
    /// The session, whose name nobody can guess and which is one principal's.
    pub session: &'a str,
}

/// What was in a box.
pub(super) struct Unsealed {
    question: [u8; QUESTION],
    number: [u8; NUMBER],
}

impl Shared {
    /// What instances share by `store`, sealed by a key that is made of `secret`.
    ///
    /// # Errors
    /// When the cipher takes no such key, which does not happen.
    pub fn new(store: Arc<SharedStore>, secret: &[u8]) -> Option<Self> {
        let key = Sha256::new().chain_update(b"toolcell state 1").chain_update(secret).finalize();
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).ok()?;
        Some(Self { store, key: LessSafeKey::new(key) })
    }

    /// A box with a question about a call; none without random bytes.
    pub fn seal(&self, about: &About<'_>, question: &[u8; QUESTION]) -> Option<String> {
        self.sealed(about, question, now().saturating_add(LIFE.as_secs()))
    }

    fn sealed(&self, about: &About<'_>, question: &[u8; QUESTION], until: u64) -> Option<String> {
        let mut random = [0; NONCE_LEN + NUMBER];
        getrandom::fill(&mut random).ok()?;
        let (nonce, number) = random.split_at(NONCE_LEN);
        let mut text = [until.to_be_bytes().as_slice(), number, question].concat();
        let tag = self.key.seal_in_place_separate_tag(
            Nonce::try_assume_unique_for_key(nonce).ok()?,
            Aad::from(about.digest()),
            &mut text,
        );
        Some(URL_SAFE_NO_PAD.encode([nonce, &text, tag.ok()?.as_ref()].concat()))
    }

    /// What is in a box about a call, unless it is of another, was made by nobody who may, or is too old.
    pub fn unseal(&self, sealed: &str, about: &About<'_>) -> Option<Unsealed> {
        const LENGTH: usize = NONCE_LEN + EXPIRY + NUMBER + QUESTION + 16;
        if sealed.len() != (LENGTH * 4).div_ceil(3) {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE_LEN)?;
        let mut text = text.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text: &[u8] = self.key.open_in_place(nonce, Aad::from(about.digest()), &mut text).ok()?;
        let (until, rest) = text.split_first_chunk::<EXPIRY>()?;
        let (number, rest) = rest.split_first_chunk::<NUMBER>()?;
        let question = rest.first_chunk::<QUESTION>()?;
        (u64::from_be_bytes(*until) > now()).then_some(Unsealed { question: *question, number: *number })
    }

    /// Uses a box up, on whatever instance: whether nobody has before; nothing where the store cannot be asked.
    pub async fn use_up(&self, unsealed: &Unsealed) -> Option<bool> {
        let number: String = unsealed.number.iter().map(|byte| format!("{byte:02x}")).collect();
        let store = Arc::clone(&self.store);
        let taking = tokio::task::spawn_blocking(move || store.take(&format!("state:{number}"), LIFE));
        taking.await.ok()?.ok()
    }

    /// Notes an output of a session, to be listed.
    pub fn note_output(&self, session: &str, output: &[u8], most: usize) {
        // What cannot be noted can still be read by its handle.
        let _ = self.store.push(&outputs(session), output, most, OUTPUTS);
    }

    /// The outputs of a session, the newest first.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub fn outputs(&self, session: &str) -> io::Result<Vec<Vec<u8>>> {
        self.store.list(&outputs(session))
    }
}

/// The name of a session's list, which does not show the session's.
fn outputs(session: &str) -> String {
    format!("outputs:{}", crate::policy::Digest::of(session.as_bytes()))
}

impl About<'_> {
    fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [self.tool, self.session, &sorted(self.arguments).to_string()] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

impl Unsealed {
    /// Whether it is about this question.
    pub fn is_about(&self, question: &[u8; QUESTION]) -> bool {
        self.question == *question
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::shared::StoreAddress;

    fn shared(secret: &str) -> Shared {
        let store = SharedStore::new(StoreAddress::parse("redis://127.0.0.1:1").unwrap(), None);
        Shared::new(Arc::new(store), secret.as_bytes()).unwrap()
    }

    const QUESTION_ASKED: [u8; QUESTION] = [7; QUESTION];

    fn about<'a>(tool: &'a str, arguments: &'a Value, session: &'a str) -> About<'a> {
        About { tool, arguments, session }
    }

    #[test]
    fn a_box_is_of_one_call_and_one_session() {
        let (here, there) = (shared("one key"), shared("one key"));
        let arguments = json!({ "a": 1, "b": [2] });
        let own = || about("t", &arguments, "s");
        let sealed = here.seal(&own(), &QUESTION_ASKED).unwrap();
        let reordered = json!({ "b": [2], "a": 1 });
        let unsealed = there.unseal(&sealed, &about("t", &reordered, "s")).unwrap();
        assert!(unsealed.is_about(&QUESTION_ASKED) && !unsealed.is_about(&[8; QUESTION]));
        let other = json!({ "a": 1, "b": [3] });
        for foreign in [
            about("u", &arguments, "s"),
            about("t", &other, "s"),
            about("t", &arguments, "z"),
            about("ts", &arguments, ""),
        ] {
            assert!(there.unseal(&sealed, &foreign).is_none());
        }
        assert!(shared("another key").unseal(&sealed, &own()).is_none());
        assert_ne!(sealed, here.seal(&own(), &QUESTION_ASKED).unwrap(), "no two are alike");
        let late = here.sealed(&own(), &QUESTION_ASKED, now()).unwrap();
        assert!(there.unseal(&late, &own()).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn whatever_else_comes_is_no_box(text in ".{0,200}", at in 0_usize..112, letter in "[A-Za-z0-9_=-]", cut in 0_usize..112) {
            let here = shared("one key");
            let arguments = json!({});
            let own = || about("t", &arguments, "s");
            prop_assert!(here.unseal(&text, &own()).is_none());
            let sealed = here.seal(&own(), &QUESTION_ASKED).unwrap();
            prop_assert_eq!(sealed.len(), 112);
            let mut changed = sealed.clone();
            changed.replace_range(at..=at, &letter);
            prop_assert_eq!(here.unseal(&changed, &own()).is_some(), changed == sealed);
            prop_assert!(here.unseal(&sealed[..cut], &own()).is_none());
        }
    }
}
