//! From WIT with its comments to a package.

use std::collections::BTreeSet;
use std::path::Path;

use wit_parser::{Resolve, Type, TypeDefKind, TypeId, WorldId};

use crate::tags::{self, Kind};
use crate::{MemberDoc, Package, PackageError, ToolDoc, TypeDoc, exports, type_key};

/// Parses a folder of WIT with its `deps`, or one file, and finds the world in it.
///
/// # Errors
/// The WIT is wrong or cannot be read, or `world` is not in it, or is not given where there are several.
pub fn parse_wit(dir: &Path, world: Option<&str>) -> Result<(Resolve, WorldId), PackageError> {
    let mut resolve = Resolve::default();
    let (package, _) =
        resolve.push_path(dir).map_err(|error| PackageError::Wit(resolve.render_error(&error)))?;
    let chosen = resolve.select_world(&[package], world).map_err(|error| {
        let there: Vec<&str> = resolve.packages[package].worlds.keys().map(String::as_str).collect();
        PackageError::Wit(match there.as_slice() {
            [] => "it has no world".to_owned(),
            [_] if world.is_none() => resolve.render_error(&error),
            there => which_world(world, there),
        })
    })?;
    Ok((resolve, chosen))
}

fn which_world(asked: Option<&str>, there: &[&str]) -> String {
    let names = there.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match asked {
        None => format!("it has several worlds: {names}; name one with `--world`"),
        Some(asked) => format!("it has no world `{asked}`, but {names}"),
    }
}

impl Package {
    /// Reads the comments of the folder of WIT that a component was built from. `world` may be left out where
    /// there is one.
    ///
    /// # Errors
    /// The WIT cannot be parsed, or a comment is wrong.
    pub fn from_wit_dir(dir: &Path, world: Option<&str>) -> Result<Self, PackageError> {
        let (resolve, world) = parse_wit(dir, world)?;
        Self::from_wit(&resolve, world)
    }

    /// Reads the comments of a world, of the functions that it exports, and of the types that these mention.
    ///
    /// # Errors
    /// A tag is unknown, stands in the wrong place or has a wrong value; the error names the function or type.
    pub fn from_wit(resolve: &Resolve, world: WorldId) -> Result<Self, PackageError> {
        let mut package = Self::default();
        let definition = &resolve.worlds[world];
        if let Some(text) = &definition.docs.contents {
            (package.instructions, package.needs) =
                tags::world(text).map_err(doc_error("world", &definition.name))?;
        }
        let mut types = BTreeSet::new();
        for export in exports(resolve, world) {
            let params: Vec<(&str, Kind)> = export
                .function
                .params
                .iter()
                .map(|param| (param.name.as_str(), kind(resolve, param.ty)))
                .collect();
            let text = export.function.docs.contents.as_deref().unwrap_or_default();
            let tool = tags::function(text, &params).map_err(doc_error("function", &export.key))?;
            if tool != ToolDoc::default() {
                package.tools.insert(export.key, tool);
            }
            for ty in export.function.parameter_and_result_types() {
                collect_types(resolve, ty, &mut types);
            }
        }
        for id in types {
            let Some(key) = type_key(resolve, world, id) else { continue };
            let doc = type_doc(resolve, id).map_err(doc_error("type", &key))?;
            if doc != TypeDoc::default() {
                package.types.insert(key, doc);
            }
        }
        Ok(package)
    }
}

fn doc_error(what: &'static str, name: &str) -> impl FnOnce(String) -> PackageError {
    move |message| PackageError::Doc { subject: format!("{what} `{name}`"), message }
}

