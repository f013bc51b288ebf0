//! `toolcell wit`: the WIT that tools are written against, for authors in any language.

use std::fs;
use std::io::{self, Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};

/// Writes the WIT package `toolcell:tool`, which tools include.
#[derive(Debug, clap::Args)]
pub(crate) struct WitArgs {
    /// A folder of its own, such as `wit/deps/toolcell-tool` beside your world.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// The package's files. The first one names the package.
const FILES: [(&str, &str); 7] = [
    ("types.wit", include_str!("../../../../wit/types.wit")),
    ("context.wit", include_str!("../../../../wit/context.wit")),
    ("events.wit", include_str!("../../../../wit/events.wit")),
    ("files.wit", include_str!("../../../../wit/files.wit")),
    ("tools.wit", include_str!("../../../../wit/tools.wit")),
    ("hook.wit", include_str!("../../../../wit/hook.wit")),
    ("worlds.wit", include_str!("../../../../wit/worlds.wit")),
];

pub(crate) fn run(args: WitArgs) -> anyhow::Result<ExitCode> {
    write(&args.output)?;
    writeln!(stdout(), "{}: toolcell:tool@1.0.0, {} files", args.output.display(), FILES.len())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the package into `folder`, over an earlier copy of it, never over anything else.
///
/// # Errors
/// When the folder holds other WIT, or cannot be written.
pub(crate) fn write(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    refuse_other_wit(folder)?;
    for (name, text) in FILES {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// One folder is one package: files of ours among those of another would make neither.
fn refuse_other_wit(folder: &Path) -> anyhow::Result<()> {
    let listed: io::Result<Vec<_>> = fs::read_dir(folder).and_then(Iterator::collect);
    let listed = listed.with_context(|| format!("cannot read {}", folder.display()))?;
    let ours = |name: &str| FILES.iter().any(|(file, _)| *file == name);
    let named = fs::read_to_string(folder.join(FILES[0].0)).unwrap_or_default();
    for entry in listed {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_copy = ours(&name) && named.contains("package toolcell:tool@");
        if name.ends_with(".wit") && !is_copy {
            bail!(
                "{} holds other WIT ({name}); name a folder of its own, such as `wit/deps/toolcell-tool`",
                folder.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_package_is_whole_and_can_be_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let deps = folder.path().join("wit/deps/toolcell-tool");
        write(&deps).unwrap();
        fs::write(deps.join("worlds.wit"), "world old {}").unwrap();
        write(&deps).unwrap();
        fs::write(
            folder.path().join("wit/world.wit"),
            "package a:b;\nworld c { include toolcell:tool/tool@1.0.0; export f: func(); }\n",
        )
        .unwrap();
        toolcell_package::parse_wit(&folder.path().join("wit"), None).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
        let is_wit = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|ending| ending == "wit");
        let count = fs::read_dir(sources).unwrap().map(Result::unwrap).filter(is_wit).count();
        assert_eq!(count, FILES.len(), "a file is not embedded");
    }

    #[test]
    fn other_wit_is_left_alone() {
        for name in ["world.wit", "types.wit"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), "package a:b;\n").unwrap();
            let message = write(folder.path()).unwrap_err().to_string();
            assert!(message.contains("holds other WIT") && message.contains(name), "{message}");
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "package a:b;\n");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}
