//! An in-memory draft of the files: changes are taken back here first, nothing is written.

use std::collections::BTreeMap;
use std::ops::Range;

use retake_model::{FileKind, FileState, PathState, ProjectPath};
use retake_store::{Store, StoreError, hash_blob};

use crate::content::adjacent::merge_keeping_ours;
use crate::content::comparable::comparable_content;
use crate::content::diff::{edits_between, is_binary, lines};
use crate::content::line_map::LineMap;
use crate::content::merge::{ConflictLabels, MergeResult, merge};
use crate::plan::PlanReason;
use crate::plan::net_change::NetChange;

/// A file's state in the draft, with its content if the store does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftFile {
    pub(crate) side: PathState,
    pub(crate) content: Option<Vec<u8>>,
}

impl From<PathState> for DraftFile {
    fn from(side: PathState) -> Self {
        Self { side, content: None }
    }
}

/// The handling of places where what is taken back conflicts with what came later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictHandling {
    /// The file is left.
    Leave,
    /// Both versions are written into the file, between markers.
    Markers,
    /// The place stays as it is now; the rest of the file is taken back.
    KeepPlaces,
}

/// The files as they would be.
pub(crate) struct Draft<'s> {
    store: &'s Store,
    changed: BTreeMap<ProjectPath, DraftFile>,
    conflicts: ConflictHandling,
    /// Where files went, in the order in which changes were taken back; no target if one that the
    /// changes had made went away.
    moves: Vec<(ProjectPath, Option<ProjectPath>)>,
    /// The lines of files in the draft that stay as they are now, from 0.
    kept_places: BTreeMap<ProjectPath, Vec<Range<usize>>>,
}

/// What a merge of a file comes to.
struct MergedFile {
    file: DraftFile,
    reason: PlanReason,
    /// The lines of it where conflicting places stay as they are now, from 0.
    kept_places: Vec<Range<usize>>,
}

impl MergedFile {
    fn new(file: DraftFile, reason: PlanReason) -> Self {
        Self { file, reason, kept_places: Vec::new() }
    }
}

impl<'s> Draft<'s> {
    /// A draft that only reads the record, or takes back what has no conflict.
    pub(crate) fn new(store: &'s Store) -> Self {
        Self::with(store, ConflictHandling::Leave)
    }

    pub(crate) fn with(store: &'s Store, conflicts: ConflictHandling) -> Self {
        let (changed, kept_places) = (BTreeMap::new(), BTreeMap::new());
        Self { store, changed, conflicts, moves: Vec::new(), kept_places }
    }

    /// Returns the recorded state of a path.
    pub(crate) fn now(&self, path: &ProjectPath) -> Result<PathState, StoreError> {
        let entry = self.store.manifest_entry(path)?;
        Ok(entry.map_or(PathState::Absent, |entry| entry.state.into()))
    }

    /// Returns the state of a path in the draft.
    pub(crate) fn at(&self, path: &ProjectPath) -> Result<DraftFile, StoreError> {
        match self.changed.get(path) {
            Some(file) => Ok(file.clone()),
            None => Ok(self.now(path)?.into()),
        }
    }

    /// Returns the paths that the draft changed.
    pub(crate) fn into_changed(self) -> Vec<(ProjectPath, DraftFile)> {
        self.changed.into_iter().collect()
    }

    /// Returns the lines of a file in the draft that stay as they are now since what is taken back
    /// conflicts there.
    pub(crate) fn kept_places(&self, path: &ProjectPath) -> &[Range<usize>] {
        self.kept_places.get(path).map_or(&[], Vec::as_slice)
    }

    /// Puts a recorded state at a path.
    pub(crate) fn put(&mut self, path: &ProjectPath, side: PathState) {
        self.set(path, side.into());
    }

    fn set(&mut self, path: &ProjectPath, file: DraftFile) {
        self.changed.insert(path.clone(), file);
    }

    /// Returns where the file that is at a path on disk is in the draft; none if it is not there.
    pub(crate) fn path_in_draft(&self, path: &ProjectPath) -> Option<ProjectPath> {
        let mut at = path;
        for (from, to) in &self.moves {
            if from == at {
                at = to.as_ref()?;
            }
        }
        Some(at.clone())
    }

