//! What every face of a review has in common: how scopes and lines are named, who sees comments,
//! and its texts for others.

mod comment_reader;
mod hunk_lines;
mod patch;
mod report;
mod report_scope;
mod scope_name;

pub use comment_reader::CommentReader;
pub use hunk_lines::{format_hunk_lines, parse_hunk_lines};
pub use patch::{LeftOutFile, LeftOutReason, ShownPatch, shown_patch};
pub use report::{ReportOptions, render_report, render_report_for};
pub use scope_name::{SCOPE_FORMS, find_scope, format_scope};
