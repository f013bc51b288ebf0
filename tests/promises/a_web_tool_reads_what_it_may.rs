//! The shipped tools that go to the web: they read what they are granted, in words that a model understands.

use serde_json::{Value, json};
use toolcell::policy::{Credential, HttpGrant, Secret};
use toolcell::{Grant, Outcome, Runtime, Status, ToolCall, ToolComponent};
use toolcell_tests::http_server::{HttpServer, ok, response};
use toolcell_tests::{builder, built, call};

fn fetching(servers: &[&HttpServer]) -> Runtime {
    let grant = servers
        .iter()
        .fold(Grant::none(), |grant, server| grant.http(HttpGrant::to(&server.origin()).unwrap()));
    built(builder().component(ToolComponent::builtin("fetch").grant(grant)))
}

fn error(outcome: &Outcome) -> &str {
    &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message
}

#[tokio::test]
async fn a_page_is_read_as_markdown_and_data_as_it_is() {
    let server = HttpServer::answering(|asked| match asked.line.split(' ').nth(1) {
        Some("/page") => {
            let html =
                b"<html><head><title>T</title></head><body><h1>News</h1><p>See <a href=/more>more</a>.</p>";
            ok(&[("content-type", "text/html; charset=utf-8")], html)
        }
        Some("/data") => ok(&[("content-type", "application/json")], br#"{"a": [1, 2]}"#),
        Some("/image") => ok(&[("content-type", "image/png")], b"\x89PNG\r\n"),
        Some("/moved") => response("301 Moved", &[("location", "/page")], b""),
        Some("/echo") => ok(&[("content-type", "text/plain")], &asked.body),
        _ => response("404 Not Found", &[("content-type", "text/plain")], b"no such page"),
    });
    let runtime = fetching(&[&server]);
    let origin = server.origin();
    let fetch = async |path: &str| call(&runtime, "fetch", json!({ "url": format!("{origin}{path}") })).await;
    let page = format!(
        "HTTP 200 OK, text/html; charset=utf-8, from {origin}/page\n\n# News\n\nSee [more]({origin}/more)."
    );
    assert_eq!(fetch("/page").await.text(), page);
    assert_eq!(fetch("/moved").await.text(), page);
    assert!(fetch("/data").await.text().ends_with("\n\n{\"a\": [1, 2]}"));
    assert!(fetch("/image").await.text().ends_with("The body is no text: 6 bytes."));
    let missing = fetch("/missing").await;
    assert_eq!(missing.status, Status::Error);
    assert!(
        error(&missing).contains("HTTP 404 Not Found") && error(&missing).ends_with("no such page"),
        "{missing:?}"
    );
    // A name and a password in the address go nowhere, and are not said again.
    let named = origin.replace("://", "://user:pass@word@");
    assert_eq!(call(&runtime, "fetch", json!({ "url": format!("{named}/page") })).await.text(), page);
    assert!(server.asked().iter().all(|asked| asked.header("authorization").is_empty()));
    let raw = call(&runtime, "fetch", json!({ "url": format!("{origin}/page"), "format": "raw" })).await;
    assert!(raw.text().contains("<h1>News</h1>"));
    let sent = json!({
        "url": format!("{origin}/echo"), "method": "post", "body": "hello",
        "headers": [{ "name": "content-type", "value": "text/plain" }],
    });
    assert!(call(&runtime, "fetch", sent).await.text().ends_with("\n\nhello"));
    assert_eq!(server.asked().last().unwrap().header("content-length"), ["5"]);
}

#[tokio::test]
async fn a_response_says_what_it_is_whatever_its_body() {
    let server = HttpServer::answering(|asked| {
        match asked.line.split(' ').nth(1) {
        Some("/made") => response("201 Created", &[("location", "items/7"), ("etag", "\"v1\"")], b"made"),
        Some("/broken") => response("500 Internal Server Error", &[("content-type", "image/png")], b"\x89PNG"),
        Some("/busy") => response("429 Too Many Requests", &[("retry-after", "30")], b""),
        Some("/cyrillic") => ok(
            &[("content-type", "text/html")],
            b"<meta charset=windows-1251><base href=/b/><p>\xcf\xf0\xe8\xe2\xe5\xf2 <a href=x>x</a><p hidden>no",
        ),
        Some("/script") => ok(&[("content-type", "application/x-sh")], b"echo hello\n"),
        _ => ok(&[], b""),
    }
    });
    let runtime = fetching(&[&server]);
    let origin = server.origin();
    let fetch = async |path: &str| call(&runtime, "fetch", json!({ "url": format!("{origin}{path}") })).await;
    let made = fetch("/made").await;
    let expected = format!(
        "HTTP 201 Created, no content type, from {origin}/made\nlocation: {origin}/items/7\netag: \"v1\"\n\nmade"
    );
    assert_eq!(made.text(), expected, "{made:?}");
    let broken = fetch("/broken").await;
    assert_eq!(broken.status, Status::Error, "{broken:?}");
    assert!(error(&broken).ends_with("The body is no text: 4 bytes."), "{broken:?}");
    let busy = fetch("/busy").await;
    assert!(error(&busy).ends_with("\nretry-after: 30"), "{busy:?}");
    let cyrillic = fetch("/cyrillic").await;
    assert!(cyrillic.text().ends_with(&format!("\n\nПривет [x]({origin}/b/x)")), "{cyrillic:?}");
    assert!(fetch("/script").await.text().ends_with("\n\necho hello\n"));
}

#[tokio::test]
async fn a_header_that_is_refused_is_told_from_an_origin() {
    let server = HttpServer::saying("ok");
    let grant = Grant::none()
        .secret("key", Secret::value("sk-live-0123456789"))
        .http(HttpGrant::to(&server.origin()).unwrap().header("authorization", Credential::secret("key")));
    let runtime = built(builder().component(ToolComponent::builtin("fetch").grant(grant)));
    for name in ["Authorization", "Range"] {
        let headers = json!([{ "name": name, "value": "x" }]);
        let outcome = call(&runtime, "fetch", json!({ "url": server.origin(), "headers": headers })).await;
        let told = format!("it is one of the headers: leave out `{name}`, and try again");
        assert!(error(&outcome).contains(&told), "{outcome:?}");
        assert_eq!(outcome.denials[0].capability, "http", "{outcome:?}");
    }
    assert!(call(&runtime, "fetch", json!({ "url": server.origin() })).await.text().ends_with("ok"));
}

#[tokio::test]
async fn a_redirect_leads_only_to_what_is_granted() {
    let target = HttpServer::saying("inside");
    let location = format!("{}/x", target.origin());
    let first = HttpServer::answering(move |_| response("302 Found", &[("location", &location)], b""));
    let arguments = json!({
        "url": first.origin(), "headers": [{ "name": "x-token", "value": "t0" }, { "name": "accept", "value": "*/*" }],
    });
    let outcome = call(&fetching(&[&first]), "fetch", arguments.clone()).await;
    assert!(error(&outcome).contains("are not allowed here"), "{outcome:?}");
    assert_eq!((outcome.denials.len(), target.connections_seen()), (1, 0));
    let outcome = call(&fetching(&[&first, &target]), "fetch", arguments).await;
    assert!(outcome.text().ends_with("inside"), "{outcome:?}");
    let asked = target.asked().pop().unwrap();
    assert_eq!((asked.header("x-token"), asked.header("accept")), (vec![], vec!["*/*"]));
}

#[tokio::test]
async fn what_cannot_be_fetched_says_why() {
    let runtime = fetching(&[]);
    for (url, expected) in [
        ("example.org", "no absolute URL"),
        ("file:///etc/passwd", "only http and https"),
        ("https://example.org", "requests to https://example.org are not allowed here"),
        ("http://169.254.169.254/latest", "requests to http://169.254.169.254 are not allowed here"),
    ] {
        let outcome = call(&runtime, "fetch", json!({ "url": url })).await;
        assert!(error(&outcome).contains(expected), "{outcome:?}");
    }
    let open = |runtime: &Runtime| {
        runtime.list().into_iter().find(|tool| tool.name() == "fetch").unwrap().hints().open_world
    };
    assert_eq!(open(&runtime), Some(false), "without a grant there is no world to be open to");
    assert_eq!(open(&fetching(&[&HttpServer::saying("")])), Some(true));
}

fn service() -> HttpServer {
    HttpServer::answering(|asked| {
        let target = asked.line.split(' ').nth(1).unwrap_or_default();
        let answer: Value = if target.starts_with("/v1/search?name=Oslo&") {
            json!({ "results": [{ "name": "Oslo", "latitude": 59.91, "longitude": 10.75, "country": "Norway", "admin1": "Oslo" }] })
        } else if target.starts_with("/v1/search") {
            json!({ "generationtime_ms": 0.4 })
        } else {
            json!({
                "current": {
                    "time": "2026-03-01T14:00", "temperature_2m": -2.5, "apparent_temperature": -6.0, "relative_humidity_2m": 80,
                    "precipitation": 0.2, "weather_code": 71, "wind_speed_10m": 12.5,
                },
                "daily": {
                    "time": ["2026-03-01", "2026-03-02", "2026-03-03"], "weather_code": [71, 0, 0],
                    "temperature_2m_max": [-1.0, 3.0, 4.0], "temperature_2m_min": [-7.0, null, 1.0],
                    "precipitation_probability_max": [90, 5, null],
                },
            })
        };
        ok(&[("content-type", "application/json")], answer.to_string().as_bytes())
    })
}

#[tokio::test]
async fn the_weather_of_a_place_is_told() {
    let server = service();
    let grant = Grant::none()
        .http(HttpGrant::to(&server.origin()).unwrap().methods(["GET"]).paths(["/v1"]).read_only())
        .config("places_url", server.origin())
        .config("forecast_url", server.origin());
    let named = grant.clone().config("city", "Oslo");
    let runtime = built(builder().component(ToolComponent::builtin("weather").grant(grant)));
    let outcome = call(&runtime, "weather", json!({ "city": "Oslo", "days": 2 })).await;
    let expected = json!({
        "place": "Oslo, Norway",
        "now": {
            "time": "2026-03-01T14:00", "sky": "light snow", "temperature_c": -2.5, "feels_like_c": -6,
            "humidity_percent": 80, "precipitation_mm": 0.2, "wind_kmh": 12.5,
        },
        "days": [
            { "date": "2026-03-01", "sky": "light snow", "high_c": -1, "low_c": -7, "rain_percent": 90 },
            { "date": "2026-03-03", "sky": "clear", "high_c": 4, "low_c": 1, "rain_percent": null },
        ],
    });
    assert_eq!(outcome.structured, Some(expected.clone()), "{outcome:?}");
    assert!(server.asked().last().unwrap().line.contains("latitude=59.91&longitude=10.75&"));
    let unknown = call(&runtime, "weather", json!({ "city": "Osloo" })).await;
    assert!(error(&unknown).contains("no place is named `Osloo`"), "{unknown:?}");
    let nowhere = call(&runtime, "weather", json!({})).await;
    assert!(error(&nowhere).contains("say which place"), "{nowhere:?}");
    // What the session says counts before what the operator does.
    let session = runtime.session("s").meta("city", "Oslo");
    assert_eq!(session.call(ToolCall::new("weather", json!({}))).await.structured, Some(expected.clone()));
    let configured = built(builder().component(ToolComponent::builtin("weather").grant(named)));
    assert_eq!(call(&configured, "weather", json!({})).await.structured, Some(expected));
}
