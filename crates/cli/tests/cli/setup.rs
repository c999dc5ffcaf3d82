//! `retake setup`: hooks go into the files of agents and out again, and nothing else moves.

mod interrupted;
mod plugin;
mod safety;
mod screen;
mod status;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

const AGENTS: [&str; 7] =
    ["claude-code", "codex", "gemini", "opencode", "copilot", "cline", "cursor"];

/// A machine without agents: `PATH` has one folder, and that is empty.
struct Machine(World);

impl Machine {
    fn new() -> Self {
        let world = World::new();
        fs::create_dir(world.outer().join("bin")).unwrap();
        Self(world)
    }

    fn home(&self, name: &str) -> PathBuf {
        self.0.outer().join("person").join(name)
    }

    fn install(&self, program: &str) {
        let file = self.0.outer().join("bin").join(program);
        fs::write(&file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `RETAKE_HOME` is not given, so that the commands are those of a usual setup.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        command.env("PATH", self.0.outer().join("bin")).env_remove("RETAKE_HOME");
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {} {}", ran.text(), ran.stderr);
        ran.text()
    }

    /// What a person sees, with standard error and the exit code below.
    fn seen(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        let text = format!("{}{}exit {}\n", ran.text(), ran.stderr, ran.code);
        text.replace(self.0.outer().to_str().unwrap(), "[WORLD]")
            .replace(env!("CARGO_BIN_EXE_retake"), "[RETAKE]")
    }

    fn settings(&self, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.home(".claude/settings.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    /// Everything below the person's home but Retake's own folder, with modes.
    fn tree(&self) -> Vec<(PathBuf, u32, Option<Vec<u8>>)> {
        let mut all = Vec::new();
        let mut folders = vec![self.home("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let known = fs::symlink_metadata(&path).unwrap();
                if path.ends_with(".local") {
                    continue;
                }
                if known.is_dir() {
                    folders.push(path.clone());
                }
                let content = known.is_file().then(|| fs::read(&path).unwrap());
                all.push((path, known.mode(), content));
            }
        }
        all.sort();
        all
    }
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn agents_are_found_by_program_or_folder() {
    let machine = Machine::new();
    expect![[r#"
        error: no agent that Retake knows was found on this machine
        hint: name the one you want to set up, for example `retake setup claude-code`
        exit 1
    "#]]
    .assert_eq(&machine.seen(&["setup", "--yes"]));
    machine.install("codex");
    fs::create_dir_all(machine.home(".gemini")).unwrap();
    expect![[r#"
        Codex       ~/.codex/hooks.json      added 9 hooks
        Gemini CLI  ~/.gemini/settings.json  added 6 hooks

        Codex runs hooks only after you approve them: start codex, type /hooks.
        Until then it skips them without a word, and again after any change of them.
        Agents that run now take notice when they are started again.
        Done. Start codex or gemini in a project, then run: retake status
        daemon: hooks start the daemon, so that agents do not wait; --daemon=no declines
        exit 0
    "#]]
    .assert_eq(&machine.seen(&["setup", "--yes"]));
    let line = format!("{} hook codex || true", env!("CARGO_BIN_EXE_retake"));
    let hook = &json_of(&machine.home(".codex/hooks.json"))["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(hook, &json!({ "type": "command", "command": line, "timeout": 10 }));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let machine = Machine::new();
    machine.settings("{}\n");
    let before = machine.tree();
    expect![[r#"
        error: nothing was changed, since this needs your confirmation:
          ~/.claude/settings.json
        hint: --yes does it, --print shows it
        exit 3
    "#]]
    .assert_eq(&machine.seen(&["setup"]));
    let refused = machine.run(&["setup", "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (3, &json!("needs_yes")));
    assert_eq!(refused.json()["files"][0]["done"], false);
    let printed = machine.run(&["setup", "--print"]);
    assert_eq!(printed.code, 0);
    assert!(printed.text().contains("+  \"hooks\": {"), "{}", printed.text());
    assert_eq!(machine.tree(), before);
    machine.ok(&["setup", "--yes"]);
    let text = fs::read_to_string(machine.home(".claude/settings.json")).unwrap();
    for line in text.lines().skip(1).filter(|line| *line != "}") {
        assert!(printed.text().contains(&format!("+{line}\n")), "{line}");
    }
    // With nothing to write there is nothing to ask.
    assert_eq!(machine.run(&["setup"]).code, 0);
    assert_eq!(machine.run(&["setup", "--remove"]).code, 3);
}

#[test]
fn every_agent_is_set_up_and_leaves_no_trace() {
    let machine = Machine::new();
    let before = machine.tree();
    let all = |more: &[&'static str]| [&["setup"][..], &AGENTS, more].concat();
    machine.ok(&all(&["--yes"]));
    let first = machine.tree();
    let modes: Vec<_> = first.iter().filter(|(_, mode, _)| mode & 0o111 != 0).collect();
    assert!(modes.iter().any(|(path, ..)| path.ends_with(".cline/hooks/PreToolUse")));
    // Again is nothing at all, not even a new time.
    let times = |tree: &[(PathBuf, u32, Option<Vec<u8>>)]| -> Vec<_> {
        tree.iter().map(|(path, ..)| fs::metadata(path).unwrap().mtime_nsec()).collect()
    };
    let stamps = times(&first);
    assert!(machine.ok(&all(&["--yes"])).contains("already there"));
    assert_eq!((machine.tree(), times(&first)), (first.clone(), stamps));
    machine.ok(&all(&["--remove", "--yes"]));
    assert_eq!(machine.tree(), before);
    machine.ok(&all(&["--yes"]));
    assert_eq!(machine.tree(), first);
    let records = machine.home(".local/share/retake/setup");
    for record in fs::read_dir(&records).unwrap() {
        assert_eq!(record.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
    machine.ok(&all(&["--remove", "--yes"]));
    assert_eq!(fs::read_dir(records).unwrap().count(), 0);
    assert!(machine.ok(&all(&["--remove", "--yes"])).contains("nothing to remove"));
}

#[test]
fn settings_come_back_byte_for_byte() {
    let hook = r#"{"matcher":"Edit","hooks":[{"type":"command","command":"lint"}]}"#;
    let cases: [&[u8]; 13] = [
        b"",
        b"{}",
        b"{ }\n",
        br#"{"a":1,"b":[1,2]}"#,
        b"{\n\t\"a\": 1\n}",
        b"{\r\n    \"a\": 1\r\n}\r\n",
        b"\xef\xbb\xbf{\n  \"a\": 1\n}\n",
        b"{\n  // mine\n  \"a\": 1, /* x */\n}\n",
        b"{\n  \"hooks\": {}\n}\n",
        &format!("{{\n  \"hooks\": {{\n    \"PreToolUse\": [{hook}]\n  }}\n}}\n").into_bytes(),
        br#"{"hooks":{"Stop":[]},"hooks":{"Stop":[]}}"#,
        "{ \"ü\": \"漢字 🦀 \\u00e9\" }".as_bytes(),
        b"{\n  \"a\": 1\n}\n\n\n",
    ];
    for before in cases {
        let machine = Machine::new();
        let file = machine.settings(before);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        machine.ok(&["setup", "-y"]);
        let first = fs::read(&file).unwrap();
        assert_ne!(first, before);
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
        machine.ok(&["setup", "--remove", "-y"]);
        assert_eq!(fs::read(&file).unwrap(), before, "{}", String::from_utf8_lossy(before));
        machine.ok(&["setup", "-y"]);
        assert_eq!(fs::read(&file).unwrap(), first);
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    }
}

#[test]
fn edits_made_since_are_kept() {
    let machine = Machine::new();
    let file = machine.settings("{\n  \"a\": 1\n}\n");
    machine.ok(&["setup", "-y"]);
    let edited = fs::read_to_string(&file).unwrap().replace("\"a\": 1,", "\"a\": 2, // new");
    fs::write(&file, &edited).unwrap();
    // Setting up again knows the edit as the person's.
    machine.ok(&["setup", "-y"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), edited);
    machine.ok(&["setup", "--remove", "-y"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 2 // new\n}\n");

    // A file that Retake made stays if the person has put something into it.
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "claude-code"]);
    let file = machine.home(".claude/settings.json");
    let edited = fs::read_to_string(&file).unwrap().replacen('{', "{\n  \"mine\": true,", 1);
    fs::write(&file, edited).unwrap();
    machine.ok(&["setup", "--remove", "-y"]);
    assert_eq!(json_of(&file), json!({ "mine": true }));
}

#[test]
fn another_place_of_the_program_replaces_the_entry() {
    let machine = Machine::new();
    let file = machine.settings("{\n  \"a\": 1\n}\n");
    machine.ok(&["setup", "-y"]);
    let own = fs::read_to_string(&file).unwrap();
    let old = own.replace(env!("CARGO_BIN_EXE_retake"), "/gone/retake");
    fs::write(&file, &old).unwrap();
    let status = machine.run(&["setup", "--status", "--json"]).json();
    let detail = status["agents"][0]["user"]["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("/gone/retake"), "{detail}");
    machine.ok(&["setup", "-y"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), own);
    // On PATH through a link, that name is used, so that an upgrade behind it counts.
    let link = machine.0.outer().join("bin/retake");
    symlink(env!("CARGO_BIN_EXE_retake"), &link).unwrap();
    machine.ok(&["setup", "-y"]);
    let through_link = fs::read_to_string(&file).unwrap();
    assert_eq!(through_link, own.replace(env!("CARGO_BIN_EXE_retake"), link.to_str().unwrap()));
    // With a home of its own, the command names it.
    let other = machine.home("other home").display().to_string();
    machine.ok(&["setup", "-y", "--home", &other]);
    let wanted = format!("RETAKE_HOME='{other}' {} hook claude-code || true", link.display());
    let hooks = json_of(&file);
    assert_eq!(hooks["hooks"]["Stop"][0]["hooks"][0]["command"], wanted);
    machine.ok(&["setup", "--remove", "-y"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 1\n}\n");
}

#[test]
fn a_linked_file_is_written_through_its_link() {
    let machine = Machine::new();
    let real = machine.home("dotfiles/claude.json");
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::create_dir_all(machine.home(".claude")).unwrap();
    fs::write(&real, "{}\n").unwrap();
    let link = machine.home(".claude/settings.json");
    symlink("../dotfiles/claude.json", &link).unwrap();
    machine.ok(&["setup", "-y"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("hook claude-code"));
    machine.ok(&["setup", "--remove", "-y"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn what_cannot_be_read_is_left_and_the_others_go_on() {
    let machine = Machine::new();
    let broken = "{\n  \"a\": 1\n  \"b\": 2\n}\n";
    let file = machine.settings(broken);
    fs::create_dir_all(machine.home(".cline/hooks")).unwrap();
    fs::write(machine.home(".cline/hooks/PreToolUse"), "#!/bin/sh\nexit 0\n").unwrap();
    fs::create_dir_all(machine.home(".gemini")).unwrap();
    let told = machine.seen(&["setup", "-y", "claude-code", "gemini", "cline"]);
    let told: String = told
        .lines()
        .filter(|line| !line.starts_with("Cline  ") || line.contains("left"))
        .fold(String::new(), |all, line| all + line + "\n");
    expect![[r#"
        Claude Code  ~/.claude/settings.json  left as it is
        Gemini CLI   ~/.gemini/settings.json  added 6 hooks
        Cline        ~/.cline/hooks/          added 6 scripts; 1 left as it is

        Agents that run now take notice when they are started again.
        error: ~/.claude/settings.json is left as it is: it is no valid JSON: Expected comma, in line 2, column 9
        hint: correct the file, then run it again
        error: ~/.cline/hooks/PreToolUse is left as it is: the file is not Retake's; add this to it, with INPUT for what it reads: printf '%s' "$INPUT" | [RETAKE] hook cline PreToolUse >/dev/null || true
        hint: Retake does not change files of others
        daemon: hooks start the daemon, so that agents do not wait; --daemon=no declines
        exit 3
    "#]].assert_eq(&told);
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    assert!(json_of(&machine.home(".gemini/settings.json"))["hooks"].is_object());
    let foreign = fs::read_to_string(machine.home(".cline/hooks/PreToolUse")).unwrap();
    assert_eq!(foreign, "#!/bin/sh\nexit 0\n");
    let status = machine.run(&["setup", "--status", "--json"]).json();
    assert_eq!(status["agents"][0]["user"]["state"], "unreadable");
    assert_eq!(status["agents"][5]["user"]["state"], "partly");
}

#[test]
fn hooks_that_are_turned_off_stay_off_and_are_told() {
    let machine = Machine::new();
    fs::create_dir_all(machine.home(".gemini")).unwrap();
    let text = "{\n  \"hooksConfig\": { \"enabled\": false }\n}\n";
    fs::write(machine.home(".gemini/settings.json"), text).unwrap();
    let told = machine.ok(&["setup", "-y"]);
    assert!(told.contains("runs no hooks, since hooksConfig.enabled is false"), "{told}");
    let settings = json_of(&machine.home(".gemini/settings.json"));
    assert_eq!(settings["hooksConfig"], json!({ "enabled": false }));
    let status = machine.ok(&["setup", "--status", "gemini"]);
    assert!(status.contains("its hooks are turned off: hooksConfig.enabled is false"), "{status}");
}

#[test]
fn a_folder_that_may_not_be_written_is_a_clear_error() {
    let machine = Machine::new();
    let file = machine.settings("{}\n");
    let folder = file.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.join("probe"), "").is_ok() {
        // The super-user may: there a file in the folder's place refuses as well.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(machine.home(".gemini"), "").unwrap();
        let ran = machine.run(&["setup", "-y", "gemini", "claude-code"]);
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stderr.contains(".gemini"), "{}", ran.stderr);
        assert!(fs::read_to_string(&file).unwrap().contains("hook claude-code"));
        return;
    }
    let ran = machine.run(&["setup", "-y"]);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("cannot write") && ran.stderr.contains("settings.json"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn here_means_the_project_at_the_current_folder() {
    let machine = Machine::new();
    fs::create_dir(machine.0.root().join(".git")).unwrap();
    fs::create_dir(machine.0.root().join("src")).unwrap();
    let all = [&["setup", "--here", "-y"][..], &AGENTS].concat();
    let mut command = machine.command(&all);
    let done = ran(command.current_dir(machine.0.root().join("src")).output().unwrap());
    assert_eq!(done.code, 0, "{}", done.stderr);
    for file in [
        ".claude/settings.local.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".opencode/plugins/retake.js",
        ".github/hooks/retake.json",
        ".clinerules/hooks/PreToolUse",
        ".cursor/hooks.json",
    ] {
        assert!(machine.0.root().join(file).is_file(), "{file}");
    }
    assert!(machine.tree().is_empty());
    let status = machine.run(&["setup", "--status", "--json"]).json();
    assert_eq!(status["agents"][0]["here"]["state"], "active");
    assert_eq!(status["agents"][0]["user"]["state"], "absent");
    machine.ok(&["setup", "-y", "codex"]);
    let told = machine.ok(&["setup", "--here", "-y", "codex"]);
    assert!(told.contains("for all of your projects, too"), "{told}");
    machine.ok(&[&["setup", "--here", "--remove", "-y"][..], &AGENTS].concat());
    let left: Vec<_> = fs::read_dir(machine.0.root()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn json_has_one_shape() {
    let machine = Machine::new();
    let text = machine.run(&["setup", "-y", "--json", "copilot"]).json();
    assert_eq!((&text["act"], &text["level"]), (&json!("add"), &json!("user")));
    let file = &text["files"][0];
    assert_eq!((&file["agent"], &file["action"]), (&json!("copilot"), &json!("create")));
    assert_eq!(file["done"], true);
    assert!(file["diff"].as_str().unwrap().starts_with("--- /dev/null\n+++ "));
    let text = machine.run(&["setup", "-y", "--json", "copilot"]).json();
    assert_eq!(text["files"][0]["action"], "none");
    let text = machine.run(&["setup", "-y", "--json", "--remove", "copilot"]).json();
    assert_eq!((&text["act"], &text["files"][0]["action"]), (&json!("remove"), &json!("delete")));
}
