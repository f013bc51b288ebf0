//! A hook that is a component: its code runs in a cell of its own, without grants.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::clock::{Pause, Wanted};
use super::guard::Unready;
use super::{Events, Hook, HookCall, HookResult, HostHandle, Post, Pre, async_trait};
use crate::call::{Content, Ended, Response, Returned};
use crate::error::{Error, Result};
use crate::limits::{EffectiveLimits, HOOK_MEMORY, Limits, NOT_OF_HOOKS};
use crate::output::EventSinks;
use crate::sandbox::{
    CallContext, Cell, DirTemplate, Function, HttpAccess, Invocation, KeepGrant, Meter, Prepared, Sandbox,
    chosen_output, content_block,
};
use crate::schema::Signature;
use crate::tool::{LoadedComponent, LoadedHook, load_hook};

/// A component that exports `toolcell:tool/hook`, and is asked before and after calls.
///
/// Each time it runs in a new cell: without directories, network and environment, with the configuration values that it
/// is given here, under the limits of tools, and no longer than the hook's timeout, in which waiting for a cell and for its
/// native code does not count. It can pass, add metadata, rewrite,
/// deny and ask, and replace, enrich or withhold a result; it has no way to say that a call is allowed.
pub struct ComponentHook {
    component: Arc<LoadedComponent>,
    pre: Arc<Entrance>,
    post: Arc<Entrance>,
    limits: Arc<EffectiveLimits>,
    dirs: Arc<DirTemplate>,
}

/// One of its two functions.
struct Entrance {
    interface: String,
    function: &'static str,
    signature: Arc<Signature>,
}

impl ComponentHook {
    /// The hook in a file, named after it.
    ///
    /// # Errors
    /// When the file cannot be read, or is no component that exports `toolcell:tool/hook` 1.x.
    pub fn file(path: impl AsRef<Path>) -> Result<Self> {
        Self::of(load_hook(path.as_ref())?)
    }

    /// A hook in memory.
    ///
    /// # Errors
    /// When the bytes are no component that exports `toolcell:tool/hook` 1.x.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        Self::of(LoadedHook::new(name.into(), bytes.into())?)
    }

    /// What it reads through `wasi:config/store`.
    #[must_use]
    pub fn config(mut self, values: BTreeMap<String, String>) -> Self {
        self.component = Arc::new(self.component.with_config(values));
        self
    }

    /// What each of its cells may consume, beside its time, where that differs from the default: 64 MiB of memory, and
    /// of all else what tools have.
    ///
    /// # Errors
    /// When it could not even begin under these, or they are ones that all cells share.
    pub fn limits(mut self, limits: Limits) -> Result<Self> {
        for fixed in NOT_OF_HOOKS {
            if let Some((_, _, origin)) = limits.iter().find(|(limit, ..)| *limit == fixed) {
                let message = format!("`{}` of a hook's component cannot be set", fixed.name());
                return Err(Error::Limit { setting: origin.setting.to_string(), message });
            }
        }
        let limits = Limits::resolve([&Limits::new().memory(HOOK_MEMORY), &limits]);
        if let Some(hit) = self.component.footprint.beyond(&limits).into_iter().next() {
            let message = format!(
                "the hook `{}` needs {} from its start, and {} is allowed",
                self.component.owner.name, hit.used, hit.allowed
            );
            return Err(Error::Limit { setting: hit.setting, message });
        }
        self.limits = Arc::new(limits);
        Ok(self)
    }

    fn of(loaded: LoadedHook) -> Result<Self> {
        let LoadedHook { component, interface, pre, post } = loaded;
        let wrong = |function: &str, what: &str| {
            let message = format!("its `{function}` has other {what} than that of `toolcell:tool/hook` 1.x");
            Error::component(component.owner.name.as_str(), message)
        };
        for (function, signature, arguments, answers) in [
            ("pre", &pre, json!(some_request()), &some_decisions()[..]),
            ("post", &post, json!({ "request": some_request(), "answer": some_answer() }), &some_verdicts()),
        ] {
            if !crate::schema::validate(signature, &arguments).is_empty() {
                return Err(wrong(function, "parameters"));
            }
            let returns = signature.returns().structured(Value::Null);
            let schema = signature.output_schema().unwrap_or_default();
            let fits = |answer: &Value| {
                let answer = if returns.get("result").is_some() {
                    json!({ "result": answer })
                } else {
                    answer.clone()
                };
                jsonschema::draft202012::is_valid(&schema, &answer)
            };
            if signature.returns().is_fallible() || !answers.iter().all(fits) {
                return Err(wrong(function, "results"));
            }
        }
        let entrance = |function, signature| {
            Arc::new(Entrance { interface: interface.clone(), function, signature: Arc::new(signature) })
        };
        let (pre, post) = (entrance("pre", pre), entrance("post", post));
        let dirs = DirTemplate::open(&[], "")?;
        Self { component: Arc::new(component), pre, post, limits: Arc::default(), dirs }.limits(Limits::new())
    }

    fn meter(&self) -> Meter {
        if self.limits.fuel().is_some() { Meter::Fuel } else { Meter::Epoch }
    }

    /// Its native code, made in a task of its own: whoever waits next goes on where this one gave up.
    async fn prepared(&self, sandbox: &Arc<Sandbox>) -> HookResult<Arc<Prepared>> {
        let (component, preparing, meter) = (Arc::clone(&self.component), Arc::clone(sandbox), self.meter());
        let ready = sandbox.handle().spawn(async move { component.prepared(&preparing, meter).await });
        Ok(ready.await??)
    }

    async fn asked(&self, call: &HookCall, entrance: &Arc<Entrance>, arguments: Value) -> HookResult<Value> {
        let sandbox = call.host.sandbox();
        let prepared = match self.component.prepared_before(self.meter()) {
            Some(prepared) => prepared,
            None => call.clock.stopped(Pause::Host(Wanted::Code), self.prepared(sandbox)).await?,
        };
        let export = prepared
            .function(Some(&entrance.interface), entrance.function)
            .ok_or("the component does not export its function")?;
        let admitted = call.clock.stopped(Pause::Host(Wanted::Cell), call.host.admit(call.deadline())).await;
        let permit = admitted.map_err(Unready)?;
        let function = Function { export, signature: Arc::clone(&entrance.signature), typed: None };
        let cell = Cell {
            prepared,
            invocation: Invocation::Typed { function, arguments },
            limits: Arc::clone(&self.limits),
            dirs: Arc::clone(&self.dirs),
            env: Arc::default(),
            config: Arc::clone(&self.component.config),
            keeping: KeepGrant { setting: Arc::clone(&self.component.state_setting), ..KeepGrant::default() },
            http: HttpAccess::none(),
            context: Arc::new(context(call)),
            cancel: CancellationToken::new(),
            events: EventSinks::default(),
            deterministic: None,
            tape: None,
        };
        answered(sandbox.run(cell, permit).await)
    }
}

