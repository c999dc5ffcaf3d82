//! `retake openapi`: the description of the HTTP interface, from its routes.
//!
//! `docs/openapi.json` is its output; a test fails if the two differ.

use anyhow::Result;
use retake_server::http::description;

use crate::context::{CommandContext, Exit};

pub(super) fn run(context: &CommandContext) -> Result<Exit> {
    context.out.json(&description())?;
    Ok(Exit::Done)
}
