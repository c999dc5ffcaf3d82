//! Reviews: hunks of a scope, marks, rejections of places, the queue, comments, what agents are told.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod comments;
mod feedback;
mod hunks;
mod marks;
mod queue;
mod rejecting;
mod rejection_memory;
