//! The steps of the fixture language that are about reviews: hunks, the queue, comments, feedback.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use retake_engine::model::{
    ChangeId, CommentKind, HunkId, HunkKind, ProcessKey, ProjectPath, ReviewComment,
};
use retake_engine::{
    CommentPlace, FeedbackChannel, HunkChoice, HunkLines, HunkRequest, LocatedComment, NewComment,
    OperationError, Plan, Project, Review, ReviewFile, ReviewHunk, ReviewScope, ScopeChanges,
};

use crate::TestProject;
use crate::operations::{StepWords, print_error};
use crate::play::split_colon;

/// Runs a step, if it is one of these.
pub(crate) fn run_step(test: &TestProject, verb: &str, rest: &str, seen: &mut String) -> bool {
    let project = test.open();
    let words = StepWords::of(rest);
    match verb {
        "review" => print_review(test, &project, &words, seen),
        "keep" | "see" | "unsee" => decide(test, &project, verb, &words, seen),
        "queue" => queue(test, &project, &words, seen),
        "cancel" => {
            let cancelled = project.cancel_queued_rejection(words.number(), test.tick());
            print_result(cancelled.map(|entry| format!("cancelled {}", entry.id)), seen);
        }
        "waiting" => print_queue(&project, seen),
        "carry-out" => carry_out(test, &project, seen),
        "wait" => {
            let minutes: i64 = rest.parse().expect("wait MINUTES");
            test.now.set(test.now.get() + minutes * 60_000);
        }
        "all-seen" => drop(project.set_review_seen(u64::MAX, test.tick()).unwrap()),
        "comment" | "question" => comment(test, &project, verb, rest, seen),
        "comments" => print_comments(&project, seen),
        "send-comments" => {
            let sent = project.send_comments(&[], test.tick());
            print_result(sent.map(|sent| format!("sent {}", sent.len())), seen);
        }
        "answer" => {
            let (id, words) = split_colon(rest);
            let answered = project.answer_comment(id.parse().unwrap(), words, test.tick());
            print_result(answered.map(|comment| describe_comment(&comment)), seen);
        }
        "uncomment" => project.remove_comment(words.number(), test.tick()).unwrap(),
        "resolve" => {
            let resolved = project.resolve_comment(words.number(), test.tick());
            print_result(resolved.map(|comment| describe_comment(&comment)), seen);
        }
        "feedback" => {
            let (_, waits) = project.unheard_feedback(&rest.into()).unwrap();
            print_feedback(Some(waits.as_str()).filter(|waits| !waits.is_empty()), seen);
        }
        "take-feedback" => {
            let (channel, times) = (FeedbackChannel::TurnEnd, test.tick().into());
            let told = project.take_feedback(&rest.into(), channel, times).unwrap();
            print_feedback(told.as_ref().map(|(_, text)| text.as_str()), seen);
        }
        "forget" => {
            let path: Option<ProjectPath> = Some(rest).filter(|it| !it.is_empty()).map(path_of);
            let forgotten = project.forget_rejections(path.as_ref(), test.tick()).unwrap();
            let _ = writeln!(seen, "forgot {forgotten}");
        }
        "again" => print_again(&project, seen),
        _ => return false,
    }
    true
}

/// Plans the rejection of hunks.
pub(crate) fn plan_reject_hunks(
    test: &TestProject,
    project: &Project,
    words: &StepWords<'_>,
) -> Result<Plan, OperationError> {
    project.refresh(test.tick()).unwrap();
    let request = words.hunk_request(project)?;
    let options = words.options(retake_engine::CascadePolicy::Leave);
    let plan = project.plan_reject_places(&request, options, test.tick())?;
    Ok(plan.because(words.reason()))
}

