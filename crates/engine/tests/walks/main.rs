//! Random walks and random programs against simple models.
//!
//! Each walks in as many threads as there are cores. Failed seeds are kept in `tests/seeds`.

mod hints_equal_full_scan;
mod programs;
mod record_walk;
mod review_walk;
mod step_walk;
mod undo_walk;
