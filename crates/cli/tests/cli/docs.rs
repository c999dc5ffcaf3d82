//! The documents agree with the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use retake_engine::model::Event;
use retake_service::setup::HookState;
use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::{Value, json};

use crate::support::World;

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn schema() -> Value {
    serde_json::from_slice(&std::fs::read(document("event.schema.json")).unwrap()).unwrap()
}

#[test]
fn the_reference_is_what_the_program_says() {
    let made = World::new().ok(&["help-markdown"]);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(document("cli.md"), &made).unwrap();
    }
    let written = std::fs::read_to_string(document("cli.md")).unwrap();
    assert!(written == made, "docs/cli.md is out of date; run the tests with UPDATE_EXPECT=1");
}

#[test]
fn the_man_pages_are_what_the_program_makes() {
    let made = tempfile::tempdir().unwrap();
    World::new().ok(&["man-pages", made.path().to_str().unwrap()]);
    let (made, folder) = (pages(made.path()), document("man"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for name in pages(&folder).keys().filter(|name| !made.contains_key(*name)) {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
        for (name, page) in &made {
            std::fs::write(folder.join(name), page).unwrap();
        }
    }
    let written = pages(&folder);
    let names = |pages: &BTreeMap<_, _>| pages.keys().cloned().collect::<Vec<String>>();
    assert_eq!(names(&written), names(&made), "run the tests with UPDATE_EXPECT=1");
    for (name, page) in &made {
        assert!(written[name] == *page, "{name} is out of date; run with UPDATE_EXPECT=1");
    }
    assert!(made.contains_key("retake-daemon-start.1") && !made.contains_key("retake-openapi.1"));
    for group in ["Look", "Take back", "Decide", "Checkpoints", "Agents", "Upkeep", "For programs"]
    {
        assert!(
            made["retake.1"].contains(
                &format!(".SS {group}\n")
                    .replace(".SS Take back", ".SS \"Take back\"")
                    .replace(".SS For programs", ".SS \"For programs\"")
            ),
            "{group}"
        );
    }
}

/// Each checker accepts every page without a word.
#[test]
fn the_man_pages_are_accepted_by_groff_and_mandoc() {
    let groff: &[&str] = &["groff", "-man", "-Tutf8", "-ww", "-z"];
    let mandoc: &[&str] = &["mandoc", "-Tlint", "-Wunsupp"];
    for checker in [groff, mandoc] {
        if !has_all(&[MachineRequirement::Program(checker[0])]) {
            continue;
        }
        for name in pages(&document("man")).keys() {
            let page = document("man").join(name);
            let mut command = std::process::Command::new(checker[0]);
            let output = command.args(&checker[1..]).arg(page).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            assert!(
                output.status.success() && said.is_empty(),
                "{checker:?} {name}: {}",
                String::from_utf8_lossy(&said)
            );
        }
    }
}

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    let page = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read_to_string(entry.path()).unwrap())
    };
    entries.map(page).collect()
}

#[test]
fn the_description_of_http_is_what_the_program_says() {
    let made = World::new().ok(&["openapi"]);
    assert!(std::fs::read_to_string(document("openapi.json")).unwrap() == made);
}

#[test]
fn the_guide_s_commands_are_commands_of_the_program() {
    let guide = std::fs::read_to_string(document("undo.md")).unwrap();
    let commands: Vec<_> =
        guide.lines().filter_map(|line| line.strip_prefix("$ retake ")).collect();
    assert!(commands.len() > 30, "{commands:?}");
    commands.into_iter().for_each(check_command);
}

#[test]
fn the_commands_that_a_newcomer_reads_are_commands_of_the_program() {
    for (page, least) in [("../README.md", 15), ("getting-started.md", 8)] {
        let text = std::fs::read_to_string(document(page)).unwrap();
        let is_typed = |before: &str| ["`", "$(", "\n", "$ "].iter().any(|s| before.ends_with(s));
        let commands: Vec<_> = text
            .match_indices("retake ")
            .filter(|(at, _)| is_typed(&text[..*at]))
            .map(|(at, name)| &text[at + name.len()..])
            .map(|rest| rest.split(['`', ')', '#', '\n']).next().unwrap().trim())
            .filter(|command| !command.starts_with('-'))
            .collect();
        assert!(commands.len() >= least, "{page}: {commands:?}");
        commands.into_iter().for_each(check_command);
    }
}

/// Checks that the reference has a command, as it is typed after `retake `, and its options.
fn check_command(command: &str) {
    let reference = std::fs::read_to_string(document("cli.md")).unwrap();
    let name = command.split(' ').next().unwrap();
    let (_, section) = reference.split_once(&format!("\n## `retake {name}`\n")).expect(command);
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    for option in command.split(' ').filter(|word| word.starts_with("--")) {
        let is_everywhere = ["--json", "--help", "--"].contains(&option);
        assert!(is_everywhere || section.contains(option), "{command}: {option}");
    }
}

