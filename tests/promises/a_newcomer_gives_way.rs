//! Connections on which nobody has shown who asks hold nobody off from `toolcell mcp --http`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

const ADA: &str = "ada-0123456789abcdef";

fn serving(line: &CommandLine, server: &str) -> HttpServer {
    let tokens = "tokens = { ada = { env = \"ADA\" } }\n";
    line.write(
        "toolcell.toml",
        format!("[server]\n{tokens}{server}[component.basics]\npath = \"builtin:basics\"\n"),
    );
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    HttpServer::start(line.command(&arguments).env("ADA", ADA))
}

fn listing(token: &str) -> HttpRequest {
    let request = HttpRequest::current(1, "tools/list", json!({}), json!({}));
    request.header("Authorization", &format!("Bearer {token}"))
}

fn is_closed(mut connection: TcpStream) -> bool {
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).is_err() || rest.is_empty()
}

#[test]
fn connections_that_say_nothing_hold_nobody_off() {
    let line = CommandLine::new();
    let server = serving(&line, "connections = 4\nheader_timeout = \"10m\"\n");
    // One that is known, and stays.
    let mut known = server.connect();
    known.write_all(&listing(ADA).bytes(&server.address)).unwrap();
    let mut buffer = [0; 16];
    known.read_exact(&mut buffer).unwrap();
    let idle: Vec<TcpStream> = (0..40)
        .map(|at| {
            let mut connection = server.connect();
            let begun: &[u8] = if at % 2 == 0 { b"" } else { b"POST /mcp HTTP/1.1\r\nHost: a" };
            connection.write_all(begun).unwrap();
            connection
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(server.send(listing(ADA)).status, 200);
        assert_eq!(server.send(HttpRequest::new("GET", "/healthz")).status, 200);
    }
    // Nobody is one who is known by being refused.
    assert_eq!(server.send(listing("a-wrong-token-0123")).status, 401);
    assert!(idle.into_iter().all(is_closed));
    let mut rest = vec![0; 1 << 20];
    assert!(known.read(&mut rest).is_ok_and(|read| read > 0));
    known.write_all(&listing(ADA).bytes(&server.address)).unwrap();
    assert_eq!(HttpResponse::read(known).status, 200, "whoever is known keeps its connection");
}

#[test]
fn a_connection_has_little_time_to_show_who_asks() {
    let line = CommandLine::new();
    let server = serving(&line, "header_timeout = \"10m\"\n");
    assert!(is_closed(server.connect()));
    let mut asking = server.connect();
    asking.write_all(&listing("a-wrong-token-0123").bytes(&server.address)).unwrap();
    let mut refused = Vec::new();
    asking.read_to_end(&mut refused).unwrap();
    assert!(refused.starts_with(b"HTTP/1.1 401"), "{}", String::from_utf8_lossy(&refused));
}
