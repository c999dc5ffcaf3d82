//! The list of a review: its files and the hunks of each; where paths are named, with their lines.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{HunkKind, QueueState};
use retake_engine::shell::quoted;
use retake_engine::{Project, Review, ReviewFile, ReviewHunk, ScopeChanges};
use retake_service::Masking;
use retake_service::documents::{HunkRenderer, ReviewFileDocument, ReviewListDocument};
use serde::Serialize;

use super::carry_out_due;
use super::hunk_lines::{ALL_LINES, HunkLineRenderer};
use super::hunk_words::{HunkWords, count_file, describe_file, describe_lines, describe_progress};
use super::scope_words::ReviewTarget;
use crate::args::ReviewArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::{format_count, plural};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::output::TextStyle;

/// The list as HTTP tells it, with the hunks of all files.
#[derive(Debug, Serialize)]
struct ReviewDocument {
    #[serde(flatten)]
    list: ReviewListDocument,
    contents: Vec<ReviewFileDocument>,
}

pub(super) fn run(context: &CommandContext, options: &ReviewArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    carry_out_due(context, &project)?;
    let target = ReviewTarget::resolve(context, &project, options)?;
    let review = project.review(&target.scope)?;
    let files = files_of(&review)?;
    if context.json {
        let renderer = HunkRenderer::new(&project, Masking::Off)?.read_by(context.comment_reader());
        context.out.json(&document(renderer, &review, &files, target)?)?;
        return Ok(Exit::Done);
    }
    let words = HunkWords::new(&project, context.comment_reader())?;
    let list = ReviewListing { context, project: &project, review: &review, files: &files, words };
    context.out.paged(list.render(&target)?.as_bytes())?;
    Ok(Exit::Done)
}

/// The hunks of all files of a review.
fn files_of(review: &Review<'_>) -> Result<Vec<ReviewFile>> {
    let mut files = Vec::new();
    for entry in review.entries() {
        files.extend(review.files(entry)?);
    }
    Ok(files)
}

fn document(
    renderer: HunkRenderer<'_>,
    review: &Review<'_>,
    files: &[ReviewFile],
    target: ReviewTarget,
) -> Result<ReviewDocument> {
    let mut renderer = renderer.without_tokens();
    let list = renderer.render_list(review, target.name, None, usize::MAX)?;
    let contents = files.iter().map(|file| renderer.render_file(review, file));
    Ok(ReviewDocument { list, contents: contents.collect::<Result<_, _>>()? })
}

/// A review, as it is listed for people.
struct ReviewListing<'a> {
    context: &'a CommandContext,
    project: &'a Project,
    review: &'a Review<'a>,
    files: &'a [ReviewFile],
    words: HunkWords<'a>,
}

