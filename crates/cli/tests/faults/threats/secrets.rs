//! Secrets that lie in the project: kept so that they can be restored, shown in no output, and gone
//! when the person says so.

use std::io::Read as _;
use std::path::Path;

use serde_json::json;

use super::served::Daemon;
use crate::support::World;

/// How a secret looks in a text.
const WORD: &str = "ghp_Q7xK2mP9vL4tR8wZ3nB6";
/// So many bytes in a row are no accident.
const WINDOW: usize = 24;

/// Bytes that nothing makes smaller, so that they stand in a file as they are.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

/// The files beneath a folder that hold a piece of a content.
fn files_with(folder: &Path, content: &[u8]) -> Vec<String> {
    let pieces: Vec<_> = content.windows(WINDOW).step_by(content.len() / 16).collect();
    let mut found = Vec::new();
    super::walk(folder, &mut |path, what| {
        if what.is_file() {
            let bytes = std::fs::read(path).unwrap_or_default();
            if pieces.iter().any(|piece| super::find(&bytes, piece).is_some()) {
                found.push(path.display().to_string());
            }
        }
    });
    found
}

/// An agent wrote a key and a `.env`, twice, told of it, and there are checkpoints of all that.
fn world(key: &[u8], old: &[u8]) -> World {
    let world = World::new();
    world.write("server.key", old);
    world.write(".env", format!("TOKEN={WORD}\n"));
    world.write("a.txt", "one\n");
    world.ok(&["init", "--checkpoint"]);
    world.say("d1", "make a key");
    let begin = json!({ "event": "tool_begin", "dialog": "d1", "call": "k1", "tool": "Bash", "input": { "command": "openssl genrsa > server.key" } });
    world.feed(begin.to_string());
    world.write("server.key", key);
    world.write(".env", format!("TOKEN={WORD}\nMORE={WORD}1\n"));
    world
        .feed(json!({ "event": "tool_end", "dialog": "d1", "call": "k1", "ok": true }).to_string());
    world.ok(&["checkpoint", "-m", "with the key"]);
    world.ok(&["git"]);
    world
}

#[test]
fn threat_secrets_in_snapshots_are_masked_in_what_programs_are_told() {
    let (key, old) = (noise(4096), noise(4096));
    let world = world(&key, &old);
    let daemon = Daemon::of(&world);
    let project =
        daemon.get("/api/projects").json()["projects"][0]["id"].as_str().unwrap().to_owned();
    let change = world.change_of(".env");
    let described = daemon.get("/api/openapi.json").json();
    let mut told = 0;
    for (path, item) in described["paths"].as_object().unwrap() {
        if item.get("get").is_none() {
            continue;
        }
        let path = path.replace("{project}", &project).replace("{change}", &change);
        let path = ["{dialog}", "{dialog_id}", "{id}"]
            .iter()
            .fold(path, |path, name| path.replace(name, "d1"));
        for path in [path.clone(), format!("{path}?path=.env"), format!("{path}?dialog=d1")] {
            let answer = daemon.get(&path);
            told += usize::from(answer.status == 200);
            assert!(!answer.text().contains(WORD), "{path}: {}", answer.text());
        }
    }
    assert!(told > 25, "only {told} answers");
    let out = world.outer().join("out");
    world.ok(&["export", out.to_str().unwrap()]);
    assert_eq!(files_with(&out, WORD.repeat(2).as_bytes()), Vec::<String>::new());
    super::walk(&out, &mut |path, found| {
        let bytes = if found.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
        assert!(super::find(&bytes, WORD.as_bytes()).is_none(), "{}", path.display());
    });
    // What is masked is kept all the same.
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read(".env"), format!("TOKEN={WORD}\n"));
    assert_eq!(std::fs::read(world.root().join("server.key")).unwrap(), old);
}

#[test]
fn threat_secrets_in_snapshots_are_gone_after_a_purge() {
    let (key, old, plain) = (noise(70_000), noise(400_000), noise(70_000));
    let world = world(&key, &old);
    world.write("plain.bin", &plain);
    world.ok(&["checkpoint"]);
    for content in [&key, &old, &plain] {
        assert!(!files_with(&world.home(), content).is_empty(), "the search finds what is there");
    }
    let purged = world.run(&["purge", "server.key", "--yes"]);
    assert_eq!(purged.code, 0, "{} {}", purged.text(), purged.stderr);
    for content in [&key, &old] {
        assert_eq!(files_with(&world.home(), content), Vec::<String>::new());
        assert_eq!(files_with(&world.outer().join("tmp"), content), Vec::<String>::new());
    }
    assert!(!files_with(&world.home(), &plain).is_empty(), "what is not purged stays");
    // A daemon that watches does not take it in again either.
    let daemon = Daemon::of(&world);
    world.ok(&["status"]);
    world.ok(&["checkpoint"]);
    daemon.stop();
    assert_eq!(files_with(&world.home(), &key), Vec::<String>::new());
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
}
