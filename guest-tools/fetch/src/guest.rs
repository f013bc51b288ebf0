//! The component's side: WIT in, requests out.

use client::{Request, Response, Url, send};

use crate::page::{Wanted, page};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "fetch", generate_all });
}

use bindings::toolcell::tool::context;
use bindings::{Header, HttpMethod, PageFormat};

/// How much of a body is read. A page of a book has 3 KB of text; what is larger is data, and no model reads it.
const MAX_BYTES: usize = 4 << 20;

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

struct Component;

bindings::export!(Component with_types_in bindings);

impl bindings::Guest for Component {
    fn fetch(
        url: String,
        method: Option<HttpMethod>,
        headers: Option<Vec<Header>>,
        body: Option<String>,
        format: Option<PageFormat>,
        start: Option<u32>,
    ) -> Result<String, String> {
        let method = name(method.unwrap_or(HttpMethod::Get));
        let mut headers: Vec<(String, String)> =
            headers.unwrap_or_default().into_iter().map(|header| (header.name, header.value)).collect();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            // Many servers refuse who says nothing.
            headers.push(("user-agent".to_owned(), "toolcell-fetch/1.0".to_owned()));
        }
        let (response, url) = follow(Url::parse(&url)?, method, headers, body.as_deref())?;
        let budget = context::output_budget();
        let wanted = Wanted {
            markdown: format != Some(PageFormat::Raw),
            start: start.unwrap_or_default() as usize,
            max_bytes: usize::try_from(budget.bytes).unwrap_or(usize::MAX),
            max_lines: usize::try_from(budget.lines).unwrap_or(usize::MAX),
        };
        page(&response, &url, wanted)
    }
}

/// The response at the end of all redirects. The host judges each step like a request of its own.
fn follow(
    mut url: Url,
    method: &str,
    mut headers: Vec<(String, String)>,
    body: Option<&str>,
) -> Result<(Response, Url), String> {
    for _ in 0..=MAX_REDIRECTS {
        let request = Request { method, url: &url, headers: &headers, body, max_bytes: MAX_BYTES };
        let response = send(&request)?;
        let location =
            response.header("location").filter(|_| matches!(response.status, 301..=303 | 307 | 308));
        let Some(location) = location.filter(|_| matches!(method, "GET" | "HEAD")) else {
            return Ok((response, url));
        };
        let next = url.join(location)?;
        if next.origin() != url.origin() {
            // They were meant for the first server.
            headers.retain(|(name, _)| {
                name.eq_ignore_ascii_case("user-agent") || name.eq_ignore_ascii_case("accept")
            });
        }
        url = next;
    }
    Err(format!("more than {MAX_REDIRECTS} redirects, the last of them to {url}"))
}

fn name(method: HttpMethod) -> &'static str {
    match method {
        HttpMethod::Get => "GET",
        HttpMethod::Head => "HEAD",
        HttpMethod::Post => "POST",
        HttpMethod::Put => "PUT",
        HttpMethod::Patch => "PATCH",
        HttpMethod::Delete => "DELETE",
    }
}