impl ReviewListing<'_> {
    fn render(&self, target: &ReviewTarget) -> Result<String> {
        let mut text = if self.files.is_empty() {
            empty_text(target)
        } else if target.has_paths {
            self.render_lines()?
        } else {
            self.render_table()?
        };
        if !self.files.is_empty() {
            text.push('\n');
            text.push_str(&self.render_totals());
        }
        text.push_str(&self.render_remarks()?);
        if self.files.iter().any(|file| file.unreviewed() > 0) {
            text.push_str(&self.render_next_steps(target));
        }
        Ok(text)
    }

    /// Each file with its hunks beneath it, a line each.
    fn render_table(&self) -> Result<String> {
        let mut table = TextTable::new([
            Column::WHOLE,
            Column::WHOLE,
            Column::WHOLE,
            Column::WHOLE,
            Column::TITLE.at_least(10),
            Column::WRAPPED.at_least(22),
        ]);
        for file in self.files {
            for hunk in &file.hunks {
                table.row(self.hunk_row(file, hunk)?);
            }
        }
        let mut rows = table.render_rows("  ", self.context.out).into_iter();
        let mut text = String::new();
        for file in self.files {
            text.push_str(&self.render_file_head(file));
            text.extend(rows.by_ref().take(file.hunks.len()));
        }
        Ok(text)
    }

    /// `src/shop.py  +12  -3  3 hunks, 2 not reviewed`.
    fn render_file_head(&self, file: &ReviewFile) -> String {
        let (added, removed) = count_file(file);
        let count = |sign: char, count: u64| match added + removed {
            0 => String::new(),
            _ => format!("{sign}{}", format_count(count)),
        };
        let progress = describe_progress(file);
        let mut head =
            TextTable::new([Column::PATH, Column::WHOLE, Column::WHOLE, Column::WRAPPED]);
        head.row([
            TableCell::new(describe_file(file), TextStyle::Bold),
            TableCell::new(count('+', added), TextStyle::Good),
            TableCell::new(count('-', removed), TextStyle::Bad),
            TableCell::new(progress.text, progress.style),
        ]);
        head.render("", self.context.out)
    }

    fn hunk_row(&self, file: &ReviewFile, hunk: &ReviewHunk) -> Result<[TableCell; 6]> {
        let (added, removed) = (hunk.added.len() as u64, hunk.removed.len() as u64);
        let has_lines = added + removed > 0 || hunk.kind == HunkKind::Lines;
        let count = |sign: char, count: u64| {
            if has_lines { format!("{sign}{}", format_count(count)) } else { String::new() }
        };
        let remarks = self.words.remarks(file, hunk)?;
        Ok([
            TableCell::new(hunk.id.to_string(), TextStyle::Mark),
            TableCell::new(describe_lines(hunk), TextStyle::Plain),
            TableCell::right(count('+', added), TextStyle::Good),
            TableCell::right(count('-', removed), TextStyle::Bad),
            TableCell::new(self.words.makers(self.review, hunk), TextStyle::Plain),
            TableCell::new(remarks.text, remarks.style),
        ])
    }

    /// Every hunk with its lines.
    fn render_lines(&self) -> Result<String> {
        let out = self.context.out;
        let mut renderer = HunkLineRenderer::new(out.colour);
        let mut text = String::new();
        for file in self.files {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&self.render_file_head(file));
            for hunk in &file.hunks {
                text.push('\n');
                text.push_str(&self.render_hunk_head(file, hunk)?);
                text.push_str(&renderer.render(file, hunk, ALL_LINES));
            }
        }
        Ok(text)
    }

    /// `h3f9a2c81d0e4  lines 12-18  claude-1:3  reviewed`.
    fn render_hunk_head(&self, file: &ReviewFile, hunk: &ReviewHunk) -> Result<String> {
        let remarks = self.words.remarks(file, hunk)?;
        let mut head = TextTable::new([
            Column::WHOLE,
            Column::WHOLE,
            Column::TITLE.at_least(10),
            Column::WRAPPED,
        ]);
        head.row([
            TableCell::new(hunk.id.to_string(), TextStyle::Mark),
            TableCell::new(describe_lines(hunk), TextStyle::Mark),
            TableCell::new(self.words.makers(self.review, hunk), TextStyle::Mark),
            TableCell::new(remarks.text, remarks.style),
        ]);
        Ok(head.render("", self.context.out))
    }

    /// `3 files, 5 hunks, 4 not reviewed`.
    fn render_totals(&self) -> String {
        let hunks: usize = self.files.iter().map(|file| file.hunks.len()).sum();
        let open: usize = self.files.iter().map(ReviewFile::unreviewed).sum();
        let open = match open {
            0 => "all reviewed".to_owned(),
            open => format!("{} not reviewed", format_count(open as u64)),
        };
        let files = plural(self.files.len() as u64, "file", "files");
        format!("{files}, {}, {open}\n", plural(hunks as u64, "hunk", "hunks"))
    }

    /// What waits elsewhere, and what is left out.
    fn render_remarks(&self) -> Result<String> {
        let mut lines = Vec::new();
        let shared = self.review.shared.len() as u64;
        if shared > 0 {
            let changes = plural(shared, "change is", "changes are");
            lines.push(format!(
                "{changes} left out, since an agent outside of this may have made them; \
                 `retake review` shows them"
            ));
        }
        let queue = self.project.queued_rejections(usize::MAX)?;
        let waiting = queue.iter().filter(|entry| entry.state == QueueState::Waiting).count();
        if waiting > 0 {
            let waiting = plural(waiting as u64, "rejection waits", "rejections wait");
            lines.push(format!("{waiting} for the end of a turn (`retake review --queue`)"));
        }
        let drafts = self.project.draft_comments()?;
        if drafts > 0 && self.context.comment_reader().is_person() {
            let drafts = plural(drafts, "comment is", "comments are");
            lines.push(format!("{drafts} not sent yet (`retake comment send`)"));
        }
        let lines = lines.iter().map(|line| {
            render_paragraph(&format!("{line}."), "", TextStyle::Warn, self.context.out)
        });
        Ok(lines.collect())
    }

    fn render_next_steps(&self, target: &ReviewTarget) -> String {
        let scope = if target.name == "all" { String::new() } else { format!(" {}", target.name) };
        let mut steps = TextTable::new([Column::WHOLE, Column::WRAPPED]);
        let mut step = |command: &str, what: &str| {
            steps.row([
                TableCell::new(escape(command), TextStyle::Mark),
                TableCell::new(what, TextStyle::Plain),
            ]);
        };
        let paths = match target.scope.paths.as_slice() {
            [] => String::new(),
            [path] if self.context.cwd == self.project.root() => {
                format!(" {}", quoted(&String::from_utf8_lossy(path.as_bytes())))
            }
            _ => " PATH…".to_owned(),
        };
        step(&format!("retake review{scope}{paths} -p"), "decide on them one by one");
        step("retake accept h…", "keep one");
        step("retake reject h… --reason …", "take one back; your own edits stay");
        let mut text = String::from("\n");
        let _ = write!(text, "{}", steps.render("  ", self.context.out));
        text
    }
}

/// What is said where a review has no hunks.
pub(super) fn empty_text(target: &ReviewTarget) -> String {
    let scope = escape(&target.name);
    let nothing = match (&target.scope.changes, target.has_paths) {
        (_, true) => format!("No hunk of '{scope}' is in these files.\n"),
        (ScopeChanges::AllAgents, false) => {
            "Nothing of an agent waits for your review.\n".to_owned()
        }
        (ScopeChanges::SinceSeen, false) => {
            "No agent has changed anything since you closed a review.\n".to_owned()
        }
        (ScopeChanges::LastTurn, false) => "No turn of an agent is in the files.\n".to_owned(),
        _ => format!("Nothing of '{scope}' is in the files.\n"),
    };
    let approved = if target.scope.approved { "" } else { ", --approved what was approved" };
    let more = match target.scope.changes {
        ScopeChanges::Everything => "`retake log --all` lists what is on record".to_owned(),
        ScopeChanges::AllAgents => {
            format!("`retake review everything` shows your own lines, too{approved}")
        }
        _ => format!("`retake review` shows what waits of all agents{approved}"),
    };
    format!("{nothing}{more}.\n")
}
