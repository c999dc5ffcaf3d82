//! Callers of requests: who asks, how that is known, and what they may do.
//!
//! [`resolve_caller`] binds a caller to a dialog by what the agent tells and by the open calls on
//! record; [`permit_request`] and [`refused_plan_reason`] limit what a bound caller may do. Both
//! run in the process of a command and in the daemon, so that the limits hold with and without
//! one.
//!
//! Invariants:
//! - When unsure between agent and person, it is the person's command: people type commands into
//!   agents, and a variable of the agent in the environment proves nothing.
//! - Reading and making checkpoints is free for every caller.
//! - The limits guard against mistakes of agents, not against a hostile process of the same user.

mod decided_places;
mod permit;
mod process;
mod resolve;

pub use permit::{HUMAN_ONLY_HINT, permit_events, permit_request, refused_plan_reason};
pub use process::{ProcessInfo, agent_process, ancestors_of, is_process_alive};
pub use resolve::{CallerHints, CallerProcess, resolve_caller};
