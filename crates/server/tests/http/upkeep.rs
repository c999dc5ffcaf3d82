//! Settings, collection, purge, export and titles.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::stage::{STORY, Stage};

fn patch(stage: &Stage, path: &str, body: &Value) -> Answer {
    stage.send(&Ask::new("PATCH", &stage.path(path)).token(&stage.human()).json(body))
}

fn setting<'a>(settings: &'a Value, key: &str) -> &'a Value {
    let values = settings["values"].as_array().unwrap();
    values.iter().find(|value| value["key"] == key).unwrap_or_else(|| panic!("{key}: {settings}"))
}

#[test]
fn settings_tell_their_values_and_where_they_come_from() {
    let stage = Stage::new(STORY);
    let of_home = stage.project.home().join("config.toml");
    fs::write(&of_home, "[retention]\nmax_dialogs = 7\n[daemon]\nport = 5\n").unwrap();
    let settings = stage.got("settings");
    let dialogs = setting(&settings, "retention.max_dialogs");
    assert_eq!((&dialogs["value"], &dialogs["source"]), (&json!(7), &json!("home")));
    assert_eq!(dialogs["default"], 30);
    assert_eq!(setting(&settings, "retention.max_age_days")["value"], json!(null));
    let of_project = stage.project.home().join("projects").join(&stage.id).join("config.toml");
    fs::write(&of_project, "[limits]\nmax_file_bytes = 9\n").unwrap();
    let settings = stage.got("settings");
    // The project's file counts as a whole, but for what is the daemon's.
    assert_eq!(setting(&settings, "limits.max_file_bytes")["source"], "project");
    let dialogs = setting(&settings, "retention.max_dialogs");
    assert_eq!((&dialogs["value"], &dialogs["source"]), (&json!(30), &json!("default")));
    let port = setting(&settings, "daemon.port");
    assert_eq!((&port["value"], &port["source"]), (&json!(5), &json!("home")));
    assert_eq!(port["needs_restart"], true);
    // A file that cannot be used is named, and the defaults are in force.
    fs::write(&of_project, "[limits]\nmax_file_bites = 9\n").unwrap();
    let settings = stage.got("settings");
    assert!(settings["files"][1]["problem"].as_str().unwrap().contains("max_file_bites"));
    assert_eq!(setting(&settings, "limits.max_file_bytes")["source"], "default");
}

#[test]
fn no_credentials_are_in_what_settings_tell() {
    let stage = Stage::new(STORY);
    let url = "https://me:hunter2secret@models.example/v1?key=hunter3secret";
    let text = format!("[summary]\nurl = \"{url}\"\nkey_env = \"MY_KEY\"\n");
    fs::write(stage.project.home().join("config.toml"), text).unwrap();
    for path in ["/api/settings", "settings"] {
        let answer = stage.get(path);
        assert!(!answer.body.contains("secret"), "{}", answer.body);
        let settings = answer.json();
        assert_eq!(setting(&settings, "summary.url")["value"], "https://•••@models.example/v1?•••");
        assert_eq!(setting(&settings, "summary.key_env")["value"], "MY_KEY");
    }
    // What is hidden cannot be written back by mistake.
    let back = json!({ "set": { "summary.url": "https://•••@models.example/v1" } });
    let answer = patch(&stage, "/api/settings", &back);
    assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"));
}

/// A file that cannot be parsed is told with the place, not with its text.
#[test]
fn threat_secrets_in_snapshots_a_broken_file_of_settings_is_not_quoted() {
    let stage = Stage::new(STORY);
    let text = "[summary]\nurl = \"https://me:hunter2secret@models.example/v1\n";
    fs::write(stage.project.home().join("config.toml"), text).unwrap();
    let answer = stage.get("settings");
    assert!(!answer.body.contains("hunter2secret"), "{}", answer.body);
    let problem = answer.json()["files"][0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.starts_with("line 2: "), "{problem}");
}

#[test]
fn changes_of_settings_at_once_are_all_in_the_file() {
    let stage = Stage::new(STORY);
    let keys = ["hook.budget_ms", "retention.max_dialogs", "limits.max_file_bytes"];
    for round in 1..=10 {
        std::thread::scope(|scope| {
            for key in keys {
                let (address, token) = (stage.address(), stage.human());
                scope.spawn(move || {
                    let body = json!({ "set": { key: 100 + round } });
                    let ask = Ask::new("PATCH", "/api/settings").token(&token).json(&body);
                    let answer = ask.send(address);
                    assert_eq!(answer.status, 200, "{key}: {}", answer.body);
                });
            }
        });
        let settings = stage.got("/api/settings");
        for key in keys {
            assert_eq!(setting(&settings, key)["value"], 100 + round, "{key}");
        }
    }
}

#[test]
fn a_link_that_leads_nowhere_is_not_replaced() {
    let stage = Stage::new(STORY);
    let file = stage.project.home().join("config.toml");
    std::os::unix::fs::symlink(stage.project.outer().join("unmounted/config.toml"), &file).unwrap();
    let answer = patch(&stage, "/api/settings", &json!({ "set": { "daemon.port": 5 } }));
    assert_eq!(answer.code(), "settings", "{}", answer.body);
    assert!(file.is_symlink());
}

