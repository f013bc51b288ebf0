//! From WIT types and package documentation to shapes, bounded against types made to explode.

use std::collections::BTreeMap;

use serde_json::Value;
use toolcell_package::{MemberDoc, ToolDoc, TypeDoc};
use wit_parser::{
    Function, FunctionKind, InterfaceId, Resolve, Type, TypeDef, TypeDefKind, TypeId, TypeOwner, WorldItem,
    WorldKey,
};

use super::canonical::{RepairMode, canonical_member};
use super::constraint::{Constraints, constraint, refuse_default};
use super::names::{BadName, MAX_NAME_BYTES, Words, excerpt, tool_name};
use super::shape::{
    Case, ChoiceShape, FloatKind, FloatShape, IntKind, IntShape, Member, RecordShape, ResultShape, Shape,
    StringShape,
};
use super::signature::{ResultKind, Returns, Signature};
use super::unsupported::{Built, MAX_DEPTH, MAX_DOC_BYTES, MAX_NODES, Unsupported};
use super::validate::member_fits;

/// Builds one signature within one budget.
pub(super) struct Builder<'a> {
    resolve: &'a Resolve,
    types: &'a BTreeMap<String, TypeDoc>,
    nodes: usize,
    doc_bytes: usize,
    constraints: Constraints,
}

/// What aliases lead to, and the documentation met on the way, outermost first.
struct Resolved<'a> {
    target: Target<'a>,
    docs: Vec<&'a TypeDoc>,
}

enum Target<'a> {
    Primitive(Type),
    Definition(&'a TypeDef),
}

