//! `retake event`: JSON Lines of events in, one JSON reply a line out.
//!
//! An invalid line gets an error reply and the rest goes on. Events are recorded
//! even if the reader closed the pipe of the replies.

use std::collections::HashMap;
use std::io::{self, BufRead, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use retake_engine::model::Event;
use retake_engine::{Hears, Project};
use retake_server::documents;
use retake_server::door::{Parcel, Record, Verb as _, new_key};
use serde::Serialize;

use crate::args::{self, TellEvents};
use crate::context::{Context, Exit};
use crate::failure::Failure;
use crate::output::{Style, tell};

/// Maximum bytes of a line: an event carries a tool's input, not its output.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Hint of errors about the format of a line.
const FORMAT: &str = "see docs/event.schema.json or `retake event --help`";

pub(super) fn run(context: &Context, options: TellEvents) -> Result<Exit> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        tell(
            "reading",
            Style::Mark,
            "events from the terminal, one JSON object a line; end with Ctrl-D",
        );
    }
    let mut stdin = stdin.lock();
    let mut projects = Projects::new(context, options);
    let mut heard = true;
    let (mut line, mut good, mut bad, mut unopened) = (0, 0_u64, 0_u64, 0_u64);
    loop {
        let text = match read_line(&mut stdin, LONGEST_LINE).context("standard input")? {
            Line::End => break,
            Line::Text(text) => Ok(text),
            Line::TooLong => Err(too_long()),
        };
        line += 1;
        if text.as_ref().is_ok_and(|text| text.trim_ascii().is_empty()) {
            continue;
        }
        let done = text.map_err(Trouble::Line).and_then(|text| projects.record(&text));
        match &done {
            Err(Trouble::Project(_)) => unopened += 1,
            Ok(recorded) if recorded.ok => good += 1,
            Ok(_) | Err(Trouble::Line(_)) => bad += 1,
        }
        heard = heard && reply(context, &done, line)?;
    }
    Ok(match (good + bad, bad, unopened) {
        (0, _, 1..) => Exit::Problem,
        (_, 0, 0) => Exit::Done,
        _ => Exit::Partly,
    })
}

/// Replies to a line; `false` if the reader closed the pipe.
fn reply(
    context: &Context,
    done: &Result<documents::Recorded, Trouble>,
    line: u64,
) -> Result<bool> {
    let written = match done {
        Ok(recorded) => {
            let line = recorded.error.as_ref().map(|_| line);
            context.out.json_line(&documents::Recorded { line, ..recorded.clone() })
        }
        Err(Trouble::Line(failure) | Trouble::Project(failure)) => {
            context.out.json_line(&Refused { ok: false, error: failure, line })
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).map_err(Into::into),
    }
}

/// Why a line was not recorded.
enum Trouble {
    /// The line, or recording it.
    Line(Failure),
    /// Its project cannot be opened.
    Project(Failure),
}

#[derive(Serialize)]
struct Refused<'a> {
    ok: bool,
    error: &'a Failure,
    line: u64,
}

/// Records lines; caches open projects, so that thousands of lines open each once.
struct Projects<'a> {
    context: &'a Context,
    hears: Hears,
    roots: HashMap<PathBuf, PathBuf>,
    open: HashMap<PathBuf, Project>,
}

impl<'a> Projects<'a> {
    fn new(context: &'a Context, options: TellEvents) -> Self {
        let hears = match options.hears {
            args::Hears::Nothing => Hears::Nothing,
            args::Hears::Notes => Hears::Notes,
            args::Hears::Denials => Hears::Denials,
        };
        Self { context, hears, roots: HashMap::new(), open: HashMap::new() }
    }

    fn record(&mut self, line: &[u8]) -> Result<documents::Recorded, Trouble> {
        let event = parse(line).map_err(Trouble::Line)?;
        let (start, at) = (self.start(&event), self.context.now());
        let parcel = Parcel { hears: self.hears, ..Parcel::new(new_key(at), event, at) };
        let record = Record { parcels: vec![parcel.clone()] };
        let asked = self.context.ask_daemon(&start, true, &record, &mut |_, _| {});
        let recorded = if let Some(recorded) = asked {
            recorded
        } else {
            let project = self.project(&start).map_err(Trouble::Project)?;
            record.carry_out(project, at, &mut |_, _| {})
        };
        let recorded = recorded.and_then(|mut recorded| recorded.pop().transpose());
        let recorded = recorded.map_err(Trouble::Line)?.unwrap_or_default();
        self.context.relay(&recorded, &parcel);
        Ok((&recorded).into())
    }

    fn project(&mut self, start: &Path) -> Result<&Project, Failure> {
        if !self.roots.contains_key(start) {
            let retake = &self.context.retake;
            let project = retake
                .open_or_create(start, self.context.now())
                .map_err(|error| Failure::advised(&error))?;
            let root = project.root().to_owned();
            self.open.entry(root.clone()).or_insert(project);
            self.roots.insert(start.to_owned(), root);
        }
        let gone = || Failure::new("folder", "the project went away", "try again");
        self.roots.get(start).and_then(|root| self.open.get(root)).ok_or_else(gone)
    }

    /// `--project`, else the event's folder, else the current one.
    fn start(&self, event: &Event) -> PathBuf {
        if let Some(project) = &self.context.project {
            return project.clone();
        }
        let cwd = event.cwd.as_deref().map(Path::new);
        let usable = cwd.filter(|cwd| cwd.is_absolute() && cwd.is_dir());
        usable.unwrap_or(&self.context.cwd).to_owned()
    }
}

fn parse(line: &[u8]) -> Result<Event, Failure> {
    use serde_json::error::Category;
    serde_json::from_slice(line).map_err(|error| match error.classify() {
        Category::Data => Failure::new("bad_event", format!("not an event: {error}"), FORMAT),
        Category::Syntax | Category::Eof | Category::Io => {
            Failure::new("bad_json", format!("not JSON: {error}"), "send one JSON object a line")
        }
    })
}

fn too_long() -> Failure {
    let message = format!("the line is longer than {} MiB", LONGEST_LINE / 1024 / 1024);
    Failure::new("too_long", message, "leave out large contents, or end the call without `input`")
}

enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

/// Reads a line of at most `limit` bytes; a longer one is skipped up to its end.
fn read_line(input: &mut impl BufRead, limit: usize) -> io::Result<Line> {
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
        (false, _) => Line::End,
        (true, true) => Line::TooLong,
        (true, false) => Line::Text(line),
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
                Line::Text(text) => seen.push(String::from_utf8(text).unwrap()),
                Line::TooLong => seen.push("(too long)".to_owned()),
                Line::End => break,
            }
        }
        assert_eq!(seen, ["short", "(too long)", "", "end"]);
    }
}
