//! Attributes what a scan has found: gathers the evidence and applies the rules of
//! [`crate::attribution`].

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use retake_model::{Actor, PathState, ProjectPath};
use retake_store::{Batch, StoreError};

use crate::attribution::git_evidence::GitEvidence;
use crate::attribution::neighbours::{NeighbourClaim, NeighbourJournals};
use crate::attribution::own_operation::OwnOperation;
use crate::attribution::rename::pair_renames;
use crate::attribution::repository::ProjectRepository;
use crate::attribution::rules::{AttributedStep, Attribution, AttributionContext};
use crate::project::Project;
use crate::scan::context::ScanContext;
use crate::scan::observation::Observation;
use crate::scan::request::ScanScope;
use crate::scan::{stat_cache, state};

impl Project {
    pub(crate) fn attribute(
        &self,
        batch: &Batch<'_>,
        observation: &Observation,
        context: &ScanContext<'_>,
    ) -> Result<(Vec<AttributedStep>, GitEvidence), StoreError> {
        if observation.changes.is_empty() {
            return Ok((Vec::new(), GitEvidence::default()));
        }
        let own = OwnOperation::load_unfinished(batch)?;
        let known_git = state::load_git_state(batch)?;
        let gather = || match &context.request.scope {
            // Such a scan does not save git's state, because more of what git did is still to be
            // found; but what it finds may be a part of that.
            ScanScope::Paths(_) => {
                let now = ProjectRepository::find_around(self.root())
                    .and_then(|around| around.git_state());
                GitEvidence::gather(self.root(), known_git.as_ref(), now.as_ref(), None)
            }
            ScanScope::Everything => {
                let (old, new) = (observation.old_git.as_ref(), observation.git.as_ref());
                GitEvidence::gather(self.root(), old, new, observation.index.clone())
            }
        };
        // Where calls predict every change, git's record is not read.
        let git = OnceCell::new();
        let before: HashMap<_, _> =
            observation.changes.iter().map(|seen| (&seen.path, seen.before)).collect();
        let state_before = |path: &ProjectPath| match before.get(path) {
            Some(side) => *side,
            // Not among the changes: it matches the manifest.
            None => match batch.manifest_entry(path) {
                Ok(entry) => entry.map_or(PathState::Absent, |entry| entry.state.into()),
                Err(_) => PathState::Unknown,
            },
        };
        // Read only where an edit tool works on a file whose mode has changed.
        let inode_before =
            |path: &ProjectPath| stat_cache::last_read_inode(batch, path).ok().flatten();
        let folder_changed_ns =
            |path: &ProjectPath| self.workspace().folder_changed_ns(path.parent().as_ref());
        let attribution = AttributionContext {
            folder_changed_ns: &folder_changed_ns,
            calls: &context.calls.live,
            beginning: context.beginning,
            ending: context.ending,
            first_seen: &|path| self.first_seen(path),
            limits: &context.limits,
            git: &|| git.get_or_init(gather),
            state_before: &state_before,
            inode_before: &inode_before,
        };
        let mut steps = Vec::with_capacity(observation.changes.len());
        for seen in &observation.changes {
            if own.is_temp(&seen.path) || is_leftover_temp(batch, &seen.path)? {
                continue;
            }
            match own.attribute(seen) {
                Some(by) => steps.push(AttributedStep::new(seen.clone(), by)),
                None => steps.extend(attribution.attribute_steps(batch, seen)?),
            }
        }
        self.apply_neighbour_claims(&mut steps);
        Ok((pair_renames(batch, steps)?, git.into_inner().unwrap_or_default()))
    }

    /// Attributes unclaimed changes to operations of Retake in projects that contain this one or
    /// lie in it.
    fn apply_neighbour_claims(&self, steps: &mut Vec<AttributedStep>) {
        let mut others = NeighbourJournals::new(self);
        let mut temporary = HashSet::new();
        for step in steps.iter_mut().filter(|step| step.by.actor == Actor::User) {
            match others.claim(&step.seen) {
                NeighbourClaim::None => {}
                NeighbourClaim::Written => step.by = Attribution::by_neighbour_operation(),
                NeighbourClaim::Temporary => {
                    temporary.insert(step.seen.path.clone());
                }
            }
        }
        steps.retain(|step| !temporary.contains(&step.seen.path));
    }
}

/// Returns true if a file is a temporary one of an operation that could not remove it.
fn is_leftover_temp(batch: &Batch<'_>, path: &ProjectPath) -> Result<bool, StoreError> {
    Ok(retake_workspace::is_temp_name(path.file_name()) && batch.is_step_temp(path)?)
}
