//! `retake context mark`: records that files were shown to an agent.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{ErrorCode, LineSpan, ProjectPath};
use retake_service::documents::{LocatePaths as _, MarkedFiles};
use retake_service::request::MarkSeen;

use crate::args::ContextMarkArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::{display_path, plural};
use crate::failure::ApiError;
use crate::output::warn;

pub(super) fn run(context: &CommandContext, options: &ContextMarkArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let (dialog, agent) = super::resolve_agent(&project, &options.agent_args)?;
    let files = options.files.iter().map(|text| parse_file(context, &project, text));
    let files = files.collect::<Result<Vec<_>>>()?;
    let (named, source) = (files.len(), options.source);
    let untracked = context.run_request(&project, MarkSeen { dialog, agent, files, source })?;
    let marked = MarkedFiles::new(named, &untracked).located(project.root());
    if context.json {
        context.out.json(&marked)?;
    } else {
        let files = plural(marked.marked, "file as it is", "files as they are");
        context.out.text(&format!("The agent knows {files} now.\n"))?;
        for path in &untracked {
            warn(&format!("{} is no file that is tracked", display_path(path)));
        }
    }
    Ok(if untracked.is_empty() { Exit::Done } else { Exit::Partly })
}

/// Parses a path with an optional line range, unless a file has that very name.
fn parse_file(
    context: &CommandContext,
    project: &Project,
    text: &Path,
) -> Result<(ProjectPath, Option<LineSpan>)> {
    let (path, lines) = match split_line_range(text) {
        Some((path, lines)) if !context.cwd.join(text).exists() => (path, Some(lines)),
        _ => (text.to_owned(), None),
    };
    let Some(placed) = context.resolve_path(project, &path)? else {
        let message = format!("{} is the project itself, not a file", path.display());
        return Err(
            ApiError::new(ErrorCode::NoFile, message, "name the files that were seen").into()
        );
    };
    Ok((placed, lines))
}

/// `PATH:A-B` or `PATH:A`.
fn split_line_range(text: &Path) -> Option<(PathBuf, LineSpan)> {
    let bytes = text.as_os_str().as_bytes();
    let colon = bytes.iter().rposition(|&byte| byte == b':')?;
    let range = std::str::from_utf8(&bytes[colon + 1..]).ok()?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let lines = LineSpan { first: first.parse().ok()?, last: last.parse().ok()? };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(&bytes[..colon]));
    (1..=lines.last).contains(&lines.first).then_some((path, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_from_names() {
        let parse = |text: &str| {
            let (path, lines) = split_line_range(Path::new(text))?;
            Some((path.to_str()?.to_owned(), lines.first, lines.last))
        };
        assert_eq!(parse("a.rs:3-9"), Some(("a.rs".to_owned(), 3, 9)));
        assert_eq!(parse("a:b.rs:7"), Some(("a:b.rs".to_owned(), 7, 7)));
        for name in ["a.rs", "a.rs:", "a.rs:x", "a.rs:0-3", "a.rs:9-3", "a.rs:1-2-3"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
