//! Finds files that git converts: a filter, `$Id$` or another encoding makes the blob differ from
//! the file of the same name.
//!
//! Line endings are not checked: they always change a file's length, and callers that take a
//! blob for a file compare lengths.

use std::path::Path;

use gix_attributes::StateRef;
use gix_attributes::search::{MetadataCollection, Outcome};
use gix_glob::pattern::Case;
use retake_model::ProjectPath;

use crate::read::read_whole_path;

const MAX_ATTRIBUTES_BYTES: u64 = 16 << 20;
/// The system-wide attributes file.
const SYSTEM_ATTRIBUTES_FILE: &str = "/etc/gitattributes";
const CONVERTING_ATTRIBUTES: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The attributes that let git convert files.
#[derive(Debug, Default)]
pub struct GitAttributes {
    search: gix_attributes::Search,
    names: MetadataCollection,
    /// `true` if any source names such an attribute at all.
    names_any: bool,
}

impl GitAttributes {
    /// Loads the system's attributes, and the user's own.
    pub fn load_global(global: Option<&Path>) -> Self {
        let mut attributes = Self::default();
        for file in [Some(Path::new(SYSTEM_ATTRIBUTES_FILE)), global].into_iter().flatten() {
            attributes.add_file(file);
        }
        attributes
    }

    /// Adds a file that takes precedence over all others so far.
    pub fn add_file(&mut self, file: &Path) {
        if let Ok(bytes) = read_whole_path(file, MAX_ATTRIBUTES_BYTES) {
            self.add_text(&bytes, Path::new(""));
        }
    }

    /// Adds the text of a `.gitattributes` in this folder of the repository. Those of deeper
    /// folders come later.
    pub fn add_text(&mut self, text: &[u8], folder: &Path) {
        let is_named = |name: &str| text.windows(name.len()).any(|part| part == name.as_bytes());
        self.names_any |= CONVERTING_ATTRIBUTES.into_iter().any(is_named);
        let source = folder.join(".gitattributes");
        // Only the file itself could be missing, and its text is here.
        let added = self.search.add_patterns_buffer(
            text,
            source,
            Some(Path::new("")),
            &mut self.names,
            folder.as_os_str().is_empty(),
        );
        self.names_any |= added.is_err();
    }

    /// Returns `true` if git may convert the file's bytes when it writes the blob.
    pub fn converts(&self, path: &ProjectPath) -> bool {
        if !self.names_any {
            return false;
        }
        let mut found = Outcome::default();
        found.initialize_with_selection(&self.names, CONVERTING_ATTRIBUTES);
        let path = path.as_bytes().into();
        self.search.pattern_matching_relative_path(path, Case::Sensitive, Some(false), &mut found);
        found
            .iter_selected()
            .any(|found| !matches!(found.assignment.state, StateRef::Unspecified | StateRef::Unset))
    }
}
