//! A hunk, as it is shown before the question.

use anyhow::Result;
use retake_engine::Project;
use retake_service::review::CommentReader;

use super::walk::ShownHunk;
use crate::commands::review::hunk_lines::{HunkLineRenderer, ShownLines};
use crate::commands::review::hunk_words::{HunkWords, describe_file, describe_lines};
use crate::context::CommandContext;
use crate::layout::render_paragraph;
use crate::output::{Output, TextStyle};

/// Renders the hunks of a review one by one.
pub(super) struct HunkScreen<'a> {
    out: Output,
    words: HunkWords<'a>,
    lines: HunkLineRenderer,
}

impl<'a> HunkScreen<'a> {
    pub(super) fn new(context: &CommandContext, project: &'a Project) -> Result<Self> {
        let out = context.out;
        let (words, lines) =
            (HunkWords::new(project, CommentReader::Person)?, HunkLineRenderer::new(out.colour));
        Ok(Self { out, words, lines })
    }

    /// The hunk with its head: where it is, who made it, what is to be known of it.
    pub(super) fn render(&mut self, shown: &ShownHunk<'_>, lines: ShownLines) -> Result<String> {
        let ShownHunk { review, file, .. } = shown;
        let hunk = shown.hunk();
        let mut text = String::from("\n");
        let mut push = |words: &str, style| {
            if !words.is_empty() {
                text.push_str(&render_paragraph(words, "", style, self.out));
            }
        };
        let place = format!("{}, {}", describe_file(file), describe_lines(hunk));
        push(&place, TextStyle::Bold);
        push(&position(shown), TextStyle::Mark);
        push(&self.words.behind(review, hunk), TextStyle::Plain);
        for message in self.words.messages(review, hunk)? {
            push(&message, TextStyle::Dim);
        }
        let remarks = self.words.remarks(file, hunk)?;
        push(&remarks.text, remarks.style);
        text.push_str(&self.lines.render(file, hunk, lines));
        Ok(text)
    }
}

/// `h3f9a2c81d0e4, hunk 2 of 4, file 1 of 3`.
fn position(shown: &ShownHunk<'_>) -> String {
    let (id, number, hunks) = (shown.hunk().id, shown.at + 1, shown.file.hunks.len());
    let (file, files) = shown.file_number;
    let hunk = if hunks == 1 { String::new() } else { format!(", hunk {number} of {hunks}") };
    let file = if files == 1 { String::new() } else { format!(", file {file} of {files}") };
    format!("{id}{hunk}{file}")
}
