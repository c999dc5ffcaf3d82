//! Collects what a report must not name: folders, the person, the machine, files and titles of the
//! projects, since a daemon's log tells of all of them.

use std::path::{Path, PathBuf};

use retake_engine::{ChangeFilter, Project};

use super::gather::host_name;
use super::scrub::Scrubber;
use crate::context::CommandContext;

/// Maximum changes, the newest ones, whose files are looked for by name. Others are found by their
/// form: a slash, or an extension.
const MAX_CHANGES: usize = 10_000;
/// Maximum operations whose titles are looked for.
const MAX_OPERATIONS: usize = 1000;
/// Maximum other projects whose records are read.
const MAX_OTHER_PROJECTS: usize = 20;
/// Minimum characters of a project's name that is looked for as a word.
const MIN_PROJECT_NAME: usize = 3;

/// Collects what must be scrubbed on this machine.
pub(super) fn collect(context: &CommandContext) -> Scrubber {
    let mut scrubber = Scrubber::default();
    let user_home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    scrubber.hide_folder(context.retake.folder(), "RETAKE_HOME");
    scrubber.hide_folder(&std::env::temp_dir(), "TMP");
    if let Some(home) = &user_home {
        scrubber.hide_folder(home, "~");
        hide_base_name(&mut scrubber, home, "USER");
    }
    for name in ["USER", "LOGNAME"].iter().filter_map(|name| std::env::var(name).ok()) {
        scrubber.hide_word(&name, "USER");
    }
    if let Some(host) = host_name() {
        scrubber.hide_word(host.split('.').next().unwrap_or_default(), "HOST");
        scrubber.hide_word(&host, "HOST");
    }
    hide_projects(&mut scrubber, context);
    if let Ok(project) = context.retake.open_read_only(context.start_folder()) {
        hide_record(&mut scrubber, &project);
    }
    scrubber
}

fn hide_base_name(scrubber: &mut Scrubber, folder: &Path, stands_for: &'static str) {
    if let Some(name) = folder.file_name().and_then(|name| name.to_str()) {
        scrubber.hide_word(name, stands_for);
    }
}

/// Hides the roots of all projects, and what the records of others name.
fn hide_projects(scrubber: &mut Scrubber, context: &CommandContext) {
    let here = context.retake.locate(context.start_folder()).map(|located| located.root());
    if let Ok(root) = &here {
        scrubber.hide_folder(root, "PROJECT");
        hide_project_name(scrubber, root);
        hide_entries(scrubber, root);
    }
    // A home that cannot be read is told of by other parts.
    let others = context.retake.projects().unwrap_or_default();
    for other in &others {
        scrubber.hide_folder(&other.root, "OTHER_PROJECT");
        hide_project_name(scrubber, &other.root);
    }
    let is_other = |root: &&PathBuf| here.as_ref().ok() != Some(*root);
    let roots = others.iter().map(|other| &other.root).filter(is_other);
    for root in roots.take(MAX_OTHER_PROJECTS) {
        hide_entries(scrubber, root);
        if let Ok(project) = context.retake.open_read_only(root) {
            hide_record(scrubber, &project);
        }
    }
    scrubber.hide_folder(&context.cwd, "FOLDER");
}

/// Hides the names at the top of a project.
fn hide_entries(scrubber: &mut Scrubber, root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        scrubber.hide_file_name(&entry.file_name().to_string_lossy());
    }
}

fn hide_project_name(scrubber: &mut Scrubber, root: &Path) {
    let name = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // The word itself is in many messages, and says nothing.
    if name.chars().count() >= MIN_PROJECT_NAME && name != "project" {
        scrubber.hide_word(name, "PROJECT");
    }
}

/// Hides what the record names. What cannot be read is hidden by its form alone.
fn hide_record(scrubber: &mut Scrubber, project: &Project) {
    let newest = ChangeFilter { limit: Some(MAX_CHANGES), ..ChangeFilter::default() };
    for change in project.changes_with_few_hunks(&newest, 0).unwrap_or_default() {
        scrubber.hide_file_name(&String::from_utf8_lossy(change.path.as_bytes()));
        scrubber.hide_file_name(&String::from_utf8_lossy(change.path.file_name()));
    }
    for (dialog, _) in project.dialogs().unwrap_or_default() {
        let titles = [dialog.title, dialog.agent_title, dialog.given_title];
        titles.iter().flatten().for_each(|title| scrubber.hide_phrase(title));
    }
    for operation in project.operations(MAX_OPERATIONS).unwrap_or_default() {
        scrubber.hide_phrase(&operation.title);
    }
}
