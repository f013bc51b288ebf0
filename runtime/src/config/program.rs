//! Programs that a configuration names.

use std::path::{Path, PathBuf};

use super::code::code;
use super::document::Address;
use super::validate::Validator;

/// The `PATH` of programs that a configuration names: that of the operator's shell may lead into a project.
pub const HOOK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The file of a program: with a `/` in its name relative to `folder`, without one in a folder of `path`.
pub(crate) fn find_program(name: &Path, folder: &Path, path: &str) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file())
            && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.as_os_str().is_empty() {
        return None;
    }
    if name.as_os_str().as_encoded_bytes().contains(&b'/') {
        // Without the `.` that people write before it.
        return Some(folder.join(name).components().collect()).filter(is_program);
    }
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    folders.map(|folder| Path::new(folder).join(name)).find(is_program)
}

/// A command that a configuration names, and what is known of its files.
pub(super) struct Program {
    /// The program, absolute, and its arguments.
    pub command: Vec<String>,
    /// The program, and all files that its arguments name.
    pub files: Vec<PathBuf>,
    /// Those of the files that are the program itself.
    pub code: Vec<PathBuf>,
}

impl Validator<'_, '_> {
    /// The command of the table at `address` with its program as an absolute path. `example` is a command to write.
    pub(super) fn program(
        &mut self,
        address: &Address,
        mut command: Vec<String>,
        path: Option<&str>,
        example: &str,
    ) -> Option<Program> {
        let here = address.key("command");
        let Some(written) = command.first().cloned() else {
            self.problem(address, format!("has no `command`; write `command = [\"{example}\"]`"));
            return None;
        };
        if command.iter().any(|part| part.contains('\0')) {
            self.problem(&here, "must not contain a zero byte");
            return None;
        }
        let path = path.unwrap_or(HOOK_PATH);
        let named =
            if written.contains('/') { self.host_path(&written) } else { Ok(PathBuf::from(&written)) };
        let named = self.checked(&here.item(0), named)?;
        let Some(program) = find_program(&named, &self.folder, path) else {
            let message = match written.contains('/') {
                true => format!("`{written}` is no file that can be run"),
                false => format!(
                    "`{written}` is not found in {path}; for a file beside this one write `./{written}`"
                ),
            };
            self.problem(&here.item(0), message);
            return None;
        };
        let written = command.get(1..).unwrap_or_default();
        let arguments: Vec<PathBuf> = written.iter().map(|argument| self.folder.join(argument)).collect();
        let mut code = code(&program, &arguments, written);
        let mut files: Vec<PathBuf> = arguments.into_iter().filter(|file| file.is_file()).collect();
        [&mut files, &mut code].into_iter().for_each(|files| files.insert(0, program.clone()));
        let Some(program) = program.to_str().map(str::to_owned) else {
            self.problem(&here.item(0), "has a path that is not UTF-8");
            return None;
        };
        if let Some(first) = command.first_mut() {
            *first = program;
        }
        Some(Program { command, files, code })
    }
}
