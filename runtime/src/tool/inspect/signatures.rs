//! Bounds on exported functions, so that schemas of them stay small.

use std::collections::BTreeMap;

use toolcell_package::Export;
use wit_parser::{Resolve, Type, TypeDefKind, TypeId};

use super::NotATool;

/// Functions that one component may export: ten times what a model can choose from.
const MAX_FUNCTIONS: usize = 1_000;

/// Types that one function may mention, counted as often as a schema spells them out: types that share parts are
/// small in a component and grow with each level when they are written as a tree.
const MAX_TYPE_NODES: u64 = 20_000;

pub(super) fn within_bounds(resolve: &Resolve, functions: &[Export<'_>]) -> Result<(), NotATool> {
    if functions.len() > MAX_FUNCTIONS {
        return Err(NotATool::too_much("exported functions", functions.len() as u64, MAX_FUNCTIONS as u64));
    }
    let mut sizes = BTreeMap::new();
    for export in functions {
        let types = export.function.parameter_and_result_types();
        let nodes = types.map(|ty| nodes(resolve, ty, &mut sizes)).fold(0, u64::saturating_add);
        if nodes > MAX_TYPE_NODES {
            return Err(NotATool::too_much("types in one function's signature", nodes, MAX_TYPE_NODES));
        }
    }
    Ok(())
}

/// The number of types in the tree of `ty`. Its depth is bounded by the validator.
fn nodes(resolve: &Resolve, ty: Type, sizes: &mut BTreeMap<TypeId, u64>) -> u64 {
    let Type::Id(id) = ty else { return 1 };
    if let Some(size) = sizes.get(&id) {
        return *size;
    }
    let mut sum = 1_u64;
    let mut add = |ty: Type| sum = sum.saturating_add(nodes(resolve, ty, sizes));
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => record.fields.iter().for_each(|field| add(field.ty)),
        TypeDefKind::Tuple(tuple) => tuple.types.iter().for_each(|ty| add(*ty)),
        // A case is a node of a schema also without payload.
        TypeDefKind::Variant(variant) => {
            variant.cases.iter().for_each(|case| add(case.ty.unwrap_or(Type::Bool)))
        }
        TypeDefKind::Enum(cases) => cases.cases.iter().for_each(|_| add(Type::Bool)),
        TypeDefKind::Flags(flags) => flags.flags.iter().for_each(|_| add(Type::Bool)),
        TypeDefKind::Result(result) => result.ok.iter().chain(&result.err).for_each(|ty| add(*ty)),
        TypeDefKind::Option(inner)
        | TypeDefKind::List(inner)
        | TypeDefKind::FixedLengthList(inner, _)
        | TypeDefKind::Type(inner) => add(*inner),
        TypeDefKind::Map(key, value) => [key, value].into_iter().for_each(|ty| add(*ty)),
        TypeDefKind::Future(inner) | TypeDefKind::Stream(inner) => inner.iter().for_each(|ty| add(*ty)),
        TypeDefKind::Resource | TypeDefKind::Handle(_) | TypeDefKind::Unknown => {}
    }
    sizes.insert(id, sum);
    sum
}
