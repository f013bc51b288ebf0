//! What a program of awk reads from and writes to beside its input and output.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::files;
use crate::shell::{Shell, run_text, subshell};
use crate::stop::{Status, Stop, fail, words};
use crate::stream::{Captured, Handle, Out};
use crate::task;

/// What one command may give or get.
const MOST: usize = 32 << 20;

/// Files and commands by their names.
#[derive(Default)]
pub struct Streams {
    readers: HashMap<String, Handle>,
    files: HashMap<String, Out>,
    /// The input of commands, which run when they are closed.
    commands: Vec<(String, Vec<u8>)>,
}

/// The value of a future that has nothing to wait for.
pub fn at_once<T>(future: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => fail("cannot wait for a pipe here"),
    }
}

/// Runs a command to its end; gives what it wrote and its status.
pub fn run_command(shell: &Shell, depth: u32, command: &str, input: Handle) -> Result<(Vec<u8>, i32), Stop> {
    let (handle, kept) = Handle::kept(Captured::whole(MOST));
    let mut child = shell.child()?;
    // What awk's own statements take of the stack, and this call from within it.
    child.depth = (depth / 2 + 8).max(child.depth);
    child.fds.set(0, input);
    child.fds.set(1, handle);
    let status = task::block_on(async {
        let result = run_text(&mut child, command).await;
        subshell::finish(&mut child, result).await
    })?;
    let bytes = kept.borrow_mut().take();
    Ok((bytes, status))
}

impl Streams {
    /// The next line of a file; none at its end, an error if there is no such file.
    pub fn read_file(&mut self, shell: &Shell, name: &str) -> Result<Option<Vec<u8>>, ()> {
        if !self.readers.contains_key(name) {
            let handle =
                if name == "-" { shell.stdin() } else { files::read(shell, name).map_err(|_| ())? };
            self.readers.insert(name.to_owned(), handle);
        }
        self.line(name).map_err(|_| ())
    }

    pub fn read_command(
        &mut self,
        shell: &Shell,
        depth: u32,
        command: &str,
    ) -> Result<Option<Vec<u8>>, Stop> {
        let key = format!("|{command}");
        if !self.readers.contains_key(&key) {
            let (bytes, _) = run_command(shell, depth, command, shell.stdin())?;
            self.readers.insert(key.clone(), Handle::text(bytes));
        }
        self.line(&key)
    }

    fn line(&mut self, key: &str) -> Result<Option<Vec<u8>>, Stop> {
        let Some(handle) = self.readers.get(key) else { return Ok(None) };
        let mut line = Vec::new();
        Ok(at_once(handle.line(&mut line))?.then_some(line))
    }

    pub fn write_file(&mut self, shell: &Shell, name: &str, append: bool, bytes: &[u8]) -> Result<(), Stop> {
        if !self.files.contains_key(name) {
            let opened = if append { files::append(shell, name) } else { files::write(shell, name) };
            match opened {
                Ok(handle) => {
                    self.files.insert(name.to_owned(), Out::new(handle));
                }
                Err(error) => {
                    return Err(Stop::Fail(
                        2,
                        format!("fatal: cannot redirect to `{name}': {}", words(&error)),
                    ));
                }
            }
        }
        let Some(out) = self.files.get_mut(name) else { return Ok(()) };
        out.put(bytes);
        at_once(out.check())
    }

    pub fn write_command(&mut self, command: &str, bytes: &[u8]) -> Result<(), Stop> {
        let index = self.commands.iter().position(|(known, _)| known == command).unwrap_or_else(|| {
            self.commands.push((command.to_owned(), Vec::new()));
            self.commands.len() - 1
        });
        let Some((_, input)) = self.commands.get_mut(index) else { return Ok(()) };
        if input.len() > MOST {
            return fail(format!("more than {MOST} bytes for one command"));
        }
        input.extend_from_slice(bytes);
        Ok(())
    }

    /// Closes what has that name; gives what a command wrote, and whether anything was open.
    pub fn close(&mut self, shell: &Shell, depth: u32, name: &str) -> Result<(Vec<u8>, i32), Stop> {
        let mut status = -1;
        if self.readers.remove(name).is_some() || self.readers.remove(&format!("|{name}")).is_some() {
            status = 0;
        }
        if let Some(mut out) = self.files.remove(name) {
            at_once(out.flush())?;
            status = 0;
        }
        if let Some(index) = self.commands.iter().position(|(command, _)| command == name) {
            let (command, input) = self.commands.remove(index);
            return run_command(shell, depth, &command, Handle::text(input));
        }
        Ok((Vec::new(), status))
    }

    pub fn flush(&mut self) -> Result<(), Stop> {
        self.files.values_mut().try_for_each(|out| at_once(out.flush()))
    }

    /// Closes everything at the end of the program.
    pub async fn finish(&mut self, shell: &mut Shell) -> Status {
        for out in self.files.values_mut() {
            out.flush().await?;
        }
        let mut status = 0;
        for (command, input) in std::mem::take(&mut self.commands) {
            let mut child = shell.child()?;
            child.fds.set(0, Handle::text(input));
            let result = run_text(&mut child, &command).await;
            status = subshell::finish(&mut child, result).await?;
        }
        Ok(status)
    }
}
