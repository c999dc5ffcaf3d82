//! What setup must never do to files of the person, and what it says instead.

use super::*;

/// A project with a link in it, and what setup says of it.
fn refused(machine: &Machine, agent: &str, arguments: &[&str]) -> String {
    let ran = machine.run(&[&["setup", "--here", agent][..], arguments].concat());
    assert_eq!(ran.code, 3, "{} {}", ran.text(), ran.stderr);
    ran.stderr
}

#[test]
fn links_of_a_project_do_not_lead_out_of_it() {
    let machine = Machine::new();
    let root = machine.0.root();
    fs::create_dir_all(root.join(".claude")).unwrap();
    let keys = machine.home("config.json");
    fs::write(&keys, "{}\n").unwrap();
    symlink(&keys, root.join(".claude/settings.local.json")).unwrap();
    fs::create_dir(machine.home("elsewhere")).unwrap();
    symlink(machine.home("elsewhere"), root.join(".opencode")).unwrap();
    fs::create_dir_all(root.join(".clinerules/hooks")).unwrap();
    symlink(machine.home(".profile"), root.join(".clinerules/hooks/TaskStart")).unwrap();
    let before = machine.tree();
    for (agent, real) in
        [("claude-code", "config.json"), ("opencode", "elsewhere"), ("cline", ".profile")]
    {
        let told = refused(&machine, agent, &["-y"]);
        assert!(told.contains("leads out of the project") && told.contains(real), "{told}");
        refused(&machine, agent, &["--remove", "-y"]);
    }
    assert_eq!(machine.tree(), before);
    let status = machine.run(&["setup", "--status", "--json"]).json();
    assert_eq!(status["agents"][0]["here"]["state"], "unreadable");
}

#[test]
fn only_regular_files_are_read() {
    let machine = Machine::new();
    fs::create_dir_all(machine.home(".claude")).unwrap();
    let made = Command::new("mkfifo").arg(machine.home(".claude/settings.json")).status();
    assert!(made.unwrap().success());
    fs::create_dir_all(machine.home(".gemini")).unwrap();
    symlink("/dev/zero", machine.home(".gemini/settings.json")).unwrap();
    let status = machine.run(&["setup", "--status", "--json"]).json();
    assert_eq!(status["agents"][0]["user"]["state"], "unreadable");
    assert_eq!(status["agents"][2]["user"]["state"], "unreadable");
    let told = machine.seen(&["setup", "-y"]);
    assert_eq!(told.matches("it is no regular file").count(), 2, "{told}");
}

#[test]
fn the_file_of_all_projects_is_not_taken_for_one_of_a_project() {
    let machine = Machine::new();
    let mut command = machine.command(&["setup", "--here", "-y", "gemini"]);
    command.env("HOME", machine.0.root());
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("it is the file for all of your projects"), "{}", ran.stderr);
}

#[test]
fn where_a_link_leads_is_shown() {
    let machine = Machine::new();
    fs::write(machine.home("real.json"), "{}\n").unwrap();
    fs::create_dir_all(machine.home(".claude")).unwrap();
    symlink("../real.json", machine.home(".claude/settings.json")).unwrap();
    let told = machine.seen(&["setup"]);
    assert!(told.contains("~/.claude/settings.json -> ~/real.json"), "{told}");
}

#[test]
fn read_only_and_hard_linked_files_are_left() {
    let machine = Machine::new();
    let file = machine.settings("{}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let told = machine.seen(&["setup", "-y"]);
    assert!(told.contains("it is read-only") && told.contains("exit 3"), "{told}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::hard_link(&file, machine.home("second.json")).unwrap();
    let told = machine.seen(&["setup", "-y"]);
    assert!(told.contains("hard links") && told.contains("exit 3"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
}

#[test]
fn the_owner_stays() {
    let machine = Machine::new();
    let file = machine.settings("{}\n");
    if std::os::unix::fs::chown(&file, Some(1234), Some(4321)).is_err() {
        // Only the super-user can give files away.
        return;
    }
    machine.ok(&["setup", "-y"]);
    let known = fs::metadata(&file).unwrap();
    assert_eq!((known.uid(), known.gid()), (1234, 4321));
    assert!(fs::read_to_string(&file).unwrap().contains("hook claude-code"));
}

#[test]
fn a_script_that_cannot_be_run_is_mended() {
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "cline"]);
    let script = machine.home(".cline/hooks/PreToolUse");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o640)).unwrap();
    let state = || machine.run(&["setup", "--status", "--json", "cline"]).json();
    assert_eq!(state()["agents"][0]["user"]["state"], "broken");
    let told = machine.ok(&["setup", "-y", "cline"]);
    assert!(told.contains("made a script executable"), "{told}");
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o777, 0o750);
    assert_eq!(state()["agents"][0]["user"]["state"], "active");
    machine.ok(&["setup", "--remove", "-y"]);
    assert!(!machine.home(".cline").exists());
}

#[test]
fn what_was_removed_from_the_machine_is_cleaned_as_well() {
    let machine = Machine::new();
    machine.ok(&["setup", "--here", "-y", "claude-code", "opencode"]);
    let told = machine.ok(&["setup", "--here", "--remove", "-y"]);
    assert_eq!(told.matches("removed").count(), 2, "{told}");
    assert!(!machine.0.root().join(".claude").exists());
}

