//! Links in the place of Retake's own files: none is written through, and the person is told.
//!
//! Only a process of the same user can plant them; a restored backup or a program that runs for the
//! person can do so by accident.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::served::{Daemon, until};
use crate::support::World;

const CANARY: &str = "what another program wrote\n";

/// Puts a link to a file of another program in the place of one of ours.
fn plant(world: &World, place: &Path) -> std::path::PathBuf {
    let target = world.outer().join("victim.txt");
    std::fs::write(&target, CANARY).unwrap();
    let _ = std::fs::remove_file(place);
    symlink(&target, place).unwrap();
    target
}

#[track_caller]
fn assert_untouched(target: &Path) {
    assert_eq!(std::fs::read_to_string(target).unwrap(), CANARY, "it was written through the link");
}

#[test]
fn threat_planted_links_the_lock_of_a_project_is_not_one() {
    let world = World::with(&[("a.txt", "one\n")]);
    let target = plant(&world, &world.store().join("lock"));
    let refused = world.run(&["checkpoint"]);
    assert_ne!(refused.code, 0);
    let said = &refused.stderr;
    assert!(said.contains("lock") && said.contains("symbolic link"), "{said}");
    assert_untouched(&target);
    std::fs::remove_file(world.store().join("lock")).unwrap();
    world.ok(&["checkpoint"]);
}

#[test]
fn threat_planted_links_the_lock_of_the_home_is_not_one() {
    let world = World::with(&[("a.txt", "one\n")]);
    let target = plant(&world, &world.home().join("lock"));
    let refused = world.run(&["init"]);
    assert!(refused.stderr.contains("symbolic link"), "{}", refused.stderr);
    assert_untouched(&target);
}

/// An event that can be neither recorded nor spooled is lost with a warning, and the agent goes on.
#[test]
fn threat_planted_links_the_spool_is_not_one() {
    let world = World::with(&[("a.txt", "one\n")]);
    let spool = plant(&world, &world.store().join("spool.jsonl"));
    let lock = world.store().join("lock");
    let _ = std::fs::remove_file(&lock);
    let held = std::fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let payload = json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s1",
        "prompt": "canary-prompt", "cwd": world.root() });
    let mut command = world.command(&["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_untouched(&spool);
}

#[test]
fn threat_planted_links_no_daemon_starts_on_one() {
    let world = World::with(&[("a.txt", "one\n")]);
    let run = world.home().join("run");
    std::fs::create_dir(&run).unwrap();
    for name in ["daemon.lock", "daemon.log"] {
        let target = plant(&world, &run.join(name));
        let refused = world.run(&["daemon", "start"]);
        assert_ne!(refused.code, 0, "{}", refused.stderr);
        let said = &refused.stderr;
        assert!(said.contains(name) && said.contains("symbolic link"), "{said}");
        assert_untouched(&target);
        // The one that hooks start does not follow it either.
        let direct = world.run(&["daemon", "run", "--idle-seconds", "1"]);
        assert!(
            name == "daemon.log" || direct.stderr.contains("symbolic link"),
            "{}",
            direct.stderr
        );
        assert_untouched(&target);
        std::fs::remove_file(run.join(name)).unwrap();
    }
}

/// The files with the address and the tokens take the link's place.
#[test]
fn threat_planted_links_tokens_are_not_written_through_one() {
    let world = World::with(&[("a.txt", "one\n")]);
    let run = world.home().join("run");
    std::fs::create_dir(&run).unwrap();
    let mut targets = Vec::new();
    for name in ["http.json", "token", "agent-token"] {
        let target = world.outer().join(format!("victim-{name}"));
        std::fs::write(&target, CANARY).unwrap();
        symlink(&target, run.join(name)).unwrap();
        targets.push((name, target));
    }
    let mut command = world.command(&["daemon", "run"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_file = |name: &str| run.join(name).symlink_metadata().is_ok_and(|found| found.is_file());
    until("the tokens are there", || is_file("http.json") && is_file("agent-token"));
    let _ = child.kill();
    let _ = child.wait();
    for (name, target) in targets {
        assert_untouched(&target);
        assert!(is_file(name), "{name} is still a link");
    }
}

/// What was opened up is closed by the next `init` and the next daemon; the home itself is the
/// person's, and is told of.
#[test]
fn threat_other_local_users_what_was_opened_is_closed_again() {
    let world = World::with(&[("a.txt", "one\n")]);
    let open = |path: &Path| {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let modes = |paths: &[std::path::PathBuf]| -> Vec<u32> {
        paths.iter().map(|path| path.metadata().unwrap().permissions().mode() & 0o777).collect()
    };
    let store = world.store();
    let inside = [
        world.home().join("projects"),
        world.home().join("roots"),
        store.clone(),
        store.join("retake.db"),
        store.join("project.json"),
    ];
    for path in &inside {
        open(path);
    }
    open(&world.home());
    let found = world.run(&["doctor"]);
    assert!(found.text().contains("other users may reach"), "{}", found.text());
    world.ok(&["init"]);
    assert_eq!(modes(&inside), [0o700, 0o700, 0o700, 0o600, 0o600]);
    assert_eq!(modes(&[world.home()]), [0o755], "the home is as the person made it");
    let told = world.run(&["doctor"]).text();
    assert!(told.contains("chmod go="), "{told}");
    for path in &inside {
        open(path);
    }
    let daemon = Daemon::of(&world);
    assert_eq!(modes(&inside), [0o700, 0o700, 0o700, 0o600, 0o600]);
    drop(daemon);
}
