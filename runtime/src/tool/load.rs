//! From a component's bytes to its tools: read, inspected, described and bound to limits and grants. Nothing is
//! compiled and no guest code runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::sync::OnceCell;
use toolcell_package::Package;

use super::candidate::{Candidate, Offered, candidates};
use super::component::name_of;
use super::content::Content;
use super::inspect::{Inspection, check_code, classify_imports, inspect, lints, readable};
use super::misset::{listed, misset, placed};
use super::renewed::mark_of;
use super::taken::taken;
use super::{Body, LoadedComponent, Owner, Tool, ToolComponent, builtin_content, open_world};
use crate::config::{ComponentConfig, Source, StoredComponents, ToolSettings, shipped_file};
use crate::error::{Error, Result};
use crate::kept;
use crate::limits::{Limit, Limits, Origin};
use crate::output::{Redactor, redaction_mark};
use crate::policy::Grant;
use crate::sandbox::{DirTemplate, HttpAccess, HttpTemplate, Sandbox};
use crate::schema::{nearest, tool_name};

/// A component with the tools that it has.
pub(crate) type Loaded = (Arc<LoadedComponent>, Vec<Arc<Tool>>);

/// Reads the components of one entry. A bad file in a folder is skipped with a warning, unless it is among the components that
/// were there `before`: that is a change which went wrong. Any other is an error.
pub(crate) fn load(
    component: ToolComponent,
    scopes: [&Limits; 2],
    over: &Limits,
    (sandbox, stored): (&Arc<Sandbox>, &StoredComponents),
    before: &BTreeSet<&str>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Loaded>> {
    let loader = Loader { config: &component.config, scopes, over, sandbox };
    let name = &component.config.name;
    let wit = component.wit.as_deref().map(|folder| (folder, component.world.as_deref()));
    if let Some(bytes) = component.bytes {
        return loader.single(name, Content::of(bytes), wit, warnings);
    }
    match &component.config.source {
        Source::Folder(folder) => loader.folder(folder, before, warnings),
        Source::File(path) => {
            let content = Content::of_file(path)?;
            loader.single(name, content, wit, warnings).map_err(|error| named(error, path))
        }
        Source::Builtin(builtin_name) => {
            let origin = component.config.origin_of("path");
            let content = builtin_content(builtin_name).map_err(|error| match error {
                Error::Component { subject, message } if origin.at.is_some() => {
                    misset(&origin, format!("`{subject}`: {message}"))
                }
                other => other,
            })?;
            loader.single(name, content, None, warnings)
        }
        Source::Registry { reference, locked } => {
            let content = taken(name, reference, locked.as_deref(), stored);
            let content = content.map_err(|told| misset(&component.config.origin_of("path"), told))?;
            loader.single(name, content, None, warnings)
        }
    }
}

/// The error with the file's name, for a reader who knows files better than components.
fn named(error: Error, path: &Path) -> Error {
    match error {
        Error::Component { message, .. } => Error::component(path.display().to_string(), message),
        other => other,
    }
}

/// One entry of the configuration on its way to tools.
struct Loader<'a> {
    config: &'a ComponentConfig,
    scopes: [&'a Limits; 2],
    over: &'a Limits,
    sandbox: &'a Arc<Sandbox>,
}

impl Loader<'_> {
    fn folder(
        &self,
        folder: &Path,
        before: &BTreeSet<&str>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Loaded>> {
        let entries = std::fs::read_dir(folder).map_err(Error::file("read", folder))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
            .collect();
        files.sort();
        let (mut loaded, mut offered) = (Vec::new(), Vec::new());
        let count = files.len();
        for file in files {
            let name = format!("{}.{}", self.config.name, name_of(&file));
            let component = Content::of_file(&file)
                .and_then(|content| self.component(&name, content, None, &mut offered, warnings))
                .map_err(|error| named(error, &file));
            match component {
                Ok(component) => loaded.push(component),
                // One that is gone is no broken one.
                Err(error) if before.contains(name.as_str()) && file.exists() => return Err(error),
                Err(error) => warnings.push(format!("skipped {error}")),
            }
        }
        if loaded.is_empty() {
            warnings.push(format!(
                "component `{}`: the folder {} has no tools",
                self.config.name,
                folder.display()
            ));
        }
        match self.check_names(&offered) {
            // What a setting means may be in a file that was skipped, which takes no other down.
            Err(error) if loaded.len() < count => warnings.push(error.to_string()),
            checked => checked?,
        }
        Ok(loaded)
    }

    /// A component that is alone under its settings.
    fn single(
        &self,
        name: &str,
        content: Content,
        wit: Option<(&Path, Option<&str>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Loaded>> {
        let mut offered = Vec::new();
        let loaded = self.component(name, content, wit, &mut offered, warnings)?;
        self.check_names(&offered)?;
        Ok(vec![loaded])
    }

    /// A component; what it offers as tools is added to `offered`, wanted or not.
    fn component(
        &self,
        name: &str,
        content: Content,
        wit: Option<(&Path, Option<&str>)>,
        offered: &mut Vec<Offered>,
        warnings: &mut Vec<String>,
    ) -> Result<Loaded> {
        let wrong = |message: String| Error::component(name, message);
        let digest = content.digest(self.sandbox, self.config.digest.is_some());
        let bytes = content.bytes;
        if let Some(pin) = self.config.digest.filter(|pin| *pin != digest) {
            let message = format!(
                "wants {pin}, and the content is {digest}; if that is what you mean to run, write this digest"
            );
            return Err(misset(&self.config.origin_of("digest"), message));
        }
        let mut described = None;
        let mut inspection = inspect(&bytes).map_err(|error| wrong(error.to_string()))?;
        // What was compiled once is sound, and looking through code takes as long as a call may.
        let is_shipped = matches!(&self.config.source, Source::Builtin(name) if shipped_file(name).is_none());
        if !is_shipped && !self.sandbox.has_compiled(&digest) {
            check_code(&bytes).map_err(|error| wrong(error.to_string()))?;
        }
        if let Some((folder, world)) = wit {
            let package =
                Package::from_wit_dir(folder, world).map_err(|error| wrong(format!("its WIT: {error}")))?;
            let package = readable(package);
            described = Some(package.clone());
            inspection.package = Some(package);
        }
        if let Some(refusal) = classify_imports(&inspection, &self.config.grant).refusal() {
            return Err(wrong(refusal));
        }
        warnings.extend(lints(&inspection).into_iter().map(|lint| format!("{name}: {lint}")));
        let package = inspection.package.clone().unwrap_or_default();
        let setting = self.config.dirs_setting();
        let state = self.config.origin_of("grant.state");
        kept::check(self.config.grant.state, &placed(&state.setting, state.at.as_deref()))?;
        let secrets = self.secrets()?;
        let named = secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let redactor = Redactor::new(named).map_err(|told| wrong(format!("its secrets: {told}")))?;
        let redactor = redactor.map(Arc::new);
        let http = self.http(&secrets, redactor.as_ref())?;
        let secrets_mark = mark_of(&secrets);
        let config: BTreeMap<String, String> = self.config.grant.config.clone();
        let mut config_of_calls = config.clone();
        let is_readable = |name: &String| self.config.grant.secrets.get(name).is_some_and(|it| it.readable);
        config_of_calls.extend(secrets.into_iter().filter(|(name, _)| is_readable(name)));
        let owner = Owner {
            redactor,
            name: name.to_owned(),
            digest,
            group: self.config.group.clone(),
            grant: resolved(&self.config.grant),
            instructions: self.config.instructions.clone().or(package.instructions.clone()),
            repair: self.config.repair,
        };
        let component = Arc::new(LoadedComponent {
            owner: Arc::new(owner),
            env: Arc::new(self.config.grant.env.clone()),
            config: Arc::new(config),
            config_of_calls: Arc::new(config_of_calls),
            secrets: secrets_mark,
            is_self_contained: inspection.is_self_contained(),
            footprint: inspection.footprint,
            state_setting: self.config.state_setting().into(),
            deterministic: self.config.deterministic,
            flag: self.config.flag().map(Into::into),
            bytes: Arc::new(bytes),
            described,
            fuel: OnceCell::new(),
            epoch: OnceCell::new(),
        });
        let (dirs, read_only) = (&self.config.grant.dirs, self.config.grant.read_only().dirs);
        let full = DirTemplate::open(dirs, &setting)?;
        let read_only =
            if read_only == *dirs { Arc::clone(&full) } else { DirTemplate::open(&read_only, &setting)? };
        let reach = Granted { dirs: full, read_only_dirs: read_only, http };
        let candidates = candidates(&component, &inspection, &package, self.sandbox, warnings)?;
        offered.extend(candidates.iter().map(|candidate| candidate.offered.clone()));
        let wanted = candidates.into_iter().filter(|candidate| self.is_wanted(&candidate.offered));
        let tools: Vec<Arc<Tool>> =
            wanted.map(|candidate| self.tool(&component, candidate, &reach)).collect::<Result<_>>()?;
        for tool in &tools {
            self.fits(&inspection, tool)?;
        }
        Ok((component, tools))
    }

    /// Its secrets with their values.
    fn secrets(&self) -> Result<BTreeMap<String, String>> {
        let secrets = &self.config.grant.secrets;
        let read = secrets.iter().map(|(name, secret)| {
            let wrong = |told| misset(&self.config.origin_of(&format!("secrets.{name}")), told);
            let value = secret.read().map_err(wrong)?;
            let mut marks = secrets.keys().map(|name| redaction_mark(name));
            if marks.any(|mark| mark.contains(&value)) {
                return Err(wrong("is a part of what is written in the place of secrets".to_owned()));
            }
            Ok((name.clone(), value))
        });
        read.collect()
    }

    /// The places for its requests.
    fn http(
        &self,
        secrets: &BTreeMap<String, String>,
        redactor: Option<&Arc<Redactor>>,
    ) -> Result<Arc<HttpTemplate>> {
        let origin = |index| self.config.http().nth(index).map(|(_, origin)| origin).unwrap_or_default();
        for (index, entry) in self.config.grant.http.iter().enumerate() {
            if let Some(fault) = entry.faults(&self.config.grant.secrets).into_iter().next() {
                return Err(misset(&origin(index), format!("{}: {}", fault.key, fault.message)));
            }
        }
        let (grants, setting) = (&self.config.grant.http, self.config.http_setting());
        HttpTemplate::open(grants, secrets, redactor, &setting, self.sandbox.network())
            .map_err(|(index, told)| misset(&origin(index), told))
    }

    /// A setting that names no tool would be one that nothing enforces.
    fn check_names(&self, offered: &[Offered]) -> Result<()> {
        let config = self.config;
        let tools = config.tools.iter().flatten().enumerate();
        let tools = tools.map(|(index, name)| (name, config.origin_of(&format!("tools[{index}]"))));
        let settings = config.tool_settings.iter().map(|(name, settings)| {
            let unknown = || Origin::setting(format!("component.{}.tool.{name}", config.name));
            let known = Some(settings.origin.clone()).filter(|origin| !origin.setting.is_empty());
            (name, known.unwrap_or_else(unknown))
        });
        for (name, origin) in tools.chain(settings) {
            if !offered.iter().any(|offered| self.means(offered, name)) {
                return Err(self.names_nothing(name, &origin, offered));
            }
        }
        for name in config.rename.keys() {
            if !offered.iter().any(|offered| offered.is_called(name)) {
                let origin = config.origin_of(&format!("rename.{name}"));
                return Err(self.names_nothing(name, &origin, offered));
            }
        }
        Ok(())
    }

    fn names_nothing(&self, name: &str, origin: &Origin, offered: &[Offered]) -> Error {
        let names: Vec<&str> = offered.iter().map(|offered| offered.name.as_str()).collect();
        let hint = match nearest(name, names.iter().copied()).as_slice() {
            [] if names.is_empty() => "it has none".to_owned(),
            [] => format!("it has {}", listed(&names)),
            near => format!("did you mean {}?", listed(near)),
        };
        misset(origin, format!("component `{}` has no tool `{name}`; {hint}", self.config.name))
    }

    fn is_wanted(&self, offered: &Offered) -> bool {
        let wanted = self.config.tools.as_ref();
        wanted.is_none_or(|tools| tools.iter().any(|name| self.means(offered, name)))
    }

    /// Whether `tools` and `tool` mean this one by `name`: its own, or the one that it is given here.
    fn means(&self, offered: &Offered, name: &str) -> bool {
        offered.is_called(name) || self.given_name(offered) == name
    }

    /// The name under which models know it.
    fn given_name(&self, offered: &Offered) -> String {
        match self.renamed(offered) {
            Some((_, name)) => name.clone(),
            None => format!("{}{}", self.config.prefix, offered.name),
        }
    }

    fn renamed(&self, offered: &Offered) -> Option<(&String, &String)> {
        self.config.rename.iter().find(|(name, _)| offered.is_called(name))
    }

    fn tool(
        &self,
        component: &Arc<LoadedComponent>,
        candidate: Candidate,
        reach: &Granted,
    ) -> Result<Arc<Tool>> {
        let settings = self.settings(&candidate.offered);
        let nothing = Limits::new();
        let of_tool = settings.map_or(&nothing, |settings| &settings.limits);
        let shipped = self.config.source.default_limits();
        let scopes = std::iter::once(&shipped).chain(self.scopes).chain([of_tool, self.over]);
        let limits = Limits::resolve(scopes);
        let name = self.given_name(&candidate.offered);
        let name = tool_name(&name).map_err(|error| {
            let setting = match self.renamed(&candidate.offered) {
                Some((from, _)) => format!("rename.{from}"),
                None => "prefix".to_owned(),
            };
            let message = format!("`{name}` cannot be a tool's name: {error}");
            misset(&self.config.origin_of(&setting), message)
        })?;
        let mut hints = candidate.doc.hints.clone();
        let declared = settings.map_or(self.config.hints, |settings| settings.hints.or(self.config.hints));
        hints.idempotent = declared.idempotent.or(hints.idempotent);
        hints.concurrency_safe = declared.concurrency_safe.or(hints.concurrency_safe);
        let is_read_only = hints.read_only == Some(true);
        let granted = &component.owner.grant;
        let grant = if is_read_only { Cow::Owned(granted.read_only()) } else { Cow::Borrowed(granted) };
        hints.open_world = open_world(&grant, hints.open_world);
        let text = |own: Option<String>, of: fn(&ToolSettings) -> Option<&String>| {
            settings.and_then(of).cloned().or(own)
        };
        Ok(Arc::new(Tool {
            name,
            title: text(candidate.doc.title, |settings| settings.title.as_ref()),
            description: text(candidate.doc.description, |settings| settings.description.as_ref())
                .unwrap_or_default(),
            input_schema: candidate.input_schema,
            output_schema: candidate.output_schema,
            hints,
            is_declared_safe: declared.concurrency_safe == Some(true),
            is_declared_idempotent: declared.idempotent == Some(true),
            examples: candidate.doc.examples,
            origin: candidate.offered.origin,
            limits: Arc::new(limits),
            owner: Arc::clone(&component.owner),
            body: Body::Component {
                component: Arc::clone(component),
                dirs: Arc::clone(if is_read_only { &reach.read_only_dirs } else { &reach.dirs }),
                env: Arc::clone(&component.env),
                http: HttpAccess::of(&reach.http, &grant.http),
                entry: Arc::new(candidate.entry),
            },
            output: OnceLock::new(),
            mirrored: OnceLock::new(),
            shown: OnceLock::new(),
        }))
    }

    fn settings(&self, offered: &Offered) -> Option<&ToolSettings> {
        self.config
            .tool_settings
            .iter()
            .find(|(name, _)| self.means(offered, name))
            .map(|(_, settings)| settings)
    }

    /// Limits that the component or the engine cannot honour are errors here, not surprises at the first call.
    fn fits(&self, inspection: &Inspection, tool: &Tool) -> Result<()> {
        let limits = &tool.limits;
        if let Some(hit) = inspection.footprint.beyond(limits).into_iter().next() {
            return Err(Error::Limit {
                setting: placed(&hit.setting, hit.at.as_deref()),
                message: format!(
                    "component `{}` needs {} from its start, and {} is allowed; raise it to at least {}",
                    tool.owner.name, hit.used, hit.allowed, hit.used
                ),
            });
        }
        let stack = limits.get(Limit::Stack);
        if stack != self.sandbox.settings().stack {
            let origin = limits.origin(Limit::Stack);
            return Err(Error::Limit {
                setting: placed(&origin.setting, origin.at.as_deref()),
                message: "the stack is one for all tools; set `limits.stack` in its place".to_owned(),
            });
        }
        Ok(())
    }
}

/// The grants with their folders as they are now: an approval is of this folder, not of what its name leads to later.
fn resolved(grant: &Grant) -> Grant {
    let mut grant = grant.clone();
    for dir in &mut grant.dirs {
        if let Ok(host) = std::fs::canonicalize(&dir.host) {
            dir.host = host;
        }
    }
    grant
}

/// What of the host a component reaches, opened once for each way of using it.
struct Granted {
    dirs: Arc<DirTemplate>,
    read_only_dirs: Arc<DirTemplate>,
    http: Arc<HttpTemplate>,
}
