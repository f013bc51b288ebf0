//! The types as JSON Schema, 2020-12: only keywords that every validator and provider knows.

use serde_json::{Map, Number, Value, json};

use super::names::Named;
use super::shape::{
    Case, ChoiceShape, FloatShape, IntShape, MAX_SAFE_INTEGER, Member, NON_FINITE, RecordShape, ResultShape,
    Shape, number,
};
use super::signature::{ResultKind, Signature};

/// Standard base64, padded, with zero in the unused bits: exactly what the decoder takes.
const BASE64_PATTERN: &str =
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

impl Signature {
    /// The schema of the arguments: a closed object.
    pub fn input_schema(&self) -> Value {
        Direction::Input.record(&self.arguments)
    }

    /// The schema of [`Returns::structured`](super::Returns::structured): always an object; `None` for a tool
    /// that chooses its own content.
    pub fn output_schema(&self) -> Option<Value> {
        if self.returns.kind == ResultKind::Output {
            return None;
        }
        Some(match &self.returns.ok {
            None => closed_object(Map::new(), Vec::new()),
            Some(shape) if shape.is_object() => Direction::Output.shape(shape),
            Some(shape) => {
                let mut properties = Map::new();
                properties.insert("result".to_owned(), Direction::Output.shape(shape));
                closed_object(properties, vec!["result".to_owned()])
            }
        })
    }
}

/// Arguments are held to the author's constraints; results are the guest's own, are not checked against them,
/// and may hold what no JSON number says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

impl Direction {
    fn shape(self, shape: &Shape) -> Value {
        match shape {
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Int(int) => self.int(int),
            Shape::Float(float) => self.float(float),
            Shape::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            Shape::String(string) => match &string.pattern {
                Some(pattern) if self == Self::Input => {
                    json!({"type": "string", "pattern": pattern.source()})
                }
                _ => json!({"type": "string"}),
            },
            Shape::Bytes => json!({"type": "string", "contentEncoding": "base64", "pattern": BASE64_PATTERN}),
            Shape::List(item) => json!({"type": "array", "items": self.shape(item)}),
            Shape::Tuple(shapes) => json!({
                "type": "array",
                "prefixItems": shapes.iter().map(|shape| self.shape(shape)).collect::<Vec<_>>(),
                "minItems": shapes.len(),
                "maxItems": shapes.len(),
            }),
            Shape::Record(record) => self.record(record),
            Shape::Variant(variant) => self.variant(variant),
            Shape::Enum(choice) => described(word_schema(choice), choice_docs(choice)),
            Shape::Flags(flags) => described(
                json!({"type": "array", "items": word_schema(flags), "uniqueItems": true}),
                choice_docs(flags),
            ),
            Shape::Option(inner) => {
                let some = match &**inner {
                    Shape::Option(_) => one_property("some", self.shape(inner)),
                    inner => self.shape(inner),
                };
                json!({"anyOf": [some, {"type": "null"}]})
            }
            Shape::Result(result) => self.result(result),
        }
    }

    fn int(self, int: &IntShape) -> Value {
        let bounded =
            |min: i128, max: i128| json!({"type": "integer", "minimum": number(min), "maximum": number(max)});
        if self == Self::Input {
            return bounded(int.min, int.max);
        }
        let (min, max) = int.kind.bounds();
        if !int.kind.is_wide() {
            return bounded(min, max);
        }
        let decimal = json!({"type": "string", "pattern": "^-?[1-9][0-9]{15,19}$"});
        json!({"anyOf": [bounded(min.max(-MAX_SAFE_INTEGER), max.min(MAX_SAFE_INTEGER)), decimal]})
    }

