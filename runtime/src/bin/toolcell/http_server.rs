//! `toolcell mcp --http`: the flags, and the listener that they name.

use std::net::{TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use toolcell::config::Server;
use toolcell::output::OutputStore;
use toolcell::policy::{Approvals, SecretSource};
use toolcell::server::mcp::http::HttpServer;
use toolcell::{CancellationToken, Runtime, RuntimeBuilder};

use crate::terminal::{Label, say};
use crate::toolset::Toolset;

#[derive(Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct HttpArgs {
    /// Serve by HTTP on this address, as 127.0.0.1:8080 or 8080; beyond loopback, every principal needs a token
    #[arg(long, value_name = "ADDR")]
    pub http: Option<String>,
    /// Let in a principal by its bearer token, from a variable (NAME=env:VARIABLE) or a file of yours alone
    /// (NAME=file:PATH); may be repeated
    #[arg(long, value_name = "NAME=SOURCE", requires = "http")]
    pub token: Vec<String>,
    /// Serve requests that name this host; may be repeated
    #[arg(long, value_name = "HOST", requires = "http", value_parser = Server::host)]
    pub allow_host: Vec<String>,
    /// Serve web pages of this origin; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = Server::origin)]
    pub allow_origin: Vec<String>,
}

/// A listener, and who may reach it.
pub(crate) struct Listening {
    listener: TcpListener,
    settings: Server,
}

impl HttpArgs {
    /// The listener that the flags name, guarded as they and the configuration say.
    pub fn listening(&self, toolset: &Toolset) -> anyhow::Result<Option<Listening>> {
        let Some(address) = &self.http else { return Ok(None) };
        let mut settings = toolset.config.server.clone();
        settings.hosts.extend(self.allow_host.iter().cloned());
        settings.origins.extend(self.allow_origin.iter().cloned());
        for written in &self.token {
            let (name, source) = token(written, toolset)?;
            if settings.tokens.insert(name.clone(), source).is_some() {
                bail!("--token `{written}`: there is a token of `{name}` already");
            }
        }
        let listener = listen(address)?;
        Ok(Some(Listening { listener, settings }))
    }
}

impl Listening {
    /// The builder of a runtime that keeps outputs and approvals where other instances find them, if there are any.
    pub fn sharing(&self, builder: RuntimeBuilder) -> anyhow::Result<RuntimeBuilder> {
        let Some(shared) = &self.settings.shared else { return Ok(builder) };
        let store = shared.open()?;
        Ok(builder.outputs(OutputStore::shared(Arc::clone(&store))).approvals(Approvals::shared(store)))
    }

    pub async fn serve(self, runtime: Runtime, stop: CancellationToken) -> anyhow::Result<()> {
        let address = self.listener.local_addr().context("the listener has no address")?;
        let server = HttpServer::new(runtime, self.listener, self.settings, stop)?;
        say(Label::Note, format_args!("listening on http://{address}/mcp"));
        Ok(server.serve().await?)
    }
}

/// Takes the address. A port alone is one of loopback.
fn listen(address: &str) -> anyhow::Result<TcpListener> {
    let named = match address.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    };
    let all = named.to_socket_addrs().map_err(|_| {
        anyhow!(
            "--http `{address}` is no address; write HOST:PORT as in 127.0.0.1:8080, or a port for loopback"
        )
    })?;
    let all: Vec<_> = all.collect();
    TcpListener::bind(all.as_slice()).with_context(|| format!("--http `{address}`: cannot listen there"))
}

/// Reads `NAME=env:VARIABLE` or `NAME=file:PATH`. A token itself is never an argument: every user of the machine sees those.
fn token(written: &str, toolset: &Toolset) -> anyhow::Result<(String, SecretSource)> {
    // What was written may be the token.
    let wrong = || anyhow!("--token: write NAME=env:VARIABLE or NAME=file:PATH, never the token itself");
    let (name, source) = written.split_once('=').ok_or_else(wrong)?;
    let name = Server::principal(name).map_err(|told| anyhow!("--token: {told}"))?;
    let source = match source.split_once(':').ok_or_else(wrong)? {
        ("env", variable) if !variable.is_empty() => SecretSource::Env(variable.to_owned()),
        ("file", path) if !path.is_empty() => {
            SecretSource::File(toolset.environment.working_directory.join(PathBuf::from(path)))
        }
        _ => return Err(wrong()),
    };
    Ok((name, source))
}
