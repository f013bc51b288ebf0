//! What works, and will surprise.

use std::fmt;

use super::Inspection;

/// Names longer than this are cut or refused by clients that put a server's name in front (`mcp__server__`).
const LONG_NAME_BYTES: usize = 47;

/// Symbols of wasi-libc that a tool's author may well choose as a name.
const LIBC: &str = "\
    abort abs accept access atoi bind bsearch calloc ceil chdir clock close connect cos creat div dup exit \
    exp fcntl floor fmod fopen free fstat fsync getcwd getenv glob index ioctl link listen log lseek lstat \
    malloc memcmp memcpy memmove memset mkdir nanosleep open opendir poll pow printf puts qsort raise rand \
    random read readdir readlink realloc realpath recv remove rename rmdir round scanf seekdir select send \
    setenv shutdown signal sin sleep socket sqrt stat strcmp strlen symlink sync tan time truncate unlink \
    usleep utime write";

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// The world itself exports a function whose name is a symbol of libc.
    LibcName {
        /// The function.
        function: String,
    },
    /// A tool's name is long.
    LongName {
        /// The name, as models will see it without prefix.
        name: String,
    },
}

impl fmt::Display for Lint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LibcName { function } => write!(
                formatter,
                "the world exports `{function}` directly, which is also a function of libc: a Rust or C guest may \
                 silently take libc's; export it from an interface"
            ),
            Self::LongName { name } => write!(
                formatter,
                "`{name}` has {} bytes, and some clients cut or refuse names over {LONG_NAME_BYTES}; set `@name` or `rename`",
                name.len()
            ),
        }
    }
}

/// What is worth a warning about a component's functions.
pub fn lints(inspection: &Inspection) -> Vec<Lint> {
    let mut found = Vec::new();
    for export in inspection.functions() {
        let function = &export.function.name;
        if export.interface.is_none() && LIBC.split(' ').any(|symbol| symbol == function) {
            found.push(Lint::LibcName { function: function.clone() });
        }
        let documented =
            inspection.package.as_ref().and_then(|package| package.tools.get(&export.key)?.name.clone());
        let name = documented.unwrap_or_else(|| function.replace('-', "_"));
        if name.len() > LONG_NAME_BYTES {
            found.push(Lint::LongName { name });
        }
    }
    found
}