    fn float(self, float: &FloatShape) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "number".into());
        if self == Self::Output {
            return json!({"anyOf": [schema, {"type": "string", "enum": NON_FINITE}]});
        }
        for (keyword, bound) in [("minimum", float.lowest()), ("maximum", float.highest())] {
            if let Some(bound) = bound.and_then(Number::from_f64) {
                schema.insert(keyword.to_owned(), Value::Number(bound));
            }
        }
        Value::Object(schema)
    }

    fn record(self, record: &RecordShape) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for member in record.members() {
            properties.insert(member.json.to_string(), self.member(member));
            if self.requires(member) {
                required.push(member.json.to_string());
            }
        }
        described(closed_object(properties, required), record.docs.as_deref().map(str::to_owned))
    }

    /// A default makes an argument optional; a result always has the field.
    fn requires(self, member: &Member) -> bool {
        match self {
            Self::Input => member.is_required(),
            Self::Output => !matches!(member.shape, Shape::Option(_)),
        }
    }

    fn member(self, member: &Member) -> Value {
        let own = member.docs.as_deref().map(|docs| match &member.shape {
            // The words of an enumeration keep their meanings beside the member's own description.
            Shape::Enum(choice) | Shape::Flags(choice) => with_case_docs(Some(docs), choice),
            _ => docs.to_owned(),
        });
        let mut schema = described(self.shape(&member.shape), own);
        if let (Some(default), Value::Object(schema)) = (&member.default, &mut schema)
            && self == Self::Input
            && !member.secret
        {
            schema.insert("default".to_owned(), default.clone());
        }
        schema
    }

    fn variant(self, variant: &ChoiceShape) -> Value {
        let alternatives: Vec<Value> = variant.cases.items().iter().map(|case| self.case(case)).collect();
        described(json!({"anyOf": alternatives}), variant.docs.as_deref().map(str::to_owned))
    }

    fn case(self, case: &Case) -> Value {
        let mut properties = Map::new();
        properties.insert("tag".to_owned(), json!({"type": "string", "enum": [case.json]}));
        let mut required = vec!["tag".to_owned()];
        if let Some(payload) = &case.payload {
            properties.insert("val".to_owned(), self.shape(payload));
        }
        if case.requires_val() {
            required.push("val".to_owned());
        }
        described(closed_object(properties, required), case.docs.as_deref().map(str::to_owned))
    }

    fn result(self, result: &ResultShape) -> Value {
        let side = |name, shape: &Option<Shape>| {
            one_property(
                name,
                shape.as_ref().map_or_else(|| json!({"type": "null"}), |shape| self.shape(shape)),
            )
        };
        json!({"anyOf": [side("ok", &result.ok), side("err", &result.err)]})
    }
}

fn closed_object(properties: Map<String, Value>, required: Vec<String>) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    Value::Object(schema)
}

fn one_property(name: &str, schema: Value) -> Value {
    let mut properties = Map::new();
    properties.insert(name.to_owned(), schema);
    closed_object(properties, vec![name.to_owned()])
}

fn word_schema(choice: &ChoiceShape) -> Value {
    json!({"type": "string", "enum": choice.cases.names().collect::<Vec<_>>()})
}

fn choice_docs(choice: &ChoiceShape) -> Option<String> {
    Some(with_case_docs(choice.docs.as_deref(), choice)).filter(|docs| !docs.is_empty())
}

/// JSON Schema has no place for the meaning of a single word, so that the description lists them.
fn with_case_docs(docs: Option<&str>, choice: &ChoiceShape) -> String {
    let cases = choice.cases.items().iter().filter_map(|case| {
        let docs = case.docs.as_deref()?;
        Some(format!("- `{}`: {docs}", case.json()))
    });
    docs.map(str::to_owned).into_iter().chain(cases).collect::<Vec<_>>().join("\n")
}

/// The schema with this description, before the other keywords.
fn described(schema: Value, docs: Option<String>) -> Value {
    match (docs, schema) {
        (Some(docs), Value::Object(mut keywords)) => {
            let mut described = Map::new();
            described.extend(keywords.shift_remove_entry("type"));
            described.insert("description".to_owned(), docs.into());
            keywords.shift_remove("description");
            described.extend(keywords);
            Value::Object(described)
        }
        (_, schema) => schema,
    }
}
