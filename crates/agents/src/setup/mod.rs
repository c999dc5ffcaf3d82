//! Edits the text of each agent's settings: adds and removes Retake's hooks.
//!
//! Nothing here reads or writes a file: the caller passes the current text and gets the new one.
//! [`setup_targets`] lists the files.
//!
//! Invariants: foreign text keeps its bytes; adding is idempotent; a file that is not ours or
//! cannot be parsed is an error, never overwritten.

mod command;
pub(crate) mod hook_file;
pub(crate) mod hooks;
pub(crate) mod literal;
pub(crate) mod own_file;
mod shell;
mod splice;
mod targets;

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::cline::setup as cline_script;
use crate::opencode::setup as opencode_plugin;

pub use crate::codex::trust as codex_trust;
pub use command::{HookCommand, HookOwner, recognise_hook};
pub use hook_file::HookFileSpec;
pub(crate) use targets::{ConfigFolder, SetupFiles, SetupSpec};
pub use targets::{
    ConfigFolders, SetupLevel, SetupTarget, config_folder, disable_switch_files, has_own_setup,
    program_names, setup_targets,
};

/// Why a file is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The file is no JSON.
    #[error("it is no valid JSON: {reason}, in line {line}, column {column}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the parser says.
        reason: String,
    },
    /// The JSON has another shape than the agent's settings.
    #[error("{what} is not {wanted}")]
    Shape {
        /// The part.
        what: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A file of this name exists, and is not Retake's.
    #[error("the file is not Retake's; {way_out}")]
    Foreign {
        /// What the person can do.
        way_out: String,
    },
    /// A file of ours that the person extended, and that cannot be taken apart.
    #[error("Retake made it, but it was edited since")]
    Edited,
    /// Edits do not come to an end.
    #[error("it has too many hooks of Retake")]
    Endless,
    /// A path cannot be put into settings.
    #[error("{} is no Unicode text and cannot be put into settings", .0.display())]
    PathNotText(PathBuf),
}

/// What of Retake is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundHooks {
    /// For how many events we are called.
    pub present: usize,
    /// For how many we are not.
    pub missing: usize,
    /// What our entries call, each one once.
    pub calls: Vec<HookCommand>,
    /// Commands of the person's own that call us.
    pub theirs: Vec<String>,
    /// Whether the person edited a file that setup made whole.
    pub is_edited: bool,
    /// The setting by which the person turned our hooks off, in words.
    pub switched_off: Option<String>,
}

/// The name, without an extension, of what is remembered of a file.
pub fn record_name(path: &Path) -> String {
    hex(path.as_os_str().as_encoded_bytes(), 16)
}

/// The first bytes of a digest.
fn hex(bytes: &[u8], length: usize) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().take(length).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug)]
pub enum SetupFileKind {
    /// Hooks in a JSON file.
    Hooks(&'static HookFileSpec),
    /// A program of our own: opencode's plugin.
    Plugin,
    /// A shell script of our own for one event of Cline.
    Script(&'static str),
}

impl SetupFileKind {
    /// The text with our part in it; `None` is no file.
    pub fn add(self, text: Option<&str>, command: &HookCommand) -> Result<String, SetupError> {
        match self {
            Self::Hooks(hooks) => hooks.add(text, command),
            Self::Plugin => opencode_plugin::add_plugin(text, command),
            Self::Script(event) => cline_script::add_script(text, event, command),
        }
    }

    /// The text without our part; `before` is what was there first, if it is known, and `own` is
    /// known as Retake even if its file has another name. `None` means that the file goes.
    pub fn remove(
        self,
        text: &str,
        before: Option<&str>,
        own: Option<&HookCommand>,
    ) -> Result<Option<String>, SetupError> {
        let is_untouched = match self {
            Self::Hooks(_) => false,
            Self::Plugin => opencode_plugin::PLUGIN.is_untouched(text),
            Self::Script(_) => cline_script::SCRIPT.is_untouched(text),
        };
        match self {
            Self::Hooks(hooks) => hooks.remove(text, before, own),
            // Wholly ours, so it goes, unless something else had the name.
            _ if is_untouched => {
                Ok(before.filter(|before| !before.trim().is_empty()).map(str::to_owned))
            }
            Self::Plugin => opencode_plugin::remove_plugin(text),
            Self::Script(_) => Ok(cline_script::remove_script(text, own)),
        }
    }

    /// Returns the hooks of ours in the text.
    pub fn find(self, text: &str, own: Option<&HookCommand>) -> Result<FoundHooks, SetupError> {
        match self {
            Self::Hooks(hooks) => hooks.find(text, own),
            Self::Plugin => Ok(opencode_plugin::find_plugin(text)),
            Self::Script(_) => Ok(cline_script::find_script(text, own)),
        }
    }
}

#[cfg(test)]
mod tests;