    /// Returns the paths that the draft wrote.
    pub(crate) fn changed_paths(&self) -> impl Iterator<Item = &ProjectPath> {
        self.changed.keys()
    }

    /// Returns the paths of files with kept places.
    pub(crate) fn paths_with_kept_places(&self) -> impl Iterator<Item = &ProjectPath> {
        self.kept_places.keys()
    }

    /// Takes back one net change of the file that is at `place` now. The inner error is the
    /// obstacle; then the draft is unchanged.
    pub(crate) fn take_back(
        &mut self,
        net: &NetChange,
        place: &ProjectPath,
    ) -> Result<Result<PlanReason, PlanReason>, StoreError> {
        let ours = self.at(place)?;
        if net.before == PathState::Unknown {
            return Ok(Err(PlanReason::NotCaptured));
        }
        if ours.side == PathState::Unknown {
            return Ok(Err(self.not_kept_reason(place, net.before.is_absent())?));
        }
        if net.after == PathState::Unknown {
            return Ok(Err(PlanReason::ChangeNotCaptured));
        }
        match (net.before.known(), net.after.known()) {
            (None, None) => Ok(Ok(PlanReason::Already)),
            (None, Some(after)) => self.take_back_creation(place, &ours, after),
            (Some(_), None) => self.take_back_deletion(net),
            (Some(_), Some(after)) => self.take_back_edit(net, place, &ours, after),
        }
    }

    /// Returns the reason why a file whose content the store lacks may not be replaced.
    pub(crate) fn not_kept_reason(
        &self,
        path: &ProjectPath,
        new: bool,
    ) -> Result<PlanReason, StoreError> {
        let gaps = self.store.gaps()?.into_iter().map(|(gap, _)| gap);
        let why = gaps.filter(|gap| gap.path == *path).map(|gap| gap.reason).next();
        Ok(PlanReason::NotKept { new, why })
    }

    fn take_back_creation(
        &mut self,
        place: &ProjectPath,
        ours: &DraftFile,
        after: &FileState,
    ) -> Result<Result<PlanReason, PlanReason>, StoreError> {
        match ours.side.known() {
            None => Ok(Ok(PlanReason::Already)),
            Some(now) if (now.kind, now.oid) == (after.kind, after.oid) => {
                self.set(place, PathState::Absent.into());
                self.moves.push((place.clone(), None));
                Ok(Ok(PlanReason::Exact))
            }
            Some(now) if self.conflicts == ConflictHandling::KeepPlaces => {
                let Some(file) = self.later_lines(ours, now, after)? else {
                    return Ok(Err(PlanReason::ChangedSince));
                };
                self.set(place, file);
                Ok(Ok(PlanReason::Merged))
            }
            Some(_) => Ok(Err(PlanReason::ChangedSince)),
        }
    }

    /// A file that was created with other lines: what was added since. `None` if it is no text.
    fn later_lines(
        &self,
        ours: &DraftFile,
        now: &FileState,
        created: &FileState,
    ) -> Result<Option<DraftFile>, StoreError> {
        let (before, after) = (self.text(&PathState::Known(*created).into())?, self.text(ours)?);
        let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
        if [now.kind, created.kind] != [FileKind::File; 2]
            || [&before, &after].into_iter().any(|text| is_binary(text))
        {
            return Ok(None);
        }
        let (old, new): (Vec<_>, Vec<_>) = (lines(&before).collect(), lines(&after).collect());
        let added = edits_between(&old, &new).into_iter().map(|edit| new[edit.new].concat());
        let bytes = added.collect::<Vec<_>>().concat();
        let (oid, size) = (hash_blob(&bytes)?, bytes.len() as u64);
        let later = FileState { oid, size, ..*now };
        Ok(Some(DraftFile { side: PathState::Known(later), content: Some(bytes) }))
    }

    /// The file comes back under the name that it had before, also if it was moved first.
    fn take_back_deletion(
        &mut self,
        net: &NetChange,
    ) -> Result<Result<PlanReason, PlanReason>, StoreError> {
        let ours = self.at(&net.from)?;
        if ours.side == net.before {
            return Ok(Ok(PlanReason::Already));
        }
        if !ours.side.is_absent() {
            return Ok(Err(PlanReason::Occupied("a newer file".to_owned())));
        }
        let back = self.with_latest_mode(&net.from, net.before)?;
        self.set(&net.from, back.into());
        Ok(Ok(PlanReason::Exact))
    }

