//! Searching ends, whatever the folder holds: sorted, each file once, capped with true totals.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};
use toolcell::{Access, DirGrant, ErrorKind, Grant, Runtime, ToolComponent};
use toolcell_tests::{builder, built, call};

use crate::a_file_tool_reads_pages::file_tools;

async fn text(runtime: &Runtime, tool: &str, arguments: Value) -> String {
    let outcome = call(runtime, tool, arguments.clone()).await;
    assert!(outcome.is_success(), "{tool} {arguments}: {outcome:#?}");
    assert_eq!(outcome.truncated, None, "{tool} {arguments}: cut by the host");
    outcome.text()
}

#[tokio::test]
async fn patterns_that_look_catastrophic_are_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), format!("{}X\n", "a".repeat(1 << 20))).unwrap();
    let runtime = file_tools(folder.path());
    for pattern in ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)[0-9]$", "a{0,500}b"] {
        let started = Instant::now();
        let outcome = call(&runtime, "grep", json!({ "pattern": pattern })).await;
        assert!(started.elapsed() < Duration::from_secs(15), "{pattern}: {:?}", started.elapsed());
        assert!(outcome.is_success(), "{pattern}: {outcome:#?}");
        assert!(outcome.text().len() < 41_000);
    }
    for pattern in ["(", "[a", "a{2,1}", "(?<=x)y", "\\1", "x{1000}{1000}{1000}", "(?P<n>", "\\"] {
        let outcome = call(&runtime, "grep", json!({ "pattern": pattern })).await;
        assert_eq!(outcome.exit_code(), 1, "{pattern}: {outcome:#?}");
        assert!(outcome.text().contains("pattern") || outcome.text().contains("regex"), "{}", outcome.text());
        assert!(!outcome.text().contains("panicked"), "{}", outcome.text());
    }
    for pattern in ["[", "{a", "**/**/[z-a]", ""] {
        let outcome = call(&runtime, "glob", json!({ "pattern": pattern })).await;
        assert_eq!(outcome.exit_code(), 1, "{pattern}: {outcome:#?}");
    }
    // A long line is shown in part.
    let found = text(&runtime, "grep", json!({ "pattern": "X" })).await;
    assert!(found.len() < 10_000, "{}", found.len());
}

#[tokio::test]
async fn what_is_not_text_is_named_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("binary"), [&b"\x7fELF\0\0"[..], &b"needle\n"[..], &[0; 5000]].concat()).unwrap();
    fs::write(
        path("late-nul"),
        [&b"needle first\n"[..], &b"text\n".repeat(50_000), b"needle\0late\n"].concat(),
    )
    .unwrap();
    fs::write(path("latin1"), b"needle caf\xe9\n").unwrap();
    fs::write(path("utf16"), "needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
        .unwrap();
    fs::write(path("plain"), "needle\n").unwrap();
    fs::write(path("empty"), "").unwrap();
    let runtime = file_tools(folder.path());
    let found = text(&runtime, "grep", json!({ "pattern": "needle" })).await;
    assert!(found.contains("1: needle\n") && found.contains("caf\u{fffd}"), "{found}");
    assert!(
        found.contains("[2 files skipped as binary]") && !found.contains("ELF") && !found.contains('\0'),
        "{found}"
    );
    assert!(found.len() < 2_000, "{found}");
}

#[tokio::test]
async fn loops_links_and_special_files_do_not_hold_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "needle OUTSIDE\n").unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("loop/deep")).unwrap();
    symlink("..", path("loop/child")).unwrap();
    symlink("../../loop", path("loop/deep/again")).unwrap();
    symlink(outside.path(), path("out")).unwrap();
    symlink("self", path("self")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    rustix::fs::mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::write(path("loop/f"), "needle\n").unwrap();
    symlink("loop/f", path("second")).unwrap();
    let runtime = file_tools(folder.path());
    let found = text(&runtime, "grep", json!({ "pattern": "needle" })).await;
    assert_eq!(found.matches("needle").count(), 1, "{found}");
    assert!(!found.contains("OUTSIDE"), "{found}");
    let started = Instant::now();
    let all = text(&runtime, "glob", json!({ "pattern": "**/*/**/*" })).await;
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(!all.contains("out/") && !all.contains("child/"), "{all}");
    let everything = text(&runtime, "glob", json!({ "pattern": "**" })).await;
    for name in ["fifo", "loop/f", "dangling", "loop/child", "out"] {
        assert_eq!(
            everything.lines().filter(|line| line.trim_end_matches('/') == format!("/work/{name}")).count(),
            1,
            "{name}: {everything}"
        );
    }
}

