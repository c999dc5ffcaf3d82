//! Random documents.

use serde_json::{Value, json};

use super::{added, form, value};
use crate::AgentKind;
use crate::setup::recognise_hook;

/// A random document in the shape of settings, with comments and odd layout.
fn random(rng: &mut fastrand::Rng) -> String {
    fn space(rng: &mut fastrand::Rng) -> &'static str {
        let spaces = ["", "", "", " ", "\n", "\r\n  ", "\t", " // note\n", "/* x */", "\n\n    "];
        rng.choice(spaces).unwrap()
    }
    fn list(rng: &mut fastrand::Rng, brackets: &str, items: &[String]) -> String {
        let mut text = brackets[..1].to_owned();
        for (at, item) in items.iter().enumerate() {
            text = text + space(rng) + item + space(rng);
            if at + 1 < items.len() || rng.u8(..5) == 0 {
                text.push(',');
            }
        }
        text + space(rng) + &brackets[1..]
    }
    fn object(
        rng: &mut fastrand::Rng,
        keys: &[&str],
        make: &mut dyn FnMut(&mut fastrand::Rng, &str) -> String,
    ) -> String {
        let mut items = Vec::new();
        for key in keys {
            if rng.bool() {
                let value = make(rng, key);
                items.push(format!("\"{key}\"{}:{}{value}", space(rng), space(rng)));
            }
        }
        rng.shuffle(&mut items);
        list(rng, "{}", &items)
    }
    fn handler(rng: &mut fastrand::Rng) -> String {
        let command =
            rng.choice(["lint", "/x/retake hook codex || true", "retake status", "a\\\"b"]);
        let command = command.unwrap();
        object(rng, &["type", "command", "command", "timeout"], &mut |rng, key| match key {
            "command" => format!("\"{command}\""),
            "timeout" => rng.u8(..).to_string(),
            _ => "\"command\"".to_owned(),
        })
    }
    fn group(rng: &mut fastrand::Rng) -> String {
        object(rng, &["matcher", "hooks"], &mut |rng, key| {
            if key == "matcher" {
                return "\"*\"".to_owned();
            }
            let handlers: Vec<_> = (0..rng.usize(..3)).map(|_| handler(rng)).collect();
            list(rng, "[]", &handlers)
        })
    }
    let events = ["PreToolUse", "Stop", "SessionEnd", "Gone"];
    let body = object(rng, &["a", "ü", "hooks", "hooks", "b"], &mut |rng, key| match key {
        "hooks" => object(rng, &events, &mut |rng, _| {
            let groups: Vec<_> = (0..rng.usize(..4)).map(|_| group(rng)).collect();
            list(rng, "[]", &groups)
        }),
        _ => rng.choice(["1", "null", "\"// no comment\"", "[ ]", "{}"]).unwrap().to_owned(),
    });
    let mark = if rng.u8(..5) == 0 { "\u{feff}" } else { "" };
    format!("{mark}{}{body}{}", space(rng), space(rng))
}

/// What is not ours, with the containers that may come and go left out.
fn others(text: &str) -> Value {
    let mut value = value(text);
    let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) else { return value };
    for (_, groups) in hooks.iter_mut() {
        for group in groups.as_array_mut().unwrap() {
            let Some(handlers) = group.get_mut("hooks") else { continue };
            handlers.as_array_mut().unwrap().retain(|handler| {
                let command = handler["command"].as_str().unwrap_or_default();
                recognise_hook(command, AgentKind::Codex, None).is_none()
            });
        }
        let emptied = |group: &Value| group.get("hooks").is_some_and(|h| h == &json!([]));
        groups.as_array_mut().unwrap().retain(|group| !emptied(group));
    }
    hooks.retain(|_, groups| groups != &json!([]));
    if hooks.is_empty() {
        value.as_object_mut().unwrap().remove("hooks");
    }
    value
}

#[test]
fn random_documents_keep_everything_that_is_not_ours() {
    let form = form(AgentKind::Codex);
    for seed in 0..1000 {
        let before = random(&mut fastrand::Rng::with_seed(seed));
        let after = added(AgentKind::Codex, &before);
        let case = format!("seed {seed}\n{before}\n---\n{after}");
        assert_eq!(added(AgentKind::Codex, &after), after, "{case}");
        assert_eq!(form.find(&after, None).unwrap().missing, 0, "{case}");
        assert_eq!(others(&after), others(&before), "{case}");
        let removed = form.remove(&after, Some(&before), None).unwrap().unwrap();
        let case = format!("{case}\n---\n{removed}");
        assert_eq!(others(&removed), others(&before), "{case}");
        assert!(form.find(&removed, None).unwrap().calls.is_empty(), "{case}");
        let comments =
            |text: &str| text.matches("// note").count() + text.matches("/* x */").count();
        assert!(comments(&after) <= comments(&before), "{case}");
        if !before.contains("hook codex") {
            assert_eq!(comments(&removed), comments(&before), "{case}");
            assert_eq!(value(&removed), value(&before), "{case}");
            assert_eq!(value(&added(AgentKind::Codex, &removed)), value(&after), "{case}");
        }
    }
}
