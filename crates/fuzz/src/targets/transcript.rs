//! Agents' own records of conversations, and conversations as files.

use retake_agents::Agent;
use retake_agents::history::Form;

use crate::input::{choose, head};

#[path = "../../../agents/tests/promises/mod.rs"]
pub(super) mod promises;

/// Any transcript is read in order, in any slices, and can be written again.
pub fn transcript(data: &[u8]) {
    let (agent, rest) = choose(&Agent::ALL, data);
    let (from, rest) = choose(&Form::ALL, rest);
    let (to, rest) = choose(&Form::ALL, rest);
    let (cut, bytes) = head(rest);
    let cut = bytes.len() * cut / 255;
    promises::check_read(agent, bytes, cut);
    promises::check_history(agent, bytes, [from, to], cut);
}
