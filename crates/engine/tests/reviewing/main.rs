//! Reviews: hunks of a scope, marks, rejections of places, the queue, comments, what agents are told.

mod comments;
mod feedback;
mod hunks;
mod marks;
mod queue;
mod rejecting;
mod rejection_memory;
