//! Interfaces that are known and not granted. A component that imports one loads, and a call that uses one ends with
//! the reason: a tool that never touches the network runs even if its libraries could.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, ResourceType};
use wasmtime::{Engine, Result};

use crate::call::Denial;
use crate::sandbox::state::{CapabilityRefused, CellState};

/// The capability that an interface belongs to, by the beginning of its name, and why no setting grants it.
const REFUSED: &[(&str, &str, &str)] = &[
    #[cfg(not(feature = "http"))]
    ("wasi:http/", "http", "none: this build has no HTTP"),
    // Whoever has one speaks to an address, and no check sees what is said there. HTTP has a grant of its own.
    ("wasi:sockets/", "sockets", "none: sockets are never granted"),
];

/// Defines every import of `component` that is known but not granted as a refusal.
pub(in crate::sandbox) fn add_refused(
    linker: &mut Linker<CellState>,
    engine: &Engine,
    component: &Component,
) -> Result<()> {
    // Interfaces mention the resources of others, which come before them; only a resource's own interface defines it.
    let mut known: Vec<ResourceType> = Vec::new();
    for (interface, item) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        let mentioned = known.len();
        known.extend(instance.exports(engine).filter_map(|(_, item)| match item.ty {
            ComponentItem::Resource(resource) => Some(resource),
            _ => None,
        }));
        let Some(&(_, capability, setting)) =
            REFUSED.iter().find(|(prefix, ..)| interface.starts_with(prefix))
        else {
            continue;
        };
        let mut defined = linker.instance(interface)?;
        for (function, item) in instance.exports(engine) {
            match item.ty {
                ComponentItem::Resource(resource)
                    if !known.iter().take(mentioned).any(|other| *other == resource) =>
                {
                    defined.resource(function, ResourceType::host::<Refused>(), |_, _| Ok(()))?;
                }
                ComponentItem::ComponentFunc(_) => {
                    let refusal = CapabilityRefused {
                        capability,
                        interface: interface.to_owned(),
                        function: function.to_owned(),
                    };
                    defined.func_new(function, move |mut store, _, _, _| {
                        let target = refusal.interface.clone();
                        store.data_mut().denials.add(Denial::new(
                            refusal.capability,
                            refusal.function.clone(),
                            target,
                            setting,
                        ));
                        Err(refusal.clone().into())
                    })?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The type of resources that can never be made.
enum Refused {}
