//! A review as Markdown: what was asked, what was done, by whom, and how it was decided.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use retake_engine::model::foreign_text::{escape_text, quote_name};
use retake_engine::model::{ChangeId, CommentState, DialogId, HunkKind, ProjectPath};
use retake_engine::{Project, Review, ReviewFile, ReviewHunk};

use super::CommentReader;
use super::report_scope::ReportScope;
use crate::describe::{DialogNames, FormatName};
use crate::{ApiError, Masking};

/// Maximum characters of a message that are quoted.
const MAX_MESSAGE_CHARS: usize = 400;

/// What a report shows.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    /// Whether secrets are masked.
    pub masking: Masking,
    /// How names are shown.
    pub show: FormatName,
}

/// Writes the report of a scope.
pub fn render_report(
    project: &Project,
    review: &Review<'_>,
    options: ReportOptions,
) -> Result<String, ApiError> {
    render_report_for(project, review, options, &CommentReader::Person)
}

/// The same with the comments that this reader sees.
pub fn render_report_for(
    project: &Project,
    review: &Review<'_>,
    options: ReportOptions,
    reader: &CommentReader,
) -> Result<String, ApiError> {
    let names = DialogNames::load(project, options.show)?;
    let scope = ReportScope::of(project, review)?;
    let mut report = Report { project, review, scope, names, options, reader, text: String::new() };
    report.write()?;
    Ok(report.text)
}

struct Report<'a> {
    project: &'a Project,
    review: &'a Review<'a>,
    scope: ReportScope<'a>,
    names: DialogNames,
    options: ReportOptions,
    reader: &'a CommentReader,
    text: String,
}

