//! One pass over a component's sections: validity, imports and exports, and what an instance begins with.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef,
    Instance, MemoryType, Parser, Payload, TableType, TypeBounds, Validator, WasmFeatures,
};

use super::NotATool;
use super::nesting::{self, MAX_DEPTH};
use crate::call::LimitHit;
use crate::limits::{EffectiveLimits, Limit};

/// Imports that one component may have. WASI has fewer than 40 interfaces.
const MAX_IMPORTS: usize = 256;

/// Exports that one component may have, interfaces and functions of the world.
const MAX_EXPORTS: usize = 1_000;

/// Elements that one table may begin with, as in the validator and in browsers.
const MAX_TABLE_ELEMENTS: u64 = 10_000_000;

/// What the components of tools may be made of: WebAssembly 2, what compilers emit by now beyond it, and components.
/// No garbage collection, exceptions, threads, 64-bit memories or component-async: tools do not need them, and
/// most of the sandbox escapes of past years were in them. No relaxed SIMD: its results differ between machines.
const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::COMPONENT_MODEL);

/// One import of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// The name as the component spells it, `wasi:cli/environment@0.2.3`.
    pub name: String,
    /// What is imported by it.
    pub kind: ImportKind,
}

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportKind {
    /// An interface.
    Interface,
    /// A function of the world itself.
    Function,
    /// A resource of the world itself.
    Resource,
    /// A core module, a component or a value.
    Other,
}

/// What instantiating a component takes before any of its code runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Core instances, those of nested components included.
    pub core_instances: u64,
    /// Initial bytes of all memories.
    pub memory_bytes: u64,
    /// Linear memories.
    pub memories: u64,
    /// Initial elements of all tables.
    pub table_elements: u64,
    /// Tables.
    pub tables: u64,
}

impl Footprint {
    fn add(&mut self, other: Self) {
        let sum = |mine: &mut u64, other: u64| *mine = mine.saturating_add(other);
        sum(&mut self.core_instances, other.core_instances);
        sum(&mut self.memory_bytes, other.memory_bytes);
        sum(&mut self.memories, other.memories);
        sum(&mut self.table_elements, other.table_elements);
        sum(&mut self.tables, other.tables);
    }

    /// The limits under which a component that begins with this cannot be called.
    pub fn beyond(&self, limits: &EffectiveLimits) -> Vec<LimitHit> {
        let needs = [
            (Limit::Memory, self.memory_bytes),
            (Limit::TableElements, self.table_elements),
            (Limit::Instances, self.core_instances),
        ];
        let beyond = needs.into_iter().filter(|(limit, needed)| *needed > limits.get(*limit));
        beyond.map(|(limit, needed)| limits.hit(limit, needed)).collect()
    }

    fn memory(memory: &MemoryType) -> Self {
        let memory_bytes = memory.initial.saturating_mul(64 << 10);
        Self { memories: 1, memory_bytes, ..Self::default() }
    }

    fn table(table: &TableType) -> Self {
        Self { tables: 1, table_elements: table.initial, ..Self::default() }
    }
}

/// What the pass finds.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) imports: Vec<Import>,
    /// Names of everything exported.
    pub(super) exports: Vec<String>,
    pub(super) footprint: Footprint,
}

/// Reads all sections of a component; function bodies are left to the compiler.
pub(super) fn structure(bytes: &[u8]) -> Result<Structure, NotATool> {
    let in_words = |error: wasmparser::Error| NotATool::from_wasm(&error, bytes.len());
    let mut validator = Validator::new_with_features(FEATURES);
    let mut pass = Pass::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(in_words)?;
        pass.guard(&payload, bytes)?;
        validator.payload(&payload).map_err(in_words)?;
        pass.read(&payload).map_err(in_words)?;
        pass.count()?;
    }
    Ok(Structure { imports: pass.imports, exports: pass.exports, footprint: pass.footprint })
}

/// Validates everything, function bodies included, as a compiler would before it begins.
pub(super) fn code(bytes: &[u8]) -> Result<(), NotATool> {
    let checked = Validator::new_with_features(FEATURES).validate_all(bytes);
    checked.map(drop).map_err(|error| NotATool::from_wasm(&error, bytes.len()))
}

/// A component or module whose end is not yet reached. The index spaces hold what one instance of each item
/// takes; what is imported is not defined here and takes nothing of ours.
#[derive(Debug, Default)]
struct Frame {
    is_module: bool,
    modules: Vec<Footprint>,
    components: Vec<Footprint>,
    own: Footprint,
}

#[derive(Debug, Default)]
struct Pass {
    frames: Vec<Frame>,
    /// Whether the next header belongs to a core module.
    enters_module: bool,
    imports: Vec<Import>,
    exports: Vec<String>,
    footprint: Footprint,
}

