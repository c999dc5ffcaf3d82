//! `retake event`: JSON Lines of events in, one JSON reply a line out.
//!
//! An invalid line gets an error reply and the rest goes on. Events are recorded
//! even if the reader closed the pipe of the replies.

use std::collections::HashMap;
use std::io::{self, BufRead, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use retake_engine::model::{ErrorCode, Event, EventKind};
use retake_engine::{Project, ReplySupport};
use retake_service::Masking;
use retake_service::documents::{self, LoadRepeats as _};
use retake_service::request::{
    CarryOutRejections, ProjectCommand as _, RecordEvents, Submission, new_idempotency_key,
};
use serde::Serialize;

use crate::args::{self, EventArgs};
use crate::context::{CommandContext, Exit};
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message, warn};

/// Maximum bytes of a line: an event carries a tool's input, not its output.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Hint of errors about the format of a line.
const FORMAT_HINT: &str = "see docs/event.schema.json or `retake event --help`";

pub(super) fn run(context: &CommandContext, options: EventArgs) -> Result<Exit> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        print_message(
            "reading",
            TextStyle::Mark,
            "events from the terminal, one JSON object a line; end with Ctrl-D",
        );
    }
    let mut stdin = stdin.lock();
    let mut event_recorder = EventRecorder::new(context, options);
    let mut has_reader = true;
    let (mut line, mut good, mut bad, mut unopened) = (0, 0_u64, 0_u64, 0_u64);
    loop {
        let text = match read_line(&mut stdin, MAX_LINE_BYTES).context("standard input")? {
            InputLine::End => break,
            InputLine::Text(text) => Ok(text),
            InputLine::TooLong => Err(too_long_failure()),
        };
        line += 1;
        if text.as_ref().is_ok_and(|text| text.trim_ascii().is_empty()) {
            continue;
        }
        let done = text.map_err(EventLineError::Line).and_then(|text| event_recorder.record(&text));
        match &done {
            Err(EventLineError::Project(_)) => unopened += 1,
            Ok(recorded) if recorded.ok => good += 1,
            Ok(_) | Err(EventLineError::Line(_)) => bad += 1,
        }
        has_reader = has_reader && reply(context, &done, line)?;
    }
    Ok(match (good + bad, bad, unopened) {
        (0, _, 1..) => Exit::Problem,
        (_, 0, 0) => Exit::Done,
        _ => Exit::Partly,
    })
}

/// Replies to a line; `false` if the reader closed the pipe.
fn reply(
    context: &CommandContext,
    done: &Result<documents::EventReply, EventLineError>,
    line: u64,
) -> Result<bool> {
    let written = match done {
        Ok(recorded) => {
            let line = recorded.error.as_ref().map(|_| line);
            context.out.json_line(&documents::EventReply { line, ..recorded.clone() })
        }
        Err(EventLineError::Line(failure) | EventLineError::Project(failure)) => {
            context.out.json_line(&EventErrorReply { ok: false, error: failure, line })
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).map_err(Into::into),
    }
}

/// Why a line was not recorded.
enum EventLineError {
    /// The line, or recording it.
    Line(ApiError),
    /// Its project cannot be opened.
    Project(ApiError),
}

#[derive(Serialize)]
struct EventErrorReply<'a> {
    ok: bool,
    error: &'a ApiError,
    line: u64,
}

/// Records lines; caches open projects, so that thousands of lines open each once.
struct EventRecorder<'a> {
    context: &'a CommandContext,
    reply_support: ReplySupport,
    roots: HashMap<PathBuf, PathBuf>,
    open: HashMap<PathBuf, Project>,
}

impl<'a> EventRecorder<'a> {
    fn new(context: &'a CommandContext, options: EventArgs) -> Self {
        let reply_support = match options.reply_support {
            args::ReplySupportArg::Nothing => ReplySupport::Nothing,
            args::ReplySupportArg::Notes => ReplySupport::Notes,
            args::ReplySupportArg::Denials => ReplySupport::Denials,
        };
        Self { context, reply_support, roots: HashMap::new(), open: HashMap::new() }
    }

