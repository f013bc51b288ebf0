//! A folder of text for what searches.

use std::io;
use std::path::Path;

/// How many files there are.
pub const FILES: usize = 200;
/// How many lines each has.
pub const LINES: usize = 200;

/// Fills a folder with files in folders; a word that tools search for stands in one line of every tenth file.
#[expect(clippy::panic, reason = "a test that cannot set up fails")]
pub fn fill(folder: &Path) {
    write(folder).unwrap_or_else(|error| panic!("{error}"));
}

fn write(folder: &Path) -> io::Result<()> {
    for file in 0..FILES {
        let below = folder.join(format!("src{}", file % 8));
        std::fs::create_dir_all(&below)?;
        let line = |number: usize| match (file % 10, number) {
            (3, 100) => "// TODO look at this again\n".to_owned(),
            _ => format!("let value_{number} = compute({file}, {number}); // as the caller said\n"),
        };
        let text: String = (0..LINES).map(line).collect();
        std::fs::write(below.join(format!("{file}.txt")), text)?;
    }
    Ok(())
}
