//! The reason why a plan writes a file or leaves it, with its code, text and hint.

use serde::{Deserialize, Serialize};
use std::fmt;

use retake_model::{ChangeStatus, GapReason};

use crate::content::adjacent::ConflictLines;

/// Maximum places of a conflict that are listed; the rest is counted.
const MAX_LISTED_PLACES: usize = 5;

/// The reason why a file is written, or left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanReason {
    /// There are no later changes: it goes back to the exact state before.
    Exact,
    /// Merged: later changes stay.
    Merged,
    /// Later changes conflict, in this many places: both versions are in the file, between markers.
    Markers(usize),
    /// It goes back to the state of the checkpoint.
    Restored,
    /// It goes back to the state of the checkpoint, and edits of the person go with it.
    ReplacesYours,
    /// The person made the file, and an exact restore takes it away.
    Yours,
    /// It goes on as planned before an interruption.
    Resumed,
    /// It is in that state already.
    Already,
    /// git took the change back; it may come back with a branch.
    TakenBackByGit,
    /// Later changes conflict, in this many places: these lines of the file, if they are known.
    Conflict(usize, Vec<ConflictLines>),
    /// It was changed since, and is no text that could be merged.
    ChangedSince,
    /// It was deleted or moved since.
    GoneSince,
    /// Something else stands where it belongs.
    Occupied(String),
    /// The content before the change was not captured.
    NotCaptured,
    /// The content after the change was not captured.
    ChangeNotCaptured,
    /// The present content is not in the store, so it may not be replaced.
    NotKept {
        /// Whether there was no such file before.
        new: bool,
        /// Why it is not there, if that is known.
        why: Option<GapReason>,
    },
    /// Neither the state of now nor that of the checkpoint has such a path.
    NotOnRecord,
    /// Another agent may have made the change.
    Shared,
    /// git changed it since: a branch switch, a stash, a rebase.
    GitSince,
    /// Another dialog, of this name, changed it since.
    OtherDialog(String),
    /// The person made it.
    MadeByYou,
    /// The person changed it since.
    EditedByYou,
    /// It was decided on before.
    Decided(ChangeStatus),
    /// It was approved, and a rejection cannot take it back.
    Approved,
    /// It changed between the plan and the write.
    MovedOn,
    /// Another program saved it while it was being replaced, and it could not be put back: it is at
    /// this path.
    Displaced(String),
    /// It cannot be written.
    NotWritable(String),
    /// The content in the store is damaged.
    Damaged(String),
    /// The operation was cancelled before it wrote a file.
    Cancelled,
}

impl PlanReason {
    /// The stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Merged => "merged",
            Self::Markers(_) => "markers",
            Self::Restored => "restored",
            Self::ReplacesYours => "replaces_yours",
            Self::Yours => "yours",
            Self::Resumed => "resumed",
            Self::Already => "already",
            Self::TakenBackByGit => "taken_back_by_git",
            Self::Conflict(..) => "conflict",
            Self::ChangedSince => "changed_since",
            Self::GoneSince => "gone_since",
            Self::Occupied(_) => "occupied",
            Self::NotCaptured => "not_captured",
            Self::ChangeNotCaptured => "change_not_captured",
            Self::NotKept { .. } => "not_kept",
            Self::NotOnRecord => "not_on_record",
            Self::Shared => "shared",
            Self::GitSince => "git_since",
            Self::OtherDialog(_) => "other_dialog",
            Self::MadeByYou => "made_by_you",
            Self::EditedByYou => "edited_by_you",
            Self::Decided(_) => "decided",
            Self::Approved => "approved",
            Self::MovedOn => "moved_on",
            Self::Displaced(_) => "displaced",
            Self::NotWritable(_) => "not_writable",
            Self::Damaged(_) => "damaged",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether a file that is left for this reason is as it should be.
    pub fn is_as_wanted(&self) -> bool {
        matches!(self, Self::Already | Self::TakenBackByGit | Self::Decided(_) | Self::MadeByYou)
    }

