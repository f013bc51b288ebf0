//! What a component is granted of HTTP: made when it is loaded, narrowed for functions and sessions, asked by requests.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use http::{HeaderName, HeaderValue};

use super::body::OutgoingBody;
use crate::net::{AddressClass, Asker, Connector, Network, Origin, Pool, Reach, Scheme, client_config};
use crate::output::Redactor;
use crate::policy::HttpGrant;

/// The places that a component may send requests to, all of them.
#[derive(Default)]
pub(crate) struct HttpTemplate {
    routes: Vec<Arc<Route>>,
    setting: String,
}

/// One of them, with what requests there need.
pub(super) struct Route {
    pub grant: HttpGrant,
    /// The setting that grants it.
    pub setting: String,
    /// Headers that the host adds.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What covers credentials in responses; none where no entry of the component has any.
    pub redactor: Option<Arc<Redactor>>,
    pub pool: Arc<Pool<OutgoingBody>>,
    pub network: Arc<Network>,
    asker: Arc<Asker>,
    tls: OnceLock<Result<Arc<rustls::ClientConfig>, String>>,
}

impl Route {
    pub fn reach(&self) -> Reach {
        self.grant.reach()
    }

    /// The setting of one of its keys, which flags have not.
    pub fn key(&self, key: &str) -> String {
        match self.setting.starts_with("--") {
            true if key == "read_only" => format!("{}::ro", self.setting),
            true => format!("none: `{}` has no `{key}`; write the entry in a configuration", self.setting),
            false => format!("{}.{key}", self.setting),
        }
    }

    /// The setting by which an address of `class` would be in reach.
    pub fn reaching(&self, class: AddressClass) -> String {
        if class == AddressClass::Public {
            return format!("{}: credentials go to the Internet over `https://` alone", self.key("headers"));
        }
        match Reach::Private.admits(class) && !self.grant.private {
            true if self.grant.origin.is_any() => self.beside_any(),
            true => self.key("private"),
            false => format!("{}: only an origin that is this address reaches it", self.setting),
        }
    }

    /// What reaches a private host that an entry for every name does not: that one can never be `private`.
    fn beside_any(&self) -> String {
        let advice = "an entry for this host by its name, with `private = true`, reaches it";
        match self.setting.rsplit_once('[') {
            Some((list, _)) if !self.setting.starts_with("--") => format!("{list}: {advice}"),
            _ => format!("none: {advice}, and is written in a configuration"),
        }
    }

    /// What of the entry is in the way of a request to its origin.
    fn in_the_way(&self, method: &str, path: &str) -> String {
        match (self.grant.admits_method(method), self.grant.admits_path(path)) {
            (true, _) => self.key("paths"),
            (false, true) => self.key("methods"),
            (false, false) => self.setting.clone(),
        }
    }

    /// How many of its keys are in the way of a request to its origin.
    fn lacks(&self, method: &str, path: &str) -> usize {
        let admits = [self.grant.admits_method(method), self.grant.admits_path(path)];
        admits.into_iter().filter(|admits| !admits).count()
    }

    /// What connects to its servers. The roots are read when they are first needed.
    pub fn connector(&self) -> Result<Connector, String> {
        let tls = self.tls.get_or_init(|| client_config(self.grant.ca.as_deref())).clone()?;
        Ok(Connector::new(Arc::clone(&self.network), Arc::clone(&self.asker), tls))
    }
}

