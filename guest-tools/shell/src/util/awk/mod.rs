//! `awk`

mod function;
mod lex;
mod parse;
mod record;
mod run;
mod stream;
mod tree;
mod value;

use super::input;
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};
use run::{Flow, Machine};
use value::Value;

const SPELLING: Spelling = Spelling::new(
    "F:v:f:1:W:2",
    &[
        ("field-separator", 'F'),
        ("assign", 'v'),
        ("file", 'f'),
        ("re-interval", '2'),
        ("posix", '2'),
        ("characters-as-bytes", '2'),
    ],
)
.status(2)
.ordered();

pub async fn awk(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut options = SPELLING.read(arguments)?;
    let mut text = String::new();
    for name in options.values('f') {
        text.push_str(&String::from_utf8_lossy(&input::whole(shell, name).await?));
        text.push('\n');
    }
    if !options.has('f') {
        if options.operands.is_empty() {
            return wrong(2, "usage: awk [-F fs] [-v var=value] 'prog' [file ...]");
        }
        text = options.operands.remove(0);
    }
    let program = parse::parse(&text).map_err(|message| Stop::Fail(1, message))?;
    let mut machine = Machine::new(shell, program, &options.operands)?;
    if let Some(separator) = options.value('F') {
        let separator = if separator == "t" { "\t".to_owned() } else { lex::unescape(separator) };
        machine.set_global(tree::place::FS, Value::text(separator));
    }
    for assignment in options.values('v') {
        if !machine.assign(assignment) {
            return wrong(2, format!("`{assignment}' argument to `-v' not in `var=value' form"));
        }
    }
    if machine.needs_whole_input() {
        // A program that reads by itself cannot wait for a pipe in the middle of an expression.
        let whole = machine.shell.stdin().rest().await?;
        machine.shell.fds.set(0, crate::stream::Handle::text(whole));
    }
    let result = run(&mut machine).await;
    let code = machine.code;
    match result {
        Ok(()) => {}
        Err(Flow::Stop(stop)) => {
            // What was printed before the failure was printed.
            machine.out.flush().await?;
            return Err(stop);
        }
        Err(_) => {}
    }
    machine.finish().await?;
    Ok(code)
}

/// `BEGIN`, the records, `END`.
async fn run(machine: &mut Machine<'_>) -> Result<(), Flow> {
    let mut ended = false;
    match machine.begin() {
        Ok(()) | Err(Flow::Next) => {}
        Err(Flow::Exit) => ended = true,
        Err(flow) => return Err(flow),
    }
    machine.out.check().await.map_err(Flow::Stop)?;
    if !ended && machine.reads_records() {
        while machine.next_record().await? {
            match machine.rules() {
                Ok(()) | Err(Flow::Next) => {}
                Err(Flow::NextFile) => machine.skip_file(),
                Err(Flow::Exit) => break,
                Err(flow) => return Err(flow),
            }
            machine.out.check().await.map_err(Flow::Stop)?;
        }
    }
    if ended && machine.left {
        return Ok(());
    }
    match machine.end() {
        Ok(()) | Err(Flow::Next | Flow::Exit) => Ok(()),
        Err(flow) => Err(flow),
    }
}
