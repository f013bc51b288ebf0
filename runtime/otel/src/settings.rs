//! Where spans go and which: by an argument, or by OpenTelemetry's variables.

use std::time::Duration;

use ureq::http::Uri;
use ureq::http::header::{HeaderName, HeaderValue};

use crate::error::{Error, Result};

/// Where a collector of this machine listens, and what is appended to an endpoint for traces.
const PATH: &str = "/v1/traces";

/// OpenTelemetry's own default.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The resource's attribute that names the service.
const SERVICE_NAME: &str = "service.name";

/// Where spans go and which. It does not show itself: headers are often credentials.
#[derive(Clone)]
pub struct Settings {
    pub(crate) url: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) timeout: Duration,
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) sampling: Sampling,
}

/// Which calls are exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sampling {
    /// All but those whose `traceparent` says that its trace is not recorded.
    #[default]
    ByParent,
    /// All.
    Always,
}

impl Sampling {
    pub(crate) fn of_parent(self, is_sampled: bool) -> bool {
        is_sampled || self == Self::Always
    }

    pub(crate) fn of_root(self) -> bool {
        matches!(self, Self::ByParent | Self::Always)
    }
}

impl Settings {
    /// A collector at `endpoint`, such as `http://localhost:4318`; `/v1/traces` is appended. Ten seconds for a request.
    ///
    /// # Errors
    /// [`Error::Setting`] for anything but a URL with `http`: spans go to a collector of this machine or network, and
    /// one that is elsewhere is reached through it.
    pub fn endpoint(endpoint: &str) -> Result<Self> {
        Ok(Self::to(base("endpoint", endpoint)?))
    }

    /// What the environment says, in the variables that [OpenTelemetry specifies]: `OTEL_EXPORTER_OTLP_ENDPOINT`,
    /// `_HEADERS`, `_TIMEOUT` (milliseconds), `_PROTOCOL` (only `http/json`), `_COMPRESSION` (only `none`), each also as
    /// `OTEL_EXPORTER_OTLP_TRACES_…`, which goes first; `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
    /// `OTEL_TRACES_SAMPLER` (`parentbased_always_on`, `always_on`, `always_off`), `OTEL_TRACES_EXPORTER` (`otlp`,
    /// `none`) and `OTEL_SDK_DISABLED`.
    ///
    /// `None` where no endpoint is set, or where tracing is switched off.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value that is not understood or cannot be done.
    ///
    /// [OpenTelemetry specifies]: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
    pub fn from_env() -> Result<Option<Self>> {
        Self::from_variables(&|name| std::env::var(name).ok())
    }

    /// Sets the name of the service; `toolcell` is the default.
    #[must_use]
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.set_attribute(SERVICE_NAME, name.into());
        self
    }

    /// Sets the longest time for everything that is sent at once; ten seconds is the default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets which calls are exported.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    fn to(url: String) -> Self {
        Self {
            url,
            headers: Vec::new(),
            timeout: TIMEOUT,
            resource: vec![(SERVICE_NAME.to_owned(), "toolcell".to_owned())],
            sampling: Sampling::default(),
        }
    }

    fn set_attribute(&mut self, key: &str, value: String) {
        match self.resource.iter_mut().find(|(other, _)| other == key) {
            Some((_, old)) => *old = value,
            None => self.resource.push((key.to_owned(), value)),
        }
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let variables = Variables(variable);
        let is_disabled =
            variables.get("OTEL_SDK_DISABLED").is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"));
        let Some(url) = variables.url()? else { return Ok(None) };
        let exporter = variables.one_of("OTEL_TRACES_EXPORTER", &["otlp", "none"])?;
        let samplers = ["parentbased_always_on", "always_on", "always_off"];
        let sampler = variables.one_of("OTEL_TRACES_SAMPLER", &samplers)?;
        if is_disabled || exporter == Some("none") || sampler == Some("always_off") {
            return Ok(None);
        }
        variables.of_traces_one_of("PROTOCOL", &["http/json"])?;
        variables.of_traces_one_of("COMPRESSION", &["none"])?;
        let mut settings = Self::to(url);
        if sampler == Some("always_on") {
            settings.sampling = Sampling::Always;
        }
        if let Some((name, value)) = variables.of_traces("TIMEOUT") {
            let milliseconds = value.parse().ok().filter(|milliseconds| *milliseconds > 0);
            let why = "is no number of milliseconds above 0";
            settings.timeout = Duration::from_millis(milliseconds.ok_or_else(|| wrong(&name, why))?);
        }
        if let Some((name, value)) = variables.of_traces("HEADERS") {
            settings.headers =
                pairs(&name, &value)?.iter().map(|pair| header(&name, pair)).collect::<Result<_>>()?;
        }
        if let Some((name, value)) = variables.get("OTEL_RESOURCE_ATTRIBUTES") {
            for (key, value) in pairs(&name, &value)? {
                settings.set_attribute(&key, value);
            }
        }
        if let Some((_, name)) = variables.get("OTEL_SERVICE_NAME") {
            settings = settings.service_name(name);
        }
        Ok(Some(settings))
    }
}

