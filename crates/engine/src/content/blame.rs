//! Blame: the change that wrote each line of a file as it is now.
//!
//! The file's changes are walked from the oldest to the newest, through its renames, and each
//! line's origin is carried along the recorded hunks. Two rules make it tell the truth after an
//! undo: lines that Retake brings back keep the origin that they had, and a formatter's lines are
//! those of the change that it formatted. Lines that the record does not explain are `Unseen`,
//! never ascribed to an author.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use retake_model::{Actor, Change, ChangeId, DialogId, Hunk, ObjectId, PathState, ProjectPath};
use retake_store::{ChangeFilter, Store, StoreError, UserMessage};

use crate::content::comparable::comparable_content;
use crate::content::diff::{MAX_DIFF_BYTES, hunks_between, is_binary, is_too_large, lines};
use crate::project::Project;

/// Maximum removals of one line that are searched for its former origin, newest first.
const MAX_REMOVALS_SEARCHED: usize = 64;

/// A file as it is now, with the origin of each line.
#[derive(Clone, Debug)]
pub struct FileBlame {
    /// The file.
    pub path: ProjectPath,
    /// Its lines, or why there are none.
    pub body: BlameBody,
    /// The changes that the lines name.
    pub changes: BTreeMap<ChangeId, BlameSource>,
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
    pub origin: LineOrigin,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineOrigin {
    /// It was there before anything of the file was recorded.
    Baseline,
    /// It appeared while the content was not captured, so its author is unknown.
    Unseen,
    /// This change wrote it.
    Change(ChangeId),
}

impl LineOrigin {
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
pub struct BlameSource {
    /// The change.
    pub change: Change,
    /// The message that began its turn.
    pub message: Option<UserMessage>,
}

impl Project {
    /// Returns the origin of each line of a file, as of the last scan; `None` if there is no such
    /// file on record.
    pub fn blame(&self, path: &ProjectPath) -> Result<Option<FileBlame>, StoreError> {
        let store = self.store();
        let Some(entry) = store.manifest_entry(path)? else { return Ok(None) };
        let now = PathState::from(entry.state);
        let body = match &now {
            PathState::Absent => return Ok(None),
            PathState::Unknown => BlameBody::NotCaptured,
            PathState::Known(state) if state.size > MAX_DIFF_BYTES => BlameBody::TooLarge,
            PathState::Known(state) => {
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
            BlameBody::Lines(lines) => blame_sources(store, lines)?,
            _ => BTreeMap::new(),
        };
        Ok(Some(FileBlame { path: path.clone(), body, changes }))
    }
}

fn blamed_lines(
    store: &Store,
    path: &ProjectPath,
    now: &PathState,
    content: &[u8],
) -> Result<Vec<BlameLine>, StoreError> {
    let history = changes_of_file(store, path)?;
    let mut read = |side: &PathState| comparable_content(store, side);
    let keeps_removed = history.iter().any(|change| change.actor == Actor::Retake);
    let mut walk = BlameWalk::new(&mut read, keeps_removed);
    for change in &history {
        walk.apply_change(change)?;
    }
    let origins = walk.origins_at(now)?.unwrap_or_default();
    let line = |(at, text): (usize, &[u8])| BlameLine {
        number: at as u32 + 1,
        text: text.strip_suffix(b"\n").unwrap_or(text).to_vec(),
        origin: origins.get(at).copied().unwrap_or(LineOrigin::Unseen),
    };
    Ok(lines(content).enumerate().map(line).collect())
}

/// The changes that made the file at `path` what it is, oldest first, through its renames.
fn changes_of_file(store: &Store, path: &ProjectPath) -> Result<Vec<Change>, StoreError> {
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
fn blame_sources(
    store: &Store,
    lines: &[BlameLine],
) -> Result<BTreeMap<ChangeId, BlameSource>, StoreError> {
    let mut changes = BTreeMap::new();
    let mut messages: HashMap<(DialogId, u64), Option<UserMessage>> = HashMap::new();
    for id in lines.iter().filter_map(|line| line.origin.change()) {
        if changes.contains_key(&id) {
            continue;
        }
        let Some(change) = store.change(id)? else { continue };
        let mut message = None;
        if let (Some(dialog), Some(turn)) = (&change.dialog, change.turn) {
            let key = (dialog.clone(), turn);
            if !messages.contains_key(&key) {
                messages.insert(key.clone(), store.message_of_turn(dialog, turn)?);
            }
            message.clone_from(&messages[&key]);
        }
        changes.insert(id, BlameSource { change, message });
    }
    Ok(changes)
}

type LineOrigins = Rc<Vec<LineOrigin>>;
/// Reads the content of a side; `None` if it cannot be compared by lines.
type SideReader<'a> = dyn FnMut(&PathState) -> Result<Option<Vec<u8>>, StoreError> + 'a;

/// Carries the origins of lines from change to change.
struct BlameWalk<'a> {
    read: &'a mut SideReader<'a>,
    /// The newest state that has lines, and their origins.
    newest: Option<(PathState, LineOrigins)>,
    /// The origins in every state so far; the newest, if one came again.
    states: HashMap<ObjectId, LineOrigins>,
    /// Whether removed lines are kept for Retake to bring back.
    keeps_removed: bool,
    /// For each step, the lines that it removed.
    removed: Vec<Vec<(Vec<u8>, LineOrigin)>>,
    /// The steps that removed a line, oldest first.
    removals: HashMap<Vec<u8>, Vec<usize>>,
}

impl<'a> BlameWalk<'a> {
    fn new(read: &'a mut SideReader<'a>, keeps_removed: bool) -> Self {
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
    fn text(&mut self, side: &PathState) -> Result<Option<Vec<u8>>, StoreError> {
        let content = (self.read)(side)?;
        Ok(content.map(|content| if is_binary(&content) { Vec::new() } else { content }))
    }

    /// Returns the origins of the lines of `side`; the file went there from the newest known state
    /// without a recorded change.
    fn origins_at(&mut self, side: &PathState) -> Result<Option<LineOrigins>, StoreError> {
        let Some((newest, origins)) = self.newest.clone() else {
            let text = self.text(side)?;
            let origins: Option<LineOrigins> =
                text.map(|text| Rc::new(vec![LineOrigin::Baseline; lines(&text).count()]));
            if let Some(origins) = &origins {
                self.set_newest(side, origins.clone());
            }
            return Ok(origins);
        };
        if same_content(&newest, side) {
            return Ok(Some(origins));
        }
        let Some(text) = self.text(side)? else { return Ok(None) };
        let origins = self.carry_over_gap(&newest, &origins, &text)?;
        self.set_newest(side, origins.clone());
        Ok(Some(origins))
    }

    /// Carries origins over a gap in the record: new lines are `Unseen`.
    fn carry_over_gap(
        &mut self,
        from: &PathState,
        origins: &LineOrigins,
        text: &[u8],
    ) -> Result<LineOrigins, StoreError> {
        let old = self.text(from)?.unwrap_or_default();
        let (old, new): (Vec<_>, Vec<_>) = (lines(&old).collect(), lines(text).collect());
        let hunks = hunks_between(&old, &new);
        let carried = carry_origins(origins, &hunks, LineOrigin::Unseen);
        Ok(Rc::new(carried.unwrap_or_else(|| vec![LineOrigin::Unseen; new.len()])))
    }

    fn set_newest(&mut self, side: &PathState, origins: LineOrigins) {
        if let PathState::Known(state) = side {
            self.states.insert(state.oid, origins.clone());
        }
        self.newest = Some((*side, origins));
    }

    fn apply_change(&mut self, change: &Change) -> Result<(), StoreError> {
        let by = LineOrigin::Change(change.joins.unwrap_or(change.id));
        let before = self.origins_at(&change.before)?;
        if change.actor == Actor::Retake
            && let PathState::Known(state) = &change.after
            && let Some(origins) = self.states.get(&state.oid).cloned()
        {
            self.remember_removed(change, before.as_ref())?;
            self.set_newest(&change.after, origins);
            return Ok(());
        }
        let Some(before) = before else { return self.apply_change_from_unknown(change) };
        let hunks = if let Some(changed) = &change.lines {
            changed.hunks.clone()
        } else {
            let Some(new) = self.text(&change.after)? else { return Ok(()) };
            let old = self.text(&change.before)?.unwrap_or_default();
            let (old, new): (Vec<_>, Vec<_>) = (lines(&old).collect(), lines(&new).collect());
            hunks_between(&old, &new)
        };
        let Some(mut origins) = carry_origins(&before, &hunks, by) else {
            // The recorded hunks do not fit the recorded content.
            return self.apply_change_from_unknown(change);
        };
        if change.actor == Actor::Retake {
            self.restore_origins(&change.after, &hunks, &mut origins)?;
        }
        self.remember_removed(change, Some(&before))?;
        self.set_newest(&change.after, Rc::new(origins));
        Ok(())
    }

    /// Applies a change whose content before was not captured: new lines may be older than it.
    fn apply_change_from_unknown(&mut self, change: &Change) -> Result<(), StoreError> {
        let Some(text) = self.text(&change.after)? else { return Ok(()) };
        let origins = match self.newest.clone() {
            Some((newest, origins)) => self.carry_over_gap(&newest, &origins, &text)?,
            None => Rc::new(vec![LineOrigin::Unseen; lines(&text).count()]),
        };
        self.set_newest(&change.after, origins);
        Ok(())
    }

    /// Keeps the lines that a change removed, with their origins, in case Retake brings them back.
    fn remember_removed(
        &mut self,
        change: &Change,
        before: Option<&LineOrigins>,
    ) -> Result<(), StoreError> {
        let (Some(before), Some(changed)) = (before, &change.lines) else { return Ok(()) };
        if !self.keeps_removed || changed.removed == 0 {
            return Ok(());
        }
        let Some(text) = self.text(&change.before)? else { return Ok(()) };
        let text: Vec<_> = lines(&text).collect();
        let step = self.removed.len();
        let mut removed = Vec::new();
        for at in changed.hunks.iter().flat_map(|hunk| line_range(hunk.old_start, hunk.old_lines)) {
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
    fn restore_origins(
        &mut self,
        after: &PathState,
        hunks: &[Hunk],
        origins: &mut [LineOrigin],
    ) -> Result<(), StoreError> {
        let Some(text) = self.text(after)? else { return Ok(()) };
        let text: Vec<_> = lines(&text).collect();
        for hunk in hunks {
            let range = line_range(hunk.new_start, hunk.new_lines);
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
    fn former_origins(&self, block: &[&[u8]]) -> Vec<Option<LineOrigin>> {
        let mut found = vec![None; block.len()];
        loop {
            let open: Vec<usize> = (0..block.len()).filter(|&at| found[at].is_none()).collect();
            let mut hits: HashMap<usize, usize> = HashMap::new();
            for steps in open.iter().filter_map(|&at| self.removals.get(block[at])) {
                for step in steps.iter().rev().take(MAX_REMOVALS_SEARCHED) {
                    *hits.entry(*step).or_default() += 1;
                }
            }
            let best = hits.into_iter().max_by_key(|&(step, hits)| (hits, step));
            let Some((step, _)) = best else { return found };
            let wanted: Vec<_> = open.iter().map(|&at| block[at]).collect();
            let removed = &self.removed[step];
            let lines: Vec<_> = removed.iter().map(|(line, _)| line.as_slice()).collect();
            let common = common_lines(&lines, &wanted);
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
fn common_lines(old: &[&[u8]], new: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for hunk in hunks_between(old, new) {
        let (removed, added) = (
            line_range(hunk.old_start, hunk.old_lines),
            line_range(hunk.new_start, hunk.new_lines),
        );
        pairs.extend((old_at..removed.start).zip(new_at..added.start));
        (old_at, new_at) = (removed.end, added.end);
    }
    pairs.extend((old_at..old.len()).zip(new_at..new.len()));
    pairs
}

/// Computes the origins after a change from its hunks; `None` if the hunks do not fit.
fn carry_origins(before: &[LineOrigin], hunks: &[Hunk], by: LineOrigin) -> Option<Vec<LineOrigin>> {
    let mut after = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        let removed = line_range(hunk.old_start, hunk.old_lines);
        after.extend_from_slice(before.get(at..removed.start)?);
        if after.len() != line_range(hunk.new_start, 0).start {
            return None;
        }
        after.extend(std::iter::repeat_n(by, hunk.new_lines as usize));
        at = removed.end;
    }
    after.extend_from_slice(before.get(at..)?);
    Some(after)
}

fn line_range(start: u32, lines: u32) -> std::ops::Range<usize> {
    let start = start.saturating_sub(1) as usize;
    start..start + lines as usize
}

fn same_content(a: &PathState, b: &PathState) -> bool {
    match (a, b) {
        (PathState::Absent, PathState::Absent) => true,
        (PathState::Known(a), PathState::Known(b)) => a.oid == b.oid,
        _ => false,
    }
}
