//! Other people on the same machine: a second user, really.
//!
//! The folders around the home are open to all here, so that only Retake's own modes, and the
//! question who is at the other end of the socket, keep others out. The umask lets everything
//! through.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use retake_testkit::machine::{MachineRequirement, has_all};

use super::served::{Daemon, until};
use crate::support::World;

const NEEDS: [MachineRequirement; 3] = [
    MachineRequirement::Root,
    MachineRequirement::Program("setpriv"),
    MachineRequirement::Program("curl"),
];
/// `nobody`.
const OTHER: &str = "65534";

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}

/// A world in a place that everybody can reach, with an existing home that is open to all.
fn world() -> World {
    let world = World::new();
    std::fs::create_dir(world.home()).unwrap();
    for path in [world.outer(), world.home(), world.outer().join("tmp")] {
        open_to_all(&path);
    }
    world.write(".env", "KEY=secret-of-the-owner\n");
    let line = format!("umask 0; exec {} init --checkpoint", env!("CARGO_BIN_EXE_retake"));
    let mut init = Command::new("sh");
    init.args(["-c", &line]).current_dir(world.root());
    for (name, value) in world.command(&[]).get_envs() {
        init.env(name, value.unwrap());
    }
    assert!(init.output().unwrap().status.success());
    world.shell("k1", "echo KEY=another-secret > .env");
    world.ok(&["git"]);
    world
}

/// Runs a command as the other user; its code and what it printed.
fn as_other(words: &[&str]) -> (i32, String) {
    let mut command = Command::new("setpriv");
    command.args(["--clear-groups", "--reuid", OTHER, "--regid", OTHER, "--"]).args(words);
    let output = command.stdin(Stdio::null()).current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap(), text)
}

#[test]
fn threat_other_local_users_cannot_read_anything() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = world();
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    let home = world.home().display().to_string();
    // That the other user gets as far as the home shows that it is not the way that is closed.
    assert_eq!(as_other(&["ls", &home]).0, 0);
    let (_, readable) = as_other(&["find", &home, "-type", "f", "-readable"]);
    assert_eq!(readable, "", "these can be read by others");
    let (_, writable) =
        as_other(&["find", &home, "-mindepth", "1", "-writable", "-not", "-type", "l"]);
    assert_eq!(writable, "", "these can be written by others");
    let mut files: Vec<PathBuf> = Vec::new();
    super::walk(&world.home(), &mut |path, found| {
        if found.is_file() {
            files.push(path.to_owned());
        }
        let mode = found.permissions().mode() & 0o777;
        // git's own objects may not be written even by their owner.
        let private = if found.is_dir() { 0o700 } else { 0o600 };
        assert!(mode == private || mode == private & 0o500, "{} has {mode:o}", path.display());
    });
    assert!(files.len() > 8, "{files:?}");
    for file in files {
        let (code, text) = as_other(&["cat", file.to_str().unwrap()]);
        assert!(code != 0 && text.is_empty(), "{} can be read", file.display());
    }
    drop(daemon);
}

#[test]
fn threat_other_local_users_cannot_connect_and_need_a_token() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = world();
    let daemon = Daemon::of(&world);
    let socket = world.home().join("run/daemon.sock");
    let socket_text = socket.to_str().unwrap().to_owned();
    let bounded = ["curl", "--silent", "--http0.9", "--output", "-", "--max-time", "20"];
    let ask = [&bounded[..], &["--unix-socket", &socket_text, "http://x/"]].concat();
    // 7 is curl's word for "could not connect"; the owner is greeted, which is no HTTP.
    assert_eq!(as_other(&ask).0, 7);
    let own = Command::new(ask[0]).args(&ask[1..]).output().unwrap();
    assert!(super::find(&own.stdout, b"protocol").is_some(), "the owner can connect");
    // Even where the modes let them in, the daemon asks who they are.
    for path in [world.home().join("run"), socket] {
        open_to_all(&path);
    }
    let (_, said) = as_other(&ask);
    assert_eq!(said, "", "it does not even say hello");
    let url = format!("http://{}/api/projects", daemon.address);
    let status = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", &url];
    assert_eq!(as_other(&status), (0, "401".to_owned()), "TCP asks for the token");
    let guess = [&status[..], &["--header", "Authorization: Bearer AAAA"]].concat();
    assert_eq!(as_other(&guess), (0, "401".to_owned()));
    let log = std::fs::read_to_string(super::served::stderr_of(&world)).unwrap();
    assert!(log.contains("another user tried to connect"), "{log}");
}

#[test]
fn threat_other_local_users_nothing_listens_beyond_loopback() {
    let world = World::with(&[("a.txt", "one\n")]);
    let daemon = Daemon::of(&world);
    let mut found = Vec::new();
    until("its sockets are listed", || {
        found = listening(daemon.pid());
        !found.is_empty()
    });
    // As the kernel writes 127.0.0.1, and the state "listens".
    assert!(found.iter().all(|local| local.starts_with("0100007F:")), "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
}

/// The local addresses that a process listens on, as the kernel has them.
fn listening(pid: u32) -> Vec<String> {
    let folder = format!("/proc/{pid}/fd");
    let links = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    let own: Vec<_> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            let is_own = own.contains(&format!("socket:[{}]", fields[9]));
            // Of TCP only what listens; a datagram socket hears from the start.
            if is_own && (fields[3] == "0A" || table.starts_with("udp")) {
                found.push(fields[1].to_owned());
            }
        }
    }
    found
}
