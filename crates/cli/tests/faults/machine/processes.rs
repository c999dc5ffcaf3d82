//! Rows 22, 23 and 56: two daemons, commands at once, a daemon that is down or hangs.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{after, assert_sound, before, hook, prompt, recorded, until};
use crate::support::{World, ran};

/// A daemon in the foreground; ends with the test.
pub(super) struct Daemon(Child);

impl Daemon {
    pub(super) fn of(world: &World) -> Self {
        Self::by(world, &mut world.command(&["daemon", "run"]))
    }

    pub(super) fn by(world: &World, command: &mut std::process::Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self(command.spawn().unwrap());
        until("the daemon answers", || daemon_of(world)["running"] == true);
        daemon
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(super) fn ended(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn daemon_of(world: &World) -> Value {
    let ran = world.run(&["daemon", "status", "--json"]);
    serde_json::from_slice(&ran.stdout).unwrap_or_default()
}

/// However many are started at once, one serves; each of the others ends and names it.
#[test]
fn row_22_two_daemons() {
    let world = World::with(&[("a.txt", "one\n")]);
    let start = || {
        let mut command = world.command(&["daemon", "run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Daemon(command.spawn().unwrap())
    };
    let mut started: Vec<Daemon> = (0..4).map(|_| start()).collect();
    until("one of them answers", || daemon_of(&world)["running"] == true);
    let pid = daemon_of(&world)["pid"].as_u64().unwrap();
    let serving = started.iter().position(|one| u64::from(one.pid()) == pid).unwrap();
    let serving = started.swap_remove(serving);
    for mut other in started {
        let mut said = String::new();
        let mut stderr = other.0.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        assert_eq!(other.ended(), Some(1), "{said}");
        assert!(said.contains(&pid.to_string()), "it names process {pid}: {said}");
    }
    world.write("a.txt", "two\n");
    world.ok(&["status"]);
    assert_eq!(daemon_of(&world)["pid"], serving.pid(), "the first one serves on");
    assert_sound(&world);
}

/// Eight processes with verbs of all kinds: each is done wholly or refused in words, and what was
/// acknowledged is there, once.
#[test]
fn row_23_two_commands_at_once() {
    let world = World::with(&[("a.txt", "0\n"), ("mine.txt", "by hand\n")]);
    for number in 1..=4 {
        world.say("d1", "go");
        world
            .shell(&format!("k{number}"), &format!("echo {number} > a.txt; echo x > {number}.txt"));
    }
    let message = |at: usize, round: usize| format!("by {at} in {round}");
    let work = |at: usize| {
        let mut made = Vec::new();
        for round in 0..4 {
            let message = message(at, round);
            let words: &[&str] = match at % 4 {
                0 => &["checkpoint", "-m", &message],
                1 => &["undo", "--yes"],
                2 => &["redo", "--yes"],
                _ => &["status"],
            };
            let ran = world.run(words);
            assert!(matches!(ran.code, 0 | 1 | 3), "{words:?}: {}", ran.stderr);
            let told = !ran.stderr.is_empty() || !ran.text().is_empty();
            assert!(told, "{words:?} says nothing: {}", ran.code);
            assert!(!ran.stderr.contains("database"), "{words:?}: {}", ran.stderr);
            if words[0] == "checkpoint" && ran.code == 0 {
                made.push(message);
            }
        }
        made
    };
    let acknowledged: BTreeSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || work(at))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(!acknowledged.is_empty());
    let listed = world.run(&["checkpoints", "--json"]).json();
    let messages = listed["checkpoints"].as_array().unwrap().iter();
    let messages: Vec<_> = messages.map(|made| made["message"].as_str().unwrap()).collect();
    for message in &acknowledged {
        assert_eq!(messages.iter().filter(|found| *found == message).count(), 1, "{message}");
    }
    assert_eq!(world.read("mine.txt"), "by hand\n");
    assert_eq!(super::leftovers(&world), [""; 0]);
    assert_eq!(world.run(&["recover", "--json"]).json()["interrupted"], Value::Null);
    assert_sound(&world);
    // Whatever their order was, the way back is there.
    let first = listed["checkpoints"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap();
    world.ok(&["restore", first, "--yes"]);
    assert_eq!((world.read("a.txt"), world.read("4.txt")), ("0\n".into(), "(absent)".into()));
}

/// Who does not get the lock in time is told so, and by whom; nothing of it is done.
#[test]
fn row_23_the_loser_is_told() {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo 1 > a.txt");
    let settings = "[wait]\nevent_ms = 20\ncommand_ms = 20\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let lock = File::options().read(true).write(true).open(world.store().join("lock")).unwrap();
    lock.lock().unwrap();
    for command in [&["undo", "--yes", "--json"][..], &["checkpoint", "--json"], &["gc", "--json"]]
    {
        let lost = world.run(command);
        let error = lost.json()["error"].clone();
        assert_eq!((lost.code, &error["code"]), (1, &json!("locked")), "{command:?}");
        assert!(error["message"].as_str().unwrap().contains("in use by process"), "{error}");
    }
    assert_eq!(world.read("a.txt"), "1\n");
    drop(lock);
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read("a.txt"), "0\n");
}

/// What an agent's turn is, told by its hooks.
fn turn(world: &World, number: u32) {
    let command = format!("echo {number} > a.txt");
    let payloads = [prompt("go"), before(&format!("t{number}"), &command)];
    let heard = payloads.iter().map(|payload| hook(world, payload));
    let mut heard: Vec<_> = heard.collect();
    world.write("a.txt", format!("{number}\n"));
    heard.push(hook(world, &after(&format!("t{number}"), &command)));
    for ran in heard {
        assert_eq!((ran.code, ran.text().as_str()), (0, ""), "{}", ran.stderr);
    }
}

fn turns(world: &World) -> u64 {
    let dialogs = world.run(&["dialogs", "--json"]).json();
    dialogs["dialogs"][0]["turns"].as_u64().unwrap_or(0)
}

/// Killed, hung, or hung with the project's lock in its hands: hooks end with 0, and what they told
/// is on record in the end, each once, and the agent's.
#[test]
fn row_56_the_daemon_is_down_or_hangs_while_agents_work() {
    let world = World::with(&[("a.txt", "0\n")]);
    let daemon = Daemon::of(&world);
    turn(&world, 1);
    daemon.signal(Signal::STOP);
    turn(&world, 2);
    daemon.signal(Signal::CONT);
    turn(&world, 3);
    daemon.signal(Signal::KILL);
    turn(&world, 4);
    drop(daemon);
    // A change without an event, since no hook ran, is found by the next scan.
    world.write("meanwhile.txt", "by hand\n");
    let daemon = Daemon::of(&world);
    until("it has looked", || recorded(&world).contains(&"meanwhile.txt".to_owned()));
    turn(&world, 5);
    drop(daemon);
    assert_eq!(turns(&world), 5);
    let log = world.run(&["log", "--json", "--file", "a.txt"]).json();
    let changes = log["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 5, "{log:#}");
    assert!(changes.iter().all(|change| change["actor"] == "agent"), "{log:#}");
    assert_sound(&world);
}

/// A hook that finds the project locked by a process that hangs spools its event, and ends.
#[test]
fn row_56_a_hung_holder_of_the_lock_costs_no_event() {
    let world = World::with(&[("a.txt", "0\n")]);
    let settings = "[wait]\nevent_ms = 20\n[hook]\nbudget_ms = 300\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let lock = File::options().read(true).write(true).open(world.store().join("lock")).unwrap();
    lock.lock().unwrap();
    turn(&world, 1);
    turn(&world, 2);
    let waiting = ran(world.command(&["status", "--json", "--no-look"]).output().unwrap()).json();
    assert_eq!(waiting["spooled"], 6, "the gap is shown: {waiting:#}");
    drop(lock);
    world.ok(&["status"]);
    assert_eq!(turns(&world), 2);
    assert_eq!(world.run(&["status", "--json"]).json()["spooled"], 0);
    let log = world.run(&["log", "--json", "--file", "a.txt"]).json();
    assert_eq!(log["changes"][0]["actor"], "agent", "{log:#}");
    assert_sound(&world);
}