    /// Returns a hint for the person about a file that is left for this reason.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Conflict(..) | Self::ChangedSince | Self::GoneSince => {
                Some("--cascade takes the later changes back too")
            }
            Self::Shared => Some("--include-shared takes it all the same"),
            Self::GitSince => Some("--across-git takes it all the same"),
            Self::TakenBackByGit => Some("--across-git calls it taken back for good"),
            Self::OtherDialog(_) | Self::MadeByYou | Self::EditedByYou => {
                Some("--exact takes it all the same")
            }
            Self::Approved => Some("`retake rollback` takes back what was approved"),
            Self::MovedOn => Some("run the command again"),
            Self::NotKept { new: true, .. } => Some("delete it yourself, if it is not wanted"),
            Self::NotOnRecord => {
                Some("check the spelling; `retake status --ignored` lists what is left out")
            }
            _ => None,
        }
    }
}

impl fmt::Display for PlanReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("as it was before"),
            Self::Merged => f.write_str("taken out; later edits stay"),
            Self::Markers(count) => write!(f, "conflict markers in {}", count_places(*count)),
            Self::Restored => f.write_str("as in the checkpoint"),
            Self::ReplacesYours => f.write_str("as in the checkpoint; replaces your edits"),
            Self::Yours => f.write_str("not in the checkpoint; made by you"),
            Self::Resumed => f.write_str("as planned before the interruption"),
            Self::Already => f.write_str("is so already"),
            Self::TakenBackByGit => f.write_str("git took it back already"),
            Self::Conflict(count, lines) => {
                let place =
                    if lines.is_empty() { count_places(*count) } else { describe_lines(lines) };
                write!(f, "later changes touch the same lines ({place})")
            }
            Self::ChangedSince => f.write_str("changed since, and cannot be merged"),
            Self::GoneSince => f.write_str("deleted or moved since"),
            Self::Occupied(what) => write!(f, "{what} stands in its place"),
            Self::NotCaptured => f.write_str("the earlier content was not captured"),
            Self::ChangeNotCaptured => f.write_str("what the change wrote was not captured"),
            Self::NotKept { new: true, why } => write!(f, "new, and {}", describe_gap(*why)),
            Self::NotKept { new: false, why } => write!(f, "{} now", describe_gap(*why)),
            Self::NotOnRecord => {
                f.write_str("nothing of this name is tracked now, or was in the checkpoint")
            }
            Self::Shared => f.write_str("another agent may have made this change"),
            Self::GitSince => f.write_str("git changed it since"),
            Self::OtherDialog(dialog) => write!(f, "{dialog} changed it since"),
            Self::MadeByYou => f.write_str("made by you"),
            Self::EditedByYou => f.write_str("edited by you since"),
            Self::Decided(status) => write!(f, "was {status} before"),
            Self::Approved => f.write_str("was approved"),
            Self::MovedOn => f.write_str("changed just now"),
            Self::Displaced(place) => write!(f, "changed just now, and is kept as {place}"),
            Self::NotWritable(why) if why.starts_with("cannot ") => f.write_str(why),
            Self::NotWritable(why) => write!(f, "cannot be written: {why}"),
            Self::Damaged(why) => write!(f, "the stored content cannot be used: {why}"),
            Self::Cancelled => f.write_str("the operation was cancelled"),
        }
    }
}

/// `line 3`, or `lines 3-5, 9 and 2 more places`.
fn describe_lines(lines: &[ConflictLines]) -> String {
    let number = |place: &ConflictLines| match place.count {
        0 => format!("before {}", place.first),
        1 => place.first.to_string(),
        count => format!("{}-{}", place.first, place.first + count - 1),
    };
    let shown: Vec<_> = lines.iter().take(MAX_LISTED_PLACES).map(number).collect();
    let word = match lines {
        [ConflictLines { count: 0 | 1, .. }] => "line",
        _ => "lines",
    };
    let more = match lines.len().saturating_sub(MAX_LISTED_PLACES) {
        0 => String::new(),
        more => format!(" and {more} more {}", if more == 1 { "place" } else { "places" }),
    };
    format!("{word} {}{more}", shown.join(", "))
}

fn describe_gap(why: Option<GapReason>) -> &'static str {
    match why {
        Some(GapReason::TooLarge) => "too large to be kept",
        Some(GapReason::Unreadable) => "not readable",
        Some(GapReason::Purged) => "purged from the record",
        _ => "not captured",
    }
}

fn count_places(count: usize) -> String {
    format!("{count} {}", if count == 1 { "place" } else { "places" })
}
