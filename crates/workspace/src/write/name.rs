//! Names of temporary files ("temps"): `.retake-<tag>.tmp`.
//!
//! A temp has at most one sibling, the spare `.retake-<tag>~.tmp`, which holds
//! a displaced file for a moment where the file system cannot exchange two names.

use retake_model::ProjectPath;

const TEMP_PREFIX: &[u8] = b".retake-";
const TEMP_SUFFIX: &[u8] = b".tmp";
/// Marks the spare; no tag can hold it.
const SPARE_MARK: u8 = b'~';
/// Maximum bytes of a tag: leaves room in a name of 255 bytes, or of 143 on encrypted folders.
const MAX_TAG_BYTES: usize = 100;

/// Returns `true` for the name of a temp or of its spare.
///
/// Such a name may hold the only copy of what an interrupted operation
/// displaced: never remove one that the journal does not explain.
pub fn is_temp_name(name: &[u8]) -> bool {
    tag_of(name).is_some()
}

/// The temp's name for a tag; `None` if the tag cannot be part of one.
pub(super) fn temp_name(tag: &str) -> Option<Vec<u8>> {
    is_tag(tag.as_bytes()).then(|| [TEMP_PREFIX, tag.as_bytes(), TEMP_SUFFIX].concat())
}

/// The name of a temp's spare; `None` of anything but a temp.
pub(super) fn spare_name(temp: &[u8]) -> Option<Vec<u8>> {
    let (tag, is_spare) = tag_of(temp)?;
    (!is_spare).then(|| [TEMP_PREFIX, tag, &[SPARE_MARK], TEMP_SUFFIX].concat())
}

/// The path of a temp's spare: where a displaced file is for a moment on file systems that
/// cannot exchange two names.
pub fn spare_of(temp: &ProjectPath) -> Option<ProjectPath> {
    let name = spare_name(temp.file_name())?;
    match temp.parent() {
        Some(folder) => folder.child(&name).ok(),
        None => ProjectPath::new(name).ok(),
    }
}

fn tag_of(name: &[u8]) -> Option<(&[u8], bool)> {
    let inner = name.strip_prefix(TEMP_PREFIX)?.strip_suffix(TEMP_SUFFIX)?;
    let (tag, is_spare) = match inner.strip_suffix(&[SPARE_MARK]) {
        Some(tag) => (tag, true),
        None => (inner, false),
    };
    is_tag(tag).then_some((tag, is_spare))
}

fn is_tag(tag: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=MAX_TAG_BYTES).contains(&tag.len()) && tag.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_with_a_plain_tag_are_temps() {
        for good in [".retake-a.tmp", ".retake-Op_7-12.tmp", ".retake-a~.tmp"] {
            assert!(is_temp_name(good.as_bytes()), "{good}");
        }
        let long = format!(".retake-{}.tmp", "a".repeat(MAX_TAG_BYTES + 1));
        for bad in [
            "",
            "a.tmp",
            ".retake-.tmp",
            ".retake-~.tmp",
            ".retake.tmp",
            ".retake-a",
            ".retake-a.tmp2",
            "x.retake-a.tmp",
            ".retake-a b.tmp",
            ".retake-a/b.tmp",
            ".retake-a.b.tmp",
            ".retake-a~~.tmp",
            ".retake-~a.tmp",
            ".retake-\u{e9}.tmp",
            &long,
        ] {
            assert!(!is_temp_name(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn a_temp_has_one_spare_beside_it_and_a_spare_none() {
        let spare = |path: &str| spare_of(&path.parse().unwrap()).map(|spare| spare.to_string());
        assert_eq!(spare("a/.retake-t.tmp").as_deref(), Some("a/.retake-t~.tmp"));
        assert_eq!(spare(".retake-t.tmp").as_deref(), Some(".retake-t~.tmp"));
        assert_eq!(spare("a/.retake-t~.tmp"), None);
        assert_eq!(spare("a/file"), None);
        assert_eq!(temp_name("t").unwrap(), b".retake-t.tmp");
        for bad in ["", "~", "a/b", "a.b", "\0"] {
            assert_eq!(temp_name(bad), None, "{bad:?}");
        }
    }
}
