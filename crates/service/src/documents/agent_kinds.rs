//! The products of agents, by dialog and id.

use std::collections::HashMap;

use retake_engine::model::{AgentId, DialogId};
use retake_engine::{Project, StoreError};

/// Looks up the products of agents, each dialog once.
pub(super) struct AgentKinds<'p> {
    project: &'p Project,
    known: HashMap<DialogId, DialogKinds>,
}

/// The products of a dialog's agents.
struct DialogKinds {
    /// That of its main agent, which others have that tell none.
    main: Option<String>,
    agents: HashMap<AgentId, Option<String>>,
}

impl<'p> AgentKinds<'p> {
    pub(super) fn new(project: &'p Project) -> Self {
        Self { project, known: HashMap::new() }
    }

    /// The product of an agent; without an agent, of the dialog's main one.
    pub(super) fn find(
        &mut self,
        dialog: Option<&DialogId>,
        agent: Option<&AgentId>,
    ) -> Result<Option<String>, StoreError> {
        let Some(dialog) = dialog else { return Ok(None) };
        if !self.known.contains_key(dialog) {
            let main = self.project.dialog(dialog)?.and_then(|dialog| dialog.kind);
            let agents = self.project.agents(dialog)?;
            let agents = agents.into_iter().map(|agent| (agent.id, agent.kind)).collect();
            self.known.insert(dialog.clone(), DialogKinds { main, agents });
        }
        let Some(kinds) = self.known.get(dialog) else { return Ok(None) };
        let own = agent.and_then(|agent| kinds.agents.get(agent).cloned().flatten());
        Ok(own.or_else(|| kinds.main.clone()))
    }
}
