//! Names are looked up few at a time, whoever asks for how many, and judged anew each time.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcell::net::Resolver;
use toolcell::policy::HttpGrant;
use toolcell::{Grant, ToolComponent};
use toolcell_tests::http_server::{HttpServer, response};
use toolcell_tests::{builder, built, call, guest};

fn caller(origins: &[&str]) -> ToolComponent {
    let grant =
        origins.iter().fold(Grant::none(), |grant, origin| grant.http(HttpGrant::to(origin).unwrap()));
    ToolComponent::file(guest("caller")).grant(grant)
}

fn send(authority: &str, nanos: Option<u64>) -> Value {
    let to = json!({ "method": "GET", "scheme": "http", "authority": authority, "path": "/" });
    json!({ "to": to, "headers": [], "body": null, "nanos": nanos })
}

/// Is silent about all names but those that begin with `known`, and keeps what it was asked.
#[derive(Clone, Default)]
struct Silent(Arc<Mutex<Vec<String>>>);

#[toolcell::hook::async_trait]
impl Resolver for Silent {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap().push(name.to_owned());
        if !name.starts_with("known") {
            std::future::pending::<()>().await;
        }
        Ok(vec![[10, 0, 0, 1].into()])
    }
}

#[tokio::test]
async fn a_silent_name_server_costs_who_asks_it_and_nobody_else() {
    let resolver = Silent::default();
    let hostile = caller(&["http://*"]);
    let other = caller(&["http://*"]).name("other").prefix("other_");
    let runtime = built(builder().component(hostile).component(other).resolver(resolver.clone()));
    for number in 0..60 {
        let outcome = call(&runtime, "send", send(&format!("silent-{number}.test"), Some(1_000_000))).await;
        let message = &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message;
        assert!(message.ends_with("Timeout"), "{message}");
    }
    let asked = resolver.0.lock().unwrap().clone();
    assert!(!asked.is_empty() && asked.len() <= 4, "{asked:?}");
    // The other one's name is found at once, and judged.
    let outcome = call(&runtime, "other_send", send("known.test", None)).await;
    assert_eq!(outcome.error.as_ref().unwrap().message, "DestinationIpProhibited", "{outcome:?}");
}

/// Answers by turns.
#[derive(Clone)]
struct Turns(Arc<Mutex<Vec<[u8; 4]>>>);

impl Turns {
    fn of(turns: &[[u8; 4]]) -> Self {
        Self(Arc::new(Mutex::new(turns.to_vec())))
    }
}

#[toolcell::hook::async_trait]
impl Resolver for Turns {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![self.0.lock().unwrap().remove(0).into()])
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_the_second_time_is_refused_then() {
    // The connection ends with the response, so that the next request looks the name up again.
    let server = HttpServer::answering(|_| response("200 OK", &[("connection", "close")], b"inside"));
    let authority = format!("name.test:{}", server.port());
    let turns = Turns::of(&[[93, 184, 216, 34], [127, 0, 0, 1], [169, 254, 169, 254]]);
    let caller = caller(&[&format!("http://{authority}")]);
    let runtime = built(builder().component(caller).resolver(turns.clone()));
    // The first answer is public, and nobody listens there. How that ends is the network's.
    let outcome = call(&runtime, "send", send(&authority, Some(1))).await;
    let first = &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message;
    assert!(first != "DestinationIpProhibited" && outcome.denials.is_empty(), "{outcome:?}");
    while turns.0.lock().unwrap().len() > 2 {
        tokio::task::yield_now().await;
    }
    call(&runtime, "many_headers", json!({ "count": 1 })).await;
    for _ in 0..2 {
        let outcome = call(&runtime, "send", send(&authority, None)).await;
        assert_eq!(outcome.error.as_ref().unwrap().message, "DestinationIpProhibited", "{outcome:?}");
        assert_eq!(outcome.denials[0].operation, "connect");
    }
    assert_eq!(server.connections_seen(), 0);
}

#[tokio::test]
async fn a_name_that_is_private_by_its_entry_is_judged_at_each_connection() {
    let server = HttpServer::answering(|_| response("200 OK", &[("connection", "close")], b"inside"));
    let authority = format!("name.test:{}", server.port());
    let grant = Grant::none().http(HttpGrant::to(&format!("http://{authority}")).unwrap().private());
    let runtime =
        built(builder().component(ToolComponent::file(guest("caller")).grant(grant)).resolver(Turns::of(&[
            [127, 0, 0, 1],
            [169, 254, 169, 254],
            [127, 0, 0, 1],
        ])));
    for is_admitted in [true, false, true] {
        let outcome = call(&runtime, "send", send(&authority, None)).await;
        assert_eq!(outcome.is_success(), is_admitted, "{outcome:?}");
    }
    assert_eq!(server.connections_seen(), 2);
}