#[test]
fn what_is_for_the_daemon_is_the_home_s() {
    let stage = Stage::new(STORY);
    for key in ["daemon.port", "http.port"] {
        let answer = patch(&stage, "settings", &json!({ "set": { key: 5 } }));
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{key}");
        assert_eq!(setting(&stage.got("settings"), key)["needs_restart"], true, "{key}");
    }
}

#[test]
fn settings_are_changed_and_comments_stay() {
    let stage = Stage::new(STORY);
    let file = stage.project.home().join("config.toml");
    let text = "# mine\n[retention] # how much\nmax_dialogs = 7 # few\n";
    fs::write(&file, text).unwrap();
    let version = stage.got("/api/settings")["version"].clone();
    let body = json!({
        "set": { "retention.max_dialogs": 8, "ignore.exclude": ["*.log"] }, "version": version,
    });
    let changed = patch(&stage, "/api/settings", &body);
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(setting(&changed.json(), "retention.max_dialogs")["value"], 8);
    let expected = format!("{}\n[ignore]\nexclude = [\"*.log\"]\n", text.replace('7', "8"));
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    // The daemon goes by it at once.
    stage.got("status");
    stage.project.write("x.log", "noise");
    let ignored = stage.got("status?ignored=true");
    assert!(ignored["ignored"].to_string().contains("x.log"), "{ignored}");
    let answer = patch(&stage, "/api/settings", &body);
    assert_eq!((answer.status, answer.code().as_str()), (409, "plan_changed"), "{}", answer.body);
    let body = json!({ "set": { "retention.max_dialogs": null } });
    let changed = patch(&stage, "/api/settings", &body).json();
    assert_eq!(setting(&changed, "retention.max_dialogs")["source"], "default");
}

#[test]
fn a_project_s_first_file_begins_with_what_the_home_s_says() {
    let stage = Stage::new(STORY);
    let text = "# mine\n[retention]\nmax_dialogs = 7\n\n[daemon]\nport = 5\n";
    fs::write(stage.project.home().join("config.toml"), text).unwrap();
    let body = json!({ "set": { "limits.max_file_bytes": 9 } });
    let changed = patch(&stage, "settings", &body).json();
    let dialogs = setting(&changed, "retention.max_dialogs");
    assert_eq!((&dialogs["value"], &dialogs["source"]), (&json!(7), &json!("project")));
    assert_eq!(setting(&changed, "limits.max_file_bytes")["value"], 9);
    let file = stage.project.home().join("projects").join(&stage.id).join("config.toml");
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("# mine\n") && !text.contains("daemon"), "{text}");
}

#[test]
fn settings_that_are_wrong_are_refused_and_nothing_is_written() {
    let stage = Stage::new(STORY);
    let file = stage.project.home().join("config.toml");
    fs::write(&file, "[retention]\nmax_dialogs = 7\n").unwrap();
    for (key, value, part) in [
        ("retention.max_dialog", json!(3), "retention.max_dialog"),
        ("retention", json!({}), "retention"),
        ("retention.max_dialogs", json!("many"), "many"),
        ("retention.max_dialogs", json!(-1), "-1"),
        ("retention.max_dialogs", json!(1.5), "1.5"),
        ("daemon.port", json!(70000), "70000"),
        ("ignore.profile", json!("odd"), "odd"),
        ("ignore.exclude", json!([1]), "ignore.exclude"),
        ("shield.enabled", json!({ "on": true }), "shield.enabled"),
    ] {
        let body = json!({ "set": { key: value, "retention.max_bytes": 5 } });
        let answer = patch(&stage, "/api/settings", &body);
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{}", answer.body);
        assert!(answer.json()["message"].as_str().unwrap().contains(part), "{}", answer.body);
    }
    let answer = patch(&stage, "settings", &json!({ "set": { "daemon.port": 7 } }));
    assert!(answer.json()["hint"].as_str().unwrap().contains("/api/settings"), "{}", answer.body);
    assert_eq!(fs::read_to_string(&file).unwrap(), "[retention]\nmax_dialogs = 7\n");
    // A file that cannot be used is left as it is, too.
    fs::write(&file, "[retention\n").unwrap();
    let answer = patch(&stage, "/api/settings", &json!({ "set": { "retention.max_bytes": 5 } }));
    assert_eq!((answer.status, answer.code().as_str()), (409, "settings"), "{}", answer.body);
    assert_eq!(fs::read_to_string(&file).unwrap(), "[retention\n");
}

#[test]
fn gc_forecasts_and_collects() {
    let stage = Stage::new(STORY);
    let forecast = stage.done("gc", &json!({ "dry_run": true }));
    assert_eq!((&forecast["dry_run"], &forecast["changes"]), (&json!(true), &json!(0)));
    let done = stage.done("gc", &json!({}));
    assert_eq!((&done["dry_run"], &done["complete"]), (&json!(false), &json!(true)), "{done}");
    assert_eq!(stage.got("changes")["changes"].as_array().unwrap().len(), 3);
}

