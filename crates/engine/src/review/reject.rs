//! Takes back chosen hunks: the plan that takes the changes of a scope back, narrowed to places.

use std::collections::{BTreeMap, BTreeSet};

use retake_model::{
    Actor, Change, ChangeId, ChangeStatus, Confidence, DialogId, HunkId, HunkKind, Millis,
    OperationKind, PathState, ProjectPath,
};
use retake_store::StatusMark;

use crate::content::diff::lines;
use crate::error::OperationError;
use crate::plan::draft::{Draft, DraftFile};
use crate::plan::take_back::{CascadePolicy, TakeBackOptions};
use crate::plan::{FileAction, FollowUp, Plan, PlanReason, PlannedFile, RejectedPlaces};
use crate::project::Project;
use crate::review::act::{ChosenLines, ChosenPart, HunkRequest};
use crate::review::file::{FileReader, Review, ReviewFile, ReviewedPart};
use crate::review::file_target::{ChosenHunks, FileTarget, HunkLines};
use crate::review::hunk::ReviewHunk;
use crate::review::line_marks::{LineMarks, MarkSource};

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
        let Cascaded { part, extra, mut asked } = self.cascade(part)?;
        let number = self.plan.files.iter().map(|file| file.part + 1).max().unwrap_or(0);
        let ChosenPart { part, mut chosen } = part;
        for (file, chosen) in part.files.iter().zip(&mut chosen) {
            for (at, hunk) in file.hunks.iter().enumerate() {
                if hunk.kind == HunkKind::Entangled && chosen.remove(&at).is_some() {
                    asked.leave(hunk.id);
                    self.plan.files.push(left_place(file, hunk, number + 1));
                }
            }
        }
        let AddedFiles { taken, mut marks, is_occupied } =
            self.add_files(&part, &chosen, number)?;
        let hunks = part.files.iter().zip(&chosen).flat_map(|(file, chosen)| {
            chosen.keys().map(|at| file.hunks[*at].id).collect::<Vec<_>>()
        });
        let hunks = asked.of(hunks);
        // What goes now waits no longer.
        let whole = part.files.iter().zip(&chosen).flat_map(|(file, chosen)| {
            chosen.iter().filter(|(_, lines)| lines.is_none()).map(|(at, _)| &file.hunks[*at])
        });
        let queued = whole.filter_map(|hunk| hunk.queued).collect();
        self.add_places(&taken, RejectedHunks { hunks, queued }, number);
        for places in self.places.iter_mut().filter(|places| places.part == number) {
            places.marks = marks.remove(&places.path).unwrap_or_default();
        }
        self.mark_changes(&part, &chosen, &extra, number);
        if is_occupied {
            let reason = PlanReason::Occupied("a newer file".to_owned());
            self.plan.leave_parts(&[(number, reason)].into());
        } else {
            self.plan.cascaded.extend(extra.keys().filter(|id| taken.contains(id)));
        }
        Ok(())
    }

    /// Adds the files that are written so that the chosen hunks are gone.
    fn add_files(
        &mut self,
        part: &ReviewedPart,
        chosen: &[ChosenLines],
        number: u64,
    ) -> Result<AddedFiles, OperationError> {
        let (mut written, mut taken) = (BTreeMap::new(), BTreeSet::new());
        let (mut targets, mut is_all) = (Vec::new(), true);
        let mut marks: BTreeMap<ProjectPath, Vec<u64>> = BTreeMap::new();
        for (file, chosen) in part.files.iter().zip(chosen) {
            let chosen: ChosenHunks<'_> =
                chosen.iter().map(|(at, lines)| (*at, lines.as_ref())).collect();
            is_all &= file.is_all(&chosen);
            if chosen.is_empty() {
                continue;
            }
            taken.extend(chosen.keys().flat_map(|at| &file.hunks[*at].changes).copied());
            let target = file.without(&chosen)?;
            let keys = self.marks_without(file, &chosen, &target)?;
            marks.entry(target.path.clone()).or_default().extend(keys);
            targets.push(target);
            if !file.now.is_absent() {
                written.insert(file.path.clone(), PathState::Absent.into());
            }
        }
        let record = Draft::new(self.project.store());
        let mut is_occupied = false;
        for target in targets.into_iter().filter(|target| !target.file.side.is_absent()) {
            let is_free = match written.get(&target.path) {
                Some(planned) => *planned == DraftFile::from(PathState::Absent),
                None => record.now(&target.path)?.is_absent(),
            };
            is_occupied |= !is_free;
            written.insert(target.path, target.file);
        }
        let reason = if is_all { PlanReason::Exact } else { PlanReason::Merged };
        for (path, then) in written {
            let now = record.now(&path)?;
            let mut planned = PlannedFile::going(path, now, then.side, reason.clone());
            planned.content = then.content;
            planned.changes = taken.iter().copied().collect();
            planned.part = number;
            self.plan.files.push(planned);
        }
        Ok(AddedFiles { taken, marks, is_occupied })
    }

    /// The marks of what stays in a file, as its lines are known without the chosen hunks.
    fn marks_without(
        &self,
        file: &ReviewFile,
        chosen: &ChosenHunks<'_>,
        target: &FileTarget,
    ) -> Result<Vec<u64>, OperationError> {
        let (Some(now), Some(text)) = (&file.now_text, &target.file.content) else {
            return Ok(Vec::new());
        };
        let mut marked = LineMarks::new();
        for name in &file.names {
            marked.extend(self.project.store().reviewed_lines(name)?);
        }
        let now: Vec<&[u8]> = lines(now).collect();
        let changes = self.review.changes();
        let source = MarkSource { now: &now, trace: &file.trace, changes };
        let stays = file.hunks.iter().enumerate();
        let stays = stays.filter(|(at, _)| !chosen.get(at).is_some_and(Option::is_none));
        let stays: Vec<_> = stays.map(|(_, hunk)| hunk.clone()).collect();
        Ok(if marked.is_empty() { Vec::new() } else { source.keys_in(&stays, &marked, text) })
    }

    /// Names the changes of which a part takes places back: whoever takes back what is left of them
    /// takes back all that was written here.
    fn add_places(&mut self, taken: &BTreeSet<ChangeId>, rejected: RejectedHunks, part: u64) {
        let written = self.plan.files.iter().filter(|file| file.part == part);
        let mut paths: Vec<_> = written.map(|file| file.path.clone()).collect();
        let Some(last) = paths.pop() else { return };
        let changes: Vec<ChangeId> = taken.iter().copied().collect();
        let places = |path, RejectedHunks { hunks, queued }| {
            let changes = changes.clone();
            RejectedPlaces { part, path, changes, hunks, queued, marks: Vec::new() }
        };
        let others = paths.into_iter().map(|path| places(path, RejectedHunks::default()));
        self.places.extend(others);
        self.places.push(places(last, rejected));
    }

    /// Changes of which nothing is left in the files get the status of what was taken back.
    fn mark_changes(
        &mut self,
        part: &ReviewedPart,
        chosen: &[ChosenLines],
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
    fn cascade(&self, part: ChosenPart) -> Result<Cascaded, OperationError> {
        let mut cascaded = Cascaded { part, extra: BTreeMap::new(), asked: AskedHunks::default() };
        for _ in 0..MAX_CASCADE_ROUNDS {
            let mut blockers = BTreeMap::new();
            for id in chosen_entangled(&cascaded.part).flat_map(|hunk| &hunk.blockers) {
                blockers.extend(self.project.store().change(*id)?.map(|change| (*id, change)));
            }
            blockers.retain(|id, change| !cascaded.extra.contains_key(id) && change.is_effective());
            if blockers.is_empty() || !blockers.values().all(|change| self.may_go(change)) {
                break;
            }
            let mut extra = cascaded.extra.clone();
            extra.extend(blockers);
            let Some(next) = self.redraft(&cascaded, extra)? else { break };
            cascaded = next;
        }
        Ok(cascaded)
    }

    fn may_go(&self, change: &Change) -> bool {
        let is_open = change.actor == Actor::Agent && change.status == ChangeStatus::Pending;
        match self.options.cascade {
            CascadePolicy::Leave => false,
            CascadePolicy::Agents => is_open && change.confidence != Confidence::Shared,
            CascadePolicy::All => true,
        }
    }

    /// The same part without further changes, with the hunks that are where the chosen ones were;
    /// `None` if chosen lines can no longer be told from others.
    fn redraft(
        &self,
        before: &Cascaded,
        extra: BTreeMap<ChangeId, Change>,
    ) -> Result<Option<Cascaded>, OperationError> {
        let files = &before.part.part.files;
        let own = files.iter().flat_map(|file| file.changes.iter().copied());
        let ids: BTreeSet<ChangeId> = own.chain(extra.keys().copied()).collect();
        let changes = self.review.changes();
        let reader = FileReader { project: self.project, changes, extra: &extra };
        let mut part = ReviewedPart { files: Vec::new(), obstacle: None };
        for again in reader.files_without(&ids)? {
            part.files.extend(again.files);
            part.obstacle = part.obstacle.or(again.obstacle);
        }
        let mut asked = AskedHunks::default();
        let mut chosen = Vec::new();
        for file in &part.files {
            let Some(same) = choose_same_places(file, before, &mut asked) else { return Ok(None) };
            chosen.push(same);
        }
        Ok(Some(Cascaded { part: ChosenPart { part, chosen }, extra, asked }))
    }
}

