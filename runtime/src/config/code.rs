//! Which of the files that a command names are its program, and which are what the program works on.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Programs that run the file which they are given first, without the number of their version.
const INTERPRETERS: [&str; 19] = [
    "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "luajit", "node", "nodejs", "perl", "php", "pypy",
    "python", "ruby", "sh", "tclsh", "tsx", "zsh",
];

/// Endings of files that interpreters run, whichever argument names them: `node --import ./hook.mjs server.js` has two.
const ENDINGS: [&str; 26] = [
    "bash", "cjs", "clj", "cts", "dll", "erl", "exs", "fish", "jar", "jl", "js", "jsx", "lua", "mjs", "mts",
    "php", "pl", "py", "pyz", "rb", "sh", "tcl", "ts", "tsx", "wasm", "zsh",
];

/// What programs begin with that the operating system starts.
const BEGINNINGS: [&[u8]; 2] = [b"#!", b"\x7fELF"];

/// The files among `arguments` that are code of `program`: those that end or begin as code does, and the script of an
/// interpreter. All others are its data: a database, a log, a list of settings. What writes such a file does not make
/// another program of it.
pub(super) fn code(program: &Path, arguments: &[PathBuf], written: &[String]) -> Vec<PathBuf> {
    let is_script = |index: usize| is_interpreter(program) && script_of(written) == Some(index);
    let all = arguments.iter().enumerate().filter(|(_, file)| file.is_file());
    all.filter(|(index, file)| is_script(*index) || ends_as_code(file) || begins_as_code(file))
        .map(|(_, file)| file.clone())
        .collect()
}

fn is_interpreter(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_version = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-');
    INTERPRETERS.contains(&name.trim_end_matches(is_version))
}

/// Which argument is the script, if one is: the first that is no option.
fn script_of(arguments: &[String]) -> Option<usize> {
    arguments.iter().position(|argument| !argument.starts_with('-'))
}

fn ends_as_code(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

fn begins_as_code(file: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4).read_to_end(&mut begin));
    read.is_ok() && BEGINNINGS.iter().any(|known| begin.starts_with(known))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn data_is_no_part_of_a_program() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("server", "import sys"),
            ("server.py", ""),
            ("hook.mjs", ""),
            ("start", "#!/bin/sh\n"),
            ("binary", "\x7fELF\x02"),
            ("data.db", "SQLite format 3"),
            ("memory.json", "{}"),
            ("log", "2026"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        for (command, expected) in [
            (&["/usr/bin/python3.12", "server.py", "data.db"][..], &["server.py"][..]),
            (&["python3", "-u", "server", "data.db"], &["server"]),
            (&["python3", "-m", "package", "data.db"], &[]),
            (&["node", "--import", "hook.mjs", "server.py"], &["hook.mjs", "server.py"]),
            (&["sqlite-server", "data.db", "memory.json", "log"], &[]),
            (&["env", "start", "data.db"], &["start"]),
            (&["timeout", "60", "binary", "log"], &["binary"]),
            (&["sh", "-c", "server"], &["server"]),
        ] {
            let written: Vec<String> = command[1..].iter().map(|part| (*part).to_owned()).collect();
            let arguments: Vec<PathBuf> = written.iter().map(|part| folder.path().join(part)).collect();
            let found = code(Path::new(command[0]), &arguments, &written);
            let names: Vec<_> =
                found.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
            assert_eq!(names, expected, "{command:?}");
        }
    }
}
