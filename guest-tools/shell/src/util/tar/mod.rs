//! `tar`: archives in the format of POSIX with GNU's long names.

mod read;
mod write;

use read::read;
use write::create;

use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, wrong};
use crate::util::options::Spelling;

const SPELLING: Spelling = Spelling::new(
    "cC:f:hjJkmOpPrtT:uvxz1:2:3",
    &[
        ("create", 'c'),
        ("extract", 'x'),
        ("get", 'x'),
        ("list", 't'),
        ("file", 'f'),
        ("gzip", 'z'),
        ("gunzip", 'z'),
        ("verbose", 'v'),
        ("directory", 'C'),
        ("exclude", '1'),
        ("strip-components", '2'),
        ("to-stdout", 'O'),
        ("keep-old-files", 'k'),
        ("append", 'r'),
        ("files-from", 'T'),
        ("absolute-names", 'P'),
        ("auto-compress", '3'),
        ("preserve-permissions", 'p'),
        ("no-same-owner", '3'),
    ],
)
.status(2);

const BLOCK: usize = 512;

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(&dashed(arguments))?;
    if options.has('j') || options.has('J') {
        return wrong(2, "of the ways to compress there is only gzip here (-z)");
    }
    let folder = options.value('C').map(str::to_owned);
    let mut inner = shell.child()?;
    if let Some(folder) = &folder {
        let path = shell.path(folder);
        if !files::is_dir(&path) {
            return wrong(
                2,
                format!(
                    "{folder}: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now"
                ),
            );
        }
        inner.cwd = path.to_string_lossy().into_owned();
    }
    let archive = options.value('f').unwrap_or("-").to_owned();
    if options.has('c') || options.has('r') {
        return create(shell, &inner, &options, &archive).await;
    }
    if options.has('x') || options.has('t') {
        return read(shell, &inner, &options, &archive).await;
    }
    wrong(2, "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
}

/// `tar xzf a.tgz`: the first word is options even without a dash, and their values follow it.
fn dashed(arguments: &[String]) -> Vec<String> {
    let Some((first, rest)) = arguments.split_first().filter(|(first, _)| !first.starts_with('-')) else {
        return arguments.to_vec();
    };
    let mut rest = rest.iter();
    let mut all = Vec::new();
    for letter in first.chars() {
        all.push(format!("-{letter}"));
        if matches!(letter, 'f' | 'C' | 'T') {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}
