//! What a model would be told nothing about.

use std::fmt;

use wit_parser::{Function, Resolve, Type, TypeDefKind, TypeId, WorldId};

use crate::{Package, exports, type_key};

/// A function or a parameter without description.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undescribed {
    /// The function's key.
    pub function: String,
    /// The parameter, or the field of the one record that is the parameter; `None` for the function itself.
    pub parameter: Option<String>,
}

impl fmt::Display for Undescribed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parameter {
            None => write!(formatter, "`{}` has no description", self.function),
            Some(parameter) => {
                write!(formatter, "parameter `{parameter}` of `{}` has no description", self.function)
            }
        }
    }
}

impl Package {
    /// The exported functions and parameters of `world` that the package does not describe.
    pub fn undescribed(&self, resolve: &Resolve, world: WorldId) -> Vec<Undescribed> {
        let mut found = Vec::new();
        for export in exports(resolve, world) {
            let described = self.tools.get(&export.key).is_some_and(|tool| tool.description.is_some());
            let missing = self.undescribed_parameters(resolve, world, &export.key, export.function);
            let function = (!described).then_some(None);
            found.extend(
                function
                    .into_iter()
                    .chain(missing.into_iter().map(Some))
                    .map(|parameter| Undescribed { function: export.key.clone(), parameter }),
            );
        }
        found
    }

    fn undescribed_parameters(
        &self,
        resolve: &Resolve,
        world: WorldId,
        key: &str,
        function: &Function,
    ) -> Vec<String> {
        let documented = |name: &str| {
            let doc = self.tools.get(key).and_then(|tool| tool.params.get(name));
            doc.is_some_and(|doc| doc.description.is_some())
        };
        // A model sees the fields of the one record, not the parameter.
        if let [parameter] = function.params.as_slice()
            && let Some((id, fields)) = record(resolve, parameter.ty)
        {
            let doc = type_key(resolve, world, id).and_then(|key| self.types.get(&key));
            let field = |name: &str| doc.and_then(|doc| doc.members.get(name)?.description.as_ref());
            return fields.into_iter().filter(|name| field(name).is_none()).collect();
        }
        let parameters = function.params.iter().filter(|parameter| {
            !documented(&parameter.name) && !self.has_described_type(resolve, world, parameter.ty)
        });
        parameters.map(|parameter| parameter.name.clone()).collect()
    }

    fn has_described_type(&self, resolve: &Resolve, world: WorldId, ty: Type) -> bool {
        let Type::Id(id) = ty else { return false };
        let doc = type_key(resolve, world, id).and_then(|key| self.types.get(&key));
        if doc.is_some_and(|doc| doc.description.is_some()) {
            return true;
        }
        match resolve.types[id].kind {
            TypeDefKind::Type(inner) | TypeDefKind::Option(inner) => {
                self.has_described_type(resolve, world, inner)
            }
            _ => false,
        }
    }
}

/// The record behind `ty`, with the names of its fields.
fn record(resolve: &Resolve, ty: Type) -> Option<(TypeId, Vec<String>)> {
    let Type::Id(id) = ty else { return None };
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => {
            Some((id, record.fields.iter().map(|field| field.name.clone()).collect()))
        }
        TypeDefKind::Type(inner) => record(resolve, *inner),
        _ => None,
    }
}
