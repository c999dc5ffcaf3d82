//! Blame: the change that wrote each line of a file as it is now.
//!
//! The file's changes are walked from the oldest to the newest, through its renames, and each
//! line's origin is carried along the recorded hunks. Two rules make it tell the truth after an
//! undo: lines that Retake brings back keep the origin that they had, and a formatter's lines are
//! those of the change that it formatted. Lines that the record does not explain are `Unseen`,
//! never ascribed to an author.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use retake_model::{Actor, Change, ChangeId, DialogId, Hunk, ObjectId, ProjectPath, Side};
use retake_store::{ChangeFilter, Message, Store, StoreError};

use crate::content::comparable;
use crate::diff::{TOO_LARGE_TO_SHOW, hunks_between, is_binary, is_too_large, lines};
use crate::project::Project;

/// Maximum removals of one line that are searched for its former origin, newest first.
const REMOVALS: usize = 64;

/// A file as it is now, with the origin of each line.
#[derive(Clone, Debug)]
pub struct Blame {
    /// The file.
    pub path: ProjectPath,
    /// Its lines, or why there are none.
    pub body: BlameBody,
    /// The changes that the lines name.
    pub changes: BTreeMap<ChangeId, Blamed>,
}

/// The lines of a file, or the reason why it has no line blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlameBody {
    /// Every line; none if the file is empty.
    Lines(Vec<BlameLine>),
    /// The file is binary.
    Binary,
    /// The file is too large to be compared by lines.
    TooLarge,
    /// The file is there, but its content was not captured; a gap says why.
    NotCaptured,
}

/// One line and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameLine {
    /// Its number, from 1.
    pub number: u32,
    /// Its bytes, without the newline.
    pub text: Vec<u8>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// It was there before anything of the file was recorded.
    Baseline,
    /// It appeared while the content was not captured, so its author is unknown.
    Unseen,
    /// This change wrote it.
    Change(ChangeId),
}

impl Origin {
    /// The change that wrote the line, if that is known.
    pub fn change(self) -> Option<ChangeId> {
        match self {
            Self::Change(id) => Some(id),
            Self::Baseline | Self::Unseen => None,
        }
    }
}

/// A change that lines come from, and the message that it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// The change.
    pub change: Change,
    /// The message that began its turn.
    pub message: Option<Message>,
}

impl Project {
    /// Returns the origin of each line of a file, as of the last scan; `None` if there is no such
    /// file on record.
    pub fn blame(&self, path: &ProjectPath) -> Result<Option<Blame>, StoreError> {
        let store = self.store();
        let Some(entry) = store.manifest_entry(path)? else { return Ok(None) };
        let now = Side::from(entry.stored);
        let body = match &now {
            Side::Absent => return Ok(None),
            Side::Unknown => BlameBody::NotCaptured,
            Side::Known(state) if state.size > TOO_LARGE_TO_SHOW => BlameBody::TooLarge,
            Side::Known(state) => {
                let content = store.read(&state.oid)?;
                if is_binary(&content) {
                    BlameBody::Binary
                } else if is_too_large(&content) {
                    BlameBody::TooLarge
                } else {
                    BlameBody::Lines(blamed_lines(store, path, &now, &content)?)
                }
            }
        };
        let changes = match &body {
            BlameBody::Lines(lines) => named(store, lines)?,
            _ => BTreeMap::new(),
        };
        Ok(Some(Blame { path: path.clone(), body, changes }))
    }
}

fn blamed_lines(
    store: &Store,
    path: &ProjectPath,
    now: &Side,
    content: &[u8],
) -> Result<Vec<BlameLine>, StoreError> {
    let history = history(store, path)?;
    let mut read = |side: &Side| comparable(store, side);
    let keeps_removed = history.iter().any(|change| change.actor == Actor::Retake);
    let mut walk = Walk::new(&mut read, keeps_removed);
    for change in &history {
        walk.step(change)?;
    }
    let origins = walk.at(now)?.unwrap_or_default();
    let line = |(at, text): (usize, &[u8])| BlameLine {
        number: at as u32 + 1,
        text: text.strip_suffix(b"\n").unwrap_or(text).to_vec(),
        origin: origins.get(at).copied().unwrap_or(Origin::Unseen),
    };
    Ok(lines(content).enumerate().map(line).collect())
}

