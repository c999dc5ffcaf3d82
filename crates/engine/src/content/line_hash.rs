//! Hashes of lines that are kept on record, so that they are the same in every release.

use sha2::{Digest as _, Sha256};

/// Returns the hash of several texts; where one ends and the next begins counts.
pub(crate) fn hash_texts<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> u64 {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    let digest = hasher.finalize();
    let (first, _) = digest.split_at(size_of::<u64>());
    first.iter().fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_stay_as_they_are_on_record() {
        assert_eq!(hash_texts([]), 0xe3b0_c442_98fc_1c14);
        let hash = |texts: &[&str]| hash_texts(texts.iter().map(|text| text.as_bytes()));
        assert_ne!(hash(&["a", "bc"]), hash(&["ab", "c"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
    }
}
