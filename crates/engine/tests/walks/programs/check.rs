//! What must hold after a call, whatever its text said. Each complaint names the promise:
//!
//! - (a) what was in sight right before the program is on disk or on record;
//! - (b) so is what was hidden, or else a gap names it;
//! - (c) one destructive command that says what it destroys leaves no gap;
//! - (d) what the program did is the agent's, what the person did before is the person's;
//! - (e) undo brings back what was there before the first program, and takes what programs made;
//! - (f) a hidden file that a program made is not recorded.

use std::collections::BTreeSet;

use retake_engine::model::{Actor, Change, FileKind, Gap, GapReason, PathState, ProjectPath};
use retake_engine::{ChangeFilter, Plan, Project, RecordOutcome};
use retake_testkit::disk::{DiskFile, DiskFiles};

use super::generate::{Kind, Program};
use super::sight::Sight;

/// A folder that both the person's rules and the default list name can be made again, so the
/// shield may leave it, if it says so.
const CAN_BE_MADE_AGAIN: &str = "build";

/// One call, with the disk right before and right after its program.
pub(crate) struct Scene<'s> {
    pub(crate) project: &'s Project,
    pub(crate) program: &'s Program,
    /// When Retake last looked before the person's edits.
    pub(crate) looked: &'s DiskFiles,
    pub(crate) before: &'s DiskFiles,
    pub(crate) after: &'s DiskFiles,
    pub(crate) sight: &'s Sight,
    /// How many changes there were when Retake last looked, and after the begin.
    pub(crate) known_changes: usize,
    pub(crate) begin_changes: usize,
    pub(crate) earlier_gaps: &'s [Gap],
    pub(crate) replies: [&'s RecordOutcome; 2],
    /// Paths that were there at any time before the program.
    pub(crate) ever: &'s BTreeSet<String>,
    /// What git tracks after it.
    pub(crate) tracked: &'s BTreeSet<String>,
    /// Whether an earlier program says that it may go on, so that later edits may be its own.
    pub(crate) may_be_late: bool,
}

/// Every change, oldest first.
pub(crate) fn all_changes(project: &Project) -> Vec<Change> {
    let filter = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
    project.changes(&filter).unwrap()
}

/// What is on record, for whoever reads of a failure.
pub(crate) fn recorded(project: &Project) -> String {
    let line = |change: Change| {
        let (kind, by, path) = (change.change_type, change.actor, change.path);
        let from = change.old_path.map_or(String::new(), |old| format!(" from {old}"));
        let call = change.call.map_or(String::new(), |call| format!(" in {call}"));
        format!("    {kind} {path}{from} by {by}{call}, {}", change.confidence)
    };
    let changes = all_changes(project).into_iter().map(line);
    let gap = |gap: Gap| format!("    gap {} {}", gap.path, gap.reason.as_str());
    changes.chain(gaps(project).into_iter().map(gap)).collect::<Vec<_>>().join("\n")
}

/// What is not protected.
pub(crate) fn gaps(project: &Project) -> Vec<Gap> {
    project.status().unwrap().gaps.into_iter().map(|(gap, _)| gap).collect()
}

