//! Everything that comes from outside.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::io::poll;
use wasip2::random::{insecure, insecure_seed, random};

use crate::Probe;
use crate::bindings::exports::toolcell::guests::witness::Guest;
use crate::bindings::toolcell::tool::files::Replacement;
use crate::bindings::toolcell::tool::{context, events};
use crate::bindings::wasi::config::store as config;
use crate::bindings::wasi::keyvalue::{atomics, store};

impl Guest for Probe {
    fn observe(folder: Option<String>, bucket: Option<String>) -> String {
        let mut seen = String::new();
        let map: HashMap<u32, ()> = (0..20).map(|number| (number, ())).collect();
        line(&mut seen, "hash map", map.keys().collect::<Vec<_>>());
        line(&mut seen, "clocks", (monotonic_clock::now(), wall_clock::now(), monotonic_clock::resolution()));
        line(&mut seen, "random", (random::get_random_bytes(9), random::get_random_u64()));
        line(&mut seen, "insecure", (insecure::get_insecure_random_bytes(5), insecure_seed::insecure_seed()));
        timers(&mut seen);
        line(&mut seen, "environment", std::env::vars().collect::<Vec<_>>());
        line(&mut seen, "configuration", config::get_all());
        line(
            &mut seen,
            "call",
            (context::call_id(), context::session(), context::metadata("k"), context::trace()),
        );
        events::log(events::Level::Info, &format!("seen at {:?}", wall_clock::now()));
        folder.iter().for_each(|folder| look(&mut seen, Path::new(folder)));
        bucket.iter().for_each(|bucket| recall(&mut seen, bucket));
        line(&mut seen, "clocks", (monotonic_clock::now(), wall_clock::now()));
        eprintln!("{} bytes were seen", seen.len());
        seen
    }

    fn nap(ms: u64) -> (u64, u64) {
        let (start, since) = (Instant::now(), SystemTime::now());
        std::thread::sleep(Duration::from_millis(ms));
        let timer = monotonic_clock::subscribe_duration(ms * 1_000_000);
        assert!(!timer.ready());
        poll::poll(&[&timer]);
        assert!(timer.ready());
        (start.elapsed().as_millis() as u64, since.elapsed().unwrap_or_default().as_millis() as u64)
    }
}

fn line(seen: &mut String, what: &str, value: impl std::fmt::Debug) {
    writeln!(seen, "{what}: {value:?}").unwrap();
}

fn timers(seen: &mut String) {
    let timers: Vec<_> =
        [30, 10, 20, 10].map(|ms| monotonic_clock::subscribe_duration(ms * 1_000_000)).into();
    let mut left: Vec<usize> = (0..timers.len()).collect();
    while !left.is_empty() {
        let waiting: Vec<_> = left.iter().map(|index| &timers[*index]).collect();
        let ready = poll::poll(&waiting);
        line(seen, "ready", &ready);
        let mut place = 0;
        left.retain(|_| {
            place += 1;
            !ready.contains(&(place - 1))
        });
    }
}

/// Where `folder` begins with `x`, it is not there.
fn look(seen: &mut String, folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return line(seen, "folder", "cannot be read") };
    for entry in entries.flatten() {
        let metadata = entry.metadata().unwrap();
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        line(seen, "entry", (entry.file_name(), metadata.len(), metadata.is_dir(), modified));
        if metadata.is_file() {
            line(seen, "content", std::fs::read(entry.path()).map(|bytes| (bytes.len(), sum(&bytes))));
        }
    }
    line(seen, "missing", std::fs::read(folder.join("missing")).map_err(|error| error.kind()));
    let new = folder.join("new");
    line(seen, "written", std::fs::write(&new, "new").map_err(|error| error.kind()));
    line(seen, "renamed", std::fs::rename(&new, folder.join("newer")).map_err(|error| error.kind()));
    line(seen, "removed", std::fs::remove_file(folder.join("newer")).map_err(|error| error.kind()));
    let replaced = Replacement::open(&folder.join("whole").to_string_lossy(), false);
    let replaced = replaced.and_then(|it| it.write(b"whole").and_then(|()| it.commit()));
    line(seen, "replaced", replaced.map_err(|error| (error.kind, error.message)));
    line(seen, "now", std::fs::read_to_string(folder.join("whole")).map_err(|error| error.kind()));
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}

fn recall(seen: &mut String, bucket: &str) {
    let Ok(bucket) = store::open(bucket) else { return line(seen, "bucket", "cannot be opened") };
    line(seen, "keys", bucket.list_keys(None).map(|page| page.keys).ok());
    line(seen, "count", atomics::increment(&bucket, "count", 1).ok());
    line(seen, "value", bucket.get("k").ok());
    line(seen, "set", bucket.set("k", b"value").ok());
    line(seen, "value", bucket.get("k").ok());
    line(seen, "exists", bucket.exists("gone").ok());
}
