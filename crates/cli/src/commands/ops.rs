//! `retake ops`: what Retake did to the files.

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{Operation, OperationState};
use retake_service::documents::OperationList;

use crate::args::OpsArgs;
use crate::checkpoint_id::short_checkpoint_id;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: &OpsArgs) -> Result<Exit> {
    let project = context.open()?;
    let limit = options.limit.unwrap_or(i64::MAX as usize).min(i64::MAX as usize);
    let operations = project.operations(limit)?;
    if context.json {
        context.out.json(&OperationList::read(&project, &operations)?)?;
    } else if operations.is_empty() {
        context.out.text("Retake has not changed any file of this project.\n")?;
    } else {
        let table = table(context, &project, &operations)?;
        context.out.paged(table.render("", context.out).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn table(
    context: &CommandContext,
    project: &Project,
    operations: &[Operation],
) -> Result<TextTable> {
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE,
        Column::WHOLE.dropped(1),
        Column::TITLE,
    ])
    .with_head(["OPERATION", "WHEN", "STATE", "SAFETY", "WHAT"]);
    for operation in operations {
        let (state, style) = operation_state(operation);
        table.row([
            TableCell::new(operation.id.to_string(), TextStyle::Mark),
            TableCell::new(context.times.show(operation.at), TextStyle::Dim),
            TableCell::new(state, style),
            TableCell::new(short_checkpoint_id(project, &operation.safety)?, TextStyle::Dim),
            TableCell::new(escape(&operation.title), TextStyle::Plain),
        ]);
    }
    Ok(table)
}

fn operation_state(operation: &Operation) -> (String, TextStyle) {
    match (operation.undone_by, operation.state) {
        (Some(by), _) => (format!("undone by {by}"), TextStyle::Dim),
        (None, OperationState::Running) => ("interrupted".to_owned(), TextStyle::Bad),
        (None, OperationState::Partial) => ("partial".to_owned(), TextStyle::Warn),
        (None, OperationState::Done) => ("done".to_owned(), TextStyle::Good),
        (None, OperationState::Cancelled) => ("cancelled".to_owned(), TextStyle::Dim),
    }
}