/// The environment. A variable that is empty is not set, as OpenTelemetry has it.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// The name of a variable with its value.
    fn get(&self, name: &str) -> Option<(String, String)> {
        let value = (self.0)(name)?.trim().to_owned();
        (!value.is_empty()).then(|| (name.to_owned(), value))
    }

    /// The variable for traces, or the one for everything.
    fn of_traces(&self, what: &str) -> Option<(String, String)> {
        self.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{what}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    fn url(&self) -> Result<Option<String>> {
        if let Some((name, endpoint)) = self.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            checked(&name, &endpoint)?;
            return Ok(Some(endpoint));
        }
        let general = self.get("OTEL_EXPORTER_OTLP_ENDPOINT");
        general.map(|(name, endpoint)| base(&name, &endpoint)).transpose()
    }

    fn one_of(&self, name: &str, known: &[&'static str]) -> Result<Option<&'static str>> {
        self.get(name).map(|(name, value)| known_one(&name, &value, known)).transpose()
    }

    fn of_traces_one_of(&self, what: &str, known: &[&'static str]) -> Result<Option<&'static str>> {
        self.of_traces(what).map(|(name, value)| known_one(&name, &value, known)).transpose()
    }
}

fn known_one(name: &str, value: &str, known: &[&'static str]) -> Result<&'static str> {
    let found = known.iter().find(|known| **known == value);
    found.copied().ok_or_else(|| wrong(name, format!("is not supported; it may be {}", known.join(", "))))
}

fn wrong(setting: &str, why: impl Into<String>) -> Error {
    Error::Setting { setting: setting.to_owned(), why: why.into() }
}

/// The URL for traces below an endpoint for everything.
fn base(setting: &str, endpoint: &str) -> Result<String> {
    if checked(setting, endpoint)?.query().is_some() {
        return Err(wrong(setting, "has a query, to which no path can be appended"));
    }
    Ok(format!("{}{PATH}", endpoint.trim_end_matches('/')))
}

fn checked(setting: &str, endpoint: &str) -> Result<Uri> {
    let example = "such as `http://localhost:4318`";
    let uri: Uri = endpoint.parse().map_err(|_| wrong(setting, format!("is no URL, {example}")))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            let why = "`https` is not supported: name a collector of this machine or network by `http`, and let it \
                       send on what it gets";
            return Err(wrong(setting, why));
        }
        _ => return Err(wrong(setting, format!("is no URL with `http`, {example}"))),
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong(
            setting,
            "has a user's name in it; credentials go into OTEL_EXPORTER_OTLP_HEADERS",
        ));
    }
    Ok(uri)
}

/// `key=value` with commas between them and values percent-encoded.
fn pairs(setting: &str, text: &str) -> Result<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let (key, value) = (decoded(key.trim())?, decoded(value.trim())?);
        (!key.is_empty()).then_some((key, value))
    };
    let why = "is not `key=value` with commas between, and values percent-encoded";
    parts.map(|part| pair(part).ok_or_else(|| wrong(setting, why))).collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}

fn header(setting: &str, (name, value): &(String, String)) -> Result<(HeaderName, HeaderValue)> {
    let name = name.parse().map_err(|_| wrong(setting, "has a name that no header can have"))?;
    let value = value.parse().map_err(|_| wrong(setting, "has a value that no header can have"))?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a setting that is refused fails the test")]

    use super::*;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>> {
        Settings::from_variables(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn settings(variables: &[(&str, &str)]) -> Settings {
        read(variables).unwrap().unwrap()
    }

    #[test]
    fn an_endpoint_is_of_everything_or_of_traces() {
        assert_eq!(settings(&[ENDPOINT]).url, "http://localhost:4318/v1/traces");
        let below = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1]:80/otel/");
        assert_eq!(settings(&[below]).url, "http://[::1]:80/otel/v1/traces");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector/in");
        assert_eq!(settings(&[ENDPOINT, traces]).url, "http://collector/in");
    }

    #[test]
    fn headers_and_attributes_are_percent_encoded() {
        let settings = settings(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3, x-tenant=a=b,"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,host.name=caf%C3%A9"),
            ("OTEL_SERVICE_NAME", "agents"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ]);
        let headers: Vec<(&str, &str)> = settings
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
            .collect();
        assert_eq!(headers, [("authorization", "Bearer s3"), ("x-tenant", "a=b")]);
        let attribute = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(settings.resource, [attribute("service.name", "agents"), attribute("host.name", "café")]);
        assert_eq!(settings.timeout, Duration::from_millis(250));
    }

    #[test]
    fn what_is_switched_off_is_off() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).unwrap().is_none());
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_TRACES_SAMPLER", "always_off"),
        ] {
            assert!(read(&[ENDPOINT, off]).unwrap().is_none(), "{off:?}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_done_is_refused_and_not_repeated() {
        let cases = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://s3cret.example"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret:4317"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://s3cret"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:s3cret@host"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://host?key=s3cret"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://host"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%0d%0ax: y"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=s3cret"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
        ];
        let errors: Vec<String> = cases
            .iter()
            .map(|wrong| read(&[*wrong, ENDPOINT]).err().map(|error| error.to_string()).unwrap_or_default())
            .collect();
        assert!(errors.iter().all(|error| !error.contains("s3cret")), "{errors:#?}");
        insta::assert_snapshot!(errors.join("\n"));
    }
}
