//! What a shell does itself.

mod declare;
mod flow;
mod folder;
mod getopts;
mod job;
mod lookup;
mod options;
mod printf;
mod read;
mod test;

pub use declare::{declaration, declare};

use crate::shell::Shell;
use crate::stop::Status;
use std::future::Future;
use std::pin::Pin;

/// A command that changes the shell it runs in.
pub type Builtin = for<'a> fn(&'a mut Shell, &'a [String]) -> Pin<Box<dyn Future<Output = Status> + 'a>>;

macro_rules! table {
    ($($name:literal => $run:path,)*) => {
        const TABLE: &[(&str, Builtin)] = &[$(($name, |shell, arguments| Box::pin($run(shell, arguments))),)*];
    };
}

table! {
    "." => flow::source,
    ":" => flow::nothing,
    "[" => test::bracket,
    "alias" => flow::nothing,
    "bash" => flow::shell,
    "break" => flow::leave,
    "builtin" => lookup::builtin,
    "caller" => flow::caller,
    "cd" => folder::cd,
    "command" => lookup::command,
    "continue" => flow::again,
    "dirs" => folder::dirs,
    "echo" => printf::echo,
    "eval" => flow::eval,
    "exec" => flow::exec,
    "exit" => flow::exit,
    "getopts" => getopts::getopts,
    "hash" => flow::nothing,
    "jobs" => job::jobs,
    "kill" => job::kill,
    "let" => flow::calculate,
    "mapfile" => read::mapfile,
    "popd" => folder::popd,
    "printf" => printf::printf,
    "pushd" => folder::pushd,
    "pwd" => folder::pwd,
    "read" => read::read,
    "readarray" => read::mapfile,
    "return" => flow::back,
    "set" => options::set,
    "sh" => flow::shell,
    "shift" => flow::shift,
    "shopt" => options::shopt,
    "source" => flow::source,
    "test" => test::test,
    "trap" => job::trap,
    "type" => lookup::kind,
    "umask" => flow::nothing,
    "unalias" => flow::nothing,
    "unset" => declare::unset,
    "wait" => job::wait,
    "which" => lookup::which,
}

pub fn find(name: &str) -> Option<Builtin> {
    TABLE
        .binary_search_by_key(&name, |(name, _)| name)
        .ok()
        .and_then(|index| TABLE.get(index))
        .map(|(_, run)| *run)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name).chain(declare::NAMES)
}