impl StepWords<'_> {
    fn number(&self) -> u64 {
        self.0[0].parse().expect("a number")
    }

    /// `because=…`, with underscores for blanks.
    fn reason(&self) -> Option<String> {
        self.value("because").map(|reason| reason.replace('_', " "))
    }

    fn scope(&self, project: &Project) -> ReviewScope {
        let changes = if self.has("everything") {
            ScopeChanges::Everything
        } else if self.has("last-turn") {
            ScopeChanges::LastTurn
        } else if self.has("unseen") {
            ScopeChanges::SinceSeen
        } else if self.has("all") {
            ScopeChanges::AllAgents
        } else {
            ScopeChanges::Chosen(Box::new(self.selection(project)))
        };
        ReviewScope { approved: self.has("approved"), ..ReviewScope::of(changes) }
    }

    /// The hunks by their file and number there: `a.txt#2`, `a.txt#2:+1` for lines of it; all hunks of
    /// the scope if none are named.
    fn hunk_request(&self, project: &Project) -> Result<HunkRequest, OperationError> {
        let scope = self.scope(project);
        let files = files_of(&project.review(&scope)?);
        let named: Vec<_> = self.0.iter().filter_map(|word| word.split_once('#')).collect();
        let choice = |(path, rest): &(&str, &str)| {
            let (number, lines) =
                rest.split_once(':').map_or((*rest, None), |(n, lines)| (n, Some(lines)));
            let file = files.iter().find(|file| file.path.to_string() == *path);
            let file = file.unwrap_or_else(|| panic!("{path} is not in the review"));
            let number: usize = number.parse().expect("PATH#NUMBER");
            let hunk = file.hunks.get(number - 1);
            let hunk = hunk.unwrap_or_else(|| panic!("{path} has no hunk {number}"));
            let digest = (!self.has("no-digest")).then(|| file.digest.clone());
            HunkChoice { id: hunk.id, path: None, lines: lines.map(parse_lines), digest }
        };
        let hunks: Vec<_> = named.iter().map(choice).collect();
        Ok(HunkRequest { scope, all: hunks.is_empty(), hunks })
    }
}

/// `+1,-2`: lines that were added and removed, by their numbers in the hunk.
fn parse_lines(text: &str) -> HunkLines {
    let mut lines = HunkLines::default();
    for word in text.split(',') {
        let (side, number) = word.split_at(1);
        let side = if side == "+" { &mut lines.added } else { &mut lines.removed };
        side.insert(number.parse().expect("a line is +N or -N"));
    }
    lines
}

fn files_of(review: &Review<'_>) -> Vec<ReviewFile> {
    review.entries().iter().flat_map(|entry| review.files(entry).unwrap()).collect()
}

fn path_of(text: &str) -> ProjectPath {
    text.parse().unwrap()
}

fn decide(
    test: &TestProject,
    project: &Project,
    verb: &str,
    words: &StepWords<'_>,
    seen: &mut String,
) {
    project.refresh(test.tick()).unwrap();
    let done = words.hunk_request(project).and_then(|request| match verb {
        "keep" => project.keep_hunks(&request, test.tick()),
        _ => project.set_reviewed(&request, verb == "see", test.tick()),
    });
    let told = |done: retake_engine::ReviewedHunks| {
        let mut told = format!("{verb} {}", done.hunks.len());
        if !done.accepted.is_empty() {
            let accepted = calls_of(project, &done.accepted.into_iter().collect());
            let _ = write!(told, ", accepted {accepted}");
        }
        told
    };
    print_result(done.map(told), seen);
}

fn queue(test: &TestProject, project: &Project, words: &StepWords<'_>, seen: &mut String) {
    project.refresh(test.tick()).unwrap();
    let options = words.options(retake_engine::CascadePolicy::Leave);
    let queued = words.hunk_request(project).and_then(|request| {
        let working = project.working_dialogs(&request, test.tick(), &is_alive)?;
        let reason = words.reason();
        let queued = project.queue_rejection(&request, options, reason.as_deref(), test.tick())?;
        let working: Vec<_> = working.iter().map(ToString::to_string).collect();
        let ids: Vec<_> = queued.iter().map(|entry| entry.id.to_string()).collect();
        Ok(format!("queued {} while {} at work", ids.join(" "), working.join(" ")))
    });
    print_result(queued, seen);
}

/// Every process of a story is alive but those called `gone`.
fn is_alive(process: &ProcessKey) -> bool {
    process.started != "gone"
}

