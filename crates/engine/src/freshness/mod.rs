//! Freshness: the content each agent last read of a file, and whether it is still current.
//!
//! ```text
//! record_reads  records that an agent read a file, with the content and the lines
//! predicted     records what an edit wrote where a scan at its end finds other content
//! replay        replays reads and changes of a file, in order, into the agent's `knowledge` of it
//! spans         sets of lines, shifted by the hunks of a change
//! stale         derives from the knowledge which lines changed since, and by whom
//! notify        notifies the agent before an edit or a message, once for each content
//! timeline      the same record as a timeline of each file in the context
//! metadata      imports and exports that timeline as `task_metadata.json`
//! ```
//!
//! A host that knows the context tracker of other designs (LIB-3) finds it here:
//!
//! | there | here |
//! |---|---|
//! | `trackFileContext` | [`Project::track_context`], or an event that names what its agent read |
//! | `setupFileWatcher` | nothing: each event scans, with or without a watcher ([`crate::HintSource`]) |
//! | `markFileAsEditedByRoo` | `tool_begin` and `tool_end` around the edit, or [`Project::begin_edit`] and [`Project::commit_edit`]: the content tells whose it is |
//! | `getAndClearRecentlyModifiedFiles` | [`Project::stale_files`], which clears nothing |
//! | `getAndClearCheckpointPossibleFile` | [`Project::changes`] of the agent |
//! | `getTaskMetadata`, `saveTaskMetadata` | [`Project::export_context`], [`Project::import_context`] |
//! | reading again before a diff is applied (CTX-18) | [`Project::read_fresh`] |
//! | `dispose` | nothing: all state is on record, none is held in memory |
//!
//! Invariants: staleness is never a flag, it is computed from the record each time; a file is fresh
//! again only after a read of its current content, or when it is again what was read.

mod knowledge;
mod metadata;
mod notify;
mod predicted;
mod record_reads;
mod replay;
mod spans;
mod stale;
mod timeline;

pub(crate) use notify::{notify_sender, record_stale_agents};
pub(crate) use predicted::{record_predicted, record_untargeted};
pub(crate) use record_reads::{FoundWithEvent, record_reads, shown_files};

pub use metadata::{MetadataEntry, MetadataError, MetadataImport, RecordState, TaskMetadata};
pub use notify::{StaleContext, StaleReaction};
pub use stale::{Audience, ChangeAuthor, StaleFile, StaleLines, Staleness};
pub use timeline::{ContextEntry, ContextFile};

use retake_model::{
    AgentId, AgentRef, ContextSource, DialogId, JournalKind, LineSpan, Millis, PathState,
    ProjectPath,
};
use retake_store::{DialogAgent, StoreError};
use serde_json::{Value, json};

use crate::error::RecordError;
use crate::project::Project;
use crate::tool::FilePart;
use notify::record_context_event;
use record_reads::{TrackedRead, record_tracked_read};

/// Logs and ignores a damaged row, so that it does not block new records; `doctor` reports it.
pub(crate) fn ignore_row_damage(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Row(why)) => {
            tracing::warn!(why, "what agents know is not brought up to date");
            Ok(())
        }
        result => result,
    }
}

