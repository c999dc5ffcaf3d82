//! The machine around the project: disks, limits, clocks, processes, versions.
//!
//! What is mounted, started or limited here is a value that takes it away again when it is dropped,
//! also when a test panics.

mod clock;
mod damage;
mod environment;
mod full_disk;
mod permissions;
mod processes;
mod signals;
mod skew;
mod sync_error;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

/// Something that is mounted until the end of the test.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// An empty file system in memory, with limits such as `size=2m`.
    pub(crate) fn memory(at: &Path, limits: &str) -> Self {
        std::fs::create_dir_all(at).unwrap();
        Self::mounted(at, &["-t", "tmpfs", "-o", limits, "retake-test"])
    }

    /// What is in a folder already, which is read-only from now on.
    pub(crate) fn read_only(at: &Path) -> Self {
        let place = at.to_str().unwrap();
        let mount = Self::mounted(at, &["--bind", place]);
        done(Command::new("mount").args(["-o", "remount,ro,bind", place]));
        mount
    }

    /// An ext4 of so many MiB in a file.
    pub(crate) fn ext4(at: &Path, image: &Path, mebibytes: u64) -> Self {
        std::fs::create_dir_all(at).unwrap();
        let file = std::fs::File::create(image).unwrap();
        file.set_len(mebibytes * 1024 * 1024).unwrap();
        done(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(image));
        Self::mounted(at, &["-o", "loop", image.to_str().unwrap()])
    }

    fn mounted(at: &Path, arguments: &[&str]) -> Self {
        done(Command::new("mount").args(arguments).arg(at));
        Self(at.to_owned())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Runs a command of the machine's own, which must work.
fn done(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// Takes all the room that is left, and leaves so many bytes of it.
fn fill_up(folder: &Path, but: u64) -> PathBuf {
    let path = folder.join("ballast");
    let mut file = std::fs::File::create(&path).unwrap();
    let block = [b'x'; 4096];
    while file.write_all(&block).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(but)).unwrap();
    path
}

/// Bytes that do not compress.
fn fill_with_noise(bytes: &mut [u8], seed: u64) {
    let mut state = seed * 2 + 0x9e37_79b9_7f4a_7c15;
    for byte in bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
}

/// The same command, run by another program: `strace …`, `setpriv …`, `faketime …`.
fn under(outer: &[&str], command: &Command) -> Command {
    let mut wrapped = Command::new(outer[0]);
    wrapped.args(&outer[1..]).arg(command.get_program()).args(command.get_args());
    wrapped.env_clear();
    for (name, value) in command.get_envs() {
        wrapped.env(name, value.unwrap());
    }
    wrapped.current_dir(command.get_current_dir().unwrap());
    wrapped
}

/// What a command comes to that reads nothing.
fn come_to(command: &mut Command) -> Ran {
    ran(command.stdin(Stdio::null()).output().unwrap())
}

/// An agent's hook, as it is called by the agent.
fn hook(world: &World, payload: &Value) -> Ran {
    hook_by(&mut world.command(&["hook", "claude-code"]), &world.root(), payload)
}

fn hook_by(command: &mut Command, root: &Path, payload: &Value) -> Ran {
    ran(start_hook(command, root, payload).wait_with_output().unwrap())
}

fn start_hook(command: &mut Command, root: &Path, payload: &Value) -> Child {
    let mut whole = json!({ "session_id": "s1", "cwd": root });
    whole.as_object_mut().unwrap().extend(payload.as_object().unwrap().clone());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(whole.to_string().as_bytes()).unwrap();
    child
}

fn prompt(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": text })
}

fn before(call: &str, command: &str) -> Value {
    json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": call,
        "tool_input": { "command": command } })
}

fn after(call: &str, command: &str) -> Value {
    json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": call,
        "tool_input": { "command": command } })
}

/// The paths of all changes on record, newest first, without a look.
fn recorded(world: &World) -> Vec<String> {
    let log = world.run(&["log", "--json", "--no-look", "--no-daemon"]).json();
    let path = |change: &Value| change["path"].as_str().unwrap().to_owned();
    log["changes"].as_array().unwrap().iter().map(path).collect()
}

/// Every stored byte is what its name says, and every record can be followed.
fn assert_sound(world: &World) {
    let checked = world.run(&["doctor", "--read-data", "--json", "--no-daemon"]).json();
    let checks = checked["checks"].as_array().unwrap().iter();
    // Little room is no damage.
    let wrong = checks.filter(|check| check["state"] == "problem" && check["name"] != "space");
    assert_eq!(wrong.count(), 0, "{checked:#}");
}

/// The names of temporary files that lie in the project.
fn leftovers(world: &World) -> Vec<String> {
    let files = retake_testkit::disk::read_files(&world.root());
    files.into_keys().filter(|name| name.contains(".retake-")).collect()
}

/// Polls until it is true; only ends a test that would never end.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
