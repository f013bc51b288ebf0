//! What this process holds of the operating system's.

/// Resident memory, in bytes.
pub fn resident() -> u64 {
    status("VmRSS:").saturating_mul(1024)
}

/// Threads.
pub fn threads() -> u64 {
    status("Threads:")
}

/// Open descriptors, the one that counts them included.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or_default()
}

/// The most resident memory that another process has had, in bytes; 0 where it cannot be read.
pub fn peak_of(process: u32) -> u64 {
    status_of(&process.to_string(), "VmHWM:").saturating_mul(1024)
}

fn status(field: &str) -> u64 {
    status_of("self", field)
}

fn status_of(process: &str, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// The processes that this one started and has not reaped.
pub fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let numbers: String = lists.collect();
    numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}
