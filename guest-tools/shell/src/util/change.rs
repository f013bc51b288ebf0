//! Utilities that make and remove names: `mkdir`, `rmdir`, `rm`, `ln`, `readlink`, `touch`, `mktemp`.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::options::{Options, Spelling, size};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};
use crate::stream::Out;

pub async fn mkdir(shell: &mut Shell, arguments: &[String]) -> Status {
    let options =
        Spelling::new("pvm:", &[("parents", 'p'), ("verbose", 'v'), ("mode", 'm')]).read(arguments)?;
    if options.operands.is_empty() {
        return fail("missing operand");
    }
    let mut status = 0;
    for name in &options.operands {
        let mut made = Vec::new();
        if options.has('p') {
            let ancestors: Vec<&str> = Path::new(name)
                .ancestors()
                .filter_map(Path::to_str)
                .filter(|part| !part.is_empty())
                .collect();
            made.extend(
                ancestors
                    .into_iter()
                    .rev()
                    .filter(|part| !files::is_dir(&shell.path(part)))
                    .map(str::to_owned),
            );
        } else {
            made.push(name.clone());
        }
        for part in made {
            match fs::create_dir(shell.path(&part)) {
                Ok(()) if options.has('v') => {
                    shell.stdout().write(format!("mkdir: created directory '{part}'\n").as_bytes()).await?;
                }
                Ok(()) => {}
                Err(error) => {
                    shell.warn(format!("mkdir: cannot create directory ‘{part}’: {}", words(&error))).await?;
                    status = 1;
                    break;
                }
            }
        }
    }
    Ok(status)
}

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

pub async fn ln(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new(
        "sfnvrT",
        &[("symbolic", 's'), ("force", 'f'), ("verbose", 'v'), ("no-dereference", 'n'), ("relative", 'r')],
    )
    .read(arguments)?;
    let (targets, place) = match options.operands.as_slice() {
        [] => return fail("missing file operand"),
        [target] => (std::slice::from_ref(target), "."),
        [targets @ .., place] => (targets, place.as_str()),
    };
    let mut status = 0;
    for target in targets {
        let into = files::is_dir(&shell.path(place))
            && !(options.has('n')
                && files::is_there(&shell.path(place))
                && fs::symlink_metadata(shell.path(place)).is_ok_and(|metadata| metadata.is_symlink()));
        let base = target.trim_end_matches('/').rsplit('/').next().unwrap_or(target);
        let name = if into { format!("{}/{base}", place.trim_end_matches('/')) } else { place.to_owned() };
        let shown = name.strip_prefix("./").filter(|_| place == ".").unwrap_or(&name);
        let path = shell.path(&name);
        if files::is_there(&path) && options.has('f') {
            // If it stays, making the link fails and says so.
            let _stays = fs::remove_file(&path);
        }
        let result =
            if options.has('s') { symlink(target, &path) } else { fs::hard_link(shell.path(target), &path) };
        let kind = if options.has('s') { "symbolic link" } else { "hard link" };
        match result {
            Ok(()) if options.has('v') => {
                let arrow = if options.has('s') { "->" } else { "=>" };
                shell.stdout().write(format!("'{shown}' {arrow} '{target}'\n").as_bytes()).await?;
            }
            Ok(()) => {}
            Err(error) => {
                let arrow = if options.has('s') { String::new() } else { format!(" => '{target}'") };
                let message = if options.has('s') || files::is_there(&shell.path(target)) {
                    format!(
                        "failed to create {kind} '{shown}'{}: {}",
                        if files::is_there(&path) { String::new() } else { arrow },
                        words(&error)
                    )
                } else {
                    format!("failed to access '{target}': {}", words(&error))
                };
                shell.warn(format!("ln: {message}")).await?;
                status = 1;
            }
        }
    }
    Ok(status)
}

/// A link that holds `target` as it is written.
#[expect(deprecated, reason = "what replaces it on this target is not stable")]
pub fn symlink(target: &str, path: &Path) -> std::io::Result<()> {
    fs::soft_link(target, path)
}

