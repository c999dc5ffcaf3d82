//! Diffs, as text in git's format and as lines for a user interface.
//!
//! Invariants: a difference is read once for all of its forms. With limits, a document holds a page
//! of the lines, each page is a patch with right headers of its own, and what is cut off is told.

use retake_engine::model::PathState;
use retake_engine::{
    self as engine, DiffBody, DiffContents, DiffOptions, LineEndings, NetFileChange, Project,
    StoreError, WhitespaceRule, changed_words_of_diff,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SideDocument;
use super::diff_hunks::{DiffHunk, hunks, without_carriage_returns};
use super::diff_page::{DiffCursor, DiffLimits, LinesPage};
use super::path::{LocatePaths as _, PathName, hex_if_needed};
use crate::syntax::{DiffHighlighter, LineTokens};
use crate::{FileContent, Masking, patch};

/// Differences, file by file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Diffs)]
pub struct DiffList {
    /// The files.
    pub files: Vec<FileDiffDocument>,
}

/// The difference that was made to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FileDiff)]
pub struct FileDiffDocument {
    /// The path after.
    #[serde(flatten)]
    pub path: PathName,
    /// The path before.
    pub old_path: String,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// The state before; null if the file did not exist.
    pub before: Option<SideDocument>,
    /// The state after; null if the file is gone.
    pub after: Option<SideDocument>,
    /// `lines`, or why there are none: `binary`, `too_large`, `not_captured`.
    #[schema(example = "lines")]
    pub body: String,
    /// Lines added, in all pages.
    pub added: Option<u64>,
    /// Lines removed, in all pages.
    pub removed: Option<u64>,
    /// How the lines end on both sides; null if there are no lines.
    pub line_endings: Option<LineEndingsDocument>,
    /// The difference in git's form; of one page, if there are several.
    pub diff: String,
    /// Whether git applies that text as it is: it has lines, and nothing is ignored, masked or cut
    /// off in it.
    pub exact: bool,
    /// The same by lines, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<DiffHunk>>,
    /// Whether the lines have tokens: asked for, in a language that is known, and not too long.
    #[serde(default)]
    pub highlighted: bool,
    /// Whether something is cut off: lines before or after this page, or the ends of long lines.
    #[serde(default)]
    pub truncated: bool,
    /// What to send as `cursor` for the lines that follow; null if these are the last.
    #[serde(default)]
    pub next: Option<String>,
}

/// How the lines of both sides end: `lf`, `crlf`, `mixed`, or `none` without any newline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = LineEndings)]
pub struct LineEndingsDocument {
    /// Before.
    #[schema(example = "lf")]
    pub before: String,
    /// After.
    #[schema(example = "crlf")]
    pub after: String,
}

/// What a difference is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffForm {
    /// As text alone.
    #[default]
    Unified,
    /// Also by lines, with changed words and highlighting.
    Structured,
}

/// How differences are compared and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffView {
    /// How lines are compared, and how many are shown around what differs.
    pub options: DiffOptions,
    /// What is written.
    pub form: DiffForm,
    /// Marks the changed words of lines.
    pub words: bool,
    /// Highlights lines in the file's language.
    pub tokens: bool,
    /// The page; everything if there is none.
    pub limits: Option<DiffLimits>,
}

impl From<DiffForm> for DiffView {
    /// Everything, compared as git does.
    fn from(form: DiffForm) -> Self {
        Self { options: DiffOptions::default(), form, words: true, tokens: true, limits: None }
    }
}

/// Writes the differences of one request.
#[derive(Debug)]
pub struct DiffRenderer<'a> {
    project: &'a Project,
    view: DiffView,
    masking: Masking,
    syntax: DiffHighlighter,
}

impl<'a> DiffRenderer<'a> {
    /// For differences in a project.
    pub fn new(project: &'a Project, view: impl Into<DiffView>, masking: Masking) -> Self {
        Self { project, view: view.into(), masking, syntax: DiffHighlighter::default() }
    }

    /// For the difference of one file, of which more is highlighted.
    pub fn for_one_file(project: &'a Project, view: DiffView, masking: Masking) -> Self {
        Self { syntax: DiffHighlighter::for_one_file(), ..Self::new(project, view, masking) }
    }

    /// Several differences.
    pub fn render_files(&mut self, diffs: &[engine::FileDiff]) -> Result<DiffList, StoreError> {
        let files: Result<_, _> = diffs.iter().map(|diff| self.render_file(diff)).collect();
        Ok(DiffList { files: files? })
    }

    /// One difference, whose lines are compared already.
    pub fn render_file(&mut self, diff: &engine::FileDiff) -> Result<FileDiffDocument, StoreError> {
        let contents = self.project.diff_contents(&diff.before, &diff.after)?;
        self.render(diff.clone(), &contents)
    }

    /// The difference that a net change made.
    pub fn render_net(&mut self, net: &NetFileChange) -> Result<FileDiffDocument, StoreError> {
        let contents = self.project.diff_contents(&net.before, &net.after)?;
        let diff = engine::FileDiff {
            old_path: net.old_path.clone(),
            path: net.path.clone(),
            before: net.before,
            after: net.after,
            body: contents.compare(&self.view.options),
        };
        self.render(diff, &contents)
    }

