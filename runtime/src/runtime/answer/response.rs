//! A run's end as hooks see it, whole, and back from what they made of it.

use serde_json::Value;

use super::{Answering, text_of};
use crate::call::{Content, Ended, Response, Returned};
use crate::tool::{Entry, Tool};

/// A replacement that cannot stand for the tool's own answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::runtime) enum Unfit {
    #[error("its replacement has no data, and the tool's output schema announces some")]
    NoData,
    #[error("the data of its replacement is not what the tool's output schema announces")]
    OtherData,
    #[error("it replaced a failure by a success")]
    NoError,
    #[error("it replaced a success by a failure; it can withhold the result")]
    NewError,
}

impl Answering<'_> {
    /// The whole answer.
    pub fn response(&self, tool: &Tool, ended: &Ended) -> Response {
        let logs = ended.logs.clone();
        let mut response = Response { content: ended.chunks.clone(), logs, ..Response::default() };
        match &ended.end {
            Err(error) => response.error = Some(error.clone()),
            Ok(Returned::ToolError(value)) => {
                response.error = Some(self.tool_error(tool, value.clone(), &ended.logs));
            }
            Ok(Returned::Printed(text)) => response.content.push(Content::Text { text: text.clone() }),
            Ok(Returned::Output { content, structured }) => {
                response.content.extend(content.iter().cloned());
                response.structured.clone_from(structured);
            }
            Ok(Returned::Value(value)) => {
                let returns = tool.signature().map(|signature| signature.returns());
                if let Some(value) = value {
                    response.content.push(Content::Text { text: text_of(value) });
                }
                let value = value.clone().unwrap_or_default();
                response.structured = returns.map(|returns| returns.structured(value));
            }
        }
        response
    }
}

/// Puts a hook's replacement in the place of the answer so far.
///
/// # Errors
/// When it cannot stand there.
pub(in crate::runtime) fn replace(
    tool: &Tool,
    response: &mut Response,
    replacement: Response,
) -> Result<(), Unfit> {
    if let Some(error) = &mut response.error {
        let message = match &replacement.error {
            Some(replaced) => replaced.message.clone(),
            None if replacement.structured.is_none() => replacement.to_text(),
            None => return Err(Unfit::NoError),
        };
        response.content = if replacement.error.is_some() { replacement.content } else { Vec::new() };
        if message != error.message {
            error.message = message;
            error.details = None;
        }
        return Ok(());
    }
    if replacement.error.is_some() {
        return Err(Unfit::NewError);
    }
    let structured = match (replacement.structured, tool.output_schema()) {
        (Some(structured), _) => Some(structured),
        (None, Some(_)) => Some(data_of_text(tool, &replacement.content).ok_or(Unfit::NoData)?),
        (None, None) => None,
    };
    if structured.as_ref().is_some_and(|structured| !tool.admits(structured)) {
        return Err(Unfit::OtherData);
    }
    response.content = match &structured {
        Some(structured) if replacement.content.is_empty() => text_of_data(tool, structured),
        _ => replacement.content,
    };
    response.structured = structured;
    Ok(())
}

/// The run's end with the answer that the hooks left.
pub(in crate::runtime) fn ended(mut ended: Ended, response: Response) -> Ended {
    ended.logs = response.logs;
    ended.end = match response.error {
        Some(error) => {
            ended.chunks = response.content;
            Err(error)
        }
        None => {
            ended.chunks = Vec::new();
            Ok(Returned::Output { content: response.content, structured: response.structured })
        }
    };
    ended
}

/// The data of a tool that returns a text, from the text alone.
fn data_of_text(tool: &Tool, content: &[Content]) -> Option<Value> {
    let [Content::Text { text }] = content else { return None };
    let Some(Entry::Typed { signature, .. }) = tool.entry() else { return None };
    let data = signature.returns().structured(Value::String(text.clone()));
    tool.admits(&data).then_some(data)
}

fn text_of_data(tool: &Tool, structured: &Value) -> Vec<Content> {
    let value = match tool.signature() {
        Some(signature) => signature.returns().unwrapped(structured),
        None => Some(structured.clone()),
    };
    value.map(|value| Content::Text { text: text_of(&value) }).into_iter().collect()
}
