//! What Codex has approved.

use serde_json::json;

use crate::setup::codex_trust;

/// The hashes are those that Codex 0.166.0 itself shows for such hooks.
#[test]
fn codex_s_approval_is_read_as_codex_reads_it() {
    use codex_trust::{CodexTrust, hook_trust};
    let line = "/usr/local/bin/retake hook codex || true";
    let ours = json!({ "type": "command", "command": line, "timeout": 10 });
    let (mut with_message, theirs) =
        (ours.clone(), json!({ "type": "command", "command": "true" }));
    with_message["statusMessage"] = json!("Retake");
    let hooks = json!({ "hooks": {
        "PreToolUse": [{ "matcher": "*", "hooks": [ours] }],
        "SessionEnd": [{ "hooks": [ours] }],
        "Stop": [{ "matcher": "x", "hooks": [theirs, with_message] }],
    } });
    let hooks = hooks.to_string();
    let state = |at: &str, hash: &str, more: &str| {
        let key = format!("/h/hooks.json:{at}");
        format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:{hash}\"\n{more}\n")
    };
    let pre = state("pre_tool_use:0:0", PRE_TOOL_USE, "");
    let end = state("session_end:0:0", SESSION_END, "") + &state("stop:0:1", STOP, "");
    let names = ["/link/hooks.json".to_owned(), "/h/hooks.json".to_owned()];
    let check = |hooks: &str, config: &str| hook_trust(hooks, config, &names, None).unwrap();
    assert_eq!(check(&hooks, &format!("{pre}{end}")), Some(CodexTrust::Approved));
    assert_eq!(check(&hooks, &pre), Some(CodexTrust::Waiting));
    assert_eq!(check(&hooks, ""), Some(CodexTrust::Waiting));
    assert_eq!(check(&hooks, "not = [toml"), Some(CodexTrust::Waiting));
    let changed = hooks.replace("\"timeout\":10", "\"timeout\":11");
    assert_eq!(check(&changed, &format!("{pre}{end}")), Some(CodexTrust::Changed));
    let off = state("pre_tool_use:0:0", PRE_TOOL_USE, "enabled = false");
    assert_eq!(check(&hooks, &format!("{off}{end}")), Some(CodexTrust::Off));
    assert_eq!(check("{}", &pre), None);
}

const PRE_TOOL_USE: &str = "16cb70b64d48029e389356bf54480f81b2452c257f1ba44b9901fd7cf00b42d2";
const SESSION_END: &str = "9da470a673763f7c06660b09d506ec093e8f777d4f69cb738ffb19605f220bac";
const STOP: &str = "e38a1ff770c03f06fb6e6ed034324990a1efec0e027540e47e1b066c1a210470";

#[test]
fn what_codex_takes_for_absent_is_absent() {
    use codex_trust::{CodexTrust, hook_trust};
    let names = ["/h/hooks.json".to_owned()];
    let check = |event: &str, extra: &str, hash: &str| {
        let handler = format!(r#"{{"type":"command","command":"retake hook codex"{extra}}}"#);
        let hooks =
            format!(r#"{{"hooks":{{"{event}":[{{"matcher":null,"hooks":[{handler}]}}]}}}}"#);
        let snake = if event == "Stop" { "stop" } else { "session_end" };
        let key = format!("/h/hooks.json:{snake}:0:0");
        let config = format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:{hash}\"\n");
        assert_eq!(
            hook_trust(&hooks, &config, &names, None).unwrap(),
            Some(CodexTrust::Approved),
            "{hooks}"
        );
    };
    check("Stop", "", STOP_USUAL);
    check("Stop", r#","timeout":null,"statusMessage":null"#, STOP_USUAL);
    check("Stop", r#","timeout":0"#, STOP_SHORT);
    check("SessionEnd", "", END_SHORT);
    check("SessionEnd", r#","timeout":0"#, END_SHORT);
}

const STOP_USUAL: &str = "fbd9a5ac617d086716c64e76f4236cf5003d11fe3cffe0779b8ad85d1f4497f1";
const STOP_SHORT: &str = "ec41f8a056afdad92cb57f0cf45c94a9d8233c491d542ca868cffda13aa7ac8e";
const END_SHORT: &str = "cdeb67ffb29c4a2d0f3d1798c2c37df9ab133541297d1315ae51857622dfcd31";

#[test]
fn hooks_of_others_that_move_are_known() {
    let one =
        |command: &str| format!(r#"{{"hooks":[{{"type":"command","command":"{command}"}}]}}"#);
    let file = |groups: &[&str]| {
        let groups: Vec<_> = groups.iter().map(|command| one(command)).collect();
        format!(r#"{{"hooks":{{"Stop":[{}]}}}}"#, groups.join(","))
    };
    let ours = "/bin/retake hook codex || true";
    let moves =
        |now: &[&str], then: &[&str]| codex_trust::moves_others(&file(now), &file(then), None);
    assert!(moves(&[ours, "lint"], &["lint"]));
    assert!(!moves(&["lint", ours], &["lint"]));
    assert!(!moves(&["lint"], &["lint", ours]));
    assert!(!codex_trust::moves_others(&file(&[ours]), "", None));
}

#[test]
fn hooks_that_the_config_turns_off_are_told() {
    let off = codex_trust::switched_off("[features]\nhooks = false\n");
    assert_eq!(off.as_deref(), Some("features.hooks is false"));
    assert_eq!(codex_trust::switched_off("[features]\nhooks = true\n"), None);
    assert_eq!(codex_trust::switched_off(""), None);
}
