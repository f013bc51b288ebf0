//! Tables, and their place in PERFORMANCE.md.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use toolcell_tests::repository;

const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->\n";

/// A table with a heading and a sentence.
pub struct Section {
    pub title: &'static str,
    pub words: String,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl fmt::Display for Section {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "### {}\n\n{}\n", self.title, self.words)?;
        writeln!(formatter, "| {} |", self.head.join(" | "))?;
        writeln!(formatter, "|{}", "---|".repeat(self.head.len()))?;
        for row in &self.rows {
            writeln!(formatter, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

/// Microseconds with three digits that count.
pub fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        micros if micros >= 100_000.0 => format!("{:.0} ms", micros / 1e3),
        micros if micros >= 10_000.0 => format!("{:.1} ms", micros / 1e3),
        micros if micros >= 100.0 => format!("{micros:.0} µs"),
        micros if micros >= 10.0 => format!("{micros:.1} µs"),
        micros => format!("{micros:.2} µs"),
    }
}

/// How often the first is the second.
pub fn times(one: Duration, other: Duration) -> String {
    let ratio = one.as_secs_f64() / other.as_secs_f64();
    if ratio >= 20.0 { format!("{ratio:.0}×") } else { format!("{ratio:.2}×") }
}

/// Puts the sections between the marks of PERFORMANCE.md.
pub fn write(sections: &[Section]) {
    let path = repository().join("PERFORMANCE.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let tables: Vec<String> = sections.iter().map(Section::to_string).collect();
    let text = format!("{before}{BEGIN}\n{}\n\n{}\n{END}{after}", machine(), tables.join("\n"));
    std::fs::write(path, text).unwrap();
}

/// Where and with what it was measured.
fn machine() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        text.unwrap_or_default()
    };
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let lock = std::fs::read_to_string(Path::new(&repository()).join("Cargo.lock")).unwrap_or_default();
    let wasmtime =
        lock.split("name = \"wasmtime\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    format!(
        "{}, {cores} cores of {}, Linux {}, {}, wasmtime {}, profile `release`.",
        said("date", &["-u", "+%Y-%m-%d"]),
        model.map_or("an unnamed processor", |(_, model)| model),
        said("uname", &["-r"]),
        said("rustc", &["--version"]),
        wasmtime.unwrap_or("unknown"),
    )
}
