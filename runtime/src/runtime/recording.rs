//! Recording a call, and making a recorded one again: by the same path as every other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::runs::Runs;
use super::{Call, Runtime, RuntimeBuilder};
use crate::call::{Arguments, Outcome, ToolCall};
use crate::config::{ComponentConfig, Source};
use crate::error::{Error, Result};
use crate::limits::{EffectiveLimits, Limit, Limits, Origin};
use crate::policy::{Digest, Grant, Secret, SecretSource};
use crate::recording::{
    Called, Component, Difference, LimitSet, Player, Recorder, Recording, SecretFrom, State, Tape,
};
use crate::registry::Placed;
use crate::schema::without_secrets;
use crate::tool::{Body, LoadedComponent, ToolComponent};

/// A call that was made again from its recording.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// How it ended now.
    pub outcome: Outcome,
    /// The first thing in which it differs from the recording; none if it is the same.
    pub difference: Option<Difference>,
}

impl Call {
    /// Records everything that the call gets from outside. What cannot be recorded is said by the recorder; the call
    /// itself is made as it would be without.
    pub fn record(mut self, recorder: &Recorder) -> Self {
        self.tape = Some(Tape::Record(recorder.clone()));
        self
    }

    fn replay(mut self, player: Player) -> Self {
        self.tape = Some(Tape::Replay(player));
        self
    }

    /// The recorder of the call, if it is recorded.
    pub(super) fn recorder(&self) -> Option<&Recorder> {
        match &self.tape {
            Some(Tape::Record(recorder)) => Some(recorder),
            _ => None,
        }
    }
}

impl Runtime {
    /// Why calls of a tool cannot be recorded, in words; nothing if they can, or if there is no such tool.
    pub fn cannot_record(&self, tool: &str) -> Option<String> {
        unrecordable(self.shared.registry.now().get(tool)?)
    }
}

/// Why calls of the tool cannot be recorded.
pub(super) fn unrecordable(placed: &Placed) -> Option<String> {
    let name = placed.tool.name();
    if !matches!(placed.tool.body, Body::Component { .. }) {
        return Some(format!(
            "the tool `{name}` is not a component's: what it gets from outside passes by no boundary of ours"
        ));
    }
    if !placed.hooks.is_empty() {
        return Some(format!(
            "the tool `{name}` has hooks, and what they do is in no recording; record without them, with --component"
        ));
    }
    None
}

impl Runs<'_> {
    /// Begins the recording of a component's call.
    pub(super) fn begin_recording(
        &self,
        recorder: &Recorder,
        component: &LoadedComponent,
        arguments: &Value,
    ) {
        let given = recorder.given().unwrap_or_else(|| Arguments::Value(arguments.clone()));
        let secrets = &self.tool.owner.grant.secrets;
        let secrets: Option<BTreeMap<String, SecretFrom>> =
            secrets.iter().map(|(name, secret)| Some((name.clone(), secret_from(secret)?))).collect();
        let Some(secrets) = secrets else {
            return recorder.fail("a secret was set by the program, which cannot be asked for it again");
        };
        if let Some(signature) = self.tool.signature()
            && without_secrets(signature, arguments) != *arguments
        {
            return recorder.fail("an argument is declared to be a secret, which a recording must not hold");
        }
        let bytes = match component.whole() {
            Ok(bytes) => bytes,
            Err(error) => {
                return recorder.fail(&format!("the component cannot be kept with its WIT: {error}"));
            }
        };
        let output = self.whole.terms.output;
        let called = Called {
            tool: self.tool.name.clone(),
            id: self.call.call.id.clone(),
            arguments: (&given).into(),
            meta: self.meta.to_vec(),
            session: self.call.session.state.name().map(str::to_owned),
            component: Component {
                name: component.owner.name.clone(),
                digest: Digest::of(&bytes).to_string(),
                origin: self.tool.origin.clone(),
                flag: component.flag.as_deref().map(str::to_owned),
                repair: self.tool.owner.repair,
            },
            env: self.tool.owner.grant.env.clone(),
            config: component.config.as_ref().clone(),
            secrets,
            limits: limits_set(&self.tool.limits),
            output: (output.max_bytes, output.max_lines),
            state: State {
                scope: self.tool.owner.grant.state,
                read_only: self.tool.is_read_only(),
                setting: component.state_setting.to_string(),
            },
        };
        recorder.begin(called, &bytes, self.tool.redactor());
    }
}

fn secret_from(secret: &Secret) -> Option<SecretFrom> {
    let readable = secret.readable;
    match &secret.source {
        SecretSource::Env(name) => Some(SecretFrom::Env { name: name.clone(), readable }),
        SecretSource::File(path) => Some(SecretFrom::File { path: path.to_str()?.to_owned(), readable }),
        SecretSource::Value(_) => None,
    }
}

fn limits_set(limits: &EffectiveLimits) -> BTreeMap<String, LimitSet> {
    let set = |limit: Limit| {
        let origin = limits.origin(limit);
        let (setting, at) = (origin.setting.to_string(), origin.at.as_deref().map(str::to_owned));
        (limit.name().to_owned(), LimitSet { value: limits.get(limit), setting, at })
    };
    Limit::ALL.map(set).into_iter().collect()
}