    /// Applies the mode that the file had when it was last deleted: after an undo the person may
    /// have changed it, before a redo deleted the file again.
    fn with_latest_mode(
        &self,
        path: &ProjectPath,
        before: PathState,
    ) -> Result<PathState, StoreError> {
        let last = match self.store.last_change_of(path) {
            // A damaged row does not prevent bringing the file back.
            Err(StoreError::Row(_)) => None,
            last => last?,
        };
        let went = last.filter(|last| last.after.is_absent()).map(|last| last.before);
        Ok(match (before.known(), went.as_ref().and_then(PathState::known)) {
            (Some(state), Some(last)) if (state.kind, state.oid) == (last.kind, last.oid) => {
                PathState::Known(FileState { mode: last.mode, ..*state })
            }
            _ => before,
        })
    }

    fn take_back_edit(
        &mut self,
        net: &NetChange,
        place: &ProjectPath,
        ours: &DraftFile,
        after: &FileState,
    ) -> Result<Result<PlanReason, PlanReason>, StoreError> {
        // A file that was moved on since goes back to where it was only with the move itself.
        let home = if net.from == net.path { place } else { &net.from };
        let Some(now) = ours.side.known() else {
            let is_back = self.at(home)?.side == net.before;
            return Ok(if is_back { Ok(PlanReason::Already) } else { Err(PlanReason::GoneSince) });
        };
        if home != place && *place != net.path {
            return Ok(Err(PlanReason::GoneSince));
        }
        if home != place && !self.at(home)?.side.is_absent() {
            return Ok(Err(PlanReason::Occupied("a newer file".to_owned())));
        }
        let theirs = match &net.partly {
            Some(bytes) => DraftFile {
                side: PathState::Known(FileState {
                    oid: hash_blob(bytes)?,
                    size: bytes.len() as u64,
                    // Kind and mode are not in the hunks.
                    ..*after
                }),
                content: Some(bytes.clone()),
            },
            None => net.before.into(),
        };
        let merged = match self.merge(after, ours, now, &theirs)? {
            Ok(merged) => merged,
            // In the draft the line numbers differ from those of the file on disk.
            Err(PlanReason::Conflict(places, _)) if self.changed.contains_key(place) => {
                return Ok(Err(PlanReason::Conflict(places, Vec::new())));
            }
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        self.follow_kept_places(place, home, ours, &merged)?;
        if home == place && merged.file.side == ours.side {
            return Ok(Ok(PlanReason::Already));
        }
        if home != place {
            self.set(place, PathState::Absent.into());
            self.moves.push((place.clone(), Some(home.clone())));
        }
        self.set(home, merged.file);
        Ok(Ok(merged.reason))
    }

    /// Moves the kept places of a file along with a merge, and adds those of the merge.
    fn follow_kept_places(
        &mut self,
        place: &ProjectPath,
        home: &ProjectPath,
        ours: &DraftFile,
        merged: &MergedFile,
    ) -> Result<(), StoreError> {
        let mut kept = self.kept_places.remove(place).unwrap_or_default();
        if !kept.is_empty()
            && let (Some(before), Some(after)) = (self.text(ours)?, self.text(&merged.file)?)
        {
            let map = LineMap::between(&before, &after);
            kept = kept.iter().map(|lines| map.follow(lines)).collect();
        }
        kept.extend(merged.kept_places.iter().cloned());
        if !kept.is_empty() {
            self.kept_places.insert(home.clone(), kept);
        }
        Ok(())
    }

    /// Three-way merge: kind and mode as whole values, text by lines.
    fn merge(
        &self,
        base: &FileState,
        ours: &DraftFile,
        now: &FileState,
        theirs: &DraftFile,
    ) -> Result<Result<MergedFile, PlanReason>, StoreError> {
        let Some(target) = theirs.side.known() else { return Ok(Err(PlanReason::NotCaptured)) };
        let Some(mode) = three_way(base.mode, now.mode, target.mode) else {
            return Ok(Err(PlanReason::ChangedSince));
        };
        let whole =
            three_way((base.kind, base.oid), (now.kind, now.oid), (target.kind, target.oid));
        if let Some((kind, oid)) = whole {
            let from = if oid == target.oid { theirs } else { ours };
            let length = from.side.known().map_or(0, |state| state.size);
            let mode = if kind == target.kind && kind != now.kind { target.mode } else { mode };
            let side = PathState::Known(FileState { kind, mode, oid, size: length });
            let later_stay = (kind, oid) != (target.kind, target.oid);
            let reason = if later_stay { PlanReason::Merged } else { PlanReason::Exact };
            let file = DraftFile { side, content: from.content.clone() };
            return Ok(Ok(MergedFile::new(file, reason)));
        }
        if [base.kind, now.kind, target.kind] != [FileKind::File; 3] {
            return Ok(Err(PlanReason::ChangedSince));
        }
        self.merge_text(base, ours, theirs, mode)
    }

    fn merge_text(
        &self,
        base: &FileState,
        ours: &DraftFile,
        theirs: &DraftFile,
        mode: u32,
    ) -> Result<Result<MergedFile, PlanReason>, StoreError> {
        let base = self.text(&PathState::Known(*base).into())?;
        let (ours, theirs) = (self.text(ours)?, self.text(theirs)?);
        let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
            return Ok(Err(PlanReason::ChangedSince));
        };
        let labels = ConflictLabels { base: "taken back", ours: "now", theirs: "before" };
        let mut kept_places = Vec::new();
        let (bytes, reason) = match merge(&base, &ours, &theirs, &labels) {
            MergeResult::Clean(bytes) => (bytes, PlanReason::Merged),
            MergeResult::Conflict { markers, places, lines } => match self.conflicts {
                ConflictHandling::Leave => return Ok(Err(PlanReason::Conflict(places, lines))),
                ConflictHandling::Markers => (markers, PlanReason::Markers(places)),
                ConflictHandling::KeepPlaces => {
                    let partial = merge_keeping_ours(&base, &ours, &theirs);
                    kept_places = partial.conflicts;
                    (partial.merged, PlanReason::Merged)
                }
            },
            MergeResult::NotText => return Ok(Err(PlanReason::ChangedSince)),
        };
        let (kind, oid, size) = (FileKind::File, hash_blob(&bytes)?, bytes.len() as u64);
        let merged = PathState::Known(FileState { kind, mode, oid, size });
        let file = DraftFile { side: merged, content: Some(bytes) };
        Ok(Ok(MergedFile { file, reason, kept_places }))
    }

