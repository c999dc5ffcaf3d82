//! The targets, one module for each kind of input.

mod adapter;
mod event;
mod git_files;
mod http;
mod ignore;
mod mask;
mod merge;
mod path;
mod quote;
mod restore;
mod settings;
mod shell;
mod stored;
mod transcript;

pub use adapter::{adapter, event_number};
pub use event::{event, event_recorded};
pub use git_files::{DICTIONARY as GIT_WORDS, git_files};
pub use http::http;
pub use ignore::{DICTIONARY as IGNORE_WORDS, ignore, ignore_as_git};
pub use mask::{DICTIONARY as MASK_WORDS, mask};
pub use merge::{DICTIONARY as MERGE_WORDS, merge};
pub use path::{DICTIONARY as PATH_WORDS, path};
pub use quote::{DICTIONARY as QUOTE_WORDS, quote};
pub use restore::restore;
pub use settings::{DICTIONARY as SETTINGS_WORDS, settings};
pub use shell::{DICTIONARY as SHELL_WORDS, shell};
pub use stored::stored;
pub use transcript::transcript;
