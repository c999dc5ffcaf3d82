//! The fixture language: a story in plain lines, and the changes that Retake recorded of it.
//!
//! ```text
//! file PATH: TEXT              a person writes a file (\n and \xHH are understood)
//! run COMMAND                  a person runs a shell command in the project
//! init                         retake init
//! look                         retake looks at everything
//! say D: TEXT                  the person sends a message in dialog D
//! write D CALL PATH: TEXT      an agent's Write, whole: begin, the write, end
//! edit D CALL PATH: A => B     an agent's Edit, whole
//! read D CALL PATH [A-B]       an agent's Read, whole, or of lines A to B
//! mention D PATH: TEXT         the person's message carries the content of a file
//! attempt D CALL PATH: A => B  an Edit whose agent lets itself be denied: then nothing happens
//! context D | stale D          print the files in an agent's context | that are not as it saw them
//! shell D CALL: COMMAND        an agent's shell call, whole; it really runs
//! begin D CALL TOOL {JSON}     only the begin of a call
//! begin D CALL sh: COMMAND     only the begin of a shell call; it does not run
//! end D CALL [TOOL {JSON}]     only the end; with a tool the begin need not have been seen
//! end-failed D CALL            the end of a call that failed, or was denied
//! end-background D CALL        the end of a call that goes on in the background
//! turn-end D [CALL…]           the turn ends; these calls are known to live on
//! dialog-start D               the dialog begins, or begins again
//! subagent D/A of B            agent B of the dialog starts agent A
//! dialog-end D                 the dialog ends
//! gaps                         print what is not protected
//!
//! checkpoint NAME [D]          makes a checkpoint; `say` makes one called D:1, D:2, …
//! accept | reject | rollback   WHAT: call=… dialog=… agent=… file=… message=… hunk=1,2
//!                              HOW: named last cascade markers across-git include-shared dry
//! restore NAME [exact] [PATH…] | reset D [exact] | undo [N] | redo | approve D
//! recover resume|undo          settles an operation that was interrupted
//! session D | statuses         print where a dialog stands, and every agent's change
//! pending                      looks, and prints what is pending, and what git took back of it
//! cat PATH                     prints a file
//!
//! review SCOPE                 looks, and prints the hunks of a scope: all | last-turn | unseen |
//!                              everything | WHAT; also `approved`
//! keep | see | unsee SCOPE PATH#N…       of the N-th hunk of a file; none named: of all
//! reject-hunks | queue SCOPE PATH#N:+1,-2… [because=WHY] [cascade] [no-digest]
//! waiting | carry-out | cancel N         the queue
//! wait MINUTES                 the clock of the story goes on
//! all-seen | forget [PATH] | again       `again` prints changes that bring rejected lines
//! comment | question PLACE: TEXT         PLACE is PATH, PATH:A-B, `-`, or SCOPE PATH#N
//! send-comments | answer N: TEXT | resolve N | uncomment N | comments
//! feedback D | take-feedback D           prints what an agent is to be told | and hands it back
//! told STEP                    an event whose agent passes on what it is told, which is printed
//! ```
//!
//! `D` is a dialog, or `dialog/agent`. Each step prints the changes that Retake
//! recorded in it, one a line.

use std::fmt::Write as _;

use retake_engine::RecordOutcome;
use retake_engine::model::{CallId, Change, Event, EventKind};
use serde_json::{Value, json};

use crate::TestProject;
use crate::project::describe_change;
use crate::review::print_feedback;

/// Plays a story and compares the recorded changes.
#[track_caller]
pub fn check(story: &str, expected: &expect_test::Expect) {
    expected.assert_eq(&play(&TestProject::new(), story));
}

/// Plays a story in a project and returns the recorded changes as text.
pub fn play(project: &TestProject, story: &str) -> String {
    let mut seen = String::new();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            continue;
        }
        run_step(project, line, &mut seen);
    }
    seen
}