impl Pass {
    /// Refuses what would cost the validator too much, before the validator sees it.
    fn guard(&self, payload: &Payload<'_>, bytes: &[u8]) -> Result<(), NotATool> {
        match payload {
            Payload::ComponentTypeSection(section) => {
                let range = section.range();
                let body = bytes.get(range.clone()).unwrap_or_default();
                match nesting::is_shallow(body, range.start) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(NotATool::TooDeep { what: "types", limit: MAX_DEPTH }),
                    Err(error) => Err(NotATool::from_wasm(&error, bytes.len())),
                }
            }
            Payload::ComponentSection { .. } if self.frames.len() >= MAX_DEPTH => {
                Err(NotATool::TooDeep { what: "components", limit: MAX_DEPTH })
            }
            Payload::TableSection(section) => {
                let elements =
                    section.clone().into_iter().map_while(Result::ok).map(|table| table.ty.initial).max();
                match elements {
                    Some(found) if found > MAX_TABLE_ELEMENTS => {
                        Err(NotATool::too_much("elements in one table", found, MAX_TABLE_ELEMENTS))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn count(&self) -> Result<(), NotATool> {
        for (what, found, limit) in
            [("imports", self.imports.len(), MAX_IMPORTS), ("exports", self.exports.len(), MAX_EXPORTS)]
        {
            if found > limit {
                return Err(NotATool::too_much(what, found as u64, limit as u64));
            }
        }
        Ok(())
    }

    fn read(&mut self, payload: &Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::ModuleSection { .. } => self.enters_module = true,
            Payload::ComponentSection { .. } => self.enters_module = false,
            Payload::Version { .. } => {
                let is_module = std::mem::take(&mut self.enters_module);
                self.frames.push(Frame { is_module, ..Frame::default() });
            }
            Payload::End(_) => self.leave(),
            _ => self.read_section(payload)?,
        }
        Ok(())
    }

    /// Adds the module or component that ended to the index space around it.
    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        match self.frames.last_mut() {
            None => self.footprint = frame.own,
            Some(outer) if frame.is_module => {
                outer.modules.push(Footprint { core_instances: 1, ..frame.own });
            }
            Some(outer) => outer.components.push(frame.own),
        }
    }

    fn read_section(&mut self, payload: &Payload<'_>) -> wasmparser::Result<()> {
        let is_outermost = self.frames.len() == 1;
        match payload {
            Payload::MemorySection(section) => {
                for memory in section.clone() {
                    self.own(Footprint::memory(&memory?));
                }
            }
            Payload::TableSection(section) => {
                for table in section.clone() {
                    self.own(Footprint::table(&table?.ty));
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    if let Instance::Instantiate { module_index, .. } = instance? {
                        self.own(self.item(ComponentOuterAliasKind::CoreModule, 0, module_index));
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    if let ComponentInstance::Instantiate { component_index, .. } = instance? {
                        self.own(self.item(ComponentOuterAliasKind::Component, 0, component_index));
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias?);
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import?;
                    self.define(import.ty.kind(), Footprint::default());
                    if is_outermost && let Some(kind) = import_kind(&import.ty) {
                        self.imports.push(Import { name: import.name.name.to_owned(), kind });
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    // An export is a new item in the index space of its kind.
                    if let Some(kind) = outer_kind(export.kind) {
                        self.define(export.kind, self.item(kind, 0, export.index));
                    }
                    if is_outermost {
                        self.exports.push(export.name.name.to_owned());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn own(&mut self, footprint: Footprint) {
        if let Some(frame) = self.frames.last_mut() {
            frame.own.add(footprint);
        }
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match alias {
            ComponentAlias::InstanceExport { kind, .. } => self.define(*kind, Footprint::default()),
            ComponentAlias::Outer { kind, count, index } => {
                let item = self.item(*kind, *count, *index);
                match kind {
                    ComponentOuterAliasKind::CoreModule => self.define(ComponentExternalKind::Module, item),
                    ComponentOuterAliasKind::Component => self.define(ComponentExternalKind::Component, item),
                    ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => {}
                }
            }
            ComponentAlias::CoreInstanceExport { .. } => {}
        }
    }

    /// Adds an item to the index space of its kind.
    fn define(&mut self, kind: ComponentExternalKind, footprint: Footprint) {
        let Some(frame) = self.frames.last_mut() else { return };
        match kind {
            ComponentExternalKind::Module => frame.modules.push(footprint),
            ComponentExternalKind::Component => frame.components.push(footprint),
            _ => {}
        }
    }

    /// What one instance of a module or component takes; `outwards` counts the components to go out.
    fn item(&self, kind: ComponentOuterAliasKind, outwards: u32, index: u32) -> Footprint {
        let frame =
            usize::try_from(outwards).ok().and_then(|outwards| self.frames.iter().rev().nth(outwards));
        let space = frame.and_then(|frame| match kind {
            ComponentOuterAliasKind::CoreModule => Some(&frame.modules),
            ComponentOuterAliasKind::Component => Some(&frame.components),
            ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => None,
        });
        let item = space.zip(usize::try_from(index).ok()).and_then(|(space, index)| space.get(index));
        item.copied().unwrap_or_default()
    }
}

fn outer_kind(kind: ComponentExternalKind) -> Option<ComponentOuterAliasKind> {
    match kind {
        ComponentExternalKind::Module => Some(ComponentOuterAliasKind::CoreModule),
        ComponentExternalKind::Component => Some(ComponentOuterAliasKind::Component),
        _ => None,
    }
}

/// The kind of an import that a host must serve; definitions of types are only named.
fn import_kind(ty: &ComponentTypeRef) -> Option<ImportKind> {
    match ty {
        ComponentTypeRef::Instance(_) => Some(ImportKind::Interface),
        ComponentTypeRef::Func(_) => Some(ImportKind::Function),
        ComponentTypeRef::Type(TypeBounds::SubResource) => Some(ImportKind::Resource),
        ComponentTypeRef::Type(TypeBounds::Eq(_)) => None,
        ComponentTypeRef::Module(_) | ComponentTypeRef::Component(_) | ComponentTypeRef::Value(_) => {
            Some(ImportKind::Other)
        }
    }
}