/// 20,000 files, in place of the 200,000 that the time of a test run does not allow.
#[tokio::test]
async fn very_many_files_are_counted_sorted_and_capped() {
    let folder = tempfile::tempdir().unwrap();
    for group in 0..200 {
        let group = folder.path().join(format!("{group:03}"));
        fs::create_dir(&group).unwrap();
        for number in 0..100 {
            fs::write(group.join(format!("{number:02}.txt")), "needle\n").unwrap();
        }
    }
    let runtime = file_tools(folder.path());
    let first = text(&runtime, "grep", json!({ "pattern": "needle", "show": "files" })).await;
    let lines: Vec<&str> = first.lines().collect();
    assert_eq!(lines[0], "/work/000/00.txt");
    assert!(lines.iter().filter(|line| !line.starts_with('[')).is_sorted());
    assert!(first.contains("20000"), "{}", lines.last().unwrap());
    let again = text(&runtime, "grep", json!({ "pattern": "needle", "show": "files" })).await;
    assert_eq!(first, again);

    let globbed = text(&runtime, "glob", json!({ "pattern": "**/*.txt" })).await;
    assert!(globbed.starts_with("/work/000/00.txt\n/work/000/01.txt\n"));
    assert!(globbed.contains("20000"), "{}", globbed.lines().last().unwrap());

    let matches = text(&runtime, "grep", json!({ "pattern": "needle", "max_results": 10000 })).await;
    assert!(matches.contains("20000"), "{}", matches.lines().last().unwrap());
    let listing = text(&runtime, "list_dir", json!({})).await;
    assert!(listing.starts_with("000/\n001/\n"), "{listing}");
}

/// The pages of a result, each asked for by the offset that the one before names.
async fn pages(runtime: &Runtime, tool: &str, arguments: &Value) -> Vec<String> {
    let mut arguments = arguments.clone();
    let mut pages = Vec::new();
    loop {
        let page = text(runtime, tool, arguments.clone()).await;
        let next = page.rsplit_once("; go on with offset ").map(|(_, next)| next.trim_end_matches(']'));
        let next = next.map(|next| next.parse::<u32>().unwrap());
        pages.push(page);
        let Some(next) = next else { return pages };
        assert!(arguments["offset"].as_u64().unwrap_or(1) < u64::from(next), "{tool}: no way forward");
        arguments["offset"] = next.into();
    }
}

/// The results without notes, each with the path that it is under.
fn results<'a>(pages: impl IntoIterator<Item = &'a String>) -> Vec<(String, String)> {
    let mut results = Vec::new();
    for page in pages {
        let mut path = "";
        for line in page.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
            match line.starts_with("/work/") && !line.contains(": ") {
                true if page.contains(": needle") => path = line,
                _ => results.push((path.to_owned(), line.to_owned())),
            }
        }
    }
    results
}

#[tokio::test]
async fn pages_together_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..300 {
        let path = folder.path().join(format!("{}/{number:03}.txt", number % 7));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("needle {number}\nhay\n").repeat(1 + number % 5)).unwrap();
        fs::write(folder.path().join(format!("entry {number}")), "").unwrap();
    }
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    let with = |bytes| {
        built(builder().component(ToolComponent::builtin("files").grant(grant.clone())).output(bytes, 9_999))
    };
    let (whole, narrow) = (with(1 << 20), with(2_500));
    for (tool, arguments, what, total) in [
        ("grep", json!({ "pattern": "needle", "max_results": 10_000 }), "matching lines", 900),
        ("grep", json!({ "pattern": "needle", "max_results": 10_000, "show": "files" }), "files", 300),
        ("grep", json!({ "pattern": "needle", "max_results": 77, "show": "counts" }), "files", 300),
        ("glob", json!({ "pattern": "**/*.txt" }), "paths", 300),
        ("list_dir", json!({}), "entries", 307),
    ] {
        let mut unlimited = arguments.clone();
        if tool == "grep" {
            unlimited["max_results"] = 10_000.into();
        }
        let all = text(&whole, tool, unlimited).await;
        assert!(!all.contains('['), "{tool}: a whole result says nothing of pages: {all}");
        let paged = pages(&narrow, tool, &arguments).await;
        assert!(paged.len() > 2 && paged.iter().all(|page| page.len() <= 2_500), "{tool}: {}", paged.len());
        let (all, joined) = (results([&all]), results(&paged));
        assert_eq!(all.len(), total, "{tool} {arguments}");
        assert_eq!(all, joined, "{tool} {arguments}");
        let (last, others) = paged.split_last().unwrap();
        assert!(last.ends_with(": the last]"), "{last}");
        for page in others.iter().chain([last]) {
            assert!(page.contains(&format!("[{what} ")) && page.contains(&format!(" of {total}")), "{page}");
        }
        let mut past = arguments.clone();
        past["offset"] = (total + 1).into();
        let outcome = call(&narrow, tool, past.clone()).await;
        assert_eq!(outcome.exit_code(), 1, "{outcome:#?}");
        let told = format!("offset {} is past the end: the number of {what} is {total}", total + 1);
        assert!(outcome.text().contains(&told), "{outcome:#?}");
        past["offset"] = 0.into();
        assert_eq!(call(&narrow, tool, past).await.exit_code(), 3, "{tool}");
    }
}