pub async fn readlink(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("femn", &[("canonicalize", 'f'), ("no-newline", 'n')]).read(arguments)?;
    let (mut out, mut status) = (shell.out(), 0);
    for name in &options.operands {
        let target = if options.has('f') || options.has('e') || options.has('m') {
            super::names::real(shell, name, options.has('m')).ok()
        } else {
            fs::read_link(shell.path(name)).ok().map(|target| target.to_string_lossy().into_owned())
        };
        match target {
            Some(target) => {
                out.put(target);
                out.put(if options.has('n') { "" } else { "\n" });
            }
            None => status = 1,
        }
    }
    out.flush().await?;
    Ok(status)
}

/// `chmod`: files here have no mode. Scripts that make a file executable and run it work; whoever wants to protect one
/// is told.
pub async fn chmod(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut words =
        arguments.iter().filter(|word| !matches!(word.as_str(), "-R" | "-v" | "-f" | "--recursive"));
    let Some(mode) = words.next() else { return fail("missing operand") };
    let mut status = 0;
    for name in words {
        if !files::is_there(&shell.path(name)) {
            shell.warn(format!("chmod: cannot access '{name}': No such file or directory")).await?;
            status = 1;
        }
    }
    if !mode.contains('x') && !matches!(mode.as_str(), "755" | "0755" | "775" | "777" | "644" | "0644") {
        shell.warn("chmod: files have no mode here: nothing was changed").await?;
    }
    Ok(status)
}

const TOUCH: Spelling =
    Spelling::new("acd:fhmr:t:", &[("no-create", 'c'), ("date", 'd'), ("reference", 'r')]);

pub async fn touch(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = TOUCH.read(arguments)?;
    if options.operands.is_empty() {
        return fail("missing file operand");
    }
    let zone = super::date::zone(shell)?;
    let time = if let Some(text) = options.value('d') {
        let Some(time) = super::date::parse(text, crate::clock::now(), zone) else {
            return fail(format!("invalid date format ‘{text}’"));
        };
        Some(time)
    } else if let Some(text) = options.value('t') {
        let Some(time) = super::date::stamp(text) else {
            return fail(format!("invalid date format ‘{text}’"));
        };
        Some(time)
    } else if let Some(name) = options.value('r') {
        match fs::metadata(shell.path(name)).and_then(|metadata| metadata.modified()) {
            Ok(time) => i64::try_from(crate::clock::since_epoch(time).as_secs()).ok(),
            Err(error) => return fail(format!("failed to get attributes of '{name}': {}", words(&error))),
        }
    } else {
        None
    };
    let mut status = 0;
    for name in &options.operands {
        let path = shell.path(name);
        if !files::exists(&path) && options.has('c') {
            continue;
        }
        if let Err(error) = set_time(&path, time) {
            shell.warn(format!("touch: cannot touch '{name}': {}", words(&error))).await?;
            status = 1;
        }
    }
    Ok(status)
}

fn set_time(path: &Path, time: Option<i64>) -> std::io::Result<()> {
    let time = match time {
        Some(seconds) => UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
        None => std::time::SystemTime::now(),
    };
    if files::is_dir(path) {
        return Ok(());
    }
    let file = fs::OpenOptions::new().append(true).create(true).open(path)?;
    file.set_times(fs::FileTimes::new().set_accessed(time).set_modified(time))
}

const TRUNCATE: Spelling = Spelling::new("cs:r:", &[("no-create", 'c'), ("size", 's'), ("reference", 'r')]);

/// Larger files would only be zeros.
const LONGEST: u64 = 1 << 32;

