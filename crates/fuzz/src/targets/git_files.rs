//! Files of the user's repository that are read without git: untrusted, and possibly damaged
//! or malicious.

use std::path::Path;

use retake_testkit::git;
use retake_workspace::git as read;
use tempfile::TempDir;

use crate::input::{choose, spliced, split_head};
use crate::reused_project::{ReusedFixture, memory_folder, with_fixture};

/// Dictionary of such files.
pub const DICTIONARY: &[&str] = &[
    "ref: refs/heads/main\n",
    "ref: ../../x",
    "gitdir: ",
    "DIRC",
    "TREE",
    "link",
    "REUC",
    "EOIE",
    "[core]\n",
    "excludesFile = ",
    "~/",
    "[extensions]\n",
    "objectformat = sha256\n",
    "\0",
    "\n",
    "0123456789012345678901234567890123456789",
    "/",
    "..",
    "* filter=x\n",
    "\"",
    "\\",
    "#",
];

const GIT_FILES: &[&str] = &[
    ".git/index",
    ".git/HEAD",
    ".git/packed-refs",
    ".git/logs/HEAD",
    ".git/logs/refs/stash",
    ".git/config",
    ".git/commondir",
    ".git/objects/info/alternates",
    ".git/info/exclude",
    ".git/reftable/tables.list",
];

thread_local! {
    static REPOSITORY: ReusedFixture<TempDir> = const { ReusedFixture::new(None) };
}

fn repository() -> TempDir {
    let folder = memory_folder();
    let root = folder.path();
    std::fs::create_dir(root.join("d")).unwrap();
    for file in ["a.txt", "d/b.txt"] {
        std::fs::write(root.join(file), file).unwrap();
    }
    git::run(root, &["init", "-q", "."]);
    git::run(root, &["add", "-A"]);
    git::run(root, &["commit", "-qm", "one"]);
    git::run(root, &["pack-refs", "--all"]);
    folder
}

/// A damaged file of git's is an error or nothing, never a panic, and never leads elsewhere. The
/// second byte of an input chooses where in the file the rest is put.
pub fn git_files(data: &[u8]) {
    let (file, rest) = choose(GIT_FILES, data);
    let (place, bytes) = split_head(rest);
    with_fixture(&REPOSITORY, usize::MAX, repository, |folder| {
        let file = folder.path().join(file);
        let before = std::fs::read(&file).ok();
        let mut content = spliced(before.as_deref().unwrap_or_default(), place, bytes);
        if file.ends_with("index") {
            // Else its check sum would be the end of it: `index.skipHash` leaves zeros.
            let end = content.len().saturating_sub(20);
            content[end..].fill(0);
        }
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, content).unwrap();
        read_repository(folder.path());
        match before {
            Some(before) => std::fs::write(&file, before).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
    });
}

fn read_repository(root: &Path) {
    if let Ok(Some(index)) = read::read_index(root) {
        for path in index.entries.keys() {
            assert!(path.components().all(|part| !matches!(part, b"" | b"." | b"..")));
        }
    }
    if let Some(look) = read::read_state(root) {
        assert_eq!(read::GitState::from_bytes(&look.to_bytes()), Some(look));
    }
    read::read_activity(root);
    read::new_reflog_actions(root, 3);
    read::pack_folders(root);
    read::toplevel(root);
    read::exclude_file(root);
}