/// The hunks that go, and the rejections of them that waited.
#[derive(Default)]
struct RejectedHunks {
    hunks: Vec<HunkId>,
    queued: Vec<u64>,
}

/// The files of a part that are written.
struct AddedFiles {
    /// The changes behind the hunks that go.
    taken: BTreeSet<ChangeId>,
    /// The marks of lines that stay, as they are known then.
    marks: BTreeMap<ProjectPath, Vec<u64>>,
    /// Whether one of them would take the place of another file.
    is_occupied: bool,
}

/// A part with the later changes that are taken back too.
struct Cascaded {
    part: ChosenPart,
    extra: BTreeMap<ChangeId, Change>,
    asked: AskedHunks,
}

/// The hunks that the person named, by those that are where they were.
#[derive(Default)]
struct AskedHunks {
    by_hunk: BTreeMap<HunkId, BTreeSet<HunkId>>,
    left: BTreeSet<HunkId>,
}

impl AskedHunks {
    fn named(&self, id: HunkId) -> BTreeSet<HunkId> {
        self.by_hunk.get(&id).cloned().unwrap_or_else(|| BTreeSet::from([id]))
    }

    /// A hunk stays as it is.
    fn leave(&mut self, id: HunkId) {
        let named = self.named(id);
        self.left.extend(named);
    }

