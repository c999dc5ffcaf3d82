//! The routes, by what they are about, and what they share: finding the project that is named,
//! and what names in a request mean there.

#![expect(unused_qualifications, reason = "the macro of utoipa writes them")]

mod act;
mod bodies;
mod changes;
mod checkpoints;
mod context;
mod dialogs;
mod events;
mod file_changes;
mod history;
mod interface;
mod projects;
mod review;
mod stream;

use std::sync::Arc;

use retake_engine::Project;
use retake_engine::model::{AgentId, ChangeId, DialogId, ProjectPath};
use utoipa_axum::router::OpenApiRouter;

pub(super) use act::Acted;

use super::Desk;
use super::error::Problem;
use crate::{Failure, Hall, Masking, Room};

/// Maximum entries of a page.
const LARGEST_PAGE: usize = 1000;

/// Every route there is.
pub(super) fn all() -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .merge(projects::router())
        .merge(changes::router())
        .merge(context::router())
        .merge(review::router())
        .merge(checkpoints::router())
        .merge(events::router())
        .merge(stream::router())
        .merge(dialogs::router())
        .merge(history::router())
        .merge(file_changes::router())
        .merge(interface::router())
}

impl Desk {
    /// Reads in a project, beside its writer.
    async fn read<T: Send + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&Project) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work(move |hall| Ok(hall.room(&project)?.read(job)?)).await
    }

    /// Does something with a project's room.
    async fn enter<T: Send + 'static>(
        &self,
        project: String,
        job: impl FnOnce(&Room) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work(move |hall| job(&*hall.room(&project)?)).await
    }

    /// Does something with the room of the project that has a dialog.
    async fn enter_dialog<T: Send + 'static>(
        &self,
        dialog: String,
        project: Option<String>,
        job: impl FnOnce(&Room, &DialogId) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work(move |hall| {
            let dialog = DialogId::from(dialog.as_str());
            job(&*room_of(hall, &dialog, project.as_deref())?, &dialog)
        })
        .await
    }
}

/// Secrets are masked in what leaves by HTTP, unless the person wants them.
fn masking(project: &Project) -> Masking {
    Masking::from(&project.settings().api)
}

/// The room of the project that has a dialog; a project that is named decides if several do.
fn room_of(hall: &Hall, dialog: &DialogId, project: Option<&str>) -> Result<Arc<Room>, Failure> {
    let has = |room: &Room| room.read(|project| Ok(project.dialog(dialog)?.is_some()));
    if let Some(id) = project {
        let room = hall.room(id)?;
        return if has(&room)? { Ok(room) } else { Err(unknown_dialog(dialog)) };
    }
    let open = hall.rooms();
    let mut found = Vec::new();
    for known in hall.projects()? {
        let has_it = match open.iter().find(|room| room.id() == known.id) {
            // A project whose folder is gone cannot be asked.
            Some(room) => has(room).unwrap_or(false),
            // One is not opened for good because of this.
            None => match hall.retake().open(&known.root) {
                Ok(project) => project.id() == known.id && project.dialog(dialog)?.is_some(),
                Err(_) => false,
            },
        };
        if has_it {
            found.push(hall.room(&known.id)?);
        }
    }
    match found.as_slice() {
        [room] => Ok(Arc::clone(room)),
        [] => Err(unknown_dialog(dialog)),
        [first, second, ..] => Err(Failure::new(
            "ambiguous_dialog",
            format!("projects {} and {} both have dialog '{dialog}'", first.id(), second.id()),
            "say which with ?project=",
        )),
    }
}

fn unknown_dialog(dialog: &DialogId) -> Failure {
    let message = format!("there is no dialog '{dialog}'");
    Failure::new("unknown_dialog", message, "GET /api/projects/{project}/dialogs lists them")
}

/// A dialog of the project.
fn dialog(project: &Project, id: &str) -> Result<DialogId, Failure> {
    let id = DialogId::from(id);
    match project.dialog(&id)? {
        Some(_) => Ok(id),
        None => Err(unknown_dialog(&id)),
    }
}

/// An agent that some dialog knows.
fn agent(project: &Project, id: &str) -> Result<AgentId, Failure> {
    let mut agents = project.dialogs()?.into_iter().flat_map(|(_, agents)| agents);
    agents.find(|agent| agent.id.0 == id).map(|agent| agent.id).ok_or_else(|| {
        let message = format!("no dialog has an agent '{id}'");
        Failure::new("unknown_agent", message, "GET /api/projects/{project}/dialogs lists them")
    })
}

/// A change by its id.
fn change_id(text: &str) -> Result<ChangeId, Failure> {
    let id = text.parse().ok().filter(|id: &ChangeId| place_in_order(id.0).is_ok());
    id.ok_or_else(|| {
        let message = format!("'{text}' is not a change id");
        Failure::new("bad_value", message, "they look like c12")
    })
}

/// A place in the project's order, which the record counts with signed numbers.
fn place_in_order(number: u64) -> Result<u64, Failure> {
    if i64::try_from(number).is_ok() {
        return Ok(number);
    }
    let message = format!("nothing is at place {number}");
    Err(Failure::new("bad_value", message, "send what the page before gave"))
}

/// The place in the project of a path that a client wrote; never one outside of it.
fn place(project: &Project, text: &str) -> Result<ProjectPath, Failure> {
    project.place(project.root(), text).ok_or_else(|| {
        let message = format!("'{text}' is no path in {}", project.root().display());
        Failure::new("outside_project", message, "name a file or folder of the project")
    })
}

/// Returns the page size; rejects one over the maximum.
fn limit(asked: Option<usize>, otherwise: usize) -> Result<usize, Failure> {
    let limit = asked.unwrap_or(otherwise);
    if (1..=LARGEST_PAGE).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("`limit` is {limit}, not 1 to {LARGEST_PAGE}");
    Err(Failure::new("bad_value", message, "ask for several pages"))
}
