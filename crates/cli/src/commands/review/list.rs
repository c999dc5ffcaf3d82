//! The list of a review: its files, and the hunks of each.

use anyhow::Result;
use retake_engine::{Project, Review, ReviewFile};
use retake_service::Masking;
use retake_service::documents::{HunkRenderer, ReviewFileDocument, ReviewListDocument};
use serde::Serialize;

use crate::args::ReviewArgs;
use crate::commands::review::carry_out_due;
use crate::commands::review::scope_words::ReviewTarget;
use crate::context::{CommandContext, Exit};

/// The list as HTTP tells it, with the hunks of all files.
#[derive(Debug, Serialize)]
struct ReviewDocument {
    #[serde(flatten)]
    list: ReviewListDocument,
    contents: Vec<ReviewFileDocument>,
}

pub(super) fn run(context: &CommandContext, options: &ReviewArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    carry_out_due(context, &project)?;
    let target = ReviewTarget::resolve(context, &project, options)?;
    let review = project.review(&target.scope)?;
    let files = files_of(&review)?;
    if context.json {
        context.out.json(&document(&project, &review, &files, target)?)?;
    }
    Ok(Exit::Done)
}

/// The hunks of all files of a review.
fn files_of(review: &Review<'_>) -> Result<Vec<ReviewFile>> {
    let mut files = Vec::new();
    for entry in review.entries() {
        files.extend(review.files(entry)?);
    }
    Ok(files)
}

fn document(
    project: &Project,
    review: &Review<'_>,
    files: &[ReviewFile],
    target: ReviewTarget,
) -> Result<ReviewDocument> {
    let mut renderer = HunkRenderer::new(project, Masking::Off)?.without_tokens();
    let list = renderer.render_list(review, target.name, None, usize::MAX)?;
    let contents = files.iter().map(|file| renderer.render_file(review, file));
    Ok(ReviewDocument { list, contents: contents.collect::<Result<_, _>>()? })
}
