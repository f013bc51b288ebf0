//! Arguments with a secret in them, for whom that is none of their business.

use serde_json::Value;

use crate::hook::HookCall;
use crate::schema::without_secrets;
use crate::tool::Tool;

/// The arguments of a call while hooks see others in their place, without its tool's secrets.
pub(super) struct Hidden {
    real: Value,
    shown: Value,
}

/// A call's arguments as somebody may read them: without what the tool's author marked secret, and without the secrets that
/// its component has.
pub(super) fn readable(tool: &Tool, arguments: &Value) -> Value {
    let mut readable = match tool.signature() {
        Some(signature) => without_secrets(signature, arguments),
        None => arguments.clone(),
    };
    if let Some(redactor) = tool.redactor() {
        redactor.value(&mut readable);
    }
    readable
}

/// Hides the tool's secrets in the call's arguments, if there are any.
pub(super) fn hide(call: &mut HookCall) -> Option<Hidden> {
    let redactor = call.tool.redactor()?;
    let mut shown = call.arguments.clone();
    redactor.value(&mut shown);
    if shown == call.arguments {
        return None;
    }
    let real = std::mem::replace(&mut call.arguments, shown.clone());
    Some(Hidden { real, shown })
}

/// Gives the call its arguments back. What a hook has rewritten stays as it was rewritten.
pub(super) fn reveal(call: &mut HookCall, hidden: Option<Hidden>) {
    if let Some(Hidden { real, shown }) = hidden
        && call.arguments == shown
    {
        call.arguments = real;
    }
}
