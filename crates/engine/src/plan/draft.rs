//! An in-memory draft of the files: changes are taken back here first, nothing is written.

use std::collections::BTreeMap;

use retake_model::{Change, ChangeId, FileKind, FileState, ProjectPath, Side};
use retake_store::{Store, StoreError, hash_blob};

use crate::content::comparable;
use crate::merge::{Labels, Merged, merge};
use crate::plan::Reason;

/// One step of a file from `before` to `after`, made by one change or by several in a row.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    /// Where the file was before.
    pub(crate) from: ProjectPath,
    /// Where it was after; the same path unless it was moved.
    pub(crate) path: ProjectPath,
    pub(crate) before: Side,
    pub(crate) after: Side,
    /// The changes in it, oldest first.
    pub(crate) changes: Vec<ChangeId>,
    /// The content to go back to, if only some hunks are taken back.
    pub(crate) partly: Option<Vec<u8>>,
}

impl Net {
    /// The step that one change made.
    pub(crate) fn of(change: &Change) -> Self {
        Self {
            from: change.from_path().clone(),
            path: change.path.clone(),
            before: change.before,
            after: change.after,
            changes: vec![change.id],
            partly: None,
        }
    }

    /// The newest change in it.
    pub(crate) fn newest(&self) -> ChangeId {
        self.changes.last().copied().unwrap_or(ChangeId(0))
    }
}

/// A file's state in the draft, with its content if the store does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) side: Side,
    pub(crate) content: Option<Vec<u8>>,
}

impl From<Side> for Held {
    fn from(side: Side) -> Self {
        Self { side, content: None }
    }
}

/// The files as they would be.
#[derive(Clone)]
pub(crate) struct Draft<'s> {
    store: &'s Store,
    changed: BTreeMap<ProjectPath, Held>,
    /// Conflicts are written into the files, between markers.
    markers: bool,
}

impl<'s> Draft<'s> {
    pub(crate) fn new(store: &'s Store, markers: bool) -> Self {
        Self { store, changed: BTreeMap::new(), markers }
    }

    /// Returns the recorded state of a path.
    pub(crate) fn now(&self, path: &ProjectPath) -> Result<Side, StoreError> {
        let entry = self.store.manifest_entry(path)?;
        Ok(entry.map_or(Side::Absent, |entry| entry.stored.into()))
    }

    /// Returns the state of a path in the draft.
    pub(crate) fn at(&self, path: &ProjectPath) -> Result<Held, StoreError> {
        match self.changed.get(path) {
            Some(held) => Ok(held.clone()),
            None => Ok(self.now(path)?.into()),
        }
    }

