//! `toolcell mcp install`

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use toolcell::config::{Environment, HOME_VARIABLE, Location};

use crate::lossless::is_kept;
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::is_trusted;

/// More is no configuration of a client's.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Args)]
pub(crate) struct InstallArgs {
    /// The client whose configuration is written
    client: Client,
    /// Print the entry, with the file that it belongs into, and write nothing
    #[arg(long)]
    print: bool,
    /// The configuration that is served, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The name under which the client knows it
    #[arg(long, value_name = "NAME", default_value = "toolcell", value_parser = NonEmptyStringValueParser::new())]
    name: String,
}

/// The clients whose files are known.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Client {
    /// .mcp.json in this folder
    ClaudeCode,
    /// The configuration of the desktop program
    ClaudeDesktop,
    /// .vscode/mcp.json in this folder
    Vscode,
    /// .cursor/mcp.json in this folder
    Cursor,
}

impl Client {
    fn file(self, environment: &Environment) -> anyhow::Result<PathBuf> {
        let here = &environment.working_directory;
        Ok(match self {
            Self::ClaudeCode => here.join(".mcp.json"),
            Self::Vscode => here.join(".vscode/mcp.json"),
            Self::Cursor => here.join(".cursor/mcp.json"),
            Self::ClaudeDesktop => {
                let home = environment.home.as_ref().context("no home folder is known here")?;
                let folder = if cfg!(target_os = "macos") {
                    home.join("Library/Application Support/Claude")
                } else {
                    // One that is empty or relative counts as not set.
                    std::env::var_os("XDG_CONFIG_HOME")
                        .map(PathBuf::from)
                        .filter(|folder| folder.is_absolute())
                        .unwrap_or_else(|| home.join(".config"))
                        .join("Claude")
                };
                folder.join("claude_desktop_config.json")
            }
        })
    }

    /// The key under which the file has its servers.
    fn key(self) -> &'static str {
        if self == Self::Vscode { "servers" } else { "mcpServers" }
    }

    fn entry(self, config: &Path) -> anyhow::Result<Map<String, Value>> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let text = |path: &Path| {
            let utf8 = path.to_str().map(str::to_owned);
            utf8.with_context(|| format!("{} is not UTF-8, which a client's file cannot say", path.display()))
        };
        let mut entry = Map::new();
        if self != Self::ClaudeDesktop {
            entry.insert("type".to_owned(), "stdio".into());
        }
        entry.insert("command".to_owned(), text(&program)?.into());
        entry.insert("args".to_owned(), json!(["mcp", "--config", text(config)?]));
        if let Some(home) = std::env::var_os(HOME_VARIABLE).filter(|home| !home.is_empty()) {
            // Approvals and outputs are to be the same as on this terminal.
            entry.insert("env".to_owned(), json!({ HOME_VARIABLE: text(Path::new(&home))? }));
        }
        Ok(entry)
    }
}

