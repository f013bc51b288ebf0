//! From a component's bytes to its tools: read, inspected, described and bound to limits and grants. Nothing is
//! compiled and no guest code runs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use toolcell_package::{Export, Package, ToolDoc};

use super::component::name_of;
use super::inspect::{Inspection, MAX_COMPONENT_BYTES, classify_imports, inspect, lints, readable};
use super::{Entry, Tool, ToolComponent, builtin_bytes};
use crate::config::{ComponentConfig, Source, ToolSettings};
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};
use crate::policy::{Digest, Grant};
use crate::sandbox::{
    Allocation, ConfigVariables, DirTemplate, EngineSettings, Meter, Prepared, Sandbox, TypedCall,
};
use crate::schema::{RepairMode, Signature, nearest, tool_name};

/// A component that is ready to be compiled, and once it is, to be called.
pub(crate) struct LoadedComponent {
    pub name: String,
    pub digest: Digest,
    pub grant: Grant,
    pub instructions: Option<String>,
    pub repair: RepairMode,
    pub env: Arc<BTreeMap<String, String>>,
    pub config: Arc<ConfigVariables>,
    bytes: Arc<Cow<'static, [u8]>>,
    fuel: OnceCell<Arc<Prepared>>,
    epoch: OnceCell<Arc<Prepared>>,
}

impl LoadedComponent {
    /// The component's native code for `meter`, compiled when first needed and only once, on a thread that may
    /// wait: other calls go on.
    pub async fn prepared(self: &Arc<Self>, sandbox: &Arc<Sandbox>, meter: Meter) -> Result<Arc<Prepared>> {
        let slot = match meter {
            Meter::Fuel => &self.fuel,
            Meter::Epoch => &self.epoch,
        };
        let prepared = slot.get_or_try_init(|| async {
            // A program of one call has no other that could wait for the file, and is ended before a thread is made.
            if sandbox.settings().allocation == Allocation::OnDemand
                && let Some(prepared) = sandbox.prepare_cached(&self.name, &self.digest, meter)?
            {
                return Ok(Arc::new(prepared));
            }
            let (component, preparing) = (Arc::clone(self), Arc::clone(sandbox));
            let prepare = move || {
                preparing.prepare(&component.name, component.bytes.as_ref(), &component.digest, meter)
            };
            match sandbox.handle().spawn_blocking(prepare).await {
                Ok(prepared) => prepared.map(Arc::new),
                Err(_) => Err(Error::component(self.name.as_str(), "the compiler failed on it")),
            }
        });
        prepared.await.map(Arc::clone)
    }
}

/// A component with the tools that it has.
pub(crate) type Loaded = (Arc<LoadedComponent>, Vec<Arc<Tool>>);

