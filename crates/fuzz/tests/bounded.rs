//! Every fuzz target on its seeds, on what failed once, and on random inputs.
//!
//! `RETAKE_LONG=1` goes on for ten minutes in all, without repeating an input.

use retake_fuzz::{TARGETS, bounded, target};

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                bounded::run(target(stringify!($name)));
            }
        )*

        #[test]
        fn every_target_is_here_and_has_a_fuzzer() {
            let here = [$(stringify!($name)),*];
            assert!(TARGETS.iter().map(|target| target.name).eq(here));
            let fuzzers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/fuzz_targets");
            for name in here {
                let fuzzer = std::fs::read_to_string(format!("{fuzzers}/{name}.rs")).unwrap();
                assert!(fuzzer.contains(&format!("retake_fuzz::targets::{name}(")), "{fuzzer}");
            }
        }
    };
}

targets! {
    event event_recorded adapter shell ignore ignore_as_git merge path restore http transcript
    stored git_files settings mask quote
}