pub(crate) fn run(args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let environment = Environment::of_process()?;
    let Some(location) = environment.locate(args.config.as_deref())? else {
        bail!(
            "there is no toolcell.toml here or above; `toolcell init` writes one, or name one with --config"
        );
    };
    check_trust(&location, &environment)?;
    let path = location.path.canonicalize().with_context(|| format!("cannot find {}", location.label))?;
    let (file, entry) = (args.client.file(&environment)?, args.client.entry(&path)?);
    if args.print {
        say(Label::Note, format_args!("this belongs into {}", file.display()));
        print_json(&json!({ args.client.key(): { &args.name: entry } }))?;
        return Ok(ExitCode::SUCCESS);
    }
    match install(&file, args.client.key(), &args.name, entry)? {
        Change::None => print_line(format_args!("{} has it already", file.display()))?,
        Change::Added => print_line(format_args!("added `{}` to {}", args.name, file.display()))?,
        Change::Replaced => print_line(format_args!("changed `{}` in {}", args.name, file.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that a client names holds from then on, whatever becomes of it: so one that was only found must be trusted.
fn check_trust(location: &Location, environment: &Environment) -> anyhow::Result<()> {
    let config = toolcell::config::Config::load(location, environment)?;
    if !is_trusted(location, &config, environment) {
        bail!(
            "{} was found and is not trusted, and a client would start it as it is; look at it and run `toolcell trust`, \
             or name it with --config",
            location.label
        );
    }
    Ok(())
}

/// What became of a file.
enum Change {
    None,
    Added,
    Replaced,
}

/// Puts the entry into the file; everything else in there stays.
fn install(file: &Path, key: &str, name: &str, entry: Map<String, Value>) -> anyhow::Result<Change> {
    // One that is a link stays one.
    let file = match file.canonicalize() {
        Ok(file) => file,
        Err(_) if file.is_symlink() => {
            bail!("{} is a link that leads nowhere; nothing was changed", file.display())
        }
        Err(_) => file.to_owned(),
    };
    let mut document = read(&file)?;
    let shown = file.display();
    let wrong =
        |what: &str| anyhow::anyhow!("{shown}: {what}; nothing was changed, `--print` shows what to add");
    let members = document.as_object_mut().ok_or_else(|| wrong("it is not a JSON object"))?;
    let servers = members.entry(key).or_insert_with(|| Value::Object(Map::new()));
    let servers = servers.as_object_mut().ok_or_else(|| wrong(&format!("its `{key}` is not an object")))?;
    let before = servers.get(name).cloned();
    let known = servers.entry(name).or_insert_with(|| Value::Object(Map::new()));
    let known =
        known.as_object_mut().ok_or_else(|| wrong(&format!("its `{key}.{name}` is not an object")))?;
    // What would make its client go elsewhere, or not at all.
    for other in ["url", "serverUrl", "headers", "headersHelper", "oauth", "disabled", "enabled"] {
        known.shift_remove(other);
    }
    for (member, value) in entry {
        match (known.get_mut(&member), value) {
            // Variables that somebody added are for the same program.
            (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
            (_, value) => drop(known.insert(member, value)),
        }
    }
    let after = Value::Object(known.clone());
    match before {
        Some(before) if before == after => Ok(Change::None),
        Some(_) => write(&file, &document).map(|()| Change::Replaced),
        None => write(&file, &document).map(|()| Change::Added),
    }
}

/// The document in the file; an empty one where there is none.
fn read(file: &Path) -> anyhow::Result<Value> {
    let shown = file.display();
    match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(json!({})),
        Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        Ok(metadata) if !metadata.is_file() => bail!("{shown} is no regular file; nothing was changed"),
        Ok(metadata) if metadata.permissions().readonly() => {
            bail!("{shown} is not to be written; nothing was changed, `--print` shows what to add by hand")
        }
        Ok(metadata) if metadata.len() > MAX_BYTES => {
            bail!("{shown} is larger than a client's configuration is")
        }
        Ok(_) => {}
    }
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    let text = text.trim_start_matches('\u{feff}');
    let document = serde_json::from_str(text).map_err(|error| {
        anyhow::anyhow!(
            "{shown} is not valid JSON ({error}); nothing was changed, `--print` shows what to add by hand"
        )
    })?;
    if !is_kept(text, &document) {
        bail!(
            "{shown} has a key twice or a number of more digits than would be kept; nothing was changed, `--print` shows \
             what to add by hand"
        );
    }
    Ok(document)
}

/// Replaces the file as a whole; a reader sees the old or the new one.
fn write(file: &Path, document: &Value) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", file.display());
    let folder = file.parent().with_context(cannot)?;
    fs::create_dir_all(folder).with_context(cannot)?;
    let permissions = match fs::metadata(file) {
        Ok(metadata) => metadata.permissions(),
        // What the user's mask leaves of it.
        Err(_) => fs::Permissions::from_mode(0o666),
    };
    let is_there = file.exists();
    let mut aside =
        tempfile::Builder::new().permissions(permissions.clone()).tempfile_in(folder).with_context(cannot)?;
    if is_there {
        aside.as_file().set_permissions(permissions).with_context(cannot)?;
    }
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    aside.write_all(text.as_bytes()).with_context(cannot)?;
    aside.as_file().sync_all().with_context(cannot)?;
    aside.persist(file).with_context(cannot)?;
    Ok(())
}