impl HttpTemplate {
    /// The template of `grants`, which are granted by `setting`; `secrets` with their values, and what covers them.
    ///
    /// # Errors
    /// The index of an entry, and what is wrong with it.
    pub fn open(
        grants: &[HttpGrant],
        secrets: &BTreeMap<String, String>,
        redactor: Option<&Arc<Redactor>>,
        setting: &str,
        network: &Arc<Network>,
    ) -> Result<Arc<Self>, (usize, String)> {
        let asker = Arc::<Asker>::default();
        // Also where an entry adds none: what one of them sent, its server may say to another.
        let redactor = redactor.filter(|_| grants.iter().any(|grant| !grant.headers.is_empty()));
        let routes = grants.iter().enumerate().map(|(index, grant)| {
            let wrong = |message: String| (index, message);
            let route = Route {
                headers: headers(grant, secrets).map_err(wrong)?,
                redactor: redactor.cloned(),
                setting: match setting.starts_with("--") {
                    true => format!("{setting} {}", grant.origin),
                    false => format!("{setting}[{index}]"),
                },
                grant: grant.clone(),
                pool: Arc::new(Pool::new(network)),
                network: Arc::clone(network),
                asker: Arc::clone(&asker),
                tls: OnceLock::new(),
            };
            if grant.origin.scheme() == Scheme::Https && grant.ca.is_some() {
                route.connector().map_err(wrong)?;
            }
            Ok(Arc::new(route))
        });
        Ok(Arc::new(Self { routes: routes.collect::<Result<_, _>>()?, setting: setting.to_owned() }))
    }
}

fn headers(
    grant: &HttpGrant,
    secrets: &BTreeMap<String, String>,
) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let header = |(name, value): (&String, &crate::policy::Credential)| {
        let secret =
            secrets.get(&value.secret).ok_or_else(|| format!("there is no secret `{}`", value.secret))?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "is no header's name".to_owned())?;
        let mut value = HeaderValue::from_str(&format!("{}{secret}", value.prefix))
            .map_err(|_| format!("the secret `{}` cannot stand in a header", value.secret))?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    grant.headers.iter().map(header).collect()
}

/// What of a template one tool may use in one session.
#[derive(Clone)]
pub(crate) struct HttpAccess {
    template: Arc<HttpTemplate>,
    allowed: Arc<[bool]>,
}

static NOTHING: LazyLock<HttpAccess> =
    LazyLock::new(|| HttpAccess { template: Arc::default(), allowed: Arc::new([]) });

impl HttpAccess {
    /// Nothing, for cells that no setting lets send requests.
    pub fn none() -> Self {
        NOTHING.clone()
    }

    /// What of `template` is in `grants`.
    pub fn of(template: &Arc<HttpTemplate>, grants: &[HttpGrant]) -> Self {
        let allowed = template.routes.iter().map(|route| grants.contains(&route.grant));
        Self { allowed: allowed.collect(), template: Arc::clone(template) }
    }

    /// What of it is in `grants` too.
    #[must_use]
    pub fn narrowed(&self, grants: &[HttpGrant]) -> Self {
        let both = self.template.routes.iter().zip(self.allowed.iter());
        let allowed = both.map(|(route, allowed)| *allowed && grants.contains(&route.grant));
        Self { allowed: allowed.collect(), template: Arc::clone(&self.template) }
    }

    /// The route of a request, or the setting that would give it one.
    pub(super) fn route(&self, origin: &Origin, method: &str, path: &str) -> Result<&Arc<Route>, String> {
        let routes = || self.template.routes.iter().zip(self.allowed.iter());
        let fits = |route: &Route| route.grant.admits(origin, method, path);
        if let Some((route, _)) = routes().find(|(route, allowed)| **allowed && fits(route)) {
            return Ok(route);
        }
        Err(match routes().find(|(route, _)| fits(route)) {
            Some((route, _)) if !route.grant.read_only => route.key("read_only"),
            Some(_) => "none: the session has no HTTP".to_owned(),
            None => routes()
                .filter(|(route, allowed)| **allowed && route.grant.origin.matches(origin))
                .min_by_key(|(route, _)| route.lacks(method, path))
                .map_or_else(|| self.setting().to_owned(), |(route, _)| route.in_the_way(method, path)),
        })
    }

    /// The setting that grants more.
    pub(super) fn setting(&self) -> &str {
        match self.template.setting.as_str() {
            "" => "none: nothing lets this send requests",
            setting => setting,
        }
    }
}