/// Reads the components of one entry. A bad file in a folder is skipped with a warning; any other is an error.
pub(crate) fn load(
    component: ToolComponent,
    scopes: [&Limits; 2],
    over: &Limits,
    settings: &EngineSettings,
    warnings: &mut Vec<String>,
) -> Result<Vec<Loaded>> {
    let loader = Loader { config: &component.config, scopes, over, settings };
    let name = &component.config.name;
    if let Some(bytes) = component.bytes {
        return loader.component(name, bytes, component.wit.as_deref(), warnings).map(|loaded| vec![loaded]);
    }
    match &component.config.source {
        Source::Folder(folder) => loader.folder(folder, warnings),
        Source::File(path) => {
            let bytes = read(path)?;
            let wit = component.wit.as_deref();
            let loaded =
                loader.component(name, bytes.into(), wit, warnings).map_err(|error| named(error, path))?;
            Ok(vec![loaded])
        }
        Source::Builtin(builtin_name) => {
            let bytes = builtin_bytes(builtin_name)?;
            loader.component(name, bytes.into(), None, warnings).map(|loaded| vec![loaded])
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

/// The bytes of a component's file. Only regular files: a FIFO would never end.
fn read(path: &Path) -> Result<Vec<u8>> {
    let metadata = std::fs::metadata(path).map_err(Error::file("read", path))?;
    if !metadata.is_file() {
        return Err(Error::component(
            path.display().to_string(),
            "this is no regular file; name a component",
        ));
    }
    let allowed = u64::try_from(MAX_COMPONENT_BYTES).unwrap_or(u64::MAX);
    if metadata.len() > allowed {
        let message = format!("the file has {} bytes, and {allowed} are allowed", metadata.len());
        return Err(Error::component(path.display().to_string(), message));
    }
    std::fs::read(path).map_err(Error::file("read", path))
}

/// One entry of the configuration on its way to tools.
struct Loader<'a> {
    config: &'a ComponentConfig,
    scopes: [&'a Limits; 2],
    over: &'a Limits,
    settings: &'a EngineSettings,
}

impl Loader<'_> {
    fn folder(&self, folder: &Path, warnings: &mut Vec<String>) -> Result<Vec<Loaded>> {
        let entries = std::fs::read_dir(folder).map_err(Error::file("read", folder))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
            .collect();
        files.sort();
        let mut loaded = Vec::new();
        for file in files {
            let name = format!("{}.{}", self.config.name, name_of(&file));
            let component = read(&file)
                .and_then(|bytes| self.component(&name, bytes.into(), None, warnings))
                .map_err(|error| named(error, &file));
            match component {
                Ok(component) => loaded.push(component),
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
        Ok(loaded)
    }

    fn component(
        &self,
        name: &str,
        bytes: Cow<'static, [u8]>,
        wit: Option<&Path>,
        warnings: &mut Vec<String>,
    ) -> Result<Loaded> {
        let wrong = |message: String| Error::component(name, message);
        let digest = Digest::of(&bytes);
        if let Some(pin) = self.config.digest.filter(|pin| *pin != digest) {
            return Err(wrong(format!("its content is {digest} and the configuration wants {pin}")));
        }
        let mut inspection = inspect(&bytes).map_err(|error| wrong(error.to_string()))?;
        if let Some(wit) = wit {
            let package =
                Package::from_wit_dir(wit, None).map_err(|error| wrong(format!("its WIT: {error}")))?;
            inspection.package = Some(readable(package));
        }
        if let Some(refusal) = classify_imports(&inspection, &self.config.grant).refusal() {
            return Err(wrong(refusal));
        }
        warnings.extend(lints(&inspection).into_iter().map(|lint| format!("{name}: {lint}")));
        let package = inspection.package.clone().unwrap_or_default();
        let setting = format!("component.{}.grant.dirs", self.config.name);
        let component = Arc::new(LoadedComponent {
            name: name.to_owned(),
            digest,
            grant: self.config.grant.clone(),
            instructions: self.config.instructions.clone().or(package.instructions.clone()),
            repair: self.config.repair,
            env: Arc::new(self.config.grant.env.clone()),
            config: Arc::new(self.config.grant.config.clone().into_iter().collect()),
            bytes: Arc::new(bytes),
            fuel: OnceCell::new(),
            epoch: OnceCell::new(),
        });
        let (dirs, read_only) = (&self.config.grant.dirs, self.config.grant.read_only().dirs);
        let full = DirTemplate::open(dirs, &setting)?;
        let read_only =
            if read_only == *dirs { Arc::clone(&full) } else { DirTemplate::open(&read_only, &setting)? };
        let dirs = Dirs { full, read_only };
        let tools = self.tools(&component, &inspection, &package, &dirs, warnings)?;
        for tool in &tools {
            self.fits(&inspection, tool)?;
        }
        Ok((component, tools))
    }

    fn tools(
        &self,
        component: &Arc<LoadedComponent>,
        inspection: &Inspection,
        package: &Package,
        dirs: &Dirs,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Arc<Tool>>> {
        let functions = inspection.functions();
        let mut candidates = Vec::new();
        for export in &functions {
            match typed(inspection, package, export) {
                Ok(candidate) => candidates.push(candidate),
                Err(Unfit::Component(message)) => return Err(Error::component(&component.name, message)),
                Err(Unfit::Function(message)) => {
                    let origin = origin_of(export);
                    warnings.push(format!("{}: `{origin}` is no tool: {message}", component.name));
                }
            }
        }
        if functions.is_empty() && inspection.is_command {
            candidates.push(command(component, package)?);
        }
        if candidates.is_empty() {
            let message = if inspection.is_provider {
                "it provides its tools at run time (`toolcell:tool/tools`), which this version does not serve"
            } else {
                "none of its functions can be a tool"
            };
            return Err(Error::component(&component.name, message));
        }
        self.check_names(&candidates)?;
        candidates
            .into_iter()
            .filter(|candidate| self.is_wanted(candidate))
            .map(|candidate| self.tool(component, candidate, dirs))
            .collect()
    }

    /// A setting that names no tool would be one that nothing enforces.
    fn check_names(&self, candidates: &[Candidate]) -> Result<()> {
        let settings = self.config.tools.iter().flatten().map(|name| ("tools", name));
        let settings = settings
            .chain(self.config.rename.keys().map(|name| ("rename", name)))
            .chain(self.config.tool_settings.keys().map(|name| ("tool", name)));
        for (setting, name) in settings {
            let means = |candidate: &Candidate| match setting {
                "rename" => candidate.is_called(name),
                _ => self.means(candidate, name),
            };
            if !candidates.iter().any(means) {
                let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
                let near = nearest(name, names.iter().copied());
                let hint = near.first().or(names.first()).map(|near| format!("; it has `{near}`"));
                return Err(Error::Config {
                    at: format!("component.{}.{setting}", self.config.name),
                    message: format!("the component has no tool `{name}`{}", hint.unwrap_or_default()),
                });
            }
        }
        Ok(())
    }

    fn is_wanted(&self, candidate: &Candidate) -> bool {
        let wanted = self.config.tools.as_ref();
        wanted.is_none_or(|tools| tools.iter().any(|name| self.means(candidate, name)))
    }

    /// Whether `tools` and `tool` mean this one by `name`: its own, or the one that it is given here.
    fn means(&self, candidate: &Candidate, name: &str) -> bool {
        candidate.is_called(name) || self.given_name(candidate) == name
    }

    /// The name under which models know it.
    fn given_name(&self, candidate: &Candidate) -> String {
        let renamed = self.config.rename.iter().find(|(name, _)| candidate.is_called(name));
        match renamed {
            Some((_, name)) => name.clone(),
            None => format!("{}{}", self.config.prefix, candidate.name),
        }
    }

    fn tool(&self, component: &Arc<LoadedComponent>, candidate: Candidate, dirs: &Dirs) -> Result<Arc<Tool>> {
        let settings = self.settings(&candidate);
        let nothing = Limits::new();
        let of_tool = settings.map_or(&nothing, |settings| &settings.limits);
        let limits = Limits::resolve(self.scopes.into_iter().chain([of_tool, self.over]));
        let name = self.given_name(&candidate);
        let name = tool_name(&name).map_err(|error| Error::Config {
            at: format!("component.{}", self.config.name),
            message: format!("`{name}` cannot be a tool's name: {error}"),
        })?;
        let hints = candidate.doc.hints.clone();
        let is_read_only = hints.read_only == Some(true);
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
            examples: candidate.doc.examples,
            origin: candidate.origin,
            limits: Arc::new(limits),
            dirs: Arc::clone(if is_read_only { &dirs.read_only } else { &dirs.full }),
            component: Arc::clone(component),
            entry: candidate.entry,
        }))
    }

    fn settings(&self, candidate: &Candidate) -> Option<&ToolSettings> {
        self.config
            .tool_settings
            .iter()
            .find(|(name, _)| self.means(candidate, name))
            .map(|(_, settings)| settings)
    }

    /// Limits that the component or the engine cannot honour are errors here, not surprises at the first call.
    fn fits(&self, inspection: &Inspection, tool: &Tool) -> Result<()> {
        let limits = &tool.limits;
        let footprint = &inspection.footprint;
        for (limit, needed) in [
            (Limit::Memory, footprint.memory_bytes),
            (Limit::TableElements, footprint.table_elements),
            (Limit::Instances, footprint.core_instances),
        ] {
            if needed > limits.get(limit) {
                let hit = limits.hit(limit, needed);
                return Err(Error::Limit {
                    setting: hit.setting,
                    message: format!(
                        "component `{}` needs {} from its start, and {} is allowed",
                        tool.component.name, hit.used, hit.allowed
                    ),
                });
            }
        }
        let stack = limits.get(Limit::Stack);
        if stack != self.settings.stack {
            let origin = limits.origin(Limit::Stack);
            return Err(Error::Limit {
                setting: origin.setting.to_string(),
                message: "the stack is one for all tools; set `limits.stack`".to_owned(),
            });
        }
        Ok(())
    }
}

/// A component's directories, opened once for each way of using them.
struct Dirs {
    full: Arc<DirTemplate>,
    read_only: Arc<DirTemplate>,
}

/// Why a function is no tool.
enum Unfit {
    Function(String),
    Component(String),
}

/// A function that can be a tool, with what its author says of it.
struct Candidate {
    name: String,
    origin: String,
    doc: ToolDoc,
    input_schema: Value,
    output_schema: Option<Value>,
    entry: Entry,
}

impl Candidate {
    /// Whether a setting means this one: by its name or by where it is in the component.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.origin == name
    }
}

/// A function with its types and its author's words.
fn typed(inspection: &Inspection, package: &Package, export: &Export<'_>) -> Result<Candidate, Unfit> {
    let doc = package.tools.get(&export.key);
    let signature =
        Signature::from_wit(&inspection.resolve, export.function, doc, &package.types).map_err(|error| {
            let message = error.to_string();
            if error.refuses_component() { Unfit::Component(message) } else { Unfit::Function(message) }
        })?;
    let name = match doc.and_then(|doc| doc.name.clone()) {
        Some(name) => name,
        None => tool_name(&export.function.name).map_err(|error| Unfit::Function(error.to_string()))?,
    };
    Ok(Candidate {
        name,
        origin: origin_of(export),
        doc: doc.cloned().unwrap_or_default(),
        input_schema: signature.input_schema(),
        output_schema: signature.output_schema(),
        entry: Entry::Typed {
            interface: export.interface.clone(),
            function: export.function.name.clone(),
            typed: TypedCall::of(&signature),
            shrink: signature.returns().shrink(),
            signature: Arc::new(signature),
            exports: [OnceLock::new(), OnceLock::new()],
        },
    })
}

/// `interface.function` without package and version, or `function`.
fn origin_of(export: &Export<'_>) -> String {
    match &export.interface {
        None => export.function.name.clone(),
        Some(interface) => {
            let path = interface.split_once('@').map_or(interface.as_str(), |(path, _)| path);
            let interface = path.rsplit_once('/').map_or(path, |(_, interface)| interface);
            format!("{interface}.{}", export.function.name)
        }
    }
}

/// A program: one tool named after its component, any object as arguments.
fn command(component: &LoadedComponent, package: &Package) -> Result<Candidate> {
    let name = component.name.rsplit('.').next().unwrap_or(&component.name).replace('-', "_");
    let mut doc = package.tools.get("run").cloned().unwrap_or_default();
    if doc.description.is_none() {
        doc.description = package.instructions.clone();
    }
    Ok(Candidate {
        name: tool_name(&name).map_err(|error| Error::component(&component.name, error.to_string()))?,
        origin: "wasi:cli/run".to_owned(),
        doc,
        input_schema: json!({ "type": "object", "properties": {} }),
        output_schema: None,
        entry: Entry::Command,
    })
}
