//! Random walks: chooses the seeds, walks them in threads, and stores those that fail.
//!
//! A walk is a function of its seed alone. Seeds that ever failed are kept in a file of the
//! repository and walked first, at every run; a seed that fails now is printed and added to it. So
//! a kept seed is tied to the walk that it was found with: a change of what a
//! walk draws changes the meaning of its seeds.
//!
//! `RETAKE_WALK_SEED=n` walks one seed alone, `RETAKE_LONG=1` many more.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::proof_counts::is_long_run;

/// Maximum number of seeds added to the file in one run: where all walks fail, more are useless.
const MAX_ADDED_SEEDS: usize = 8;

/// Number of walks between two progress messages.
const PROGRESS_INTERVAL: usize = 500;

/// Number of walks at every run, and with `RETAKE_LONG=1`.
#[derive(Clone, Copy, Debug)]
pub struct WalkCounts {
    /// At every run.
    pub quick: u64,
    /// With `RETAKE_LONG=1`.
    pub long: u64,
}

impl WalkCounts {
    /// Walks the seeds of `file`, and then those from 0 on, and returns the results.
    ///
    /// # Panics
    /// If a walk did, after all of them.
    pub fn run<T: Send>(self, file: &str, walk: impl Fn(u64) -> T + Sync) -> Vec<T> {
        if let Some(seed) = requested_seed() {
            return vec![walk(seed)];
        }
        let kept = read_seeds(Path::new(file));
        let new = 0..if is_long_run() { self.long } else { self.quick };
        let seeds: Vec<u64> = kept.iter().copied().chain(new).collect();
        let began = Instant::now();
        let (walked, failed) = walk_in_parallel(&seeds, &walk);
        let name = Path::new(file).file_stem().unwrap_or_default().display();
        print_unhidden(&format!("{name}: {} walks in {:.0?}", seeds.len(), began.elapsed()));
        if !failed.is_empty() {
            append_seeds(Path::new(file), failed.difference(&kept).take(MAX_ADDED_SEEDS));
            panic!("{name}: replay with RETAKE_WALK_SEED=n: {failed:?}");
        }
        walked
    }
}

fn requested_seed() -> Option<u64> {
    let seed = std::env::var("RETAKE_WALK_SEED").ok()?;
    Some(seed.parse().unwrap_or_else(|_| panic!("RETAKE_WALK_SEED={seed} is no number")))
}

/// Reads the seeds of a file: one a line, with an optional note after `#`.
fn read_seeds(file: &Path) -> BTreeSet<u64> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let seeds = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    seeds.filter(|seed| !seed.is_empty()).map(|seed| seed.parse().unwrap()).collect()
}

fn append_seeds<'a>(file: &Path, seeds: impl Iterator<Item = &'a u64>) {
    let text = seeds.fold(String::new(), |text, seed| format!("{text}{seed}\n"));
    let opened = std::fs::File::options().create(true).append(true).open(file);
    if let Err(error) = opened.and_then(|mut opened| opened.write_all(text.as_bytes())) {
        print_unhidden(&format!(
            "please add to {}, which cannot be written ({error}):\n{text}",
            file.display()
        ));
    }
}

/// Walks in parallel; returns the results in the order of the seeds, and the seeds that failed.
fn walk_in_parallel<T: Send>(
    seeds: &[u64],
    walk: &(impl Fn(u64) -> T + Sync),
) -> (Vec<T>, BTreeSet<u64>) {
    let next = AtomicUsize::new(0);
    let results = Mutex::new((Vec::new(), BTreeSet::new()));
    let work = || {
        while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let walked = catch_unwind(AssertUnwindSafe(|| walk(seed)));
            let mut results = results.lock().unwrap();
            if let Ok(walked) = walked {
                results.0.push((seed, walked));
                if results.0.len() % PROGRESS_INTERVAL == 0 {
                    print_unhidden(&format!("{} of {} walks", results.0.len(), seeds.len()));
                }
            } else {
                print_unhidden(&format!("this was RETAKE_WALK_SEED={seed}"));
                results.1.insert(seed);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(seeds.len()) {
            scope.spawn(work);
        }
    });
    let (mut walked, failed) = results.into_inner().unwrap();
    walked.sort_by_key(|(seed, _)| *seed);
    (walked.into_iter().map(|(_, walked)| walked).collect(), failed)
}

/// Bypasses libtest, which hides the output of passing tests.
fn print_unhidden(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALKS: WalkCounts = WalkCounts { quick: 5, long: 5 };

    #[test]
    fn kept_seeds_are_walked_too_and_what_fails_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seeds.txt");
        let name = file.to_str().unwrap();
        std::fs::write(&file, "# why\n\n77 # found once\n").unwrap();
        assert_eq!(WALKS.run(name, |seed| seed), [0, 1, 2, 3, 4, 77]);
        let failing = |seed| assert!(seed != 3 && seed != 77, "{seed}");
        let failed = catch_unwind(|| WALKS.run(name, failing)).unwrap_err();
        let message = failed.downcast_ref::<String>().unwrap();
        assert!(message.contains("{3, 77}"), "{message}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "# why\n\n77 # found once\n3\n");
        assert_eq!(WALKS.run(name, |seed| seed), [0, 1, 2, 3, 3, 4, 77]);
    }
}