fn carry_out(test: &TestProject, project: &Project, seen: &mut String) {
    let settled = project.carry_out_rejections(test.tick(), &is_alive);
    match settled {
        Ok(settled) if settled.is_empty() => seen.push_str("nothing is due\n"),
        Ok(settled) => {
            for entry in settled {
                let why = entry.outcome.map_or_else(String::new, |why| format!(": {why}"));
                let _ = writeln!(seen, "{} {}{why}", entry.id, entry.state);
            }
        }
        Err(error) => print_error(&error, seen),
    }
}

fn print_queue(project: &Project, seen: &mut String) {
    let mut entries = project.queued_rejections(usize::MAX).unwrap();
    entries.reverse();
    for entry in entries {
        let dialogs: Vec<_> = entry.dialogs.iter().map(ToString::to_string).collect();
        let _ = write!(seen, "{} {} {} {}", entry.id, entry.path, entry.state, dialogs.join(" "));
        let more = [entry.outcome, entry.reason.map(|why| format!("because {why}"))];
        for more in more.into_iter().flatten() {
            let _ = write!(seen, ", {more}");
        }
        seen.push('\n');
    }
}

fn print_review(test: &TestProject, project: &Project, words: &StepWords<'_>, seen: &mut String) {
    project.refresh(test.tick()).unwrap();
    let review = match project.review(&words.scope(project)) {
        Ok(review) => review,
        Err(error) => return print_error(&error, seen),
    };
    if review.entries().is_empty() {
        seen.push_str("no files\n");
    }
    for entry in review.entries() {
        let files = review.files(entry).unwrap();
        if files.is_empty() {
            let _ = writeln!(seen, "{}\n  no hunks", entry.path);
        }
        print_files(project, &files, seen);
    }
    if !review.shared.is_empty() {
        let _ = writeln!(seen, "shared: {}", review.shared.len());
    }
}

fn print_files(project: &Project, files: &[ReviewFile], seen: &mut String) {
    for file in files {
        let from = if file.old_path == file.path {
            String::new()
        } else {
            format!(" from {}", file.old_path)
        };
        let _ = writeln!(seen, "{}{from}", file.path);
        for (at, hunk) in file.hunks.iter().enumerate() {
            print_hunk(project, at + 1, hunk, seen);
        }
    }
}

/// `  1 lines @3 -old +new by w1, reviewed`.
fn print_hunk(project: &Project, number: usize, hunk: &ReviewHunk, seen: &mut String) {
    let _ = write!(seen, "  {number} {}", hunk.kind);
    if matches!(hunk.kind, HunkKind::Lines | HunkKind::Entangled) {
        let _ = write!(seen, " @{}", hunk.new.start + 1);
    }
    for (sign, lines) in [('-', &hunk.removed), ('+', &hunk.added)] {
        for line in lines {
            let _ = write!(seen, " {sign}{}", line.trim_ascii_end().escape_ascii());
        }
    }
    let _ = write!(seen, " by {}", calls_of(project, &hunk.changes));
    if !hunk.blockers.is_empty() {
        let _ = write!(seen, ", under {}", calls_of(project, &hunk.blockers));
    }
    if hunk.reviewed {
        seen.push_str(", reviewed");
    }
    if !hunk.reviewed && !hunk.seen_lines.is_empty() {
        let _ = write!(seen, ", seen {}", describe_lines(&hunk.seen_lines));
    }
    if let Some(waits) = hunk.queued {
        let _ = write!(seen, ", queued {waits}");
    }
    if let Some(lines) = &hunk.queued_lines {
        let _ = write!(seen, " of {}", describe_lines(lines));
    }
    for operation in &hunk.again {
        let _ = write!(seen, ", again {operation}");
    }
    for comment in &hunk.comments {
        let _ = write!(seen, ", comment {comment}");
    }
    if hunk.id.ordinal > 0 {
        let _ = write!(seen, ", number {}", hunk.id.ordinal);
    }
    seen.push('\n');
}

