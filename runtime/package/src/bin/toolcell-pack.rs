//! Packs a component: `toolcell-pack IN.wasm --wit DIR [--world W] -o OUT.wasm`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to its user")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use toolcell_package::{Package, append, exports, parse_wit};
use wit_parser::decoding::{DecodedWasm, decode};

const USAGE: &str = "usage: toolcell-pack IN.wasm --wit DIR [--world WORLD] -o OUT.wasm";

/// Exit codes as those of `toolcell`: 2 for wrong usage, 1 for input that cannot be packed.
fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match pack(&arguments) {
        Ok(warnings) => {
            warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

struct Arguments {
    input: PathBuf,
    wit: PathBuf,
    world: Option<String>,
    output: PathBuf,
}

impl Arguments {
    fn parse(arguments: Vec<OsString>) -> Result<Self, String> {
        let (mut input, mut wit, mut world, mut output) = (None, None, None, None);
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let slot = match argument.to_str() {
                Some("--wit") => &mut wit,
                Some("--world") => &mut world,
                Some("-o" | "--output") => &mut output,
                Some(flag) if flag.starts_with('-') => return Err(format!("unknown flag `{flag}`")),
                _ if input.is_none() => {
                    input = Some(argument);
                    continue;
                }
                _ => {
                    return Err(format!(
                        "one component at a time, `{}` is too many",
                        argument.to_string_lossy()
                    ));
                }
            };
            let flag = argument.to_string_lossy();
            let value = rest.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            if slot.replace(value).is_some() {
                return Err(format!("`{flag}` is given twice"));
            }
        }
        let path = |value: Option<OsString>, what: &str| {
            value.map(PathBuf::from).ok_or_else(|| format!("{what} is missing"))
        };
        let world =
            world.map(|world| world.into_string().map_err(|_| "`--world` is not UTF-8")).transpose()?;
        Ok(Self {
            input: path(input, "the component to pack")?,
            wit: path(wit, "`--wit DIR`")?,
            world,
            output: path(output, "`-o OUT.wasm`")?,
        })
    }
}

/// Writes the packed component; returns what is worth a warning.
fn pack(arguments: &Arguments) -> Result<Vec<String>, String> {
    let in_input = |message: String| format!("{}: {message}", arguments.input.display());
    let component = fs::read(&arguments.input).map_err(|error| in_input(error.to_string()))?;
    let (resolve, world) =
        parse_wit(&arguments.wit, arguments.world.as_deref()).map_err(|error| error.to_string())?;
    let package = Package::from_wit(&resolve, world)
        .map_err(|error| format!("{}: {error}", arguments.wit.display()))?;
    let packed = append(&component, &package).map_err(|error| in_input(error.to_string()))?;

    let there = exported_keys(&component).map_err(in_input)?;
    let described = exports(&resolve, world);
    let missing: Vec<String> = described
        .iter()
        .filter(|export| !there.contains(&export.key))
        .map(|export| format!("`{}`", export.key))
        .collect();
    if !missing.is_empty() {
        return Err(in_input(format!(
            "it does not export {}; give `--wit` and `--world` that it was built from",
            missing.join(", ")
        )));
    }
    write_atomically(&arguments.output, &packed)
        .map_err(|error| format!("cannot write {}: {error}", arguments.output.display()))?;
    Ok(package.undescribed(&resolve, world).iter().map(ToString::to_string).collect())
}

fn exported_keys(component: &[u8]) -> Result<BTreeSet<String>, String> {
    match decode(component) {
        Ok(DecodedWasm::Component(resolve, world)) => {
            Ok(exports(&resolve, world).into_iter().map(|export| export.key).collect())
        }
        Ok(DecodedWasm::WitPackage(..)) => Err("this is WIT in binary form; give the component".to_owned()),
        Err(error) => Err(format!("the component is damaged: {error:#}")),
    }
}

/// Writes beside `path` and renames, so that a reader sees the old file or the new one, never a part.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first failure is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}
