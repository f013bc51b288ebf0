//! A process for one call takes what earlier ones found out of a file that nobody changed since, and of no other.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use toolcell_tests::command_line::{CommandLine, Ended};
use toolcell_tests::guest;

/// A file is known some seconds after its last change; a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(120);

fn sum(line: &CommandLine) -> Ended {
    line.run(&["call", "--component", "kernel.wasm", "sum", "{\"a\":2,\"b\":3}"])
}

/// The files of the store of compiled components with this ending.
fn entries(line: &CommandLine, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(line.home().join("cache/compiled")).into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    files.filter(|file| file.extension().is_some_and(|found| found == ending)).collect()
}

/// Calls until what was found out is written down: the digest of the file, and that the native code lies there whole.
fn known() -> CommandLine {
    let line = CommandLine::cold();
    line.write("kernel.wasm", std::fs::read(guest("kernel")).unwrap());
    let begun = Instant::now();
    let is_checked = |sum: &PathBuf| std::fs::read_to_string(sum).unwrap_or_default().contains(' ');
    while entries(&line, "digest").is_empty() || !entries(&line, "sum").iter().all(is_checked) {
        assert!(begun.elapsed() < PATIENCE, "nothing was written down");
        assert_eq!(sum(&line).stdout, "5\n");
    }
    assert_eq!(sum(&line).stdout, "5\n");
    line
}

#[test]
fn another_content_is_looked_at_at_once() {
    let line = known();
    let file = line.folder().join("kernel.wasm");
    let modified = file.metadata().unwrap().modified().unwrap();
    line.write("kernel.wasm", std::fs::read(guest("provider")).unwrap());
    // Whoever writes a file can say when that was.
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    let ended = sum(&line);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stderr.contains("no tool `sum`"), "{ended:?}");
}

#[test]
fn a_pin_is_compared_with_the_content_itself() {
    let line = known();
    let note = entries(&line, "digest").pop().unwrap();
    let written = std::fs::read_to_string(&note).unwrap();
    let (stamp, _) = written.split_once(' ').unwrap();
    let pinned = format!("sha256:{}", "0".repeat(64));
    std::fs::write(&note, format!("{stamp} {pinned}")).unwrap();
    line.write(
        "toolcell.toml",
        format!("[component.kernel]\npath = \"kernel.wasm\"\ndigest = \"{pinned}\"\n"),
    );
    let ended = line.run(&["call", "sum", "{\"a\":2,\"b\":3}"]);
    assert!(ended.code != 0 && ended.stderr.contains("and the content is sha256:"), "{ended:?}");
}

#[test]
fn native_code_that_was_damaged_is_not_run() {
    let line = known();
    let code = entries(&line, "cwasm").pop().unwrap();
    let modified: SystemTime = code.metadata().unwrap().modified().unwrap();
    let bytes = std::fs::read(&code).unwrap();
    std::fs::write(&code, vec![0; bytes.len()]).unwrap();
    std::fs::File::options().write(true).open(&code).unwrap().set_modified(modified).unwrap();
    let ended = sum(&line);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "5\n"), "{ended:?}");
    assert_eq!(std::fs::read(&code).unwrap(), bytes, "it was not compiled anew");
}
