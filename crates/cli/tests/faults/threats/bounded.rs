//! Running the program with so much memory and no more.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Ran, World, ran};

/// All of the addresses that a run may have: several times of what the program takes in a project
/// with nothing odd in it, and a part of what a bomb becomes.
pub(crate) const MEMORY: u64 = 512 << 20;
/// Nothing that is not stuck takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The command, with bounded memory and time. Whatever needs more is killed, which `ran` tells.
pub(crate) fn command(world: &World, words: &[&str], memory: u64) -> Command {
    let program = world.command(words);
    let mut bounded = Command::new("timeout");
    bounded.arg("--signal=KILL").arg(PATIENCE.as_secs().to_string());
    bounded.args(["prlimit", &format!("--as={memory}"), "--"]);
    bounded.arg(program.get_program()).args(program.get_args());
    bounded.current_dir(world.root()).env_clear();
    for (name, value) in program.get_envs() {
        bounded.env(name, value.unwrap());
    }
    bounded
}

/// Runs it. It ends by itself and with a word: it neither panics, nor aborts, nor hangs.
pub(crate) fn run(world: &World, words: &[&str]) -> Ran {
    let done = ran(command(world, words, MEMORY).stdin(Stdio::null()).output().unwrap());
    assert_ended_well(&done, &format!("{words:?}"));
    done
}

pub(crate) fn assert_ended_well(done: &Ran, what: &str) {
    assert!((0..=3).contains(&done.code), "{what}: exit {}: {}", done.code, done.stderr);
    assert!(!done.stderr.contains("panicked"), "{what}: {}", done.stderr);
    assert!(!done.stderr.contains("memory allocation of"), "{what}: {}", done.stderr);
}
