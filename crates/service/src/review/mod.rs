//! What every face of a review has in common: how a scope is named, and its texts for others.

mod patch;
mod report;
mod scope_name;

pub use patch::kept_patch;
pub use report::{ReportOptions, render_report};
pub use scope_name::{SCOPE_FORMS, find_scope, format_scope};