/// Each reason that `retake status` has for an agent that is not recorded, in the same words.
#[test]
fn getting_started_explains_every_state_of_hooks() {
    let page = std::fs::read_to_string(document("getting-started.md")).unwrap();
    for state in [
        HookState::Partly,
        HookState::Absent,
        HookState::Off,
        HookState::Waiting,
        HookState::Changed,
        HookState::Broken,
        HookState::Unreadable,
    ] {
        let words = state.describe().split(';').next().unwrap();
        let mut rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
        assert!(rows.any(|(said, _)| said.contains(words)), "{words}");
    }
}

#[test]
fn the_readme_quotes_what_an_agent_is_told() {
    let readme = std::fs::read_to_string(document("../README.md")).unwrap();
    let (_, quote) = readme.split_once("```text\n").unwrap();
    let (quote, _) = quote.split_once("```").unwrap();
    assert!(std::fs::read_to_string(document("freshness.md")).unwrap().contains(quote), "{quote}");
}

#[test]
fn every_row_of_the_tables_of_reliability_names_a_test() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(document("reliability.md")).unwrap();
    let faults = page.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let mut tests = 0;
    for row in faults {
        for name in row.split('`').skip(1).step_by(2) {
            let Some((file, test)) = name.split_once("::") else { continue };
            let source = std::fs::read_to_string(crates.join(file)).expect(row);
            assert!(source.contains(&format!("fn {test}(")), "{name} is not there");
            tests += 1;
        }
    }
    assert!(tests > 80, "only {tests}");
    for row in 1..=56 {
        assert!(page.contains(&format!("\n| {row} | ")), "row {row} is missing");
    }
}

#[test]
fn the_schema_s_examples_are_events_and_replies() {
    let schema = schema();
    for (name, parse) in [("event", true), ("reply", false)] {
        let definition = &schema["$defs"][name];
        for example in definition["examples"].as_array().unwrap() {
            if parse {
                let event: Event = serde_json::from_value(example.clone()).unwrap();
                assert_eq!(example["event"], event.name());
            }
            // Aliases are told in words only.
            if example.get("session_id").is_none() {
                check(&schema, definition, example).unwrap();
            }
        }
    }
}

#[test]
fn real_replies_fit_the_schema() {
    let world = World::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
    let begin = json!({ "event": "tool_begin", "dialog": "d1", "call": "k", "tool": "Bash",
        "input": { "command": "./work.sh" } });
    let mut replies = world.feed(begin.to_string()).lines();
    world.write("a.txt", "two\n");
    std::fs::remove_file(world.root().join("b.txt")).unwrap();
    let outside = json!({ "event": "tool_end", "dialog": "d1", "call": "z", "tool": "Write",
        "input": { "file_path": "/etc/x", "content": "" } });
    let rest = format!(
        "{begin}\n{{\"event\":\"tool_end\",\"dialog\":\"d1\",\"call\":\"k\"}}\nnonsense\n{outside}\n"
    );
    replies.extend(world.feed(rest).lines());
    assert_eq!(replies.len(), 5);
    assert!(
        replies.iter().any(|reply| reply["changes"].as_array().is_some_and(|all| all.len() == 2))
    );
    let schema = schema();
    for reply in &replies {
        check(&schema, &schema["$defs"]["reply"], reply)
            .unwrap_or_else(|why| panic!("{why}: {reply}"));
    }
}

/// As much of JSON Schema as ours uses.
fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let pointer = name.strip_prefix('#').unwrap();
        return check(root, root.pointer(pointer).unwrap(), value);
    }
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        return Err(format!("{value} is not {constant}"));
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return Err(format!("{value} is none of {}", schema["enum"]));
    }
    let types = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is(value, name)) {
        return Err(format!("{value} is not {types:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        value.get(name).ok_or_else(|| format!("{name} is missing"))?;
    }
    for (name, part) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => check(root, schema, part).map_err(|why| format!("{name}: {why}"))?,
            None if schema["additionalProperties"] == false => {
                return Err(format!("{name} is unknown"));
            }
            None => {}
        }
    }
    if let Some(items) = schema.get("items") {
        for item in value.as_array().into_iter().flatten() {
            check(root, items, item)?;
        }
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let results: Vec<_> = choices.iter().map(|choice| check(root, choice, value)).collect();
        if results.iter().filter(|result| result.is_ok()).count() != 1 {
            return Err(format!("not exactly one fits: {results:?}"));
        }
    }
    Ok(())
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no type {name}"),
    }
}
