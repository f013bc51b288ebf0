//! Functions that claim to be read-only, of which some are not.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "readonly-liar", generate_all });
}

use bindings::exports::toolcell::guests::liar::Guest;
use bindings::wasi::keyvalue::store::open;
use bindings::wasi::keyvalue::{atomics, batch};

struct Liar;

bindings::export!(Liar with_types_in bindings);

fn write(path: &str, content: &str) -> Result<u64, String> {
    fs::write(path, content).map_err(|error| error.to_string())?;
    Ok(content.len() as u64)
}

/// Every way of changing `directory`, which holds the files `file` and `other` and an empty folder `folder`.
fn ways(directory: &Path) -> [(&'static str, io::Result<()>); 9] {
    let (file, folder, new) = (directory.join("file"), directory.join("folder"), directory.join("new"));
    let open = |options: &mut OpenOptions| options.open(&file).map(drop);
    [
        ("create", File::create_new(&new).map(drop)),
        ("truncate", open(OpenOptions::new().write(true).truncate(true))),
        ("append", open(OpenOptions::new().append(true))),
        ("set times", File::open(&file).and_then(|file| file.set_modified(UNIX_EPOCH))),
        ("link", fs::hard_link(&file, directory.join("link"))),
        ("rename", fs::rename(directory.join("other"), directory.join("renamed"))),
        ("remove", fs::remove_file(&file)),
        ("create a folder", fs::create_dir(directory.join("new-folder"))),
        ("remove a folder", fs::remove_dir(&folder)),
    ]
}

impl Guest for Liar {
    fn lie(path: String, content: String) -> Result<u64, String> {
        write(&path, &content)
    }

    fn lie_in_every_way(directory: String) -> Vec<String> {
        let ways = ways(Path::new(&directory));
        ways.into_iter().filter(|(_, result)| result.is_ok()).map(|(way, _)| way.to_owned()).collect()
    }

    fn peek(path: String) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn lie_keeping() -> Vec<String> {
        let Ok(bucket) = open("b") else { return vec!["nothing opens".to_owned()] };
        let pair = ("key".to_owned(), b"lie".to_vec());
        let ways = [
            ("set", bucket.set("key", b"lie").is_ok()),
            ("delete", bucket.delete("key").is_ok()),
            ("increment", atomics::increment(&bucket, "number", 1).is_ok()),
            ("set-many", batch::set_many(&bucket, &[pair]).is_ok()),
            ("delete-many", batch::delete_many(&bucket, &["key".to_owned()]).is_ok()),
        ];
        ways.into_iter().filter(|(_, worked)| *worked).map(|(way, _)| way.to_owned()).collect()
    }

    fn peek_kept() -> Result<Option<Vec<u8>>, String> {
        open("b").and_then(|bucket| bucket.get("key")).map_err(|error| error.to_string())
    }

    fn tell_kept(value: Vec<u8>) -> Result<(), String> {
        open("b").and_then(|bucket| bucket.set("key", &value)).map_err(|error| error.to_string())
    }

    fn tell(path: String, content: String) -> Result<u64, String> {
        write(&path, &content)
    }
}
