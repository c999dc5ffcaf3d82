//! The files in an agent's context, as a timeline (CTX-7 to CTX-13).
//!
//! Only the agent's reads are stored: its changes and those of others are taken from the changes
//! table. So a timeline cannot lack an entry, and no two records can disagree.
//!
//! A new source is one value of [`ContextSource`], one arm in [`dates`], and the place that
//! records it (CTX-24).

use retake_model::{Change, ChangeId, ContextSource, Lines, Millis, ProjectPath};
use retake_store::{Dates, Sighting, Store, StoreError};

use super::announced::is_announced;
use super::fold::Knower;
use super::stale::{StaleFile, Who};

/// A file in an agent's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// The file.
    pub path: ProjectPath,
    /// What happened to it, oldest first; only the last entry is active.
    pub entries: Vec<ContextEntry>,
    /// How it is not as the agent last saw it, if so.
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
    pub dates: Dates,
    /// The lines, if the agent saw only some.
    pub lines: Option<Vec<Lines>>,
    /// The change, if it is one.
    pub change: Option<ChangeId>,
    /// Who made it, if it is a change by another actor.
    pub by: Option<Who>,
}

/// An entry of the timeline before its dates are computed.
enum Happened {
    Saw(Sighting),
    Changed(Box<Change>),
}

impl Happened {
    fn seq(&self) -> u64 {
        match self {
            Self::Saw(sight) => sight.seq,
            Self::Changed(change) => change.id.0,
        }
    }
}

impl Knower<'_> {
    /// Returns the timeline of a file; none if it is not in the agent's context.
    pub(super) fn file(
        &self,
        store: &Store,
        path: &ProjectPath,
    ) -> Result<Option<ContextFile>, StoreError> {
        let sights = store.sights_of(self.dialog, self.agent, path)?;
        let steps = store.steps_of(path, 0)?;
        // An edit's predicted content is part of its change.
        let is_part =
            |sight: &Sighting| is_announced(sight) && steps.binary_search(&sight.seq).is_ok();
        let looks = sights.into_iter().filter(|sight| !is_part(sight));
        let mut happened: Vec<_> = looks.map(Happened::Saw).collect();
        for step in steps {
            let change = store.change(ChangeId(step))?;
            happened.extend(change.map(|change| Happened::Changed(Box::new(change))));
        }
        happened.sort_by_key(Happened::seq);
        let enters = |happened: &Happened| match happened {
            Happened::Saw(_) => true,
            Happened::Changed(change) => self.made(change),
        };
        let Some(first) = happened.iter().position(enters) else { return Ok(None) };
        let mut entries: Vec<ContextEntry> = Vec::new();
        for happened in happened.drain(first..) {
            let entry = self.entry(happened, &entries);
            entries.push(entry);
        }
        Ok(Some(ContextFile { path: path.clone(), entries, stale: self.stale(store, path)? }))
    }

    fn entry(&self, happened: Happened, earlier: &[ContextEntry]) -> ContextEntry {
        let seq = happened.seq();
        match happened {
            Happened::Saw(sight) => {
                let dates = sight.dates.unwrap_or_else(|| dates(sight.source, sight.at, earlier));
                let Sighting { source, at, lines, .. } = sight;
                ContextEntry { seq, source, at, dates, lines, change: None, by: None }
            }
            Happened::Changed(change) => {
                let made = self.made(&change);
                let source =
                    if made { ContextSource::AgentEdited } else { ContextSource::UserEdited };
                ContextEntry {
                    seq,
                    source,
                    at: change.at,
                    dates: dates(source, change.at, earlier),
                    lines: None,
                    change: Some(change.id),
                    by: (!made).then(|| Who::of(&change)),
                }
            }
        }
    }
}

/// Returns the dates after an entry (CTX-8 to CTX-10, C-8).
///
/// Dates of the agent are the newest of all earlier entries; the date of others' edits is that of
/// the entry before alone, so that one that was cleared does not come back.
fn dates(source: ContextSource, at: Millis, earlier: &[ContextEntry]) -> Dates {
    let newest = |date: fn(&Dates) -> Option<Millis>| {
        earlier.iter().filter_map(|entry| date(&entry.dates)).max()
    };
    let (read, edit) = (newest(|dates| dates.read), newest(|dates| dates.edit));
    let user = earlier.last().and_then(|entry| entry.dates.user);
    match source {
        ContextSource::ReadTool | ContextSource::FileMentioned => {
            // The agent knows of it now.
            let unseen = |user: &Millis| read.is_some_and(|read| *user <= read);
            Dates { read: Some(at), edit, user: user.filter(unseen) }
        }
        ContextSource::AgentEdited => Dates { read: Some(at), edit: Some(at), user },
        ContextSource::UserEdited => Dates { read, edit, user: Some(at) },
    }
}
