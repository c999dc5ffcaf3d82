//! Imports and exports an agent's context as `task_metadata.json` (DM-12, DM-13).
//!
//! Invariants: what does not fit the schema is neither imported nor exported, and the error names
//! the place; importing twice adds nothing, and an export of an import is identical.

use std::collections::{HashMap, HashSet, VecDeque};

use retake_model::{
    AgentId, AgentRef, ContextSource, DialogId, JournalKind, Millis, PathError, PathState,
    ProjectPath,
};
use retake_store::{Batch, ContextDates, FileRead, StoreError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::notify::record_context_event;
use super::timeline::{ContextEntry, ContextFile};
use crate::error::RecordError;
use crate::project::Project;

/// Maximum date in milliseconds that every reader accepts (the maximum JavaScript `Date`).
const MAX_DATE: Millis = 8_640_000_000_000_000;

/// The entries of a file that are on record, oldest first.
type RecordedEntries = VecDeque<(ContextSource, ContextDates)>;

/// The files in an agent's context, as other programs keep them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskMetadata {
    /// What happened to each file, in order.
    pub files_in_context: Vec<MetadataEntry>,
}

/// One thing that happened to a file in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataEntry {
    /// Relative to the project's root.
    pub path: String,
    /// Whether it is the newest entry of its path.
    pub record_state: RecordState,
    /// What happened.
    pub record_source: ContextSource,
    /// When the agent last read the file.
    #[serde(deserialize_with = "required_nullable")]
    pub roo_read_date: Option<Millis>,
    /// When the agent last changed it.
    #[serde(deserialize_with = "required_nullable")]
    pub roo_edit_date: Option<Millis>,
    /// When another actor changed it; it may be left out.
    #[serde(default)]
    pub user_edit_date: Option<Millis>,
}

/// State of an entry: whether it is the newest of its path. It says nothing of the content
/// (CTX-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordState {
    /// The newest entry of its path.
    Active,
    /// There is a newer entry.
    Stale,
}

impl RecordState {
    /// Every value.
    pub const ALL: &[Self] = &[Self::Active, Self::Stale];

    /// Returns the state of an entry, by whether it is the newest one of its path.
    pub fn of(is_newest: bool) -> Self {
        if is_newest { Self::Active } else { Self::Stale }
    }

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Stale => "stale",
        }
    }
}

/// Why something is no `task_metadata.json`.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file is not JSON, is cut off, or has other fields or values.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A path that no file of a project can have.
    #[error("entry {number}: {error}")]
    Path {
        /// The entry, counted from 1.
        number: usize,
        /// Why the path is invalid.
        error: PathError,
    },
    /// A number that is no date.
    #[error("entry {number} ('{path}'): {date} is no time in milliseconds since 1970")]
    Date {
        /// The entry, counted from 1.
        number: usize,
        /// Its file.
        path: String,
        /// The invalid date.
        date: Millis,
    },
    /// Two entries claim to be the newest one of a path.
    #[error("entry {number} ('{path}') is active, and so is an earlier one of that path")]
    TwoActive {
        /// The second of the two entries, counted from 1.
        number: usize,
        /// Their file.
        path: String,
    },
}

/// Outcome of importing a `task_metadata.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataImport {
    /// How many entries were added.
    pub entries: usize,
    /// How many were on record already.
    pub known: usize,
    /// Paths that cannot be in a context, and why not.
    pub skipped: Vec<(String, String)>,
}

impl TaskMetadata {
    /// Reads and checks a file's content.
    pub fn from_json(bytes: &[u8]) -> Result<Self, MetadataError> {
        if bytes.trim_ascii().is_empty() {
            return Err(MetadataError::Empty);
        }
        let metadata: Self = serde_json::from_slice(bytes)?;
        metadata.check()?;
        Ok(metadata)
    }