    /// Iterates over the paths that the draft changed.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&ProjectPath, &Held)> {
        self.changed.iter()
    }

    /// Puts a recorded state at a path.
    pub(crate) fn put(&mut self, path: &ProjectPath, side: Side) {
        self.set(path, side.into());
    }

    /// Adds the paths that another draft changed.
    pub(crate) fn overlay(&mut self, other: &Self) {
        self.changed.extend(other.changed.clone());
    }

    fn set(&mut self, path: &ProjectPath, held: Held) {
        self.changed.insert(path.clone(), held);
    }

    /// Takes back one net change of the file that is at `place` now. The inner error is the
    /// obstacle; then the draft is unchanged.
    pub(crate) fn take_back(
        &mut self,
        net: &Net,
        place: &ProjectPath,
    ) -> Result<Result<Reason, Reason>, StoreError> {
        let ours = self.at(place)?;
        if net.before == Side::Unknown {
            return Ok(Err(Reason::NotCaptured));
        }
        if ours.side == Side::Unknown {
            return Ok(Err(self.not_kept(place, net.before.is_absent())?));
        }
        if net.after == Side::Unknown {
            return Ok(Err(Reason::ChangeNotCaptured));
        }
        match (net.before.known(), net.after.known()) {
            (None, None) => Ok(Ok(Reason::Already)),
            (None, Some(after)) => Ok(self.take_back_creation(place, &ours, after)),
            (Some(_), None) => self.take_back_deletion(net),
            (Some(_), Some(after)) => self.take_back_edit(net, place, &ours, after),
        }
    }

    /// Returns the reason why a file whose content the store lacks may not be replaced.
    pub(crate) fn not_kept(&self, path: &ProjectPath, new: bool) -> Result<Reason, StoreError> {
        let gaps = self.store.gaps()?.into_iter().map(|(gap, _)| gap);
        let why = gaps.filter(|gap| gap.path == *path).map(|gap| gap.reason).next();
        Ok(Reason::NotKept { new, why })
    }

    fn take_back_creation(
        &mut self,
        place: &ProjectPath,
        ours: &Held,
        after: &FileState,
    ) -> Result<Reason, Reason> {
        match ours.side.known() {
            None => Ok(Reason::Already),
            Some(now) if (now.kind, now.oid) == (after.kind, after.oid) => {
                self.set(place, Side::Absent.into());
                Ok(Reason::Exact)
            }
            Some(_) => Err(Reason::ChangedSince),
        }
    }

    /// The file comes back under the name that it had before, also if it was moved first.
    fn take_back_deletion(&mut self, net: &Net) -> Result<Result<Reason, Reason>, StoreError> {
        let ours = self.at(&net.from)?;
        if ours.side == net.before {
            return Ok(Ok(Reason::Already));
        }
        if !ours.side.is_absent() {
            return Ok(Err(Reason::Occupied("a newer file".to_owned())));
        }
        let back = self.as_it_went(&net.from, net.before)?;
        self.set(&net.from, back.into());
        Ok(Ok(Reason::Exact))
    }

    /// Applies the mode that the file had when it was last deleted: after an undo the person may
    /// have changed it, before a redo deleted the file again.
    fn as_it_went(&self, path: &ProjectPath, before: Side) -> Result<Side, StoreError> {
        let last = match self.store.last_change_of(path) {
            // A damaged row does not prevent bringing the file back.
            Err(StoreError::Row(_)) => None,
            last => last?,
        };
        let went = last.filter(|last| last.after.is_absent()).map(|last| last.before);
        Ok(match (before.known(), went.as_ref().and_then(Side::known)) {
            (Some(state), Some(last)) if (state.kind, state.oid) == (last.kind, last.oid) => {
                Side::Known(FileState { mode: last.mode, ..*state })
            }
            _ => before,
        })
    }

    fn take_back_edit(
        &mut self,
        net: &Net,
        place: &ProjectPath,
        ours: &Held,
        after: &FileState,
    ) -> Result<Result<Reason, Reason>, StoreError> {
        // A file that was moved on since goes back to where it was only with the move itself.
        let home = if net.from == net.path { place } else { &net.from };
        let Some(now) = ours.side.known() else {
            let is_back = self.at(home)?.side == net.before;
            return Ok(if is_back { Ok(Reason::Already) } else { Err(Reason::GoneSince) });
        };
        if home != place && *place != net.path {
            return Ok(Err(Reason::GoneSince));
        }
        if home != place && !self.at(home)?.side.is_absent() {
            return Ok(Err(Reason::Occupied("a newer file".to_owned())));
        }
        let theirs = match &net.partly {
            Some(bytes) => Held {
                side: Side::Known(FileState {
                    oid: hash_blob(bytes)?,
                    size: bytes.len() as u64,
                    // Kind and mode are not in the hunks.
                    ..*after
                }),
                content: Some(bytes.clone()),
            },
            None => net.before.into(),
        };
        let (result, reason) = match self.merge(after, ours, now, &theirs)? {
            Ok(merged) => merged,
            // In the draft the line numbers differ from those of the file on disk.
            Err(Reason::Conflict(places, _)) if self.changed.contains_key(place) => {
                return Ok(Err(Reason::Conflict(places, Vec::new())));
            }
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        if home == place && result.side == ours.side {
            return Ok(Ok(Reason::Already));
        }
        if home != place {
            self.set(place, Side::Absent.into());
        }
        self.set(home, result);
        Ok(Ok(reason))
    }

    /// Three-way merge: kind and mode as whole values, text by lines.
    fn merge(
        &self,
        base: &FileState,
        ours: &Held,
        now: &FileState,
        theirs: &Held,
    ) -> Result<Result<(Held, Reason), Reason>, StoreError> {
        let Some(target) = theirs.side.known() else { return Ok(Err(Reason::NotCaptured)) };
        let Some(mode) = three_way(base.mode, now.mode, target.mode) else {
            return Ok(Err(Reason::ChangedSince));
        };
        let whole =
            three_way((base.kind, base.oid), (now.kind, now.oid), (target.kind, target.oid));
        if let Some((kind, oid)) = whole {
            let from = if oid == target.oid { theirs } else { ours };
            let length = from.side.known().map_or(0, |state| state.size);
            let mode = if kind == target.kind && kind != now.kind { target.mode } else { mode };
            let side = Side::Known(FileState { kind, mode, oid, size: length });
            let later_stay = (kind, oid) != (target.kind, target.oid);
            let reason = if later_stay { Reason::Merged } else { Reason::Exact };
            return Ok(Ok((Held { side, content: from.content.clone() }, reason)));
        }
        if [base.kind, now.kind, target.kind] != [FileKind::File; 3] {
            return Ok(Err(Reason::ChangedSince));
        }
        self.merge_text(base, ours, theirs, mode)
    }

    fn merge_text(
        &self,
        base: &FileState,
        ours: &Held,
        theirs: &Held,
        mode: u32,
    ) -> Result<Result<(Held, Reason), Reason>, StoreError> {
        let base = self.text(&Side::Known(*base).into())?;
        let (ours, theirs) = (self.text(ours)?, self.text(theirs)?);
        let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
            return Ok(Err(Reason::ChangedSince));
        };
        let labels = Labels { base: "taken back", ours: "now", theirs: "before" };
        let (bytes, reason) = match merge(&base, &ours, &theirs, &labels) {
            Merged::Clean(bytes) => (bytes, Reason::Merged),
            Merged::Conflict { markers, places, .. } if self.markers => {
                (markers, Reason::Markers(places))
            }
            Merged::Conflict { places, lines, .. } => {
                return Ok(Err(Reason::Conflict(places, lines)));
            }
            Merged::NotText => return Ok(Err(Reason::ChangedSince)),
        };
        let (kind, oid, size) = (FileKind::File, hash_blob(&bytes)?, bytes.len() as u64);
        let merged = Side::Known(FileState { kind, mode, oid, size });
        Ok(Ok((Held { side: merged, content: Some(bytes) }, reason)))
    }

    fn text(&self, held: &Held) -> Result<Option<Vec<u8>>, StoreError> {
        match &held.content {
            Some(content) => Ok(Some(content.clone())),
            None => comparable(self.store, &held.side),
        }
    }

    /// Returns what occupies a path in the draft: a folder there, or a file above it.
    pub(crate) fn in_the_way(&self, path: &ProjectPath) -> Result<Option<String>, StoreError> {
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