fn run_step(project: &TestProject, line: &str, seen: &mut String) {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "file" => {
            let (path, text) = split_colon(rest);
            project.write(path, unescape(text));
        }
        "run" => project.shell(rest),
        "init" => {
            project.init();
        }
        "look" => print_changes(&project.refresh().changes, seen),
        "say" => {
            let (who, text) = split_colon(rest);
            let said = project.record(&event(who, EventKind::UserMessage { text: text.into() }));
            project.name_message(who, said.checkpoint);
            print_recorded(&said, seen);
        }
        "write" => whole_write(project, rest, seen),
        "edit" => whole_edit(project, rest, seen),
        _ if crate::freshness::run_step(project, verb, rest, seen) => {}
        "shell" => whole_shell(project, rest, seen),
        "begin" => begin(project, rest, seen),
        "end" => end(project, rest, false, seen),
        "end-background" => end(project, rest, true, seen),
        "end-failed" => {
            let (who, call) = rest.split_once(' ').expect("end-failed D CALL");
            let mut failed = end_event(who, call, None, Value::Null, false);
            if let EventKind::ToolEnd { ok, .. } = &mut failed.what {
                *ok = Some(false);
            }
            print_recorded(&project.record(&failed), seen);
        }
        "end-task" => {
            let (who, call, task) = split_three(rest);
            let (tool, input, task) = (None, Value::Null, Some(task.to_owned()));
            let (call, ok, background) = (Some(call.into()), Some(true), true);
            let what =
                EventKind::ToolEnd { call, ok, exit_code: None, tool, input, background, task };
            print_recorded(&project.record(&event(who, what)), seen);
        }
        "task-end" => {
            let (who, task) = rest.split_once(' ').expect("task-end D TASK");
            print_recorded(
                &project.record(&event(who, EventKind::TaskEnd { task: task.into() })),
                seen,
            );
        }
        "over" => {
            let mut words = rest.split(' ');
            let who = words.next().unwrap_or_default();
            let calls = words.map(Into::into).collect();
            print_recorded(&project.record(&event(who, EventKind::ToolsOver { calls })), seen);
        }
        "turn-end" => {
            let mut words = rest.split(' ');
            let who = words.next().unwrap_or_default();
            let background = words.map(Into::into).collect();
            print_recorded(&project.record(&event(who, EventKind::TurnEnd { background })), seen);
        }
        "dialog-start" => {
            let what = EventKind::DialogStart { title: None };
            print_recorded(&project.record(&event(rest, what)), seen);
        }
        "subagent" => {
            let (who, parent) = rest.split_once(" of ").expect("subagent D/A of B");
            let mut event = event(who, EventKind::DialogStart { title: None });
            event.parent = Some(parent.into());
            print_recorded(&project.record(&event), seen);
        }
        "dialog-end" => {
            print_recorded(&project.record(&event(rest, EventKind::DialogEnd {})), seen);
        }
        "told" => {
            project.tell_agents.set(true);
            run_step(project, rest, seen);
            project.tell_agents.set(false);
        }
        "gaps" => {
            for (gap, _) in project.open().status().unwrap().gaps {
                let _ = writeln!(seen, "gap {:?} {}", gap.path, gap.reason.as_str());
            }
        }
        _ if crate::review::run_step(project, verb, rest, seen) => {}
        _ if crate::operations::run_operation(project, verb, rest, seen) => {}
        _ => panic!("the fixture language has no '{verb}'"),
    }
}

fn whole_write(project: &TestProject, rest: &str, seen: &mut String) {
    let (head, text) = split_colon(rest);
    let (who, call, path) = split_three(head);
    let text = unescape(text);
    let input = json!({ "file_path": path, "content": String::from_utf8_lossy(&text) });
    print_recorded(&project.record(&begin_event(who, call, "Write", input)), seen);
    project.write(path, text);
    print_recorded(&project.record(&end_event(who, call, None, Value::Null, false)), seen);
}

fn whole_edit(project: &TestProject, rest: &str, seen: &mut String) {
    let edit = EditCall::parse(rest);
    print_recorded(&project.record(&edit.begin()), seen);
    edit.finish(project, seen);
}

/// An agent's Edit of one file: `D CALL PATH: OLD => NEW`.
pub(crate) struct EditCall<'a> {
    who: &'a str,
    call: &'a str,
    path: &'a str,
    old: String,
    new: String,
}

