//! The event stream over real connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

mod behaviour;
mod client;
mod cost;
mod reader;
mod served;
mod several;
mod touched;
mod vocabulary;
mod walk;
mod watching;
