//! Commands of the person's own that call us, and comments and matchers around our entries.

use super::{added, command, form, value};
use crate::AgentKind;
use crate::setup::HookCommand;

const AGENT: AgentKind = AgentKind::ClaudeCode;

fn stop(command: &str) -> String {
    let command = serde_json::Value::from(command);
    format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":{command}}}]}}]}}}}"#)
}

#[test]
fn a_command_of_the_person_counts_and_stays() {
    for line in [
        "retake hook claude-code; ~/bin/notify.sh",
        "tee -a ~/audit.log | retake hook claude-code",
        "timeout 5 retake hook claude-code",
    ] {
        let before = stop(line);
        let after = added(AGENT, &before);
        let groups = value(&after)["hooks"]["Stop"].clone();
        assert_eq!(groups.as_array().unwrap().len(), 1, "{after}");
        assert_eq!(groups[0]["hooks"][0]["command"], line);
        let found = form(AGENT).find(&after, None).unwrap();
        assert_eq!((found.missing, found.theirs), (0, vec![line.to_owned()]));
        let removed = form(AGENT).remove(&after, Some(&before), None).unwrap().unwrap();
        assert_eq!(removed, before);
    }
    // A comment is no call.
    let after = added(AGENT, &stop("# note; retake hook claude-code"));
    assert_eq!(value(&after)["hooks"]["Stop"].as_array().unwrap().len(), 2, "{after}");
}

#[test]
fn a_program_of_another_name_comes_to_an_end() {
    for program in ["/opt/retake-dev", "/opt/retake-x86_64", "/a b/tool"] {
        let own = command(program);
        let after = form(AGENT).add(None, &own).unwrap();
        assert_eq!(form(AGENT).add(Some(&after), &own).unwrap(), after);
        assert_eq!(form(AGENT).find(&after, Some(&own)).unwrap().calls, std::slice::from_ref(&own));
        assert_eq!(form(AGENT).remove(&after, None, Some(&own)).unwrap(), None);
    }
}

#[test]
fn two_matchers_are_no_double() {
    let entry = |matcher: &str| {
        let handler = r#"{"type":"command","command":"/bin/retake hook claude-code || true"}"#;
        format!(r#"{{"matcher":"{matcher}","hooks":[{handler}]}}"#)
    };
    let tools = |matchers: &[&str]| {
        let entries: Vec<_> = matchers.iter().map(|matcher| entry(matcher)).collect();
        let text = format!(r#"{{"hooks":{{"PreToolUse":[{}]}}}}"#, entries.join(","));
        let after = value(&added(AGENT, &text));
        let groups = after["hooks"]["PreToolUse"].as_array().unwrap().clone();
        groups.iter().map(|group| group["matcher"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&["Edit", "Write", "Edit"]), ["Edit", "Write"]);
    let own = HookCommand::new(std::path::Path::new("/new/retake"), None).unwrap();
    let text = format!(r#"{{"hooks":{{"PreToolUse":[{},{}]}}}}"#, entry("Edit"), entry("Write"));
    let moved = form(AGENT).add(Some(&text), &own).unwrap();
    assert!(!moved.contains("/bin/retake"), "{moved}");
}

#[test]
fn a_comment_keeps_what_it_is_in() {
    let handler = r#"{"type":"command","command":"/bin/retake hook claude-code || true"}"#;
    for around in [
        format!(r#"{{"hooks":{{"Stop":[{{"hooks":[/* mine */ {handler}]}}]}}}}"#),
        format!(r#"{{"hooks":{{"Stop":[{{/* mine */ "hooks":[{handler}]}}]}}}}"#),
        format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{handler}]}} /* mine */]}}}}"#),
        format!(r#"{{"hooks":{{/* mine */ "Stop":[{{"hooks":[{handler}]}}]}}}}"#),
        format!(r#"{{"hooks":/* mine */{{"Stop":[{{"hooks":[{handler}]}}]}}}}"#),
    ] {
        let removed = form(AGENT).remove(&around, None, None).unwrap().unwrap();
        assert!(removed.contains("/* mine */") && !removed.contains("retake"), "{removed}");
        value(&removed);
    }
}

#[test]
fn a_single_hook_that_is_off_is_told() {
    let off = |list: &str| {
        let text = format!(r#"{{"hooksConfig":{{"disabled":{list}}}}}"#);
        form(AgentKind::Gemini).find(&text, None).unwrap().switched_off
    };
    assert_eq!(off(r#"["x","retake"]"#).as_deref(), Some("hooksConfig.disabled has it"));
    assert!(off(r#"["/bin/retake hook gemini || true"]"#).is_some());
    assert_eq!(off(r#"["x"]"#), None);
}