    /// Checks it and returns the file's content.
    pub fn to_json(&self) -> Result<String, MetadataError> {
        self.check()?;
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Checks the rules that the types do not enforce.
    pub fn check(&self) -> Result<(), MetadataError> {
        let mut active = HashSet::new();
        for (number, entry) in (1..).zip(&self.files_in_context) {
            entry.parse_path().map_err(|error| MetadataError::Path { number, error })?;
            let path = || entry.path.clone();
            let dates = [entry.roo_read_date, entry.roo_edit_date, entry.user_edit_date];
            let wrong = dates.into_iter().flatten().find(|date| !(0..=MAX_DATE).contains(date));
            if let Some(date) = wrong {
                return Err(MetadataError::Date { number, path: path(), date });
            }
            if entry.record_state == RecordState::Active && !active.insert(&entry.path) {
                return Err(MetadataError::TwoActive { number, path: path() });
            }
        }
        Ok(())
    }
}

impl MetadataEntry {
    fn new(path: &str, entry: &ContextEntry, is_newest: bool) -> Self {
        Self {
            path: path.to_owned(),
            record_state: RecordState::of(is_newest),
            record_source: entry.source,
            roo_read_date: entry.dates.read,
            roo_edit_date: entry.dates.edit,
            user_edit_date: entry.dates.user,
        }
    }

    fn parse_path(&self) -> Result<ProjectPath, PathError> {
        self.path.parse()
    }

    fn dates(&self) -> ContextDates {
        ContextDates {
            read: self.roo_read_date,
            edit: self.roo_edit_date,
            user: self.user_edit_date,
        }
    }

