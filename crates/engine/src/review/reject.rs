//! Takes back chosen hunks: the plan that takes the changes of a scope back, narrowed to places.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Actor, Change, ChangeId, ChangeStatus, Confidence, DialogId, HunkKind, Millis, OperationKind,
    PathState, ProjectPath,
};
use retake_store::StatusMark;

use crate::error::OperationError;
use crate::plan::draft::{Draft, DraftFile};
use crate::plan::take_back::{CascadePolicy, TakeBackOptions};
use crate::plan::{FileAction, FollowUp, Plan, PlanReason, PlannedFile, RejectedPlaces};
use crate::project::Project;
use crate::review::act::{ChosenPart, HunkRequest};
use crate::review::file::{FileReader, Review, ReviewFile, ReviewedPart};
use crate::review::file_target::{ChosenHunks, HunkLines};
use crate::review::hunk::ReviewHunk;

/// Maximum rounds in which later changes are added to what is taken back.
const MAX_CASCADE_ROUNDS: usize = 8;

impl Project {
    /// Plans to take back hunks that the person does not want.
    pub fn plan_reject_places(
        &self,
        request: &HunkRequest,
        options: TakeBackOptions,
        at: Millis,
    ) -> Result<Plan, OperationError> {
        self.make_plan(at, |project| project.reject_places(request, options))
    }

    /// The same from the record as it is; the caller holds the lock.
    pub(super) fn reject_places(
        &self,
        request: &HunkRequest,
        options: TakeBackOptions,
    ) -> Result<Plan, OperationError> {
        let (review, parts) = self.find_hunks(request)?;
        let mut plan = Plan::new(OperationKind::Reject, describe_hunks(&parts));
        let (review, places) = (&review, Vec::new());
        let mut narrowed = HunkPlan { project: self, review, options, plan: &mut plan, places };
        for part in parts {
            narrowed.refuse_approved(&part)?;
            narrowed.add_part(part)?;
        }
        let places = std::mem::take(&mut narrowed.places);
        plan.follow_up = FollowUp::Rejected { reason: None, places };
        leave_blocked(self, &mut plan)?;
        plan.dialog = only_dialog(review, &plan);
        Ok(plan)
    }
}

/// A plan, while it is narrowed to hunks.
struct HunkPlan<'a> {
    project: &'a Project,
    review: &'a Review<'a>,
    options: TakeBackOptions,
    plan: &'a mut Plan,
    places: Vec<RejectedPlaces>,
}

