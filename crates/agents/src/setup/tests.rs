//! Adding and taking out, on files as people write them, and on random ones.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::AgentKind;

fn command(program: &str) -> HookCommand {
    HookCommand::new(Path::new(program), None).unwrap()
}

fn form(agent: AgentKind) -> SetupFileKind {
    let folders = ConfigFolders::new(Path::new("/home/me"), "/p".into(), &|_| None);
    setup_targets(agent, SetupLevel::User, &folders)[0].form
}

fn added(agent: AgentKind, text: &str) -> String {
    form(agent).add(Some(text), &command("/bin/retake")).unwrap()
}

/// The JSON without comments and trailing commas, as an agent reads it.
fn value(text: &str) -> Value {
    fn of(value: jsonc_parser::ast::Value<'_>) -> Value {
        use jsonc_parser::ast::Value as Ast;
        match value {
            Ast::StringLit(text) => text.value.as_ref().into(),
            Ast::NumberLit(number) => serde_json::from_str(number.value).unwrap(),
            Ast::BooleanLit(boolean) => boolean.value.into(),
            Ast::NullKeyword(_) => Value::Null,
            Ast::Array(array) => array.elements.into_iter().map(of).collect(),
            Ast::Object(object) => Value::Object(
                object
                    .properties
                    .into_iter()
                    .map(|p| (p.name.into_string(), of(p.value)))
                    .collect(),
            ),
        }
    }
    let text = text.trim_start_matches('\u{feff}');
    let parsed = jsonc_parser::parse_to_ast(
        text,
        &jsonc_parser::CollectOptions::default(),
        &jsonc_parser::ParseOptions::default(),
    );
    of(parsed.unwrap_or_else(|error| panic!("{error}: {text}")).value.unwrap())
}

/// Adding is idempotent, ours is there, the rest is as it was, and it goes without a trace.
fn check(agent: AgentKind, before: &str) {
    let form = form(agent);
    let after = added(agent, before);
    assert_eq!(added(agent, &after), after, "adding twice: {before}");
    let found = form.find(&after, None).unwrap();
    assert!(found.present > 0 && found.missing == 0, "{found:?} {after}");
    let moved = form.add(Some(&after), &command("/opt/new place/retake")).unwrap();
    assert_eq!(moved, after.replace("/bin/retake", "'/opt/new place/retake'"), "moved: {before}");
    let removed = form.remove(&after, Some(before), None).unwrap().unwrap();
    if before.trim().is_empty() {
        return;
    }
    assert_eq!(value(&removed), value(before), "{after}");
    assert_eq!(added(agent, &removed), after, "again: {before}");
}

const GEMINI_ONE: &str = r#"{"matcher":"*","hooks":[{"name":"x","type":"command","command":"y"}]}"#;

