//! What the section holds, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that the section holds. Readers ignore members that they do not know: the format evolves by addition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Package {
    /// Rules of usage for the system prompt, from the world's documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What the component asks its operator for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// The functions: `function` for one that the world exports, `namespace:package/interface@version#function`
    /// for one of an exported interface, as the component itself spells them.
    pub tools: BTreeMap<String, ToolDoc>,
    /// The named types: `type` for one of the world, `namespace:package/interface@version#type` otherwise.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, TypeDoc>,
}

/// One thing that a component asks its operator for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// `dirs`, `http`, `env`, `config`, `secrets` or `state`.
    pub capability: String,
    /// What of it: `read`, `read-write`, an origin, a name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What for, in the author's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What is known of one function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolDoc {
    /// The tool's name where it differs from the function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A short title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the function claims of itself.
    pub hints: Hints,
    /// The parameters by WIT name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, MemberDoc>,
    /// Example arguments, each a JSON object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
}

/// What a function claims of itself; absent means no claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Hints {
    /// Changes nothing: the host narrows its grants to reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// May destroy what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second equal call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Several calls may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency_safe: Option<bool>,
    /// Reaches things outside the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// What is known of a named type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TypeDoc {
    /// What a value of it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Fields, cases or flags by WIT name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<String, MemberDoc>,
}

/// What is known of a parameter, field, case or flag.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MemberDoc {
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The smallest number allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<serde_json::Number>,
    /// The largest number allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<serde_json::Number>,
    /// The regular expression that a string must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The value that an absent argument stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Never echoed in messages, logs or questions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}
