//! Files through the standard library.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use crate::Probe;
use crate::bindings::exports::toolcell::guests::paths::{Guest, Metadata};

fn words<T>(result: io::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn described(metadata: &fs::Metadata) -> Metadata {
    let file_type = metadata.file_type();
    let kind = match () {
        () if file_type.is_symlink() => "symlink",
        () if file_type.is_dir() => "directory",
        () if file_type.is_file() => "file",
        () => "other",
    };
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Metadata { kind: kind.to_owned(), size: metadata.len(), modified: modified.map(|time| time.as_secs()) }
}

impl Guest for Probe {
    fn fs_read(path: String) -> Result<Vec<u8>, String> {
        words(fs::read(path))
    }

    fn fs_read_text(path: String) -> Result<String, String> {
        words(fs::read_to_string(path))
    }

    fn fs_write(path: String, content: String) -> Result<u64, String> {
        words(fs::write(path, &content))?;
        Ok(content.len() as u64)
    }

    fn fs_write_much(path: String, mib: u32) -> Result<u64, String> {
        let mut file = words(File::create(path))?;
        let block = vec![b'x'; 1 << 16];
        for _ in 0..u64::from(mib) * 16 {
            words(file.write_all(&block))?;
        }
        words(file.flush())?;
        Ok(u64::from(mib) << 20)
    }

    fn fs_append(path: String, content: String) -> Result<u64, String> {
        let mut file = words(OpenOptions::new().append(true).open(path))?;
        words(file.write_all(content.as_bytes()))?;
        Ok(content.len() as u64)
    }

    fn fs_truncate(path: String, size: u64) -> Result<(), String> {
        words(words(OpenOptions::new().write(true).open(path))?.set_len(size))
    }

    fn fs_open_truncating(path: String) -> Result<(), String> {
        words(OpenOptions::new().write(true).truncate(true).open(path)).map(drop)
    }

    fn fs_link(source: String, target: String) -> Result<(), String> {
        words(fs::hard_link(source, target))
    }

    fn fs_rename(source: String, target: String) -> Result<(), String> {
        words(fs::rename(source, target))
    }

    fn fs_list(path: String) -> Result<Vec<String>, String> {
        let entries: io::Result<Vec<fs::DirEntry>> = words(fs::read_dir(path))?.collect();
        let mut names: Vec<String> =
            words(entries)?.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    fn fs_stat(path: String) -> Result<Metadata, String> {
        words(fs::metadata(path)).map(|metadata| described(&metadata))
    }

    fn fs_link_stat(path: String) -> Result<Metadata, String> {
        words(fs::symlink_metadata(path)).map(|metadata| described(&metadata))
    }

    fn fs_read_link(path: String) -> Result<String, String> {
        words(fs::read_link(path)).map(|target| target.to_string_lossy().into_owned())
    }

    fn fs_set_times(path: String, seconds: u64) -> Result<(), String> {
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).ok_or("not a time of this system")?;
        words(words(File::open(path))?.set_modified(time))
    }

    fn fs_remove(path: String) -> Result<(), String> {
        words(fs::remove_file(path))
    }

    fn fs_mkdir(path: String) -> Result<(), String> {
        words(fs::create_dir(path))
    }

    fn fs_rmdir(path: String) -> Result<(), String> {
        words(fs::remove_dir(path))
    }

    fn fs_remove_all(path: String) -> Result<(), String> {
        words(fs::remove_dir_all(path))
    }

    fn fs_open_many(path: String, count: u32) -> (u32, Option<String>) {
        let mut held = Vec::new();
        for _ in 0..count {
            match File::open(&path) {
                Ok(file) => held.push(file),
                Err(error) => return (held.len() as u32, Some(error.to_string())),
            }
        }
        (held.len() as u32, None)
    }
}
