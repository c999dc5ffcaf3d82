//! A world with a daemon in it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retake_engine::Retake;
use retake_engine::model::ObjectId;
use retake_testkit::git;
use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

/// Nothing here is about speed; this only ends a test that would never end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project with a daemon that watches it.
pub(crate) struct Watched {
    pub(crate) world: World,
    daemon: Child,
    /// The daemon's own process, whatever it was started by.
    pub(crate) pid: u64,
}

impl Watched {
    /// Starts a daemon for what is in the world, and has it look once.
    pub(crate) fn start(world: World) -> Self {
        let command = world.command(&["daemon", "run"]);
        Self::start_as(world, command)
    }

    /// Like `start`, with a command of the test's own.
    pub(crate) fn start_as(world: World, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = command.spawn().unwrap();
        let mut watched = Self { world, daemon, pid: 0 };
        until("the daemon answers", || {
            let status = watched.world.run(&["daemon", "status", "--json"]).json();
            watched.pid = status["pid"].as_u64().unwrap_or(0);
            watched.pid != 0
        });
        watched.world.ok(&["status"]);
        watched
    }

    /// Sends the daemon a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid.to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Kills the daemon.
    pub(crate) fn kill(&mut self) {
        self.signal("-KILL");
        self.daemon.wait().unwrap();
    }

    /// What is on record, without any look of our own.
    pub(crate) fn on_record(&self, arguments: &[&str]) -> Ran {
        self.world.run(&[&["--no-daemon", "--no-look", "--json"], arguments].concat())
    }

    /// The changes on record, newest first.
    pub(crate) fn changes(&self) -> Vec<Value> {
        let log = self.on_record(&["log", "-n", "100000"]).json();
        log["changes"].as_array().unwrap().clone()
    }

    /// Asks the daemon once, after which the record must be what is there.
    pub(crate) fn check(&self) {
        self.world.ok(&["status"]);
        assert_eq!(recorded_tree(&self.world), real_tree(&self.world));
    }

    /// A call of Claude Code's hook.
    pub(crate) fn hook(&self, event: &str, command: &str) {
        let payload = json!({
            "session_id": "s1", "cwd": self.world.root(), "hook_event_name": event,
            "tool_name": "Bash", "tool_use_id": "t1", "tool_input": { "command": command },
        });
        let mut hook = self.world.command(&["hook", "claude-code"]);
        let file = self.world.outer().join("payload");
        std::fs::write(&file, payload.to_string()).unwrap();
        hook.stdin(std::fs::File::open(&file).unwrap());
        let done = ran(hook.output().unwrap());
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.world.root()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.world.command(&["daemon", "stop"]).output();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// The tree of what is on record.
pub(crate) fn recorded_tree(world: &World) -> ObjectId {
    Retake::new(world.home()).open(&world.root()).unwrap().tree_id().unwrap()
}

/// The tree that git makes of the files.
pub(crate) fn real_tree(world: &World) -> ObjectId {
    let (outer, root) = (world.outer(), world.root());
    let of_git = |arguments: &[&str]| {
        let mut command = git::command(&outer);
        command.env("GIT_DIR", outer.join("oracle.git")).env("GIT_WORK_TREE", &root);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    of_git(&["init", "--quiet"]);
    of_git(&["add", "--all", "."]);
    of_git(&["write-tree"]).parse().unwrap()
}

/// Waits for something that must come.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}
