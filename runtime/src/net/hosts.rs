//! The file in which a host's operator gives names to addresses.

use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;

const FILE: &str = "/etc/hosts";

/// What is read of it: lists of a hundred thousand names are in use.
const MAX_BYTES: u64 = 16 << 20;

/// The addresses that the file gives `name`, in its order; none where it has none or cannot be read. Blocks.
pub(super) fn addresses(name: &str) -> Vec<IpAddr> {
    let mut text = Vec::new();
    let read = File::open(FILE).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    named(&String::from_utf8_lossy(&text), name)
}

fn named(text: &str, name: &str) -> Vec<IpAddr> {
    let is_it = |word: &str| word.strip_suffix('.').unwrap_or(word).eq_ignore_ascii_case(name);
    let address = |line: &str| -> Option<IpAddr> {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(is_it).then_some(address)
    };
    text.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_addresses_of_its_lines() {
        let text = "127.0.0.1\tlocalhost\n\
                    10.0.0.7  api.internal.corp api # the old one: db.internal.corp\n\
                    # 10.0.0.8 api.internal.corp\n\
                    fd00::7 API.Internal.Corp.\n\
                    fe80::1%lo0 api.internal.corp\n\
                    10.0.0.9 \u{fffd} other.corp\n\
                    api.internal.corp\n\n";
        let found =
            |name: &str| -> Vec<String> { named(text, name).iter().map(ToString::to_string).collect() };
        assert_eq!(found("api.internal.corp"), ["10.0.0.7", "fd00::7"]);
        assert_eq!(found("other.corp"), ["10.0.0.9"]);
        for unknown in ["internal.corp", "db.internal.corp", "api.internal", "10.0.0.7", ""] {
            assert!(found(unknown).is_empty(), "{unknown}");
        }
    }
}
