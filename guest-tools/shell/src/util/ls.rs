//! `ls`

use std::fs::Metadata;

use super::options::{Options, Spelling};
use crate::clock::{now, since_epoch};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, words};
use crate::stream::Out;

const SPELLING: Spelling = Spelling::new(
    "1aAdfFghHklLmnNopqrRsStUXG4:5",
    &[
        ("all", 'a'),
        ("almost-all", 'A'),
        ("directory", 'd'),
        ("classify", 'F'),
        ("human-readable", 'h'),
        ("recursive", 'R'),
        ("reverse", 'r'),
        ("color", '4'),
        ("no-group", 'G'),
        ("size", 's'),
        ("group-directories-first", '5'),
        ("file-type", 'p'),
    ],
)
.status(2);

struct Item {
    name: String,
    metadata: Option<Metadata>,
    link: Option<String>,
}

impl Item {
    fn new(shell: &Shell, shown: &str, path: &str, follow: bool) -> Self {
        let path = shell.path(path);
        let own = std::fs::symlink_metadata(&path).ok();
        let is_link = own.as_ref().is_some_and(Metadata::is_symlink);
        let link = if is_link {
            std::fs::read_link(&path).ok().map(|target| target.to_string_lossy().into_owned())
        } else {
            None
        };
        let metadata = if follow { std::fs::metadata(&path).ok().or(own) } else { own };
        Self { name: shown.to_owned(), metadata, link }
    }

    fn is_dir(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_dir)
    }

    fn size(&self) -> u64 {
        self.metadata.as_ref().map_or(0, Metadata::len)
    }

    fn time(&self) -> std::time::Duration {
        self.metadata
            .as_ref()
            .and_then(|metadata| metadata.modified().ok())
            .map(since_epoch)
            .unwrap_or_default()
    }

    fn is_link(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_symlink)
    }
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| if text == "--color" { "--color=auto".to_owned() } else { text.clone() })
        .collect();
    let options = SPELLING.read(&arguments)?;
    let names = if options.operands.is_empty() { vec![".".to_owned()] } else { options.operands.clone() };
    let long = options.has('l') || options.has('n') || options.has('o') || options.has('g');
    let (mut out, mut status) = (shell.out(), 0);
    let (mut loose, mut folders) = (Vec::new(), Vec::new());
    for name in &names {
        let path = shell.path(name);
        if !files::is_there(&path) && !files::is_enterable(shell, &path) {
            let message =
                std::fs::symlink_metadata(&path).err().map_or_else(String::new, |error| words(&error));
            shell.warn(format!("ls: cannot access '{name}': {message}")).await?;
            status = 2;
            continue;
        }
        if files::is_enterable(shell, &path)
            && !options.has('d')
            && !(long
                && std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink())
                && !name.ends_with('/'))
        {
            folders.push(name.clone());
        } else {
            loose.push(Item::new(shell, name, name, !long && !options.has('d')));
        }
    }
    sort(&options, &mut loose);
    print(&options, &mut out, &loose);
    let mut order: Vec<Item> = folders.iter().map(|name| Item::new(shell, name, name, true)).collect();
    sort(&options, &mut order);
    let titles = names.len() > 1 || options.has('R');
    let mut waiting: Vec<String> = order.into_iter().rev().map(|item| item.name).collect();
    let mut first = loose.is_empty();
    while let Some(folder) = waiting.pop() {
        crate::task::tick()?;
        let entries = match files::list(shell, &folder) {
            Ok(entries) => entries,
            Err(error) => {
                shell.warn(format!("ls: cannot open directory '{folder}': {}", words(&error))).await?;
                status = 2;
                continue;
            }
        };
        let mut items = Vec::new();
        if options.has('a') {
            items.extend([".", ".."].map(|name| Item::new(shell, name, &format!("{folder}/{name}"), false)));
        }
        let hidden = options.has('a') || options.has('A');
        for entry in entries.iter().filter(|entry| hidden || !entry.name.starts_with('.')) {
            items.push(Item::new(shell, &entry.name, &format!("{folder}/{}", entry.name), false));
        }
        sort(&options, &mut items);
        if titles {
            out.line(format!("{}{folder}:", if first { "" } else { "\n" }));
        }
        first = false;
        if long || options.has('s') {
            out.line(format!("total {}", items.iter().map(blocks).sum::<u64>()));
        }
        print(&options, &mut out, &items);
        if options.has('R') {
            let below = items.iter().filter(|item| item.is_dir() && item.name != "." && item.name != "..");
            waiting.extend(
                below
                    .map(|item| format!("{}/{}", folder.trim_end_matches('/'), item.name))
                    .rev()
                    .collect::<Vec<_>>(),
            );
        }
        out.check().await?;
    }
    out.flush().await?;
    Ok(status)
}