/// The changes that made the file at `path` what it is, oldest first, through its renames.
fn history(store: &Store, path: &ProjectPath) -> Result<Vec<Change>, StoreError> {
    // Each path is read once, however often the file came back to it.
    let mut of_paths: HashMap<ProjectPath, Vec<Change>> = HashMap::new();
    let mut chain = Vec::new();
    let mut path = path.clone();
    let mut before = None;
    loop {
        if !of_paths.contains_key(&path) {
            let beneath = Some(path.clone());
            let filter =
                ChangeFilter { path: beneath, oldest_first: true, ..ChangeFilter::default() };
            let mut changes = store.changes(&filter)?;
            changes.retain(|change| change.path == path);
            of_paths.insert(path.clone(), changes);
        }
        let changes = &of_paths[&path];
        let end = match before {
            Some(before) => changes.partition_point(|change| change.id < before),
            None => changes.len(),
        };
        let moved = changes[..end].iter().rposition(|change| change.old_path.is_some());
        chain.extend(changes[moved.unwrap_or(0)..end].iter().rev().cloned());
        let Some(change) = moved.map(|at| &changes[at]) else { break };
        let Some(old_path) = change.old_path.clone() else { break };
        before = Some(change.id);
        path = old_path;
    }
    chain.reverse();
    Ok(chain)
}

/// Loads the changes that the lines name, with their messages.
fn named(store: &Store, lines: &[BlameLine]) -> Result<BTreeMap<ChangeId, Blamed>, StoreError> {
    let mut changes = BTreeMap::new();
    let mut messages: HashMap<(DialogId, u64), Option<Message>> = HashMap::new();
    for id in lines.iter().filter_map(|line| line.origin.change()) {
        if changes.contains_key(&id) {
            continue;
        }
        let Some(change) = store.change(id)? else { continue };
        let mut message = None;
        if let (Some(dialog), Some(turn)) = (&change.dialog, change.turn) {
            let key = (dialog.clone(), turn);
            if !messages.contains_key(&key) {
                messages.insert(key.clone(), store.message_of(dialog, turn)?);
            }
            message.clone_from(&messages[&key]);
        }
        changes.insert(id, Blamed { change, message });
    }
    Ok(changes)
}

type Origins = Rc<Vec<Origin>>;
/// Reads the content of a side; `None` if it cannot be compared by lines.
type Read<'a> = dyn FnMut(&Side) -> Result<Option<Vec<u8>>, StoreError> + 'a;

/// Carries the origins of lines from change to change.
struct Walk<'a> {
    read: &'a mut Read<'a>,
    /// The newest state that has lines, and their origins.
    newest: Option<(Side, Origins)>,
    /// The origins in every state so far; the newest, if one came again.
    states: HashMap<ObjectId, Origins>,
    /// Whether removed lines are kept for Retake to bring back.
    keeps_removed: bool,
    /// For each step, the lines that it removed.
    removed: Vec<Vec<(Vec<u8>, Origin)>>,
    /// The steps that removed a line, oldest first.
    removals: HashMap<Vec<u8>, Vec<usize>>,
}

impl<'a> Walk<'a> {
    fn new(read: &'a mut Read<'a>, keeps_removed: bool) -> Self {
        Self {
            read,
            newest: None,
            states: HashMap::new(),
            keeps_removed,
            removed: Vec::new(),
            removals: HashMap::new(),
        }
    }

    /// The lines of a side; binary content has none. `None` if they cannot be known.
    fn text(&mut self, side: &Side) -> Result<Option<Vec<u8>>, StoreError> {
        let content = (self.read)(side)?;
        Ok(content.map(|content| if is_binary(&content) { Vec::new() } else { content }))
    }

