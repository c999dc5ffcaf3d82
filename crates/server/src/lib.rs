//! The one front door to Retake's verbs, and the daemon behind it.
//!
//! - [`door`] has a type for each verb, one [`door::Request`] for all of them, and one way to
//!   carry them out. A command sends its request to the daemon if one answers, and otherwise
//!   carries it out itself: with the same code.
//! - [`Hall`] is what the daemon serves: each project with a thread that does what is asked.
//! - [`Failure`] is what every surface (terminal, JSON, socket, HTTP) says when something cannot
//!   be done.

pub mod door;
mod failure;
mod hall;

pub use failure::Failure;
pub use hall::{Hall, News, Room};
