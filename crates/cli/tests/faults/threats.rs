//! Who may mean harm, row by row of the table of threats in docs/reliability.md.
//!
//! A test is called `threat_` and then after its row. Here are those that use the program from the
//! outside; what can be asked over HTTP alone is in `crates/server/tests/http`, by the same rule.

mod big_reads;
mod bounded;
mod canary;
mod canary_run;
mod deflate;
mod every_command;
mod flood;
mod hook_input;
mod inflating;
mod logs;
mod names;
mod other_users;
mod planted_links;
mod prefix;
mod recovery_names;
mod secrets;
mod served;
mod terminal;
mod tokens;

use std::path::Path;

/// Whether the long tests run: the same code with larger numbers.
fn is_long() -> bool {
    std::env::var_os("RETAKE_LONG").is_some_and(|value| value == "1")
}

/// Every path beneath a folder, without following links; folders before what they hold.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path, &std::fs::Metadata)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What a daemon is about to remove may be gone.
        let Ok(found) = path.symlink_metadata() else { continue };
        visit(&path, &found);
        if found.is_dir() {
            walk(&path, visit);
        }
    }
}

/// Where bytes occur in others.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let last = haystack.len().checked_sub(needle.len())?;
    let mut from = 0;
    while from <= last {
        let at = from + haystack[from..=last].iter().position(|&byte| byte == first)?;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}
