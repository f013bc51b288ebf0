//! What a world exports, and the keys by which a package speaks of it.

use wit_parser::{
    Function, FunctionKind, Interface, InterfaceId, Resolve, TypeId, TypeOwner, WorldId, WorldItem, WorldKey,
};

/// Interfaces through which the host enters a component: their functions are no tools.
const ENTRIES: [&str; 3] = ["wasi:cli/run", "toolcell:tool/tools", "toolcell:tool/hook"];

/// A function that a world exports, itself or by an interface.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Export<'a> {
    /// The key of the function in [`Package::tools`](crate::Package::tools).
    pub key: String,
    /// The exported interface, `namespace:package/name@version` or a plain name; `None` for the world's own.
    pub interface: Option<String>,
    /// The function.
    pub function: &'a Function,
}

/// The functions that a world exports, in order, without methods of resources and without the entry points that
/// commands, providers and hooks have, and tool chains.
pub fn exports(resolve: &Resolve, world: WorldId) -> Vec<Export<'_>> {
    let mut found = Vec::new();
    for (key, item) in &resolve.worlds[world].exports {
        match item {
            WorldItem::Function(function) => {
                found.push(Export { key: function.name.clone(), interface: None, function });
            }
            WorldItem::Interface { id, .. } => {
                let interface = resolve.name_world_key(key);
                if is_entry(&interface) || is_initializer(&interface, &resolve.interfaces[*id]) {
                    continue;
                }
                found.extend(resolve.interfaces[*id].functions.values().map(|function| Export {
                    key: format!("{interface}#{}", function.name),
                    interface: Some(interface.clone()),
                    function,
                }));
            }
            WorldItem::Type { .. } => {}
        }
    }
    found.retain(|export| {
        matches!(export.function.kind, FunctionKind::Freestanding | FunctionKind::AsyncFreestanding)
    });
    found
}

/// The functions of an entry point: those of the exported interface whose name begins with `interface`.
pub fn entry_exports<'a>(resolve: &'a Resolve, world: WorldId, interface: &str) -> Vec<Export<'a>> {
    let mut found = Vec::new();
    for (key, item) in &resolve.worlds[world].exports {
        let WorldItem::Interface { id, .. } = item else { continue };
        let name = resolve.name_world_key(key);
        if name.starts_with(interface) {
            found.extend(resolve.interfaces[*id].functions.values().map(|function| Export {
                key: format!("{name}#{}", function.name),
                interface: Some(name.clone()),
                function,
            }));
        }
    }
    found
}

/// The key of a named type in [`Package::types`](crate::Package::types); `None` for one without name.
pub fn type_key(resolve: &Resolve, world: WorldId, id: TypeId) -> Option<String> {
    let definition = &resolve.types[id];
    let name = definition.name.as_ref()?;
    match definition.owner {
        TypeOwner::World(_) => Some(name.clone()),
        TypeOwner::Interface(interface) => {
            Some(format!("{}#{name}", interface_name(resolve, world, interface)?))
        }
        TypeOwner::None => None,
    }
}

/// The interface's name; one that is written inline in the world has the world's name for it.
fn interface_name(resolve: &Resolve, world: WorldId, id: InterfaceId) -> Option<String> {
    let inline = || {
        let world = &resolve.worlds[world];
        world.exports.iter().chain(&world.imports).find_map(|(key, item)| match (key, item) {
            (WorldKey::Name(name), WorldItem::Interface { id: other, .. }) if *other == id => {
                Some(name.clone())
            }
            _ => None,
        })
    };
    resolve.id_of(id).or_else(inline)
}

fn is_entry(interface: &str) -> bool {
    let name = interface.split_once('@').map_or(interface, |(name, _)| name);
    ENTRIES.contains(&name)
}

/// Whether the interface is the one by which componentize-py runs a component while it builds it, and leaves there.
fn is_initializer(name: &str, interface: &Interface) -> bool {
    let mut functions = interface.functions.values();
    let (Some(function), None) = (functions.next(), functions.next()) else { return false };
    let parameters = ["app-name", "symbols", "stub-wasi"];
    name == "exports"
        && function.name == "init"
        && function.params.iter().map(|parameter| parameter.name.as_str()).eq(parameters)
}
