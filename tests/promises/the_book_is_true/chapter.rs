//! A chapter of the book: its blocks are taken in order, in a folder and by a user of its own.

use std::fs;
use std::io::{Read as _, Seek as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::shown::{Block, blocks, prints};
use toolcell_tests::{languages, repository};

/// Chapters whose projects need compilers of other languages.
const OTHER_LANGUAGES: [&str; 3] = ["authoring/javascript.md", "authoring/python.md", "authoring/c.md"];

/// The port of the text: a chapter runs with one that is free.
const PORT: &str = "8080";

/// A chapter on its way.
pub(super) struct Chapter {
    path: String,
    blocks: Vec<Block>,
    user: CommandLine,
    /// Where its commands run.
    folder: PathBuf,
    /// What stands for [`PORT`].
    port: u16,
    wrong: Vec<String>,
}

impl Chapter {
    /// The chapter of that file.
    pub fn open(path: &str) -> Self {
        Self::new(path, &fs::read_to_string(super::source().join(path)).unwrap())
    }

    /// A chapter of that text.
    pub fn new(path: &str, text: &str) -> Self {
        let user = CommandLine::new();
        let folder = user.folder();
        Self {
            path: path.to_owned(),
            blocks: blocks(text),
            user,
            folder,
            port: free_port(),
            wrong: Vec::new(),
        }
    }

    /// Fails with all that is wrong.
    pub fn check(self) {
        let wrong = self.run();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// Takes all blocks in their order; what is wrong.
    pub fn run(mut self) -> Vec<String> {
        let mut printed = None;
        for block in std::mem::take(&mut self.blocks) {
            let before = printed.take();
            match (block.language(), block.attribute("file"), block.attribute("from")) {
                ("sh", ..) if block.attribute("not-run").is_none() => printed = Some(self.command(&block)),
                ("sh", ..) => (),
                (_, None, Some(from)) => self.is_part_of(&block, from),
                (_, Some(file), from) => {
                    self.write(&block, file);
                    from.into_iter().for_each(|from| self.is_part_of(&block, from));
                }
                ("text", ..) if block.attribute("of").is_some() => self.example(&block),
                ("text" | "json", ..) => match before {
                    Some(before) => self.compare(&block, &before),
                    None => self.complain(&block, "follows no command"),
                },
                _ => self.complain(&block, "is not checked: give it `file=` or `from=`, or let it be output"),
            }
        }
        self.wrong
    }

    fn complain(&mut self, block: &Block, what: impl std::fmt::Display) {
        self.wrong.push(format!("docs/src/{}:{}: {what}", self.path, block.line));
    }

    fn shell(&self, text: &str) -> Command {
        let mut shell = self.user.program("bash");
        // What runs beside a block ends with it, whatever happened.
        let at_end = r#"trap 'set +e; kill $(jobs -p) 2>/dev/null; pwd >"$TOOLCELL_HOME/folder"' EXIT"#;
        shell.current_dir(&self.folder).args(["-e", "-c", &format!("{at_end}\n{text}")]);
        shell.env("PATH", languages::path([])).env("LANG", "C.UTF-8");
        // Rust and what it has downloaded are this machine's; the crates of new projects are built once for all runs.
        let home = std::env::home_dir().unwrap();
        let own =
            |variable: &str, default: PathBuf| std::env::var_os(variable).map_or(default, PathBuf::from);
        let made = own("XDG_CACHE_HOME", home.join(".cache")).join("toolcell/guest-toolchain");
        shell.env("CARGO_HOME", own("CARGO_HOME", home.join(".cargo")));
        shell.env("RUSTUP_HOME", own("RUSTUP_HOME", home.join(".rustup")));
        shell.env("TOOLCELL_TOOLCHAIN_DIR", own("TOOLCELL_TOOLCHAIN_DIR", made));
        shell.env("CARGO_NET_OFFLINE", "true");
        shell.env("CARGO_TARGET_DIR", toolcell_tests::cache().with_file_name("new-tool"));
        if OTHER_LANGUAGES.contains(&self.path.as_str()) {
            shell.envs(languages::environment());
        }
        shell
    }

    /// Runs an example of the library in place of a command.
    fn example(&mut self, block: &Block) {
        let name = block.attribute("of").unwrap();
        let ended = ended(&mut self.user.program(binary().with_file_name("examples").join(name)));
        self.compare(block, &format!("{}{}", ended.stderr, ended.stdout));
    }

    /// Runs a block; what it printed.
    fn command(&mut self, block: &Block) -> String {
        let port = self.port.to_string();
        let mut output = tempfile::tempfile().unwrap();
        let mut shell = self.shell(&block.text.replace(PORT, &port));
        shell.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        let code = shell.status().unwrap().code().unwrap_or(-1);
        let mut printed = Vec::new();
        output.rewind().unwrap();
        output.read_to_end(&mut printed).unwrap();
        let printed = String::from_utf8_lossy(&printed).replace(&format!(":{port}"), &format!(":{PORT}"));
        let expected: i32 = block.attribute("exit").map_or(0, |code| code.parse().unwrap());
        if code != expected {
            self.complain(block, format_args!("ended with {code}, not {expected}:\n{printed}"));
        }
        if let Ok(folder) = fs::read_to_string(self.user.home().join("folder")) {
            self.folder = PathBuf::from(folder.trim_end());
        }
        printed
    }

    fn write(&self, block: &Block, file: &str) {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{}\n", block.text.replace(PORT, &self.port.to_string()))).unwrap();
    }

    fn is_part_of(&mut self, block: &Block, from: &str) {
        let file = fs::read_to_string(repository().join(from)).unwrap_or_default();
        if !unindented(&file).contains(&unindented(&block.text)) {
            self.complain(block, format_args!("is no part of {from}"));
        }
    }

    fn compare(&mut self, block: &Block, printed: &str) {
        let expected: Vec<&str> = block.text.lines().collect();
        if !prints(&expected, &printed.lines().collect::<Vec<_>>()) {
            self.complain(block, format_args!("what is printed is\n{printed}"));
        }
    }
}

/// A port below those that are given to whoever asks for any.
fn free_port() -> u16 {
    let first = u16::try_from(20_000 + std::process::id() % 10_000).unwrap();
    (first..first + 2_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// Lines without their indentation: what a book shows of a function stands further left.
fn unindented(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
