//! Packs a component: `toolcell-pack IN.wasm --wit DIR [--world W] -o OUT.wasm`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to its user")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use toolcell_package::Packing;

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
    match arguments.packing().run() {
        Ok(undescribed) => {
            undescribed.iter().for_each(|undescribed| eprintln!("warning: {undescribed}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
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

    fn packing(&self) -> Packing<'_> {
        let Self { input, wit, world, output } = self;
        Packing { input, wit, world: world.as_deref(), output }
    }
}
