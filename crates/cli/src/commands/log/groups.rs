//! Groups changes by the turn that made them.
//!
//! A turn of an agent is one group, wherever its changes stand between those of others. Changes of
//! the person, of git and of Retake are one group for each run of them.

use std::collections::{BTreeSet, HashMap};

use retake_engine::model::{Actor, Change, ChangeStatus, Confidence, DialogId};
use retake_engine::{ChangeFilter, Project, StoreError};

use crate::describe::{DialogNames, first_line};
use crate::escape::escape;

/// Changes read at once, where only the first groups are wanted.
const PAGE_CHANGES: usize = 1000;

/// The changes of one turn, or of one run of changes by another actor.
pub(super) struct ChangeGroup {
    /// In the order of the list.
    pub(super) changes: Vec<Change>,
    /// The first words of the message that began the turn.
    prompt: Option<String>,
}

#[derive(PartialEq, Eq, Hash)]
enum GroupKey {
    Turn(DialogId, u64),
    /// Of no turn; the number counts the runs.
    Run(Actor, usize),
}

/// Groups changes; groups stand where the first of their changes stands.
#[derive(Default)]
struct ChangeGrouping {
    groups: Vec<ChangeGroup>,
    places: HashMap<GroupKey, usize>,
    last_actor: Option<Actor>,
    runs: usize,
}

impl ChangeGrouping {
    fn add(&mut self, changes: Vec<Change>) {
        for change in changes {
            if self.last_actor != Some(change.actor) {
                self.runs += 1;
            }
            self.last_actor = Some(change.actor);
            let key = match turn_of(&change) {
                Some((dialog, turn)) => GroupKey::Turn(dialog, turn),
                None => GroupKey::Run(change.actor, self.runs),
            };
            let place = *self.places.entry(key).or_insert(self.groups.len());
            match self.groups.get_mut(place) {
                Some(group) => group.changes.push(change),
                None => self.groups.push(ChangeGroup { changes: vec![change], prompt: None }),
            }
        }
    }
}

/// The turn of an agent's change.
fn turn_of(change: &Change) -> Option<(DialogId, u64)> {
    let is_agents = change.actor == Actor::Agent;
    change.dialog.clone().zip(change.turn).filter(|_| is_agents)
}

/// Groups changes, at most `limit` groups.
pub(super) fn group_changes(
    project: &Project,
    changes: Vec<Change>,
    limit: usize,
) -> Result<Vec<ChangeGroup>, StoreError> {
    let mut grouping = ChangeGrouping::default();
    grouping.add(changes);
    with_prompts(project, grouping, limit)
}

/// Groups the changes that fit, at most `limit` groups, and reads only what these need of the record.
pub(super) fn first_groups(
    project: &Project,
    filter: &ChangeFilter,
    limit: usize,
) -> Result<Vec<ChangeGroup>, StoreError> {
    let mut page = ChangeFilter { limit: Some(PAGE_CHANGES), ..filter.clone() };
    let mut grouping = ChangeGrouping::default();
    // A run of changes of no turn has ended where the group after it begins.
    while grouping.groups.len() <= limit {
        let changes = project.changes(&page)?;
        let Some(last) = changes.last().map(|change| change.id) else { break };
        if filter.oldest_first {
            page.after = Some(last.0);
        } else {
            page.before = Some(last);
        }
        grouping.add(changes);
    }
    grouping.groups.truncate(limit);
    for group in &mut grouping.groups {
        let Some((dialog, turn)) = group.turn() else { continue };
        let is_its = |change: &Change| turn_of(change).as_ref() == Some(&(dialog.clone(), turn));
        let of_turn =
            ChangeFilter { dialogs: vec![dialog.clone()], turn: Some(turn), ..filter.clone() };
        group.changes = project.changes(&of_turn)?;
        group.changes.retain(is_its);
    }
    with_prompts(project, grouping, limit)
}

fn with_prompts(
    project: &Project,
    grouping: ChangeGrouping,
    limit: usize,
) -> Result<Vec<ChangeGroup>, StoreError> {
    let mut groups = grouping.groups;
    groups.truncate(limit);
    for group in &mut groups {
        let Some((dialog, turn)) = group.turn() else { continue };
        let message = project.message_of_turn(&dialog, turn)?;
        let words = message.map(|message| first_line(&message.text));
        group.prompt = words.filter(|words| !words.is_empty());
    }
    Ok(groups)
}

impl ChangeGroup {
    fn turn(&self) -> Option<(DialogId, u64)> {
        self.changes.first().and_then(turn_of)
    }

    /// Names who made the changes: the dialog of a turn, whichever of its agents it was.
    pub(super) fn who(&self, names: &DialogNames) -> String {
        let Some(first) = self.changes.first() else { return String::new() };
        if first.confidence == Confidence::Shared {
            return "shared".to_owned();
        }
        match (&first.dialog, first.actor) {
            (Some(dialog), Actor::Agent) => names.dialog(dialog),
            _ => names.actor(first),
        }
    }

    /// The message of a turn, or those who can have made changes that no turn is known of.
    pub(super) fn heading(&self, names: &DialogNames) -> String {
        match (&self.prompt, self.changes.first()) {
            (Some(prompt), _) => format!("“{}”", escape(prompt)),
            (None, Some(first)) if first.confidence == Confidence::Shared => names.actor(first),
            (None, _) => String::new(),
        }
    }

    /// Number of different files.
    pub(super) fn file_count(&self) -> u64 {
        self.changes.iter().map(|change| &change.path).collect::<BTreeSet<_>>().len() as u64
    }

    /// Lines added and removed by all changes together.
    pub(super) fn line_counts(&self) -> (u64, u64) {
        let lines = self.changes.iter().filter_map(|change| change.lines.as_ref());
        lines.fold((0, 0), |(added, removed), lines| {
            (added + u64::from(lines.added), removed + u64::from(lines.removed))
        })
    }

    /// The decisions on the changes, in a word or two: `undone`, `1 rejected`, `2 decided`.
    pub(super) fn state(&self) -> String {
        let all = self.changes.len();
        let with = |status| self.changes.iter().filter(|change| change.status == status).count();
        let statuses = [ChangeStatus::Reverted, ChangeStatus::Rejected, ChangeStatus::Accepted];
        let words = ["undone", "rejected", "accepted"];
        let counts: Vec<_> =
            statuses.into_iter().zip(words).map(|(one, word)| (with(one), word)).collect();
        let decided: Vec<_> = counts.into_iter().filter(|(count, _)| *count > 0).collect();
        match decided.as_slice() {
            [] => String::new(),
            [(count, word)] if *count == all => (*word).to_owned(),
            [(count, word)] => format!("{count} {word}"),
            several => {
                format!("{} decided", several.iter().map(|(count, _)| count).sum::<usize>())
            }
        }
    }
}
