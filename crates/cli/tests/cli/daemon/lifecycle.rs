//! How it starts and ends, and what it leaves behind.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::json;

use super::{Daemon, last_writer, status, until};
use crate::support::{World, ran};

fn mode(world: &World, name: &str) -> u32 {
    world.home().join("run").join(name).symlink_metadata().unwrap().mode() & 0o777
}

#[test]
fn it_is_started_shown_and_stopped_and_its_files_are_its_owner_s() {
    let world = World::with(&[("a.txt", "one\n")]);
    assert_eq!(world.run(&["daemon", "status", "--json"]).json(), json!({ "running": false }));
    let started = world.run(&["daemon", "start", "--json"]).json();
    let pid = started["pid"].as_u64().unwrap();
    assert_eq!(started["running"], true);
    let watched = &started["projects"][0];
    assert_eq!(watched["root"].as_str(), world.root().to_str(), "where it was started");
    assert_eq!(mode(&world, ""), 0o700);
    for name in ["daemon.sock", "daemon.lock", "daemon.log"] {
        assert_eq!(mode(&world, name), 0o600, "{name}");
    }
    // Of a session of its own, in no folder that a person may want to unmount.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert_eq!(stat.split(' ').nth(5).unwrap(), pid.to_string());
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap().to_str(), Some("/"));
    world.write("a.txt", "two\n");
    world.ok(&["status"]);
    assert_eq!(u64::from(last_writer(&world)), pid, "the daemon looked");
    let shown = world.ok(&["daemon", "status"]);
    assert!(shown.contains(world.root().to_str().unwrap()), "{shown}");
    for command in [&["daemon", "run"][..], &["daemon", "start"]] {
        let second = world.run(command);
        assert_eq!(second.code, 1);
        assert!(second.stderr.contains(&pid.to_string()), "{}", second.stderr);
    }
    let stopped = world.ok(&["daemon", "stop"]);
    assert!(stopped.contains(&pid.to_string()), "{stopped}");
    assert!(!world.home().join("run/daemon.sock").exists());
    assert!(world.ok(&["daemon", "stop"]).contains("No daemon runs"));
    let log = std::fs::read_to_string(world.home().join("run/daemon.log")).unwrap();
    assert!(log.contains("the daemon ends: it was asked to stop"), "{log}");
}

#[test]
fn one_that_was_killed_is_in_nobody_s_way() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    let pid = daemon.pid();
    daemon.signal(Signal::KILL);
    assert_eq!(daemon.ended(), None);
    assert!(world.home().join("run/daemon.sock").exists(), "it could not clean up");
    world.write("a.txt", "two\n");
    world.ok(&["status"]);
    assert_ne!(last_writer(&world), pid);
    assert_eq!(status(&world)["running"], false);
    let next = Daemon::of(&world);
    world.ok(&["status"]);
    assert_eq!(last_writer(&world), next.pid());
}

#[test]
fn one_that_hangs_costs_a_moment_and_is_named() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    daemon.signal(Signal::STOP);
    world.write("a.txt", "two\n");
    world.ok(&["status"]);
    assert_ne!(last_writer(&world), daemon.pid());
    world.ok(&["checkpoint", "-m", "x"]);
    let hung = world.run(&["daemon", "status"]);
    assert_eq!(hung.code, 1);
    assert!(hung.stderr.contains(&daemon.pid().to_string()), "{}", hung.stderr);
    daemon.signal(Signal::CONT);
    until("it answers again", || status(&world)["running"] == true);
    // What was asked of it meanwhile was done by the commands, and is not done again.
    let made = world.run(&["checkpoints", "--json"]).json();
    let manual = made["checkpoints"].as_array().unwrap().iter();
    assert_eq!(manual.filter(|made| made["message"] == "x").count(), 1);
    world.ok(&["status"]);
    assert_eq!(last_writer(&world), daemon.pid());
}

#[test]
fn it_ends_by_itself_and_by_a_signal_and_leaves_no_socket() {
    let world = World::with(&[]);
    let daemon = Daemon::with(&world, &["--idle-seconds", "1"]);
    assert_eq!(daemon.ended(), Some(0));
    assert!(!world.home().join("run/daemon.sock").exists());
    for signal in [Signal::TERM, Signal::INT] {
        let daemon = Daemon::of(&world);
        daemon.signal(signal);
        assert_eq!(daemon.ended(), Some(0));
        assert!(!world.home().join("run/daemon.sock").exists());
    }
}

