//! Spool: events that could not be recorded on arrival are stored durably, and recorded by the next
//! holder of the project's lock.
//!
//! Each event has an idempotency key, so that one which was both spooled and recorded counts once.

use std::collections::HashSet;
use std::path::Path;

use retake_model::{Event, EventKind, Gap, GapReason, JournalKind, Millis, ProjectPath};
use retake_store::{Batch, Spool, StoreError};
use serde_json::{Value, json};

use crate::attribution::rules::CLOCK_GRANULARITY;
use crate::error::RecordError;
use crate::journal::record_entry;
use crate::project::Project;
use crate::record::RecordOutcome;
use crate::scan::rows::record_gap_event;
use crate::scan::stat_cache::RecalledStats;
use crate::submission::{Notice, NoticeCode, Submission};

/// Spools events of one project that cannot be recorded in time.
#[derive(Debug)]
pub struct SpoolWriter {
    spool: Spool,
}

impl SpoolWriter {
    /// The spool writer of the project with this folder in Retake's home.
    pub fn for_folder(folder: &Path) -> Self {
        Self { spool: Spool::new(folder) }
    }

    /// A new idempotency key for an event that arrives now.
    pub fn new_key(&self, at: Millis) -> String {
        self.spool.new_key(at)
    }

    /// Spools an event durably; the next holder of the lock records it, unless an event with this
    /// key was recorded.
    pub fn push(&self, key: &str, event: &Event, at: Millis) -> Result<(), StoreError> {
        self.spool.push(key, event, at)
    }

    /// Spools a submission durably, with where it comes from.
    pub fn push_submission(&self, submission: &Submission) -> Result<(), StoreError> {
        self.spool.push_entry(&submission.to_spool_entry())
    }
}

impl Project {
    /// A spool writer for this project, usable from any thread and without opening the store.
    pub fn spool_writer(&self) -> SpoolWriter {
        SpoolWriter::for_folder(self.store().folder())
    }

    /// The spool of the project.
    pub(crate) fn spool(&self) -> Spool {
        Spool::new(self.store().folder())
    }

    /// Spools an event that cannot be recorded now.
    pub(crate) fn spool_event(
        &self,
        submission: &Submission,
        why: &str,
    ) -> Result<RecordOutcome, RecordError> {
        self.spool().push_entry(&submission.to_spool_entry())?;
        tracing::warn!(event = submission.event.name(), why, "an event is kept for later");
        let message = format!("the event is kept and will be recorded later: {why}");
        let notices = vec![Notice::new(NoticeCode::Spooled, message)];
        Ok(RecordOutcome { notices, ..RecordOutcome::default() })
    }

    /// Records the spooled events, in order, with one scan for all of them.
    ///
    /// The calls among them may all have overlapped, so each is a candidate for what is found.
    pub(crate) fn drain_spool(&self, at: Millis) -> Result<(), StoreError> {
        let spool = self.spool();
        if spool.has_lost_event() {
            self.record_unspooled_loss(at)?;
            spool.clear_lost_event();
        }
        if spool.is_empty() {
            return Ok(());
        }
        let (entries, bad) = spool.entries()?;
        let (mut fresh, mut seen) = (Vec::new(), HashSet::new());
        for entry in &entries {
            // An event may be spooled twice: by its thread, and by a host that did not wait for
            // that.
            if seen.insert(&entry.id) && !self.store().is_key_recorded(&entry.id)? {
                fresh.push(Submission::from_spool(entry));
            }
        }
        self.record_submissions(fresh, at)?;
        if !bad.is_empty() {
            self.record_unreadable_lines(&bad, at)?;
        }
        spool.clear(entries.len(), bad.len())
    }

    /// Records gaps for files that an agent wrote before the first scan was done: they became part
    /// of the baseline, and their state before is not known.
    pub(crate) fn record_late_baseline(&self, at: Millis) -> Result<(), StoreError> {
        let begins = |event: &Event| matches!(event.what, EventKind::ToolBegin { .. });
        let (entries, _) = self.spool().entries()?;
        let Some(first) = entries.iter().find(|entry| begins(&entry.event)) else { return Ok(()) };
        let batch = self.store().batch()?;
        let began = (first.at - CLOCK_GRANULARITY) * 1_000_000;
        let mut opened = 0;
        for path in written_since(&batch, began)? {
            let reason = GapReason::BeforeFirstLook;
            let detail = "the first look took longer than the agent waited".to_owned();
            opened += u64::from(batch.put_gap(&Gap { path, reason, detail }, at)?);
        }
        record_gap_event(&batch, opened, 0, at)?;
        batch.commit()
    }

    /// Records lines that a kill cut off: they were never acknowledged, but they are kept and
    /// reported.
    fn record_unreadable_lines(&self, lines: &[String], at: Millis) -> Result<(), StoreError> {
        let detail = format!("{} spooled lines could not be understood", lines.len());
        self.record_lost_events(detail, json!({ "lines": lines }), at)
    }

    /// Records the loss of an event that could not be spooled; nothing else of it is known.
    fn record_unspooled_loss(&self, at: Millis) -> Result<(), StoreError> {
        let detail = "what agents told could be neither recorded nor kept: no room, most likely";
        self.record_lost_events(detail.to_owned(), json!({ "unkept": true }), at)
    }

    fn record_lost_events(
        &self,
        detail: String,
        body: Value,
        at: Millis,
    ) -> Result<(), StoreError> {
        let batch = self.store().batch()?;
        let path: ProjectPath = "spool".parse().map_err(|_| StoreError::Row("path".into()))?;
        batch.put_gap(&Gap { path, reason: GapReason::LostEvent, detail }, at)?;
        record_entry(&batch, batch.next_stamp(at), JournalKind::LostEvent, None, body)?;
        batch.commit()
    }
}

/// Files whose last known mtime, in nanoseconds, is this time or later. A file written just then
/// has no stat that can be relied on.
fn written_since(batch: &Batch<'_>, mtime_ns: i64) -> Result<Vec<ProjectPath>, StoreError> {
    let known = RecalledStats::load(batch)?.known;
    let may_be = |path: &ProjectPath| known.stat(path).is_none_or(|stat| stat.mtime_ns >= mtime_ns);
    Ok(known.paths().filter(may_be).collect())
}