#[async_trait]
impl Hook for ComponentHook {
    fn name(&self) -> &str {
        &self.component.owner.name
    }

    fn events(&self) -> Events {
        Events::PRE.and(Events::POST)
    }

    async fn warm(&self, host: &HostHandle) -> HookResult<()> {
        self.prepared(host.sandbox()).await.map(drop)
    }

    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        let decision = self.asked(call, &self.pre, request(call)).await?;
        decided(&decision).ok_or_else(|| "its decision cannot be read".into())
    }

    async fn post(&self, call: &HookCall, response: &Response) -> HookResult<Post> {
        let arguments = json!({ "request": request(call), "answer": answer(response) });
        let verdict = self.asked(call, &self.post, arguments).await?;
        judged(&verdict).ok_or_else(|| "its verdict cannot be read".into())
    }
}

impl std::fmt::Debug for ComponentHook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("ComponentHook").field(&self.component.owner.name).finish()
    }
}

fn context(call: &HookCall) -> CallContext {
    CallContext {
        call_id: call.id_text(),
        session: call.session().map(str::to_owned),
        meta: call.meta.clone(),
        ..CallContext::default()
    }
}

fn answered(ended: Ended) -> HookResult<Value> {
    match ended.end {
        Ok(Returned::Value(Some(value))) => Ok(value),
        Ok(_) => Err("its component gave no answer".into()),
        Err(error) => Err(format!("its component ended as {}: {}", error.kind, error.message).into()),
    }
}

fn request(call: &HookCall) -> Value {
    let tool = call.tool();
    let digest = tool.digest();
    let id = call.id_text();
    let is = |claim: Option<bool>| if claim == Some(true) { "true" } else { "false" };
    let facts = [
        ("component", Some(tool.component())),
        ("digest", Some(digest.as_str())),
        ("origin", Some(tool.origin())),
        ("read-only", Some(is(tool.hints().read_only))),
        ("destructive", Some(is(tool.hints().destructive))),
        ("call-id", Some(id.as_str()).filter(|id| !id.is_empty())),
        ("session", call.session()),
        ("user", call.user()),
        ("group", tool.group()),
    ];
    let facts: Vec<Value> = facts.into_iter().filter_map(|(key, value)| Some(entry(key, value?))).collect();
    let metadata: Vec<Value> = call.meta.iter().map(|(key, value)| entry(key, value)).collect();
    json!({
        "tool": tool.name(), "arguments": call.arguments().to_string(), "facts": facts, "metadata": metadata,
    })
}

fn entry(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": value })
}

