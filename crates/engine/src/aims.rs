//! Cache of the targets of open calls, kept from one event to the next.
//!
//! With many agents at work, parsing the arguments of all their open calls for each event takes
//! longer than the event itself.
//!
//! Invariant: a cached entry is valid only while the call's row has the very arguments that it was
//! parsed from, whichever process changed or removed them.

use std::collections::HashMap;
use std::sync::Arc;

use retake_store::{Call, Input};

use crate::live::{Aim, LiveCall};
use crate::place::Ground;

/// Maximum bytes of cached arguments; larger ones are parsed each time, because calls without an
/// end pile up in memory.
const LARGEST: usize = 64 * 1024;

/// The targets of open calls, by their rows.
#[derive(Debug, Default)]
pub(crate) struct Aims {
    kept: HashMap<i64, Kept>,
}

#[derive(Debug)]
struct Kept {
    tool: String,
    cwd: Option<String>,
    input: Input,
    aim: Arc<Aim>,
}

impl Kept {
    fn read(ground: Ground<'_>, call: &Call) -> Self {
        let aim = Arc::new(Aim::new(ground, call, &call.input.unpack()));
        Self { tool: call.tool.clone(), cwd: call.cwd.clone(), input: call.input.clone(), aim }
    }

    fn is_of(&self, call: &Call) -> bool {
        (&self.input, &self.tool, &self.cwd) == (&call.input, &call.tool, &call.cwd)
    }
}

impl Aims {
    /// Returns the calls with their targets; evicts the entries of all others.
    pub(crate) fn of(&mut self, ground: Ground<'_>, calls: Vec<Call>) -> Vec<LiveCall> {
        let mut earlier = std::mem::take(&mut self.kept);
        let mut live = Vec::with_capacity(calls.len());
        for call in calls {
            let known = earlier.remove(&call.row).filter(|kept| kept.is_of(&call));
            let is_known = known.is_some();
            let kept = known.unwrap_or_else(|| Kept::read(ground, &call));
            let (row, aim) = (call.row, Arc::clone(&kept.aim));
            live.push(LiveCall { call, aim, is_known });
            if kept.input.size() <= LARGEST {
                self.kept.insert(row, kept);
            }
        }
        live
    }
}
