//! JSON of a planned file's content, as it travels through the daemon's socket: text as a string.
//! As a list of numbers it would take four times the bytes, and an undo that merges many files would
//! exceed what a message may have.

use serde::{Deserialize, Deserializer, Serializer};

/// Both forms of a content.
#[derive(Deserialize)]
#[serde(untagged)]
enum ContentForm {
    Text(String),
    Bytes(Vec<u8>),
}

/// Writes text as a string, and anything else as a list of bytes.
#[allow(clippy::ref_option, reason = "serde passes the field so")]
pub(super) fn serialize<S: Serializer>(
    content: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match content.as_deref().map(|bytes| (std::str::from_utf8(bytes), bytes)) {
        None => serializer.serialize_none(),
        Some((Ok(text), _)) => serializer.serialize_some(text),
        Some((Err(_), bytes)) => serializer.serialize_some(bytes),
    }
}

/// Reads both forms.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    Ok(Option::<ContentForm>::deserialize(deserializer)?.map(|form| match form {
        ContentForm::Text(text) => text.into_bytes(),
        ContentForm::Bytes(bytes) => bytes,
    }))
}

#[cfg(test)]
mod tests {
    use retake_model::PathState;

    use crate::plan::{PlanReason, PlannedFile};

    #[test]
    fn contents_come_back_as_they_were_and_text_is_a_string() {
        for content in [None, Some(&b"text\n"[..]), Some(&b""[..]), Some(&b"\xff\x00\n"[..])] {
            let path = "a.txt".parse().unwrap();
            let mut file = PlannedFile::left(path, PathState::Absent, PlanReason::Already);
            file.content = content.map(<[u8]>::to_vec);
            let json = serde_json::to_value(&file).unwrap();
            assert_eq!(json["content"].is_string(), content.is_some_and(<[u8]>::is_ascii));
            let back: PlannedFile = serde_json::from_value(json).unwrap();
            assert_eq!(back.content.as_deref(), content);
        }
    }
}
