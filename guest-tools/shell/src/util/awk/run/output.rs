//! What is printed, and where.

use super::{Done, Flow, Machine, fatal};
use crate::util::awk::stream::at_once;
use crate::util::awk::tree::{Expression, Target, place};

/// What one action may print into a pipe before the other end gets its turn.
const PRINTED: usize = 32 << 20;

impl Machine<'_> {
    pub(super) fn print(&mut self, items: &[Expression]) -> Done<String> {
        let mut text = String::new();
        if items.is_empty() {
            text.push_str(&self.whole());
        }
        let (joiner, format) = (self.global_text(place::OFS), self.global_text(place::OFMT));
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push_str(&joiner);
            }
            text.push_str(&self.value(item)?.to_text(&format));
        }
        text.push_str(&self.global_text(place::ORS));
        Ok(text)
    }

    pub(super) fn write(&mut self, bytes: &[u8], target: Option<&(Target, Expression)>) -> Done<()> {
        let Some((kind, name)) = target else { return self.write_out(bytes) };
        let name = self.text(name)?;
        let result = match (kind, &*name) {
            (Target::Command, command) => self.streams.write_command(command, bytes),
            (_, "/dev/stdout" | "-") => return self.write_out(bytes),
            (_, "/dev/stderr") => at_once(self.shell.stderr().write(bytes)),
            (kind, name) => self.streams.write_file(self.shell, name, *kind == Target::Append, bytes),
        };
        result.map_err(Flow::Stop)
    }

    pub fn write_out(&mut self, bytes: &[u8]) -> Done<()> {
        self.out.put(bytes);
        if !self.out.is_pipe() {
            return at_once(self.out.check()).map_err(Flow::Stop);
        }
        if self.out.len() > PRINTED {
            return fatal(format!("fatal: more than {PRINTED} bytes printed at once"));
        }
        Ok(())
    }
}
