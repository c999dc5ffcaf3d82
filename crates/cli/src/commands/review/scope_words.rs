//! What a review is about: the words of the command line as a scope and paths.
//!
//! Invariant: a first word that names a scope is the scope, even if a file is called so; that is said,
//! with the way to name the file.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::{ErrorCode, ProjectPath};
use retake_engine::{ChangeFilter, Project, ReviewScope, ScopeChanges};
use retake_service::review::{SCOPE_FORMS, find_scope};

use crate::args::ReviewArgs;
use crate::context::CommandContext;
use crate::escape::escape;
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message};

/// Name of the scope if none is named.
const DEFAULT_SCOPE: &str = "all";

/// What is reviewed.
#[derive(Debug)]
pub(super) struct ReviewTarget {
    /// The scope, as the person named it.
    pub(super) name: String,
    pub(super) scope: ReviewScope,
    /// Whether files or folders are named.
    pub(super) has_paths: bool,
}

impl ReviewTarget {
    /// Resolves the words of the command line.
    pub(super) fn resolve(
        context: &CommandContext,
        project: &Project,
        options: &ReviewArgs,
    ) -> Result<Self> {
        let (first, rest) = match options.words.split_first() {
            Some((first, rest)) => (scope_of_word(context, project, first)?, rest),
            None => (None, &[][..]),
        };
        let others = if first.is_some() { rest } else { &options.words[..] };
        let named = first.is_some();
        let (name, changes) = first.unwrap_or((DEFAULT_SCOPE.to_owned(), ScopeChanges::AllAgents));
        let mut target = Self {
            name,
            scope: ReviewScope { changes, paths: Vec::new(), approved: options.approved },
            has_paths: false,
        };
        for (at, word) in others.iter().enumerate() {
            target.add_path(context, project, Path::new(word), !named && at == 0)?;
        }
        for path in &options.paths {
            target.add_path(context, project, path, false)?;
        }
        target.scope.paths.sort();
        target.scope.paths.dedup();
        Ok(target)
    }

    /// Returns true if it is of all that agents did since the person looked, in all files.
    pub(super) fn covers_all(&self) -> bool {
        let is_wide = matches!(
            self.scope.changes,
            ScopeChanges::AllAgents | ScopeChanges::SinceSeen | ScopeChanges::Everything
        );
        is_wide && self.scope.paths.is_empty()
    }

    fn add_path(
        &mut self,
        context: &CommandContext,
        project: &Project,
        path: &Path,
        may_be_scope: bool,
    ) -> Result<()> {
        self.has_paths = true;
        // The project's root is all of it, and narrows nothing.
        let Some(place) = context.resolve_path(project, path)? else { return Ok(()) };
        if !is_known(context, project, path, &place)? {
            return Err(unknown_word(path, may_be_scope).into());
        }
        self.scope.paths.push(place);
        Ok(())
    }
}

/// Finds the scope of a name that must be one.
pub(in crate::commands) fn named_scope(project: &Project, name: &str) -> Result<ScopeChanges> {
    let unknown = || {
        let message = format!("there is no scope '{}'", escape(name));
        ApiError::new(ErrorCode::UnknownDialog, message, scope_hint())
    };
    Ok(scope_of_name(project, name)?.ok_or_else(unknown)?)
}

fn scope_of_name(project: &Project, name: &str) -> Result<Option<ScopeChanges>> {
    // The start of an id names a dialog, and every id starts with nothing.
    if name.is_empty() { Ok(None) } else { Ok(find_scope(project, name)?) }
}

/// The scope that the first word names, if it names one.
fn scope_of_word(
    context: &CommandContext,
    project: &Project,
    word: &OsStr,
) -> Result<Option<(String, ScopeChanges)>> {
    let Some(name) = word.to_str() else { return Ok(None) };
    let Some(changes) = scope_of_name(project, name)? else { return Ok(None) };
    if context.cwd.join(word).symlink_metadata().is_ok() && !context.json {
        let text = format!("'{name}' is taken as a scope; the file is `retake review -- {name}`");
        print_message("note", TextStyle::Mark, &text);
    }
    Ok(Some((name.to_owned(), changes)))
}

/// Returns true if something of this path is there, or on record.
fn is_known(
    context: &CommandContext,
    project: &Project,
    path: &Path,
    place: &ProjectPath,
) -> Result<bool> {
    if context.cwd.join(path).symlink_metadata().is_ok() {
        return Ok(true);
    }
    let filter =
        ChangeFilter { path: Some(place.clone()), limit: Some(1), ..ChangeFilter::default() };
    Ok(!project.changes(&filter)?.is_empty())
}

fn unknown_word(path: &Path, may_be_scope: bool) -> ApiError {
    let word = escape(path.as_os_str().as_encoded_bytes());
    if may_be_scope {
        let message = format!("'{word}' is neither a scope nor a file of the project");
        return ApiError::new(ErrorCode::UnknownPath, message, scope_hint());
    }
    let message = format!("nothing of '{word}' is in the project or on record");
    let hint = "check the spelling; `retake status --ignored` lists what is left out";
    ApiError::new(ErrorCode::UnknownPath, message, hint)
}

fn scope_hint() -> String {
    let forms: Vec<_> = SCOPE_FORMS.iter().map(|(form, _)| *form).collect();
    format!("scopes are {}; `retake dialogs` lists the dialogs", forms.join(", "))
}