impl Report<'_> {
    fn write(&mut self) -> Result<(), ApiError> {
        self.text.push_str("# Review\n\n");
        self.write_asked()?;
        self.text.push_str("## Changed\n\n");
        let mut files = Vec::new();
        for entry in self.review.entries() {
            files.extend(self.review.files(entry)?);
        }
        if files.is_empty() {
            self.text.push_str("Nothing of this is in the files now.\n\n");
        }
        for file in &files {
            self.write_file(file)?;
        }
        self.write_rejections()?;
        self.write_comments()
    }

    /// The messages behind the changes.
    fn write_asked(&mut self) -> Result<(), ApiError> {
        let mut turns: BTreeMap<(DialogId, u64), ChangeId> = BTreeMap::new();
        for entry in self.review.entries() {
            for change in entry.changes.iter().filter_map(|id| self.review.change(*id)) {
                if let (Some(dialog), Some(turn)) = (&change.dialog, change.turn) {
                    turns.entry((dialog.clone(), turn)).or_insert(change.id);
                }
            }
        }
        if turns.is_empty() {
            return Ok(());
        }
        self.text.push_str("## Asked\n\n");
        for (dialog, turn) in turns.into_keys() {
            let name = self.names.dialog(&dialog);
            let said = self.project.message_of_turn(&dialog, turn)?;
            let said = said.map(|message| self.quote(&message.text));
            let said = said.unwrap_or_else(|| "(before the first message)".to_owned());
            let _ = writeln!(self.text, "- {name}, message {turn}: {said}");
        }
        self.text.push('\n');
        Ok(())
    }

    fn write_file(&mut self, file: &ReviewFile) -> Result<(), ApiError> {
        let _ = write!(self.text, "### {}", describe_path(file));
        let count = |of: fn(&ReviewHunk) -> usize| file.hunks.iter().map(of).sum::<usize>();
        let (added, removed) = (count(|hunk| hunk.added.len()), count(|hunk| hunk.removed.len()));
        let _ = writeln!(self.text, " (+{added} −{removed})\n");
        for hunk in &file.hunks {
            self.write_hunk(hunk)?;
        }
        self.text.push('\n');
        Ok(())
    }

    fn write_hunk(&mut self, hunk: &ReviewHunk) -> Result<(), ApiError> {
        let lines = |range: &std::ops::Range<usize>| match range.len() {
            0 => format!("after line {}", range.start),
            1 => format!("line {}", range.start + 1),
            _ => format!("lines {}–{}", range.start + 1, range.end),
        };
        let place = match hunk.kind {
            HunkKind::Lines | HunkKind::Entangled => lines(&hunk.new),
            HunkKind::Create => "the file is new".to_owned(),
            HunkKind::Delete => "the file is gone".to_owned(),
            HunkKind::Rename => "the file was moved".to_owned(),
            HunkKind::Mode => "permissions".to_owned(),
            HunkKind::Link => "where the link points".to_owned(),
            HunkKind::Binary => "binary content".to_owned(),
            HunkKind::TooLarge => "content that is too large to compare".to_owned(),
        };
        let mut makers: Vec<String> = Vec::new();
        for change in hunk.changes.iter().filter_map(|id| self.review.change(*id)) {
            let model = change.model.as_ref().map(|model| format!(", {}", escape_text(model)));
            let (maker, sure) = (self.names.maker(change), change.confidence.as_str());
            let maker = format!("{maker}{} ({sure})", model.unwrap_or_default());
            if !makers.contains(&maker) {
                makers.push(maker);
            }
        }
        let decided = match (hunk.reviewed, hunk.queued) {
            (_, Some(_)) => "rejection waits",
            (true, None) => "kept",
            (false, None) => "not reviewed",
        };
        let (added, removed) = (hunk.added.len(), hunk.removed.len());
        let _ = write!(self.text, "- {place}, +{added} −{removed}: {decided}");
        let _ = write!(self.text, "; by {}", makers.join(", "));
        if hunk.kind == HunkKind::Entangled {
            self.text.push_str("; later changes build on it");
        }
        for rejection in &hunk.again {
            let reason = self.project.rejection_reason(*rejection)?;
            let reason = reason.map(|reason| format!(": {}", self.quote(&reason)));
            let _ = write!(self.text, "; was rejected before{}", reason.unwrap_or_default());
        }
        self.text.push('\n');
        Ok(())
    }

    /// The person's rejections that took out work of the scope, and stand.
    fn write_rejections(&mut self) -> Result<(), ApiError> {
        let mut rejections = Vec::new();
        for (operation, reason) in self.project.rejections()? {
            if self.scope.has_rejection(&operation)? {
                rejections.push((operation, reason));
            }
        }
        if rejections.is_empty() {
            return Ok(());
        }
        self.text.push_str("## Rejected\n\n");
        for (operation, reason) in rejections {
            let title = escape_text(self.options.masking.mask_text(&operation.title).as_bytes());
            let reason = reason.map(|reason| format!(": {}", self.quote(&reason)));
            let _ = writeln!(self.text, "- {title}{}", reason.unwrap_or_default());
        }
        self.text.push('\n');
        Ok(())
    }

    fn write_comments(&mut self) -> Result<(), ApiError> {
        let mut comments = self.project.comments()?;
        comments.retain(|located| {
            let comment = &located.comment;
            let is_told = comment.state != CommentState::Draft && self.reader.sees(comment);
            is_told && self.scope.has_comment(comment)
        });
        if comments.is_empty() {
            return Ok(());
        }
        self.text.push_str("## Comments\n\n");
        for located in &comments {
            let comment = &located.comment;
            let place = match (&comment.path, &located.lines) {
                (Some(path), Some(lines)) => {
                    format!("{}:{}", quote_name(path.as_bytes()), lines.start + 1)
                }
                (Some(path), None) => quote_name(path.as_bytes()),
                (None, _) => "in general".to_owned(),
            };
            let (text, state) = (self.quote(&comment.text), comment.state);
            let _ = write!(self.text, "- {place}: {text} ({state})");
            let answer = comment.answer.as_ref().map(|answer| self.quote(answer));
            let _ = writeln!(
                self.text,
                "{}",
                answer.map_or_else(String::new, |answer| format!("; answer: {answer}"))
            );
        }
        self.text.push('\n');
        Ok(())
    }

    /// Foreign words on one line, cut if they are long.
    fn quote(&self, text: &str) -> String {
        let text = escape_text(self.options.masking.mask_text(text).as_bytes());
        let words: Vec<&str> = text.split_whitespace().collect();
        let line = words.join(" ");
        let cut: String = line.chars().take(MAX_MESSAGE_CHARS).collect();
        let more = if cut.len() < line.len() { "…" } else { "" };
        format!("“{cut}{more}”")
    }
}

/// The path of a file, also the one that it would have without the changes.
fn describe_path(file: &ReviewFile) -> String {
    let show = |path: &ProjectPath| quote_name(path.as_bytes());
    if file.old_path == file.path {
        return show(&file.path);
    }
    format!("{} → {}", show(&file.old_path), show(&file.path))
}
