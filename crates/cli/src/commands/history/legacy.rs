//! Migrates the old `claude_messages.json` (HIST-6, MIG-2): rewritten, verified, kept as a backup.
//!
//! Invariant: at every moment the old file is there, or the new one and the backup are, and both
//! were read back (W-15). Nothing is deleted.

use std::fs;
use std::io::{Error, Result as IoResult};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use retake_agents::history::{self as forms, Conversation, HistoryFormat};
use retake_engine::Project;
use retake_engine::model::{ErrorCode, Millis, ModelMessage};
use retake_seam::fs::{StagedPermissions, StagedReplacement};
use retake_service::history::begins_with;
use retake_service::request::ImportHistory;

use crate::failure::ApiError;
use crate::output_file::set_aside;

/// Name of the legacy file.
pub(super) const LEGACY_FILE: &str = "claude_messages.json";

/// Writes a recorded conversation into the new file beside the old one, renames the old one to
/// a backup, and returns the backup's path.
pub(super) fn migrate(
    project: &Project,
    old: &Path,
    imported: &ImportHistory,
    conversation: &Conversation,
    at: Millis,
) -> Result<PathBuf> {
    let left = |why: String| {
        let message = format!("{} is left as it is: {why}", old.display());
        ApiError::new(
            ErrorCode::NotMigrated,
            message,
            "its messages are on record; import it again",
        )
    };
    let log = project.model_log(&imported.dialog, &imported.agent)?;
    if !begins_with(&log, &conversation.messages) {
        return Err(left("what is on record is not what it says".to_owned()).into());
    }
    let new = old.with_file_name(HistoryFormat::ApiHistory.file_name(&imported.dialog.0));
    let text = forms::write(HistoryFormat::ApiHistory, conversation, at);
    // A new file that exists takes precedence: its content is compared before and after.
    let check = |written: &[u8]| {
        let read = forms::read(HistoryFormat::ApiHistory, written);
        match read.map_err(|error| left(error.to_string())) {
            Ok(read) if same_messages(&read.messages, &conversation.messages) => Ok(()),
            Ok(_) => Err(left(format!("{} would not say the same", new.display()))),
            Err(failure) => Err(failure),
        }
    };
    check(text.as_bytes())?;
    write(old, &new, &text).map_err(|error| left(error.to_string()))?;
    check(&fs::read(&new).map_err(|error| left(error.to_string()))?)?;
    Ok(set_aside(old).map_err(|error| left(error.to_string()))?)
}

fn write(old: &Path, new: &Path, text: &str) -> IoResult<()> {
    let known = fs::metadata(old)?;
    let (mode, user, group) = (known.mode() & 0o7777, known.uid(), known.gid());
    let staged = StagedReplacement::new(
        new,
        text.as_bytes(),
        StagedPermissions::Exactly { mode, user, group },
    )?;
    // As late as possible: a concurrent write by another program takes precedence.
    if new.symlink_metadata().is_ok() {
        return Err(Error::other(format!("{} is there by now", new.display())));
    }
    staged.persist()
}

fn same_messages(one: &[ModelMessage], other: &[ModelMessage]) -> bool {
    let plain = |message: &ModelMessage| ModelMessage { index: None, ..message.clone() };
    one.iter().map(plain).eq(other.iter().map(plain))
}