impl<'a> Resolved<'a> {
    fn description(&self) -> Option<&'a str> {
        self.docs.iter().find_map(|docs| docs.description.as_deref())
    }

    fn member(&self, name: &str) -> Option<&'a MemberDoc> {
        self.docs.iter().find_map(|docs| docs.members.get(name))
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(resolve: &'a Resolve, types: &'a BTreeMap<String, TypeDoc>) -> Self {
        Self { resolve, types, nodes: 0, doc_bytes: 0, constraints: Constraints::default() }
    }

    pub(super) fn signature(mut self, function: &Function, docs: Option<&ToolDoc>) -> Built<Signature> {
        check_kind(self.resolve, &function.kind)?;
        let mut members = Vec::with_capacity(function.params.len());
        for param in &function.params {
            let docs = docs.and_then(|docs| docs.params.get(&param.name));
            members.push(self.member(&param.name, &param.ty, docs, 0)?);
        }
        let returns = self.returns(function.result.as_ref())?;
        if let [Member { shape: Shape::Record(_), default: None, .. }] = members.as_slice()
            && let Some(Member { shape: Shape::Record(record), secret, docs, .. }) = members.pop()
        {
            let mut arguments = *record;
            arguments.docs = docs.or(arguments.docs);
            if secret {
                arguments.members = all_secret(&arguments)?;
            }
            return Ok(Signature { arguments, flattened: true, returns });
        }
        let arguments = RecordShape::new(None, members).map_err(collision)?;
        Ok(Signature { arguments, flattened: false, returns })
    }

    fn returns(&mut self, result: Option<&Type>) -> Built<Returns> {
        let Some(ty) = result else {
            return Ok(Returns { ok: None, err: None, fallible: false, kind: ResultKind::Plain });
        };
        let (ok, err, fallible) = match self.resolve_type(ty)?.target {
            Target::Definition(TypeDef { kind: TypeDefKind::Result(result), .. }) => {
                (result.ok.as_ref(), result.err.as_ref(), true)
            }
            _ => (Some(ty), None, false),
        };
        let is_output = match ok {
            Some(ty) => {
                matches!(self.resolve_type(ty)?.target, Target::Definition(def) if self.is_output(def))
            }
            None => false,
        };
        Ok(Returns {
            ok: self.payload(ok, 0)?,
            err: self.payload(err, 0)?,
            fallible,
            kind: if is_output { ResultKind::Output } else { ResultKind::Plain },
        })
    }

    /// Whether this is the record by which a tool says more than its data.
    fn is_output(&self, def: &TypeDef) -> bool {
        let TypeOwner::Interface(interface) = def.owner else { return false };
        let interface = &self.resolve.interfaces[interface];
        let Some(package) = interface.package else { return false };
        let package = &self.resolve.packages[package].name;
        def.name.as_deref() == Some("output")
            && interface.name.as_deref() == Some("types")
            && (package.namespace.as_str(), package.name.as_str()) == ("toolcell", "tool")
    }

    fn payload(&mut self, ty: Option<&Type>, depth: usize) -> Built<Option<Shape>> {
        ty.map(|ty| Ok(self.shape(ty, depth)?.0)).transpose()
    }

    /// The shape of a type, and what its name is documented to mean.
    fn shape(&mut self, ty: &Type, depth: usize) -> Built<(Shape, Option<&'a str>)> {
        if depth >= MAX_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        self.spend_node()?;
        let resolved = self.resolve_type(ty)?;
        let description = resolved.description();
        let shape = match resolved.target {
            Target::Primitive(primitive) => primitive_shape(primitive)?,
            Target::Definition(def) => self.definition(def, &resolved, depth + 1)?,
        };
        Ok((shape, description))
    }

    fn definition(&mut self, def: &'a TypeDef, resolved: &Resolved<'a>, depth: usize) -> Built<Shape> {
        let docs = resolved.description();
        Ok(match &def.kind {
            TypeDefKind::Record(record) => {
                let mut members = Vec::with_capacity(record.fields.len().min(MAX_NODES));
                for field in &record.fields {
                    members.push(self.member(&field.name, &field.ty, resolved.member(&field.name), depth)?);
                }
                Shape::Record(Box::new(RecordShape::new(self.text(docs)?, members).map_err(collision)?))
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().map(|case| (case.name.as_str(), case.ty.as_ref()));
                Shape::Variant(self.choice(cases, resolved, depth)?)
            }
            TypeDefKind::Enum(words) => {
                let cases = words.cases.iter().map(|case| (case.name.as_str(), None));
                Shape::Enum(self.choice(cases, resolved, depth)?)
            }
            TypeDefKind::Flags(flags) => {
                let cases = flags.flags.iter().map(|flag| (flag.name.as_str(), None));
                Shape::Flags(self.choice(cases, resolved, depth)?)
            }
            TypeDefKind::Tuple(tuple) => {
                let mut shapes = Vec::with_capacity(tuple.types.len().min(MAX_NODES));
                for ty in &tuple.types {
                    shapes.push(self.shape(ty, depth)?.0);
                }
                Shape::Tuple(shapes.into())
            }
            TypeDefKind::List(item) => match self.shape(item, depth)?.0 {
                Shape::Int(IntShape { kind: IntKind::U8, .. }) => Shape::Bytes,
                item => Shape::List(Box::new(item)),
            },
            TypeDefKind::Option(inner) => Shape::Option(Box::new(self.shape(inner, depth)?.0)),
            TypeDefKind::Result(result) => Shape::Result(Box::new(ResultShape {
                ok: self.payload(result.ok.as_ref(), depth)?,
                err: self.payload(result.err.as_ref(), depth)?,
            })),
            TypeDefKind::Resource => return Err(Unsupported::Resource(type_name(def))),
            TypeDefKind::Handle(handle) => {
                let (wit_parser::Handle::Own(id) | wit_parser::Handle::Borrow(id)) = handle;
                return Err(Unsupported::Resource(type_name(&self.resolve.types[*id])));
            }
            TypeDefKind::Future(_) => return Err(Unsupported::Async("future")),
            TypeDefKind::Stream(_) => return Err(Unsupported::Async("stream")),
            other => return Err(Unsupported::Type(other.as_str())),
        })
    }

    fn choice<'t>(
        &mut self,
        cases: impl Iterator<Item = (&'t str, Option<&'t Type>)>,
        resolved: &Resolved<'a>,
        depth: usize,
    ) -> Built<Box<ChoiceShape>> {
        let mut built = Vec::new();
        for (name, payload) in cases {
            self.spend_node()?;
            let docs = resolved.member(name);
            let mut payload = self.payload(payload, depth)?;
            if let Some(docs) = docs {
                self.constraints.apply(name, docs, payload.as_mut())?;
                refuse_default(name, docs)?;
            }
            built.push(Case {
                wit: name.into(),
                json: property_name(name)?,
                docs: self.text(docs.and_then(|docs| docs.description.as_deref()))?,
                payload,
                secret: docs.is_some_and(|docs| docs.secret),
            });
        }
        let docs = self.text(resolved.description())?;
        Ok(Box::new(ChoiceShape { docs, cases: Words::new(built).map_err(collision)? }))
    }

    fn member(&mut self, name: &str, ty: &Type, docs: Option<&MemberDoc>, depth: usize) -> Built<Member> {
        let (mut shape, type_docs) = self.shape(ty, depth)?;
        if let Some(docs) = docs {
            self.constraints.apply(name, docs, Some(&mut shape))?;
        }
        let described = docs.and_then(|docs| docs.description.as_deref()).or(type_docs);
        let mut member = Member {
            wit: name.into(),
            json: property_name(name)?,
            docs: self.text(described)?,
            shape,
            default: None,
            secret: docs.is_some_and(|docs| docs.secret),
        };
        if let Some(default) = docs.and_then(|docs| docs.default.as_ref()) {
            member.default = Some(self.default(&member, default)?);
        }
        Ok(member)
    }

    /// The default in canonical form; one that the member itself would refuse is refused here.
    fn default(&mut self, member: &Member, default: &Value) -> Built<Value> {
        self.spend_text(&default.to_string())?;
        let value = canonical_member(member, default.clone(), RepairMode::Off);
        if member_fits(member, &value) {
            return Ok(value);
        }
        Err(constraint(&member.wit, "`@default` is not a value of its type"))
    }

    /// Follows aliases, which cost a node each: a long chain that many fields share is work too.
    fn resolve_type(&mut self, ty: &Type) -> Built<Resolved<'a>> {
        let mut docs = Vec::new();
        let mut ty = *ty;
        loop {
            let Type::Id(id) = ty else { return Ok(Resolved { target: Target::Primitive(ty), docs }) };
            let def = &self.resolve.types[id];
            docs.extend(self.type_docs(def));
            let TypeDefKind::Type(aliased) = def.kind else {
                return Ok(Resolved { target: Target::Definition(def), docs });
            };
            self.spend_node()?;
            ty = aliased;
        }
    }

    fn type_docs(&self, def: &TypeDef) -> Option<&'a TypeDoc> {
        let name = def.name.as_deref().filter(|_| !self.types.is_empty())?;
        match def.owner {
            TypeOwner::World(_) => self.types.get(name),
            TypeOwner::Interface(id) => self.types.get(&format!("{}#{name}", self.interface_name(id)?)),
            TypeOwner::None => None,
        }
    }

    /// The interface as the component spells it; an interface written inside a world goes by its export's name.
    fn interface_name(&self, id: InterfaceId) -> Option<String> {
        let interface = &self.resolve.interfaces[id];
        if let (Some(package), Some(name)) = (interface.package, interface.name.as_deref()) {
            return Some(self.resolve.id_of_name(package, name));
        }
        let items =
            self.resolve.worlds.iter().flat_map(|(_, world)| world.exports.iter().chain(&world.imports));
        items.into_iter().find_map(|(key, item)| match (key, item) {
            (WorldKey::Name(name), WorldItem::Interface { id: other, .. }) if *other == id => {
                Some(name.clone())
            }
            _ => None,
        })
    }

    fn text(&mut self, text: Option<&str>) -> Built<Option<Box<str>>> {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        text.map(|text| self.spend_text(text).map(|()| text.into())).transpose()
    }

    fn spend_node(&mut self) -> Built<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES { Err(Unsupported::TooLarge) } else { Ok(()) }
    }

    fn spend_text(&mut self, text: &str) -> Built<()> {
        self.doc_bytes = self.doc_bytes.saturating_add(text.len());
        if self.doc_bytes > MAX_DOC_BYTES { Err(Unsupported::TooLarge) } else { Ok(()) }
    }
}