/// What a file occupies, in the pieces of 4 KiB that systems give out.
pub fn occupied(size: u64, is_dir: bool) -> u64 {
    if is_dir { 4 } else { size.div_ceil(4096) * 4 }
}

fn blocks(item: &Item) -> u64 {
    if item.is_link() { 0 } else { occupied(item.size(), item.is_dir()) }
}

fn sort(options: &Options, items: &mut [Item]) {
    if options.has('U') || options.has('f') {
        return;
    }
    items.sort_by(|one, other| one.name.cmp(&other.name));
    if options.has('S') {
        items.sort_by_key(|item| std::cmp::Reverse(item.size()));
    } else if options.has('t') {
        items.sort_by_key(|item| std::cmp::Reverse(item.time()));
    } else if options.has('X') {
        items.sort_by_key(|item| item.name.rsplit_once('.').map(|(_, extension)| extension.to_owned()));
    }
    if options.has('r') {
        items.reverse();
    }
    if options.has('5') {
        items.sort_by_key(|item| !item.is_dir());
    }
}

fn print(options: &Options, out: &mut Out, items: &[Item]) {
    let long = options.has('l') || options.has('n') || options.has('o') || options.has('g');
    if options.has('m') {
        if !items.is_empty() {
            let names: Vec<String> = items.iter().map(|item| shown(options, item)).collect();
            out.line(names.join(", "));
        }
        return;
    }
    if !long {
        for item in items {
            let size = if options.has('s') { format!("{} ", blocks(item)) } else { String::new() };
            out.line(format!("{size}{}", shown(options, item)));
        }
        return;
    }
    let size = |item: &Item| if options.has('h') { human(item.size()) } else { item.size().to_string() };
    let width = items.iter().map(|item| size(item).len()).max().unwrap_or(0);
    for item in items {
        // Files here have neither owner nor mode; these are what a new one would have.
        let mode = match (item.is_dir(), item.is_link()) {
            (true, _) => "drwxr-xr-x",
            (_, true) => "lrwxrwxrwx",
            _ => "-rw-r--r--",
        };
        let group = if options.has('o') || options.has('G') { "" } else { " user" };
        let owner = if options.has('g') { "" } else { " user" };
        let time = crate::util::date::listing(item.time(), now());
        let link = item.link.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default();
        out.line(format!(
            "{mode} {}{owner}{group} {:>width$} {time} {}{link}",
            if item.is_dir() { 2 } else { 1 },
            size(item),
            shown(options, item)
        ));
    }
}

fn shown(options: &Options, item: &Item) -> String {
    let sign = match (item.is_dir(), item.is_link()) {
        (true, _) if options.has('F') || options.has('p') => "/",
        (_, true) if options.has('F') && !options.has('l') => "@",
        _ => "",
    };
    format!("{}{sign}", item.name)
}

/// `1.5K`, rounded up as GNU's utilities do.
pub fn human(size: u64) -> String {
    if size < 1024 {
        return size.to_string();
    }
    let (mut unit, mut scale) = (0, 1024_u64);
    while unit < 4 && size >= scale.saturating_mul(1024) {
        scale *= 1024;
        unit += 1;
    }
    let tenths = (u128::from(size) * 10).div_ceil(u128::from(scale));
    let letter = "KMGTP".chars().nth(unit).unwrap_or('P');
    if tenths < 100 {
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    } else {
        format!("{}{letter}", tenths.div_ceil(10))
    }
}
