//! Checksums: `md5sum`, `sha256sum` and their kin, and `base64`.

use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::input;
use super::options::{Options, Spelling};
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};
use crate::stream::Handle;

const SPELLING: Spelling = Spelling::new(
    "bctqsw",
    &[("binary", 'b'), ("check", 'c'), ("text", 't'), ("quiet", 'q'), ("status", 's'), ("warn", 'w')],
);

pub async fn md5(shell: &mut Shell, arguments: &[String]) -> Status {
    run::<Md5>(shell, "md5sum", "MD5", arguments).await
}

pub async fn sha224(shell: &mut Shell, arguments: &[String]) -> Status {
    run::<Sha224>(shell, "sha224sum", "SHA224", arguments).await
}

pub async fn sha256(shell: &mut Shell, arguments: &[String]) -> Status {
    run::<Sha256>(shell, "sha256sum", "SHA256", arguments).await
}

pub async fn sha384(shell: &mut Shell, arguments: &[String]) -> Status {
    run::<Sha384>(shell, "sha384sum", "SHA384", arguments).await
}

pub async fn sha512(shell: &mut Shell, arguments: &[String]) -> Status {
    run::<Sha512>(shell, "sha512sum", "SHA512", arguments).await
}

async fn sum<D: Digest>(handle: &Handle) -> Result<String, Stop> {
    let mut digest = D::new();
    loop {
        let chunk = handle.chunk().await?;
        if chunk.is_empty() {
            break;
        }
        digest.update(chunk);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn run<D: Digest>(shell: &mut Shell, utility: &str, name: &str, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    if options.has('c') {
        return check::<D>(shell, utility, name, &options).await;
    }
    let (mut out, mut status) = (shell.out(), 0);
    for name in options.inputs() {
        match input::open(shell, utility, &name).await? {
            Some(handle) => out.line(format!(
                "{} {}{name}",
                sum::<D>(&handle).await?,
                if options.has('b') { '*' } else { ' ' }
            )),
            None => status = 1,
        }
    }
    out.flush().await?;
    Ok(status)
}

async fn check<D: Digest>(shell: &mut Shell, utility: &str, kind: &str, options: &Options) -> Status {
    let (mut out, mut wrong, mut missing, mut read) = (shell.out(), 0, 0, 0);
    for name in options.inputs() {
        let text = input::whole(shell, &name).await?;
        for line in input::lines(&text) {
            let line = String::from_utf8_lossy(line);
            let Some((expected, file)) = line.split_once(' ') else { continue };
            let file = file.trim_start_matches([' ', '*']);
            read += 1;
            let Some(handle) = input::open(shell, utility, file).await? else {
                missing += 1;
                out.line(format!("{file}: FAILED open or read"));
                continue;
            };
            let same = sum::<D>(&handle).await?.eq_ignore_ascii_case(expected);
            wrong += i32::from(!same);
            let silent = options.has('s') || (same && options.has('q'));
            if !silent {
                out.line(format!("{file}: {}", if same { "OK" } else { "FAILED" }));
            }
        }
        if read == 0 {
            out.flush().await?;
            return fail(format!("{name}: no properly formatted {kind} checksum lines found"));
        }
    }
    let plural = |count: i32, one: &str, many: &str| {
        format!("WARNING: {count} {}", if count == 1 { one } else { many })
    };
    out.flush().await?;
    if missing > 0 && !options.has('s') {
        shell
            .warn(format!(
                "{utility}: {}",
                plural(missing, "listed file could not be read", "listed files could not be read")
            ))
            .await?;
    }
    if wrong > 0 && !options.has('s') {
        shell
            .warn(format!(
                "{utility}: {}",
                plural(wrong, "computed checksum did NOT match", "computed checksums did NOT match")
            ))
            .await?;
    }
    Ok(i32::from(wrong + missing > 0))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub async fn base64(shell: &mut Shell, arguments: &[String]) -> Status {
    let options =
        Spelling::new("dDiw:", &[("decode", 'd'), ("ignore-garbage", 'i'), ("wrap", 'w')]).read(arguments)?;
    let name = options.operands.first().map_or("-", String::as_str);
    let bytes = input::whole(shell, name).await?;
    let mut out = shell.out();
    if options.has('d') || options.has('D') {
        let (decoded, valid) = decode(&bytes, options.has('i'));
        out.put(decoded);
        out.flush().await?;
        return if valid { Ok(0) } else { fail("invalid input") };
    }
    let text = options.value('w').unwrap_or("76");
    let Ok(width) = text.parse::<usize>() else { return fail(format!("invalid wrap size: ‘{text}’")) };
    let encoded = encode(&bytes);
    if width == 0 {
        out.put(encoded);
    } else {
        for line in encoded.as_bytes().chunks(width) {
            out.line(line);
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(0)
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let index = usize::try_from(group >> (18 - 6 * place) & 63).unwrap_or(0);
            let letter = ALPHABET.get(index).copied().unwrap_or(b'=');
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

fn decode(text: &[u8], ignore: bool) -> (Vec<u8>, bool) {
    let (mut bytes, mut group, mut count, mut padding) = (Vec::new(), 0_u32, 0, 0);
    for letter in text.iter().filter(|letter| !matches!(letter, b'\n' | b'\r')) {
        if *letter == b'=' {
            padding += 1;
            continue;
        }
        let Some(value) = ALPHABET.iter().position(|known| known == letter).filter(|_| padding == 0) else {
            if ignore {
                continue;
            }
            return (bytes, false);
        };
        group = group << 6 | u32::try_from(value).unwrap_or(0);
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(group.to_be_bytes().get(1..).unwrap_or_default());
            (group, count) = (0, 0);
        }
    }
    let whole = match count {
        2 => {
            bytes.extend((group << 12).to_be_bytes().get(1..2).unwrap_or_default());
            padding == 2
        }
        3 => {
            bytes.extend((group << 6).to_be_bytes().get(1..3).unwrap_or_default());
            padding == 1
        }
        0 => padding == 0,
        _ => false,
    };
    (bytes, whole)
}
