//! Shell globs, as far as they choose paths of a project.

use gix_glob::wildmatch::Mode;

/// Whether a path matches a glob; `*` and `?` stop at `/`, as in a shell.
pub fn glob_matches(pattern: &[u8], path: &[u8]) -> bool {
    gix_glob::wildmatch(pattern.into(), path.into(), Mode::NO_MATCH_SLASH_LITERAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stop_at_slashes() {
        assert!(glob_matches(b"src/*.tmp", b"src/a.tmp"));
        assert!(!glob_matches(b"src/*.tmp", b"src/x/a.tmp"));
        assert!(glob_matches(b"[ab]?", b"bz"));
    }
}
