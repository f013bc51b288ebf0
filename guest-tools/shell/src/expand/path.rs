//! Wildcards against the names of files.

use super::fields::Field;
use super::pattern::{Pattern, escape, is_pattern, unescape};
use crate::files;
use crate::shell::Shell;
use crate::task;

/// What one pattern may find.
const MOST: usize = 100_000;

/// Adds the names that a field matches, or the field itself.
pub fn expand(shell: &Shell, field: &Field, arguments: &mut Vec<String>) {
    let plain = || field.iter().map(|(text, _)| text.as_str()).collect::<String>();
    let wild = field.iter().any(|(text, quoted)| !quoted && is_pattern(text));
    if !wild || shell.options.noglob {
        // A backslash that stands in a variable and no wildcard means itself.
        arguments.push(plain());
        return;
    }
    let pattern: String =
        field.iter().map(|(text, quoted)| if *quoted { escape(text) } else { text.clone() }).collect();
    let found = find(shell, &pattern);
    if found.is_empty() && !shell.options.nullglob {
        arguments.push(plain());
    }
    arguments.extend(found);
}

/// The names that `pattern` matches, in order.
pub fn find(shell: &Shell, pattern: &str) -> Vec<String> {
    let (start, rest) =
        if pattern.starts_with('/') { ("/", pattern.trim_start_matches('/')) } else { ("", pattern) };
    let segments = segments(rest);
    let mut found = Vec::new();
    walk(shell, start.to_owned(), &segments, &mut found);
    found.sort();
    found.dedup();
    found
}

/// The parts between slashes that are not within parentheses or brackets.
fn segments(pattern: &str) -> Vec<String> {
    let mut segments = vec![String::new()];
    let mut escaped = false;
    for letter in pattern.chars() {
        if letter == '/' && !escaped {
            segments.push(String::new());
            continue;
        }
        escaped = letter == '\\' && !escaped;
        if let Some(last) = segments.last_mut() {
            last.push(letter);
        }
    }
    segments
}

fn walk(shell: &Shell, base: String, segments: &[String], found: &mut Vec<String>) {
    let Some((segment, rest)) = segments.split_first() else {
        found.push(base);
        return;
    };
    if found.len() >= MOST || task::tick().is_err() {
        return;
    }
    if segment.is_empty() {
        // `a//b`, or the slash at the end, which asks for a folder.
        let next = if base.ends_with('/') { base } else { format!("{base}/") };
        if files::is_dir(&shell.path(&next)) {
            walk(shell, next, rest, found);
        }
        return;
    }
    if !is_pattern(segment) {
        let next = join(&base, &unescape(segment));
        if files::exists(&shell.path(&next)) {
            walk(shell, next, rest, found);
        }
        return;
    }
    let folder = if base.is_empty() { "." } else { base.as_str() };
    let Ok(entries) = files::list(shell, folder) else { return };
    if segment == "**" && shell.options.globstar {
        if rest.is_empty() {
            found.push(base.clone());
        } else {
            walk(shell, base.clone(), rest, found);
        }
        for entry in entries.iter().filter(|entry| !entry.name.starts_with('.')) {
            let next = join(&base, &entry.name);
            if entry.is_dir {
                walk(shell, next, segments, found);
            } else if rest.is_empty() {
                found.push(next);
            }
        }
        found.retain(|name| !name.is_empty());
        return;
    }
    let mut pattern = Pattern::new(segment);
    if shell.options.nocaseglob {
        pattern = pattern.ignore_case();
    }
    let hidden = segment.starts_with('.') || segment.starts_with("\\.") || shell.options.dotglob;
    for entry in entries {
        if (hidden || !entry.name.starts_with('.')) && pattern.matches(&entry.name) {
            let next = join(&base, &entry.name);
            if rest.is_empty() || entry.is_dir || files::is_dir(&shell.path(&next)) {
                walk(shell, next, rest, found);
            }
        }
    }
}

fn join(base: &str, name: &str) -> String {
    if base.is_empty() || base.ends_with('/') { format!("{base}{name}") } else { format!("{base}/{name}") }
}