impl Scene<'_> {
    /// Everything that is not as it must be.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let changes = all_changes(self.project);
        let gaps = gaps(self.project);
        let mut complaints = Vec::new();
        self.nothing_is_lost(&changes, &gaps, &mut complaints);
        self.no_excuse(&gaps, &mut complaints);
        self.right_actors(&changes, &gaps, &mut complaints);
        self.nothing_hidden_is_taken(&changes, &mut complaints);
        complaints
    }

    fn nothing_is_lost(&self, changes: &[Change], gaps: &[Gap], complaints: &mut Vec<String>) {
        for (path, entry) in self.before {
            let on_disk = self.after.get(path).is_some_and(|now| has_bytes_of(now, entry));
            let on_record = || self.is_on_record(changes, path, entry);
            if on_disk || on_record() || self.is_in_manifest(path, entry) {
                continue;
            }
            let now = shown(self.after.get(path));
            if self.sight.sees(path) {
                complaints.push(format!("(a) {path} is lost: {} became {now}", shown(Some(entry))));
            } else if !is_named(gaps, path) && !self.is_noticed(path) {
                complaints.push(format!("(b) {path} is lost: {} became {now}", shown(Some(entry))));
            }
        }
    }

    fn is_on_record(&self, changes: &[Change], path: &str, entry: &DiskFile) -> bool {
        changes.iter().any(|change| {
            (is_path(change.from_path(), path) && self.has(&change.before, entry))
                || (is_path(&change.path, path) && self.has(&change.after, entry))
        })
    }

    /// Whether Retake takes the path to be like this still: the next look will tell.
    fn is_in_manifest(&self, path: &str, entry: &DiskFile) -> bool {
        let known = self.project.store().manifest_entry(&path.parse().unwrap()).unwrap();
        known.is_some_and(|known| self.has(&known.state.into(), entry))
    }

    fn has(&self, side: &PathState, entry: &DiskFile) -> bool {
        let Some(state) = side.known() else { return false };
        (state.kind == FileKind::Link) == entry.is_link
            && state.size == entry.content.len() as u64
            && self.project.content(side).unwrap().is_some_and(|bytes| bytes == entry.content)
    }

    fn is_noticed(&self, path: &str) -> bool {
        let notices = self.replies.iter().flat_map(|reply| &reply.notices);
        notices.into_iter().any(|notice| notice.message.contains(path))
    }

    fn no_excuse(&self, gaps: &[Gap], complaints: &mut Vec<String>) {
        if self.program.kind != Kind::Destructive {
            return;
        }
        for gap in gaps.iter().filter(|gap| gap.reason == GapReason::NotShielded) {
            let path = gap.path.to_string();
            let may_leave = path.split('/').next() == Some(CAN_BE_MADE_AGAIN);
            if !self.earlier_gaps.contains(gap) && !may_leave {
                complaints.push(format!("(c) {path} was not shielded: {}", gap.detail));
            }
        }
    }

    fn right_actors(&self, changes: &[Change], gaps: &[Gap], complaints: &mut Vec<String>) {
        let theirs = &changes[self.begin_changes..];
        for change in theirs.iter().filter(|change| change.actor != Actor::Agent) {
            let what = (&change.path, change.change_type, change.actor);
            complaints.push(format!("(d) recorded as not the agent's: {what:?}"));
        }
        let by = |changes: &[Change], actor: Actor, path: &str| {
            let about =
                |change: &&Change| is_path(change.from_path(), path) || is_path(&change.path, path);
            changes.iter().filter(about).any(|change| change.actor == actor)
        };
        for path in differing(self.before, self.after) {
            let (was, is) = (self.before.get(path), self.after.get(path));
            let overwritten = was.is_some_and(|was| is.is_none_or(|is| !has_bytes_of(is, was)));
            let must = self.sight.sees(path) || (overwritten && !is_named(gaps, path));
            if must && !by(theirs, Actor::Agent, path) {
                let step = format!("{} became {}", shown(was), shown(is));
                complaints.push(format!("(d) {path} has no change of the agent's: {step}"));
            }
        }
        let before = &changes[self.known_changes..self.begin_changes];
        for path in differing(self.looked, self.before).filter(|path| self.sight.sees(path)) {
            if !self.may_be_late && !by(before, Actor::User, path) {
                let step =
                    format!("{} to {}", shown(self.looked.get(path)), shown(self.before.get(path)));
                complaints.push(format!("(d) {path} has no change of the person's: {step}"));
            }
            let now = self.before.get(path);
            if now.is_some_and(|now| !self.is_on_record(before, path, now)) {
                let now = shown(now);
                complaints.push(format!("(d) {path}: what the person left is not kept: {now}"));
            }
        }
    }

    fn nothing_hidden_is_taken(&self, changes: &[Change], complaints: &mut Vec<String>) {
        let theirs = &changes[self.begin_changes..];
        let is_new = |path: &&String| {
            !self.sight.sees(path) && !self.ever.contains(*path) && !self.tracked.contains(*path)
        };
        for path in self.after.keys().filter(is_new) {
            if theirs.iter().any(|change| is_path(&change.path, path)) {
                complaints.push(format!("(f) {path} is new and hidden, but has a change"));
            }
        }
    }
}

/// What was hidden before the program and came to be in it must not be in the manifest, unless new
/// rules show it.
pub(crate) fn hidden_in_manifest(project: &Project, hidden: &BTreeSet<String>) -> Vec<String> {
    let manifest = project.store().manifest().unwrap();
    let paths = manifest.iter().map(|entry| entry.path.to_string());
    let taken = paths.filter(|path| hidden.contains(path));
    taken.map(|path| format!("(f) {path} is new and hidden, but in the checkpoint")).collect()
}

