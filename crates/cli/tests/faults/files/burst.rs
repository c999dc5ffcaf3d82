//! Row 28: very many files at once.

use super::watched::Watched;
use super::{is_long, looked_at_all};
use crate::support::World;

/// Each file is written three times; what counts is how it ends.
fn write_all(world: &World, files: usize) {
    for round in 0..3 {
        for number in 0..files {
            let folder = number % 300;
            world.write(&format!("burst/{folder}/{number}"), format!("{round} {number}\n"));
        }
    }
    for number in (0..files).step_by(7) {
        std::fs::remove_file(world.root().join(format!("burst/{}/{number}", number % 300)))
            .unwrap();
    }
}

fn burst(world: &World) -> usize {
    let files = if is_long() { 100_000 } else { 5_000 };
    write_all(world, files);
    files - files.div_ceil(7)
}

#[test]
fn row_28_a_burst_of_files() {
    let watched = Watched::start(World::with(&[("a.txt", "one\n")]));
    let files = burst(&watched.world);
    looked_at_all(&watched.world);
    watched.check();
    let status = watched.on_record(&["status"]).json();
    assert_eq!(status["files"], files + 1, "with a daemon");
    super::check_record(&watched.world);
}

/// The same between two events of an agent, and no daemon: all of it is the agent's, and goes back.
#[test]
fn row_28_a_burst_of_an_agent() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.say("d1", "go");
    let begin = r#"{"event":"tool_begin","dialog":"d1","call":"k1","tool":"Bash","input":{"command":"./make"}}"#;
    assert_eq!(world.feed(begin).code, 0);
    let files = burst(&world);
    let end = r#"{"event":"tool_end","dialog":"d1","call":"k1","ok":true}"#;
    let reply = world.feed(end).lines().remove(0);
    assert_eq!(reply["changes"].as_array().unwrap().len(), files);
    super::check(&world);
    world.ok(&["undo"]);
    assert!(!world.root().join("burst").exists(), "folders that became empty go, too");
    super::check(&world);
}
