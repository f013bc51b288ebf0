//! `toolcell mcp --http`: the flags, and the listener that they name.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use toolcell::config::Server;
use toolcell::output::OutputStore;
use toolcell::policy::{Approvals, SecretSource};
use toolcell::server::mcp::http::{AccessChange, HttpAccess, HttpServer};
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
    flags: Flags,
}

/// A server that is ready, and its address.
pub(crate) struct Serving {
    server: HttpServer,
    address: SocketAddr,
}

/// Who may reach a server that runs, as the flags and the configuration say.
pub(crate) struct Access {
    access: HttpAccess,
    flags: Flags,
}

/// What the flags add to the configuration's settings.
#[derive(Clone)]
struct Flags {
    hosts: Vec<String>,
    origins: Vec<String>,
    tokens: Vec<(String, SecretSource)>,
}

impl HttpArgs {
    /// The listener that the flags name, guarded as they and the configuration say.
    pub fn listening(&self, toolset: &Toolset) -> anyhow::Result<Option<Listening>> {
        let Some(address) = &self.http else { return Ok(None) };
        let tokens = self.token.iter().map(|written| token(written, toolset));
        let flags = Flags {
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
            tokens: tokens.collect::<anyhow::Result<_>>()?,
        };
        let settings = flags.over(&toolset.config.server)?;
        let listener = listen(address)?;
        Ok(Some(Listening { listener, settings, flags }))
    }
}

impl Flags {
    /// The settings with what the flags add.
    fn over(&self, settings: &Server) -> anyhow::Result<Server> {
        let mut settings = settings.clone();
        settings.hosts.extend(self.hosts.iter().cloned());
        settings.origins.extend(self.origins.iter().cloned());
        for (name, source) in &self.tokens {
            if settings.tokens.insert(name.clone(), source.clone()).is_some() {
                bail!("--token: there is a token of `{name}` already");
            }
        }
        Ok(settings)
    }
}

impl Access {
    /// What the configuration's settings change, with the flags; nothing is changed yet.
    pub fn check(&self, settings: &Server) -> anyhow::Result<AccessChange> {
        Ok(self.access.check(self.flags.over(settings)?)?)
    }

    /// The files that tokens are read from, and what instances share.
    pub fn paths(&self, settings: &Server) -> Vec<PathBuf> {
        let flags = self.flags.tokens.iter().map(|(_, source)| source);
        let shared = settings.shared.iter().flat_map(|shared| shared.password.iter().chain([&shared.key]));
        let sources = settings.tokens.values().chain(flags).chain(shared);
        sources
            .filter_map(|source| match source {
                SecretSource::File(path) => Some(path.clone()),
                _ => None,
            })
            .collect()
    }
}

impl Listening {
    /// The builder of a runtime that keeps outputs and approvals where other instances find them, if there are any.
    pub fn sharing(&self, builder: RuntimeBuilder) -> anyhow::Result<RuntimeBuilder> {
        let Some(shared) = &self.settings.shared else { return Ok(builder) };
        let store = shared.open()?;
        Ok(builder.outputs(OutputStore::shared(Arc::clone(&store))).approvals(Approvals::shared(store)))
    }

    /// The server of `runtime`, and what changes who may reach it.
    pub fn serving(self, runtime: Runtime, stop: CancellationToken) -> anyhow::Result<(Serving, Access)> {
        let address = self.listener.local_addr().context("the listener has no address")?;
        let server = HttpServer::new(runtime, self.listener, self.settings, stop)?;
        let access = Access { access: server.access(), flags: self.flags };
        Ok((Serving { server, address }, access))
    }
}

impl Serving {
    pub async fn serve(self) -> anyhow::Result<()> {
        say(Label::Note, format_args!("listening on http://{}/mcp", self.address));
        Ok(self.server.serve().await?)
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