/// What undo has to bring about.
pub(crate) struct Undone<'s> {
    /// The disk right before the first program.
    pub(crate) before: &'s DiskFiles,
    /// The disk right before the undo.
    pub(crate) last: &'s DiskFiles,
    /// The disk after it.
    pub(crate) now: &'s DiskFiles,
    /// Whether the person did nothing between the programs.
    pub(crate) strict: bool,
    /// What was in sight at the first begin, or at any later one.
    pub(crate) seen: &'s BTreeSet<String>,
    /// What programs made in sight.
    pub(crate) made: &'s BTreeSet<String>,
    /// What any program changed.
    pub(crate) touched: &'s BTreeSet<String>,
    pub(crate) gaps: &'s [Gap],
    pub(crate) plan: Option<&'s Plan>,
}

impl Undone<'_> {
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.strict {
            self.brought_back(&mut complaints);
            self.taken_away(&mut complaints);
        }
        for (path, entry) in self.last.iter().filter(|(path, _)| !self.is_near_touched(path)) {
            if !self.now.get(path).is_some_and(|now| now.same_content(entry)) {
                let step = format!("{} became {}", shown(Some(entry)), shown(self.now.get(path)));
                complaints.push(format!("(e) undo changed {path}, which no program did: {step}"));
            }
        }
        complaints
    }

    fn brought_back(&self, complaints: &mut Vec<String>) {
        for (path, entry) in self.before {
            let now = self.now.get(path);
            if now.is_some_and(|now| now.same_content(entry)) || self.is_in_the_way(path) {
                continue;
            }
            // A hidden file is taken for its bytes; new permissions alone destroy nothing.
            let excused = !self.seen.contains(path)
                && (is_named(self.gaps, path) || now.is_some_and(|now| has_bytes_of(now, entry)));
            if !excused {
                let step = format!("{} was {}", shown(now), shown(Some(entry)));
                let why = self.reason(path);
                complaints.push(format!("(e) undo did not bring back {path}: {step}{why}"));
            }
        }
    }

    fn taken_away(&self, complaints: &mut Vec<String>) {
        let made = self.now.keys().filter(|path| !self.before.contains_key(*path));
        for path in made.filter(|path| self.made.contains(*path)) {
            let why = self.reason(path);
            complaints.push(format!("(e) undo left {path}, which a program made{why}"));
        }
    }

    /// Whether something hidden that a program made stands where the path has to go: nobody
    /// recorded it, so nobody may remove it.
    fn is_in_the_way(&self, path: &str) -> bool {
        let is_hidden =
            |other: &&String| !self.before.contains_key(*other) && !self.seen.contains(*other);
        let beneath =
            |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
        self.last.keys().filter(is_hidden).any(|other| beneath(other, path) || beneath(path, other))
    }

    fn is_near_touched(&self, path: &str) -> bool {
        let beneath =
            |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
        let near =
            |touched: &String| touched == path || beneath(touched, path) || beneath(path, touched);
        self.touched.iter().any(near)
    }

    fn reason(&self, path: &str) -> String {
        let Some(plan) = self.plan else { return "; there was nothing to undo".to_owned() };
        let file = plan.files.iter().find(|file| is_path(&file.path, path));
        file.map_or("; not in the plan".to_owned(), |file| {
            format!("; {}: {:?}, done {:?}", file.action.as_str(), file.reason, file.done)
        })
    }
}

/// The paths that are not the same on two disks.
pub(crate) fn differing<'d>(
    a: &'d DiskFiles,
    b: &'d DiskFiles,
) -> impl Iterator<Item = &'d String> {
    let paths: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let same = |path: &String| match (a.get(path), b.get(path)) {
        (Some(one), Some(other)) => one.same_content(other),
        _ => false,
    };
    paths.into_iter().filter(move |path| !same(path))
}

fn has_bytes_of(now: &DiskFile, was: &DiskFile) -> bool {
    (now.is_link, &now.content) == (was.is_link, &was.content)
}

fn is_named(gaps: &[Gap], path: &str) -> bool {
    let path: ProjectPath = path.parse().unwrap();
    gaps.iter().any(|gap| gap.path.to_string() == "*" || path.is_beneath(&gap.path))
}

fn is_path(path: &ProjectPath, text: &str) -> bool {
    path.as_bytes() == text.as_bytes()
}

fn shown(entry: Option<&DiskFile>) -> String {
    let Some(entry) = entry else { return "nothing".to_owned() };
    let kind = if entry.is_link { "link " } else { "" };
    format!("{kind}{:o} \"{}\"", entry.mode, entry.content.escape_ascii())
}