/// Every type that `ty` mentions.
fn collect_types(resolve: &Resolve, ty: Type, found: &mut BTreeSet<TypeId>) {
    let Type::Id(id) = ty else { return };
    if !found.insert(id) {
        return;
    }
    let mut visit = |ty: &Type| collect_types(resolve, *ty, found);
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => record.fields.iter().for_each(|field| visit(&field.ty)),
        TypeDefKind::Tuple(tuple) => tuple.types.iter().for_each(visit),
        TypeDefKind::Variant(variant) => {
            variant.cases.iter().filter_map(|case| case.ty.as_ref()).for_each(visit)
        }
        TypeDefKind::Result(result) => result.ok.iter().chain(&result.err).for_each(visit),
        TypeDefKind::Option(inner)
        | TypeDefKind::List(inner)
        | TypeDefKind::FixedLengthList(inner, _)
        | TypeDefKind::Type(inner) => visit(inner),
        TypeDefKind::Map(key, value) => [key, value].into_iter().for_each(visit),
        TypeDefKind::Future(inner) | TypeDefKind::Stream(inner) => inner.iter().for_each(visit),
        TypeDefKind::Enum(_)
        | TypeDefKind::Flags(_)
        | TypeDefKind::Resource
        | TypeDefKind::Handle(_)
        | TypeDefKind::Unknown => {}
    }
}

fn type_doc(resolve: &Resolve, id: TypeId) -> Result<TypeDoc, String> {
    let definition = &resolve.types[id];
    let mut doc = TypeDoc { description: tags::type_text(text(&definition.docs))?, ..TypeDoc::default() };
    let mut member = |name: &str, docs: &wit_parser::Docs, kind: Kind| -> Result<(), String> {
        let member = tags::member(text(docs), kind).map_err(|message| format!("`{name}`: {message}"))?;
        if member != MemberDoc::default() {
            doc.members.insert(name.to_owned(), member);
        }
        Ok(())
    };
    match &definition.kind {
        TypeDefKind::Record(record) => {
            record
                .fields
                .iter()
                .try_for_each(|field| member(&field.name, &field.docs, kind(resolve, field.ty)))?;
        }
        TypeDefKind::Variant(variant) => variant.cases.iter().try_for_each(|case| {
            member(&case.name, &case.docs, case.ty.map_or(Kind::Nothing, |ty| kind(resolve, ty)))
        })?,
        TypeDefKind::Enum(cases) => {
            cases.cases.iter().try_for_each(|case| member(&case.name, &case.docs, Kind::Nothing))?;
        }
        TypeDefKind::Flags(flags) => {
            flags.flags.iter().try_for_each(|flag| member(&flag.name, &flag.docs, Kind::Nothing))?;
        }
        _ => {}
    }
    Ok(doc)
}

fn text(docs: &wit_parser::Docs) -> &str {
    docs.contents.as_deref().unwrap_or_default()
}

