//! Why a file cannot be a tool, in one line for whoever gave it.

use toolcell_package::PackageError;
use wasmparser::WasmFeatures;

/// What a file is instead of a component with something to call, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotATool {
    /// No bytes.
    #[error("the file is empty; build the component again")]
    Empty,
    /// A core module, for whatever host.
    #[error("{0}")]
    CoreModule(&'static str),
    /// A kind of file that has nothing to do with components.
    #[error("{0}")]
    OtherFile(&'static str),
    /// Machine code that wasmtime compiled.
    #[error(
        "this is precompiled native code (.cwasm), which is never loaded since it could do anything; \
         give the component that it was compiled from"
    )]
    Precompiled,
    /// WIT in binary form.
    #[error("this is WIT in binary form: types without code; give the component that implements it")]
    WitPackage,
    /// The file ends too early.
    #[error(
        "the component is cut short: it ends after {bytes} bytes in the middle of {within}; copy or build it again"
    )]
    Truncated {
        /// Bytes that are there.
        bytes: usize,
        /// What is incomplete, in words.
        within: &'static str,
    },
    /// The bytes are not valid.
    #[error("the component is damaged: {0}; build it again")]
    Damaged(String),
    /// The component is valid, with what is switched off here.
    #[error("{0}")]
    Feature(String),
    /// Types or components in one another without end.
    #[error("{what} are nested more than {limit} deep; simplify the component's types")]
    TooDeep {
        /// What is nested.
        what: &'static str,
        /// Levels allowed.
        limit: usize,
    },
    /// More of something than a component may have.
    #[error("the component has at least {found} {what}, and {limit} are allowed; build it with fewer")]
    TooMuch {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The component has an interface that WIT cannot express.
    #[error("the component's imports and exports cannot be expressed as WIT: {0}")]
    NotWit(String),
    /// There is nothing to call.
    #[error(
        "the component exports no function; export one from its world, or `wasi:cli/run` or `toolcell:tool/tools`"
    )]
    NoFunctions,
    /// The only entry point is one that the host does not know.
    #[error(
        "the component exports `{0}`, a version that is not supported; build it for WASI 0.2 (wasm32-wasip2) and `toolcell:tool` 1.x"
    )]
    EntryVersion(String),
    /// The section with documentation is wrong.
    #[error(transparent)]
    Package(#[from] PackageError),
}

impl NotATool {
    pub(super) fn too_much(what: &'static str, found: u64, limit: u64) -> Self {
        Self::TooMuch { what, found, limit }
    }

    /// Puts a parser's or validator's refusal of a file of `length` bytes into words.
    pub(super) fn from_wasm(error: &wasmparser::Error, length: usize) -> Self {
        let message = error.message();
        if let Some(features) = error.missing_wasm_feature() {
            return Self::Feature(feature(features, message));
        }
        if message.starts_with("type nesting is too deep") {
            return Self::TooDeep { what: "types", limit: super::nesting::MAX_DEPTH };
        }
        if message.starts_with("unexpected end") {
            return Self::Truncated { bytes: length, within: "a section" };
        }
        // Validators explain in several lines; the last one names the reason.
        let line = message.lines().last().unwrap_or(message);
        Self::Damaged(format!("{line} (at byte {})", error.offset()))
    }
}

/// Features of which the component model's asynchronous part consists.
const ASYNC: WasmFeatures = WasmFeatures::CM_ASYNC
    .union(WasmFeatures::CM_ASYNC_STACKFUL)
    .union(WasmFeatures::CM_MORE_ASYNC_BUILTINS)
    .union(WasmFeatures::CM_THREADING)
    .union(WasmFeatures::CM_ERROR_CONTEXT);

fn feature(features: WasmFeatures, message: &str) -> String {
    if features.intersects(ASYNC) {
        let what = async_subject(message);
        return format!(
            "the component uses {what}, a component-async feature (WASI 0.3), and tools are synchronous; \
             build it for WASI 0.2 (wasm32-wasip2)"
        );
    }
    let names: Vec<String> =
        features.iter_names().map(|(name, _)| name.to_ascii_lowercase().replace('_', "-")).collect();
    format!(
        "the component needs the WebAssembly feature `{}`, which is off for tools ({message}); build it without",
        names.join("`, `")
    )
}

/// The thing that a validator's message about asynchronous features is about.
fn async_subject(message: &str) -> &'static str {
    const SUBJECTS: [(&str, &str); 4] = [
        ("error-context", "`error-context`"),
        ("stream", "`stream`"),
        ("future", "`future`"),
        ("async component function", "`async` functions"),
    ];
    let found = SUBJECTS.iter().find(|(word, _)| message.contains(word));
    found.map_or("`async` functions", |(_, subject)| subject)
}