impl HunkPlan<'_> {
    fn refuse_approved(&self, part: &ChosenPart) -> Result<(), OperationError> {
        for id in part.chosen_changes() {
            if self.review.change(id).is_some_and(|change| change.approved.is_some()) {
                return Err(OperationError::Approved(id));
            }
        }
        Ok(())
    }

    fn add_part(&mut self, part: ChosenPart) -> Result<(), OperationError> {
        let (part, extra) = self.cascade(part)?;
        let number = self.plan.files.iter().map(|file| file.part + 1).max().unwrap_or(0);
        let ChosenPart { part, mut chosen } = part;
        for (file, chosen) in part.files.iter().zip(&mut chosen) {
            let hunks = file.hunks.iter().enumerate();
            let stuck: Vec<_> = hunks
                .filter(|(at, hunk)| hunk.kind == HunkKind::Entangled && chosen.contains_key(at))
                .collect();
            for (at, hunk) in stuck {
                chosen.remove(&at);
                self.plan.files.push(left_place(file, hunk, number + 1));
            }
        }
        let mut taken: BTreeSet<ChangeId> = BTreeSet::new();
        for (file, chosen) in part.files.iter().zip(&chosen) {
            let chosen: ChosenHunks<'_> =
                chosen.iter().map(|(at, lines)| (*at, lines.as_ref())).collect();
            if chosen.is_empty() {
                continue;
            }
            let behind: BTreeSet<ChangeId> =
                chosen.keys().flat_map(|at| &file.hunks[*at].changes).copied().collect();
            self.add_file(file, &chosen, &behind, number)?;
            taken.extend(behind);
        }
        self.mark_changes(&part, &chosen, &extra, number);
        self.plan.cascaded.extend(extra.keys().filter(|id| taken.contains(id)));
        Ok(())
    }

    /// Adds the files that are written so that these hunks are gone from a file.
    fn add_file(
        &mut self,
        file: &ReviewFile,
        chosen: &ChosenHunks<'_>,
        behind: &BTreeSet<ChangeId>,
        part: u64,
    ) -> Result<(), OperationError> {
        let target = file.without(chosen)?;
        let hunks: Vec<_> = chosen.keys().map(|at| file.hunks[*at].id).collect();
        let reason = if file.is_all(chosen) { PlanReason::Exact } else { PlanReason::Merged };
        let changes: Vec<ChangeId> = behind.iter().copied().collect();
        let mut write = |path: &ProjectPath, now: PathState, then: DraftFile| {
            let mut planned = PlannedFile::going(path.clone(), now, then.side, reason.clone());
            planned.content = then.content;
            planned.changes.clone_from(&changes);
            planned.part = part;
            self.plan.files.push(planned);
        };
        if target.path == file.path {
            write(&file.path, file.now, target.file);
        } else {
            let there = Draft::new(self.project.store()).now(&target.path)?;
            write(&file.path, file.now, PathState::Absent.into());
            write(&target.path, there, target.file.clone());
            if !there.is_absent() {
                let reason = PlanReason::Occupied("a newer file".to_owned());
                self.plan.leave_parts(&[(part, reason)].into());
            }
        }
        let path = target.path;
        self.places.push(RejectedPlaces { part, path, changes, hunks, queued: Vec::new() });
        Ok(())
    }

    /// Changes of which nothing is left in the files get the status of what was taken back.
    fn mark_changes(
        &mut self,
        part: &ReviewedPart,
        chosen: &[BTreeMap<usize, Option<HunkLines>>],
        extra: &BTreeMap<ChangeId, Change>,
        number: u64,
    ) {
        let (mut gone, mut stays) = (BTreeSet::new(), BTreeSet::new());
        for (file, chosen) in part.files.iter().zip(chosen) {
            for (at, hunk) in file.hunks.iter().enumerate() {
                let is_gone = chosen.get(&at).is_some_and(Option::is_none);
                if is_gone { &mut gone } else { &mut stays }.extend(hunk.changes.iter().copied());
            }
        }
        if stays.is_empty() {
            // Also those whose lines are in no hunk, since later ones of the scope replaced them.
            gone.extend(part.files.iter().flat_map(|file| file.changes.iter().copied()));
        }
        let get = |id: &ChangeId| self.review.change(*id).or_else(|| extra.get(id));
        let gone = gone.difference(&stays).filter_map(get).collect::<Vec<_>>();
        self.plan.marks.extend(gone.into_iter().map(|change| StatusMark {
            change: change.id,
            part: number,
            old: change.status,
            new: match change.actor {
                Actor::Agent => ChangeStatus::Rejected,
                _ => ChangeStatus::Reverted,
            },
        }));
    }

    /// Adds the later changes that stand in the way of entangled hunks, if the policy lets them go.
    fn cascade(
        &self,
        mut part: ChosenPart,
    ) -> Result<(ChosenPart, BTreeMap<ChangeId, Change>), OperationError> {
        let mut extra: BTreeMap<ChangeId, Change> = BTreeMap::new();
        for _ in 0..MAX_CASCADE_ROUNDS {
            let mut blockers = BTreeMap::new();
            for id in chosen_entangled(&part).flat_map(|hunk| &hunk.blockers) {
                blockers.extend(self.project.store().change(*id)?.map(|change| (*id, change)));
            }
            blockers.retain(|id, change| !extra.contains_key(id) && change.is_effective());
            if blockers.is_empty() || !blockers.values().all(|change| self.may_go(change)) {
                break;
            }
            extra.extend(blockers);
            part = self.redraft(&part, &extra)?;
        }
        Ok((part, extra))
    }

    fn may_go(&self, change: &Change) -> bool {
        let is_open = change.actor == Actor::Agent && change.status == ChangeStatus::Pending;
        match self.options.cascade {
            CascadePolicy::Leave => false,
            CascadePolicy::Agents => is_open && change.confidence != Confidence::Shared,
            CascadePolicy::All => true,
        }
    }

    /// The same part without further changes, with the hunks that are where the chosen ones were.
    fn redraft(
        &self,
        part: &ChosenPart,
        extra: &BTreeMap<ChangeId, Change>,
    ) -> Result<ChosenPart, OperationError> {
        let own = part.part.files.iter().flat_map(|file| file.changes.iter().copied());
        let ids: BTreeSet<ChangeId> = own.chain(extra.keys().copied()).collect();
        let reader = FileReader { project: self.project, changes: self.review.changes(), extra };
        let mut files = Vec::new();
        let mut obstacle = None;
        for again in reader.files_without(&ids)? {
            files.extend(again.files);
            obstacle = obstacle.or(again.obstacle);
        }
        let chosen = files.iter().map(|file| choose_same_places(file, part)).collect();
        Ok(ChosenPart { part: ReviewedPart { files, obstacle }, chosen })
    }
}

