//! The edits that arguments spell out, in the forms that agents use.
//!
//! The forms are tried from the most explicit (a patch with its own paths) to the least (a whole
//! content); the first that fits is taken. Arguments that fit none give paths without edits.

use serde_json::Value;

use super::arguments::{
    ALL, Arguments, CONTENT, COUNT, DESTINATION, EDITS, FILES, INSERT_LINE, NEW, OLD, PATCH, PATH,
};
use super::{Edit, FileEdit, Replacement, blocks, patch};

/// Every edit of the call.
pub(super) fn collect(arguments: &Arguments<'_>) -> Vec<FileEdit> {
    let path = arguments.text(PATH);
    if let Some(edits) = patched(arguments, path) {
        return edits;
    }
    if let (Some(path), Some(to)) = (path, arguments.text(DESTINATION))
        && path != to
    {
        let edit = Edit::MoveTo { to: to.to_owned(), hunks: Vec::new() };
        return vec![FileEdit { path: path.to_owned(), edit }];
    }
    let listed = listed(arguments, path);
    if !listed.is_empty() {
        return listed;
    }
    path.and_then(|path| single(arguments, path)).into_iter().collect()
}

/// Every file that the arguments name outside of edits.
pub(super) fn named_paths(arguments: &Arguments<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    // Only the tool knows which of them is the file: all of them may be.
    for path in arguments.texts(PATH).into_iter().chain(arguments.texts(DESTINATION)) {
        push_new(&mut paths, Some(path));
    }
    for item in arguments.list(FILES).unwrap_or_default() {
        push_new(&mut paths, item.as_str());
        push_new(&mut paths, Arguments::parse(&item).text(PATH));
    }
    if paths.is_empty() {
        // `{path: ["a", "b"]}`, a list under the name for one file.
        for item in arguments.list(PATH).unwrap_or_default() {
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
        if let Edit::MoveTo { to, .. } = edit {
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
    paths.iter().map(|path| FileEdit { path: path.clone(), edit: Edit::Delete }).collect()
}

fn push_new(paths: &mut Vec<String>, path: Option<&str>) {
    if let Some(path) = path.filter(|path| !path.is_empty())
        && !paths.iter().any(|known| known == path)
    {
        paths.push(path.to_owned());
    }
}

/// A patch, a diff or SEARCH/REPLACE blocks in any argument that may carry one.
fn patched(arguments: &Arguments<'_>, path: Option<&str>) -> Option<Vec<FileEdit>> {
    let texts = PATCH.iter().filter_map(|name| arguments.text(&[name])).chain(arguments.raw());
    for text in texts {
        // A file's own content may look like a diff (a fixture, this very module): with a path
        // beside it, only the argument names that mean a patch count.
        let content = path.is_some()
            && CONTENT.iter().any(|name| arguments.text(&[name]).is_some_and(|t| t == text));
        if content {
            continue;
        }
        if let (Some(path), Some(replacements)) = (path, blocks::parse(text)) {
            let edit = Edit::Replace(replacements);
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
fn listed(arguments: &Arguments<'_>, path: Option<&str>) -> Vec<FileEdit> {
    let items = arguments.list(EDITS).or_else(|| arguments.list(FILES)).unwrap_or_default();
    let mut edits: Vec<FileEdit> = Vec::new();
    for item in &items {
        let inner = Arguments::parse(item);
        let Some(path) = inner.text(PATH).or(path) else {
            continue;
        };
        let more = match inner.list(EDITS) {
            Some(_) => listed(&without_files(&inner), Some(path)),
            None => single(&inner, path).into_iter().collect(),
        };
        for edit in more {
            merge(&mut edits, edit);
        }
    }
    edits
}

/// Keeps only `edits` of a file's entry, so that nesting ends after one level.
fn without_files(arguments: &Arguments<'_>) -> Arguments<'static> {
    let edits = arguments.list(EDITS).unwrap_or_default().into_iter().map(flat).collect();
    let object = [("edits".to_owned(), Value::Array(edits))].into_iter().collect();
    Arguments::made_of(object)
}

fn flat(mut item: Value) -> Value {
    if let Value::Object(object) = &mut item {
        object.retain(|_, value| !value.is_array());
    }
    item
}

/// Adds an edit; consecutive replacements of one file are merged into one.
fn merge(edits: &mut Vec<FileEdit>, new: FileEdit) {
    if let Edit::Replace(more) = &new.edit
        && let Some(last) = edits.last_mut()
        && last.path == new.path
        && let Edit::Replace(replacements) = &mut last.edit
    {
        replacements.extend(more.iter().cloned());
        return;
    }
    edits.push(new);
}

/// The one edit that these arguments describe for `path`.
fn single(arguments: &Arguments<'_>, path: &str) -> Option<FileEdit> {
    let edit = match (arguments.text(OLD), arguments.text(NEW)) {
        (Some(old), new) => Edit::Replace(vec![Replacement {
            old: old.to_owned(),
            new: new.unwrap_or_default().to_owned(),
            all: arguments.flag(ALL),
            count: arguments.number(COUNT),
            line: None,
        }]),
        (None, new) => {
            let text = arguments.text(CONTENT).or(new)?;
            match arguments.number(INSERT_LINE) {
                Some(line) => Edit::Insert { line, text: text.to_owned() },
                None if appends(arguments) => Edit::Append(text.to_owned()),
                None => Edit::Content(text.as_bytes().to_vec()),
            }
        }
    };
    Some(FileEdit { path: path.to_owned(), edit })
}

fn appends(arguments: &Arguments<'_>) -> bool {
    arguments.text(&["command", "mode"]).is_some_and(|mode| mode == "append")
        || arguments.flag(&["append"])
}
