//! `toolcell new`: a project that builds a tool.

use std::fs;
use std::io::{self, Write as _, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use crate::wit;

/// Makes a project with one tool in it, ready to build.
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The project's name and folder: words of lower-case letters and digits, joined by `-`.
    #[arg(value_parser = name)]
    name: String,
    /// The language to write the tool in.
    #[arg(long, value_enum)]
    lang: Language,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Language {
    Rust,
    Js,
    Python,
    C,
}

/// One file of a project: its path, and its text with `{name}` and `{module}` to be filled in.
type File = (&'static str, &'static str);

/// What every project has.
const COMMON: [File; 2] = [
    ("wit/world.wit", include_str!("templates/world.wit.template")),
    ("tests/top_words.toml", include_str!("templates/cases.toml.template")),
];

const RUST: [File; 6] = [
    ("Cargo.toml", include_str!("templates/rust/Cargo.toml.template")),
    (".cargo/config.toml", include_str!("templates/rust/config.toml.template")),
    (".gitignore", include_str!("templates/rust/gitignore.template")),
    ("src/lib.rs", include_str!("templates/rust/lib.rs.template")),
    ("toolcell.toml", include_str!("templates/toolcell.toml.template")),
    ("README.md", include_str!("templates/rust/README.md.template")),
];

const JS: [File; 5] = [
    ("package.json", include_str!("templates/js/package.json.template")),
    (".gitignore", include_str!("templates/js/gitignore.template")),
    ("src/tools.js", include_str!("templates/js/tools.js.template")),
    ("toolcell.toml", include_str!("templates/toolcell.toml.template")),
    ("README.md", include_str!("templates/js/README.md.template")),
];

const PYTHON: [File; 5] = [
    ("requirements.txt", include_str!("templates/python/requirements.txt.template")),
    (".gitignore", include_str!("templates/python/gitignore.template")),
    ("tools_impl.py", include_str!("templates/python/tools_impl.py.template")),
    ("toolcell.toml", include_str!("templates/python/toolcell.toml.template")),
    ("README.md", include_str!("templates/python/README.md.template")),
];

const C: [File; 5] = [
    ("Makefile", include_str!("templates/c/Makefile.template")),
    (".gitignore", include_str!("templates/c/gitignore.template")),
    ("src/tools.c", include_str!("templates/c/tools.c.template")),
    ("toolcell.toml", include_str!("templates/toolcell.toml.template")),
    ("README.md", include_str!("templates/c/README.md.template")),
];

impl Language {
    fn files(self) -> impl Iterator<Item = File> {
        let own: &[File] = match self {
            Self::Rust => &RUST,
            Self::Js => &JS,
            Self::Python => &PYTHON,
            Self::C => &C,
        };
        COMMON.into_iter().chain(own.iter().copied())
    }

    /// The file with the tool's code.
    fn code(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::Js => "src/tools.js",
            Self::Python => "tools_impl.py",
            Self::C => "src/tools.c",
        }
    }

    /// The commands that build a project and call its tool: those of its README that are not about looking at it.
    fn commands(self, name: &str) -> Vec<String> {
        let readme = self.files().find(|(path, _)| *path == "README.md").map_or("", |(_, text)| text);
        let shown = readme.split("```").find_map(|block| block.strip_prefix("sh\n")).unwrap_or_default();
        let commands = shown.lines().map(|line| line.split(" #").next().unwrap_or(line).trim_end());
        let needed = commands.filter(|command| {
            !["toolcell describe", "toolcell check", "toolcell test"]
                .iter()
                .any(|look| command.starts_with(look))
        });
        needed.map(|command| command.replace("{name}", name)).collect()
    }
}

/// A folder's name, a crate's and a component's all fit in this.
const MAX_NAME: usize = 64;

/// Names that mean something else to Rust, to WIT, or to the world that is included.
const RESERVED: [&str; 93] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "bool",
    "borrow",
    "box",
    "break",
    "char",
    "const",
    "constructor",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "error-context",
    "export",
    "extern",
    "f32",
    "f64",
    "false",
    "final",
    "flags",
    "fn",
    "for",
    "from",
    "func",
    "future",
    "gen",
    "if",
    "impl",
    "import",
    "in",
    "include",
    "interface",
    "let",
    "list",
    "loop",
    "macro",
    "map",
    "match",
    "mod",
    "move",
    "mut",
    "option",
    "own",
    "package",
    "priv",
    "proc-macro",
    "pub",
    "record",
    "ref",
    "resource",
    "result",
    "return",
    "s16",
    "s32",
    "s64",
    "s8",
    "self",
    "static",
    "std",
    "stream",
    "string",
    "struct",
    "super",
    "test",
    "tool",
    "trait",
    "true",
    "try",
    "tuple",
    "type",
    "typeof",
    "u16",
    "u32",
    "u64",
    "u8",
    "union",
    "unsafe",
    "use",
    "variant",
    "virtual",
    "where",
    "while",
    "with",
    "world",
    "yield",
];

