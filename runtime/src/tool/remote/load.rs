//! From the servers of a configuration to tools: each is asked for what it offers, all at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobSet, GlobSetBuilder};
use tokio::sync::watch;
use toolcell_package::Hints;

use super::catalog::{Listing, Offer};
use super::names::legal;
use super::opening::{Opened, Patience, open};
use super::running::Running;
use super::server::{Server, Tell};
use super::{Off, RemoteBody};
use crate::config::{McpConfig, McpHints, McpToolSettings};
use crate::error::Result;
use crate::limits::{Limit, Limits};
use crate::policy::{Digest, Grant, Pins};
use crate::sandbox::Sandbox;
use crate::tool::announced::MAX_TOOLS;
use crate::tool::misset::{listed, misset};
use crate::tool::{Body, Owner, Tool};

/// A name that a server's tool never gets, since it is that of how cut outputs are read on.
const RESERVED: [&str; 1] = ["read_output"];

/// Servers with the tools that they have.
#[derive(Default)]
pub(crate) struct Remotes {
    pub servers: Vec<Arc<Server>>,
    /// Those that have named their tools.
    arrived: Vec<Arc<Server>>,
    pub tools: Vec<Arc<Tool>>,
}

/// What servers are loaded under.
pub(crate) struct Under<'a> {
    pub scopes: [&'a Limits; 2],
    pub sandbox: &'a Arc<Sandbox>,
    pub running: &'a Running,
    pub pins: &'a Pins,
    pub patience: &'a Patience,
}

/// The tools of these servers, of which those that are among `before` go on as they run. One that cannot be reached, or not
/// soon enough, has none, and a warning says why.
///
/// # Errors
/// When a secret cannot be read.
pub(crate) fn load(
    configs: &[&McpConfig],
    before: &[Arc<Server>],
    under: &Under<'_>,
    warnings: &mut Vec<String>,
) -> Result<Remotes> {
    let scopes = under.scopes;
    let mut servers = Vec::new();
    for config in configs {
        let limits = config.tool_settings.values().map(|settings| &settings.limits);
        let each = limits.map(|own| Limits::resolve([scopes[0], &config.limits, own, scopes[1]]));
        let all = each.chain([Limits::resolve([scopes[0], &config.limits, scopes[1]])]);
        let most = all.map(|limits| limits.get_usize(Limit::ResultBytes)).max().unwrap_or_default();
        let server = Server::one(before, config, most, under.sandbox)?;
        if !before.iter().any(|known| Arc::ptr_eq(known, &server)) {
            under.running.add(&server);
        }
        servers.push(server);
    }
    let has_wanted = |index: usize| {
        let (Some(config), Some(server)) = (configs.get(index), servers.get(index)) else { return false };
        under.patience.until.as_ref().is_some_and(|tool| Loader { config, server, scopes }.has(tool))
    };
    let opened = open(&servers, under.sandbox, under.patience, has_wanted);
    let mut remotes = Remotes::default();
    for ((config, server), opened) in configs.iter().zip(&servers).zip(opened) {
        let listing = server.listing();
        if let Some(told) = missing(server, opened, listing.is_some(), under.patience) {
            warnings.push(format!("{}: {told}", server.component()));
        }
        if let Some(listing) = listing {
            let loader = Loader { config, server, scopes };
            remotes.tools.extend(loader.tools(&listing, under.pins, warnings)?);
            remotes.arrived.push(Arc::clone(server));
        }
    }
    remotes.servers = servers;
    Ok(remotes)
}

/// What of a server's tools is missing, and why.
fn missing(server: &Server, opened: Opened, is_known: bool, patience: &Patience) -> Option<String> {
    let (why, yet) = match opened {
        Some(Ok(())) => return None,
        Some(Err(why)) => (server.words(&why), ""),
        // Nobody waits any longer, since the tool that was waited for is there.
        None if patience.until.is_some() => return None,
        None => {
            let [within, whole] = [patience.within.unwrap_or_default(), server.start_timeout()]
                .map(|time| humantime::format_duration(time).to_string());
            let setting = format!("{}.start_timeout", server.component());
            (format!("it was not ready within {within}, and may take {whole} (`{setting}`)"), " yet")
        }
    };
    Some(match is_known {
        true => format!("its tools are those that it named before: {why}"),
        false => format!("none of its tools are there{yet}: {why}"),
    })
}

