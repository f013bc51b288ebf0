//! What the program prints, on its way to the reader in pieces.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use boa_engine::{Context, Finalize, JsResult, Trace};
use boa_runtime::{ConsoleState, Logger};

use crate::host::Host;

/// A piece this long is given out at once, so that no program fills the memory by printing.
const PIECE: usize = 16 * 1024;

/// What was printed and is not given out yet is lost when the call is stopped, and each piece is a block of the result:
/// this often is soon enough for the one and rare enough for the other.
const PAUSE: Duration = Duration::from_millis(100);

/// Before a sleep that is as long, what is no line yet is given out too: a call may be stopped in it, and nothing that would
/// end the line follows soon.
const FAR: Duration = Duration::from_secs(1);

/// As much of it is in the data beside the result too.
const KEPT: usize = 32 * 1024;

/// The lines of a program.
pub(crate) struct Lines {
    host: Rc<dyn Host>,
    waiting: RefCell<String>,
    shown: Cell<Instant>,
    kept: RefCell<String>,
}

impl Lines {
    pub(crate) fn new(host: Rc<dyn Host>) -> Rc<Self> {
        let shown = Cell::new(Instant::now());
        Rc::new(Self { host, waiting: RefCell::default(), shown, kept: RefCell::default() })
    }

    fn print(&self, line: &str, indent: usize) {
        let mut text = String::new();
        for line in line.split('\n') {
            text.extend(std::iter::repeat_n(' ', indent));
            text.push_str(line);
            text.push('\n');
        }
        self.write(&text);
    }

    /// Prints text that need not be whole lines.
    pub(crate) fn write(&self, text: &str) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.push_str(text);
        let full = waiting.len() >= PIECE;
        drop(waiting);
        if full { self.flush() } else { self.flush_in_time() }
    }

    /// Gives out before a sleep what a reader should not wait for.
    pub(crate) fn wait(&self, sleep: Duration) {
        match sleep {
            sleep if sleep >= FAR => self.flush(),
            sleep if sleep >= PAUSE => self.flush_lines(),
            _ => self.flush_in_time(),
        }
    }

    /// Gives out the lines that wait, unless something was given out just now.
    pub(crate) fn flush_in_time(&self) {
        if self.shown.get().elapsed() >= PAUSE {
            self.flush_lines();
        }
    }

    /// Gives out what waits, up to the end of its last line: a piece is a block of its own for the reader.
    fn flush_lines(&self) {
        let mut waiting = self.waiting.borrow_mut();
        let end = waiting.rfind('\n').map_or(0, |at| at + 1);
        let rest = waiting.split_off(end);
        let lines = std::mem::replace(&mut *waiting, rest);
        drop(waiting);
        self.show(&lines);
    }

    /// Gives out all that waits.
    pub(crate) fn flush(&self) {
        let text = std::mem::take(&mut *self.waiting.borrow_mut());
        self.show(&text);
    }

    fn show(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.host.show(text.strip_suffix('\n').unwrap_or(text));
        self.shown.set(Instant::now());
        let mut kept = self.kept.borrow_mut();
        let room = KEPT.saturating_sub(kept.len());
        kept.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() > room && room > 0 {
            kept.push_str("\n[more was printed]\n");
        }
    }

    /// What was printed, up to a bound.
    pub(crate) fn kept(&self) -> String {
        self.flush();
        self.kept.borrow().clone()
    }
}

/// The `console` of a program. Nothing of it is of the collector's.
#[derive(Trace, Finalize)]
pub(crate) struct Console {
    #[unsafe_ignore_trace]
    lines: Rc<Lines>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Console")
    }
}

impl Console {
    pub(crate) fn new(lines: Rc<Lines>) -> Self {
        Self { lines }
    }
}

impl Logger for Console {
    fn log(&self, text: String, state: &ConsoleState, _: &mut Context) -> JsResult<()> {
        self.lines.print(&text, state.indent());
        Ok(())
    }

    fn info(&self, text: String, state: &ConsoleState, context: &mut Context) -> JsResult<()> {
        self.log(text, state, context)
    }

    fn warn(&self, text: String, state: &ConsoleState, context: &mut Context) -> JsResult<()> {
        self.log(text, state, context)
    }

    fn error(&self, text: String, state: &ConsoleState, context: &mut Context) -> JsResult<()> {
        self.log(text, state, context)
    }
}