    /// Returns the origins of the lines of `side`; the file went there from the newest known state
    /// without a recorded change.
    fn at(&mut self, side: &Side) -> Result<Option<Origins>, StoreError> {
        let Some((newest, origins)) = self.newest.clone() else {
            let text = self.text(side)?;
            let origins: Option<Origins> =
                text.map(|text| Rc::new(vec![Origin::Baseline; lines(&text).count()]));
            if let Some(origins) = &origins {
                self.arrive(side, origins.clone());
            }
            return Ok(origins);
        };
        if same_content(&newest, side) {
            return Ok(Some(origins));
        }
        let Some(text) = self.text(side)? else { return Ok(None) };
        let origins = self.across(&newest, &origins, &text)?;
        self.arrive(side, origins.clone());
        Ok(Some(origins))
    }

    /// Carries origins over a gap in the record: new lines are `Unseen`.
    fn across(
        &mut self,
        from: &Side,
        origins: &Origins,
        text: &[u8],
    ) -> Result<Origins, StoreError> {
        let old = self.text(from)?.unwrap_or_default();
        let (old, new): (Vec<_>, Vec<_>) = (lines(&old).collect(), lines(text).collect());
        let hunks = hunks_between(&old, &new);
        let carried = carry(origins, &hunks, Origin::Unseen);
        Ok(Rc::new(carried.unwrap_or_else(|| vec![Origin::Unseen; new.len()])))
    }

    fn arrive(&mut self, side: &Side, origins: Origins) {
        if let Side::Known(state) = side {
            self.states.insert(state.oid, origins.clone());
        }
        self.newest = Some((*side, origins));
    }

    fn step(&mut self, change: &Change) -> Result<(), StoreError> {
        let by = Origin::Change(change.joins.unwrap_or(change.id));
        let before = self.at(&change.before)?;
        if change.actor == Actor::Retake
            && let Side::Known(state) = &change.after
            && let Some(origins) = self.states.get(&state.oid).cloned()
        {
            self.remember_removed(change, before.as_ref())?;
            self.arrive(&change.after, origins);
            return Ok(());
        }
        let Some(before) = before else { return self.step_from_unknown(change) };
        let hunks = if let Some(changed) = &change.lines {
            changed.hunks.clone()
        } else {
            let Some(new) = self.text(&change.after)? else { return Ok(()) };
            let old = self.text(&change.before)?.unwrap_or_default();
            let (old, new): (Vec<_>, Vec<_>) = (lines(&old).collect(), lines(&new).collect());
            hunks_between(&old, &new)
        };
        let Some(mut origins) = carry(&before, &hunks, by) else {
            // The recorded hunks do not fit the recorded content.
            return self.step_from_unknown(change);
        };
        if change.actor == Actor::Retake {
            self.bring_back(&change.after, &hunks, &mut origins)?;
        }
        self.remember_removed(change, Some(&before))?;
        self.arrive(&change.after, Rc::new(origins));
        Ok(())
    }

    /// Applies a change whose content before was not captured: new lines may be older than it.
    fn step_from_unknown(&mut self, change: &Change) -> Result<(), StoreError> {
        let Some(text) = self.text(&change.after)? else { return Ok(()) };
        let origins = match self.newest.clone() {
            Some((newest, origins)) => self.across(&newest, &origins, &text)?,
            None => Rc::new(vec![Origin::Unseen; lines(&text).count()]),
        };
        self.arrive(&change.after, origins);
        Ok(())
    }

