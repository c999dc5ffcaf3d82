//! The few settings of git that matter here, read from its configuration files.
//!
//! Known limits: includes (`[include]`, `[includeIf]`) and the system-wide file
//! are not followed, since a wrong guess only means that more files are tracked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::read::read_whole_path;

const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// The user's global ignore file: `core.excludesFile` of `~/.gitconfig` or
/// `$XDG_CONFIG_HOME/git/config`, else git's default place. It need not exist.
pub fn global_excludes(home: Option<&Path>, xdg_config_home: Option<&Path>) -> Option<PathBuf> {
    global_file(home, xdg_config_home, b"excludesfile", "ignore")
}

/// The user's global attributes: `core.attributesFile`, else git's default place.
pub fn global_attributes(home: Option<&Path>, xdg_config_home: Option<&Path>) -> Option<PathBuf> {
    global_file(home, xdg_config_home, b"attributesfile", "attributes")
}

fn global_file(
    home: Option<&Path>,
    xdg_config_home: Option<&Path>,
    key: &[u8],
    default: &str,
) -> Option<PathBuf> {
    let xdg = match xdg_config_home.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => Some(folder.join("git")),
        None => home.map(|home| home.join(".config/git")),
    };
    // The later file wins.
    let files =
        [home.map(|home| home.join(".gitconfig")), xdg.as_ref().map(|xdg| xdg.join("config"))];
    files
        .into_iter()
        .flatten()
        .find_map(|file| file_named_in(&file, key, home))
        .or_else(|| Some(xdg?.join(default)))
}

/// `core.excludesFile` of the repository itself, which wins over the global one.
pub fn local_excludes(root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    local_file(root, home, b"excludesfile")
}

/// `core.attributesFile` of the repository itself, which wins over the global one.
pub fn local_attributes(root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    local_file(root, home, b"attributesfile")
}

fn local_file(root: &Path, home: Option<&Path>, key: &[u8]) -> Option<PathBuf> {
    let repository = super::GitDirs::find(root)?;
    let file = file_named_in(&repository.common_dir.join("config"), key, home)?;
    Some(root.join(file))
}

fn file_named_in(config: &Path, key: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    let text = read_whole_path(config, MAX_CONFIG_BYTES).ok()?;
    let value = config_value(&text, b"core", key)?;
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(home?.join(OsStr::from_bytes(rest))),
        None if value.is_empty() => None,
        None => Some(PathBuf::from(OsStr::from_bytes(&value))),
    }
}

/// The last value of `section.key`; both names in lower case.
pub(super) fn config_value(text: &[u8], section: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut here = false;
    let mut last = None;
    for line in logical_lines(text) {
        let mut line = line.trim_ascii();
        if let Some(rest) = line.strip_prefix(b"[") {
            let Some(end) = rest.iter().position(|&b| b == b']') else {
                continue;
            };
            here = rest[..end].trim_ascii().eq_ignore_ascii_case(section);
            line = rest[end + 1..].trim_ascii();
        }
        let Some(equals) = line.iter().position(|&b| b == b'=').filter(|_| here) else {
            continue;
        };
        if line[..equals].trim_ascii().eq_ignore_ascii_case(key) {
            last = Some(unquote(line[equals + 1..].trim_ascii()));
        }
    }
    last
}

/// Lines with those joined that end in a backslash.
fn logical_lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut continued = false;
    for line in text.split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (line, more) = match line.strip_suffix(b"\\") {
            Some(line) if !line.ends_with(b"\\") => (line, true),
            _ => (line, false),
        };
        match lines.last_mut().filter(|_| continued) {
            Some(last) => last.extend_from_slice(line),
            None => lines.push(line.to_vec()),
        }
        continued = more;
    }
    lines
}

/// A value without its quotes, escapes and comment.
fn unquote(text: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    // Blanks outside quotes count only between words.
    let mut kept = 0;
    let mut quoted = false;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'#' | b';' if !quoted => break,
            b'\\' => value.extend(bytes.next().map(|escaped| match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                b'b' => 8,
                other => other,
            })),
            _ => value.push(byte),
        }
        if quoted || !matches!(byte, b' ' | b'\t') {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let text = br#"
[core] ; comment
	excludesFile = "~/a b"  # comment
[core "sub"]
	excludesfile = wrong
[alias]
	excludesfile = wrong
[Core]
	EXCLUDESFILE = one \
two	; comment
"#;
        assert_eq!(config_value(text, b"core", b"excludesfile").unwrap(), b"one two");
        let first = &text[..text.iter().position(|&b| b == b'"').unwrap() + 20];
        assert_eq!(config_value(first, b"core", b"excludesfile").unwrap(), b"~/a b");
        assert_eq!(config_value(b"[core] a = \"x # y\" z", b"core", b"a").unwrap(), b"x # y z");
        assert_eq!(config_value(b"[core\na = b", b"core", b"a"), None);
    }

    #[test]
    fn the_global_file_is_found_where_git_finds_it() {
        let temp = tempfile::tempdir().unwrap();
        let (home, xdg) = (temp.path().join("home"), temp.path().join("xdg"));
        retake_seam::fs::create_private_dir_all(&home).unwrap();
        retake_seam::fs::create_private_dir_all(&xdg.join("git")).unwrap();
        let found = |xdg: Option<&Path>| global_excludes(Some(&home), xdg).unwrap();

        assert_eq!(found(None), home.join(".config/git/ignore"));
        assert_eq!(found(Some(Path::new(""))), home.join(".config/git/ignore"));
        assert_eq!(found(Some(&xdg)), xdg.join("git/ignore"));
        retake_seam::fs::write_unsynced(&xdg.join("git/config"), b"[core]\nexcludesfile=/x")
            .unwrap();
        assert_eq!(found(Some(&xdg)), Path::new("/x"));
        retake_seam::fs::write_unsynced(&home.join(".gitconfig"), b"[core]\nexcludesfile=~/y")
            .unwrap();
        assert_eq!(found(Some(&xdg)), home.join("y"));
        assert_eq!(global_excludes(None, None), None);
    }
}