/// The tools of a server that was reached after its settings were loaded.
///
/// # Errors
/// When a glob of its settings is none.
pub(crate) fn tools_of(
    config: &McpConfig,
    server: &Arc<Server>,
    scopes: [&Limits; 2],
    pins: &Pins,
    warnings: &mut Vec<String>,
) -> Result<Remotes> {
    let Some(listing) = server.listing() else { return Ok(Remotes::default()) };
    let tools = Loader { config, server, scopes }.tools(&listing, pins, warnings)?;
    Ok(Remotes { servers: vec![Arc::clone(server)], arrived: vec![Arc::clone(server)], tools })
}

/// One server on its way to tools.
struct Loader<'a> {
    config: &'a McpConfig,
    server: &'a Arc<Server>,
    scopes: [&'a Limits; 2],
}

impl Loader<'_> {
    fn tools(&self, listing: &Listing, pins: &Pins, warnings: &mut Vec<String>) -> Result<Vec<Arc<Tool>>> {
        let component = self.server.component();
        let wanted = self.globs()?;
        let is_wanted = |name: &str| wanted.as_ref().is_none_or(|globs| globs.is_match(name));
        for (name, why) in listing.refused.iter().filter(|(name, _)| is_wanted(name)) {
            warnings.push(format!("{component}: `{name}` is no tool: {why}"));
        }
        let approved = match pins.approved(self.server.place(), self.server.name(), &listing.identities) {
            Ok(approved) => approved,
            Err(error) => {
                warnings.push(format!("{component}: none of its tools count as approved: {error}"));
                BTreeMap::new()
            }
        };
        self.check_names(&listing.offers, wanted.as_ref(), warnings);
        let offers = self.named(listing, wanted.as_ref());
        if offers.len() > MAX_TOOLS {
            let names = offers.len();
            let told = format!(
                "{names} of its tools are wanted, and {MAX_TOOLS} are allowed; name fewer in `tools`"
            );
            warnings.push(format!("{component}: none of its tools are there: {told}"));
            return Ok(Vec::new());
        }
        let made = offers.into_iter().map(|(offer, name)| {
            let off = off(offer, &approved);
            Arc::new(self.tool(offer.clone(), name, off))
        });
        let tools: Vec<Arc<Tool>> = made.collect();
        self.tell_off(&tools, warnings);
        Ok(tools)
    }

    /// What is wanted of an offer, with the names that models call it by.
    fn named<'o>(&self, listing: &'o Listing, wanted: Option<&GlobSet>) -> Vec<(&'o Offer, String)> {
        let is_wanted = |offer: &&Offer| wanted.is_none_or(|globs| globs.is_match(&offer.name));
        let mut offers: Vec<&Offer> = listing.offers.iter().filter(is_wanted).collect();
        offers.sort_by(|one, other| one.name.cmp(&other.name));
        let given: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
        let names = legal(&given, &self.config.prefix);
        offers.into_iter().zip(names).collect()
    }

    /// Whether it offers what models call `tool`.
    fn has(&self, tool: &str) -> bool {
        let (Some(listing), Ok(wanted)) = (self.server.listing(), self.globs()) else { return false };
        self.named(&listing, wanted.as_ref()).iter().any(|(_, name)| name == tool)
    }

    fn globs(&self) -> Result<Option<GlobSet>> {
        let Some(globs) = &self.config.tools else { return Ok(None) };
        let wrong = |error: globset::Error| misset(&self.config.origin, format!("`tools`: {error}"));
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(Glob::new(glob).map_err(wrong)?);
        }
        set.build().map(Some).map_err(wrong)
    }

    /// A setting of a tool that is not there would be one that nothing enforces. What another server has may change at
    /// any time, so that is no reason not to start.
    fn check_names(&self, offers: &[Offer], wanted: Option<&GlobSet>, warnings: &mut Vec<String>) {
        let component = self.server.component();
        for name in self.config.tool_settings.keys() {
            if !offers.iter().any(|offer| offer.name == *name) {
                warnings.push(format!("{component}: it has no tool `{name}`, which `tool.{name}` is about"));
            }
        }
        let Some(globs) = wanted else { return };
        let matched: BTreeSet<usize> = offers.iter().flat_map(|offer| globs.matches(&offer.name)).collect();
        for (index, glob) in self.config.tools.iter().flatten().enumerate() {
            if !matched.contains(&index) {
                warnings.push(format!("{component}: `tools` has `{glob}`, and no tool of it is called so"));
            }
        }
    }

    fn tool(&self, offer: Offer, name: String, unapproved: Option<Off>) -> Tool {
        let nothing = McpToolSettings::default();
        let settings = self.config.tool_settings.get(&offer.name).unwrap_or(&nothing);
        let declared = settings.hints.or(self.config.hints);
        let [outer, over] = self.scopes;
        let limits = Limits::resolve([outer, &self.config.limits, &settings.limits, over]);
        let owner = Owner {
            name: self.server.component().to_owned(),
            digest: offer.identity,
            group: self.config.group.clone(),
            grant: Grant::none(),
            instructions: self.config.instructions.clone(),
            repair: self.config.repair,
            redactor: self.server.redactor().cloned(),
        };
        Tool {
            name,
            title: settings.title.clone().or(offer.title),
            description: settings.description.clone().unwrap_or(offer.description),
            input_schema: offer.input_schema,
            output_schema: offer.output_schema,
            hints: hints(declared),
            is_declared_safe: declared.concurrency_safe == Some(true),
            is_declared_idempotent: declared.idempotent == Some(true),
            examples: Vec::new(),
            origin: offer.name.clone(),
            limits: Arc::new(limits),
            owner: Arc::new(owner),
            body: Body::Remote(Arc::new(RemoteBody {
                server: Arc::clone(self.server),
                name: offer.name,
                identity: offer.identity,
                arguments: offer.arguments,
                unapproved,
            })),
            output: OnceLock::new(),
            mirrored: OnceLock::new(),
            shown: OnceLock::new(),
        }
    }

    /// Says which tools are off, and how that is changed.
    fn tell_off(&self, tools: &[Arc<Tool>], warnings: &mut Vec<String>) {
        let component = self.server.component();
        for off in [Off::Changed, Off::New] {
            let names: Vec<&str> = tools
                .iter()
                .filter_map(|tool| tool.remote().filter(|remote| remote.unapproved == Some(off)))
                .map(|remote| remote.name.as_str())
                .collect();
            let (what, how) = match names.as_slice() {
                [] => continue,
                [name] => (format!("`{name}` {}", off.words()), format!("{component}.{name}")),
                names => {
                    (format!("of its tools each {}: {}", off.words(), listed(names)), component.to_owned())
                }
            };
            warnings.push(format!(
                "{component}: {what}, and is off; look at it with `toolcell describe`, then run `toolcell approvals allow {how}`"
            ));
        }
    }
}

