//! Utilities that remove names: `rmdir` and `rm`, and the question that others ask as `rm` does.

use std::fs;
use std::path::Path;

use super::options::{Options, Spelling};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};
use crate::stream::Out;

pub async fn rmdir(shell: &mut Shell, arguments: &[String]) -> Status {
    let options =
        Spelling::new("pv1", &[("parents", 'p'), ("verbose", 'v'), ("ignore-fail-on-non-empty", '1')])
            .read(arguments)?;
    if options.operands.is_empty() {
        return fail("missing operand");
    }
    let mut status = 0;
    for name in &options.operands {
        let mut part = Some(name.trim_end_matches('/')).filter(|part| !part.is_empty());
        while let Some(folder) = part {
            if options.has('v') {
                shell.stdout().write(format!("rmdir: removing directory, '{folder}'\n").as_bytes()).await?;
            }
            match remove_dir(&shell.path(folder)) {
                Ok(()) => {}
                Err(error) => {
                    let full = error.kind() == std::io::ErrorKind::DirectoryNotEmpty;
                    if !(full && options.has('1')) {
                        let kind =
                            if folder.len() < name.trim_end_matches('/').len() { "directory " } else { "" };
                        let message = format!("rmdir: failed to remove {kind}'{folder}': {}", words(&error));
                        shell.warn(message).await?;
                        status = 1;
                    }
                    break;
                }
            }
            let parent = folder.rsplit_once('/').map(|(parent, _)| parent.trim_end_matches('/'));
            part = parent.filter(|parent| options.has('p') && !parent.is_empty());
        }
    }
    Ok(status)
}

/// Removes an empty folder. Not every host says of a full one that it is full.
fn remove_dir(path: &Path) -> std::io::Result<()> {
    if files::is_dir(path) && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(std::io::ErrorKind::DirectoryNotEmpty.into());
    }
    fs::remove_dir(path)
}

const RM: Spelling = Spelling::new(
    "dfiIrRv2:3",
    &[
        ("force", 'f'),
        ("interactive", '2'),
        ("recursive", 'r'),
        ("verbose", 'v'),
        ("dir", 'd'),
        ("preserve-root", '3'),
        ("no-preserve-root", '3'),
        ("one-file-system", '3'),
    ],
);

/// When `rm` asks; the option that was given last holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asking {
    Never,
    /// Before anything, where there is much.
    Once,
    Always,
}

fn asking(options: &Options) -> Result<Asking, Stop> {
    let mut asking = Asking::Never;
    for (letter, value) in options.given() {
        asking = match (letter, value.as_str()) {
            ('f', _) | ('2', "never" | "no" | "none") => Asking::Never,
            ('I', _) | ('2', "once") => Asking::Once,
            ('i', _) | ('2', "always" | "yes" | "") => Asking::Always,
            ('2', other) => return fail(format!("invalid argument ‘{other}’ for ‘--interactive’")),
            _ => asking,
        };
    }
    Ok(asking)
}

/// Whether a name is that of the folder itself or of the one above it, by its last part.
fn is_dots(name: &str) -> bool {
    matches!(name.trim_end_matches('/').rsplit('/').next(), Some("." | ".."))
}

pub async fn rm(shell: &mut Shell, arguments: &[String]) -> Status {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| if text == "--interactive" { "--interactive=always".to_owned() } else { text.clone() })
        .collect();
    let options = RM.read(&arguments)?;
    if options.operands.is_empty() && !options.has('f') {
        return fail("missing operand");
    }
    let (recursive, force) = (options.has('r') || options.has('R'), options.has('f'));
    let asking = asking(&options)?;
    let count = options.operands.len();
    if asking == Asking::Once && (recursive || count > 3) {
        let (plural, how) = (if count == 1 { "" } else { "s" }, if recursive { " recursively" } else { "" });
        if !agreed(shell, &format!("rm: remove {count} argument{plural}{how}? ")).await? {
            return Ok(0);
        }
    }
    let (mut status, mut out) = (0, shell.out());
    for name in &options.operands {
        let path = shell.path(name);
        // `/work/..` is the root as well, but has a name that no one removes.
        if (recursive || options.has('d')) && is_dots(name) {
            let message = format!("rm: refusing to remove '.' or '..' directory: skipping '{name}'");
            shell.warn(message).await?;
            status = 1;
            continue;
        }
        if recursive && files::normal(&path.to_string_lossy()) == "/" {
            shell.warn("rm: it is dangerous to operate recursively on '/'").await?;
            status = 1;
            continue;
        }
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if force && error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                shell.warn(format!("rm: cannot remove '{name}': {}", words(&error))).await?;
                status = 1;
                continue;
            }
        };
        if metadata.is_dir() && !recursive && !options.has('d') {
            shell.warn(format!("rm: cannot remove '{name}': Is a directory")).await?;
            status = 1;
            continue;
        }
        let mut removal = Removal {
            shell,
            asks: asking == Asking::Always,
            recursive,
            verbose: options.has('v'),
            out: &mut out,
            failed: false,
        };
        removal.remove(name, metadata.is_dir()).await?;
        status |= i32::from(removal.failed);
    }
    out.flush().await?;
    Ok(status)
}

/// Whether the next line of the input is a yes; the end of the input is none.
pub async fn agreed(shell: &Shell, question: &str) -> Result<bool, Stop> {
    shell.stderr().write(question.as_bytes()).await?;
    let mut line = Vec::new();
    shell.stdin().line(&mut line).await?;
    Ok(matches!(line.first(), Some(b'y' | b'Y')))
}

struct Removal<'a> {
    shell: &'a Shell,
    asks: bool,
    recursive: bool,
    verbose: bool,
    out: &'a mut Out,
    failed: bool,
}

impl Removal<'_> {
    /// Asks if it has to, after what was said before is out.
    async fn may(&mut self, question: String) -> Result<bool, Stop> {
        if !self.asks {
            return Ok(true);
        }
        self.out.flush().await?;
        agreed(self.shell, &format!("rm: {question}? ")).await
    }

    async fn remove(&mut self, name: &str, is_dir: bool) -> Result<(), Stop> {
        crate::task::tick()?;
        let path = self.shell.path(name);
        if is_dir && self.recursive {
            let entries = files::list(self.shell, name).unwrap_or_default();
            if !entries.is_empty() && !self.may(format!("descend into directory '{name}'")).await? {
                return Ok(());
            }
            for entry in entries {
                let inner = format!("{}/{}", name.trim_end_matches('/'), entry.name);
                Box::pin(self.remove(&inner, entry.is_dir)).await?;
            }
        } else if !is_dir {
            let kind = match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_symlink() => "symbolic link",
                Ok(metadata) if metadata.len() == 0 => "regular empty file",
                _ => "regular file",
            };
            if !self.may(format!("remove {kind} '{name}'")).await? {
                return Ok(());
            }
        }
        if is_dir && !self.may(format!("remove directory '{name}'")).await? {
            return Ok(());
        }
        let result = if is_dir { remove_dir(&path) } else { fs::remove_file(&path) };
        match result {
            Ok(()) if self.verbose => {
                let kind = if is_dir { "removed directory" } else { "removed" };
                self.out.line(format!("{kind} '{name}'"));
            }
            Ok(()) => {}
            Err(error) => {
                self.failed = true;
                self.shell.warn(format!("rm: cannot remove '{name}': {}", words(&error))).await?;
            }
        }
        self.out.check().await
    }
}
