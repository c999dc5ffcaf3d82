//! Contents of files as other programs get them: their type, what is masked, and who gets them.
//!
//! Invariants: text is given masked or not at all while secrets are masked. Nothing is given as a
//! type that a browser runs: SVG and HTML are plain text. A file that usually holds secrets is not
//! given to agents.

use retake_engine::model::{ErrorCode, ObjectId, ProjectPath};
use retake_engine::{Project, StoreError, StoredContent, usually_holds_secrets};
use sha2::{Digest as _, Sha256};

use crate::{ApiError, Masking};

/// Maximum bytes of a text that is masked: it is masked as a whole, in memory.
const MAX_MASKED_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum bytes of a piece that is read into memory. Only contents in borrowed packs have larger
/// ones.
const MAX_PIECE_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes at the start of content that are searched for a NUL, as git does.
const BINARY_PROBE_BYTES: usize = 8000;

/// Plain text in UTF-8.
pub const TEXT_TYPE: &str = "text/plain; charset=utf-8";
/// Anything else.
pub const BINARY_TYPE: &str = "application/octet-stream";

/// Who gets a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentReader {
    /// The person.
    Person,
    /// An agent.
    Agent,
}

/// A content on record, with the paths that have or had it.
#[derive(Clone, Debug)]
pub struct NamedContent {
    /// The content.
    pub oid: ObjectId,
    /// The paths; one of them says whether it holds secrets.
    pub names: Vec<ProjectPath>,
}

/// A content that may be given.
#[derive(Debug)]
pub struct GivenContent {
    /// Its bytes.
    pub body: ContentBody,
    /// Its media type.
    pub media_type: &'static str,
    /// Whether secrets were looked for, and taken out if there were any.
    pub is_masked: bool,
    /// Names these very bytes.
    pub tag: String,
}

/// The bytes of a content.
#[derive(Debug)]
pub enum ContentBody {
    /// All of them.
    Whole(Vec<u8>),
    /// As they are stored, to be read in pieces.
    Pieces(StoredContent),
}

impl ContentBody {
    /// The length in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Pieces(content) => content.size(),
        }
    }
}

impl NamedContent {
    /// A content by its id, if the record of the project names it.
    pub fn find(project: &Project, oid: ObjectId) -> Result<Self, ApiError> {
        let names = project.content_names(&oid)?;
        if names.is_empty() && project.is_purged(&oid)? {
            return Err(purged(&oid));
        }
        if names.is_empty() {
            let message = format!("nothing on record has the content {oid}");
            let hint = "take the id from a change or from the tree of a checkpoint";
            return Err(ApiError::new(ErrorCode::NothingOnRecord, message, hint));
        }
        Ok(Self { oid, names })
    }

    /// Prepares the content for a reader, as far as the reader may have it.
    pub fn give(
        &self,
        project: &Project,
        masking: Masking,
        reader: ContentReader,
    ) -> Result<GivenContent, ApiError> {
        let secret = self.secret_name(project)?;
        if let Some(name) = secret.filter(|_| reader == ContentReader::Agent) {
            return Err(secret_file(name, "ask the person to look at it"));
        }
        let content = self.stored(project)?;
        let probed = content.size().min(BINARY_PROBE_BYTES as u64);
        let start = project.read_content_range(&content, 0..probed)?;
        let raw = |media_type, content: StoredContent| GivenContent {
            tag: format!("{}-{media_type}", content.oid()),
            body: ContentBody::Pieces(content),
            media_type,
            is_masked: false,
        };
        match (image_type(&start), start.contains(&0), masking) {
            (None, true, Masking::On) | (Some(_), _, Masking::On) if secret.is_some() => {
                let name = secret.unwrap_or(&self.names[0]);
                Err(secret_file(name, "it is no text whose secrets could be masked"))
            }
            (Some(image), ..) => Ok(raw(image, content)),
            (None, true, _) => Ok(raw(BINARY_TYPE, content)),
            (None, false, Masking::Off) => {
                let is_text = is_utf8(project, &content)?;
                Ok(raw(if is_text { TEXT_TYPE } else { BINARY_TYPE }, content))
            }
            (None, false, Masking::On) => self.masked(project, &content, masking),
        }
    }

