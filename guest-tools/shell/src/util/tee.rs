//! `tee`

use super::options::Spelling;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, words};

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("aip", &[("append", 'a')]).read(arguments)?;
    let (mut status, mut targets) = (0, vec![shell.stdout()]);
    for name in &options.operands {
        match if options.has('a') { files::append(shell, name) } else { files::write(shell, name) } {
            Ok(handle) => targets.push(handle),
            Err(error) => {
                shell.warn(format!("tee: {name}: {}", words(&error))).await?;
                status = 1;
            }
        }
    }
    let stdin = shell.stdin();
    loop {
        let chunk = stdin.chunk().await?;
        if chunk.is_empty() {
            return Ok(status);
        }
        for target in &targets {
            target.write(&chunk).await?;
        }
    }
}
