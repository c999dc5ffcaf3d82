//! Paths in texts as setup shows them to people: `~` for the home folder.

use std::path::Path;

/// Replaces the home folder by `~` wherever the text names a path in it.
pub(super) fn with_tilde(text: &str, home: &Path) -> String {
    let Some(home) = home.to_str().filter(|home| home.len() > 1) else { return text.to_owned() };
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(home) {
        let (before, after) = (&rest[..at], &rest[at + home.len()..]);
        shown.push_str(before);
        let is_start = !shown.ends_with(|c: char| c.is_alphanumeric() || "/._-~".contains(c));
        let is_whole = !after.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        shown.push_str(if is_start && is_whole { "~" } else { home });
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_a_tilde_only_where_it_is_the_home() {
        let home = Path::new("/home/u");
        for (text, shown) in [
            ("/home/u/.claude/settings.json", "~/.claude/settings.json"),
            ("cannot read '/home/u/a': it leads to /home/u", "cannot read '~/a': it leads to ~"),
            ("/home/user/a /mnt/home/u/a", "/home/user/a /mnt/home/u/a"),
            ("/home/u/home/u/a", "~/home/u/a"),
        ] {
            assert_eq!(with_tilde(text, home), shown);
        }
        assert_eq!(with_tilde("/etc", Path::new("/")), "/etc");
    }
}
