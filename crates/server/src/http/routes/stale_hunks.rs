//! The answer to an act on hunks that are others by now: the refusal, with the hunks as they are, so
//! that a user interface draws them again without another request.

use retake_engine::{
    CommentPlace, HunkRequest, NewComment, Project, Review, ReviewEntry, ReviewFile,
};
use retake_service::ApiError;
use retake_service::documents::{HunkPage, HunkRenderer, ReviewFilesDocument};

use super::super::AppState;
use super::super::caller::HttpCaller;
use super::super::error::ErrorResponse;
use super::masking;

/// Maximum number of files, and of bytes of changed lines, after which no further file is shown.
const MAX_FILES: usize = 20;
const MAX_LINE_BYTES: usize = 256 * 1024;
/// Maximum number of hunks.
const MAX_HUNKS: usize = 500;

/// Hunks that a request names, to be shown as they are if they are others now.
pub(super) struct NamedHunks {
    /// The name of the scope.
    pub(super) scope: String,
    pub(super) request: HunkRequest,
}

impl NamedHunks {
    /// The hunk that a comment is about, if it is about one.
    pub(super) fn of_comment(scope: String, comment: &NewComment) -> Option<Self> {
        let CommentPlace::Hunk { scope: resolved, hunk } = &comment.place else { return None };
        let (resolved, hunks) = (resolved.as_ref().clone(), vec![hunk.clone()]);
        let request = HunkRequest { scope: resolved, hunks, all: false };
        Some(Self { scope, request })
    }
}

impl AppState {
    /// Adds to a refusal of hunks that are others now how their files are.
    pub(super) async fn explain_stale<T>(
        &self,
        caller: &HttpCaller,
        project: String,
        hunks: NamedHunks,
        done: Result<T, ErrorResponse>,
    ) -> Result<T, ErrorResponse> {
        let refusal = match done {
            Err(refusal) if refusal.is_stale() => refusal,
            done => return done,
        };
        let NamedHunks { scope, request } = hunks;
        let reader = caller.comment_reader();
        let read = move |project: &Project| {
            let renderer = HunkRenderer::new(project, masking(project))?.read_by(reader);
            render_now(project, renderer, scope, &request)
        };
        let review = async { self.run_heavy(self.heavy.slot().await?, project, read).await };
        // The refusal is worth telling even if the files cannot be read.
        Err(match review.await {
            Ok(review) => refusal.with_review(review),
            Err(_) => refusal,
        })
    }
}

/// Shows the files of the named hunks; those of the scope, if a hunk was named without its file.
fn render_now(
    project: &Project,
    mut renderer: HunkRenderer<'_>,
    scope: String,
    request: &HunkRequest,
) -> Result<ReviewFilesDocument, ApiError> {
    let review = project.review(&request.narrowed_scope())?;
    let entries: Vec<&ReviewEntry> = review.entries().iter().collect();
    let (files, read) = read_files(&review, &entries)?;
    let page = HunkPage { first: 0, limit: MAX_HUNKS };
    let mut document = renderer.render_files(&review, scope, &files, page)?;
    document.more = (entries.len() - read) as u64;
    Ok(document)
}

/// Reads files until there is enough to show; returns them, and how many entries were read.
fn read_files(
    review: &Review<'_>,
    entries: &[&ReviewEntry],
) -> Result<(Vec<ReviewFile>, usize), ApiError> {
    let (mut files, mut bytes) = (Vec::new(), 0);
    for (number, entry) in entries.iter().enumerate() {
        if files.len() >= MAX_FILES || bytes > MAX_LINE_BYTES {
            return Ok((files, number));
        }
        for file in review.files(entry)? {
            let lines = file.hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.added));
            bytes += lines.map(Vec::len).sum::<usize>();
            files.push(file);
        }
    }
    Ok((files, entries.len()))
}