fn chosen_entangled(part: &ChosenPart) -> impl Iterator<Item = &ReviewHunk> {
    let files = part.part.files.iter().zip(&part.chosen);
    let chosen = files.flat_map(|(file, chosen)| chosen.keys().map(|at| &file.hunks[*at]));
    chosen.filter(|hunk| hunk.kind == HunkKind::Entangled)
}

/// The hunks of a file that are where hunks of the same file were chosen before.
fn choose_same_places(file: &ReviewFile, part: &ChosenPart) -> BTreeMap<usize, Option<HunkLines>> {
    let before = part.part.files.iter().zip(&part.chosen);
    let Some((old, chosen)) = before.into_iter().find(|(old, _)| old.path == file.path) else {
        return BTreeMap::new();
    };
    let places: Vec<&ReviewHunk> = chosen.keys().map(|at| &old.hunks[*at]).collect();
    let whole = part.part.obstacle.is_some();
    let is_same = |hunk: &ReviewHunk| {
        whole
            || places.iter().any(|place| {
                let touches = place.new.start <= hunk.new.end && hunk.new.start <= place.new.end;
                place.id == hunk.id || touches
            })
    };
    let hunks = file.hunks.iter().enumerate().filter(|(_, hunk)| is_same(hunk));
    hunks.map(|(at, _)| (at, None)).collect()
}

/// An entangled place that stays as it is.
fn left_place(file: &ReviewFile, hunk: &ReviewHunk, part: u64) -> PlannedFile {
    let reason = hunk.obstacle.clone().unwrap_or(PlanReason::ChangedSince);
    let mut left = PlannedFile::left(file.path.clone(), file.now, reason);
    left.changes = hunk.changes.iter().copied().collect();
    left.blockers = hunk.blockers.iter().copied().collect();
    left.part = part;
    left
}

/// Leaves parts that would put a file where a folder is, or beneath a file.
fn leave_blocked(project: &Project, plan: &mut Plan) -> Result<(), OperationError> {
    let mut all = Draft::new(project.store());
    for file in plan.writes() {
        all.put(&file.path, file.then);
    }
    let mut blocked = std::collections::HashMap::new();
    for file in plan.writes().filter(|file| file.action == FileAction::Create) {
        if let Some(what) = all.find_occupant(&file.path)? {
            blocked.insert(file.part, PlanReason::Occupied(what));
        }
    }
    plan.leave_parts(&blocked);
    Ok(())
}

fn describe_hunks(parts: &[ChosenPart]) -> String {
    let files = || {
        let all = parts.iter().flat_map(|part| part.part.files.iter().zip(&part.chosen));
        all.filter(|(_, chosen)| !chosen.is_empty())
    };
    let hunks: usize = files().map(|(_, chosen)| chosen.len()).sum();
    let hunks = if hunks == 1 { "1 hunk".to_owned() } else { format!("{hunks} hunks") };
    let paths: Vec<_> = files().map(|(file, _)| &file.path).collect();
    match paths.as_slice() {
        [one] => format!("reject of {hunks} in {one}"),
        paths => format!("reject of {hunks} in {} files", paths.len()),
    }
}

fn only_dialog(review: &Review<'_>, plan: &Plan) -> Option<DialogId> {
    let changes = plan.files.iter().flat_map(|file| &file.changes);
    let mut dialogs: BTreeSet<_> = changes
        .filter_map(|id| review.change(*id))
        .filter_map(|change| change.dialog.clone())
        .collect();
    if dialogs.len() == 1 { dialogs.pop_first() } else { None }
}
