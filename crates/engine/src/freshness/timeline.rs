//! The files in an agent's context, as a timeline (CTX-7 to CTX-13).
//!
//! Only the agent's reads are stored: its changes and those of others are taken from the changes
//! table. So a timeline cannot lack an entry, and no two records can disagree.
//!
//! A new source is one value of [`ContextSource`], one arm in `dates_after`, and the function
//! that records it (CTX-24).

use retake_model::{Change, ChangeId, ContextSource, LineSpan, Millis, ProjectPath};
use retake_store::{ContextDates, FileRead, Store, StoreError};

use super::predicted::is_predicted;
use super::replay::AgentKnowledge;
use super::stale::{ChangeAuthor, StaleFile};

/// A file in an agent's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// The file.
    pub path: ProjectPath,
    /// What happened to it, oldest first; only the last entry is active.
    pub entries: Vec<ContextEntry>,
    /// How it changed since the agent last read it, if so.
    pub stale: Option<StaleFile>,
}

/// One entry of the timeline of a file in an agent's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextEntry {
    /// Its place in the project's order.
    pub seq: u64,
    /// What happened.
    pub source: ContextSource,
    /// When.
    pub at: Millis,
    /// The dates as they were after it.
    pub dates: ContextDates,
    /// The lines, if the agent read only some.
    pub lines: Option<Vec<LineSpan>>,
    /// The change, if it is one.
    pub change: Option<ChangeId>,
    /// Who made it, if it is a change by another actor.
    pub by: Option<ChangeAuthor>,
}

/// An entry of the timeline before its dates are computed.
enum TimelineEvent {
    Read(FileRead),
    Changed(Box<Change>),
}

impl TimelineEvent {
    fn seq(&self) -> u64 {
        match self {
            Self::Read(read) => read.seq,
            Self::Changed(change) => change.id.0,
        }
    }
}

impl AgentKnowledge<'_> {
    /// Returns the timeline of a file; none if it is not in the agent's context.
    pub(super) fn context_file(
        &self,
        store: &Store,
        path: &ProjectPath,
    ) -> Result<Option<ContextFile>, StoreError> {
        let reads = store.file_reads_of(self.reader.dialog, self.reader.agent, path)?;
        let steps = store.change_seqs_of(path, 0)?;
        let mut changes = Vec::new();
        for step in steps {
            changes.extend(store.change(ChangeId(step))?);
        }
        // An edit's predicted content is part of its change.
        let is_part_of_change = |read: &FileRead| {
            let at_read = changes.binary_search_by_key(&read.seq, |change| change.id.0);
            is_predicted(read) && at_read.is_ok_and(|index| self.is_own_change(&changes[index]))
        };
        let actual_reads = reads.into_iter().filter(|read| !is_part_of_change(read));
        let mut events: Vec<_> = actual_reads.map(TimelineEvent::Read).collect();
        events.extend(changes.into_iter().map(|change| TimelineEvent::Changed(Box::new(change))));
        events.sort_by_key(TimelineEvent::seq);
        let enters_context = |event: &TimelineEvent| match event {
            TimelineEvent::Read(_) => true,
            TimelineEvent::Changed(change) => self.is_own_change(change),
        };
        let Some(first) = events.iter().position(enters_context) else { return Ok(None) };
        let mut entries: Vec<ContextEntry> = Vec::new();
        for event in events.drain(first..) {
            let entry = self.timeline_entry(event, &entries);
            entries.push(entry);
        }
        Ok(Some(ContextFile { path: path.clone(), entries, stale: self.stale_file(store, path)? }))
    }

    fn timeline_entry(&self, event: TimelineEvent, earlier: &[ContextEntry]) -> ContextEntry {
        let seq = event.seq();
        match event {
            TimelineEvent::Read(read) => {
                let dates =
                    read.dates.unwrap_or_else(|| dates_after(read.source, read.at, earlier));
                let FileRead { source, at, lines, .. } = read;
                ContextEntry { seq, source, at, dates, lines, change: None, by: None }
            }
            TimelineEvent::Changed(change) => {
                let is_own = self.is_own_change(&change);
                let source =
                    if is_own { ContextSource::AgentEdited } else { ContextSource::UserEdited };
                ContextEntry {
                    seq,
                    source,
                    at: change.at,
                    dates: dates_after(source, change.at, earlier),
                    lines: None,
                    change: Some(change.id),
                    by: (!is_own).then(|| ChangeAuthor::of(&change)),
                }
            }
        }
    }
}

/// Returns the dates after an entry (CTX-8 to CTX-10, C-8).
///
/// Dates of the agent are the newest of all earlier entries; the date of others' edits is that of
/// the entry before alone, so that one that was cleared does not come back.
fn dates_after(source: ContextSource, at: Millis, earlier: &[ContextEntry]) -> ContextDates {
    let newest = |date: fn(&ContextDates) -> Option<Millis>| {
        earlier.iter().filter_map(|entry| date(&entry.dates)).max()
    };
    let (read, edit) = (newest(|dates| dates.read), newest(|dates| dates.edit));
    let user = earlier.last().and_then(|entry| entry.dates.user);
    match source {
        ContextSource::ReadTool | ContextSource::FileMentioned => {
            // The agent knows of it now.
            let was_known = |user: &Millis| read.is_some_and(|read| *user <= read);
            ContextDates { read: Some(at), edit, user: user.filter(was_known) }
        }
        ContextSource::AgentEdited => ContextDates { read: Some(at), edit: Some(at), user },
        ContextSource::UserEdited => ContextDates { read, edit, user: Some(at) },
    }
}
