//! Runs one script natively in the current directory: for looking at a difference without a cell.
use std::io::Write as _;
fn main() {
    let command = std::env::args().nth(1).unwrap_or_default();
    let root = std::env::current_dir().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let request = shell::Request { command, timeout: Some(std::time::Duration::from_secs(20)), roots: vec![root], environment: Vec::new() };
    let answer = shell::run(&request);
    let _written = std::io::stdout().write_all(answer.output.as_bytes());
    std::process::exit(answer.code);
}
