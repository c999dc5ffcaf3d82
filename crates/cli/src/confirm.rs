//! Confirmation before something that cannot be taken back.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Result;
use retake_engine::model::ErrorCode;

use crate::escape::escape_text;
use crate::failure::ApiError;

/// Asks the person for a yes. Without a terminal it is an error: silence is no consent.
pub(crate) fn confirm(question: &str) -> Result<bool> {
    let stdin = io::stdin();
    let mut stderr = io::stderr().lock();
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Err(ApiError::new(
            ErrorCode::NeedsYes,
            "this cannot be taken back, and there is nobody to ask",
            "look at it with --dry-run, then pass --yes",
        )
        .into());
    }
    write!(stderr, "{} [y/N] ", escape_text(question))?;
    stderr.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