impl RuntimeBuilder {
    /// Makes a recorded call again, answered by the recording: no file, state or network is touched, but for secrets that are
    /// permitted by [`Recording::permit_secret`]. Of what was set on this builder only where and how components are compiled
    /// counts.
    ///
    /// # Errors
    /// When the recording cannot be replayed, wants what is not permitted, or its component cannot be loaded; a difference is
    /// none.
    pub async fn replay(self, recording: Recording) -> Result<Replay> {
        let called = recording.called.clone();
        let wrong = |message: String| Error::Component { subject: "the recording".to_owned(), message };
        if let Some(why) = recording.unreplayable() {
            return Err(wrong(format!("it cannot be replayed: {why}")));
        }
        recording.check_permits()?;
        let digest = &called.component.digest;
        let Some(bytes) = recording.contents.get(digest).map(|bytes| bytes.to_vec()) else {
            return Err(wrong("its component is not in it".to_owned()));
        };
        let component = component(&called, bytes);
        let (output, limits) = (called.output, limits(&called)?);
        let builder = self.emptied().limits(limits).component(component).output(output.0, output.1);
        let runtime = builder.build().await?;
        let recording = Arc::new(recording);
        let player = Player::new(Arc::clone(&recording));
        let tool = called.tool.clone();
        let mut call = ToolCall::new(called.tool, Arguments::from(called.arguments));
        call.id = called.id;
        call.meta = called.meta;
        let session = runtime.session(called.session.unwrap_or_default());
        let outcome = session.call(call).replay(player.clone()).await;
        let difference = player.difference().or_else(|| end_differs(recording.outcome(), &outcome));
        // What the tool asks now is nothing that a redactor saw yet, and a recording may come from anybody.
        let tools = runtime.shared.registry.now();
        let redactor = tools.get(&tool).and_then(|placed| placed.tool.redactor());
        let difference = match redactor {
            Some(redactor) => difference.map(|difference| difference.redacted(redactor)),
            None => difference,
        };
        Ok(Replay { outcome, difference })
    }
}

/// The component as it was loaded for the recorded call, without anything that leads outside.
fn component(called: &Called, bytes: Vec<u8>) -> ToolComponent {
    let Component { name, origin, flag, repair, .. } = &called.component;
    let mut config = ComponentConfig::new(name.clone(), Source::File(name.into()));
    config.repair = *repair;
    config.tools = Some(vec![origin.clone()]);
    config.rename.insert(origin.clone(), called.tool.clone());
    let mut grant = Grant::none().state(called.state.scope);
    grant.env = called.env.clone();
    grant.config = called.config.clone();
    for (name, from) in &called.secrets {
        let (secret, readable) = match from {
            SecretFrom::Env { name, readable } => (Secret::env(name), *readable),
            SecretFrom::File { path, readable } => (Secret::file(path), *readable),
        };
        grant = grant.secret(name, if readable { secret.readable() } else { secret });
    }
    config.grant = grant;
    let component = ToolComponent { bytes: Some(bytes.into()), ..ToolComponent::from(config) };
    match flag {
        Some(flag) => component.named_by_flag(flag.clone()),
        None => component,
    }
}

/// The limits of the call, for the whole runtime: some are one for all tools.
fn limits(called: &Called) -> Result<Limits> {
    let mut limits = Limits::new();
    for (name, LimitSet { value, setting, at }) in &called.limits {
        let Some(limit) = Limit::from_name(name) else {
            let message = format!("it has a limit `{name}` that this version does not know");
            return Err(Error::Component { subject: "the recording".to_owned(), message });
        };
        let origin = Origin { setting: setting.as_str().into(), at: at.as_deref().map(Into::into) };
        limits = limits.with_origin(limit, *value, origin);
    }
    Ok(limits)
}

/// The parts of an outcome that a replay must give again, in the order in which they are told.
const COMPARED: [&str; 8] =
    ["/status", "/error", "/structured", "/content", "/logs", "/denials", "/repaired", "/usage/fuel"];

/// The first part of the outcome that is another one.
fn end_differs(recorded: &Value, outcome: &Outcome) -> Option<Difference> {
    let now = with_plain_handle(serde_json::to_value(outcome).unwrap_or_default());
    let recorded = with_plain_handle(recorded.clone());
    let of = |outcome: &Value, part: &str| outcome.pointer(part).cloned().unwrap_or_default();
    COMPARED.into_iter().find_map(|part| {
        let (expected, got) = (of(&recorded, part), of(&now, part));
        let name = part.rsplit('/').next().unwrap_or(part);
        (expected != got)
            .then(|| Difference::end(&format!("the {name}"), &expected.to_string(), &got.to_string()))
    })
}

/// The outcome with the handle of its full output, which is another one each time, in one spelling.
fn with_plain_handle(outcome: Value) -> Value {
    let Some(handle) = outcome.pointer("/truncated/handle").and_then(Value::as_str) else { return outcome };
    serde_json::from_str(&outcome.to_string().replace(handle, "o-handle")).unwrap_or_else(|_| json!(null))
}
