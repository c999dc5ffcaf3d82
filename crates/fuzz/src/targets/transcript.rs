//! Agents' own records of conversations, and conversations as files.

use retake_agents::AgentKind;
use retake_agents::history::HistoryFormat;

use crate::input::{choose, split_head};

#[path = "../../../agents/tests/promises/mod.rs"]
pub(super) mod promises;

/// Any transcript is read in order, in any slices, and can be written again.
pub fn transcript(data: &[u8]) {
    let (agent, rest) = choose(&AgentKind::ALL, data);
    let (from, rest) = choose(&HistoryFormat::ALL, rest);
    let (to, rest) = choose(&HistoryFormat::ALL, rest);
    let (cut, bytes) = split_head(rest);
    let cut = bytes.len() * cut / 255;
    promises::check_read(agent, bytes, cut);
    promises::check_history(agent, bytes, [from, to], cut);
}
