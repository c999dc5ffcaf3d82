//! Random shell programs really run, and Retake loses nothing, whatever their text says.
//!
//! A story: a project, a person who edits between scans, and an agent's shell calls, with or
//! without a watcher. The disk right before and right after each program is the oracle; it knows
//! nothing of what Retake reads out of the text. What must hold is in `programs/check.rs`.
//!
//! A failure prints the story, with each program as it ran, and its complaints by the letters of
//! that list. `RETAKE_WALK_SEED=n` replays one story, `RETAKE_LONG=1` plays many more.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

mod check;
mod fixture;
mod generate;
mod run;
mod sight;
mod story;
mod templates;
mod words;

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use retake_testkit::proof_counts;
use retake_testkit::seeds::WalkCounts;
use story::Story;

#[test]
fn no_program_loses_anything() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/programs.txt");
    let (shells, tally) = (run::shells(), Tally::default());
    let play = |seed| Story::new(seed, &shells, &tally).play();
    WalkCounts { quick: 1_300, long: 121_000 }.run(kept, play);
    let [ran, stopped] = tally.counts();
    proof_counts::record_count("programs", "shell programs", "run", ran);
    assert!(stopped * 100 <= ran, "{stopped} programs had to be stopped");
}

#[test]
fn what_would_leave_the_project_is_noticed() {
    let inside = ["rm -rf *", "cat a/b > ./c", "ls 2> /dev/null", "rm \"$P/x\"", "sed s/a/b/ f"];
    let outside =
        ["rm -rf /", "rm \"$X/a\"", "cd ..", "cat </etc", "rm -rf $D/*", "X=/a", "cp x ../y"];
    assert!(inside.iter().all(|text| generate::is_confined(text)));
    assert!(!outside.iter().any(|text| generate::is_confined(text)));
}

/// How many programs ran, which is told in the end, and how many did not end in time.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) ran: AtomicUsize,
    pub(crate) stopped: AtomicUsize,
}

impl Tally {
    fn counts(&self) -> [usize; 2] {
        [&self.ran, &self.stopped].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let [ran, stopped] = self.counts();
        say(&format!("programs: {ran} ran, {stopped} had to be stopped"));
    }
}

/// Past libtest, which hides what a passing test prints.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
