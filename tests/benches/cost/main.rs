//! What toolcell costs: beside the machine's own price (wasmtime alone, with nothing else), and beside what people
//! would use instead, on the same work in one run, in turns. Prints tables; with `--write` they go into
//! PERFORMANCE.md.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the tables are what it is for")]

mod deciding;
mod floor;
mod frameworks;
mod growth;
mod measure;
mod memory;
mod metering;
mod page;
mod pipeline;
mod processes;
mod scale;
mod servers;
mod shell;
mod soak;
mod stages;
mod work;

/// Makes one table.
type Measure = fn() -> page::Section;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo passes `--bench`; a run of all targets as tests is not one of measurements.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let sections: [(&str, Measure); 13] = [
        // First, while the process holds little else.
        ("memory", memory::section),
        ("pipeline", pipeline::section),
        ("deciding", deciding::section),
        ("stages", stages::section),
        ("frameworks", frameworks::section),
        ("metering", metering::section),
        ("processes", processes::section),
        ("servers", servers::section),
        ("shell", shell::section),
        ("threads", scale::threads),
        ("scale", scale::section),
        ("growth", growth::section),
        ("soak", soak::section),
    ];
    let wanted = |name: &str| {
        let named: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
        named.is_empty() || named.iter().any(|named| *named == name)
    };
    let mut made = Vec::new();
    for (name, section) in sections.into_iter().filter(|(name, _)| wanted(name)) {
        eprintln!("measuring {name}");
        let section = section();
        println!("{section}");
        made.push(section);
    }
    if arguments.iter().any(|argument| argument == "--write") {
        page::write(&made);
    }
}
