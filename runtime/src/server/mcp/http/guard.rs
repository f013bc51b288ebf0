//! Which hosts and origins a request may name. A web page can make a browser send requests to this machine, also under
//! a name of its own that it has resolve to a loopback address; both show in these headers, which it cannot forge.

use http::header::{HOST, HeaderMap, ORIGIN};
use http::uri::Authority;

/// What loopback is called, with any port.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts and origins that are served.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    /// Lower-case; with a port where only that one is meant.
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    /// Serves loopback's names, the address that is listened on, and those of the settings.
    pub fn new(listening: std::net::SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let mut all: Vec<String> = LOOPBACK.map(str::to_owned).to_vec();
        let address = listening.ip();
        if !address.is_unspecified() {
            all.push(if address.is_ipv6() { format!("[{address}]") } else { address.to_string() });
        }
        all.extend(hosts.iter().map(|host| host.to_ascii_lowercase()));
        let origins = origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Self { hosts: all, origins }
    }

    /// The origin that the request comes from, if it comes from a web page. `target` is the host that its target names, where
    /// that is a whole address: it counts, and so does the header beside it.
    ///
    /// # Errors
    /// Why it is refused, naming the setting.
    pub fn check(&self, headers: &HeaderMap, target: Option<&Authority>) -> Result<Option<String>, String> {
        let host = one(headers, &HOST).ok_or("the request must name one host")?.to_ascii_lowercase();
        let target = target.map(|target| target.as_str().to_ascii_lowercase());
        for named in target.iter().chain([&host]) {
            let authority: Authority =
                named.parse().map_err(|_| "the request's host is no host".to_owned())?;
            let is_known = |known: &String| known == named || *known == authority.host();
            if !self.hosts.iter().any(is_known) {
                let told = "this host is not served here; its operator may add it to `server.hosts`";
                return Err(told.to_owned());
            }
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(None);
        }
        let origin = one(headers, &ORIGIN).ok_or("the request must name one origin")?.to_ascii_lowercase();
        // A page that this host serves itself.
        let is_own = ["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme) == Some(&host));
        if is_own || self.origins.contains(&origin) {
            return Ok(Some(origin));
        }
        Err("web pages of this origin are not served; its operator may add it to `server.origins`".to_owned())
    }
}

/// The value of a header that is there exactly once, in ASCII.
pub(super) fn one(headers: &HeaderMap, name: impl http::header::AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn only_known_hosts_and_origins_pass() {
        let hosts = ["Tools.Example.org".to_owned(), "one.example.org:8443".to_owned()];
        let guard =
            Guard::new("10.0.0.7:80".parse().unwrap(), &hosts, &["https://app.example.org".to_owned()]);
        let check = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            guard.check(&headers, None)
        };
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:8080",
            "[::1]:80",
            "10.0.0.7",
            "tools.example.org:9",
            "one.example.org:8443",
        ] {
            assert_eq!(check(host, None), Ok(None), "{host}");
        }
        for host in [
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "one.example.org",
            "one.example.org:80",
            "10.0.0.8",
            "",
            "localhost@evil.test",
            "evil.test:localhost",
        ] {
            assert!(check(host, None).is_err(), "{host}");
        }
        for (host, origin) in [
            ("localhost:80", "http://localhost:80"),
            ("tools.example.org", "https://Tools.example.org"),
            ("localhost", "https://app.example.org"),
        ] {
            assert_eq!(check(host, Some(origin)), Ok(Some(origin.to_ascii_lowercase())), "{origin}");
        }
        for origin in [
            "http://evil.test",
            "null",
            "http://localhost:81",
            "https://app.example.org.evil.test",
            "localhost",
        ] {
            assert!(check("localhost:80", Some(origin)).is_err(), "{origin}");
        }
        let mut twice = HeaderMap::new();
        twice.append(HOST, "localhost".parse().unwrap());
        assert!(guard.check(&HeaderMap::new(), None).is_err());
        twice.append(HOST, "evil.test".parse().unwrap());
        assert!(guard.check(&twice, None).is_err());
        let target = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost".parse().unwrap());
            guard.check(&headers, Some(&host.parse().unwrap()))
        };
        assert_eq!(target("LOCALHOST:80"), Ok(None));
        assert!(target("evil.test").is_err(), "the target's host counts, too");
    }
}
