//! `gzip`, `gunzip` and `zcat`.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::input;
use super::options::Spelling;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, words};

const SPELLING: Spelling = Spelling::new(
    "cdfknNqtv123456789",
    &[
        ("stdout", 'c'),
        ("to-stdout", 'c'),
        ("decompress", 'd'),
        ("uncompress", 'd'),
        ("force", 'f'),
        ("keep", 'k'),
        ("test", 't'),
        ("verbose", 'v'),
        ("fast", '1'),
        ("best", '9'),
        ("quiet", 'q'),
    ],
);

/// What may come out of compressed bytes: they can be a thousandth of it.
const MOST: u64 = 64 << 20;

pub async fn gzip(shell: &mut Shell, arguments: &[String]) -> Status {
    run(shell, "gzip", arguments, false, false).await
}

pub async fn gunzip(shell: &mut Shell, arguments: &[String]) -> Status {
    run(shell, "gunzip", arguments, true, false).await
}

pub async fn zcat(shell: &mut Shell, arguments: &[String]) -> Status {
    run(shell, "zcat", arguments, true, true).await
}

/// Compressed bytes.
pub fn compress(bytes: &[u8], level: u32) -> Result<Vec<u8>, Stop> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    let done = encoder.write_all(bytes).and_then(|()| encoder.finish());
    done.map_err(|error| Stop::Fail(1, words(&error)))
}

/// The bytes that were compressed, or why there are none.
pub fn decompress(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Err("not in gzip format".to_owned());
    }
    let mut plain = Vec::new();
    match MultiGzDecoder::new(bytes).take(MOST + 1).read_to_end(&mut plain) {
        Ok(_) if u64::try_from(plain.len()).unwrap_or(u64::MAX) > MOST => {
            Err(format!("more than {MOST} bytes come out of it"))
        }
        Ok(_) => Ok(plain),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err("unexpected end of file".to_owned())
        }
        Err(_) => Err("invalid compressed data--format violated".to_owned()),
    }
}

async fn run(
    shell: &mut Shell,
    utility: &str,
    arguments: &[String],
    inflate: bool,
    to_stdout: bool,
) -> Status {
    let options = SPELLING.read(arguments)?;
    let test = options.has('t');
    let inflate = inflate || options.has('d') || test;
    let to_stdout = to_stdout || options.has('c') || options.operands.is_empty();
    let level = options.given().iter().rev().find_map(|(letter, _)| letter.to_digit(10)).unwrap_or(6);
    let mut status = 0;
    for name in options.inputs() {
        if name != "-" && files::is_dir(&shell.path(&name)) {
            shell.warn(format!("{utility}: {name} is a directory -- ignored")).await?;
            status = 2;
            continue;
        }
        // `gunzip name` also finds `name.gz`.
        let name = if inflate
            && name != "-"
            && !files::exists(&shell.path(&name))
            && files::exists(&shell.path(&format!("{name}.gz")))
        {
            format!("{name}.gz")
        } else {
            name
        };
        if inflate
            && !to_stdout
            && !test
            && ![".gz", ".tgz"].iter().any(|suffix| name.ends_with(suffix))
            && files::exists(&shell.path(&name))
        {
            shell.warn(format!("{utility}: {name}: unknown suffix -- ignored")).await?;
            status = 2;
            continue;
        }
        let bytes = match input::whole(shell, &name).await {
            Ok(bytes) => bytes,
            Err(Stop::Fail(_, message)) => {
                shell.warn(format!("{utility}: {message}")).await?;
                status = 1;
                continue;
            }
            Err(stop) => return Err(stop),
        };
        let shown = if name == "-" { "stdin" } else { &name };
        let result = if inflate { decompress(&bytes) } else { Ok(compress(&bytes, level)?) };
        let bytes = match result {
            Ok(bytes) => bytes,
            Err(message) => {
                shell
                    .warn(
                        format!("\n{utility}: {shown}: {message}")
                            .trim_start_matches(|letter| letter == '\n' && message.starts_with("not")),
                    )
                    .await?;
                status = 1;
                continue;
            }
        };
        if test {
            continue;
        }
        if to_stdout || name == "-" {
            shell.stdout().write(&bytes).await?;
            continue;
        }
        let target = match (inflate, name.strip_suffix(".gz"), name.strip_suffix(".tgz")) {
            (false, None, _) => format!("{name}.gz"),
            (false, Some(_), _) => {
                shell.warn(format!("{utility}: {name} already has .gz suffix -- unchanged")).await?;
                continue;
            }
            (true, Some(stem), _) => stem.to_owned(),
            (true, _, Some(stem)) => format!("{stem}.tar"),
            // Said above.
            (true, None, None) => continue,
        };
        if files::exists(&shell.path(&target)) && !options.has('f') {
            shell.warn(format!("{utility}: {target} already exists;\tnot overwritten")).await?;
            status = 2;
            continue;
        }
        let written = match files::write(shell, &target) {
            Ok(handle) => handle.write(&bytes).await,
            Err(error) => Err(Stop::Fail(1, format!("{target}: {}", words(&error)))),
        };
        written?;
        if !options.has('k') {
            if let Err(error) = std::fs::remove_file(shell.path(&name)) {
                shell.warn(format!("{utility}: {name}: {}", words(&error))).await?;
                status = 2;
            }
        }
    }
    Ok(status)
}