    /// The name of the content that says that it is secret, or that it came from a file of secrets.
    fn secret_name(&self, project: &Project) -> Result<Option<&ProjectPath>, ApiError> {
        for name in &self.names {
            if usually_holds_secrets(name)
                || project.descends_from_secret_file(name, Some(&self.oid))?
            {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn stored(&self, project: &Project) -> Result<StoredContent, ApiError> {
        let content = find_stored(project, &self.oid)?;
        if content.largest_piece() > MAX_PIECE_BYTES {
            let hint = "`retake git -- cat-file blob ID` prints it";
            return Err(self.too_large(&content, "is too large for one piece", hint));
        }
        Ok(content)
    }

    fn masked(
        &self,
        project: &Project,
        content: &StoredContent,
        masking: Masking,
    ) -> Result<GivenContent, ApiError> {
        if content.size() > MAX_MASKED_BYTES {
            let hint = "`retake show --after` prints it at the terminal";
            return Err(self.too_large(content, "is too large to be masked", hint));
        }
        let bytes = project.read_object(&self.oid)?;
        let name = masking.masking_path_of(project, self.masking_name(), Some(&self.oid))?;
        let name = name.as_ref();
        let (bytes, media_type) = match String::from_utf8(bytes) {
            Ok(text) => (masking.mask_content(name, &text).into_owned().into_bytes(), TEXT_TYPE),
            Err(error) => (mask_bytewise(masking, name, error.as_bytes()), BINARY_TYPE),
        };
        let digest = Sha256::digest(&bytes);
        let tag =
            digest.iter().take(20).fold(String::new(), |tag, byte| format!("{tag}{byte:02x}"));
        Ok(GivenContent { body: ContentBody::Whole(bytes), media_type, is_masked: true, tag })
    }

    /// The name under which most is masked.
    fn masking_name(&self) -> &ProjectPath {
        let is_yaml = |name: &&ProjectPath| {
            [&b".yml"[..], b".yaml"].iter().any(|end| name.as_bytes().ends_with(end))
        };
        let secret = self.names.iter().find(|name| usually_holds_secrets(name));
        secret.or_else(|| self.names.iter().find(is_yaml)).unwrap_or(&self.names[0])
    }

    fn too_large(&self, content: &StoredContent, why: &str, hint: &str) -> ApiError {
        let message = format!("'{}' has {} bytes and {why}", self.names[0], content.size());
        ApiError::new(ErrorCode::TooLarge, message, hint)
    }
}

/// Finds a content in the store; one that was purged is told as such.
pub fn find_stored(project: &Project, oid: &ObjectId) -> Result<StoredContent, ApiError> {
    match project.stored_content(oid) {
        Err(StoreError::Missing(_)) if project.is_purged(oid)? => Err(purged(oid)),
        found => Ok(found?),
    }
}

fn purged(oid: &ObjectId) -> ApiError {
    let message = format!("the content {oid} was purged");
    let hint = "its bytes are gone for good; the record keeps its id and size";
    ApiError::new(ErrorCode::Purged, message, hint)
}

fn secret_file(name: &ProjectPath, hint: &str) -> ApiError {
    let message = format!("'{name}' is a file that usually holds secrets");
    ApiError::new(ErrorCode::Secret, message, hint)
}

/// Masks text in another encoding than UTF-8. Each byte stands for the character of its number, so
/// that all bytes but the secrets stay.
fn mask_bytewise(masking: Masking, name: &ProjectPath, bytes: &[u8]) -> Vec<u8> {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let mut masked = Vec::with_capacity(bytes.len());
    for char in masking.mask_content(name, &text).chars() {
        match u8::try_from(u32::from(char)) {
            Ok(byte) => masked.push(byte),
            Err(_) => masked.extend(char.to_string().bytes()),
        }
    }
    masked
}

/// Returns true if the whole content is UTF-8; reads it piece by piece.
fn is_utf8(project: &Project, content: &StoredContent) -> Result<bool, StoreError> {
    let mut open = Vec::new();
    for number in 0..content.piece_count() {
        open.extend(project.read_content_piece(content, number)?.unwrap_or_default());
        match std::str::from_utf8(&open) {
            Ok(_) => open.clear(),
            // A character may be split between two pieces.
            Err(error) if error.error_len().is_none() => {
                open.drain(..error.valid_up_to());
            }
            Err(_) => return Ok(false),
        }
    }
    Ok(open.is_empty())
}

/// The type of an image that browsers only draw, by its first bytes.
fn image_type(start: &[u8]) -> Option<&'static str> {
    let is_webp = start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP");
    let brand = start.get(4..12);
    let is_avif = brand == Some(b"ftypavif") || brand == Some(b"ftypavis");
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ if is_webp => Some("image/webp"),
        _ if is_avif => Some("image/avif"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_first_bytes_and_pages_are_none() {
        let webp = b"RIFF\x10\0\0\0WEBPVP8 ";
        let avif = b"\0\0\0\x20ftypavif\0\0";
        let seen = [
            &b"\x89PNG\r\n\x1a\n\0"[..],
            b"\xff\xd8\xff\xe0",
            b"GIF89a",
            webp,
            avif,
            b"<svg xmlns=\"http://www.w3.org/2000/svg\">",
            b"<!doctype html>",
            b"RIFF\x10\0\0\0WAVE",
            b"",
        ]
        .map(|start| image_type(start).unwrap_or("none"));
        let images = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];
        assert_eq!(seen[..5], images);
        assert_eq!(seen[5..], ["none"; 4]);
    }

    #[test]
    fn text_in_another_encoding_keeps_its_bytes_but_not_its_secrets() {
        let name = "a.txt".parse().unwrap();
        // In two parts, so that this line is not one with a secret.
        let bytes = [&b"caf\xe9\npass"[..], b"word = 'hunter2-x'\n\xff\n"].concat();
        let masked = mask_bytewise(Masking::On, &name, &bytes);
        let expected = [&b"caf\xe9\npassword = '"[..], "•••".as_bytes(), b"'\n\xff\n"].concat();
        assert_eq!(masked, expected);
    }
}