    /// Keeps the lines that a change removed, with their origins, in case Retake brings them back.
    fn remember_removed(
        &mut self,
        change: &Change,
        before: Option<&Origins>,
    ) -> Result<(), StoreError> {
        let (Some(before), Some(changed)) = (before, &change.lines) else { return Ok(()) };
        if !self.keeps_removed || changed.removed == 0 {
            return Ok(());
        }
        let Some(text) = self.text(&change.before)? else { return Ok(()) };
        let text: Vec<_> = lines(&text).collect();
        let step = self.removed.len();
        let mut removed = Vec::new();
        for at in changed.hunks.iter().flat_map(|hunk| range(hunk.old_start, hunk.old_lines)) {
            let (Some(line), Some(origin)) = (text.get(at), before.get(at)) else { continue };
            let steps = self.removals.entry(line.to_vec()).or_default();
            if steps.last() != Some(&step) {
                steps.push(step);
            }
            removed.push((line.to_vec(), *origin));
        }
        self.removed.push(removed);
        Ok(())
    }

    /// Restores the former origin of lines that Retake added and that had been there before.
    fn bring_back(
        &mut self,
        after: &Side,
        hunks: &[Hunk],
        origins: &mut [Origin],
    ) -> Result<(), StoreError> {
        let Some(text) = self.text(after)? else { return Ok(()) };
        let text: Vec<_> = lines(&text).collect();
        for hunk in hunks {
            let range = range(hunk.new_start, hunk.new_lines);
            let (Some(block), Some(origins)) = (text.get(range.clone()), origins.get_mut(range))
            else {
                continue;
            };
            for (origin, former) in origins.iter_mut().zip(self.former_origins(block)) {
                *origin = former.unwrap_or(*origin);
            }
        }
        Ok(())
    }

    /// Returns the origins that the lines of a block had when they were removed. The step that
    /// removed most of them is searched first; on a tie the newest.
    fn former_origins(&self, block: &[&[u8]]) -> Vec<Option<Origin>> {
        let mut found = vec![None; block.len()];
        loop {
            let open: Vec<usize> = (0..block.len()).filter(|&at| found[at].is_none()).collect();
            let mut hits: HashMap<usize, usize> = HashMap::new();
            for steps in open.iter().filter_map(|&at| self.removals.get(block[at])) {
                for step in steps.iter().rev().take(REMOVALS) {
                    *hits.entry(*step).or_default() += 1;
                }
            }
            let best = hits.into_iter().max_by_key(|&(step, hits)| (hits, step));
            let Some((step, _)) = best else { return found };
            let wanted: Vec<_> = open.iter().map(|&at| block[at]).collect();
            let removed = &self.removed[step];
            let lines: Vec<_> = removed.iter().map(|(line, _)| line.as_slice()).collect();
            let common = common(&lines, &wanted);
            if common.is_empty() {
                return found;
            }
            for (from, to) in common {
                found[open[to]] = Some(removed[from].1);
            }
        }
    }
}

/// Returns the lines that two lists have in common, in order, as pairs of indices.
fn common(old: &[&[u8]], new: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for hunk in hunks_between(old, new) {
        let (removed, added) =
            (range(hunk.old_start, hunk.old_lines), range(hunk.new_start, hunk.new_lines));
        pairs.extend((old_at..removed.start).zip(new_at..added.start));
        (old_at, new_at) = (removed.end, added.end);
    }
    pairs.extend((old_at..old.len()).zip(new_at..new.len()));
    pairs
}

/// Computes the origins after a change from its hunks; `None` if the hunks do not fit.
fn carry(before: &[Origin], hunks: &[Hunk], by: Origin) -> Option<Vec<Origin>> {
    let mut after = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        let removed = range(hunk.old_start, hunk.old_lines);
        after.extend_from_slice(before.get(at..removed.start)?);
        if after.len() != range(hunk.new_start, 0).start {
            return None;
        }
        after.extend(std::iter::repeat_n(by, hunk.new_lines as usize));
        at = removed.end;
    }
    after.extend_from_slice(before.get(at..)?);
    Some(after)
}

fn range(start: u32, lines: u32) -> std::ops::Range<usize> {
    let start = start.saturating_sub(1) as usize;
    start..start + lines as usize
}

fn same_content(a: &Side, b: &Side) -> bool {
    match (a, b) {
        (Side::Absent, Side::Absent) => true,
        (Side::Known(a), Side::Known(b)) => a.oid == b.oid,
        _ => false,
    }
}