#[test]
fn a_new_file_is_laid_out_like_the_agents_own() {
    let claude = form(AgentKind::ClaudeCode).add(None, &command("/bin/retake")).unwrap();
    expect![[r#"
        {
          "hooks": {
            "SessionStart": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "/bin/retake hook claude-code || true",
                    "timeout": 10
                  }
                ]
              }
            ],
    "#]]
    .assert_eq(&(claude.lines().take(13).collect::<Vec<_>>().join("\n") + "\n"));
    let copilot = form(AgentKind::Copilot).add(None, &command("/bin/retake")).unwrap();
    expect![[r#"
        {
          "version": 1,
          "hooks": {
            "SessionStart": [
              {
                "type": "command",
                "bash": "/bin/retake hook copilot SessionStart || true",
                "timeoutSec": 10
              }
            ],
    "#]]
    .assert_eq(&(copilot.lines().take(10).collect::<Vec<_>>().join("\n") + "\n"));
    let gemini = value(&form(AgentKind::Gemini).add(None, &command("/bin/retake")).unwrap());
    assert_eq!(
        gemini["hooks"]["BeforeTool"],
        json!([{ "matcher": "*", "hooks": [{
            "name": "retake", "type": "command",
            "command": "/bin/retake hook gemini || true", "timeout": 10000,
        }] }])
    );
    let cursor = value(&form(AgentKind::Cursor).add(None, &command("/bin/retake")).unwrap());
    let one = json!([{ "command": "/bin/retake hook cursor || true", "timeout": 10 }]);
    assert_eq!((&cursor["version"], &cursor["hooks"]["afterFileEdit"]), (&json!(1), &one));
}

#[test]
fn every_way_to_write_a_file_is_kept() {
    let foreign = format!(r#"{{"hooks":{{"BeforeTool":[{GEMINI_ONE}],"Other":[{GEMINI_ONE}]}}}}"#);
    let cases = [
        "",
        "  \r\n",
        "{}",
        "{ }\n",
        "{\n}\n",
        r#"{"a":1}"#,
        r#"{ "a": 1 }"#,
        "{\n\t\"a\": 1\n}",
        "{\r\n    \"a\": 1\r\n}\r\n",
        "\u{feff}{\n  \"a\": \"ü 漢 🦀\"\n}\n",
        "{\n  // first\n  \"a\": 1, // one\n  /* last */\n}\n",
        "{\n  \"a\": 1 /* x */ // one\n  // end\n}\n",
        "{\n  \"a\": [1, 2,],\n}\n",
        "{\n  // nothing yet\n}\n",
        "{\"a\":1,\n\"b\":2}",
        r#"{"hooks":{}}"#,
        r#"{"hooks":{"BeforeTool":[]}}"#,
        "{\n  \"hooks\": {\n    \"BeforeTool\": [ ]\n  },\n  \"z\": 0\n}\n",
        &foreign,
        "{\n  \"hooks\": {\n    \"SessionEnd\": [\n      // mine\n      { \"hooks\": [] } // x\n      ,\n    ]\n  }\n}\n",
        r#"{"hooks":{"x":1},"hooks":{"BeforeTool":[],"BeforeTool":[{"a":1}]}}"#,
        "// head\n{\n  \"a\": 1\n}\n// tail",
    ];
    for case in cases {
        for agent in [
            AgentKind::ClaudeCode,
            AgentKind::Codex,
            AgentKind::Gemini,
            AgentKind::Copilot,
            AgentKind::Cursor,
        ] {
            // What a version was added to keeps it: it is harmless, and might be the person's.
            if matches!(agent, AgentKind::Copilot | AgentKind::Cursor) {
                let versioned = added(agent, case);
                assert_eq!(added(agent, &versioned), versioned);
                continue;
            }
            check(agent, case);
        }
    }
}

#[test]
fn a_single_edit_touches_nothing_else() {
    let before = "{\r\n\t\"b\" : [1,2 ],  // odd\r\n\t\"a\":{ }\r\n}";
    let after = added(AgentKind::Codex, before);
    assert!(
        after.starts_with("{\r\n\t\"b\" : [1,2 ],  // odd\r\n\t\"a\":{ },\r\n\t\"hooks\": {\r\n")
    );
    assert!(after.ends_with("\r\n\t}\r\n}") && !after.replace("\r\n", "").contains('\n'));
    assert_eq!(form(AgentKind::Codex).remove(&after, Some(before), None).unwrap().unwrap(), before);
    let minified = added(AgentKind::Codex, r#"{"a":1}"#);
    assert!(!minified.contains([' ', '\n']) || minified.contains("|| true"), "{minified}");
    assert!(
        minified.starts_with(r#"{"a":1,"hooks":{"SessionStart":[{"hooks":[{"type":"command","#)
    );
}

#[test]
fn hooks_of_others_stay_before_and_after_ours() {
    let ours =
        r#"{"matcher":"*","hooks":[{"type":"command","command":"/old/retake hook gemini"}]}"#;
    let text = format!(r#"{{"hooks":{{"BeforeTool":[{GEMINI_ONE},{ours},{GEMINI_ONE}]}}}}"#);
    let after = added(AgentKind::Gemini, &text);
    let tools = &value(&after)["hooks"]["BeforeTool"];
    assert_eq!((&tools[0], &tools[2]), (&value(GEMINI_ONE), &value(GEMINI_ONE)));
    assert_eq!(tools[1]["hooks"][0]["command"], "/bin/retake hook gemini || true");
    assert_eq!(tools.as_array().unwrap().len(), 3);
    let removed = form(AgentKind::Gemini).remove(&after, Some(""), None).unwrap().unwrap();
    assert_eq!(removed, format!(r#"{{"hooks":{{"BeforeTool":[{GEMINI_ONE},{GEMINI_ONE}]}}}}"#));
}

#[test]
fn doubled_and_outdated_ones_go() {
    let handler = r#"{"type":"command","command":"/old/retake hook codex || true"}"#;
    let theirs = r#"{"type":"command","command":"retake-like hook codex"}"#;
    let text = format!(
        r#"{{"hooks":{{"Stop":[{{"hooks":[{handler},{theirs},{handler}]}}],"Gone":[{{"hooks":[{handler}]}}]}}}}"#
    );
    let after = added(AgentKind::Codex, &text);
    assert!(!after.contains("/old/") && !after.contains("Gone"), "{after}");
    let hooks = &value(&after)["hooks"]["Stop"][0]["hooks"];
    assert_eq!(hooks.as_array().unwrap().len(), 2);
    assert_eq!(hooks[1]["command"], "retake-like hook codex");
}

#[test]
fn a_person_s_timeout_and_matcher_are_kept() {
    let after = added(AgentKind::ClaudeCode, "");
    let mine =
        after.replacen("\"timeout\": 10", "\"timeout\": 30", 1).replacen("\"*\"", "\"Edit\"", 1);
    assert_eq!(added(AgentKind::ClaudeCode, &mine), mine);
}

#[test]
fn what_is_empty_only_because_of_us_goes() {
    let form = form(AgentKind::Codex);
    let fresh = form.add(None, &command("/bin/retake")).unwrap();
    assert_eq!(form.remove(&fresh, None, None).unwrap(), None);
    assert_eq!(form.remove(&fresh, Some("{}"), None).unwrap().unwrap().trim(), "{}");
    let commented = fresh.replacen('{', "{ // mine", 1);
    let rest = form.remove(&commented, None, None).unwrap().unwrap();
    assert!(rest.contains("// mine") && !rest.contains("hooks"), "{rest}");
    let kept = form.remove(&fresh, Some(r#"{"hooks":{"Stop":[]}}"#), None).unwrap().unwrap();
    assert_eq!(value(&kept), json!({ "hooks": { "Stop": [] } }));
    let cursor = tests::form(AgentKind::Cursor);
    let fresh = cursor.add(None, &command("/bin/retake")).unwrap();
    assert_eq!(cursor.remove(&fresh, None, None).unwrap(), None);
}

#[test]
fn what_is_no_settings_file_is_refused_with_its_place() {
    let refusal = |text: &str| {
        form(AgentKind::ClaudeCode)
            .add(Some(text), &command("/bin/retake"))
            .unwrap_err()
            .to_string()
    };
    let seen: Vec<_> = [
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        "{'a': 1}",
        "[]",
        r#"{"hooks": []}"#,
        r#"{"hooks":{"Stop":{}}}"#,
    ]
    .map(refusal)
    .into();
    expect![[r#"
        it is no valid JSON: Expected comma, in line 2, column 9
        it is no valid JSON: Single-quoted strings are not allowed, in line 1, column 2
        the file is not an object
        "hooks" is not an object
        "Stop" is not a list"#]]
    .assert_eq(&seen.join("\n"));
}

#[test]
fn hooks_that_a_person_turned_off_are_told() {
    let off = |agent, text| form(agent).find(&added(agent, text), None).unwrap().switched_off;
    let claude = off(AgentKind::ClaudeCode, r#"{"disableAllHooks":true}"#);
    assert_eq!(claude.as_deref(), Some("disableAllHooks is true"));
    let gemini = off(AgentKind::Gemini, r#"{"hooksConfig":{"enabled":false}}"#);
    assert_eq!(gemini.as_deref(), Some("hooksConfig.enabled is false"));
    assert_eq!(off(AgentKind::Gemini, r#"{"hooksConfig":{"enabled":true}}"#), None);
    assert_eq!(off(AgentKind::ClaudeCode, "{}"), None);
}

#[test]
fn folders_follow_the_environment() {
    let variable = |name: &str| match name {
        "CLAUDE_CONFIG_DIR" => Some("/c".into()),
        "XDG_CONFIG_HOME" => Some("/x".into()),
        _ => None,
    };
    let folders = ConfigFolders::new(Path::new("/home/me"), "/p".into(), &variable);
    let mut seen = String::new();
    for agent in AgentKind::ALL.into_iter().filter(|agent| has_own_setup(*agent)) {
        for level in [SetupLevel::User, SetupLevel::Here] {
            let path = setup_targets(agent, level, &folders)[0].path.display().to_string();
            seen += &(path + "\n");
        }
    }
    expect![[r"
        /c/settings.json
        /p/.claude/settings.local.json
        /home/me/.codex/hooks.json
        /p/.codex/hooks.json
        /home/me/.gemini/settings.json
        /p/.gemini/settings.json
        /x/opencode/plugins/retake.js
        /p/.opencode/plugins/retake.js
        /home/me/.copilot/hooks/retake.json
        /p/.github/hooks/retake.json
        /home/me/.cline/hooks/TaskStart
        /p/.clinerules/hooks/TaskStart
        /home/me/.cursor/hooks.json
        /p/.cursor/hooks.json
    "]]
    .assert_eq(&seen);
}

mod calls;
mod own_files;
mod random;