/// A project's name, as the command line takes it.
fn name(text: &str) -> Result<String, String> {
    let word = |word: &str| {
        word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if text.len() > MAX_NAME || !text.split('-').all(word) {
        return Err(format!(
            "write words of lower-case letters and digits, each beginning with a letter, joined by `-`, at most \
             {MAX_NAME} characters: `word-count`"
        ));
    }
    if RESERVED.contains(&text) {
        return Err(format!("`{text}` means something else to Rust or WIT; write for example `{text}-tool`"));
    }
    Ok(text.to_owned())
}

pub(crate) fn run(args: NewArgs) -> anyhow::Result<ExitCode> {
    make(Path::new(&args.name), &args.name, args.lang)?;
    let name = &args.name;
    writeln!(
        stdout(),
        "made {name}/: what the tool takes and gives is in wit/world.wit, what it does in {}\n\nnext:\n  cd {name}",
        args.lang.code()
    )?;
    for command in args.lang.commands(name) {
        writeln!(stdout(), "  {command}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn make(folder: &Path, name: &str, language: Language) -> anyhow::Result<()> {
    refuse_occupied(folder)?;
    for (path, text) in language.files() {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        let text = text.replace("{name}", name).replace("{module}", &name.replace('-', "_"));
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    wit::write(&folder.join("wit/deps/toolcell-tool"))
}

/// An empty folder is taken as it is; anything else may be somebody's work.
fn refuse_occupied(folder: &Path) -> anyhow::Result<()> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(false) => bail!("{} is there and is not empty; take another name", folder.display()),
        Err(error) => Err(error).with_context(|| format!("cannot use {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn names_fit_everything_that_bears_them() {
        for good in ["hello", "a", "word-count", "http2-client", "x1"] {
            assert_eq!(name(good), Ok(good.to_owned()));
        }
        let long = "a".repeat(MAX_NAME + 1);
        for bad in [
            "",
            "-",
            "Hello",
            "hello_world",
            "1st",
            "a-",
            "-a",
            "a--b",
            "a-1",
            "../x",
            "a/b",
            "a.b",
            "a b",
            "é",
            "mod",
            "interface",
            "test",
            "self",
            "u32",
            "tool",
            &long,
        ] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_project_is_whole_and_its_wit_describes_everything() {
        for language in Language::value_variants() {
            let folder = tempfile::tempdir().unwrap();
            let project = folder.path().join("word-tool");
            make(&project, "word-tool", *language).unwrap();
            let (resolve, world) =
                toolcell_package::parse_wit(&project.join("wit"), Some("word-tool")).unwrap();
            let package = toolcell_package::Package::from_wit(&resolve, world).unwrap();
            assert_eq!(package.undescribed(&resolve, world), []);
            for (path, _) in language.files() {
                let text = fs::read_to_string(project.join(path)).unwrap();
                assert!(!text.contains("{name}") && !text.contains("{module}"), "{path}: {text}");
            }
            assert!(project.join(language.code()).is_file());
            let commands = language.commands("word-tool");
            assert!(commands.last().unwrap().starts_with("toolcell call top_words '{"), "{commands:?}");
            assert!(
                commands.iter().all(|command| !command.contains(['#', '{']) || command.contains("{\"text\""))
            );
        }
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), "word-tool", Language::Rust).unwrap();
        let library = fs::read_to_string(folder.path().join("src/lib.rs")).unwrap();
        assert!(library.contains("local::word_tool::tools"), "{library}");
    }

    #[test]
    fn somebodys_work_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), "empty", Language::Rust).unwrap();
        let occupied = make(folder.path(), "other", Language::Rust).unwrap_err().to_string();
        assert!(occupied.contains("is not empty"), "{occupied}");
        let file = folder.path().join("README.md");
        assert!(make(&file, "other", Language::Rust).is_err());
        assert!(fs::read_to_string(file).unwrap().starts_with("# empty\n"));
    }
}
