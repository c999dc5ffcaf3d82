//! Freshness: what each agent last saw of a file, and whether it is still so.
//!
//! ```text
//! see       an event shows a file to an agent: that is recorded, with the content and the lines
//! fold      looks and changes of a file, in order, make what the agent knows of it (knowledge)
//! stale     … and what of that is not so any more, which lines, and by whom
//! react     before an edit or a message the agent is told, once for each content
//! timeline  the same record as a list of what happened to each file in the context
//! ```
//!
//! Invariants: staleness is never a flag, it is worked out from the record each time; a file is
//! fresh again only by a look at what is there now, or by being again what was seen.

mod fold;
mod knowledge;
mod react;
mod see;
mod spans;
mod stale;
mod timeline;

pub(crate) use fold::Knower;
pub(crate) use react::{react, tell_followers};
pub(crate) use see::{Shown, see, shown};

pub use react::{Reaction, StaleContext};
pub use stale::{StaleFile, StaleLines, Staleness, Who};
pub use timeline::{ContextEntry, ContextFile};

use retake_model::{AgentId, ContextSource, DialogId, Lines, Millis, ProjectPath};
use retake_store::StoreError;

use crate::journal::note;
use crate::project::Project;
use crate::record::RecordError;
use crate::tool::Part;

impl Project {
    /// The files in an agent's context, with their timelines.
    ///
    /// It is as new as the last look; [`Project::look`] first to miss nothing.
    pub fn context(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<ContextFile>, StoreError> {
        let knower = self.settings().freshness.knower(dialog, agent);
        let mut files = Vec::new();
        for path in self.store().known_paths(dialog, agent)? {
            files.extend(knower.file(self.store(), &path)?);
        }
        Ok(files)
    }

    /// The files that are not as an agent last saw them.
    ///
    /// Asking clears nothing: a file is fresh again when the agent has looked at what is there now
    /// (W-17).
    pub fn stale_files(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
    ) -> Result<Vec<StaleFile>, StoreError> {
        let knower = self.settings().freshness.knower(dialog, agent);
        let mut files = Vec::new();
        for path in self.store().known_paths(dialog, agent)? {
            files.extend(knower.stale(self.store(), &path)?);
        }
        Ok(files)
    }

    /// Records that an agent sees these files as they are now (LIB-3), or lines of them; gives
    /// those that are not tracked or are no files, of which nothing can be recorded.
    pub fn track_context(
        &self,
        (dialog, agent): (&DialogId, &AgentId),
        files: &[(ProjectPath, Option<Lines>)],
        source: ContextSource,
        at: Millis,
    ) -> Result<Vec<ProjectPath>, RecordError> {
        let _lock = self.hold()?;
        self.catch_up_and_look(at)?;
        let batch = self.store().batch()?;
        batch.touch_dialog(dialog, None, None, at)?;
        batch.touch_agent(dialog, agent, None, None)?;
        let seq = batch.next_seq();
        let mut untracked = Vec::new();
        for (path, lines) in files {
            let part = lines.map_or(Part::Whole, Part::Lines);
            if !see::mark(&batch, (dialog, agent), (path, part), source, (seq, at))? {
                untracked.push(path.clone());
            }
        }
        let body = serde_json::json!({
            "source": source, "agent": agent, "files": files.len() - untracked.len(),
        });
        note(&batch, (seq, at), "context_tracked", Some(dialog), body)?;
        batch.mark_dialog(dialog, seq)?;
        batch.commit()?;
        Ok(untracked)
    }
}
