//! Reading the user's repository, with git as the oracle.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use retake_workspace::git::{self, GitIndexEntry, GitState};

use crate::support::{Project, path};

fn repository() -> Project {
    let project = Project::with(&["a.txt", "d/b.txt"]);
    project.git(&["init", "-q", "-b", "main", "."]);
    project
}

fn commit(project: &Project, message: &str) -> String {
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "--allow-empty", "-m", message]);
    rev(project.root())
}

fn rev(root: &Path) -> String {
    String::from_utf8(crate::support::git(root, &["rev-parse", "HEAD"])).unwrap().trim().to_owned()
}

#[test]
fn a_look_follows_head_through_every_form() {
    let project = repository();
    let unborn = git::read_state(project.root()).unwrap();
    assert_eq!(unborn.head.as_deref(), Some("ref: refs/heads/main"));
    assert_eq!((unborn.commit(), unborn.reflog_size, unborn.index_id), (None, 0, None));

    let first = commit(&project, "one");
    let loose = git::read_state(project.root()).unwrap();
    assert_eq!(loose.commit().unwrap().to_string(), first);
    assert_eq!(loose.branch(), Some("refs/heads/main"));
    assert!(loose.index_id.is_some() && loose.reflog_size > 0);

    project.git(&["pack-refs", "--all"]);
    assert!(!project.at(".git/refs/heads/main").exists());
    assert_eq!(git::read_state(project.root()).unwrap(), loose, "packing moves nothing");

    project.git(&["checkout", "-q", "--detach"]);
    let detached = git::read_state(project.root()).unwrap();
    assert_eq!((detached.head.as_deref(), detached.branch()), (Some(first.as_str()), None));
    assert_eq!(detached.commit(), loose.commit());

    project.write("a.txt", "stashed");
    project.git(&["stash", "-q"]);
    let stashed = git::read_state(project.root()).unwrap();
    let newest = String::from_utf8(project.git(&["rev-parse", "refs/stash"])).unwrap();
    assert_eq!((loose.stash.as_deref(), stashed.stash.as_deref()), (Some(""), Some(newest.trim())));
    project.git(&["stash", "drop", "-q"]);
    assert_eq!(git::read_state(project.root()).unwrap().stash, loose.stash);

    for look in [loose, detached, stashed, GitState::default()] {
        assert_eq!(GitState::from_bytes(&look.to_bytes()), Some(look));
    }
    assert_eq!(GitState::from_bytes(b"junk"), None);
}

#[test]
fn the_index_id_changes_with_the_index() {
    let project = repository();
    commit(&project, "one");
    let before = git::read_state(project.root()).unwrap();
    project.write("c.txt", "new");
    assert_eq!(git::read_state(project.root()).unwrap(), before);
    project.git(&["add", "c.txt"]);
    assert_ne!(git::read_state(project.root()).unwrap().index_id, before.index_id);
    project.git(&["-c", "index.skipHash=true", "rm", "-q", "--cached", "c.txt"]);
    let unhashed = git::read_state(project.root()).unwrap().index_id.unwrap();
    assert!(unhashed.contains(':'), "{unhashed}");
    assert_eq!(git::read_index(project.root()).unwrap().unwrap().entries.len(), 2);
}

#[test]
fn new_reflog_lines_tell_what_git_did() {
    let project = repository();
    commit(&project, "one");
    let since = git::read_state(project.root()).unwrap().reflog_size;
    assert!(git::new_reflog_actions(project.root(), since).is_empty());
    project.git(&["checkout", "-q", "-b", "other"]); // leaves HEAD where it is
    commit(&project, "two");
    project.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let actions = ["commit: two", "reset: moving to HEAD~1"];
    assert_eq!(git::new_reflog_actions(project.root(), since), actions);
    // The log was cut: all that is left.
    assert_eq!(git::new_reflog_actions(project.root(), 1 << 40).len(), 3);
    assert!(git::new_reflog_actions(Path::new("/"), 0).is_empty());
}

#[test]
fn linked_worktrees_have_their_own_head_and_a_common_exclude_file() {
    let project = repository();
    let first = commit(&project, "one");
    project.git(&["worktree", "add", "-q", "-b", "side", "tree"]);
    let tree = project.at("tree");
    let look = git::read_state(&tree).unwrap();
    assert_eq!(look.head, Some(format!("ref: refs/heads/side {first}")));
    assert!(git::new_reflog_actions(&tree, 0).len() <= 1);
    crate::support::git(&tree, &["commit", "-q", "--allow-empty", "-m", "side"]);
    assert_eq!(git::read_state(&tree).unwrap().commit().unwrap().to_string(), rev(&tree));
    assert_eq!(git::read_state(project.root()).unwrap().commit().unwrap().to_string(), first);
    assert_eq!(git::new_reflog_actions(&tree, 0).last().unwrap(), "commit: side");

    let exclude = git::exclude_file(&tree).unwrap().canonicalize().unwrap();
    assert_eq!(exclude, project.at(".git/info/exclude").canonicalize().unwrap());
    assert_eq!(git::read_index(&tree).unwrap().unwrap().entries.len(), 2);
    assert_eq!(git::toplevel(&tree.join("d")), Some(tree));
    assert_eq!(git::toplevel(&project.at("d/none")), Some(project.root().to_owned()));
}