    /// Returns when it happened, by its own dates.
    fn at(&self) -> Option<Millis> {
        match self.record_source {
            ContextSource::ReadTool | ContextSource::FileMentioned => self.roo_read_date,
            ContextSource::AgentEdited => self.roo_edit_date,
            ContextSource::UserEdited => self.user_edit_date,
        }
    }
}

/// Deserialises a value that may be null, but not left out.
fn required_nullable<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Millis>, D::Error> {
    Option::deserialize(deserializer)
}

impl Project {
    /// Exports an agent's context: every entry of every file, in the order in which they happened
    /// (CTX-2). A file whose name is not UTF-8 cannot be expressed and is left out.
    pub fn export_context(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<TaskMetadata, StoreError> {
        let mut entries = Vec::new();
        for file in self.context(dialog, agent)? {
            let Some(path) = file.path.as_str() else { continue };
            let newest = file.entries.len() - 1;
            let numbered = file.entries.iter().enumerate();
            entries.extend(numbered.map(|(number, entry)| {
                (entry.seq, MetadataEntry::new(path, entry, number == newest))
            }));
        }
        entries.sort_by_key(|(seq, _)| *seq);
        Ok(TaskMetadata { files_in_context: entries.into_iter().map(|(_, entry)| entry).collect() })
    }

    /// Imports an agent's context from another program, after what is on record.
    ///
    /// The content that the agent read is not known then, so the dates decide whether it is stale
    /// (CTX-13), until the agent reads it.
    pub fn import_context(
        &self,
        reader: AgentRef<'_>,
        metadata: &TaskMetadata,
        at: Millis,
    ) -> Result<MetadataImport, RecordError> {
        let _lock = self.acquire_lock()?;
        self.catch_up_and_refresh(at)?;
        let mut timelines = self.recorded_entries(reader)?;
        let mut imported = MetadataImport::default();
        let batch = self.store().batch()?;
        batch.touch_dialog(reader.dialog, None, None, at)?;
        batch.touch_agent(reader.dialog, reader.agent, None, None)?;
        for entry in &metadata.files_in_context {
            let path = match entry.parse_path() {
                Ok(path) if path.components().any(|name| name == b".git") => {
                    imported.skipped.push((entry.path.clone(), "it is git's own".to_owned()));
                    continue;
                }
                Ok(path) => path,
                Err(error) => {
                    imported.skipped.push((entry.path.clone(), error.to_string()));
                    continue;
                }
            };
            if timelines.get_mut(&path).is_some_and(|known| consume_known(entry, known)) {
                imported.known += 1;
                continue;
            }
            record_entry(&batch, reader, path, entry, at)?;
            imported.entries += 1;
        }
        if imported.entries > 0 {
            let stamp = batch.next_stamp(at);
            let body = json!({ "entries": imported.entries, "skipped": imported.skipped.len() });
            record_context_event(&batch, reader, JournalKind::ContextImported, stamp, body)?;
            batch.set_dialog_seq(reader.dialog, stamp.seq)?;
            batch.commit()?;
        }
        Ok(imported)
    }

    /// Returns the recorded entries of each file, reduced to what the format holds.
    fn recorded_entries(
        &self,
        reader: AgentRef<'_>,
    ) -> Result<HashMap<ProjectPath, RecordedEntries>, StoreError> {
        let known = |file: ContextFile| {
            let entries = file.entries.into_iter();
            (file.path, entries.map(|entry| (entry.source, entry.dates)).collect())
        };
        Ok(self.context(reader.dialog, reader.agent)?.into_iter().map(known).collect())
    }
}

/// Returns whether an entry is among the known ones, and drops those up to it; they are in order.
fn consume_known(entry: &MetadataEntry, known: &mut RecordedEntries) -> bool {
    let wanted = (entry.record_source, entry.dates());
    let found = known.iter().position(|recorded| *recorded == wanted);
    if let Some(at) = found {
        known.drain(..=at);
    }
    found.is_some()
}

/// Records an entry with a `seq` of its own.
fn record_entry(
    batch: &Batch<'_>,
    reader: AgentRef<'_>,
    path: ProjectPath,
    entry: &MetadataEntry,
    at: Millis,
) -> Result<(), StoreError> {
    batch.put_file_read(&FileRead {
        seq: batch.next_seq(),
        at: entry.at().unwrap_or(at),
        dialog: reader.dialog.clone(),
        agent: reader.agent.clone(),
        path,
        source: entry.record_source,
        side: PathState::Unknown,
        lines: None,
        dates: Some(entry.dates()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
  "files_in_context": [
    {
      "path": "src/a.ts",
      "record_state": "stale",
      "record_source": "file_mentioned",
      "roo_read_date": 1,
      "roo_edit_date": null,
      "user_edit_date": null
    },
    {
      "path": "src/a.ts",
      "record_state": "active",
      "record_source": "user_edited",
      "roo_read_date": 1,
      "roo_edit_date": null,
      "user_edit_date": 2
    }
  ]
}
"#;

    #[test]
    fn the_form_is_kept_to_the_letter() {
        let metadata = TaskMetadata::from_json(GOOD.as_bytes()).unwrap();
        assert_eq!(metadata.to_json().unwrap(), GOOD);
        let without = GOOD.replacen(",\n      \"user_edit_date\": null", "", 1);
        assert_eq!(TaskMetadata::from_json(without.as_bytes()).unwrap(), metadata);
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_refused_with_the_place() {
        for end in 0..GOOD.trim_end().len() {
            let error = TaskMetadata::from_json(&GOOD.as_bytes()[..end]).unwrap_err().to_string();
            assert!(error == "it is empty" || error.contains("line"), "{end}: {error}");
        }
    }

    #[test]
    fn what_does_not_fit_the_schema_is_refused_and_says_why() {
        for (old, new, why) in [
            ("\"active\"", "\"fresh\"", "unknown variant `fresh`"),
            ("\"user_edited\"", "\"edited_by_roo\"", "unknown variant `edited_by_roo`"),
            ("\"roo_edit_date\": null,\n", "", "missing field `roo_edit_date`"),
            ("\"path\": \"src/a.ts\",\n", "", "missing field `path`"),
            ("\"roo_read_date\": 1", "\"roo_read_date\": \"1\"", "invalid type: string"),
            ("\"roo_read_date\": 1", "\"roo_read_date\": 1.5", "invalid type: floating point"),
            ("\"roo_read_date\": 1", "\"roo_read_date\": -1", "-1 is no time"),
            ("\"user_edit_date\": 2", "\"user_edit_date\": 8640000000000001", "is no time"),
            ("\"record_state\"", "\"state\"", "unknown field `state`"),
            ("\"files_in_context\"", "\"files\"", "unknown field `files`"),
            ("src/a.ts", "/etc/passwd", "entry 1: the path"),
            ("src/a.ts", "../a.ts", "entry 1: the path"),
            ("src/a.ts", "./a.ts", "entry 1: the path"),
            ("src/a.ts", "", "entry 1: the path is empty"),
            ("\"stale\"", "\"active\"", "entry 2 ('src/a.ts') is active"),
        ] {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD, "{old}");
            let error = TaskMetadata::from_json(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{new}: {error}");
        }
        for corrupt in ["[]", "null", "{}", "\u{0}\u{1}", "{\"files_in_context\": {}}"] {
            assert!(TaskMetadata::from_json(corrupt.as_bytes()).is_err(), "{corrupt:?}");
        }
        let mut metadata = TaskMetadata::from_json(GOOD.as_bytes()).unwrap();
        metadata.files_in_context[0].path = "../a.ts".to_owned();
        assert!(metadata.to_json().is_err(), "it is checked before it is written, too");
    }
}
