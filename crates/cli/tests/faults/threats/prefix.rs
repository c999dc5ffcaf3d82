//! A folder whose name begins like the project's is not the project (CVE-2025-53109, -53110), by
//! whatever way a path comes in.

use serde_json::json;

use super::served::Daemon;
use crate::support::World;

/// What must not be in any record: it is what the neighbour's file says.
const SECRET: &str = "of-the-neighbour-7f1c";

/// A project `project`, and beside it `project-evil` and `project2`.
fn world() -> World {
    let world = World::with(&[("a.txt", "one\n"), ("src/b.txt", "two\n")]);
    for name in ["project-evil", "project2", "project-evil/src"] {
        std::fs::create_dir_all(world.outer().join(name)).unwrap();
        std::fs::write(world.outer().join(name).join("a.txt"), SECRET).unwrap();
    }
    world
}

/// Every way to write the neighbour's file down.
fn spellings(world: &World) -> Vec<String> {
    let root = world.root().display().to_string();
    vec![
        format!("{root}-evil/a.txt"),
        format!("{root}2/a.txt"),
        "../project-evil/a.txt".to_owned(),
        "src/../../project-evil/a.txt".to_owned(),
        format!("{root}/../project-evil/a.txt"),
        format!("{root}/./../project2/a.txt"),
    ]
}

fn assert_untouched(world: &World, what: &str) {
    for name in ["project-evil", "project2"] {
        let folder = world.outer().join(name);
        assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), SECRET, "{what}");
        assert!(std::fs::read_dir(folder).unwrap().count() <= 2, "{what}");
    }
    super::walk(&world.home(), &mut |path, found| {
        if found.is_file() {
            let bytes = std::fs::read(path).unwrap_or_default();
            assert!(super::find(&bytes, SECRET.as_bytes()).is_none(), "{what}: {}", path.display());
        }
    });
}

#[test]
fn threat_prefix_check_the_arguments_of_tools_and_commands() {
    let world = world();
    world.ok(&["checkpoint", "-m", "before"]);
    let made = world.run(&["checkpoints", "--json"]).json();
    let checkpoint = made["checkpoints"][0]["id"].as_str().unwrap().to_owned();
    for (number, path) in spellings(&world).iter().enumerate() {
        for (tool, input) in [
            ("Write", json!({ "file_path": path, "content": "x" })),
            ("Edit", json!({ "file_path": path, "old_string": "a", "new_string": "b" })),
            ("Read", json!({ "file_path": path })),
            ("Bash", json!({ "command": format!("rm -rf {path}; cat {path} > {path}") })),
        ] {
            let call = format!("{tool}-{number}");
            let begin = json!({ "event": "tool_begin", "dialog": "d1", "call": call, "tool": tool, "input": input });
            let end = json!({ "event": "tool_end", "dialog": "d1", "call": call, "ok": true });
            let told = world.feed(format!("{begin}\n{end}\n"));
            let is_refused = told.text().contains("outside_project");
            assert!(is_refused || matches!(tool, "Read" | "Bash"), "{tool}: {}", told.text());
        }
        for words in [
            &["log", "--file", path][..],
            &["blame", path],
            &["rollback", "--file", path, "--yes"],
            &["reject", "--file", path, "--yes"],
            &["restore", &checkpoint, path, "--exact", "--yes"],
            &["context", "mark", "--dialog", "d1", path],
            &["purge", path, "--yes"],
        ] {
            let done = world.run(words);
            assert_ne!(done.code, 0, "{words:?}: {}", done.text());
            assert!(!done.text().contains(SECRET), "{words:?}");
        }
    }
    world.ok(&["status"]);
    let log = world.run(&["log", "--json"]).json();
    assert_eq!(log["changes"], json!([]), "nothing happened in the project");
    assert_untouched(&world, "arguments");
}

#[test]
fn threat_prefix_check_paths_over_http() {
    let world = world();
    let daemon = Daemon::of(&world);
    let projects = daemon.get("/api/projects").json();
    let project = projects["projects"][0]["id"].as_str().unwrap().to_owned();
    let at = |path: &str| format!("/api/projects/{project}/{path}");
    let made = daemon.post(&at("checkpoints"), &json!({ "message": "x" })).json();
    let checkpoint = made["id"].as_str().or_else(|| made["checkpoint"].as_str()).map(str::to_owned);
    let checkpoint =
        checkpoint.unwrap_or_else(|| made["checkpoint"]["id"].as_str().unwrap().to_owned());
    for path in spellings(&world) {
        let encoded = path.replace('/', "%2F");
        for route in ["blame", "changes", "events"] {
            let answer = daemon.get(&at(&format!("{route}?path={encoded}")));
            assert!((400..500).contains(&answer.status), "{route} {path}: {}", answer.text());
        }
        for (route, body) in [
            ("rollback", json!({ "path": path, "yes": true })),
            ("reject", json!({ "path": path, "yes": true })),
            ("restore", json!({ "checkpoint": checkpoint, "paths": [path], "yes": true })),
            ("context/mark", json!({ "dialog": "d1", "files": [{ "path": path }] })),
        ] {
            let answer = daemon.post(&at(route), &body);
            assert!((400..500).contains(&answer.status), "{route} {path}: {}", answer.text());
        }
    }
    drop(daemon);
    assert_untouched(&world, "HTTP");
}

/// What an agent calls itself and its dialogs is data, never part of a path.
#[test]
fn threat_prefix_check_names_of_dialogs_in_an_export() {
    let world = world();
    for dialog in ["../../project-evil", "..", ".", "/tmp/x", "a/../../b", "\u{0}", "-", "CON"] {
        let say = json!({ "event": "user_message", "dialog": dialog, "text": "hello" });
        world.feed(say.to_string());
        let begin = json!({ "event": "tool_begin", "dialog": dialog, "call": "c", "tool": "Write", "input": { "file_path": "a.txt", "content": dialog } });
        world.feed(begin.to_string());
        world.write("a.txt", dialog);
        world.feed(json!({ "event": "tool_end", "dialog": dialog, "call": "c" }).to_string());
    }
    let out = world.outer().join("out");
    world.ok(&["export", out.to_str().unwrap()]);
    let dialogs = std::fs::read_dir(out.join("sessions")).unwrap().count();
    assert!(dialogs >= 7, "{dialogs}");
    assert_untouched(&world, "export");
    let listed = std::fs::read_dir(&out).unwrap().count();
    assert_eq!(listed, 2, "sessions and file-changes.json, and nothing beside them");
}