    /// What is carried out of what was named with these hunks.
    fn of(&self, hunks: impl Iterator<Item = HunkId>) -> Vec<HunkId> {
        let named: BTreeSet<HunkId> = hunks.flat_map(|id| self.named(id)).collect();
        named.difference(&self.left).copied().collect()
    }
}

fn chosen_entangled(part: &ChosenPart) -> impl Iterator<Item = &ReviewHunk> {
    let files = part.part.files.iter().zip(&part.chosen);
    let chosen = files.flat_map(|(file, chosen)| chosen.keys().map(|at| &file.hunks[*at]));
    chosen.filter(|hunk| hunk.kind == HunkKind::Entangled)
}

/// The hunks of a file that are where hunks of the same file were chosen before; `None` if lines were
/// chosen of a hunk that is another one now.
fn choose_same_places(
    file: &ReviewFile,
    before: &Cascaded,
    asked: &mut AskedHunks,
) -> Option<ChosenLines> {
    let files = before.part.part.files.iter().zip(&before.part.chosen);
    let is_whole = before.part.part.obstacle.is_some();
    let old: Vec<(&ReviewHunk, &Option<HunkLines>)> = files
        .filter(|(old, _)| is_whole || old.path == file.path)
        .flat_map(|(old, chosen)| chosen.iter().map(|(at, lines)| (&old.hunks[*at], lines)))
        .collect();
    let mut same = ChosenLines::new();
    for (at, hunk) in file.hunks.iter().enumerate() {
        for (place, lines) in &old {
            if !is_whole && !is_at_same_place(place, hunk) {
                continue;
            }
            let is_same = (place.kind, &place.removed, &place.added)
                == (hunk.kind, &hunk.removed, &hunk.added);
            if lines.is_some() && !is_same {
                return None;
            }
            same.insert(at, (*lines).clone());
            let named = before.asked.named(place.id);
            asked.by_hunk.entry(hunk.id).or_default().extend(named);
        }
    }
    Some(same)
}

/// Returns whether a hunk is the same as another one of the file, or is at its lines.
fn is_at_same_place(place: &ReviewHunk, hunk: &ReviewHunk) -> bool {
    let has_lines = |hunk: &ReviewHunk| matches!(hunk.kind, HunkKind::Lines | HunkKind::Entangled);
    let touches = place.new.start <= hunk.new.end && hunk.new.start <= place.new.end;
    place.id == hunk.id || (has_lines(place) && has_lines(hunk) && touches)
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
