//! Cache of the targets of open calls, kept from one event to the next.
//!
//! With many agents at work, parsing the arguments of all their open calls for each event takes
//! longer than the event itself.
//!
//! Invariant: a cached entry is valid only while the call's row has the very arguments that it was
//! parsed from, whichever process changed or removed them.

use std::collections::HashMap;
use std::sync::Arc;

use retake_store::{Call, CallInput};

use crate::calls::open_call::LiveCall;
use crate::calls::targets::CallTargets;
use crate::resolve_path::PathBase;

/// Maximum bytes of cached arguments; larger ones are parsed each time, because calls without an
/// end pile up in memory.
const MAX_CACHED_INPUT_BYTES: usize = 64 * 1024;

/// The targets of open calls, by their rows.
#[derive(Debug, Default)]
pub(crate) struct TargetCache {
    by_row: HashMap<i64, CachedTargets>,
}

#[derive(Debug)]
struct CachedTargets {
    tool: String,
    cwd: Option<String>,
    input: CallInput,
    targets: Arc<CallTargets>,
}

impl CachedTargets {
    fn parse(path_base: PathBase<'_>, call: &Call) -> Self {
        let targets = Arc::new(CallTargets::new(path_base, call, &call.input.unpack()));
        Self { tool: call.tool.clone(), cwd: call.cwd.clone(), input: call.input.clone(), targets }
    }

    fn matches(&self, call: &Call) -> bool {
        (&self.input, &self.tool, &self.cwd) == (&call.input, &call.tool, &call.cwd)
    }
}

impl TargetCache {
    /// Returns the calls with their targets; evicts the entries of all others.
    pub(crate) fn live_calls(
        &mut self,
        path_base: PathBase<'_>,
        calls: Vec<Call>,
    ) -> Vec<LiveCall> {
        let mut earlier = std::mem::take(&mut self.by_row);
        let mut live = Vec::with_capacity(calls.len());
        for call in calls {
            let known = earlier.remove(&call.row).filter(|cached| cached.matches(&call));
            let is_known = known.is_some();
            let cached = known.unwrap_or_else(|| CachedTargets::parse(path_base, &call));
            let (row, targets) = (call.row, Arc::clone(&cached.targets));
            live.push(LiveCall { call, call_targets: targets, is_cached: is_known });
            if cached.input.size() <= MAX_CACHED_INPUT_BYTES {
                self.by_row.insert(row, cached);
            }
        }
        live
    }
}