    fn render(
        &mut self,
        mut diff: engine::FileDiff,
        contents: &DiffContents,
    ) -> Result<FileDiffDocument, StoreError> {
        let (body, counts) = match &diff.body {
            DiffBody::Lines(lines) => ("lines", Some(patch::count_lines(lines))),
            DiffBody::Binary => ("binary", None),
            DiffBody::TooLarge => ("too_large", None),
            DiffBody::NotCaptured => ("not_captured", None),
        };
        let page = self.take_page(&mut diff, contents)?;
        let (hunks, highlighted) = self.hunks(&diff, contents, &page);
        let tag = DiffCursor::tag(&diff.before, &diff.after, &self.view.options);
        Ok(FileDiffDocument {
            path: PathName::from(&diff.path).located(self.project.root()),
            old_path: diff.old_path.to_string(),
            old_path_hex: hex_if_needed(&diff.old_path),
            before: SideDocument::of(&diff.before),
            after: SideDocument::of(&diff.after),
            body: body.to_owned(),
            added: counts.map(|counts| counts.0),
            removed: counts.map(|counts| counts.1),
            line_endings: counts.and_then(|_| LineEndingsDocument::of(contents)),
            diff: self.text(&diff, page.is_whole)?,
            exact: counts.is_some() && page.is_whole && !page.is_masked && self.is_exact(contents),
            hunks,
            highlighted,
            truncated: !page.is_whole,
            next: page.next.map(|line| DiffCursor { line, tag }.to_string()),
        })
    }

    /// Reduces the lines of a difference to a page, without secrets.
    fn take_page(
        &self,
        diff: &mut engine::FileDiff,
        contents: &DiffContents,
    ) -> Result<LinesPage, StoreError> {
        let DiffBody::Lines(lines) = &mut diff.body else { return Ok(LinesPage::default()) };
        let mut page = match self.view.limits {
            Some(limits) => limits.take_page(lines),
            None => LinesPage::default(),
        };
        if let DiffContents::Both { before, after } = contents
            && self.masking == Masking::On
        {
            let exact = lines.clone();
            let old = self.masking.masking_path(self.project, &diff.old_path, &diff.before)?;
            let new = self.masking.masking_path(self.project, &diff.path, &diff.after)?;
            let secret = self.masking.secret_name([&old, &new]);
            let (old, new) = (secret.unwrap_or(&old), secret.unwrap_or(&new));
            let old_side = FileContent { path: old, bytes: before };
            let new_side = FileContent { path: new, bytes: after };
            self.masking.mask_diff(old_side, new_side, lines);
            page.is_masked = *lines != exact;
        }
        if self.view.limits.is_some() {
            DiffLimits::cut_long_lines(lines, &mut page);
        }
        Ok(page)
    }

    fn text(&self, diff: &engine::FileDiff, is_whole: bool) -> Result<String, StoreError> {
        let kind = |side: &PathState| side.known().map(|state| state.kind);
        let changes_kind = matches!(
            (kind(&diff.before), kind(&diff.after)),
            (Some(before), Some(after)) if before != after
        );
        if !(changes_kind && is_whole) {
            return Ok(String::from_utf8_lossy(&patch::render_patch(diff)).into_owned());
        }
        let mut text = Vec::new();
        for mut part in patch::split_for_git(self.project, diff)? {
            let contents = self.project.diff_contents(&part.before, &part.after)?;
            self.take_page(&mut part, &contents)?;
            text.extend(patch::render_patch(&part));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns true if the comparison ignored nothing that is there.
    fn is_exact(&self, contents: &DiffContents) -> bool {
        let DiffOptions { whitespace, ignore_blank_lines, ignore_line_endings, .. } =
            self.view.options;
        let same_endings = || match contents {
            DiffContents::Both { before, after } => {
                let (before, after) = (LineEndings::of(before), LineEndings::of(after));
                let is_plain = before == after && before != LineEndings::Mixed;
                is_plain || [before, after].contains(&LineEndings::None)
            }
            DiffContents::TooLarge | DiffContents::NotCaptured => true,
        };
        whitespace == WhitespaceRule::Exact
            && !ignore_blank_lines
            && (!ignore_line_endings || same_endings())
    }

    fn hunks(
        &mut self,
        diff: &engine::FileDiff,
        contents: &DiffContents,
        page: &LinesPage,
    ) -> (Option<Vec<DiffHunk>>, bool) {
        let (DiffBody::Lines(lines), DiffForm::Structured) = (&diff.body, self.view.form) else {
            return (None, false);
        };
        let normalised = self.view.options.ignore_line_endings;
        let shown = normalised.then(|| without_carriage_returns(lines));
        let lines = shown.as_deref().unwrap_or(lines);
        let tokens = self.tokens(diff, contents, lines);
        let highlighted = tokens.is_some();
        let tokens = tokens.unwrap_or_else(|| vec![LineTokens::new(); lines.len()]);
        let words = if self.view.words {
            changed_words_of_diff(lines)
        } else {
            vec![engine::WordRanges::new(); lines.len()]
        };
        (Some(hunks(lines, words.into_iter().zip(tokens), page)), highlighted)
    }

    fn tokens(
        &mut self,
        diff: &engine::FileDiff,
        contents: &DiffContents,
        lines: &[engine::DiffLine],
    ) -> Option<Vec<LineTokens>> {
        let DiffContents::Both { after, .. } = contents else { return None };
        if !self.view.tokens || patch::is_of_links(diff) {
            return None;
        }
        let old = self.masking.masking_path(self.project, &diff.old_path, &diff.before).ok()?;
        let new = self.masking.masking_path(self.project, &diff.path, &diff.after).ok()?;
        let name = self.masking.secret_name([&old, &new]).unwrap_or(&new);
        let after = self.masking.mask_bytes(name, after.clone());
        self.syntax.tokens(diff.path.as_bytes(), &after, lines)
    }
}

impl LineEndingsDocument {
    fn of(contents: &DiffContents) -> Option<Self> {
        let DiffContents::Both { before, after } = contents else { return None };
        let name = |bytes: &[u8]| LineEndings::of(bytes).as_str().to_owned();
        Some(Self { before: name(before), after: name(after) })
    }
}
