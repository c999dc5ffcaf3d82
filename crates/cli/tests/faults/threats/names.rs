//! Names that lead out of the project or into git's own folder, written into the record by hand:
//! a restore from it refuses them, and writes nothing anywhere.
//!
//! The list is that of the advisories for git and gitoxide (CVE-2024-35186 and its like): `..`,
//! `.git` in the spellings that file systems take for it, separators of other systems, devices.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use retake_testkit::git;

use super::bounded::assert_ended_well;
use super::served::Daemon;
use crate::support::World;

/// What no record may name.
const BAD: [&[u8]; 13] = [
    b"..",
    b"../evil",
    b"a/../../evil",
    b"deep/../../evil",
    b"/tmp/retake-evil-absolute",
    b"//evil",
    b"./evil",
    b"a/./evil",
    b"a//evil",
    b"evil/",
    b"",
    b"evil\0.txt",
    b"link/evil",
];

/// Where git keeps what it executes, in every spelling that a file system may take for it.
const GIT: [&[u8]; 12] = [
    b".git",
    b".git/hooks/post-checkout",
    b".git/config",
    b"deep/.git/config",
    b".GIT/config",
    b".Git/hooks/post-checkout",
    b"git~1/config",
    b"GIT~1/config",
    b".git /config",
    b".git./config",
    b".git::$INDEX_ALLOCATION/config",
    "\u{200c}.g\u{200d}it/config".as_bytes(),
];

/// Names that look like it, and are ordinary ones here.
const PLAIN: [&[u8]; 6] =
    [b"a\\..\\..\\evil", b"C:\\evil", b"...", b".gitx/config", b"git~12", b"con"];

/// What is there, and what it says; nothing of Retake's own.
type Everything = BTreeMap<PathBuf, Vec<u8>>;

fn everything(world: &World) -> Everything {
    let mut all = Everything::new();
    let own = ["retake-home", "tmp", "out", "scratch.git", "daemon.stderr"];
    let own = own.map(|name| world.outer().join(name));
    super::walk(&world.outer(), &mut |path, found| {
        if own.iter().any(|own| path.starts_with(own)) {
            return;
        }
        let content = match found {
            found if found.is_dir() => Vec::new(),
            found if found.is_symlink() => {
                std::fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec()
            }
            _ => std::fs::read(path).unwrap_or_default(),
        };
        all.insert(path.to_owned(), content);
    });
    let absolute = Path::new("/tmp/retake-evil-absolute");
    assert!(!absolute.exists(), "it was written");
    all
}

/// An agent deleted a file, and the person has a checkpoint from before; both are in a repository.
fn world() -> (World, String) {
    let world = World::new();
    world.write("victim.txt", "pwned\n");
    world.write("keep.txt", "keep\n");
    world.write("deep/a.txt", "deep\n");
    git::run(&world.root(), &["init", "--quiet"]);
    std::os::unix::fs::symlink("..", world.root().join("link")).unwrap();
    world.ok(&["init", "--checkpoint"]);
    world.ok(&["checkpoint", "-m", "before"]);
    world.shell("k1", "rm victim.txt");
    let made = world.run(&["checkpoints", "--json"]).json();
    let made = made["checkpoints"].as_array().unwrap().clone();
    let before = made.iter().find(|made| made["message"] == "before").unwrap();
    let id = before["id"].as_str().unwrap().to_owned();
    (world, id)
}

fn db(world: &World) -> rusqlite::Connection {
    rusqlite::Connection::open(world.store().join("retake.db")).unwrap()
}

/// Has the record say that the deleted file was called so.
fn rename_in_record(world: &World, name: &[u8]) {
    let sql = "UPDATE change SET path = ?1 WHERE path = ?2 AND change_type = 'delete'";
    assert_eq!(db(world).execute(sql, (name, b"victim.txt".as_slice())).unwrap(), 1);
}

/// The two ways in which files are written: by taking back, and by going to a state.
fn try_to_bring_back(world: &World, checkpoint: &str) {
    for words in [
        &["rollback", "--dialog", "d1", "--yes"][..],
        &["restore", checkpoint, "--exact", "--across-git", "--yes"],
    ] {
        assert_ended_well(&world.run(words), &format!("{words:?}"));
    }
}

/// Everything else that brings a file back, or that writes by its name.
fn try_everything(world: &World, checkpoint: &str) {
    let out = world.outer().join("out").display().to_string();
    try_to_bring_back(world, checkpoint);
    for words in [
        &["undo", "--yes"][..],
        &["restore", checkpoint, "--yes"],
        &["reject", "--all", "--yes"],
        &["reset", "--yes"],
        &["recover", "--resume"],
        &["export", &out, "--force"],
        &["git", "--", "log", "--stat"],
        &["context", "export"],
        &["log"],
        &["diff"],
    ] {
        assert_ended_well(&world.run(words), &format!("{words:?}"));
    }
}

