//! `retake review` and what belongs to it, from the outside: listing, deciding, the queue, comments,
//! feedback, texts for others, and the review at a terminal.

mod again;
mod agents;
mod comments;
mod decisions;
mod feedback;
mod hunks;
mod listing;
mod plain;
mod plain_answers;
mod plain_queue;
mod plain_undo;
mod queue;
mod texts;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

/// A file with room between two places.
const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";

/// An agent changed two places of one file and added a file, and has ended its turn.
fn reviewed_world() -> World {
    let world = World::with(&[("a.txt", LINES), ("c.txt", "c\n")]);
    world.say("d1", "make it better");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt; echo new > b.txt");
    end_turn(&world, "d1");
    world
}

fn end_turn(world: &World, dialog: &str) {
    let done = world.feed(json!({ "event": "turn_end", "dialog": dialog }).to_string());
    assert_eq!(done.code, 0, "{}", done.stderr);
}

/// The document of a review.
fn review(world: &World, words: &[&str]) -> Value {
    let ran = world.run(&[&["review", "--json"], words].concat());
    assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
    ran.json()
}

/// The hunks of a review, each with its file's path and digest.
fn hunks(world: &World, words: &[&str]) -> Vec<Value> {
    let mut all = Vec::new();
    for file in review(world, words)["contents"].as_array().unwrap() {
        for hunk in file["hunks"].as_array().unwrap() {
            let mut hunk = hunk.clone();
            hunk["path"] = file["path"].clone();
            hunk["digest"] = file["digest"].clone();
            all.push(hunk);
        }
    }
    all
}

/// The ids of the hunks of a file.
fn ids_in(world: &World, path: &str) -> Vec<String> {
    let found = hunks(world, &[]);
    let ids = found.iter().filter(|hunk| hunk["path"] == path);
    ids.map(|hunk| hunk["id"].as_str().unwrap().to_owned()).collect()
}

/// The files that a scope shows, in their order.
fn files_of(world: &World, words: &[&str]) -> Vec<String> {
    let mut files: Vec<_> =
        hunks(world, words).iter().map(|hunk| hunk["path"].as_str().unwrap().to_owned()).collect();
    files.dedup();
    files
}

/// Runs a command whose answers come from a pipe.
fn piped(world: &World, words: &[&str], answers: &str) -> Ran {
    let mut command = world.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that asks less does not read on.
    let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
    ran(child.wait_with_output().unwrap())
}

/// A review hunk by hunk, while it is open.
struct OpenReview {
    child: Child,
    answers: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    seen: String,
}

impl OpenReview {
    fn begin(world: &World, words: &[&str]) -> Self {
        Self::of(world.command(words))
    }

    fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers, stdout, seen: String::new() }
    }

    fn answer(&mut self, answers: &str) {
        self.answers.as_mut().unwrap().write_all(answers.as_bytes()).unwrap();
    }

    /// Waits until a line with this text is shown.
    fn until(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            let length = self.stdout.read_line(&mut line).unwrap();
            self.seen.push_str(&line);
            assert_ne!(length, 0, "{text} was not shown: {}", self.seen);
            if line.contains(text) {
                return;
            }
        }
    }

    /// Ends the input; returns all that was shown, and the exit code.
    fn end(mut self) -> (String, i32) {
        drop(self.answers.take());
        self.stdout.read_to_string(&mut self.seen).unwrap();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut self.seen).unwrap();
        (self.seen, self.child.wait().unwrap().code().unwrap())
    }
}

/// What a person sees, with the ids of hunks replaced.
fn seen(world: &World, words: &[&str]) -> String {
    without_ids(&world.seen(words))
}

/// Replaces the ids of hunks by a text that is as wide.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('h') {
        let (before, word) = rest.split_at(at);
        out.push_str(before);
        let id = word.get(1..13).filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let length = if id.is_some() { 13 } else { 1 };
        out.push_str(if id.is_some() { "HUNK-ID------" } else { "h" });
        rest = &word[length..];
    }
    out + rest
}
