//! Targets as random tests: seeds first, then a bounded number of inputs mutated from them.
//!
//! Input n of a target is a function of n and the seeds. One that fails is written to
//! `target/fuzz/`, with its name and number; the person who fixes the bug moves it to
//! `crates/fuzz/corpus/<target>/`, where it is tried first from then on.

use std::io::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use retake_testkit::machine;
use retake_testkit::mutate::{keys, mutate, pick, scramble};
use retake_testkit::proof_counts::is_long_run;
use serde_json::Value;

use crate::seeds::seeds;
use crate::{FuzzTarget, TARGETS};

/// Time budget of all targets together, in long mode.
const LONG_DURATION: Duration = Duration::from_secs(600);
/// Maximum bytes of an input.
const MAX_INPUT_BYTES: usize = 128 * 1024;

/// Runs a target on its seeds and on inputs that are made of them.
///
/// # Panics
/// If the target did.
pub fn run(target: FuzzTarget) {
    let (seeds, began) = (seeds(target), Instant::now());
    for (name, seed) in &seeds {
        run_one(target, seed, name);
    }
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|(_, seed)| seed).collect();
    let maker = InputMutator::new(target, &seeds);
    let share = LONG_DURATION / u32::try_from(TARGETS.len()).unwrap();
    let goes_on = |n| if is_long_run() { began.elapsed() < share } else { n < target.quick_inputs };
    let mut n = 0;
    while goes_on(n) {
        run_one(target, &maker.input(n), &format!("{n}"));
        n += 1;
    }
    let (name, count, took) = (target.name, seeds.len(), began.elapsed());
    let _ = writeln!(std::io::stderr(), "{name}: {count} seeds, {n} inputs, {took:.1?}");
}

fn run_one(target: FuzzTarget, input: &[u8], which: &str) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        let file = save_failure(target, input, which);
        let again = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        let alone = if again.is_err() { "alone, too" } else { "only after those before it" };
        panic!("{}: input {which} fails ({alone}): {}", target.name, file.display());
    }
}

fn save_failure(target: FuzzTarget, input: &[u8], which: &str) -> PathBuf {
    let folder = machine::target_folder().join("fuzz");
    let which = which.rsplit('/').next().unwrap_or(which);
    let file = folder.join(format!("{}-{which}", target.name));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&file, input).unwrap();
    file
}

/// Mutates seeds into inputs.
struct InputMutator<'s> {
    target: FuzzTarget,
    seeds: &'s [Vec<u8>],
    keys: Vec<String>,
}

impl<'s> InputMutator<'s> {
    fn new(target: FuzzTarget, seeds: &'s [Vec<u8>]) -> Self {
        let bodies = seeds.iter().map(|seed| seed.get(target.head_bytes..).unwrap_or_default());
        let values: Vec<Value> =
            bodies.filter_map(|body| serde_json::from_slice(body).ok()).collect();
        let keys = keys(values.iter());
        Self { target, seeds, keys: if keys.is_empty() { vec!["path".to_owned()] } else { keys } }
    }

    fn input(&self, number: u64) -> Vec<u8> {
        let random = &mut Rng::with_seed(number);
        let mut input = pick(self.seeds, random).clone();
        for _ in 0..random.usize(1..6) {
            self.change(&mut input, random);
        }
        input.truncate(MAX_INPUT_BYTES);
        input
    }

    fn change(&self, input: &mut Vec<u8>, random: &mut Rng) {
        let head = self.target.head_bytes.min(input.len());
        match random.u8(..9) {
            0 if head > 0 => input[random.usize(..head)] = random.u8(..),
            1..4 => {
                let place = head + random.usize(..=input.len() - head);
                let line = line_at(input, head, place);
                let ranges = [head..input.len(), line];
                let parsed = ranges.into_iter().find_map(|range| {
                    let value = serde_json::from_slice::<Value>(&input[range.clone()]).ok()?;
                    Some((range, value))
                });
                let Some((range, mut value)) = parsed else {
                    return self.change_bytes(input, random);
                };
                mutate(&mut value, &self.keys, random);
                drop(input.splice(range, value.to_string().into_bytes()));
            }
            _ => self.change_bytes(input, random),
        }
    }

    fn change_bytes(&self, input: &mut Vec<u8>, random: &mut Rng) {
        let at = random.usize(..=input.len());
        let end = (at + random.usize(..16)).min(input.len());
        match random.u8(..4) {
            0 if !self.target.dictionary.is_empty() => {
                drop(input.splice(at..end, pick(self.target.dictionary, random).bytes()));
            }
            1 => {
                let other = pick(self.seeds, random);
                let from = random.usize(..=other.len());
                let to = (from + random.usize(..64)).min(other.len());
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            2 => {
                let again = input[at..end].repeat(random.usize(1..4));
                drop(input.splice(at..at, again));
            }
            _ => scramble(input, random),
        }
    }
}

/// The line around a place, not before `start`.
fn line_at(input: &[u8], start: usize, place: usize) -> Range<usize> {
    let is_end = |byte: &u8| *byte == b'\n';
    let from = input[start..place].iter().rposition(is_end).map_or(start, |at| start + at + 1);
    let to = input[place..].iter().position(is_end).map_or(input.len(), |at| place + at);
    from..to
}
