//! The canary repository: every command and every route, and nothing is executed.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use serde_json::{Value, json};

use super::canary::{Canary, EVIL};
use super::every_command::Stage;
use super::served::{Daemon, until};
use crate::support::World;

/// What plain git runs in the copy: if it does not, the traps are none.
const SPRUNG: [&str; 16] = [
    "included-alias-hello",
    "own-hook-commit-msg",
    "own-hook-post-checkout",
    "own-hook-post-commit",
    "own-hook-post-index-change",
    "own-hook-pre-commit",
    "own-hook-prepare-commit-msg",
    "own-hook-reference-transaction",
    "person-remote",
    "pwned-control",
    "worktree-clean",
    "worktree-diff-external",
    "worktree-fsmonitor",
    "worktree-process",
    "worktree-smudge",
    "worktree-textconv",
];

fn stage<'a>(world: &'a World, canary: &Canary<'_>, no_daemon: bool) -> Stage<'a> {
    let mut variables = canary.variables();
    if no_daemon {
        variables.push(("RETAKE_NO_DAEMON".to_owned(), "1".to_owned()));
    }
    Stage { world, evil: EVIL, file: "a.txt", variables, json: false }
}

/// Threats "daemon tricked through the user's .git" and "repository config executes".
#[test]
fn threat_canary_repository_no_command_executes_anything() {
    let world = World::new();
    let canary = Canary::set(&world);
    let sprung = canary.control();
    let missing: Vec<_> = SPRUNG.iter().filter(|name| !sprung.contains(**name)).collect();
    assert!(missing.is_empty(), "traps that do not work: {missing:?} of {sprung:?}");
    let git_before = retake_testkit::disk::git_state(&world.root());
    let mut runs = 0;
    stage(&world, &canary, true).run_all(&mut |done| {
        runs += 1;
        assert_eq!(canary.caught(), BTreeSet::new(), "{:?}", done.words);
    });
    assert!(runs > 100, "only {runs} commands were run");
    assert!(retake_testkit::disk::git_state(&world.root()) == git_before, ".git was written");
}

/// The same with a daemon that watches, and everything that can be asked of it.
#[test]
fn threat_canary_repository_the_daemon_executes_nothing() {
    let world = World::new();
    let canary = Canary::set(&world);
    assert!(canary.control().len() > 10);
    let variables = canary.variables();
    let variables: Vec<_> =
        variables.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
    let daemon = Daemon::with(&world, &variables);
    let stage = stage(&world, &canary, false);
    let run = |words: &[&str]| {
        let done = stage.run(words.iter().map(|word| (*word).to_owned()).collect(), b"");
        assert_eq!(canary.caught(), BTreeSet::new(), "{words:?}");
        done.ran
    };
    assert_eq!(run(&["init", "--checkpoint"]).code, 0);
    let begin = json!({ "event": "tool_begin", "dialog": EVIL, "call": "c", "tool": "Bash", "input": { "command": EVIL } });
    let begin = stage.run(vec!["event".to_owned()], begin.to_string().as_bytes());
    assert_eq!(begin.ran.code, 0, "{}", begin.ran.stderr);
    // The watcher sees these, and the daemon looks at them by itself.
    world.write("a.txt", "by an agent\n");
    world.write("sub\r/file", "in a submodule\n");
    let log = || run(&["log", "--no-look", "--json"]).json()["changes"].as_array().unwrap().len();
    until("the watcher sees it", || log() >= 2);
    for words in [
        &["status"][..],
        &["checkpoint", "-m", EVIL],
        &["diff"],
        &["undo", "--yes"],
        &["redo", "--yes"],
        &["git", "--", "log", "--all", "-p"],
        &["doctor", "--read-data"],
        &["gc"],
    ] {
        run(words);
    }
    let asked = ask_everything(&daemon, &canary);
    assert!(asked > 45, "only {asked} routes were asked");
    daemon.stop();
    assert_eq!(canary.caught(), BTreeSet::new());
}

/// Every route, with plausible names and bodies; tells how many.
fn ask_everything(daemon: &Daemon, canary: &Canary<'_>) -> usize {
    let described = daemon.get("/api/openapi.json").json();
    let projects = daemon.get("/api/projects").json();
    let project = projects["projects"][0]["id"].as_str().unwrap().to_owned();
    let evil = "%24%28touch%20pwned-route%29";
    let mut asked = 0;
    // After that there is no daemon to be asked.
    let paths = described["paths"].as_object().unwrap().iter();
    for (path, item) in paths.filter(|(path, _)| *path != "/api/stop") {
        let path = path.replace("{project}", &project);
        let path = ["{dialog}", "{dialog_id}", "{id}", "{tool_call_id}", "{checkpoint}"]
            .iter()
            .fold(path.replace("{change}", "c1"), |path, name| path.replace(name, evil));
        for method in item.as_object().unwrap().keys() {
            let body = (method == "post").then(|| json!({}));
            let method = method.to_uppercase();
            daemon.ask(&method, &path, Some(&daemon.human), body.as_ref());
            daemon.ask(&method, &format!("{path}?path=a.txt"), Some(&daemon.human), body.as_ref());
            asked += 1;
            assert_eq!(canary.caught(), BTreeSet::new(), "{method} {path}");
        }
    }
    for (verb, body) in bodies() {
        let answer = daemon.post(&format!("/api/projects/{project}/{verb}"), &body);
        assert!(answer.status < 500, "{verb}: {}", answer.text());
        assert_eq!(canary.caught(), BTreeSet::new(), "{verb}");
    }
    asked
}

/// What really does something.
fn bodies() -> Vec<(&'static str, Value)> {
    let begin = json!({ "event": "tool_begin", "dialog": EVIL, "call": "h", "tool": "Bash", "input": { "command": EVIL } });
    vec![
        ("events", json!({ "events": [begin] })),
        ("checkpoints", json!({ "message": EVIL })),
        ("context/mark", json!({ "files": [{ "path": "a.txt" }], "dialog": EVIL })),
        ("undo", json!({ "yes": true })),
        ("redo", json!({ "yes": true })),
        ("rollback", json!({ "file": "a.txt", "yes": true })),
        ("accept", json!({ "all": true })),
        ("approve", json!({ "message": EVIL })),
    ]
}
