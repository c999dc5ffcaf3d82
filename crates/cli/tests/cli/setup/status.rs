//! What `--status` tells of Codex's approval and of events.

use super::*;

#[test]
fn status_tells_of_approval_and_of_the_last_event() {
    let machine = Machine::new();
    machine.install("codex");
    machine.ok(&["setup", "-y"]);
    let state = |machine: &Machine| {
        machine.run(&["setup", "--status", "--json", "codex"]).json()["agents"][0].clone()
    };
    assert_eq!(state(&machine)["user"]["state"], "waiting");
    let file = machine.home(".codex/hooks.json");
    let mut config = String::new();
    for event in json_of(&file)["hooks"].as_object().unwrap().keys() {
        let mut snake = String::new();
        for c in event.chars() {
            let word = if c.is_uppercase() && !snake.is_empty() { "_" } else { "" };
            snake = snake + word + &c.to_lowercase().to_string();
        }
        let key = format!("{}:{snake}:0:0", file.display());
        let hash = "trusted_hash = \"sha256:00\"";
        config = format!("{config}[hooks.state.\"{key}\"]\n{hash}\n");
    }
    fs::write(machine.home(".codex/config.toml"), config).unwrap();
    assert_eq!(state(&machine)["user"]["state"], "changed");
    assert_eq!(state(&machine)["last_event"], Value::Null);

    let event = json!({ "event": "user_message", "dialog": "d1", "kind": "codex", "text": "hi" });
    let mut child =
        machine.command(&["event"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.to_string().as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    let known = state(&machine);
    assert!(known["last_event_at"].is_i64() && known["last_event"].is_string(), "{known}");
    // A record that cannot be read is left out and named.
    let projects = machine.home(".local/share/retake/projects");
    let store = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    fs::write(store.join("retake.db"), "no database").unwrap();
    let told = machine.run(&["setup", "--status"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(told.stderr.contains("is left out"), "{}", told.stderr);
}