    fn text(&self, file: &DraftFile) -> Result<Option<Vec<u8>>, StoreError> {
        match &file.content {
            Some(content) => Ok(Some(content.clone())),
            None => comparable_content(self.store, &file.side),
        }
    }

    /// Returns what occupies a path in the draft: a folder there, or a file above it.
    pub(crate) fn find_occupant(&self, path: &ProjectPath) -> Result<Option<String>, StoreError> {
        let mut above = path.parent();
        while let Some(folder) = above {
            if !self.at(&folder)?.side.is_absent() {
                return Ok(Some(format!("the file {folder}")));
            }
            above = folder.parent();
        }
        let there = |beneath: &ProjectPath| {
            Ok::<_, StoreError>(beneath != path && !self.at(beneath)?.side.is_absent())
        };
        for beneath in self.store.tracked_beneath(path)? {
            if there(&beneath)? {
                return Ok(Some(format!("the folder of {beneath}")));
            }
        }
        for (beneath, _) in self.changed.range(path.clone()..) {
            if !beneath.is_beneath(path) {
                // `a.txt` sorts between `a` and `a/b`.
                if beneath.as_bytes().starts_with(path.as_bytes()) {
                    continue;
                }
                break;
            }
            if there(beneath)? {
                return Ok(Some(format!("the folder of {beneath}")));
            }
        }
        Ok(None)
    }
}

/// Three-way merge of a value that has no parts; `None` if both sides changed it differently.
fn three_way<T: PartialEq + Copy>(base: T, ours: T, theirs: T) -> Option<T> {
    if theirs == base || ours == theirs {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        None
    }
}