impl Project {
    /// Returns the files in an agent's context, with their timelines.
    ///
    /// They are as new as the last scan; call [`Project::refresh`] first to miss nothing.
    pub fn context(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<ContextFile>, StoreError> {
        let knowledge = self.settings().freshness.knowledge_of(AgentRef { dialog, agent });
        let mut files = Vec::new();
        for path in self.store().known_paths(dialog, agent)? {
            files.extend(knowledge.context_file(self.store(), &path)?);
        }
        Ok(files)
    }

    /// Returns the files that changed since an agent last read them.
    ///
    /// The query clears nothing: a file is fresh again when the agent has read its current content
    /// (W-17).
    pub fn stale_files(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<StaleFile>, StoreError> {
        let knowledge = self.settings().freshness.knowledge_of(AgentRef { dialog, agent });
        let mut files = Vec::new();
        for path in self.store().known_paths(dialog, agent)? {
            files.extend(knowledge.stale_file(self.store(), &path)?);
        }
        Ok(files)
    }

    /// Records that an agent reads these files as they are now (LIB-3), or lines of them; returns
    /// those that are not tracked or are no files, of which nothing can be recorded.
    ///
    /// Others' changes, [`ContextSource::UserEdited`], are found by the scan and are no reads of
    /// the agent: nothing else is recorded of them.
    pub fn track_context(
        &self,
        reader: AgentRef<'_>,
        files: &[(ProjectPath, Option<LineSpan>)],
        source: ContextSource,
        at: Millis,
    ) -> Result<Vec<ProjectPath>, RecordError> {
        let _lock = self.acquire_lock()?;
        self.catch_up_and_refresh(at)?;
        if source == ContextSource::UserEdited {
            return Ok(Vec::new());
        }
        let batch = self.store().batch()?;
        batch.touch_dialog(reader.dialog, None, None, at)?;
        batch.touch_agent(reader.dialog, reader.agent, None, None)?;
        let stamp = batch.next_stamp(at);
        let mut untracked = Vec::new();
        for (path, lines) in files {
            let part = lines.map_or(FilePart::Whole, FilePart::Lines);
            let read = TrackedRead { path, part, source };
            if !record_tracked_read(&batch, reader, &read, stamp)? {
                untracked.push(path.clone());
            }
        }
        let body = tracked_body(source, files.len() - untracked.len());
        record_context_event(&batch, reader, JournalKind::ContextTracked, stamp, body)?;
        batch.set_dialog_seq(reader.dialog, stamp.seq)?;
        batch.commit()?;
        Ok(untracked)
    }

    /// Reads a file for an agent as it is now, and records the read; none if the file is not
    /// tracked.
    pub fn read_fresh(
        &self,
        reader: AgentRef<'_>,
        path: &ProjectPath,
        at: Millis,
    ) -> Result<Option<FreshRead>, RecordError> {
        let _lock = self.acquire_lock()?;
        self.catch_up_and_refresh(at)?;
        let knowledge = self.settings().freshness.knowledge_of(reader);
        let was_stale = knowledge.stale_file(self.store(), path)?;
        let batch = self.store().batch()?;
        batch.touch_dialog(reader.dialog, None, None, at)?;
        batch.touch_agent(reader.dialog, reader.agent, None, None)?;
        let stamp = batch.next_stamp(at);
        let read = TrackedRead { path, part: FilePart::Whole, source: ContextSource::ReadTool };
        if !record_tracked_read(&batch, reader, &read, stamp)? {
            return Ok(None);
        }
        let entry = self.store().manifest_entry(path)?;
        let now = entry.map_or(PathState::Absent, |entry| entry.state.into());
        let Some(bytes) = self.content(&now)? else { return Ok(None) };
        let body = tracked_body(read.source, 1);
        record_context_event(&batch, reader, JournalKind::ContextTracked, stamp, body)?;
        batch.set_dialog_seq(reader.dialog, stamp.seq)?;
        batch.commit()?;
        Ok(Some(FreshRead { bytes, was_stale }))
    }

    /// Counts the stale files of each agent, for agents whose dialogs have not ended and were
    /// active since then; agents without stale files are left out.
    pub fn stale_agents(&self, since: Millis) -> Result<Vec<StaleAgent>, StoreError> {
        let mut stale = Vec::new();
        for dialog in self.store().dialogs()? {
            if dialog.ended_at.is_some() || dialog.last_at < since {
                continue;
            }
            for agent in self.store().agents(&dialog.id)? {
                let files = self.stale_files(&dialog.id, &agent.id)?.len();
                if files > 0 {
                    stale.push(StaleAgent { dialog: dialog.id.clone(), agent, files });
                }
            }
        }
        Ok(stale)
    }
}

fn tracked_body(source: ContextSource, files: usize) -> Value {
    json!({ "source": source, "files": files })
}

/// The current content of a file, read for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshRead {
    /// All of it.
    pub bytes: Vec<u8>,
    /// How it had changed since the agent last read it: a host can announce that it was
    /// `modified externally. Re-reading...` (CTX-18).
    pub was_stale: Option<StaleFile>,
}

/// An agent with stale files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleAgent {
    /// Its conversation.
    pub dialog: DialogId,
    /// The agent.
    pub agent: DialogAgent,
    /// Number of its stale files.
    pub files: usize,
}
