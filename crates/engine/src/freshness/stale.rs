//! Files that changed since an agent last read them: as values and as text.

use std::collections::BTreeSet;
use std::fmt;

use retake_model::foreign_text::{quote_id, quote_name};
use retake_model::{
    Actor, AgentId, Change, ChangeId, ChangeMethod, DialogId, LineSpan, MAIN_AGENT, Millis,
    OperationId, PathState, ProjectPath,
};
use retake_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use super::knowledge::FileKnowledge;
use super::replay::AgentKnowledge;

/// Maximum changed places listed in the text; the others are counted.
const MAX_LISTED_PLACES: usize = 10;

/// A file that changed since an agent last read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleFile {
    /// The file.
    pub path: ProjectPath,
    /// How it differs.
    pub what: Staleness,
    /// Everyone who had a part in it.
    pub by: Vec<ChangeAuthor>,
    /// When it was first different.
    pub since: Option<Millis>,
    /// What it is now.
    pub now: PathState,
    /// The newest of the changes that made it so; 0 if another program says so.
    #[serde(skip)]
    pub(crate) newest_change: u64,
    /// `seq` of the agent's last read or change.
    #[serde(skip)]
    pub(crate) last_acted_seq: u64,
}

/// How a file differs from what an agent has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Staleness {
    /// These lines, as they are numbered now.
    Lines(Vec<StaleLines>),
    /// The content differs, and lines cannot be determined.
    Content,
    /// It was deleted.
    Deleted,
    /// It was moved to this path.
    MovedTo(ProjectPath),
}

/// Lines that changed since an agent last read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleLines {
    /// The lines now; `last` is one less than `first` where lines were removed before `first`.
    pub lines: LineSpan,
    /// Who changed them.
    pub by: Vec<ChangeAuthor>,
}

/// The actor that changed a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangeAuthor {
    /// The kind of actor.
    pub actor: Actor,
    /// The product, if it is an agent.
    pub kind: Option<String>,
    /// The conversation, if it is an agent.
    pub dialog: Option<DialogId>,
    /// The agent, if it is one.
    pub agent: Option<AgentId>,
    /// The operation, if it is Retake itself.
    pub operation: Option<OperationId>,
}

/// The reader of a text about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// An agent, for which the person is the user.
    Agent,
    /// The person.
    Person,
}

impl ChangeAuthor {
    pub(crate) fn of(change: &Change) -> Self {
        Self {
            actor: change.actor,
            kind: change.kind.clone(),
            dialog: change.dialog.clone(),
            agent: change.agent.clone(),
            operation: change.made_by,
        }
    }

    fn user() -> Self {
        Self { actor: Actor::User, kind: None, dialog: None, agent: None, operation: None }
    }

    /// Returns the name to use in a text for this reader.
    pub fn display_name(&self, to: Audience) -> String {
        match self.actor {
            Actor::User | Actor::Unknown => match to {
                Audience::Agent => "the user".to_owned(),
                Audience::Person => "you".to_owned(),
            },
            Actor::Git => "git".to_owned(),
            Actor::Retake => match self.operation {
                Some(operation) => format!("Retake ({operation})"),
                None => "Retake".to_owned(),
            },
            Actor::Agent => {
                let agent = self.agent.as_ref().filter(|agent| agent.0 != MAIN_AGENT);
                let kind = self.kind.as_deref().map(quote_id);
                match (kind, agent.map(|agent| quote_id(&agent.0))) {
                    (Some(kind), Some(agent)) => format!("agent {kind}/{agent}"),
                    (Some(kind), None) => format!("agent {kind}"),
                    (None, Some(agent)) => format!("agent {agent}"),
                    (None, None) => "another agent".to_owned(),
                }
            }
        }
    }
}

