//! What is said at the socket: between different versions, by daemons that fail, by strangers.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::{Daemon, last_writer};
use crate::support::World;

fn send(stream: &mut UnixStream, message: &Value) {
    let text = message.to_string();
    stream.write_all(&(text.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
}

fn receive(stream: &mut UnixStream) -> Option<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A daemon of another version, which hears one asker; gives what it was told.
fn other_daemon(world: &World, hello: Value) -> JoinHandle<Option<Value>> {
    let folder = world.home().join("run");
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("daemon.sock");
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        send(&mut stream, &hello);
        receive(&mut stream)
    })
}

#[test]
fn an_older_daemon_is_asked_to_stop_and_the_command_works_itself() {
    let world = World::with(&[("a.txt", "one\n")]);
    for hello in [
        json!({ "protocol": 0, "version": "0.1.0", "pid": 77 }),
        json!({ "protocol": 3, "version": "0.0.9", "pid": 77, "unknown": {} }),
    ] {
        let daemon = other_daemon(&world, hello);
        let ran = world.run(&["status", "--json"]);
        assert_eq!(ran.code, 0);
        assert_eq!(ran.stderr.matches("older version").count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("77"), "{}", ran.stderr);
        let told = daemon.join().unwrap().unwrap();
        assert!(told["ask"]["stop"]["because"].is_string(), "{told}");
    }
}

#[test]
fn an_older_command_says_so_and_works_itself() {
    let world = World::with(&[("a.txt", "one\n")]);
    let hello = json!({ "protocol": 3, "version": "99.0.0", "pid": 77 });
    let daemon = other_daemon(&world, hello.clone());
    let ran = world.run(&["status", "--json"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("newer version 99.0.0"), "{}", ran.stderr);
    assert_eq!(daemon.join().unwrap(), None, "it is left alone");
    // An agent is not told of that.
    let daemon = other_daemon(&world, hello);
    let mut hook = world.command(&["hook", "claude-code"]);
    hook.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    let payload = json!({ "session_id": "s1", "cwd": world.root(),
        "hook_event_name": "UserPromptSubmit", "prompt": "hi" });
    hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let done = hook.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty());
    daemon.join().unwrap();
    assert_eq!(world.run(&["dialogs", "--json"]).json()["dialogs"][0]["turns"], 1);
}

#[test]
fn a_newer_command_can_ask_this_daemon_to_stop() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    let mut stream = UnixStream::connect(world.home().join("run/daemon.sock")).unwrap();
    let hello = receive(&mut stream).unwrap();
    assert_eq!(hello["pid"], daemon.pid());
    assert!(hello["protocol"].is_u64() && hello["version"].is_string());
    send(&mut stream, &json!({ "ask": { "stop": { "because": "9.0 is in use" } } }));
    assert_eq!(daemon.ended(), Some(0));
}

/// Whatever comes through the socket, the daemon goes on.
#[test]
fn nonsense_and_silence_at_the_socket_do_no_harm() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    let connect = || UnixStream::connect(world.home().join("run/daemon.sock")).unwrap();
    let silent: Vec<_> = (0..20).map(|_| connect()).collect();
    for bytes in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\x02{}", b"\0\0\0\x09nonsense!", b"\0\0"] {
        let mut stream = connect();
        receive(&mut stream).unwrap();
        stream.write_all(bytes).unwrap();
    }
    world.ok(&["status"]);
    assert_eq!(last_writer(&world), daemon.pid());
    drop(silent);
}

/// Clients that send nothing keep out neither commands nor hooks, and the oldest are told why they
/// are closed.
#[test]
fn silent_clients_keep_out_neither_commands_nor_hooks() {
    let world = World::with(&[]);
    let daemon = Daemon::of(&world);
    let socket = world.home().join("run/daemon.sock");
    let mut silent = Vec::new();
    for _ in 0..200 {
        let mut stream = UnixStream::connect(&socket).unwrap();
        receive(&mut stream).unwrap();
        silent.push(stream);
    }
    world.ok(&["status"]);
    assert_eq!(last_writer(&world), daemon.pid());
    let refused = receive(&mut silent[0]).unwrap();
    assert_eq!(refused["failed"]["code"], "busy", "{refused}");
    assert_eq!(receive(&mut silent[0]), None, "and then it is closed");
    let mut hook = world.command(&["hook", "claude-code"]);
    hook.stdin(std::process::Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    let payload = json!({ "session_id": "s1", "cwd": world.root(),
        "hook_event_name": "UserPromptSubmit", "prompt": "hi" });
    hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(hook.wait().unwrap().success());
    assert_eq!(last_writer(&world), daemon.pid(), "the daemon worked for the hook");
    assert_eq!(world.run(&["dialogs", "--json"]).json()["dialogs"][0]["turns"], 1);
}

/// A daemon of this version that ends after what it says.
fn failing_daemon(world: &World, frames: Vec<Value>) -> JoinHandle<()> {
    let folder = world.home().join("run");
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("daemon.sock");
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        send(&mut stream, &json!({ "protocol": 3, "version": version, "pid": 77 }));
        receive(&mut stream).unwrap();
        for frame in &frames {
            send(&mut stream, frame);
        }
    })
}