/// `truncate`: gives files a size, or one relative to what they have.
pub async fn truncate(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = TRUNCATE.read(arguments)?;
    let length = |name: &str| fs::metadata(shell.path(name)).map(|metadata| metadata.len());
    let (sign, amount) = match (options.value('s'), options.value('r')) {
        (Some(text), None) => {
            let digits = text.trim_start_matches(['+', '-', '<', '>', '/', '%']);
            let Some(amount) = size(digits).filter(|_| text.len() - digits.len() <= 1) else {
                return fail(format!("Invalid number: ‘{text}’"));
            };
            (text.chars().next().filter(|sign| !sign.is_ascii_digit()), amount)
        }
        (None, Some(name)) => match length(name) {
            Ok(amount) => (None, amount),
            Err(error) => return fail(format!("cannot stat '{name}': {}", words(&error))),
        },
        _ => return fail("you must specify either ‘--size’ or ‘--reference’"),
    };
    if options.operands.is_empty() {
        return fail("missing file operand");
    }
    let mut status = 0;
    for name in &options.operands {
        let path = shell.path(name);
        if options.has('c') && !files::exists(&path) {
            continue;
        }
        let now = length(name).unwrap_or(0);
        let wanted = match sign {
            Some('+') => now.saturating_add(amount),
            Some('-') => now.saturating_sub(amount),
            Some('<') => now.min(amount),
            Some('>') => now.max(amount),
            Some(_) if amount == 0 => return fail("division by zero"),
            Some('/') => now - now % amount,
            Some(_) => now.div_ceil(amount).saturating_mul(amount),
            None => amount,
        };
        if wanted > LONGEST {
            return fail(format!("failed to truncate '{name}' at {wanted} bytes: File too large"));
        }
        let opened = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        if let Err(error) = opened.and_then(|file| file.set_len(wanted)) {
            shell.warn(format!("truncate: cannot open '{name}' for writing: {}", words(&error))).await?;
            status = 1;
        }
    }
    Ok(status)
}

pub async fn mktemp(shell: &mut Shell, arguments: &[String]) -> Status {
    let options =
        Spelling::new("dp:qtu", &[("directory", 'd'), ("tmpdir", 'p'), ("dry-run", 'u')]).read(arguments)?;
    let folder = match options.value('p').filter(|folder| !folder.is_empty()) {
        Some(folder) => Some(folder.to_owned()),
        // Without a place for such files, the folder of the script is the place.
        None if options.operands.is_empty() => Some(shell.vars.get("TMPDIR").unwrap_or_else(|| {
            if files::is_dir(Path::new("/tmp")) { "/tmp".to_owned() } else { shell.cwd.clone() }
        })),
        None => None,
    };
    let template = options.operands.first().map_or("tmp.XXXXXXXXXX", String::as_str);
    let blanks = template
        .chars()
        .rev()
        .skip_while(|letter| *letter != 'X')
        .take_while(|letter| *letter == 'X')
        .count();
    if blanks < 3 {
        return fail(format!("too few X's in template ‘{template}’"));
    }
    let Some(at) = template.rfind(&"X".repeat(blanks)) else { return fail("no template") };
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    for _ in 0..100 {
        let mut chance = crate::clock::chance();
        let random: String = (0..blanks)
            .map(|_| {
                let index = usize::try_from(chance % 62).unwrap_or(0);
                chance = (chance.rotate_left(7) / 3) ^ crate::clock::chance();
                letters.get(index).copied().unwrap_or('x')
            })
            .collect();
        let name = format!(
            "{}{random}{}",
            template.get(..at).unwrap_or_default(),
            template.get(at + blanks..).unwrap_or_default()
        );
        let name = match &folder {
            Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
            None => name,
        };
        let path = shell.path(&name);
        let made = if options.has('u') {
            Ok(())
        } else if options.has('d') {
            fs::create_dir(&path)
        } else {
            fs::File::create_new(&path).map(|_| ())
        };
        match made {
            Ok(()) => {
                shell.stdout().write(format!("{name}\n").as_bytes()).await?;
                return Ok(0);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let kind = if options.has('d') { "directory" } else { "file" };
                return fail(format!("failed to create {kind} via template ‘{template}’: {}", words(&error)));
            }
        }
    }
    fail("no free name")
}