#[test]
fn files_with_additions_are_left() {
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "opencode", "cline"]);
    let plugin = machine.home(".config/opencode/plugins/retake.js");
    let script = machine.home(".cline/hooks/TaskStart");
    let edited = fs::read_to_string(&plugin).unwrap() + "// mine\n";
    fs::write(&plugin, &edited).unwrap();
    fs::write(&script, fs::read_to_string(&script).unwrap() + "mine\n").unwrap();
    let told = machine.ok(&["setup", "-y", "opencode", "cline"]);
    assert_eq!(told.matches("already there, with your additions").count(), 2, "{told}");
    let told = machine.seen(&["setup", "--remove", "-y"]);
    assert!(told.contains("it was edited since") && told.contains("exit 3"), "{told}");
    assert_eq!(fs::read_to_string(&plugin).unwrap(), edited);
    assert_eq!(fs::read_to_string(&script).unwrap(), "#!/bin/sh\nmine\n");
}

#[test]
fn own_commands_that_call_retake_are_told_and_moved_hooks_too() {
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "codex"]);
    let file = machine.home(".codex/hooks.json");
    let mut hooks = json_of(&file);
    let group = |command: &str| json!({ "hooks": [{ "type": "command", "command": command }] });
    hooks["hooks"]["Stop"].as_array_mut().unwrap().push(group("lint"));
    hooks["hooks"]["Mine"] = json!([group("retake hook codex; beep")]);
    fs::write(&file, hooks.to_string()).unwrap();
    let told = machine.ok(&["setup", "--remove", "-y"]);
    assert!(told.contains("calls Retake in a command of yours: left"), "{told}");
    assert!(told.contains("approve them again"), "{told}");
    let left = json!({ "Stop": [group("lint")], "Mine": [group("retake hook codex; beep")] });
    assert_eq!(json_of(&file)["hooks"], left);
}

#[test]
fn status_tells_what_does_not_run() {
    let machine = Machine::new();
    let file = machine.settings("{}\n");
    machine.ok(&["setup", "-y", "claude-code", "opencode", "codex"]);
    let state = |at: usize| {
        let status = machine.run(&["setup", "--status", "--json"]).json();
        let user = &status["agents"][at]["user"];
        let detail = user["detail"].as_str().unwrap_or_default();
        format!("{}: {detail}", user["state"].as_str().unwrap())
    };
    let own = env!("CARGO_BIN_EXE_retake");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(own, "/gone/retake")).unwrap();
    assert_eq!(state(0), "broken: calls /gone/retake, which is not there");
    fs::write(&file, text.replace(own, &format!("RETAKE_HOME=/other {own}"))).unwrap();
    assert_eq!(state(0), "active: calls Retake with another folder of its own: /other");
    fs::write(&file, text).unwrap();
    let local = machine.home(".claude/settings.local.json");
    fs::write(&local, r#"{"disableAllHooks":true}"#).unwrap();
    assert_eq!(state(0), format!("off: disableAllHooks is true in {}", local.display()));
    let plugin = machine.home(".config/opencode/plugins/retake.js");
    let text = fs::read_to_string(&plugin).unwrap();
    fs::write(&plugin, text.replace(own, "/gone/retake")).unwrap();
    assert_eq!(state(3), "broken: calls /gone/retake, which is not there");
    fs::write(machine.home(".codex/config.toml"), "[features]\nhooks = false\n").unwrap();
    assert_eq!(state(1), "off: features.hooks is false");
}

/// A copy of the program under another name.
#[test]
fn a_program_of_another_name_sets_up_once() {
    let machine = Machine::new();
    let file = machine.settings("{}\n");
    let copy = machine.0.outer().join("retake-dev");
    fs::copy(env!("CARGO_BIN_EXE_retake"), &copy).unwrap();
    let run = |arguments: &[&str]| {
        let usual = machine.command(arguments);
        let mut command = Command::new(&copy);
        command.args(arguments).env_clear().current_dir(machine.0.root()).stdin(Stdio::null());
        for (name, value) in usual.get_envs() {
            value.map(|value| command.env(name, value));
        }
        ran(command.output().unwrap())
    };
    assert_eq!(run(&["setup", "-y"]).code, 0);
    assert!(run(&["setup", "-y"]).text().contains("already there"));
    assert_eq!(run(&["setup", "--remove", "-y"]).code, 0);
    assert_eq!(fs::read_to_string(file).unwrap(), "{}\n");
}

#[test]
fn documents_do_not_show_other_settings() {
    let machine = Machine::new();
    machine.settings("{\n  \"key\": \"secret\",\n  \"a\": 1\n}\n");
    let shown = machine.run(&["setup", "--json"]).text();
    assert!(shown.contains("hook claude-code") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_relative_folder_of_an_agent_is_made_absolute() {
    let machine = Machine::new();
    let mut command = machine.command(&["setup", "-y", "--json", "codex"]);
    let done = ran(command.env("CODEX_HOME", "my-codex").output().unwrap()).json();
    let path = done["files"][0]["path"].as_str().unwrap();
    assert!(Path::new(path).is_absolute(), "{path}");
}
