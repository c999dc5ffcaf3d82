//! Operations that change files: undo, redo, reject, rollback, restore, work sessions.

mod apply_edges;
mod cancelling;
mod operation_edges;
mod restore;
mod sessions;
mod steps;
mod take_back;
mod undo;
