//! The targets, one module for each kind of input.

mod adapter;
mod event;
mod git_files;
mod http;
mod ignore;
mod merge;
mod path;
mod restore;
mod settings;
mod shell;
mod stored;
mod transcript;

pub use adapter::{adapter, event_number};
pub use event::{event, event_recorded};
pub use git_files::{WORDS as GIT_WORDS, git_files};
pub use http::http;
pub use ignore::{WORDS as IGNORE_WORDS, ignore, ignore_as_git};
pub use merge::{WORDS as MERGE_WORDS, merge};
pub use path::{WORDS as PATH_WORDS, path};
pub use restore::restore;
pub use settings::{WORDS as SETTINGS_WORDS, settings};
pub use shell::{WORDS as SHELL_WORDS, shell};
pub use stored::stored;
pub use transcript::transcript;
