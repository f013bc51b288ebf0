//! Utilities that make and change names: `mkdir`, `ln`, `readlink`, `chmod`, `touch`, `truncate`, `mktemp`.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::options::{Spelling, size};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, fail, words};

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
