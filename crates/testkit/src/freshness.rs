//! The steps of the fixture language that are about files that agents have read.

use std::fmt::Write as _;

use retake_engine::model::{AgentId, Event, EventKind, Lines, MAIN_AGENT, Sight};
use retake_engine::{ContextFile, Hears, Parcel, Reaction, Recorded};
use serde_json::{Value, json};

use crate::TestProject;
use crate::play::{
    begin_event, colon, edit_input, end_event, event, finish_edit, print, replacement, three,
};

/// Runs a step, if it is one of these.
pub(crate) fn step(project: &TestProject, verb: &str, rest: &str, seen: &mut String) -> bool {
    match verb {
        "read" => read(project, rest, seen),
        "mention" => {
            let (head, text) = colon(rest);
            let (who, path) = head.split_once(' ').expect("mention D PATH: TEXT");
            let saw = vec![Sight { path: path.to_owned(), lines: None }];
            let said = event(who, EventKind::UserMessage { text: text.into() });
            tell(&project.record(&Event { saw, ..said }), seen);
        }
        "attempt" => attempt(project, rest, seen),
        "context" => {
            for file in context(project, rest) {
                timeline(&file, seen);
            }
        }
        "stale" => {
            for stale in context(project, rest).into_iter().filter_map(|file| file.stale) {
                let _ = writeln!(seen, "{}: {stale}", stale.path);
            }
        }
        _ => return false,
    }
    true
}

fn read(project: &TestProject, rest: &str, seen: &mut String) {
    let (who, call, rest) = three(rest);
    let (path, lines) = rest.split_once(' ').map_or((rest, None), |(path, lines)| {
        let (first, last) = lines.split_once('-').expect("lines are A-B");
        let lines = Lines { first: first.parse().unwrap(), last: last.parse().unwrap() };
        (path, Some(lines))
    });
    print(&project.record(&begin_event(who, call, "Read", json!({ "file_path": path }))), seen);
    let saw = vec![Sight { path: path.to_owned(), lines }];
    let end = end_event(who, call, None, Value::Null, false);
    print(&project.record(&Event { saw, ..end }), seen);
}

fn attempt(project: &TestProject, rest: &str, seen: &mut String) {
    let (head, text) = colon(rest);
    let (who, call, path) = three(head);
    let (old, new) = replacement(text);
    let begin = begin_event(who, call, "Edit", edit_input(path, &old, &new));
    let (opened, at) = (project.open(), project.tick());
    let parcel = Parcel::new(opened.keeper().new_key(at), begin, at);
    let parcel = Parcel { hears: Hears::Denials, ..parcel };
    let answer = opened.record_all(&[parcel]).remove(0).unwrap();
    tell(&answer, seen);
    if answer.reaction() != Some(Reaction::Deny) {
        finish_edit(project, (who, call, path), (&old, &new), seen);
    }
}

/// Prints the notices to the agent, too.
fn tell(recorded: &Recorded, seen: &mut String) {
    print(recorded, seen);
    if let Some(stale) = &recorded.stale {
        for file in &stale.files {
            let _ = writeln!(seen, "{} {}: {file}", stale.reaction.as_str(), file.path);
        }
    }
}

fn context(project: &TestProject, who: &str) -> Vec<ContextFile> {
    let (dialog, agent) = who.split_once('/').unwrap_or((who, MAIN_AGENT));
    project.open().context(&dialog.into(), &AgentId::from(agent)).unwrap()
}

/// One line an entry, with the dates as seconds since the clock of the test began.
fn timeline(file: &ContextFile, seen: &mut String) {
    for (number, entry) in file.entries.iter().enumerate() {
        let active = number + 1 == file.entries.len();
        let date = |date: Option<i64>| {
            date.map_or_else(|| "-".to_owned(), |at| format!("{}", (at - 1_700_000_000_000) / 1000))
        };
        let dates = entry.dates;
        let _ = writeln!(
            seen,
            "{} {} {} read {} edit {} user {}",
            file.path,
            if active { "active" } else { "stale" },
            entry.source,
            date(dates.read),
            date(dates.edit),
            date(dates.user)
        );
    }
}