/// `+1,+2,-1`.
fn describe_lines(lines: &HunkLines) -> String {
    let added = lines.added.iter().map(|number| format!("+{number}"));
    let removed = lines.removed.iter().map(|number| format!("-{number}"));
    added.chain(removed).collect::<Vec<_>>().join(",")
}

/// The calls that made changes; where there is none, who.
fn calls_of(project: &Project, changes: &BTreeSet<ChangeId>) -> String {
    let by = |id: &ChangeId| {
        let change = project.change(*id).unwrap().unwrap();
        change.call.map_or_else(|| change.actor.to_string(), |call| call.0)
    };
    changes.iter().map(by).collect::<Vec<_>>().join(" ")
}

/// `comment a.txt:2-3: TEXT`, `comment a.txt: TEXT`, `comment - : TEXT`, `comment HUNK…: TEXT`.
fn comment(test: &TestProject, project: &Project, verb: &str, rest: &str, seen: &mut String) {
    let (place, words) = rest.split_once(": ").expect("comment PLACE: TEXT");
    let kind = if verb == "question" { CommentKind::Question } else { CommentKind::Order };
    let dialog = None;
    let new = NewComment { place: comment_place(project, place), kind, text: words.into(), dialog };
    print_result(
        project.add_comment(&new, test.tick()).map(|comment| describe_comment(&comment)),
        seen,
    );
}

fn comment_place(project: &Project, place: &str) -> CommentPlace {
    if place.contains('#') {
        let words = StepWords::of(place);
        let mut request = words.hunk_request(project).unwrap();
        let hunk = request.hunks.remove(0);
        return CommentPlace::Hunk { scope: Box::new(request.scope), hunk };
    }
    match place.split_once(':') {
        Some((path, lines)) => {
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            let (first, last) = (first.parse().unwrap(), last.parse().unwrap());
            CommentPlace::Lines { path: path_of(path), first, last }
        }
        None if place == "-" => CommentPlace::Work,
        None => CommentPlace::File(path_of(place)),
    }
}

fn describe_comment(comment: &ReviewComment) -> String {
    let path = comment.path.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let dialog = comment.dialog.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let answer = comment.answer.iter().map(|answer| format!(", answer: {answer}"));
    let heard = comment.heard.iter().map(|_| ", heard".to_owned());
    let more: String = answer.chain(heard).collect();
    let ReviewComment { id, kind, state, text, .. } = comment;
    format!("#{id} {kind} {state} on {path} for {dialog}: {text}{more}")
}

fn print_comments(project: &Project, seen: &mut String) {
    for located in project.comments().unwrap() {
        let place = match &located {
            LocatedComment { lines: Some(lines), .. } => {
                format!(" at {}-{}", lines.start + 1, lines.end)
            }
            gone if gone.is_gone() => " whose lines are gone".to_owned(),
            _ => String::new(),
        };
        let _ = writeln!(seen, "{}{place}", describe_comment(&located.comment));
    }
}

/// Prints what the person says to an agent, if it is told something.
pub(crate) fn print_feedback(text: Option<&str>, seen: &mut String) {
    for line in text.unwrap_or("(nothing)").lines() {
        let _ = writeln!(seen, "> {line}");
    }
}

fn print_again(project: &Project, seen: &mut String) {
    let filter = retake_engine::ChangeFilter { oldest_first: true, ..Default::default() };
    for change in project.changes(&filter).unwrap() {
        let repeated = project.rejections_repeated_by(change.id).unwrap();
        if !repeated.is_empty() {
            let by = calls_of(project, &BTreeSet::from([change.id]));
            let operations: Vec<_> = repeated.iter().map(ToString::to_string).collect();
            let _ = writeln!(seen, "{by} brings {} again", operations.join(" "));
        }
    }
}

fn print_result(result: Result<String, OperationError>, seen: &mut String) {
    match result {
        Ok(text) => {
            let _ = writeln!(seen, "{text}");
        }
        Err(OperationError::StaleHunks(ids)) => {
            // Which they are follows from contents that a test does not want to name.
            let _: Vec<HunkId> = ids;
            seen.push_str("error: stale hunks\n");
        }
        Err(error) => print_error(&error, seen),
    }
}
