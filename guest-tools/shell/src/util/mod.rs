//! The utilities, each a function over a shell's open files.

mod arrange;
mod awk;
mod cat;
mod change;
mod cmp;
mod columns;
mod copy;
mod cut;
pub mod date;
mod diff;
mod dump;
mod environment;
mod expr;
mod find;
mod grep;
mod gzip;
mod head;
mod input;
mod jq;
mod lines;
mod ls;
mod names;
pub mod options;
mod patch;
mod remove;
mod sed;
mod seq;
mod sort;
mod split;
mod stat;
mod sums;
mod tail;
mod tar;
mod tee;
mod tr;
mod uniq;
mod wc;
mod xargs;

use std::future::Future;
use std::pin::Pin;

use crate::shell::Shell;
use crate::stop::Status;

/// A command that could be a program of its own.
pub type Utility = for<'a> fn(&'a mut Shell, &'a [String]) -> Pin<Box<dyn Future<Output = Status> + 'a>>;

macro_rules! table {
    ($($name:literal => $run:path,)*) => {
        const TABLE: &[(&str, Utility)] = &[$(($name, |shell, arguments| Box::pin($run(shell, arguments))),)*];
    };
}

table! {
    "awk" => awk::awk,
    "base64" => sums::base64,
    "basename" => names::basename,
    "cat" => cat::run,
    "chmod" => change::chmod,
    "cmp" => cmp::run,
    "column" => arrange::column,
    "comm" => columns::comm,
    "cp" => copy::cp,
    "cut" => cut::run,
    "date" => date::run,
    "diff" => diff::run,
    "dirname" => names::dirname,
    "du" => stat::du,
    "egrep" => grep::egrep,
    "env" => environment::env,
    "expr" => expr::run,
    "false" => environment::failure,
    "fgrep" => grep::fgrep,
    "find" => find::run,
    "fold" => lines::fold,
    "gawk" => awk::awk,
    "grep" => grep::grep,
    "gunzip" => gzip::gunzip,
    "gzip" => gzip::gzip,
    "head" => head::run,
    "hostname" => environment::hostname,
    "id" => environment::id,
    "join" => columns::join,
    "jq" => jq::run,
    "ln" => change::ln,
    "ls" => ls::run,
    "md5sum" => sums::md5,
    "mkdir" => change::mkdir,
    "mktemp" => change::mktemp,
    "mv" => copy::mv,
    "nl" => lines::nl,
    "nproc" => environment::nproc,
    "od" => dump::od,
    "paste" => columns::paste,
    "patch" => patch::run,
    "printenv" => environment::printenv,
    "readlink" => change::readlink,
    "realpath" => names::realpath,
    "rev" => lines::rev,
    "rm" => remove::rm,
    "rmdir" => remove::rmdir,
    "sed" => sed::sed,
    "seq" => seq::run,
    "sha224sum" => sums::sha224,
    "sha256sum" => sums::sha256,
    "sha384sum" => sums::sha384,
    "sha512sum" => sums::sha512,
    "shuf" => arrange::shuf,
    "sleep" => environment::sleep,
    "sort" => sort::run,
    "split" => split::run,
    "stat" => stat::stat,
    "tac" => lines::tac,
    "tail" => tail::run,
    "tar" => tar::run,
    "tee" => tee::run,
    "timeout" => environment::timeout,
    "touch" => change::touch,
    "tr" => tr::run,
    "true" => environment::success,
    "truncate" => change::truncate,
    "uname" => environment::uname,
    "uniq" => uniq::run,
    "wc" => wc::run,
    "whoami" => environment::whoami,
    "xargs" => xargs::run,
    "xxd" => dump::xxd,
    "yes" => lines::yes,
    "zcat" => gzip::zcat,
}

/// The utility of that name, or at the path where a system would have it.
pub fn find(name: &str) -> Option<Utility> {
    let name = ["/usr/bin/", "/bin/", "/usr/local/bin/"]
        .iter()
        .find_map(|folder| name.strip_prefix(folder))
        .unwrap_or(name);
    TABLE
        .binary_search_by_key(&name, |(name, _)| name)
        .ok()
        .and_then(|index| TABLE.get(index))
        .map(|(_, run)| *run)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}
