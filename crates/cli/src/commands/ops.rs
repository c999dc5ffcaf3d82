//! `retake ops`: what Retake did to the files.

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{Operation, OperationState};
use retake_server::documents::Operations;

use crate::args::Ops;
use crate::checkpoint_id::short;
use crate::context::{Context, Exit};
use crate::escape::escape;
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

pub(super) fn run(context: &Context, options: &Ops) -> Result<Exit> {
    let project = context.open()?;
    let limit = options.limit.unwrap_or(i64::MAX as usize).min(i64::MAX as usize);
    let operations = project.store().operations(limit)?;
    if context.json {
        context.out.json(&Operations::from(operations.as_slice()))?;
    } else if operations.is_empty() {
        context.out.text("Retake has not changed any file of this project.\n")?;
    } else {
        let table = table(&project, &operations)?;
        context.out.paged(table.render("", context.out.colour).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn table(project: &Project, operations: &[Operation]) -> Result<Table> {
    let mut table = Table::default();
    for operation in operations {
        let (state, style) = state(operation);
        table.row([
            Cell::new(operation.id.to_string(), Style::Mark),
            Cell::new(local(operation.at), Style::Dim),
            Cell::new(operation.kind.as_str(), Style::Plain),
            Cell::new(state, style),
            Cell::new(short(project, &operation.safety)?, Style::Dim),
            Cell::new(escape(&operation.title), Style::Plain),
        ]);
    }
    Ok(table)
}

fn state(operation: &Operation) -> (String, Style) {
    match (operation.undone_by, operation.state) {
        (Some(by), _) => (format!("undone by {by}"), Style::Dim),
        (None, OperationState::Running) => ("interrupted".to_owned(), Style::Bad),
        (None, OperationState::Partial) => ("partial".to_owned(), Style::Warn),
        (None, OperationState::Done) => ("done".to_owned(), Style::Good),
    }
}
