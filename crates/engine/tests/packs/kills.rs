//! Killed at each step that concerns packs: what was there before or what shall be, never less.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use retake_engine::{PurgeError, PurgeTarget};
use retake_testkit::{TestProject, child};

use super::{assert_recorded, assert_sound, clone_of_many, collect, write_many};

const NAME: &str = "kills::a_kill_at_any_step_leaves_a_whole_store";
fn act(test: &TestProject, role: &str) {
    match role {
        "init" => drop(test.init()),
        "gc" => collect(&test.open()),
        "purge" => {
            let target = PurgeTarget::Path("d0/f0.txt".parse().unwrap());
            match test.open().purge(&target, test.tick()) {
                Ok(_) | Err(PurgeError::Nothing(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        _ => unreachable!("{role}"),
    }
}

fn run(test: &TestProject, role: &str, kill_at: Option<u64>) -> bool {
    let mut command = child::command(NAME, role);
    command.env("RETAKE_TEST_OUTER", test.outer());
    match kill_at {
        Some(step) => command.env("RETAKE_KILL_AT", step.to_string()),
        None => command.env("RETAKE_COUNT_STEPS", test.outer().join("steps")),
    };
    let output = command.output().unwrap();
    let killed = output.status.signal() == Some(9);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(killed || output.status.success(), "{role}: {said}");
    killed
}

/// The steps to be killed at: of each name the first and the last, since most come for each file.
fn steps(test: &TestProject) -> BTreeSet<u64> {
    let counted = std::fs::read_to_string(test.outer().join("steps")).unwrap();
    let steps = counted.lines().map(|line| line.split_once(' ').unwrap());
    let mut places: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (number, name) in steps {
        let number = number.parse().unwrap();
        places.entry(name).or_insert((number, number)).1 = number;
    }
    places.into_values().flat_map(|(first, last)| [first, last]).collect()
}

#[test]
fn a_kill_at_any_step_leaves_a_whole_store() {
    if let Some(role) = child::role() {
        let test = TestProject::at(Path::new(&std::env::var("RETAKE_TEST_OUTER").unwrap()));
        return act(&test, &role);
    }
    let plain = TestProject::new();
    write_many(&plain);
    for (test, role, repack) in [
        (&plain, "init", false),
        (&clone_of_many(), "init", false),
        (&clone_of_many(), "gc", true),
        (&clone_of_many(), "purge", false),
    ] {
        // What each run begins with.
        let (home, kept) = (test.home(), test.outer().join("kept"));
        if role == "init" {
            std::fs::create_dir(&home).unwrap();
        } else {
            test.init();
        }
        if repack {
            test.shell("echo x > d1/x; git add .; git -c user.name=x -c user.email=x commit -qm 2");
            test.shell("git gc -q --prune=now");
        }
        std::fs::rename(&home, &kept).unwrap();
        let again = || {
            let _ = std::fs::remove_dir_all(&home);
            test.shell("cp -a ../kept ../home");
        };
        again();
        assert!(!run(test, role, None));
        let steps = steps(test);
        assert!(steps.len() > 10, "{role}: {steps:?}");
        for step in steps {
            again();
            run(test, role, Some(step));
            if role == "init" {
                test.init();
            }
            let project = test.open();
            assert_sound(&project);
            run(test, role, None);
            assert_sound(&test.open());
            if role == "gc" {
                test.look();
            }
            if role != "purge" {
                assert_recorded(test, &test.open());
            }
        }
    }
}
