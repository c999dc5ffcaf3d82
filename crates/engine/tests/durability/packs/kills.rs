//! Stopped at each step that concerns packs: what was there before or what shall be, never less.

use retake_engine::{PurgeError, PurgeTarget};
use retake_testkit::sweep::{ALL_FAULTS, FaultSweep};
use retake_testkit::{TestProject, child};

use super::{assert_recorded, assert_sound, cloned, collect, write_many};

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

#[test]
fn a_fault_at_any_step_leaves_a_whole_store() {
    if let Some(role) = child::role() {
        return act(&child::project(), &role);
    }
    let plain = TestProject::in_memory();
    write_many(&plain);
    let clone = || cloned(TestProject::in_memory());
    for (test, role) in
        [(&plain, "init"), (&clone(), "init"), (&clone(), "gc"), (&clone(), "purge")]
    {
        if role != "init" {
            test.init();
        }
        if role == "gc" {
            test.shell("echo x > d1/x; git add .; git -c user.name=x -c user.email=x commit -qm 2");
            test.shell("git gc -q --prune=now");
        }
        let sweep = FaultSweep::for_home(role, test).sparse();
        for faults in ALL_FAULTS {
            sweep.run_each(faults, |_| verify(test, role));
        }
    }
}

fn verify(test: &TestProject, role: &str) {
    if role == "init" {
        test.init();
    }
    assert_sound(&test.open());
    act(test, role);
    assert_sound(&test.open());
    if role == "gc" {
        test.refresh();
    }
    if role != "purge" {
        assert_recorded(test, &test.open());
    }
}
