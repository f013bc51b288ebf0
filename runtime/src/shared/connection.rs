//! One connection to a store, and the protocol on it (RESP, of Redis): commands as lists of bytes, replies bounded.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use super::address::StoreAddress;

/// How long the store may take to take a connection, a command, or to answer one. It is near by, or of no use.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of one value: the largest output that is kept is smaller.
const MAX_VALUE: usize = 64 << 20;

/// Bytes of a line that is no value.
const MAX_LINE: u64 = 4 << 10;

/// Items of a list, and how deep lists may be in each other.
const MAX_ITEMS: usize = 4096;
const MAX_DEPTH: usize = 4;

/// What the store answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Nothing,
    Status(String),
    Number(i64),
    Bytes(Vec<u8>),
    List(Vec<Reply>),
}

/// A connection.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects, proves who asks, and chooses the database.
    ///
    /// # Errors
    /// When nobody answers in time, or the store refuses.
    pub fn open(address: &StoreAddress, password: Option<&str>) -> io::Result<Self> {
        let (host, port) = &address.place;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for place in (host.as_str(), *port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, PATIENCE) {
                Ok(stream) => return Self::greet(stream, address, password),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn greet(stream: TcpStream, address: &StoreAddress, password: Option<&str>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut connection = Self { stream: BufReader::new(stream) };
        if let Some(password) = password {
            connection.run(&[b"AUTH", password.as_bytes()])?;
        }
        if address.database != 0 {
            connection.run(&[b"SELECT", address.database.to_string().as_bytes()])?;
        }
        Ok(connection)
    }

    /// Runs one command.
    ///
    /// # Errors
    /// When the store refuses it (`Other`), or the connection is of no use any more.
    pub fn run(&mut self, command: &[&[u8]]) -> io::Result<Reply> {
        self.send(command)?;
        self.reply()
    }

    /// Sends a command whose reply is read later.
    ///
    /// # Errors
    /// When the connection is of no use any more.
    pub fn send(&mut self, command: &[&[u8]]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
        for part in command {
            bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)
    }

    /// The next reply.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn reply(&mut self) -> io::Result<Reply> {
        read(&mut self.stream, 0)
    }

    /// How long the next replies may take.
    ///
    /// # Errors
    /// When the operating system does not take it.
    pub fn wait(&self, patience: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(patience))
    }
}

fn read(stream: &mut impl io::BufRead, depth: usize) -> io::Result<Reply> {
    let line = line(stream)?;
    let (kind, rest) = line.split_at_checked(1).ok_or_else(unreadable)?;
    let length = || usize::try_from(rest.parse::<i64>().map_err(|_| unreadable())?).map_err(|_| unreadable());
    match kind {
        "+" => Ok(Reply::Status(rest.to_owned())),
        "-" => Err(io::Error::other(rest.to_owned())),
        ":" => rest.parse().map(Reply::Number).map_err(|_| unreadable()),
        "$" | "*" if rest == "-1" => Ok(Reply::Nothing),
        "_" => Ok(Reply::Nothing),
        "$" => {
            let length = length()?;
            if length > MAX_VALUE {
                return Err(unreadable());
            }
            let mut bytes = vec![0; length.saturating_add(2)];
            stream.read_exact(&mut bytes)?;
            if !bytes.ends_with(b"\r\n") {
                return Err(unreadable());
            }
            bytes.truncate(length);
            Ok(Reply::Bytes(bytes))
        }
        "*" => {
            let length = length()?;
            if length > MAX_ITEMS || depth >= MAX_DEPTH {
                return Err(unreadable());
            }
            (0..length).map(|_| read(stream, depth + 1)).collect::<io::Result<_>>().map(Reply::List)
        }
        _ => Err(unreadable()),
    }
}

fn line(stream: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix(b"\r\n").ok_or_else(unreadable)?;
    String::from_utf8(line.to_vec()).map_err(|_| unreadable())
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it does not speak the protocol of Redis")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn reply(text: &str) -> io::Result<Reply> {
        read(&mut text.as_bytes(), 0)
    }

    #[test]
    fn replies_are_read() {
        let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
        for (text, expected) in [
            ("+OK\r\n", Reply::Status("OK".to_owned())),
            (":-7\r\n", Reply::Number(-7)),
            ("$-1\r\n", Reply::Nothing),
            ("*-1\r\n", Reply::Nothing),
            ("$0\r\n\r\n", bytes("")),
            ("$4\r\na\r\nb\r\n", bytes("a\r\nb")),
            (
                "*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
                Reply::List(vec![bytes("a"), Reply::List(vec![Reply::Number(1)])]),
            ),
        ] {
            assert_eq!(reply(text).unwrap(), expected, "{text:?}");
        }
        assert_eq!(reply("-ERR no\r\n").unwrap_err().kind(), io::ErrorKind::Other);
    }

    #[test]
    fn what_is_no_reply_is_refused_within_bounds() {
        let deep = "*1\r\n".repeat(10);
        for text in [
            "",
            "\r\n",
            "HTTP/1.1 400\r\n",
            "$99999999999\r\n",
            "$-2\r\n",
            "$2\r\nabc\r\n",
            "$3\r\nab",
            "*99999\r\n",
            ":x\r\n",
            "+no end",
            "+\n",
            &deep,
            &"+".repeat(10_000),
        ] {
            assert!(reply(text).is_err(), "{text:?}");
        }
    }
}
