//! What is asked of a shared store. Every method blocks, for a few seconds at most.

use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::address::StoreAddress;
use super::connection::{Connection, Reply};

/// Connections that are kept while nobody uses them.
const MAX_IDLE: usize = 8;

/// How often a change is tried that others get in the way of.
const TRIES: usize = 32;

/// How long a subscriber waits for a message before it looks whether it is still connected.
const QUIET: Duration = Duration::from_secs(15);

/// What stands before every name in the store.
const PREFIX: &str = "toolcell:";

/// A store that several instances share. All that is in it goes after a time of its own.
pub struct SharedStore {
    address: StoreAddress,
    password: Option<String>,
    idle: Mutex<Vec<Connection>>,
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the shared store {}", self.address.as_str())
    }
}

impl SharedStore {
    /// A store, to which nothing is connected yet.
    pub fn new(address: StoreAddress, password: Option<String>) -> Self {
        Self { address, password, idle: Mutex::default() }
    }

    /// Connects, to see whether it is there.
    ///
    /// # Errors
    /// Says why it cannot be used.
    pub fn check(&self) -> io::Result<()> {
        self.run(&[b"PING"]).map(drop)
    }

    /// The value of that name.
    pub(crate) fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.run(&[b"GET", &key(name)]).map(value)
    }

    /// The value of that name, which from now on stays for `life`.
    pub(crate) fn renew(&self, name: &str, life: Duration) -> io::Result<Option<Vec<u8>>> {
        self.run(&[b"GETEX", &key(name), b"PX", &millis(life)]).map(value)
    }

    /// Sets a value for `life`.
    pub(crate) fn set(&self, name: &str, bytes: &[u8], life: Duration) -> io::Result<()> {
        self.run(&[b"SET", &key(name), bytes, b"PX", &millis(life)]).map(drop)
    }

    /// Takes a name for `life`; whether nobody had it.
    pub(crate) fn take(&self, name: &str, life: Duration) -> io::Result<bool> {
        Ok(self.run(&[b"SET", &key(name), b"1", b"NX", b"PX", &millis(life)])? != Reply::Nothing)
    }

    /// Removes a value; whether it was there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<bool> {
        Ok(self.run(&[b"DEL", &key(name)])? == Reply::Number(1))
    }

    /// Puts an item before a list, of which `most` stay, for `life`.
    pub(crate) fn push(&self, name: &str, item: &[u8], most: usize, life: Duration) -> io::Result<()> {
        let name = key(name);
        let last = most.saturating_sub(1).to_string();
        self.run(&[b"LPUSH", &name, item])?;
        self.run(&[b"LTRIM", &name, b"0", last.as_bytes()])?;
        self.run(&[b"PEXPIRE", &name, &millis(life)]).map(drop)
    }

    /// The items of a list, the newest first.
    pub(crate) fn list(&self, name: &str) -> io::Result<Vec<Vec<u8>>> {
        match self.run(&[b"LRANGE", &key(name), b"0", b"-1"])? {
            Reply::List(items) => Ok(items.into_iter().filter_map(value).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Changes a value in one step: `change` gets what is there, gives what is to be there and for how long, and may be asked
    /// again with what came in between.
    pub(crate) fn change<T, E: From<io::Error>>(
        &self,
        name: &str,
        mut change: impl FnMut(Option<Vec<u8>>) -> Result<(Vec<u8>, Duration, T), E>,
    ) -> Result<T, E> {
        let name = key(name);
        for _ in 0..TRIES {
            // A connection of its own, since what is watched is the connection's.
            let mut connection = self.connection()?;
            connection.run(&[b"WATCH", &name])?;
            let (bytes, life, changed) = change(value(connection.run(&[b"GET", &name])?))?;
            connection.run(&[b"MULTI"])?;
            connection.run(&[b"SET", &name, &bytes, b"PX", &millis(life)])?;
            if connection.run(&[b"EXEC"])? != Reply::Nothing {
                self.keep(connection);
                return Ok(changed);
            }
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy).into())
    }

    /// Says something to all instances.
    pub(crate) fn publish(&self, channel: &str, message: &[u8]) -> io::Result<()> {
        self.run(&[b"PUBLISH", &key(channel), message]).map(drop)
    }

    /// Hears what is said to all instances, until the connection breaks or `hear` returns false; that is asked with nothing
    /// from time to time.
    pub(crate) fn subscribe(
        &self,
        channel: &str,
        mut hear: impl FnMut(Option<&[u8]>) -> bool,
    ) -> io::Result<()> {
        let mut connection = Connection::open(&self.address, self.password.as_deref())?;
        connection.run(&[b"SUBSCRIBE", &key(channel)])?;
        connection.wait(QUIET)?;
        let mut is_asked = false;
        loop {
            let message = match connection.reply() {
                Ok(Reply::List(parts)) => parts.into_iter().next_back().and_then(value),
                Ok(_) => None,
                Err(error)
                    if !is_asked
                        && matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
                {
                    is_asked = true;
                    connection.send(&[b"PING"])?;
                    if !hear(None) {
                        return Ok(());
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            is_asked = false;
            // The answer to a question of ours is empty.
            if !hear(message.as_deref().filter(|message| !message.is_empty())) {
                return Ok(());
            }
        }
    }

    fn run(&self, command: &[&[u8]]) -> io::Result<Reply> {
        while let Some(mut connection) = self.kept() {
            match connection.run(command) {
                Ok(reply) => {
                    self.keep(connection);
                    return Ok(reply);
                }
                Err(error) if error.kind() == io::ErrorKind::Other => {
                    self.keep(connection);
                    return Err(error);
                }
                // The store closes what nobody uses. Every command may be run twice.
                Err(_) => {}
            }
        }
        let mut connection = self.connection()?;
        let reply = connection.run(command)?;
        self.keep(connection);
        Ok(reply)
    }

    fn connection(&self) -> io::Result<Connection> {
        Connection::open(&self.address, self.password.as_deref())
    }

    fn kept(&self) -> Option<Connection> {
        self.lock().pop()
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.lock();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(name: &str) -> Vec<u8> {
    format!("{PREFIX}{name}").into_bytes()
}

fn millis(life: Duration) -> Vec<u8> {
    life.as_millis().clamp(1, u128::from(u32::MAX)).to_string().into_bytes()
}

fn value(reply: Reply) -> Option<Vec<u8>> {
    match reply {
        Reply::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}