impl<'a> EditCall<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let (head, replacement) = split_colon(text);
        let (who, call, path) = split_three(head);
        let (old, new) = replacement.split_once(" => ").expect("an edit is OLD => NEW");
        let text = |escaped| String::from_utf8(unescape(escaped)).unwrap();
        Self { who, call, path, old: text(old), new: text(new) }
    }

    pub(crate) fn begin(&self) -> Event {
        let input =
            json!({ "file_path": self.path, "old_string": self.old, "new_string": self.new });
        begin_event(self.who, self.call, "Edit", input)
    }

    /// Makes the edit, and reports its end.
    pub(crate) fn finish(&self, project: &TestProject, seen: &mut String) {
        let Self { path, old, new, .. } = self;
        let content = String::from_utf8(project.read(path)).unwrap();
        assert!(content.contains(old), "{path} has no {old:?}");
        project.write(path, content.replacen(old, new, 1));
        let end = end_event(self.who, self.call, None, Value::Null, false);
        print_recorded(&project.record(&end), seen);
    }
}

fn whole_shell(project: &TestProject, rest: &str, seen: &mut String) {
    let (head, command) = split_colon(rest);
    let (who, call) = head.split_once(' ').expect("shell D CALL: COMMAND");
    let input = json!({ "command": command });
    print_recorded(&project.record(&begin_event(who, call, "Bash", input)), seen);
    project.shell(command);
    print_recorded(&project.record(&end_event(who, call, None, Value::Null, false)), seen);
}

fn begin(project: &TestProject, rest: &str, seen: &mut String) {
    let (who, call, rest) = split_three(rest);
    let (tool, input) = tool_and_input(rest);
    print_recorded(&project.record(&begin_event(who, call, &tool, input)), seen);
}

fn end(project: &TestProject, rest: &str, background: bool, seen: &mut String) {
    let mut words = rest.splitn(3, ' ');
    let (who, call) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (tool, input) = match words.next() {
        Some(rest) => {
            let (tool, input) = tool_and_input(rest);
            (Some(tool), input)
        }
        None => (None, Value::Null),
    };
    print_recorded(&project.record(&end_event(who, call, tool, input, background)), seen);
}

fn tool_and_input(text: &str) -> (String, Value) {
    if let Some(command) = text.strip_prefix("sh: ") {
        return ("Bash".to_owned(), json!({ "command": command }));
    }
    let (tool, json) = text.split_once(' ').unwrap_or((text, "{}"));
    (tool.to_owned(), serde_json::from_str(json).expect("the input is JSON"))
}

pub(crate) fn event(who: &str, what: EventKind) -> Event {
    let (dialog, agent) = who.split_once('/').map_or((who, None), |(d, a)| (d, Some(a)));
    let mut event = Event::new(dialog, what);
    event.agent = agent.map(Into::into);
    event
}

pub(crate) fn begin_event(who: &str, call: &str, tool: &str, input: Value) -> Event {
    event(who, EventKind::ToolBegin { call: call_id(call), tool: tool.to_owned(), input })
}

pub(crate) fn end_event(
    who: &str,
    call: &str,
    tool: Option<String>,
    input: Value,
    background: bool,
) -> Event {
    event(
        who,
        EventKind::ToolEnd {
            call: call_id(call),
            ok: Some(true),
            exit_code: None,
            tool,
            input,
            background,
            task: None,
        },
    )
}

/// `-` stands for a call without an id.
fn call_id(call: &str) -> Option<CallId> {
    (call != "-").then(|| call.into())
}

pub(crate) fn print_recorded(recorded: &RecordOutcome, seen: &mut String) {
    print_changes(&recorded.changes, seen);
    if let Some(told) = &recorded.feedback {
        print_feedback(Some(told), seen);
    }
    for notice in &recorded.notices {
        let _ = writeln!(seen, "! {}", notice.code.as_str());
    }
}

fn print_changes(changes: &[Change], seen: &mut String) {
    for change in changes {
        let _ = writeln!(seen, "{}", describe_change(change));
    }
}

pub(crate) fn split_colon(text: &str) -> (&str, &str) {
    let (head, tail) = text.split_once(':').unwrap_or_else(|| panic!("no ':' in '{text}'"));
    (head, tail.trim_start())
}

pub(crate) fn split_three(text: &str) -> (&str, &str, &str) {
    let mut words = text.splitn(3, ' ');
    let mut next = || words.next().unwrap_or_else(|| panic!("three words are needed: '{text}'"));
    (next(), next(), next())
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [b'n', after @ ..]) => {
                bytes.push(b'\n');
                rest = after;
            }
            (b'\\', [b'x', a, b, after @ ..]) => {
                let digits = [*a, *b];
                let digits = std::str::from_utf8(&digits).unwrap();
                bytes.push(u8::from_str_radix(digits, 16).unwrap());
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    bytes
}
