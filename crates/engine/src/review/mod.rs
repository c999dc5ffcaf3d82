//! Review: what agents did, as hunks that a person keeps or takes back one by one.
//!
//! A [`ReviewScope`] chooses changes. For each file `base` is the file without them and `now` is the
//! file; a hunk is a place where the two differ. So lines of the person are never shown as an
//! agent's, and rejecting a hunk is the plan that takes the changes back, narrowed to that place.
//!
//! Invariants: reading computes nothing for files that were not asked for. Keeping writes no file.
//! Rejecting every hunk of a scope leaves the files as a rollback of the scope does. Every act names
//! hunks by ids that follow from their content; an id that no longer fits is refused.

pub(crate) mod act;
pub(crate) mod comments;
pub(crate) mod due_rejections;
pub(crate) mod file;
pub(crate) mod file_target;
pub(crate) mod hunk;
mod kept;
pub(crate) mod line_marks;
mod marking;
mod neighbours;
mod pairing;
pub(crate) mod queue;
pub(crate) mod reject;
pub(crate) mod scope;
mod trace;