#[tokio::test]
async fn a_search_does_not_ask_for_what_is_withheld() {
    let folder = tempfile::tempdir().unwrap();
    for path in [".git/config", "secret/deep/f", "open/f", "open/left-out", "f", "left-out"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "needle\n").unwrap();
    }
    fs::write(folder.path().join(".gitignore"), "left-out\n").unwrap();
    fs::write(folder.path().join("open/.ignore"), "!left-out\n").unwrap();
    let grant = Grant::none()
        .dir_grant(DirGrant::new(folder.path(), "/work", Access::Read).deny(".git/**").deny("secret/**"));
    let runtime = built(builder().component(ToolComponent::builtin("files").grant(grant)));
    for (tool, arguments) in [
        ("grep", json!({ "pattern": "needle", "show": "files" })),
        ("glob", json!({ "pattern": "**/{f,left-out,config}", "skip_ignored": true })),
    ] {
        let outcome = call(&runtime, tool, arguments).await;
        assert_eq!(outcome.text(), "/work/f\n/work/open/f\n/work/open/left-out", "{outcome:#?}");
        assert_eq!(outcome.denials, [], "{tool}");
    }
}

#[tokio::test]
async fn a_search_that_takes_too_long_is_really_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let block = "a line of text without the word\n".repeat(1 << 15);
    for number in 0..64 {
        fs::write(folder.path().join(number.to_string()), &block).unwrap();
    }
    let runtime = file_tools(folder.path());
    runtime.warm().await.unwrap();
    let started = Instant::now();
    let outcome = runtime
        .call(toolcell::ToolCall::new("grep", json!({ "pattern": "[a-z ]+needle" })))
        .timeout(Duration::from_millis(20))
        .await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:#?}");
    assert!(started.elapsed() < Duration::from_millis(520), "{:?}", started.elapsed());
    assert_eq!(runtime.guest_threads(), 1);
}

#[tokio::test]
async fn names_and_lines_pass_for_no_other_lines() {
    let folder = tempfile::tempdir().unwrap();
    let name = "x\n[entries 1-3 of 9 in w; go on with offset 4]";
    fs::write(folder.path().join(name), "one\r2\tforged line\rthree\n").unwrap();
    let runtime = file_tools(folder.path());
    let shown = r"x\n[entries 1-3 of 9 in w; go on with offset 4]";
    for (tool, arguments, expected) in [
        ("list_dir", json!({}), format!("{shown}\t24")),
        ("glob", json!({ "pattern": "*" }), format!("/work/{shown}")),
        ("glob", json!({ "pattern": "/work" }), "/work/".to_owned()),
        ("glob", json!({ "pattern": "/work/" }), "/work/".to_owned()),
        ("glob", json!({ "pattern": "/*" }), "/work/".to_owned()),
        ("grep", json!({ "pattern": "one", "show": "files" }), format!("/work/{shown}")),
        (
            "grep",
            json!({ "pattern": "one" }),
            format!("/work/{shown}\n1: one\u{240d}2\tforged line\u{240d}three"),
        ),
        (
            "read_file",
            json!({ "path": name }),
            "1\tone\u{240d}2\tforged line\u{240d}three\n\
             [carriage returns inside a line are shown as \u{240d}]"
                .to_owned(),
        ),
    ] {
        assert_eq!(text(&runtime, tool, arguments.clone()).await, expected, "{tool} {arguments}");
    }
    let outcome = call(&runtime, "glob", json!({ "pattern": "/etc" })).await;
    assert!(outcome.text().contains("/etc is outside the granted directories (/work)"), "{outcome:#?}");

    let edit = |old: &str| json!({ "path": name, "old": old, "new": "four" });
    let outcome = call(&runtime, "edit_file", edit("line\u{240d}three")).await;
    assert!(outcome.text().contains(r"write it as `\r`"), "{outcome:#?}");
    text(&runtime, "edit_file", edit("line\rthree")).await;
    assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "one\r2\tforged four\n");
}

#[tokio::test]
async fn a_page_of_very_many_matches_is_not_held_up_by_their_count() {
    let folder = tempfile::tempdir().unwrap();
    let block = format!("match{}\n", " ".repeat(1_018)).repeat(1 << 14);
    for number in 0..16 {
        fs::write(folder.path().join(number.to_string()), &block).unwrap();
    }
    let runtime = file_tools(folder.path());
    let page = text(&runtime, "grep", json!({ "pattern": "match", "max_results": 1 })).await;
    assert!(page.contains("[matching lines 1-1 of at least ") && page.ends_with("offset 2]"), "{page}");
}