fn manual_checkpoints(world: &World) -> Vec<Value> {
    let all = world.run(&["checkpoints", "--json", "--no-daemon"]).json();
    let all = all["checkpoints"].as_array().unwrap().iter();
    all.filter(|made| made["kind"] == "manual").map(|made| made["message"].clone()).collect()
}

#[test]
fn what_a_daemon_did_not_begin_is_done_here_and_what_it_did_is_not_done_again() {
    let world = World::with(&[]);
    let refused = json!({ "failed": { "code": "busy", "message": "no time", "hint": null } });
    for frames in [vec![], vec![json!({ "progress": { "done": 0, "all": 0 } })], vec![refused]] {
        let daemon = failing_daemon(&world, frames);
        world.ok(&["checkpoint", "-m", "here"]);
        daemon.join().unwrap();
    }
    assert_eq!(manual_checkpoints(&world), ["here", "here", "here"]);
    let begun = || vec![json!({ "begun": {} })];
    let daemon = failing_daemon(&world, begun());
    let lost = world.run(&["checkpoint", "-m", "lost", "--json"]);
    daemon.join().unwrap();
    assert_eq!((lost.code, &lost.json()["error"]["code"]), (1, &json!("daemon_lost")));
    assert!(lost.json()["error"]["message"].as_str().unwrap().contains("77"));
    assert_eq!(manual_checkpoints(&world).len(), 3);
    // A look, and an event by its key, can be repeated.
    world.write("a.txt", "one\n");
    let daemon = failing_daemon(&world, begun());
    assert_eq!(world.run(&["status", "--json"]).json()["files"], 1);
    daemon.join().unwrap();
    let daemon = failing_daemon(&world, begun());
    assert!(world.say("d1", "hello")["seq"].is_u64());
    daemon.join().unwrap();
}

/// A client that hung up before its request was begun has done it in process.
#[test]
fn what_nobody_waits_for_any_more_is_not_done() {
    let world = World::with(&[]);
    let _daemon = Daemon::of(&world);
    world.ok(&["status"]);
    let lock = std::fs::File::open(world.store().join("lock")).unwrap();
    lock.lock().unwrap();
    let ask = |name: &str| {
        let mut stream = UnixStream::connect(world.home().join("run/daemon.sock")).unwrap();
        receive(&mut stream).unwrap();
        let with = json!({ "message": name, "dialog": null });
        let request = json!({ "verb": "make_checkpoint", "with": with });
        let what = json!({ "start": world.root(), "create": false, "request": request });
        send(&mut stream, &json!({ "ask": { "project": what } }));
        let first = receive(&mut stream).unwrap();
        (stream, first)
    };
    let (mut first, told) = ask("first");
    assert_eq!(told, json!({ "begun": {} }));
    let (second, told) = ask("second");
    assert!(told["progress"].is_object(), "it waits: {told}");
    let (mut third, _) = ask("third");
    drop(second);
    drop(lock);
    for stream in [&mut first, &mut third] {
        super::until("it is done", || receive(stream).unwrap()["done"].is_object());
    }
    assert_eq!(manual_checkpoints(&world), ["third", "first"]);
}

/// Whatever hangs in the daemon may hang for ever.
#[test]
fn what_waits_in_the_daemon_for_too_long_is_done_here() {
    let world = World::with(&[]);
    let waits = json!({ "progress": { "done": 0, "all": 0 } });
    let folder = world.home().join("run");
    std::fs::create_dir_all(&folder).unwrap();
    let listener = UnixListener::bind(folder.join("daemon.sock")).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        send(&mut stream, &json!({ "protocol": 3, "version": version, "pid": 77 }));
        let bytes = serde_json::to_vec(&waits).unwrap();
        let frame = [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat();
        while stream.write_all(&frame).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    });
    world.ok(&["checkpoint", "-m", "here"]);
    assert_eq!(manual_checkpoints(&world), ["here"]);
}
