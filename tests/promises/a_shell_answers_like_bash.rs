//! The shipped shell gives what bash and the utilities of a system give, for scripts of the kind that models write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolcell::{Access, Grant, Runtime, ToolCall, ToolComponent};
use toolcell_tests::{block_on, builder, built};

/// Rounds of the corpus at the same time: more would wait for processors.
const AT_ONCE: usize = 2;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("promises/cases/shell")
}

struct Case {
    category: String,
    name: String,
    script: String,
}

fn read_json(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(corpus().join(name)).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "cases")) {
        let category = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(file).unwrap();
        for section in format!("\n{text}").split("\n## ").skip(1) {
            let (name, script) = section.split_once('\n').unwrap();
            cases.push(Case {
                category: category.to_owned(),
                name: name.to_owned(),
                script: script.trim_end_matches('\n').to_owned(),
            });
        }
    }
    cases
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The folder as it is before each script.
fn refresh(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    copy(&corpus().join("files"), folder);
}

pub(crate) fn shell(folder: &Path) -> Runtime {
    let grant = Grant::none().dir(folder, "/work", Access::ReadWrite).env("TZ", "UTC");
    built(builder().component(ToolComponent::builtin("shell").grant(grant)))
}

/// The exit code of a script and what it wrote, from what a model reads.
fn answer(runtime: &Runtime, script: &str) -> (i64, String) {
    let call = ToolCall::new("bash", json!({ "command": script, "timeout": 60 }));
    let outcome = block_on(runtime.call(call));
    let text = outcome.text();
    match text.strip_prefix("Command exit code: ").and_then(|rest| rest.split_once('\n')) {
        Some((code, output)) => (code.parse().unwrap(), output.to_owned()),
        None if outcome.is_success() => (0, text),
        None => (-1, format!("{outcome:?}")),
    }
}

fn differing(cases: &[Case]) -> BTreeMap<String, String> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let expected: BTreeMap<String, Value> = cases
        .iter()
        .map(|case| case.category.clone())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|category| (category.clone(), read_json(&format!("expected/{category}.json"))))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                let runtime = shell(folder.path());
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    refresh(folder.path());
                    let (code, output) = answer(&runtime, &case.script);
                    let wanted = &expected[&case.category][&case.name];
                    if wanted["exit"] != code || wanted["output"] != output {
                        let report =
                            format!("{}\n--- bash: {wanted:#}\n--- shell: {code}\n{output}", case.script);
                        found.lock().unwrap().insert(format!("{}/{}", case.category, case.name), report);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}

#[test]
fn scripts_give_what_they_give_in_bash() {
    let cases = cases();
    let differences = differing(&cases);
    let listed = read_json("differences.json");
    let listed = listed.as_object().unwrap();
    for (case, report) in &differences {
        assert!(listed.contains_key(case), "{case} differs and is not listed:\n{report}");
    }
    for (case, reason) in listed {
        assert!(differences.contains_key(case), "{case} is listed and does not differ");
        assert!(reason.as_str().is_some_and(|reason| reason.len() > 20), "{case} is listed without a reason");
    }
    assert!(differences.len() * 50 <= cases.len(), "98 in 100 are the same");
    for category in cases.iter().map(|case| &case.category).collect::<BTreeSet<_>>() {
        let count = differences.keys().filter(|case| case.split('/').next() == Some(category)).count();
        assert!(count <= 2, "{count} differences in {category}");
    }
}

/// Whether a word stands in a script as a command, rather than within another word.
fn has_word(script: &str, word: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/');
    script.match_indices(word).any(|(at, _)| {
        let before = script[..at].chars().next_back();
        let after = script[at + word.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[test]
fn every_construct_and_utility_is_in_five_scripts() {
    let cases = cases();
    assert!(cases.len() >= 300);
    let coverage = read_json("coverage.json");
    for utility in coverage["utilities"].as_array().unwrap() {
        let utility = utility.as_str().unwrap();
        let count = cases.iter().filter(|case| has_word(&case.script, utility)).count();
        assert!(count >= 5, "{utility} is in {count} scripts");
    }
    for (construct, spellings) in coverage["constructs"].as_object().unwrap() {
        let spellings: Vec<&str> =
            spellings.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        let is_in = |case: &&Case| spellings.iter().any(|text| format!("\n{}", case.script).contains(text));
        let count = cases.iter().filter(is_in).count();
        assert!(count >= 5, "{construct} is in {count} scripts");
    }
    let names: BTreeSet<String> =
        cases.iter().map(|case| format!("{}/{}", case.category, case.name)).collect();
    assert_eq!(names.len(), cases.len(), "each has a name of its own");
}
