//! Streams, environment, arguments, and ends.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};

use wasip2::cli::{stdin, stdout};
use wasip2::random::{insecure, random};

use crate::Probe;
use crate::bindings::exports::toolcell::guests::process::{Channel, Failure, Guest};
use crate::bindings::wasi::config::store;

fn write_all(channel: Channel, bytes: &[u8]) {
    let written = match channel {
        Channel::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        Channel::Stderr => io::stderr().write_all(bytes),
    };
    // As `println!` does: a guest whose output is refused fails.
    written.unwrap_or_else(|error| panic!("cannot print: {error}"));
}

impl Guest for Probe {
    fn print(channel: Channel, pattern: String, count: u32) -> u64 {
        (0..count).for_each(|_| write_all(channel, pattern.as_bytes()));
        pattern.len() as u64 * u64::from(count)
    }

    fn print_bytes(channel: Channel, bytes: Vec<u8>, count: u32, chunk: u32) -> u64 {
        let chunk = if chunk == 0 { bytes.len().max(1) } else { chunk as usize };
        for _ in 0..count {
            bytes.chunks(chunk).for_each(|piece| write_all(channel, piece));
        }
        bytes.len() as u64 * u64::from(count)
    }

    fn print_and_trap(start: String) {
        write_all(Channel::Stdout, start.as_bytes());
        std::process::abort();
    }

    fn print_zeroes(length: u64) -> Result<(), String> {
        stdout::get_stdout().write_zeroes(length).map_err(|error| format!("{error:?}"))
    }

    fn splice(length: u64) -> Result<u64, String> {
        stdout::get_stdout().splice(&stdin::get_stdin(), length).map_err(|error| format!("{error:?}"))
    }

    fn panic_with(message: String) {
        panic!("{message}");
    }

    fn trap() {
        std::process::abort();
    }

    fn exit_with(code: i32) {
        std::process::exit(code);
    }

    fn environment() -> Vec<(String, String)> {
        std::env::vars().collect()
    }

    fn arguments() -> Vec<String> {
        std::env::args().collect()
    }

    fn read_stdin() -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn read_stdin_once(length: u64) -> Result<u64, String> {
        let bytes = stdin::get_stdin().blocking_read(length).map_err(|error| format!("{error:?}"))?;
        Ok(bytes.len() as u64)
    }

    fn random(length: u64) -> u64 {
        random::get_random_bytes(length).iter().map(|byte| u64::from(*byte)).sum()
    }

    fn random_insecure(length: u64) -> u64 {
        insecure::get_insecure_random_bytes(length).iter().map(|byte| u64::from(*byte)).sum()
    }

    fn fail(message: String) -> Result<String, String> {
        if message.is_empty() { Ok("did not fail".to_owned()) } else { Err(message) }
    }

    fn fail_record(code: u32) -> Result<u32, Failure> {
        if code == 0 { Ok(0) } else { Err(Failure { code, reason: format!("failed with {code}") }) }
    }

    fn fail_bare() -> Result<(), ()> {
        Err(())
    }

    fn config_value(key: String) -> Result<Option<String>, String> {
        store::get(&key).map_err(|error| format!("{error:?}"))
    }

    fn config_values() -> Result<Vec<(String, String)>, String> {
        store::get_all().map_err(|error| format!("{error:?}"))
    }

    fn net_connect(host: String, port: u16) -> Result<String, String> {
        let stream = TcpStream::connect((host.as_str(), port)).map_err(|error| error.to_string())?;
        stream.peer_addr().map(|address| address.to_string()).map_err(|error| error.to_string())
    }

    fn net_send(host: String, port: u16) -> Result<String, String> {
        let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| error.to_string())?;
        socket.send_to(b"datagram", (host.as_str(), port)).map_err(|error| error.to_string())?;
        socket.local_addr().map(|address| address.to_string()).map_err(|error| error.to_string())
    }
}