#[test]
fn with_no_daemon_none_is_asked() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    world.ok(&["status", "--no-daemon"]);
    assert_ne!(last_writer(&world), daemon.pid());
    let alone = |value: &str| {
        let mut command = world.command(&["status"]);
        assert!(command.env("RETAKE_NO_DAEMON", value).output().unwrap().status.success());
        last_writer(&world) != daemon.pid()
    };
    assert!(alone("1") && !alone("0") && alone("true"));
}

#[test]
fn a_home_whose_path_is_too_long_for_a_socket_has_a_daemon_all_the_same() {
    let world = World::with(&[("a.txt", "one\n")]);
    let long = world.outer().join("h".repeat(100)).join("h".repeat(100));
    std::fs::create_dir_all(&long).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        ran(command.env("RETAKE_HOME", &long).output().unwrap())
    };
    assert_eq!(run(&["init"]).code, 0);
    let pid = run(&["daemon", "start", "--json"]).json()["pid"].clone();
    assert!(pid.is_u64());
    assert_eq!(run(&["status"]).code, 0);
    let served = run(&["daemon", "status", "--json"]).json();
    assert_eq!(served["projects"].as_array().unwrap().len(), 1);
    assert_eq!(run(&["daemon", "stop", "--json"]).json()["stopped"], pid);
}

/// Only root can switch to another user; for all others the modes are the test.
#[test]
fn another_user_is_not_heard_even_if_the_modes_let_them() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    let socket = world.home().join("run/daemon.sock");
    for path in [world.outer(), world.home(), world.home().join("run"), socket.clone()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(20)\n\
                  s.connect(sys.argv[1])\nprint(len(s.recv(9)))";
    let heard = |user: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--clear-groups", "--reuid", user, "--regid", user, "--"]);
        let output =
            command.args(["/usr/bin/env", "python3", "-c", script]).arg(&socket).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8_lossy(&output.stdout).trim().to_owned(), error)
    };
    assert_eq!(heard("0").0, "9");
    let (bytes, error) = heard("65534");
    assert!(bytes == "0" || error.contains("ConnectionReset"), "{bytes} {error}");
    drop(daemon);
}

/// What was begun is done before the end.
#[test]
fn asked_to_stop_while_it_works_it_finishes_that() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    for number in 0..400 {
        world.write(&format!("many/{number}.txt"), vec![b'x'; 20_000]);
    }
    let mut look = world.command(&["status", "--json"]).stdout(Stdio::null()).spawn().unwrap();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ended(), Some(0));
    assert!(look.wait().unwrap().success());
    assert_eq!(world.run(&["doctor", "--json"]).code, 0);
}

/// After a daemon's home is removed, another daemon takes its place in the end.
#[test]
fn a_daemon_whose_home_was_removed_ends_and_leaves_its_successor_alone() {
    let world = World::with(&[("a.txt", "one\n")]);
    // In one step: a daemon at work may put something into it meanwhile.
    let remove = |name: &str| std::fs::rename(world.home(), world.outer().join(name)).unwrap();
    let first = Daemon::of(&world);
    remove("first");
    world.ok(&["init"]);
    let second = Daemon::of(&world);
    first.signal(Signal::TERM);
    assert_eq!(first.ended(), Some(0));
    assert_eq!(status(&world)["pid"], second.pid());
    assert!(world.home().join("run/token").exists());
    remove("second");
    assert_eq!(second.ended(), Some(0), "there is no place for it any more");
}

/// What is asked by HTTP keeps the daemon as well.
#[test]
fn a_daemon_that_is_asked_by_http_is_not_idle() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::with(&world, &["--idle-seconds", "3"]);
    let run = world.home().join("run");
    let told = std::fs::read_to_string(run.join("http.json")).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let header = format!("Authorization: Bearer {}", told["token"].as_str().unwrap());
    let url = format!("{}/api/projects", told["url"].as_str().unwrap());
    for _ in 0..25 {
        let asked = Command::new("curl").args(["-sSf", "-H", &header, &url]).output().unwrap();
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        std::thread::sleep(std::time::Duration::from_millis(250));
    }
    assert_eq!(daemon.ended(), Some(0), "then nobody asks any more");
}