fn check_kind(resolve: &Resolve, kind: &FunctionKind) -> Built<()> {
    let resource = |id: &TypeId| Err(Unsupported::Resource(type_name(&resolve.types[*id])));
    match kind {
        FunctionKind::Freestanding => Ok(()),
        FunctionKind::Method(id) | FunctionKind::Static(id) | FunctionKind::Constructor(id) => resource(id),
        _ => Err(Unsupported::Async("async func")),
    }
}

fn primitive_shape(primitive: Type) -> Built<Shape> {
    let int = |kind| Shape::Int(IntShape::new(kind));
    Ok(match primitive {
        Type::Bool => Shape::Bool,
        Type::S8 => int(IntKind::S8),
        Type::U8 => int(IntKind::U8),
        Type::S16 => int(IntKind::S16),
        Type::U16 => int(IntKind::U16),
        Type::S32 => int(IntKind::S32),
        Type::U32 => int(IntKind::U32),
        Type::S64 => int(IntKind::S64),
        Type::U64 => int(IntKind::U64),
        Type::F32 => Shape::Float(FloatShape::new(FloatKind::F32)),
        Type::F64 => Shape::Float(FloatShape::new(FloatKind::F64)),
        Type::Char => Shape::Char,
        Type::String => Shape::String(StringShape::default()),
        Type::ErrorContext => return Err(Unsupported::Async("error-context")),
        Type::Id(_) => return Err(Unsupported::Type("unknown")),
    })
}

/// The members of a record that is secret as a whole.
fn all_secret(record: &RecordShape) -> Built<Words<Member>> {
    let secret = record.members().iter().map(|member| Member { secret: true, ..member.clone() });
    Words::new(secret.collect()).map_err(collision)
}

fn property_name(wit: &str) -> Built<Box<str>> {
    tool_name(wit).map(Into::into).map_err(|error| Unsupported::Name {
        name: excerpt(wit, MAX_NAME_BYTES).into_owned(),
        reason: match error {
            BadName::TooLong { .. } => format!("is longer than {MAX_NAME_BYTES} bytes"),
            BadName::Spelling { .. } => "is not made of letters, digits and `-`".to_owned(),
        },
    })
}

fn type_name(def: &TypeDef) -> String {
    excerpt(def.name.as_deref().unwrap_or("unnamed"), MAX_NAME_BYTES).into_owned()
}

fn collision(name: String) -> Unsupported {
    Unsupported::Name { name, reason: "stands for two members of one type; rename one of them".to_owned() }
}
