//! Resolves paths of agents' settings through symlinks.
//!
//! A project may come from anywhere: its links must not lead setup to files outside of it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use retake_agents::AgentKind;
use retake_agents::setup::{SetupLevel, setup_targets};
use retake_engine::model::ErrorCode;

use super::SetupEnvironment;
use super::files::{io_failure, left_unchanged};
use crate::ApiError;

/// Resolves a path through symlinks, even if the file does not exist yet.
pub fn real_path(path: &Path) -> Result<PathBuf, ApiError> {
    resolve(path).map_err(|error| io_failure("follow", path, &error))
}

fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        known => return known,
    }
    // Links in a circle are another error, so this comes to an end.
    if let Ok(target) = fs::read_link(path) {
        return resolve(&path.parent().unwrap_or(path).join(target));
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(resolve(folder)?.join(name)),
        _ => Err(ErrorKind::NotFound.into()),
    }
}

/// Refuses a file of a project that lies outside of it, or is the one for all projects.
pub fn check_inside_project(
    agent: AgentKind,
    path: &Path,
    level: SetupLevel,
    machine: &SetupEnvironment,
) -> Result<(), ApiError> {
    if level == SetupLevel::User {
        return Ok(());
    }
    let (real, project) = (real_path(path)?, real_path(&machine.project)?);
    if !real.starts_with(&project) {
        let why = format!("it leads out of the project, to {}", real.display());
        return Err(left_unchanged(
            ErrorCode::Outside,
            path,
            &why,
            "remove that link, or leave out --here",
        ));
    }
    let of_user = setup_targets(agent, SetupLevel::User, &machine.folders);
    if of_user.iter().any(|target| real_path(&target.path).is_ok_and(|user| user == real)) {
        let why = "it is the file for all of your projects";
        return Err(left_unchanged(ErrorCode::SameFile, path, why, "leave out --here"));
    }
    Ok(())
}

/// The path as it is shown: with the real file, if a link leads elsewhere.
pub fn display_with_link(path: &Path, machine: &SetupEnvironment) -> String {
    let straight = [&machine.home, &machine.project]
        .into_iter()
        .find_map(|base| Some(base.canonicalize().ok()?.join(path.strip_prefix(base).ok()?)));
    match real_path(path) {
        Ok(real) if real != straight.unwrap_or_else(|| path.to_owned()) => {
            format!("{} -> {}", path.display(), real.display())
        }
        _ => path.display().to_string(),
    }
}