/// What constraints can be about in a value of `ty`; an option's are its value's.
fn kind(resolve: &Resolve, ty: Type) -> Kind {
    match ty {
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::S8
        | Type::S16
        | Type::S32
        | Type::S64
        | Type::F32
        | Type::F64 => Kind::Number,
        Type::String => Kind::Text,
        Type::Bool | Type::Char | Type::ErrorContext => Kind::Other,
        Type::Id(id) => match resolve.types[id].kind {
            TypeDefKind::Type(inner) | TypeDefKind::Option(inner) => kind(resolve, inner),
            _ => Kind::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const WIT: &str = r#"
        package acme:weather@1.2.0;
        interface types {
            /// Where.
            record place {
                /// The city's name. @pattern ^[A-Z]
                city: string,
                /// Degrees north. @minimum -90 @maximum 90
                latitude: option<f64>,
                country: string,
            }
            /// How warm is said.
            enum unit {
                /// Water boils at 100.
                celsius,
                kelvin,
            }
        }
        interface forecasts {
            use types.{place, unit};
            variant day {
                today,
                /// So many days ahead. @maximum 10
                ahead(u8),
            }
            resource cursor { next: func() -> u8; }
            /// The weather to come.
            /// @read-only
            /// @param unit Celsius unless set.
            forecast: func(place: list<place>, unit: option<unit>, when: day) -> string;
            undocumented: func(place: place);
        }
        /// Ask for one place at a time.
        /// @needs http https://api.acme.org the forecasts
        world tool {
            record options {
                /// How many. @default 3
                count: u32,
            }
            import log: func(text: string);
            export forecasts;
            export inner: interface { use types.{unit}; /// Inner.
                ping: func(unit: unit); }
            /// Forgets everything.
            /// @destructive
            export clear: func(options: options);
        }
    "#;

    fn world(text: &str) -> (Resolve, WorldId) {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("test.wit", text).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        (resolve, world)
    }

    #[test]
    fn one_of_several_worlds_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let parse = |text: &str, world: Option<&str>| {
            std::fs::write(folder.path().join("w.wit"), text).unwrap();
            parse_wit(folder.path(), world)
                .map(|(resolve, world)| resolve.worlds[world].name.clone())
                .map_err(|error| error.to_string())
        };
        let two = "package a:b; world first {} world second {}";
        assert_eq!(parse(two, Some("second")).as_deref(), Ok("second"));
        for (text, world, told) in [
            (two, None, "several worlds: `first`, `second`; name one with `--world`"),
            (two, Some("third"), "no world `third`, but `first`, `second`"),
            ("package a:b; world first {}", Some("third"), "no world `third`, but `first`"),
            ("package a:b; interface i {}", None, "it has no world"),
        ] {
            let error = parse(text, world).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn comments_become_a_package() {
        let (resolve, world) = world(WIT);
        let package = Package::from_wit(&resolve, world).unwrap();
        insta::assert_json_snapshot!(package);
    }

    #[test]
    fn what_is_undescribed_is_listed() {
        let (resolve, world) = world(WIT);
        let lines = |package: Package| -> Vec<String> {
            package.undescribed(&resolve, world).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            lines(Package::from_wit(&resolve, world).unwrap()),
            [
                "parameter `place` of `acme:weather/forecasts@1.2.0#forecast` has no description",
                "parameter `when` of `acme:weather/forecasts@1.2.0#forecast` has no description",
                "`acme:weather/forecasts@1.2.0#undocumented` has no description",
                "parameter `country` of `acme:weather/forecasts@1.2.0#undocumented` has no description",
            ]
        );
        assert_eq!(lines(Package::default()).len(), 12);
    }

    #[test]
    fn a_wrong_comment_names_its_function_or_type() {
        for (member, expected) in [
            ("/// @param x y\nexport f: func();", "function `f`: `@param x` names no parameter"),
            (
                "record r {\n/// @minimum 1\na: string }\nexport f: func(r: r);",
                "type `r`: `a`: `@minimum` needs a number",
            ),
            ("enum e {\n/// @secret\na }\nexport f: func(e: e);", "type `e`: `a`: `@secret` needs a value"),
            (
                "/// @title T\nenum e { a }\nexport f: func(e: e);",
                "type `e`: `@title` cannot stand at a type",
            ),
            ("export i: interface {\n/// @nam x\nf: func(); }", "function `i#f`: unknown tag `@nam`"),
        ] {
            let (resolve, world) = world(&format!("package a:b; world w {{ {member} }}"));
            let message = Package::from_wit(&resolve, world).unwrap_err().to_string();
            assert!(message.contains(expected), "{member}: {message}");
        }
    }

    #[test]
    fn entry_points_are_no_tools() {
        let (resolve, world) = world(
            "package wasi:cli@0.2.0; interface run { run: func() -> result; } world command { export run; }",
        );
        assert!(exports(&resolve, world).is_empty());
    }

    #[test]
    fn what_a_tool_chain_enters_by_is_no_tool() {
        for (parameters, tools) in [
            ("app-name: string, symbols: list<string>, stub-wasi: bool", vec!["f"]),
            ("name: string", vec!["f", "exports#init"]),
        ] {
            let (resolve, world) = world(&format!(
                "package a:b; world w {{ export exports: interface {{ init: func({parameters}); }} export f: func(); }}"
            ));
            let keys: Vec<String> = exports(&resolve, world).into_iter().map(|export| export.key).collect();
            assert_eq!(keys, tools);
        }
    }
}
