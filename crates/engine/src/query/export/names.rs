//! Safe and unique folder names for dialogs.

use std::collections::HashSet;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Maximum bytes of a name; file systems allow 255.
const MAX_NAME_BYTES: usize = 180;

/// Returns a safe file name for a dialog's id that is unique in the export.
///
/// Letters, digits, `-`, `_` and inner dots stay, all else is percent-encoded. Names are compared
/// without case, as some file systems do.
pub(super) fn unique_name(id: &str, taken: &mut HashSet<String>) -> String {
    let mut name = String::new();
    for (at, byte) in id.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_')
            || (byte == b'.' && at > 0 && at + 1 < id.len());
        if is_plain {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    let too_long = name.len() > MAX_NAME_BYTES;
    name.truncate(MAX_NAME_BYTES);
    if name.is_empty() || too_long || taken.contains(&name.to_ascii_lowercase()) {
        let hash = Sha256::digest(id.as_bytes());
        name.push('~');
        hash.iter().take(8).for_each(|byte| {
            let _ = write!(name, "{byte:02x}");
        });
    }
    taken.insert(name.to_ascii_lowercase());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_becomes_one_safe_name() {
        let mut taken = HashSet::new();
        let mut name = |id: &str| unique_name(id, &mut taken);
        assert_eq!(name("dialog-1_a.b"), "dialog-1_a.b");
        assert_eq!(name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
        assert_eq!(name(".."), "%2E%2E");
        assert_eq!(name("a b\u{7}\0%"), "a%20b%07%00%25");
        assert!(name("DIALOG-1_A.B").starts_with("DIALOG-1_A.B~"), "not told apart by case alone");
        assert!(name("").starts_with('~'));
        let long = name(&"x".repeat(5000));
        assert!(long.len() < 255 && long != name(&"x".repeat(5001)));
    }
}
