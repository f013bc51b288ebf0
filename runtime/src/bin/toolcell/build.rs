//! `toolcell build`: a cargo project in, a packed component out.

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal as _, Write as _, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;
use toolcell_package::Packing;

use crate::pack;

const TARGET: &str = "wasm32-wasip2";

/// Builds a Rust project into a component with its documentation, NAME.wasm beside its Cargo.toml.
#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// The project's folder.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The world in wit/; needed where there are several and none has the project's name.
    #[arg(long)]
    world: Option<String>,
}

pub(crate) fn run(args: BuildArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.folder)?;
    let Some(component) = Compiler::find(&project.folder)?.build(&project)? else {
        return Ok(ExitCode::FAILURE);
    };
    let output = project.folder.join(format!("{}.wasm", project.name));
    pack::pack(&Packing {
        input: &component,
        wit: &project.folder.join("wit"),
        world: args.world.as_deref(),
        output: &output,
    })?;
    let bytes = fs::metadata(&output).map_or(0, |metadata| metadata.len());
    writeln!(stdout(), "{}: {}", shown(&output), bytesize::ByteSize(bytes))?;
    Ok(ExitCode::SUCCESS)
}

/// A path as its user would write it.
fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// A cargo project that is one tool's.
struct Project {
    folder: PathBuf,
    name: String,
}

impl Project {
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}; name a Rust project's folder", shown(&manifest)))?;
        let parsed: toml_edit::DocumentMut =
            text.parse().map_err(|error| anyhow!("{}: {error}", shown(&manifest)))?;
        let name =
            parsed.get("package").and_then(|package| package.get("name")).and_then(|name| name.as_str());
        let name = name.with_context(|| {
            format!("{} has no package; name the folder of the tool itself", shown(&manifest))
        })?;
        if !folder.join("wit").is_dir() {
            bail!(
                "{} is missing; the tool's world and its documentation belong there",
                shown(&folder.join("wit"))
            );
        }
        Ok(Self { folder: folder.to_owned(), name: name.to_owned() })
    }

    /// What cargo built of this project, from its messages.
    fn artifact(&self, messages: &[u8]) -> Option<PathBuf> {
        let manifest = fs::canonicalize(self.folder.join("Cargo.toml")).ok()?;
        let text = String::from_utf8_lossy(messages);
        let built = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let own = built.filter(|message| {
            let of = message.get("manifest_path").and_then(Value::as_str);
            of.and_then(|path| fs::canonicalize(path).ok()).as_ref() == Some(&manifest)
        });
        let files = own.filter_map(|message| message.get("filenames")?.as_array().cloned()).flatten();
        let mut components = files.filter_map(|file| file.as_str().map(PathBuf::from));
        components.find(|file| file.extension().is_some_and(|ending| ending == "wasm"))
    }
}

/// A Rust compiler that has the target.
struct Compiler {
    /// `RUSTC` and what goes before `PATH`, where it is not cargo's own.
    made: Option<(PathBuf, OsString)>,
}

impl Compiler {
    /// The compiler that cargo would use in `folder`, or else the one that `guest-tools/toolchain.sh` has made.
    fn find(folder: &Path) -> anyhow::Result<Self> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let Some(library) = printed(
            Command::new(&rustc)
                .current_dir(folder)
                .args(["--print", "target-libdir"])
                .args(["--target", TARGET]),
        ) else {
            bail!("there is no Rust compiler; install Rust from https://rustup.rs");
        };
        if has_std(Path::new(&library)) {
            return Ok(Self { made: None });
        }
        if let Some(made) = made_toolchain().filter(|made| made.join("rustc").is_file())
            && let Some(linkers) = linkers(folder)
        {
            return Ok(Self { made: Some((made.join("rustc"), linkers)) });
        }
        bail!("Rust has no {TARGET} yet; add it with `rustup target add {TARGET}` and build again")
    }

    /// Runs cargo. What it says is shown as it says it on a terminal, and otherwise if it fails.
    fn build(&self, project: &Project) -> anyhow::Result<Option<PathBuf>> {
        let watched = stderr().is_terminal();
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--target", TARGET, "--message-format", "json-render-diagnostics"]);
        cargo.current_dir(&project.folder).stdin(Stdio::null());
        // What the caller wants of the host's builds must not reach a guest's.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
        if watched {
            cargo.stderr(Stdio::inherit());
        }
        if let Some((rustc, linkers)) = &self.made {
            let mut path = linkers.clone();
            path.push(":");
            path.push(std::env::var_os("PATH").unwrap_or_default());
            cargo.env("RUSTC", rustc).env("PATH", path);
        }
        let output = cargo.output().context("cannot run cargo; install Rust from https://rustup.rs")?;
        if !output.status.success() {
            let mut stderr = stderr().lock();
            stderr.write_all(&output.stderr)?;
            writeln!(stderr, "error: {} does not build", project.name)?;
            return Ok(None);
        }
        let component = project.artifact(&output.stdout).with_context(|| {
            format!(
                "{} builds no component; its Cargo.toml needs `[lib]` with `crate-type = [\"cdylib\"]`",
                project.name
            )
        })?;
        Ok(Some(component))
    }
}

/// The first line that a command prints, if it succeeds.
fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// Whether the folder of a target's libraries has the standard library: rustc names the folder of any target.
fn has_std(library: &Path) -> bool {
    let mut files = fs::read_dir(library).into_iter().flatten().flatten();
    files.any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Where `guest-tools/toolchain.sh` puts the compiler that it makes.
fn made_toolchain() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("TOOLCELL_TOOLCHAIN_DIR").or_else(|| {
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
        Some(cache.join("toolcell/guest-toolchain"))
    })
}

/// The folders in which a rustup toolchain carries wasm-component-ld and wasm-ld, which the made one has not.
fn linkers(folder: &Path) -> Option<OsString> {
    let library = printed(Command::new("rustc").current_dir(folder).args(["--print", "target-libdir"]))?;
    let programs = Path::new(&library).parent()?.join("bin");
    std::env::join_paths([programs.clone(), programs.join("gcc-ld")]).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn refusal(manifest: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        if let Some(manifest) = manifest {
            fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        }
        let error = Project::open(folder.path()).err().unwrap();
        format!("{error:#}")
    }

    #[test]
    fn what_is_no_tools_project_says_what_is_missing() {
        assert!(refusal(None).contains("name a Rust project's folder"));
        assert!(refusal(Some("[workspace]")).contains("has no package"));
        assert!(refusal(Some("[package")).contains("Cargo.toml: "));
        assert!(refusal(Some("[package]\nname = \"x\"")).contains("wit is missing"));
    }

    #[test]
    fn the_component_is_found_among_cargos_messages() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        fs::write(&manifest, "[package]\nname = \"x\"").unwrap();
        fs::create_dir(folder.path().join("wit")).unwrap();
        let project = Project::open(folder.path()).unwrap();
        let message = |manifest: &Path, file: &str| {
            serde_json::json!({ "manifest_path": manifest, "filenames": [file] }).to_string()
        };
        let other = message(Path::new("/other/Cargo.toml"), "/t/other.wasm");
        let messages = [other.clone(), "no json".to_owned(), message(&manifest, "/t/x.wasm")].join("\n");
        assert_eq!(project.artifact(messages.as_bytes()), Some(PathBuf::from("/t/x.wasm")));
        assert_eq!(project.artifact(other.as_bytes()), None);
    }
}
