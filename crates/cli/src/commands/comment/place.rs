//! What a comment is about: a hunk, lines, a file, or the work as a whole.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::{ErrorCode, ProjectPath};
use retake_engine::{CommentPlace, Project};

use crate::args::{CommentAddArgs, HunkArg, parse_range};
use crate::commands::hunk_choice::hunk_request;
use crate::commands::scope::exit_with_usage;
use crate::context::CommandContext;
use crate::failure::ApiError;

/// Resolves the place that is named.
pub(super) fn resolve(
    context: &CommandContext,
    project: &Project,
    options: &CommentAddArgs,
) -> Result<CommentPlace> {
    let place = options.place.as_os_str();
    if let Some(hunk) = place.to_str().and_then(|text| text.parse::<HunkArg>().ok()) {
        let request = hunk_request(project, &[hunk], &options.at)?;
        let scope = Box::new(request.scope);
        let Some(hunk) = request.hunks.into_iter().next() else {
            exit_with_usage("name one hunk");
        };
        return Ok(CommentPlace::Hunk { scope, hunk });
    }
    if options.at.hunk_scope.is_some() || options.at.digest.is_some() {
        exit_with_usage("--scope and --digest are about hunks of `retake review`");
    }
    if place == "-" {
        return Ok(CommentPlace::Work);
    }
    match lines_of(context, place) {
        Some((file, first, last)) => {
            let path = file_path(context, project, file)?;
            Ok(CommentPlace::Lines { path, first, last })
        }
        None => Ok(CommentPlace::File(file_path(context, project, place)?)),
    }
}

/// Splits `FILE:12` and `FILE:12-15`; none for a file whose name ends so.
fn lines_of<'p>(context: &CommandContext, place: &'p OsStr) -> Option<(&'p OsStr, u32, u32)> {
    if context.cwd.join(place).symlink_metadata().is_ok() {
        return None;
    }
    let bytes = place.as_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':')?;
    let lines = parse_range(std::str::from_utf8(&bytes[colon + 1..]).ok()?)?;
    Some((OsStr::from_bytes(&bytes[..colon]), *lines.start(), *lines.end()))
}

fn file_path(context: &CommandContext, project: &Project, file: &OsStr) -> Result<ProjectPath> {
    let missing = || {
        let message = "a comment is about a file, and this is the whole project";
        ApiError::new(ErrorCode::UnknownPath, message, "write - for the work as a whole")
    };
    Ok(context.resolve_path(project, Path::new(file))?.ok_or_else(missing)?)
}
