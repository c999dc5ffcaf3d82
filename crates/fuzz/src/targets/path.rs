//! Bytes as paths: in the project's own form, and as agents write them down.

use std::collections::BTreeSet;

use retake_engine::model::ProjectPath;
use retake_engine::tool;
use serde_json::json;

use crate::reused_project::{OpenTestProject, ReusedFixture, check_place, with_fixture};

/// Dictionary of path components.
pub const DICTIONARY: &[&str] = &[
    "/",
    "//",
    ".",
    "..",
    "../",
    "./",
    "/..",
    "\0",
    "\n",
    "\\",
    ".git",
    ".GIT",
    "git~1",
    ".git/",
    ".gitmodules",
    "~",
    "~/",
    "$HOME",
    "a",
    "a.txt",
    "d/e.txt",
    "link",
    "link/",
    "canary",
    "../canary/",
    "project-2",
    "*",
    "[",
    "é",
    "\u{202e}",
    " ",
    "-",
    "%2e%2e%2f",
    "COM1",
    "w",
    "l",
];

thread_local! {
    static STAGE: ReusedFixture<OpenTestProject> = const { ReusedFixture::new(None) };
}

/// A path is clean or refused, survives a round trip, and names nothing outside the root.
pub fn path(data: &[u8]) {
    check_project_path(data);
    check_places(&String::from_utf8_lossy(data));
}

fn check_project_path(data: &[u8]) {
    let Ok(path) = ProjectPath::new(data) else {
        let bad = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        let refused = data.contains(&0) || data.split(|byte| *byte == b'/').any(bad);
        assert!(refused, "refused without a reason: {}", data.escape_ascii());
        return;
    };
    assert_eq!(path.as_bytes(), data);
    assert!(
        path.components().all(|part| !matches!(part, b"" | b"." | b"..") && !part.contains(&0))
    );
    let json = serde_json::to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<ProjectPath>(&json).unwrap(), path);
    if let Some(parent) = path.parent() {
        assert!(path.is_beneath(&parent) && !parent.is_beneath(&path));
        assert_eq!(parent.child(path.file_name()).unwrap(), path);
        // One sorts before what is beneath the folder, the other one after it.
        let siblings = [&b"-2/x"[..], b"0/x"].map(|end| [parent.as_bytes(), end].concat());
        let siblings = siblings.map(|bytes| ProjectPath::new(bytes).unwrap());
        assert!(siblings.iter().all(|sibling| !sibling.is_beneath(&parent)), "{siblings:?}");
        let all: BTreeSet<_> = siblings.into_iter().chain([path.clone()]).collect();
        assert!(parent.those_beneath(&all).eq([&path]), "{path:?} of {all:?}");
    }
}

/// Any file name in a tool's arguments resolves to a path in the project, or to none.
fn check_places(text: &str) {
    let stage = || {
        OpenTestProject::new(|test| {
            test.write("d/e.txt", "x\n");
            test.write("../canary/a.txt", "not in the project\n");
            test.write("../project-2/a.txt", "neither\n");
            std::os::unix::fs::symlink("../canary", test.root().join("link")).unwrap();
            std::os::unix::fs::symlink("d", test.root().join("inner")).unwrap();
        })
    };
    let input = json!({ "file_path": text, "content": "x", "edits": [{ "path": text }] });
    let named = tool::intent("Write", &input).paths;
    with_fixture(&STAGE, usize::MAX, stage, |stage| {
        let root = stage.test.root();
        let absolute = format!("{}/{text}", root.display());
        for text in named.iter().chain([&absolute]) {
            if let Some(path) = stage.project.resolve_path(&root, text) {
                check_place(&root, &path);
            }
        }
    });
}
