//! Fuzz targets: the properties that hold for any bytes, one function per kind of external input.
//!
//! A target gets arbitrary bytes and panics when a promise is broken, not only when something
//! crashes. Fuzzers call the targets (`fuzz/` at the top of the repository, `fuzz/run`), and so do
//! random tests with a bound (`tests/bounded.rs`), with the same seeds:
//!
//! - [`TARGETS`] lists them; each is a module of [`targets`],
//! - [`seeds`] are inputs from which others are made: captured payloads of agents where they lie,
//!   and `corpus/<target>/`, which also keeps every input that ever failed,
//! - [`bounded`] changes them at random and runs a target on what comes out.
//!
//! Targets that need a project reuse one, in memory, for a number of inputs: no input may
//! make another one fail through it.

#![expect(clippy::unwrap_used, reason = "a target that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "targets play the user, who writes files directly")]

pub mod bounded;
mod input;
mod reused_project;
pub mod seeds;
pub mod targets;

/// A kind of input, and what must hold for it.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The name of the function, of its folder in `corpus/` and of its fuzzer.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Number of bytes at the start of an input that choose what is done with the rest.
    pub head_bytes: usize,
    /// Dictionary of tokens that mean something in such inputs.
    pub dictionary: &'static [&'static str],
    /// Number of inputs tried at every run.
    pub quick_inputs: u64,
}

const JSON_DICTIONARY: &[&str] =
    &["{", "}", "[", "]", ":", ",", "\"", "\\u0000", "null", "1e999", "\n"];

/// Every target.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget {
        name: "event",
        run: targets::event,
        head_bytes: 0,
        dictionary: JSON_DICTIONARY,
        quick_inputs: 15_000,
    },
    FuzzTarget {
        name: "event_recorded",
        run: targets::event_recorded,
        head_bytes: 0,
        dictionary: JSON_DICTIONARY,
        quick_inputs: 250,
    },
    FuzzTarget {
        name: "adapter",
        run: targets::adapter,
        head_bytes: 2,
        dictionary: JSON_DICTIONARY,
        quick_inputs: 15_000,
    },
    FuzzTarget {
        name: "shell",
        run: targets::shell,
        head_bytes: 0,
        dictionary: targets::SHELL_WORDS,
        quick_inputs: 8_000,
    },
    FuzzTarget {
        name: "ignore",
        run: targets::ignore,
        head_bytes: 0,
        dictionary: targets::IGNORE_WORDS,
        quick_inputs: 4_000,
    },
    FuzzTarget {
        name: "ignore_as_git",
        run: targets::ignore_as_git,
        head_bytes: 0,
        dictionary: targets::IGNORE_WORDS,
        quick_inputs: 150,
    },
    FuzzTarget {
        name: "merge",
        run: targets::merge,
        head_bytes: 1,
        dictionary: targets::MERGE_WORDS,
        quick_inputs: 120,
    },
    FuzzTarget {
        name: "path",
        run: targets::path,
        head_bytes: 0,
        dictionary: targets::PATH_WORDS,
        quick_inputs: 15_000,
    },
    FuzzTarget {
        name: "restore",
        run: targets::restore,
        head_bytes: 1,
        dictionary: targets::PATH_WORDS,
        quick_inputs: 120,
    },
    FuzzTarget {
        name: "http",
        run: targets::http,
        head_bytes: 2,
        dictionary: JSON_DICTIONARY,
        quick_inputs: 300,
    },
    FuzzTarget {
        name: "transcript",
        run: targets::transcript,
        head_bytes: 4,
        dictionary: JSON_DICTIONARY,
        quick_inputs: 700,
    },
    FuzzTarget {
        name: "stored",
        run: targets::stored,
        head_bytes: 4,
        dictionary: &[],
        quick_inputs: 300,
    },
    FuzzTarget {
        name: "git_files",
        run: targets::git_files,
        head_bytes: 2,
        dictionary: targets::GIT_WORDS,
        quick_inputs: 2_000,
    },
    FuzzTarget {
        name: "settings",
        run: targets::settings,
        head_bytes: 1,
        dictionary: targets::SETTINGS_WORDS,
        quick_inputs: 4_000,
    },
    FuzzTarget {
        name: "mask",
        run: targets::mask,
        head_bytes: 1,
        dictionary: targets::MASK_WORDS,
        quick_inputs: 3_000,
    },
    FuzzTarget {
        name: "quote",
        run: targets::quote,
        head_bytes: 0,
        dictionary: targets::QUOTE_WORDS,
        quick_inputs: 8_000,
    },
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> FuzzTarget {
    let found = TARGETS.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("there is no target {name}"))
}