#[test]
fn no_repository_is_none() {
    let project = Project::with(&[".git/nothing"]);
    assert_eq!(git::read_state(project.root()), None);
    assert_eq!(git::toplevel(project.root()), None);
    assert_eq!(git::exclude_file(project.root()), None);
    assert!(git::read_index(project.root()).unwrap().is_none());
    assert_eq!(git::local_excludes(project.root(), None), None);
}

#[test]
fn the_index_is_what_git_lists() {
    let project = repository();
    project.write("run.sh", "#!/bin/sh");
    project.write("sp ace\n", "x");
    symlink("a.txt", project.at("link")).unwrap();
    project.git(&["add", "-A"]);
    project.git(&["update-index", "--chmod=+x", "run.sh"]);
    project.write("announced", "x");
    project.git(&["add", "-N", "announced"]);
    let ours = git::read_index(project.root()).unwrap().unwrap().entries;

    let listed = project.git(&["ls-files", "-s", "-z"]);
    let mut theirs = 0;
    for line in listed.split(|&b| b == 0).filter(|line| !line.is_empty()) {
        let tab = line.iter().position(|&b| b == b'\t').unwrap();
        let head = std::str::from_utf8(&line[..tab]).unwrap();
        let name = &line[tab + 1..];
        if name == b"announced" {
            continue;
        }
        let entry: GitIndexEntry = ours[&path(name)];
        assert_eq!(format!("{:o} {} 0", entry.mode, entry.oid), head);
        theirs += 1;
    }
    assert_eq!(ours.len(), theirs);
    let metadata = project.at("a.txt").metadata().unwrap();
    let entry = ours[&path("a.txt")];
    assert_eq!(u64::from(entry.size), metadata.len());
    assert_eq!(entry.mtime_ns, metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec());
}

#[test]
fn conflicts_and_submodules_are_left_out() {
    let project = repository();
    commit(&project, "one");
    project.git(&["checkout", "-q", "-b", "other"]);
    project.write("a.txt", "other");
    commit(&project, "two");
    project.git(&["checkout", "-q", "main"]);
    project.write("a.txt", "main");
    let head = commit(&project, "three");
    let merge = crate::support::git_command(project.root(), &["merge", "-q", "other"]).output();
    assert!(!merge.unwrap().status.success());
    project.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},module")]);
    let entries = git::read_index(project.root()).unwrap().unwrap().entries;
    assert_eq!(entries.into_keys().collect::<Vec<_>>(), [path("d/b.txt")]);
}

#[test]
fn a_foreign_or_damaged_index_is_an_error_text() {
    let project = repository();
    project.git(&["add", "-A"]);
    let file = project.at(".git/index");
    let good = std::fs::read(&file).unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..300 {
        let mut bad = good.clone();
        // Zeros at the end say "no checksum", so that the parser itself is reached.
        let end = bad.len() - 20;
        bad[end..].fill(0);
        match round % 3 {
            0 => bad.truncate(rng.usize(..good.len())),
            1 => bad[rng.usize(..end)] ^= 1 << rng.u8(..8),
            _ => (0..20).for_each(|_| bad[rng.usize(..end)] = rng.u8(..)),
        }
        std::fs::write(&file, &bad).unwrap();
        // Some damage is not recognisable; what counts is that nothing panics.
        let _ = git::read_index(project.root());
        let _ = git::read_state(project.root());
    }
    let mut bad = good.clone();
    bad[40] ^= 1;
    std::fs::write(&file, &bad).unwrap();
    let error = git::read_index(project.root()).unwrap_err();
    assert!(error.contains("checksum"), "{error}");
    std::fs::write(&file, &good).unwrap();
    project.git(&["update-index", "--split-index"]);
    assert!(git::read_index(project.root()).unwrap_err().contains("split"));

    let sha256 = Project::with(&["a"]);
    sha256.git(&["init", "-q", "--object-format=sha256", "."]);
    sha256.git(&["add", "-A"]);
    assert!(git::read_index(sha256.root()).unwrap_err().contains("SHA-256"));
}

#[test]
fn the_repositorys_own_excludes_setting_is_found() {
    let project = repository();
    assert_eq!(git::local_excludes(project.root(), None), None);
    project.git(&["config", "core.excludesFile", "~/x \"y\""]);
    let found = git::local_excludes(project.root(), Some(Path::new("/home/me")));
    assert_eq!(found.as_deref(), Some(Path::new("/home/me/x \"y\"")));
    project.git(&["config", "core.excludesFile", "rules;#"]);
    assert_eq!(git::local_excludes(project.root(), None), Some(project.at("rules;#")));
}

#[test]
fn a_hostile_repository_neither_blocks_nor_leads_astray() {
    let project = Project::with(&["outside"]);
    project.write(".git/HEAD", "ref: ../outside");
    assert_eq!(git::read_state(project.root()).unwrap().commit(), None);
    std::fs::remove_file(project.at(".git/HEAD")).unwrap();
    for fifo in [".git/HEAD", ".git/index", ".git/commondir"] {
        project.fifo(fifo);
    }
    let no_stash = Some(String::new());
    let nothing = GitState { stash: no_stash, ..GitState::default() };
    assert_eq!(git::read_state(project.root()), Some(nothing));
    assert!(git::read_index(project.root()).is_err());
}
