//! `wasi:http`: requests of a guest, to where its grant says and nowhere else. Types and streams are wasmtime's; who is
//! asked, by which address, with which headers and for how much is decided here.
//!
//! In reading order: `access` (what is granted), `taped` and `answer` (a request is recorded, or answered by a
//! recording), `handler` (it is judged), `exchange` (it is sent, and its response comes: the one place by which either
//! crosses), `body` (both ways, bounded), `meter` (what a call used of its limits), `code` (errors as guests read them).

mod access;
mod answer;
mod body;
mod code;
mod exchange;
mod handler;
mod meter;
mod taped;

use std::sync::Arc;

use http::HeaderName;
use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::http::types;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks, WasiHttpView,
};

use super::denials::Denials;
use super::state::CellState;
use crate::call::Denial;
use crate::limits::{EffectiveLimits, Limit};
use crate::output::Redactor;
use crate::policy::{HOST_HEADERS, hyphened};

pub(crate) use access::{HttpAccess, HttpTemplate};
use meter::Meter;

/// What one set of headers of a guest may take, roughly: more than any server takes.
const MAX_FIELDS: usize = 64 << 10;

/// What a guest may write to a body at once. It writes on when this has left.
const WRITE_CHUNK: usize = 64 << 10;

/// The requests of one call.
pub(crate) struct HttpState {
    access: HttpAccess,
    limits: Arc<EffectiveLimits>,
    redactor: Option<Arc<Redactor>>,
    context: WasiHttpCtx,
    fields: Fields,
    /// Made by the first request.
    meter: Option<Arc<Meter>>,
}

impl HttpState {
    pub fn new(access: HttpAccess, limits: Arc<EffectiveLimits>, redactor: Option<&Arc<Redactor>>) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        let fields = Fields { refused: Denials::of(redactor) };
        Self { access, limits, redactor: redactor.cloned(), context, fields, meter: None }
    }

    fn meter(&mut self) -> Arc<Meter> {
        let (limits, redactor) = (&self.limits, self.redactor.as_ref());
        Arc::clone(self.meter.get_or_insert_with(|| Arc::new(Meter::new(limits, redactor))))
    }

    /// Requests that left the host.
    pub fn requests(&self) -> u64 {
        self.meter.as_ref().map_or(0, |meter| meter.requests())
    }

    /// A limit that the guest was told of.
    pub fn limit_hit(&self) -> Option<(Limit, u64)> {
        self.meter.as_ref().and_then(|meter| meter.hit())
    }

    /// Everything that was refused.
    pub fn denials(&self) -> Vec<Denial> {
        let mut all = self.fields.refused.list();
        all.extend(self.meter.iter().flat_map(|meter| meter.denials()));
        all
    }
}

/// Which headers are the host's alone, and which of them the guest tried to set. Requests do not go by these hooks but by
/// [`handler`].
struct Fields {
    refused: Denials,
}

/// Why no setting lets a guest set these.
const HOSTS: &str = "none: the host sets it";

impl WasiHttpHooks for Fields {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        let is_hosts = is_hosts(name);
        if is_hosts {
            self.refused.add(Denial::new("http", "header", name.as_str(), HOSTS));
        }
        is_hosts
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_hosts)
    }

    fn send_request(
        &mut self,
        _: http::Request<WasiBody>,
        _: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        Box::new(std::future::ready(Err(Error::HttpRequestDenied)))
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        WRITE_CHUNK
    }
}

type Sent = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

/// A length may be announced: wasmtime holds the body to it, and the host writes it anew.
fn is_hosts(name: &HeaderName) -> bool {
    *name != http::header::CONTENT_LENGTH && HOST_HEADERS.contains(&&*hyphened(name.as_str()))
}

impl WasiHttpView for CellState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.http.fields, table: &mut self.table, ctx: &mut self.http.context }
    }
}

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    types::add_to_linker::<_, WasiHttp>(linker, &types::LinkOptions::default(), CellState::http)?;
    taped::add_to_linker(linker)?;
    handler::add_to_linker(linker)
}
