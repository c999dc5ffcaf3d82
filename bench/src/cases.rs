//! The names of cases and peers, as they stand in tables, in the JSON and in the targets.

use retake_engine::model::format_count;

pub(crate) const FIRST: &str = "first checkpoint of a clone";
pub(crate) const PLAIN: &str = "first checkpoint of a plain folder";
pub(crate) const ROLLBACK: &str = "rollback of an agent's 10 files";
pub(crate) const REFERENCE: &str = "for comparison";
pub(crate) const DAEMON_MEMORY: &str = "memory: the daemon, at most";
pub(crate) const SPACE_FIRST: &str = "disk: first checkpoint of a clone";
pub(crate) const SPACE_PLAIN: &str = "disk: first checkpoint of a plain folder";
pub(crate) const SPACE_CAPTURES: &str = "disk: added by 100 captures of one file";

pub(crate) const RETAKE: &str = "Retake";
pub(crate) const DAEMON: &str = "Retake + daemon";
pub(crate) const SMALL: &str = "Retake + daemon, 500 files";
pub(crate) const SHADOW: &str = "shadow git";
pub(crate) const SHADOW_MANY: &str = "shadow git, manyFiles";
pub(crate) const SHADOW_WATCHER: &str = "shadow git, fsmonitor";
pub(crate) const SEEDED: &str = "seeded git";
pub(crate) const SEEDED_MANY: &str = "seeded git, manyFiles";
pub(crate) const SEEDED_WATCHER: &str = "seeded git, fsmonitor";
pub(crate) const JJ: &str = "jj";
pub(crate) const JJ_WATCHMAN: &str = "jj + watchman";

pub(crate) const EMPTY: &str = "start of an empty program";
pub(crate) const FSYNC: &str = "one fsync of a small append";
pub(crate) const STATUS: &str = "git status";
pub(crate) const WALK: &str = "bare stat walk, 2 threads";

/// The sizes of file that hooks capture, as they are called.
pub(crate) const SIZES: [(&str, usize); 2] = [("10 KB", 10_000), ("1 MB", 1_000_000)];

pub(crate) fn checkpoint(changed: usize) -> String {
    format!("checkpoint, {changed} changed")
}

pub(crate) fn restore(files: usize) -> String {
    format!("restore of {files}")
}

pub(crate) fn hook_begin(size: &str) -> String {
    format!("hook before an edit of {size}")
}

pub(crate) fn hook_end(size: &str) -> String {
    format!("hook after an edit of {size}")
}

pub(crate) fn written(size: &str) -> String {
    format!("write of {size} + fsync")
}

pub(crate) fn json_file(size: &str) -> String {
    format!("JSON file of a {size} change, synced")
}

pub(crate) fn edits(count: u64) -> String {
    format!("disk: {} small edits of a 1 MB file", format_count(count))
}

/// A question to a record of so many changes.
pub(crate) fn query(what: &str, changes: u64) -> String {
    format!("{what}, {} changes on record", format_count(changes))
}
