//! Open files by their numbers.

use std::collections::BTreeMap;

use crate::stream::Handle;

/// The files that a command has open.
#[derive(Clone, Default)]
pub struct Fds(BTreeMap<u32, Handle>);

impl Fds {
    pub fn new(stdin: Handle, stdout: Handle, stderr: Handle) -> Self {
        Self(BTreeMap::from([(0, stdin), (1, stdout), (2, stderr)]))
    }

    /// What is not open reads and writes nothing.
    pub fn get(&self, fd: u32) -> Handle {
        self.0.get(&fd).cloned().unwrap_or(Handle::Null)
    }

    pub fn find(&self, fd: u32) -> Option<Handle> {
        self.0.get(&fd).cloned()
    }

    pub fn set(&mut self, fd: u32, handle: Handle) {
        self.0.insert(fd, handle);
    }

    pub fn close(&mut self, fd: u32) {
        self.0.remove(&fd);
    }

    /// The first number that is free for a script's own files.
    pub fn fresh(&self) -> u32 {
        (10..).find(|fd| !self.0.contains_key(fd)).unwrap_or(u32::MAX)
    }

    /// A number that is free, counting down as a shell does for substituted processes.
    pub fn free(&self) -> u32 {
        (10..=63).rev().find(|fd| !self.0.contains_key(fd)).unwrap_or(9)
    }
}
