//! The edits that arguments spell out, in the forms that agents use.
//!
//! The forms are tried from the most explicit (a patch with its own paths) to the least (a whole
//! content); the first that fits is taken. Arguments that fit none give paths without edits.

use serde_json::Value;

use super::arguments::{
    CONTENT_KEYS, COUNT_KEYS, DESTINATION_KEYS, EDITS_KEYS, FILES_KEYS, INSERT_LINE_KEYS,
    NEW_TEXT_KEYS, OLD_TEXT_KEYS, PATCH_KEYS, PATH_KEYS, REPLACE_ALL_KEYS, ToolArguments,
};
use super::{EditKind, FileEdit, TextReplacement, blocks, patch};

/// Every edit of the call.
pub(super) fn collect(arguments: &ToolArguments<'_>) -> Vec<FileEdit> {
    let path = arguments.text(PATH_KEYS);
    if let Some(edits) = patch_edits(arguments, path) {
        return edits;
    }
    if let (Some(path), Some(to)) = (path, arguments.text(DESTINATION_KEYS))
        && path != to
    {
        let edit = EditKind::MoveTo { to: to.to_owned(), hunks: Vec::new() };
        return vec![FileEdit { path: path.to_owned(), edit }];
    }
    let listed = listed_edits(arguments, path);
    if !listed.is_empty() {
        return listed;
    }
    path.and_then(|path| single_edit(arguments, path)).into_iter().collect()
}

/// Every file that the arguments name outside of edits.
pub(super) fn named_paths(arguments: &ToolArguments<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    // Only the tool knows which of them is the file: all of them may be.
    for path in arguments.texts(PATH_KEYS).into_iter().chain(arguments.texts(DESTINATION_KEYS)) {
        push_new(&mut paths, Some(path));
    }
    for item in arguments.list(FILES_KEYS).unwrap_or_default() {
        push_new(&mut paths, item.as_str());
        push_new(&mut paths, ToolArguments::parse(&item).text(PATH_KEYS));
    }
    if paths.is_empty() {
        // `{path: ["a", "b"]}`, a list under the name for one file.
        for item in arguments.list(PATH_KEYS).unwrap_or_default() {
            push_new(&mut paths, item.as_str());
        }
    }
    paths
}

/// The paths of `edits` with both ends of moves, then those of `named` that are new.
pub(super) fn paths_of(edits: &[FileEdit], named: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    for FileEdit { path, edit } in edits {
        push_new(&mut paths, Some(path));
        if let EditKind::MoveTo { to, .. } = edit {
            push_new(&mut paths, Some(to));
        }
    }
    for path in named {
        push_new(&mut paths, Some(path));
    }
    paths
}

/// One deletion per path.
pub(super) fn deletions(paths: &[String]) -> Vec<FileEdit> {
    paths.iter().map(|path| FileEdit { path: path.clone(), edit: EditKind::Delete }).collect()
}

fn push_new(paths: &mut Vec<String>, path: Option<&str>) {
    if let Some(path) = path.filter(|path| !path.is_empty())
        && !paths.iter().any(|known| known == path)
    {
        paths.push(path.to_owned());
    }
}

/// A patch, a diff or SEARCH/REPLACE blocks in any argument that may carry one.
fn patch_edits(arguments: &ToolArguments<'_>, path: Option<&str>) -> Option<Vec<FileEdit>> {
    let texts = PATCH_KEYS.iter().filter_map(|name| arguments.text(&[name])).chain(arguments.raw());
    for text in texts {
        // A file's own content may look like a diff (a fixture, this very module): with a path
        // beside it, only the argument names that mean a patch count.
        let content = path.is_some()
            && CONTENT_KEYS.iter().any(|name| arguments.text(&[name]).is_some_and(|t| t == text));
        if content {
            continue;
        }
        if let (Some(path), Some(replacements)) = (path, blocks::parse(text)) {
            let edit = EditKind::Replace(replacements);
            return Some(vec![FileEdit { path: path.to_owned(), edit }]);
        }
        let mut edits = patch::parse_patch(text);
        if let (Some(path), [only]) = (path, edits.as_mut_slice()) {
            path.clone_into(&mut only.path);
        }
        if !edits.is_empty() {
            return Some(edits);
        }
    }
    None
}

/// `edits: [{old, new, path?}]` and `files: [{path, content | edits | …}]`.
fn listed_edits(arguments: &ToolArguments<'_>, path: Option<&str>) -> Vec<FileEdit> {
    let items =
        arguments.list(EDITS_KEYS).or_else(|| arguments.list(FILES_KEYS)).unwrap_or_default();
    let mut edits: Vec<FileEdit> = Vec::new();
    for item in &items {
        let inner = ToolArguments::parse(item);
        let Some(path) = inner.text(PATH_KEYS).or(path) else {
            continue;
        };
        let more = match inner.list(EDITS_KEYS) {
            Some(_) => listed_edits(&without_files(&inner), Some(path)),
            None => single_edit(&inner, path).into_iter().collect(),
        };
        for edit in more {
            merge(&mut edits, edit);
        }
    }
    edits
}

/// Keeps only `edits` of a file's entry, so that nesting ends after one level.
fn without_files(arguments: &ToolArguments<'_>) -> ToolArguments<'static> {
    let edits =
        arguments.list(EDITS_KEYS).unwrap_or_default().into_iter().map(without_lists).collect();
    let object = [("edits".to_owned(), Value::Array(edits))].into_iter().collect();
    ToolArguments::from_members(object)
}

fn without_lists(mut item: Value) -> Value {
    if let Value::Object(object) = &mut item {
        object.retain(|_, value| !value.is_array());
    }
    item
}

/// Adds an edit; consecutive replacements of one file are merged into one.
fn merge(edits: &mut Vec<FileEdit>, new: FileEdit) {
    if let EditKind::Replace(more) = &new.edit
        && let Some(last) = edits.last_mut()
        && last.path == new.path
        && let EditKind::Replace(replacements) = &mut last.edit
    {
        replacements.extend(more.iter().cloned());
        return;
    }
    edits.push(new);
}

/// The one edit that these arguments describe for `path`.
fn single_edit(arguments: &ToolArguments<'_>, path: &str) -> Option<FileEdit> {
    let edit = match (arguments.text(OLD_TEXT_KEYS), arguments.text(NEW_TEXT_KEYS)) {
        (Some(old), new) => EditKind::Replace(vec![TextReplacement {
            old: old.to_owned(),
            new: new.unwrap_or_default().to_owned(),
            all: arguments.flag(REPLACE_ALL_KEYS),
            count: arguments.number(COUNT_KEYS),
            line: None,
        }]),
        (None, new) => {
            let text = arguments.text(CONTENT_KEYS).or(new)?;
            match arguments.number(INSERT_LINE_KEYS) {
                Some(line) => EditKind::Insert { line, text: text.to_owned() },
                None if appends(arguments) => EditKind::Append(text.to_owned()),
                None => EditKind::Content(text.as_bytes().to_vec()),
            }
        }
    };
    Some(FileEdit { path: path.to_owned(), edit })
}

fn appends(arguments: &ToolArguments<'_>) -> bool {
    arguments.text(&["command", "mode"]).is_some_and(|mode| mode == "append")
        || arguments.flag(&["append"])
}
