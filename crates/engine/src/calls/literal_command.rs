//! Checks that a command of an understood shape means exactly what its text says, in its folder.
//!
//! Symlinks make other files of the same text. They are checked when the call begins and again when
//! it ends, and may be gone by then, so a command that removes or replaces what it uses is not
//! understood at all (here, and in `shell/understood.rs`).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::shell::{CommandEffects, CommandTarget, TargetEffect};

/// Returns true if a command can change nothing but its targets.
pub(crate) fn is_literal(root: &Path, cwd: Option<&str>, effects: &CommandEffects) -> bool {
    let Some(shape) = &effects.understood else { return false };
    let base = root.join(cwd.unwrap_or_default());
    let enters = |folder: &String| base.join(folder).is_dir();
    let is_own = |target: &CommandTarget| {
        is_plain(target) && has_one_name(root, &join_target(&base, target), target)
    };
    shape.enters.as_ref().is_none_or(enters)
        && effects.targets.iter().all(is_own)
        && !is_removed_twice(&base, &effects.targets)
}

/// Returns true if a target means what its text says: no `..`, which may follow a symlink, and no
/// `/proc`, which each process has for itself.
fn is_plain(target: &CommandTarget) -> bool {
    let is_plain = |path: &str| {
        !path.split('/').any(|part| part == "..")
            && !path.contains("/proc/")
            && !path.starts_with("/dev/fd/")
    };
    is_plain(&target.path) && target.cwd.as_deref().is_none_or(is_plain)
}

fn join_target(base: &Path, target: &CommandTarget) -> PathBuf {
    let folder = target.cwd.as_ref().map_or_else(|| base.to_owned(), |cwd| base.join(cwd));
    folder.join(&target.path)
}

/// Returns true if a target has no other name that would change along.
fn has_one_name(root: &Path, file: &Path, target: &CommandTarget) -> bool {
    let Ok(inside) = file.strip_prefix(root) else { return is_plain_outside(file) };
    let takes_away = matches!(target.what, TargetEffect::Delete | TargetEffect::Move);
    let folders = inside.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    if folders.into_iter().any(|folder| root.join(folder).is_symlink()) {
        return false;
    }
    match file.symlink_metadata() {
        Ok(data) if data.is_symlink() => takes_away,
        Ok(data) => data.is_dir() || data.nlink() == 1,
        Err(_) => true,
    }
}

/// Returns true if a path outside of the project surely leads to no file in it.
fn is_plain_outside(file: &Path) -> bool {
    let is_own_output = file == Path::new("/dev/stdout") || file == Path::new("/dev/stderr");
    match file.symlink_metadata() {
        Ok(data) if data.is_file() => data.nlink() == 1,
        Ok(data) => is_own_output || !(data.is_dir() || data.is_symlink()),
        // A new file: its folder is what its text says, or one that symlinks lead to.
        Err(_) => file
            .parent()
            .is_some_and(|folder| folder.canonicalize().is_ok_and(|real| real == folder)),
    }
}

/// Returns true if a path that is removed is a target once more, or lies in or around one.
fn is_removed_twice(base: &Path, targets: &[CommandTarget]) -> bool {
    let takes_away =
        |target: &&CommandTarget| matches!(target.what, TargetEffect::Delete | TargetEffect::Move);
    targets.iter().filter(takes_away).any(|removed| {
        let there = join_target(base, removed);
        targets.iter().filter(|other| *other != removed).any(|other| {
            let other = join_target(base, other);
            there.starts_with(&other) || other.starts_with(&there)
        })
    })
}
