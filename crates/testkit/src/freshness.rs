//! The steps of the fixture language that are about files that agents have read.

use std::fmt::Write as _;

use retake_engine::model::{AgentId, Event, EventKind, LineSpan, MAIN_AGENT, SeenFile};
use retake_engine::{ContextFile, RecordOutcome, ReplySupport, StaleReaction, Submission};
use serde_json::{Value, json};

use crate::TestProject;
use crate::play::{
    EditCall, begin_event, end_event, event, print_recorded, split_colon, split_three,
};

/// Runs a step, if it is one of these.
pub(crate) fn run_step(project: &TestProject, verb: &str, rest: &str, seen: &mut String) -> bool {
    match verb {
        "read" => run_read(project, rest, seen),
        "mention" => {
            let (head, text) = split_colon(rest);
            let (who, path) = head.split_once(' ').expect("mention D PATH: TEXT");
            let reads = vec![SeenFile { path: path.to_owned(), lines: None }];
            let said = event(who, EventKind::UserMessage { text: text.into() });
            print_notices(&project.record(&Event { reads, ..said }), seen);
        }
        "attempt" => run_attempt(project, rest, seen),
        "context" => {
            for file in context(project, rest) {
                print_timeline(&file, seen);
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

fn run_read(project: &TestProject, rest: &str, seen: &mut String) {
    let (who, call, rest) = split_three(rest);
    let (path, lines) = rest.split_once(' ').map_or((rest, None), |(path, lines)| {
        let (first, last) = lines.split_once('-').expect("lines are A-B");
        let lines = LineSpan { first: first.parse().unwrap(), last: last.parse().unwrap() };
        (path, Some(lines))
    });
    print_recorded(
        &project.record(&begin_event(who, call, "Read", json!({ "file_path": path }))),
        seen,
    );
    let reads = vec![SeenFile { path: path.to_owned(), lines }];
    let end = end_event(who, call, None, Value::Null, false);
    print_recorded(&project.record(&Event { reads, ..end }), seen);
}

fn run_attempt(project: &TestProject, rest: &str, seen: &mut String) {
    let edit = EditCall::parse(rest);
    let (opened, at) = (project.open(), project.tick());
    let submission = Submission::new(opened.spool_writer().new_key(at), edit.begin(), at);
    let submission = submission.with_reply_support(ReplySupport::Denials);
    let answer = opened.submit_all(&[submission]).remove(0).unwrap();
    print_notices(&answer, seen);
    if answer.reaction() != Some(StaleReaction::Deny) {
        edit.finish(project, seen);
    }
}

/// Prints the notices to the agent, too.
fn print_notices(recorded: &RecordOutcome, seen: &mut String) {
    print_recorded(recorded, seen);
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
fn print_timeline(file: &ContextFile, seen: &mut String) {
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
