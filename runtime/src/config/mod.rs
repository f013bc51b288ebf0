//! `toolcell.toml`: found, read as written, and validated into what the runtime takes.
//!
//! In reading order: [`Folders`] are our own, [`Environment::locate`] finds the file, `raw` is the file as written,
//! `document` knows its lines, `keys` refuses what nothing would enforce, `validate` and `grants` turn it into a
//! [`Config`], and [`Config::restrict_untrusted`] narrows one that was only found.

mod amount;
mod audit;
mod code;
mod component;
mod discovery;
mod document;
mod folders;
mod grants;
mod hooks;
#[cfg(feature = "cli")]
mod init;
mod keys;
mod lock;
mod mcp;
mod mcp_transport;
mod mcp_url;
mod names;
mod problem;
mod program;
mod protection;
mod raw;
mod raw_hook;
mod raw_http;
mod raw_limits;
mod raw_mcp;
mod raw_rule;
mod raw_server;
mod reference;
mod rules;
mod server;
mod settings;
mod shared;
mod shipped;
mod show;
mod stamp;
mod stored;
mod untrusted;
mod validate;

pub use crate::policy::ensure_private;
pub use audit::{Audit, Detail, Key, Place};
pub use component::{ComponentConfig, RepairMode, Source, ToolSettings};
pub use discovery::{CONFIG_VARIABLE, Environment, FILE_NAME, How, Location};
pub use folders::{Folders, HOME_VARIABLE};
pub use hooks::{HookConfig, HookKind};
#[cfg(feature = "cli")]
pub use init::{NewComponent, add_component, component_name, remove_component, starting_text};
pub use lock::{Lock, Locked};
pub use mcp::{McpConfig, McpHints, McpToolSettings};
pub use mcp_transport::{McpText, McpTransport};
pub use mcp_url::McpUrl;
pub use program::HOOK_PATH;
pub(crate) use program::find_program;
pub use raw::schema;
pub use reference::Reference;
pub use rules::DeclaredHints;
#[cfg(feature = "http")]
pub(crate) use server::MAX_BODY;
pub use server::Server;
pub use settings::{Config, OutputBounds};
pub use shared::Shared;
pub use shipped::{is_beside, shipped_file};
pub use stamp::Stamp;
pub use stored::StoredComponents;
pub use untrusted::Inert;
