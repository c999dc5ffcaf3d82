//! Contents of files, compared: differences by lines and words, three-way merges, blame.

pub(crate) mod adjacent;
pub(crate) mod blame;
pub(crate) mod comparable;
pub(crate) mod diff;
pub(crate) mod line_hash;
pub(crate) mod line_map;
pub(crate) mod line_rules;
pub(crate) mod merge;
pub(crate) mod secret_names;
pub(crate) mod words;