impl AgentKnowledge<'_> {
    /// Returns how a file differs from what the agent last read; none if it does not, or was never
    /// read.
    pub(crate) fn stale_file(
        &self,
        store: &Store,
        path: &ProjectPath,
    ) -> Result<Option<StaleFile>, StoreError> {
        let Some(known) = self.replay_if_changed(store, path)?.filter(FileKnowledge::is_stale)
        else {
            return Ok(None);
        };
        let changes = blamed_changes(store, &known)?;
        let authors_of = |ids: &BTreeSet<ChangeId>| {
            let changes = changes.iter().filter(|change| ids.contains(&change.id));
            // Where the agent does not know its own change, the user had a part in it; unless a
            // command of its own made it.
            let author = |change: &Change| match self.is_own_change(change) {
                false => Some(ChangeAuthor::of(change)),
                true if change.method == ChangeMethod::Command => None,
                true => Some(ChangeAuthor::user()),
            };
            let authors: BTreeSet<_> = changes.filter_map(author).collect();
            authors.into_iter().collect::<Vec<_>>()
        };
        let what = match (&known.gone, &known.unclear) {
            (Some(gone), _) => gone.to.clone().map_or(Staleness::Deleted, Staleness::MovedTo),
            (None, Some(_)) => Staleness::Content,
            (None, None) => {
                let lines = known.differs.iter();
                let stale = lines
                    .map(|(span, ids)| StaleLines { lines: span.lines(), by: authors_of(ids) });
                Staleness::Lines(join_adjacent(stale))
            }
        };
        let ids = changes.iter().map(|change| change.id).collect();
        Ok(Some(StaleFile {
            path: path.clone(),
            what,
            by: authors_of(&ids),
            since: changes.iter().map(|change| change.at).min(),
            now: known.now.unwrap_or(PathState::Unknown),
            newest_change: changes.last().map_or(0, |change| change.id.0),
            last_acted_seq: known.last_acted_seq,
        }))
    }
}

/// Returns the changes that made the difference.
fn blamed_changes(store: &Store, known: &FileKnowledge) -> Result<Vec<Change>, StoreError> {
    let mut ids: BTreeSet<ChangeId> = BTreeSet::new();
    ids.extend(known.gone.as_ref().map(|gone| gone.by));
    ids.extend(known.unclear.iter().flatten());
    ids.extend(known.differs.iter().flat_map(|(_, by)| by));
    let mut changes = Vec::new();
    for id in ids {
        changes.extend(store.change(id)?);
    }
    Ok(changes)
}

/// Joins adjacent lines by the same authors into one place.
fn join_adjacent(lines: impl Iterator<Item = StaleLines>) -> Vec<StaleLines> {
    let mut places: Vec<StaleLines> = Vec::new();
    for next in lines {
        match places.last_mut() {
            Some(last) if last.by == next.by && next.lines.first <= last.lines.last + 1 => {
                last.lines.last = last.lines.last.max(next.lines.last);
            }
            _ => places.push(next),
        }
    }
    places
}

impl StaleFile {
    /// `lines 40–62 changed by you, line 70 changed by git`.
    pub fn describe(&self, to: Audience) -> String {
        match &self.what {
            Staleness::Lines(places) => {
                let describe_place = |place: &StaleLines| {
                    describe_lines(place.lines) + &describe_authors(&place.by, to)
                };
                let listed = places.iter().take(MAX_LISTED_PLACES).map(describe_place);
                let more = places.len().saturating_sub(MAX_LISTED_PLACES);
                let rest = (more > 0).then(|| format!("and {more} more places"));
                listed.chain(rest).collect::<Vec<_>>().join(", ")
            }
            Staleness::Content => format!("changed{}", describe_authors(&self.by, to)),
            Staleness::Deleted => format!("deleted{}", describe_authors(&self.by, to)),
            Staleness::MovedTo(path) => {
                format!(
                    "moved to {}{}",
                    quote_name(path.as_bytes()),
                    describe_authors(&self.by, to)
                )
            }
        }
    }
}

/// In words for an agent.
impl fmt::Display for StaleFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(Audience::Agent))
    }
}

fn describe_lines(LineSpan { first, last }: LineSpan) -> String {
    match last {
        _ if last < first => format!("lines removed before line {first}"),
        _ if last == first => format!("line {first} changed"),
        u32::MAX => format!("lines {first} to the end changed"),
        _ => format!("lines {first}–{last} changed"),
    }
}

fn describe_authors(authors: &[ChangeAuthor], to: Audience) -> String {
    if authors.is_empty() {
        return String::new();
    }
    let names: BTreeSet<String> = authors.iter().map(|author| author.display_name(to)).collect();
    format!(" by {}", names.into_iter().collect::<Vec<_>>().join(" and "))
}