fn answer(response: &Response) -> Value {
    let mut answer =
        json!({ "content": response.content.iter().map(block).collect::<Vec<_>>(), "facts": [] });
    if let Some(object) = answer.as_object_mut() {
        object.extend(
            response.structured.iter().map(|data| ("structured".to_owned(), data.to_string().into())),
        );
        if let Some(error) = &response.error {
            let kind = entry("error-kind", &error.kind.to_string());
            object.insert("facts".to_owned(), json!([kind, entry("error-message", &error.message)]));
        }
    }
    answer
}

/// A block as `toolcell:tool/types.content` has it.
fn block(content: &Content) -> Value {
    let of = |tag: &str, value: Value| json!({ "tag": tag, "val": value });
    let media = |data: &str, mime_type: &str| json!({ "data": data, "mime_type": mime_type });
    let with = |mut value: Value, key: &str, optional: &Option<String>| {
        if let (Value::Object(object), Some(text)) = (&mut value, optional) {
            object.insert(key.to_owned(), text.as_str().into());
        }
        value
    };
    match content {
        Content::Text { text } => of("text", text.as_str().into()),
        Content::Json { json } => of("json", json.to_string().into()),
        Content::Image { data, mime_type } => of("image", media(data, mime_type)),
        Content::Audio { data, mime_type } => of("audio", media(data, mime_type)),
        Content::Blob { data, mime_type, uri } => of("blob", with(media(data, mime_type), "uri", uri)),
        Content::Link { uri, name, mime_type } => {
            let link = with(json!({ "uri": uri }), "name", name);
            of("link", with(link, "mime_type", mime_type))
        }
    }
}

fn decided(decision: &Value) -> Option<Pre> {
    let value = decision.get("val")?;
    match decision.get("tag")?.as_str()? {
        "pass" => with_metadata(Pre::pass(), value),
        "rewrite" => {
            let arguments: Map<String, Value> =
                serde_json::from_str(value.get("arguments")?.as_str()?).ok()?;
            with_metadata(Pre::pass().rewrite(Value::Object(arguments)), value.get("metadata")?)
        }
        "deny" => Some(Pre::deny(value.as_str()?)),
        "ask" => Some(Pre::ask(value.as_str()?)),
        _ => None,
    }
}

fn with_metadata(mut decision: Pre, entries: &Value) -> Option<Pre> {
    for entry in entries.as_array()? {
        decision = decision.meta(entry.get("key")?.as_str()?, entry.get("value")?.as_str()?);
    }
    Some(decision)
}

fn judged(verdict: &Value) -> Option<Post> {
    let value = verdict.get("val");
    match verdict.get("tag")?.as_str()? {
        "accept" => Some(Post::Accept),
        "replace" => match chosen_output(value?).ok()? {
            Returned::Output { content, structured } => {
                Some(Post::replace(Response { content, structured, ..Response::default() }))
            }
            _ => None,
        },
        "enrich" => Some(Post::Enrich(value?.as_array()?.iter().filter_map(content_block).collect())),
        "withhold" => Some(Post::Withhold(value?.as_str()?.to_owned())),
        _ => None,
    }
}

// One value of each shape that crosses, which the functions of a hook must take or may give.

fn some_request() -> Value {
    let entries = json!([{ "key": "k", "value": "v" }]);
    json!({ "tool": "t", "arguments": "{}", "facts": entries, "metadata": entries })
}

fn some_answer() -> Value {
    let content = [
        Content::Text { text: String::new() },
        Content::Json { json: Value::Null },
        Content::Image { data: String::new(), mime_type: String::new() },
        Content::Audio { data: String::new(), mime_type: String::new() },
        Content::Blob { data: String::new(), mime_type: String::new(), uri: Some(String::new()) },
        Content::Link { uri: String::new(), name: Some(String::new()), mime_type: Some(String::new()) },
    ];
    let content: Vec<Value> = content.iter().map(block).collect();
    json!({ "content": content, "structured": "{}", "facts": [{ "key": "k", "value": "v" }] })
}

fn some_decisions() -> [Value; 4] {
    let entries = json!([{ "key": "k", "value": "v" }]);
    [
        json!({ "tag": "pass", "val": entries }),
        json!({ "tag": "rewrite", "val": { "arguments": "{}", "metadata": entries } }),
        json!({ "tag": "deny", "val": "" }),
        json!({ "tag": "ask", "val": "" }),
    ]
}

fn some_verdicts() -> [Value; 4] {
    let content = json!([{ "tag": "text", "val": "" }]);
    [
        json!({ "tag": "accept" }),
        json!({ "tag": "replace", "val": { "content": content, "structured": "{}" } }),
        json!({ "tag": "enrich", "val": content }),
        json!({ "tag": "withhold", "val": "" }),
    ]
}