fn off(offer: &Offer, approved: &BTreeMap<String, Digest>) -> Option<Off> {
    match approved.get(&offer.name) {
        Some(identity) if *identity == offer.identity => None,
        Some(_) => Some(Off::Changed),
        None => Some(Off::New),
    }
}

fn hints(declared: McpHints) -> Hints {
    let mut hints = Hints::default();
    hints.read_only = declared.read_only;
    hints.destructive = declared.destructive;
    hints.idempotent = declared.idempotent;
    hints.concurrency_safe = declared.concurrency_safe;
    hints
}

impl Remotes {
    /// Notes that they are in use, and where those that changed are to be told.
    pub fn settle(&self, teller: &watch::Sender<u64>, tell: &Tell) {
        self.servers.iter().for_each(|server| server.tell(teller.clone(), Arc::clone(tell)));
        for server in &self.arrived {
            let _ = server.is_taken_now();
        }
    }

    /// Takes away every tool whose name is one of `taken`, or that of a tool of another server: no server ever stands in
    /// the place of somebody else's tool. One that is off takes no name from anybody.
    pub fn without_clashes<'a>(
        &mut self,
        taken: impl IntoIterator<Item = &'a str>,
        warnings: &mut Vec<String>,
    ) {
        let taken: BTreeSet<&str> = taken.into_iter().chain(RESERVED).collect();
        let is_on = |tool: &Tool| tool.remote().is_some_and(|remote| remote.unapproved.is_none());
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for tool in self.tools.iter().filter(|tool| is_on(tool)) {
            *counts.entry(tool.name().to_owned()).or_default() += 1;
        }
        let mut seen = BTreeSet::new();
        self.tools.retain(|tool| {
            let count = counts.get(tool.name()).copied().unwrap_or_default();
            let is_free = !taken.contains(tool.name()) && if is_on(tool) { count == 1 } else { count == 0 };
            let is_kept = is_free && seen.insert(tool.name().to_owned());
            if !is_kept {
                warnings.push(format!(
                    "{}: `{}` is not there, since another tool has the name `{}`; set `{}.prefix`",
                    tool.component(),
                    tool.origin(),
                    tool.name(),
                    tool.component()
                ));
            }
            is_kept
        });
    }
}
