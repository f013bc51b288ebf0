//! The code map and the invariants of ARCHITECTURE.md that can be read off the sources hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toolcell_tests::repository;

/// A file of the library with its module; tests left out.
struct Source {
    module: String,
    path: PathBuf,
    /// The code without its comments and without what comes after `#[cfg(test)]`.
    code: String,
}

fn library() -> Vec<Source> {
    let root = repository().join("runtime/src");
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    assert!(sources.len() > 50, "only {} files found", sources.len());
    sources
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "bin" | "tests") {
                collect(root, &path, sources);
            }
        } else if name.ends_with(".rs") && !matches!(name.as_str(), "lib.rs" | "tests.rs") {
            let inside = path.strip_prefix(root).unwrap();
            let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
            let module = first.trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let code: Vec<&str> =
                without_tests(&text).lines().map(|line| line.split("//").next().unwrap()).collect();
            sources.push(Source { module, path, code: code.join("\n") });
        }
    }
}

/// The file up to its module of tests, which is its last item.
fn without_tests(text: &str) -> &str {
    let is_module =
        |rest: &str| rest.find('{') < rest.find(';').or(Some(usize::MAX)) && rest.contains("mod tests {");
    let start = text.match_indices("\n#[cfg(test)]").find(|(at, _)| is_module(&text[*at..]));
    start.map_or(text, |(at, _)| &text[..at])
}

/// The table after `<!-- arrows -->`: each module with what it uses, in order.
fn documented() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let (_, table) = text.split_once("<!-- arrows -->\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|')).skip(2);
    let names =
        |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        (names(cells[0]).remove(0), names(cells[2]).into_iter().collect())
    })
    .collect()
}

/// The modules that `code` names after `crate::`, also in braces.
fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => drop(found.insert(first_word(rest))),
            Some(list) => {
                let list = list.split("};").next().unwrap();
                found.extend(list.split(',').map(|part| first_word(part.trim())));
            }
        }
    }
    found
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

#[test]
fn modules_use_what_the_code_map_says_and_nothing_above_them() {
    let documented = documented();
    let order: Vec<&str> = documented.iter().map(|(module, _)| module.as_str()).collect();
    for (at, (module, uses)) in documented.iter().enumerate() {
        for used in uses {
            let below = order.iter().position(|other| other == used);
            assert!(below.is_some_and(|below| below < at), "`{module}` uses `{used}`, which is not above it");
        }
    }
    let mut real: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for source in library() {
        let uses = real.entry(source.module.clone()).or_default();
        let allowed = documented.iter().find(|(module, _)| *module == source.module);
        let Some((_, allowed)) = allowed else {
            wrong.push(format!("`{}` is not in the code map", source.module));
            continue;
        };
        for used in imports(&source.code).into_iter().filter(|used| *used != source.module) {
            if !allowed.contains(&used) {
                wrong.push(format!("{} uses `{used}`", source.path.display()));
            }
            uses.insert(used);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (module, uses) in documented {
        assert_eq!(real.get(&module), Some(&uses), "the code map says too much of `{module}`");
    }
}

#[test]
fn only_the_sandbox_names_wasmtime_wasi_and_few_name_wasmtime() {
    for source in library() {
        let names = |text: &str| source.code.contains(text);
        let path = source.path.display();
        if source.module != "sandbox" {
            assert!(!names("wasmtime_wasi"), "{path}");
        }
        if !matches!(source.module.as_str(), "sandbox" | "schema" | "tool") {
            assert!(!names("wasmtime::") && !names("use wasmtime"), "{path}");
        }
    }
}

#[test]
fn the_library_neither_unwraps_nor_panics_nor_prints_nor_exits() {
    let forbidden = [
        ".unwrap()",
        ".unwrap_err()",
        ".expect(\"",
        ".expect(&",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
        "println!(",
        "eprintln!(",
        "print!(",
        "dbg!(",
        "process::exit(",
    ];
    for source in library() {
        for text in forbidden {
            let line = source.code.lines().position(|line| line.contains(text)).map(|line| line + 1);
            assert_eq!(line, None, "{} has `{text}`", source.path.display());
        }
    }
}

#[test]
fn the_checks_see_what_they_look_for() {
    let code = "use crate::call::X;\nuse crate::{limits::{A, B}, output};\ncrate::error::Error";
    let expected = ["call", "error", "limits", "output", "B"].map(str::to_owned);
    let found = imports(code);
    assert!(expected.iter().filter(|name| *name != "B").all(|name| found.contains(name)), "{found:?}");
}