#[test]
fn threat_tree_names_that_lead_elsewhere_are_refused() {
    let (world, checkpoint) = world();
    let before = everything(&world);
    let mut last: Vec<u8> = b"victim.txt".to_vec();
    for name in BAD.into_iter().chain(GIT) {
        let shown = String::from_utf8_lossy(name);
        let sql = "UPDATE change SET path = ?1 WHERE path = ?2 AND change_type = 'delete'";
        assert_eq!(db(&world).execute(sql, (name, &last)).unwrap(), 1, "{shown:?}");
        last = name.to_vec();
        let undone = world.run(&["undo", "--yes"]);
        // A row that cannot be understood is left out, and told of by `doctor`.
        let is_told = undone.code == 3 || world.run(&["doctor"]).code == 1;
        assert!(is_told, "{shown:?}: {}", undone.text());
        try_to_bring_back(&world, &checkpoint);
        if matches!(name, b"../evil" | b".git/hooks/post-checkout" | b".GIT/config") {
            try_everything(&world, &checkpoint);
        }
        let after = everything(&world);
        let changed: Vec<_> =
            after.iter().filter(|(path, is)| before.get(*path) != Some(is)).collect();
        assert!(changed.is_empty(), "{shown:?}: {changed:?}");
        assert_eq!(after.len(), before.len(), "{shown:?}: something is gone");
    }
}

/// A name is not refused for what it would be elsewhere: here a backslash is a letter.
#[test]
fn threat_tree_names_that_are_plain_here_stay_in_the_project() {
    for name in PLAIN {
        let (world, _) = world();
        rename_in_record(&world, name);
        let before = everything(&world);
        assert_eq!(world.run(&["undo", "--yes"]).code, 0, "{:?}", String::from_utf8_lossy(name));
        let here = world.root().join(OsStr::from_bytes(name));
        assert_eq!(std::fs::read(&here).unwrap(), b"pwned\n");
        let after = everything(&world);
        let root = world.root();
        let outside = after.keys().filter(|path| !path.starts_with(&root));
        assert!(outside.eq(before.keys().filter(|path| !path.starts_with(&root))));
    }
}

/// A link in the project's tree that leads outside is never written through, whatever was there
/// when it was recorded.
#[test]
fn threat_tree_names_a_folder_that_became_a_link() {
    let (world, checkpoint) = world();
    world.shell("k2", "rm deep/a.txt");
    std::fs::remove_dir(world.root().join("deep")).unwrap();
    std::fs::create_dir(world.outer().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", world.root().join("deep")).unwrap();
    try_everything(&world, &checkpoint);
    assert_eq!(std::fs::read_dir(world.outer().join("elsewhere")).unwrap().count(), 0);
}

/// The tree of a checkpoint itself, as git has it.
#[test]
fn threat_tree_names_in_the_trees_of_checkpoints() {
    let names = [&b".."[..], b".git", b"a/b", b".GIT", b"git~1", b".", b""];
    for name in &names[..if super::is_long() { names.len() } else { 3 }] {
        let (world, checkpoint) = world();
        let forged = replace_tree(&world, &checkpoint, name);
        let before = everything(&world);
        try_everything(&world, &forged);
        assert_ended_well(&world.run(&["doctor", "--read-data"]), "doctor");
        let daemon = Daemon::of(&world);
        let projects = daemon.get("/api/projects").json();
        let project = projects["projects"][0]["id"].as_str().unwrap();
        let path = format!("/api/projects/{project}/restore");
        let body = serde_json::json!({ "checkpoint": forged, "yes": true, "exact": true });
        assert!(daemon.post(&path, &body).status < 500);
        drop(daemon);
        let root = world.root();
        let git = root.join(".git");
        let outside = |all: &Everything| -> Vec<(PathBuf, usize)> {
            let there = all.iter().map(|(path, content)| (path.clone(), content.len()));
            there.filter(|(path, _)| !path.starts_with(&root) || path.starts_with(&git)).collect()
        };
        assert!(outside(&everything(&world)) == outside(&before), "{name:?}");
    }
}

/// Puts a tree with this name in the place of a checkpoint's, with a commit that names it; gives
/// the id that the checkpoint has then.
fn replace_tree(world: &World, checkpoint: &str, name: &[u8]) -> String {
    let scratch = world.outer().join("scratch.git");
    git::run(&world.outer(), &["init", "--quiet", "--bare", scratch.to_str().unwrap()]);
    let blob = git::run(&world.root(), &["hash-object", "keep.txt"]);
    let tree = [b"100644 ".as_slice(), name, b"\0", &bytes_of(&blob)].concat();
    let tree_id = forge(&scratch, "tree", &tree);
    let commit = format!(
        "tree {tree_id}\nauthor x <x@example.org> 0 +0000\ncommitter x <x@example.org> 0 +0000\n\nforged\n"
    );
    let commit_id = forge(&scratch, "commit", commit.as_bytes());
    let db = db(world);
    let put = "INSERT INTO object(oid, kind, encoding, size, data) VALUES(?1, ?2, 0, ?3, ?4)";
    for (id, kind, data) in [(&tree_id, 2, tree.as_slice()), (&commit_id, 3, commit.as_bytes())] {
        db.execute(put, (bytes_of(id), kind, data.len() as i64, data)).unwrap();
    }
    let set = "UPDATE checkpoint SET oid = ?1, tree = ?2 WHERE oid = ?3";
    let changed = db.execute(set, (bytes_of(&commit_id), bytes_of(&tree_id), bytes_of(checkpoint)));
    assert_eq!(changed.unwrap(), 1);
    // The trees that later checkpoints are made from.
    db.execute("UPDATE folder_tree SET oid = ?1", [bytes_of(&tree_id)]).unwrap();
    commit_id
}

/// The id that git gives to bytes, whatever they say.
fn forge(repository: &Path, kind: &str, bytes: &[u8]) -> String {
    let file = repository.join("forged");
    std::fs::write(&file, bytes).unwrap();
    let mut hash = Command::new("git");
    hash.arg("--git-dir").arg(repository).args(["hash-object", "--literally", "-t", kind]);
    let output = hash.arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}
