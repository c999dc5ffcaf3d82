//! Counts of the cases that a run has tried, for docs/reliability.md.
//!
//! With `RETAKE_FIGURES=FILE` each proof appends its counts; `prove` makes a table of them.

use std::fs::File;
use std::io::Write as _;

/// Returns `true` if every case is to be tried (`RETAKE_LONG`), however long it takes.
pub fn is_long_run() -> bool {
    std::env::var("RETAKE_LONG").is_ok_and(|value| value == "1")
}

/// Records how many cases of this kind were tried, in a certain place.
pub fn record_count(proof: &str, kind: &str, place: &str, count: usize) {
    let Some(path) = std::env::var_os("RETAKE_FIGURES") else { return };
    let line = format!("{proof}\t{kind}\t{place}\t{count}\n");
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}