    fn record(&mut self, line: &[u8]) -> Result<documents::EventReply, EventLineError> {
        let event = parse(line).map_err(EventLineError::Line)?;
        let (start, at) = (self.start_folder(&event), self.context.now());
        let submission = Submission::new(new_idempotency_key(at), event, at)
            .with_reply_support(self.reply_support);
        let record = RecordEvents { submissions: vec![submission.clone()] };
        let answer = self.context.run_in_daemon(&start, true, &record, &mut |_, _| {});
        let recorded = if let Some(recorded) = answer {
            recorded
        } else {
            let context = self.context;
            let project = self.open_project(&start).map_err(EventLineError::Project)?;
            let permitted = context.permit(project, &record);
            let recorded = permitted.and_then(|()| record.run(project, at, &mut |_, _| {}));
            context.carry_out_due_rejections(project);
            recorded
        };
        let recorded = recorded.and_then(|mut recorded| recorded.pop().transpose());
        let recorded = recorded.map_err(EventLineError::Line)?.unwrap_or_default();
        self.context.relay_to_other_projects(&recorded, &submission);
        self.carry_out_rejections(&start, &submission.event);
        let mut reply = documents::EventReply::from(&recorded);
        if !reply.changes.is_empty()
            && let Ok(project) = self.open_project(&start)
        {
            let loaded = reply.load_repeats(project, Masking::Off);
            loaded.map_err(|error| EventLineError::Line(error.into()))?;
        }
        Ok(reply)
    }

    /// Carries out the rejections that waited for the turn that this event ends. What goes wrong is a
    /// warning, and they wait on.
    fn carry_out_rejections(&mut self, start: &Path, event: &Event) {
        if !matches!(event.what, EventKind::TurnEnd { .. } | EventKind::DialogEnd {}) {
            return;
        }
        let context = self.context;
        let done = self.open_project(start).map_err(anyhow::Error::from).and_then(|project| {
            if project.has_waiting_rejections()? {
                context.run_request(project, CarryOutRejections {})?;
            }
            Ok(())
        });
        if let Err(error) = done {
            warn(&format!("rejections still wait: {error:#}"));
        }
    }

    fn open_project(&mut self, start: &Path) -> Result<&Project, ApiError> {
        if !self.roots.contains_key(start) {
            let retake = &self.context.retake;
            let project =
                retake.open_or_create(start, self.context.now()).map_err(ApiError::from)?;
            self.context.resolve_caller(&project);
            let root = project.root().to_owned();
            self.open.entry(root.clone()).or_insert(project);
            self.roots.insert(start.to_owned(), root);
        }
        let gone = || ApiError::new(ErrorCode::Folder, "the project went away", "try again");
        self.roots.get(start).and_then(|root| self.open.get(root)).ok_or_else(gone)
    }

    /// `--project`, else the event's folder, else the current one.
    fn start_folder(&self, event: &Event) -> PathBuf {
        if let Some(project) = &self.context.project {
            return project.clone();
        }
        let cwd = event.cwd.as_deref().map(Path::new);
        let usable = cwd.filter(|cwd| cwd.is_absolute() && cwd.is_dir());
        usable.unwrap_or(&self.context.cwd).to_owned()
    }
}

fn parse(line: &[u8]) -> Result<Event, ApiError> {
    use serde_json::error::Category;
    serde_json::from_slice(line).map_err(|error| match error.classify() {
        Category::Data => {
            ApiError::new(ErrorCode::BadEvent, format!("not an event: {error}"), FORMAT_HINT)
        }
        Category::Syntax | Category::Eof | Category::Io => ApiError::new(
            ErrorCode::BadJson,
            format!("not JSON: {error}"),
            "send one JSON object a line",
        ),
    })
}

fn too_long_failure() -> ApiError {
    let message = format!("the line is longer than {} MiB", MAX_LINE_BYTES / 1024 / 1024);
    ApiError::new(
        ErrorCode::TooLong,
        message,
        "leave out large contents, or end the call without `input`",
    )
}

enum InputLine {
    Text(Vec<u8>),
    TooLong,
    End,
}

/// Reads a line of at most `limit` bytes; a longer one is skipped up to its end.
fn read_line(input: &mut impl BufRead, limit: usize) -> io::Result<InputLine> {
    let mut line = Vec::new();
    let (mut any, mut too_long) = (false, false);
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if buffer.is_empty() {
            break;
        }
        any = true;
        let newline = buffer.iter().position(|&byte| byte == b'\n');
        let part = &buffer[..newline.unwrap_or(buffer.len())];
        too_long = too_long || line.len() + part.len() > limit;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = newline.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if newline.is_some() {
            break;
        }
    }
    Ok(match (any, too_long) {
        (false, _) => InputLine::End,
        (true, true) => InputLine::TooLong,
        (true, false) => InputLine::Text(line),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let input = b"short\nmuch too long a line\n\nend";
        let mut input = io::BufReader::with_capacity(4, input.as_slice());
        let mut seen = Vec::new();
        loop {
            match read_line(&mut input, 8).unwrap() {
                InputLine::Text(text) => seen.push(String::from_utf8(text).unwrap()),
                InputLine::TooLong => seen.push("(too long)".to_owned()),
                InputLine::End => break,
            }
        }
        assert_eq!(seen, ["short", "(too long)", "", "end"]);
    }
}
