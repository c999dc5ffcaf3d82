//! Groups changes by the turn that made them.
//!
//! A turn of an agent is one group, wherever its changes stand between those of others. Changes of
//! the person, of git and of Retake are one group for each run of them.

use std::collections::{BTreeSet, HashMap};

use retake_engine::model::{Actor, Change, ChangeStatus, Confidence, DialogId};
use retake_engine::{Project, StoreError};

use crate::describe::{DialogNames, first_line};
use crate::escape::escape;

/// The changes of one turn, or of one run of changes by another actor.
pub(in crate::commands) struct ChangeGroup {
    /// In the order of the list.
    pub(in crate::commands) changes: Vec<Change>,
    /// The first words of the message that began the turn.
    pub(in crate::commands) prompt: Option<String>,
}

#[derive(PartialEq, Eq, Hash)]
enum GroupKey {
    Turn(DialogId, u64),
    /// Of no turn; the number counts the runs.
    Run(Actor, usize),
}

/// Groups changes; groups stand where the first of their changes stands.
pub(in crate::commands) fn group_changes(
    project: &Project,
    changes: Vec<Change>,
) -> Result<Vec<ChangeGroup>, StoreError> {
    let mut groups: Vec<ChangeGroup> = Vec::new();
    let mut places: HashMap<GroupKey, usize> = HashMap::new();
    let (mut last_actor, mut runs) = (None, 0);
    for change in changes {
        if last_actor != Some(change.actor) {
            runs += 1;
        }
        last_actor = Some(change.actor);
        let key = match (change.actor, &change.dialog, change.turn) {
            (Actor::Agent, Some(dialog), Some(turn)) => GroupKey::Turn(dialog.clone(), turn),
            (actor, ..) => GroupKey::Run(actor, runs),
        };
        if let Some(place) = places.get(&key) {
            groups[*place].changes.push(change);
            continue;
        }
        let prompt = match &key {
            GroupKey::Turn(dialog, turn) => project.message_of_turn(dialog, *turn)?,
            GroupKey::Run(..) => None,
        };
        let prompt = prompt.map(|message| first_line(&message.text));
        places.insert(key, groups.len());
        let prompt = prompt.filter(|words| !words.is_empty());
        groups.push(ChangeGroup { changes: vec![change], prompt });
    }
    Ok(groups)
}

impl ChangeGroup {
    /// Who made the changes: the dialog of a turn, whichever of its agents it was.
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