#[test]
fn purge_shows_its_plan_and_needs_a_yes() {
    let stage = Stage::new(STORY);
    let path = json!({ "path": "new.txt", "dry_run": true });
    let plan = stage.done("purge", &path);
    assert_eq!((&plan["dry_run"], plan["contents"].as_array().unwrap().len()), (&json!(true), 1));
    let answer = stage.post("purge", &json!({ "path": "new.txt" }));
    assert_eq!((answer.status, answer.code().as_str()), (409, "needs_yes"), "{}", answer.body);
    // Another version since: it is not what was seen.
    stage.project.write("new.txt", "another one\n");
    let digest = plan["plan_digest"].clone();
    let body = json!({ "path": "new.txt", "yes": true, "plan_digest": digest });
    let answer = stage.post("purge", &body);
    assert_eq!((answer.status, answer.code().as_str()), (409, "plan_changed"), "{}", answer.body);
    let plan = stage.done("purge", &path);
    let body = json!({ "path": "new.txt", "yes": true, "plan_digest": plan["plan_digest"] });
    let done = stage.done("purge", &body);
    assert_eq!((&done["dry_run"], done["contents"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(stage.project.read("new.txt"), b"another one\n", "the file itself stays");
    for (body, status, code) in [
        (json!({ "path": "none.txt" }), 404, "nothing_on_record"),
        (json!({ "path": "../x" }), 422, "outside_project"),
        (json!({}), 422, "bad_value"),
        (json!({ "path": "a.txt", "content": "0".repeat(40) }), 422, "bad_value"),
        (json!({ "content": "xyz" }), 422, "bad_value"),
    ] {
        let answer = stage.post("purge", &body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.body);
    }
}

#[test]
fn the_record_is_exported_into_a_folder() {
    let stage = Stage::new(STORY);
    let folder = stage.project.outer().join("export");
    let done = stage.done("export", &json!({ "folder": folder }));
    assert_eq!((&done["dialogs"], &done["changes"]), (&json!(1), &json!(3)), "{done}");
    assert!(folder.join("file-changes.json").is_file());
    for (body, status, code) in [
        (json!({ "folder": folder }), 409, "not_empty"),
        (json!({ "folder": stage.project.root().join("x") }), 422, "in_project"),
        (json!({ "folder": "x" }), 422, "bad_value"),
        (json!({ "folder": folder, "dialog": "none" }), 404, "unknown_dialog"),
    ] {
        let answer = stage.post("export", &body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.body);
    }
}

#[test]
fn a_dialog_has_the_person_s_title_until_it_is_taken_away() {
    let stage = Stage::new(STORY);
    let put = |title: &Value| {
        let ask = Ask::new("PUT", &stage.path("dialogs/d1/title")).token(&stage.human());
        stage.send(&ask.json(&json!({ "title": title })))
    };
    let titled = put(&json!(" The big one "));
    assert_eq!(titled.status, 200, "{}", titled.body);
    for dialog in
        [titled.json(), stage.got("dialogs/d1"), stage.got("dialogs")["dialogs"][0].clone()]
    {
        assert_eq!(
            (&dialog["title"], &dialog["given_title"]),
            (&json!("The big one"), &json!("The big one"))
        );
        assert_eq!(dialog["agent_title"], "make it better", "{dialog}");
    }
    assert_eq!(stage.got("status")["dialogs"][0]["title"], "The big one");
    let last = stage.project.open().events_after(0, 1000).unwrap().pop().unwrap();
    assert_eq!((last.kind.as_str(), &last.body["title"]), ("dialog_titled", &json!("The big one")));
    for bad in [json!(""), json!("a\nb"), json!("x".repeat(201)), json!(5)] {
        assert_eq!(put(&bad).code(), "bad_value");
    }
    let cleared = put(&json!(null)).json();
    assert_eq!(
        (&cleared["title"], &cleared["given_title"]),
        (&json!("make it better"), &json!(null))
    );
    let ask = Ask::new("PUT", &stage.path("dialogs/none/title")).token(&stage.human());
    assert_eq!(stage.send(&ask.json(&json!({ "title": "x" }))).code(), "unknown_dialog");
}

#[test]
fn setup_tells_which_agents_are_covered_and_when_they_were_heard() {
    let stage = Stage::new(STORY);
    let agent = |told: &Value| {
        let agents = told["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["agent"] == "claude-code").unwrap().clone()
    };
    let before = agent(&stage.got("/api/setup"));
    assert_eq!((&before["last_event"], &before["here"]), (&json!(null), &json!(null)));
    assert!(before["user"]["state"].is_string() && before["installed"].is_boolean(), "{before}");
    let event = json!({ "event": "dialog_start", "dialog": "d9", "kind": "claude-code" });
    stage.done("events", &json!({ "events": [event] }));
    let after = agent(&stage.got(&format!("/api/setup?project={}", stage.id)));
    assert_eq!(after["last_event"], "2023-11-14T22:28:20.000Z", "{after}");
    assert_eq!(after["here"]["state"], "absent");
    let unknown = stage.get("/api/setup?project=none");
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "unknown_project"));
}
