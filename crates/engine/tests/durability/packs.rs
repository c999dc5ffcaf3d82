//! Content that comes by the hundreds: borrowed from git, or in a pack of our own. git is the
//! oracle for bytes, ids and packs.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests write their own files and may panic"
)]

mod kills;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use retake_engine::model::{ObjectId, PathState};
use retake_engine::{GoToOptions, InitOptions, Project, PurgeTarget, Retake};
use retake_store::{RetentionLimits, StoreProblem};
use retake_testkit::{TestProject, disk, git};

/// Enough for git to be asked.
const MANY: usize = 450;

fn write_many(test: &TestProject) {
    let mut rng = fastrand::Rng::with_seed(7);
    for number in 0..MANY {
        let lines = format!("{number}\n").repeat(rng.usize(1..40));
        test.write(&format!("d{}/f{number}.txt", number % 9), lines);
    }
}

/// A repository with everything in one pack, and with an index that finds every file clean.
fn clone_of_many() -> TestProject {
    cloned(TestProject::new())
}

fn cloned(test: TestProject) -> TestProject {
    write_many(&test);
    commit_and_pack(&test);
    test
}

fn commit_and_pack(test: &TestProject) {
    let root = test.root();
    git::run(&root, &["init", "-q"]);
    git::run(&root, &["add", "-A", "-f"]);
    git::run(&root, &["commit", "-qm", "all"]);
    git::run(&root, &["gc", "-q"]);
    settle(&root);
}

/// An index that is younger than every file.
fn settle(root: &Path) {
    std::thread::sleep(Duration::from_millis(20));
    std::fs::remove_file(root.join(".git/index")).unwrap();
    git::run(root, &["reset", "-q", "--mixed"]);
    git::run(root, &["update-index", "-q", "--refresh"]);
}

fn packs_folder(project: &Project) -> PathBuf {
    project.store().folder().join("packs")
}

/// The packs of the store: name and links.
fn packs(project: &Project) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(packs_folder(project)).into_iter().flatten();
    let entries = entries.map(|entry| entry.unwrap());
    let packs = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "pack"));
    packs
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, entry.metadata().unwrap().nlink())
        })
        .collect()
}

fn links(project: &Project) -> Vec<u64> {
    packs(project).into_values().collect()
}

/// Every file is in the record as it is on disk, under the id that git gives its bytes.
fn assert_recorded(test: &TestProject, project: &Project) {
    let disk = disk::read_files(&test.root());
    let files = disk.iter().filter(|(_, entry)| !entry.is_link).map(|(name, _)| name.as_str());
    let ids = git_ids(&test.root(), &files.collect::<Vec<_>>());
    for (name, entry) in &disk {
        let stored = project.store().manifest_entry(&name.parse().unwrap()).unwrap();
        let PathState::Known(state) = PathState::from(stored.expect(name).state) else {
            panic!("{name} was not captured")
        };
        let content = project.store().read(&state.oid).unwrap();
        assert!(content == entry.content, "{name}");
        let id = ids.get(name.as_str()).map(String::as_str);
        assert!(entry.is_link || id == Some(&state.oid.to_string()), "{name}: {id:?}");
    }
    assert_sound(project);
}

/// What git calls the bytes of these files.
fn git_ids<'n>(root: &Path, names: &[&'n str]) -> HashMap<&'n str, String> {
    let mut git = git::command(root);
    git.args(["hash-object", "--no-filters", "--stdin-paths"]);
    let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut paths = git.stdin.take().unwrap();
    let text = names.join("\n") + "\n";
    let writer = std::thread::spawn(move || paths.write_all(text.as_bytes()).unwrap());
    let output = git.wait_with_output().unwrap();
    writer.join().unwrap();
    let ids = String::from_utf8(output.stdout).unwrap();
    let ids: HashMap<_, _> = names.iter().copied().zip(ids.lines().map(str::to_owned)).collect();
    assert_eq!(ids.len(), names.len());
    ids
}

fn assert_sound(project: &Project) {
    let found = project.store().verify(true, &mut |_, _| {}).unwrap();
    assert_eq!(found.problems, [], "{found:?}");
}

/// Of how many of these files the content has a row of its own, and was read for it.
fn rows(project: &Project) -> u64 {
    let db = rusqlite::Connection::open(project.store().folder().join("retake.db")).unwrap();
    let sql = "SELECT count(*) FROM object WHERE kind = 1";
    db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as u64
}

fn collect(project: &Project) {
    let limits =
        RetentionLimits { max_age: None, max_dialogs: 30, max_bytes: u64::MAX, protect: 0 };
    let wait = Duration::from_secs(20);
    let done = project.store().gc(&limits, 1_900_000_000_000, wait, &mut |_, _| {}).unwrap();
    assert!(done.complete);
}

#[test]
fn what_a_clone_lends_outlives_it() {
    let test = clone_of_many();
    let project = test.init();
    assert_eq!((links(&project), rows(&project)), (vec![2], 0), "nothing was read or stored");
    assert!(project.store().disk_size() < 1 << 20);
    assert_recorded(&test, &project);
    let point = project.checkpoint(Some("all"), None, test.tick()).unwrap();
    let tree = git::run(&test.root(), &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(point.tree.to_string(), tree, "the tree is git's own");
    let before = disk::read_files(&test.root());
    // What an agent with a shell can do.
    test.shell("rm -rf .git; for f in d*/*; do echo gone > $f; done; rm -rf d3");
    assert_eq!(test.refresh().changes.len(), MANY);
    let plan = project.plan_restore(&point, &GoToOptions::default(), test.tick()).unwrap();
    project.apply(&plan, test.tick()).unwrap();
    assert!(disk::same_files(&before, &disk::read_files(&test.root())));
    assert_recorded(&test, &project);
}

#[test]
fn what_git_lets_go_is_copied_by_a_collection() {
    let test = clone_of_many();
    let project = test.init();
    test.shell("echo new > d1/new.txt; git add .; git -c user.name=x -c user.email=x commit -qm 2");
    test.shell("git -c gc.pruneExpire=now gc -q --prune=now");
    test.refresh();
    assert_eq!(links(&project), [1], "it is ours alone now");
    let (lent, alone) = (packs(&project), project.store().disk_size());
    collect(&project);
    assert_eq!(links(&project), [1]);
    assert_ne!(packs(&project), lent, "what was needed of it was copied");
    assert!(project.store().disk_size() <= alone + 4096);
    assert_recorded(&test, &project);
    let folder = packs_folder(&project);
    let ours = packs(&project).into_keys().next().unwrap();
    git::run(&folder, &["verify-pack", ours.trim_end_matches(".pack")]);
    // Nothing is needed any more: the pack goes, and what is new stays.
    test.shell("rm -rf d*; echo left > left.txt");
    test.refresh();
    let old: RetentionLimits =
        RetentionLimits { max_age: Some(1), max_dialogs: 0, max_bytes: 1, protect: 0 };
    let wait = Duration::from_secs(20);
    project.store().gc(&old, 1_900_000_000_000, wait, &mut |_, _| {}).unwrap();
    assert_sound(&project);
}

/// Each rule of borrowing: what git would convert, what only looks clean, what it hides.
#[test]
fn a_blob_stands_for_a_file_only_if_it_is_the_file() {
    let test = TestProject::new();
    write_many(&test);
    let root = test.root();
    git::run(&root, &["init", "-q"]);
    for (key, value) in [
        ("filter.rot.clean", "tr a-z n-za-m"),
        ("filter.rot.smudge", "tr a-z n-za-m"),
        ("core.autocrlf", "input"),
        ("core.attributesFile", root.join("global").to_str().unwrap()),
    ] {
        git::run(&root, &["config", key, value]);
    }
    test.write("global", "*.by_global filter=rot\n");
    std::fs::write(root.join(".git/info/attributes"), "*.by_info filter=rot\n").unwrap();
    test.write(
        ".gitattributes",
        "[attr]odd filter=rot\n*.by_macro odd\n*.rot filter=rot\n*.id ident\n\
         *.enc working-tree-encoding=UTF-16LE\n*.eol text eol=crlf\nplain.rot -filter\n",
    );
    test.write("d1/.gitattributes", "*.deep filter=rot\n");
    test.write(".gitignore", "*.hidden\n");
    for name in ["a.by_global", "a.by_info", "a.by_macro", "a.rot", "d1/a.deep", "d2/a.deep"] {
        test.write(name, format!("{name} is just as long as it was\n"));
    }
    test.write("plain.rot", "not converted\n");
    test.write("a.hidden", "tracked although ignored\n");
    test.write("a.id", "$Id$\n");
    test.write("a.enc", "wide".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    test.write("a.eol", "one\r\ntwo\r\n");
    test.write("crlf.txt", "three\r\nfour\r\n");
    test.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(root.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", root.join("link")).unwrap();
    git::run(&root, &["add", "-A", "-f"]);
    git::run(&root, &["commit", "-qm", "all"]);
    // `$Id$` is filled in by a checkout.
    std::fs::remove_file(root.join("a.id")).unwrap();
    git::run(&root, &["checkout", "-q", "a.id"]);
    git::run(&root, &["gc", "-q"]);
    std::thread::sleep(Duration::from_millis(20));
    git::run(&root, &["update-index", "-q", "--refresh"]);
    // Other content of the same length, while the index still says what it was.
    let touched = root.join("d0/f0.txt");
    let times = std::fs::metadata(&touched).unwrap();
    let swapped: Vec<u8> = test.read("d0/f0.txt").iter().map(|byte| byte ^ 1).collect();
    test.write("d0/f0.txt", swapped);
    let file = std::fs::File::options().write(true).open(&touched).unwrap();
    file.set_modified(times.modified().unwrap()).unwrap();
    let project = test.init();
    assert_recorded(&test, &project);
    assert_eq!(links(&project), [2]);
    // Nine by the rules, and the one that only looks clean.
    assert!((10..15).contains(&rows(&project)), "{} were read", rows(&project));
}

/// A file that was written in the very tick of the index may have changed since.
#[test]
fn what_is_as_young_as_the_index_is_read() {
    let test = clone_of_many();
    let root = test.root();
    let (file, index) = (root.join("d0/f0.txt"), root.join(".git/index"));
    let time = std::fs::metadata(&index).unwrap().modified().unwrap();
    let set = |path: &Path| {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    set(&file);
    git::run(&root, &["update-index", "-q", "--refresh"]);
    set(&index);
    let project = test.init();
    assert_eq!(rows(&project), 1, "the one file");
    assert_recorded(&test, &project);
}

#[test]
fn objects_that_a_repository_does_not_have_are_read() {
    let test = TestProject::new();
    write_many(&test);
    let root = test.root();
    git::run(&root, &["init", "-q"]);
    let pack = || {
        git::run(&root, &["commit", "-qm", "some"]);
        git::run(&root, &["repack", "-q", "-d"]);
        let packs = std::fs::read_dir(root.join(".git/objects/pack")).unwrap();
        packs.map(|entry| entry.unwrap().path()).collect::<HashSet<_>>()
    };
    git::run(&root, &["add", "d0", "d1", "d2", "d3", "d4", "d5"]);
    let first = pack();
    git::run(&root, &["add", "-A"]);
    let second = pack();
    settle(&root);
    // As in a partial clone: named, and not there.
    for file in second.difference(&first) {
        std::fs::remove_file(file).unwrap();
    }
    let project = test.init();
    assert_eq!((links(&project), rows(&project)), (vec![2], MANY as u64 / 9 * 3));
    assert_recorded(&test, &project);
}

#[test]
fn alternates_and_worktrees_lend_too() {
    let origin = clone_of_many();
    for make in ["clone -q --shared . ../project", "worktree add -q ../project"] {
        let test = TestProject::new();
        std::fs::remove_dir(test.root()).unwrap();
        let make = make.replace("../project", test.root().to_str().unwrap());
        git::run(&origin.root(), &make.split(' ').collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(20));
        git::run(&test.root(), &["update-index", "-q", "--refresh"]);
        let project = test.init();
        assert!(links(&project).iter().all(|links| *links >= 2), "{make}");
        assert!(rows(&project) < 20, "{make}");
        assert_recorded(&test, &project);
    }
}

/// Where nothing can be borrowed, everything is read into one pack: a folder without git, another
/// file system, a repository with other ids.
#[test]
fn what_cannot_be_borrowed_goes_into_a_pack_that_git_understands() {
    let plain = TestProject::new();
    write_many(&plain);
    let large = vec![b'x'; 400_000];
    plain.write("large.bin", &large);
    let sha256 = TestProject::new();
    write_many(&sha256);
    git::run(&sha256.root(), &["init", "-q", "--object-format=sha256"]);
    git::run(&sha256.root(), &["add", "-A"]);
    for test in [&plain, &sha256] {
        let project = test.init();
        assert_eq!(links(&project), [1]);
        for (name, entry) in disk::read_files(&test.root()) {
            let stored = project.store().manifest_entry(&name.parse().unwrap()).unwrap().unwrap();
            let oid = PathState::from(stored.state).known().unwrap().oid;
            assert!(project.store().read(&oid).unwrap() == entry.content, "{name}");
        }
        assert_sound(&project);
        let folder = packs_folder(&project);
        let name = packs(&project).into_keys().next().unwrap();
        let made = test.outer().join("made.idx");
        git::run(&folder, &["index-pack", "-o", made.to_str().unwrap(), &name]);
        let ours = std::fs::read(folder.join(name.replace(".pack", ".idx"))).unwrap();
        assert!(ours == std::fs::read(made).unwrap(), "the index is the one that git makes");
    }
}

#[test]
fn on_another_file_system_content_is_read() {
    let memory = Path::new("/dev/shm");
    let test = clone_of_many();
    let device = |path: &Path| std::fs::metadata(path).map(|data| data.dev()).ok();
    let Some(other) = device(memory).filter(|other| Some(*other) != device(&test.root())) else {
        return;
    };
    let home = tempfile::tempdir_in(memory).unwrap();
    assert_eq!(device(home.path()), Some(other));
    let retake = Retake::new(home.path());
    let options = InitOptions::default();
    let project = retake.init(&test.root(), options, 1, &mut |_, _| {}).unwrap().project;
    assert_eq!(links(&project), [1]);
    assert_recorded(&test, &project);
}

#[test]
fn a_branch_switch_of_many_files_reads_none() {
    let test = clone_of_many();
    let root = test.root();
    let project = test.init();
    git::run(&root, &["checkout", "-q", "-b", "other"]);
    test.shell("for f in d*/*; do echo more >> $f; done");
    git::run(&root, &["commit", "-qam", "more"]);
    git::run(&root, &["gc", "-q"]);
    test.refresh();
    git::run(&root, &["checkout", "-q", "main"]);
    git::run(&root, &["checkout", "-q", "other"]);
    test.shell("rm -rf .git/none; sleep 0.02");
    git::run(&root, &["checkout", "-q", "main"]);
    let before = rows(&project);
    let looked = test.refresh();
    assert_eq!(looked.changes.len(), MANY);
    assert_eq!(rows(&project), before);
    assert_recorded(&test, &project);
}

#[test]
fn damage_in_a_pack_is_named_and_mended_by_what_comes_again() {
    let test = TestProject::new();
    write_many(&test);
    let project = test.init();
    let name = packs(&project).into_keys().next().unwrap();
    let file = packs_folder(&project).join(&name);
    let victim = "d0/f0.txt";
    let oid = |project: &Project| -> ObjectId {
        let entry = project.store().manifest_entry(&victim.parse().unwrap()).unwrap();
        PathState::from(entry.unwrap().state).known().unwrap().oid
    };
    let (old, lines) = (oid(&project), test.read(victim));
    let mut bytes = std::fs::read(&file).unwrap();
    // Everything but header and trailer.
    let end = bytes.len() - 20;
    bytes[12..end].iter_mut().for_each(|byte| *byte = !*byte);
    std::fs::write(&file, &bytes).unwrap();
    let again = test.open();
    assert!(again.store().read(&old).is_err(), "never something else");
    let found = again.store().verify(true, &mut |_, _| {}).unwrap();
    assert!(found.problems.iter().any(|problem| matches!(problem, StoreProblem::Damaged { .. })));
    test.write(victim, "another\n");
    test.refresh();
    test.write(victim, &lines);
    test.refresh();
    assert_eq!(test.open().store().read(&old).unwrap(), lines);
    // Nothing is thrown away because of it.
    collect(&again);
    assert!(file.exists());
    // A pack that is gone altogether is named.
    std::fs::remove_file(&file).unwrap();
    let found = test.open().store().verify(false, &mut |_, _| {}).unwrap();
    assert!(found.problems.iter().any(|problem| matches!(problem, StoreProblem::Pack { .. })));
}

#[test]
fn a_purge_rewrites_packs() {
    for borrowed in [true, false] {
        let test = TestProject::new();
        write_many(&test);
        let mut secret = vec![0; 5000];
        fastrand::Rng::with_seed(5).fill(&mut secret);
        test.write("secret.bin", &secret);
        if borrowed {
            commit_and_pack(&test);
        }
        let project = test.init();
        assert_eq!(links(&project), [if borrowed { 2 } else { 1 }]);
        let target = PurgeTarget::Path("secret.bin".parse().unwrap());
        assert!(project.purge(&target, test.tick()).unwrap().is_complete);
        for file in std::fs::read_dir(packs_folder(&project)).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            // Noise is kept as it is, so that its bytes would be there to see.
            let windows = secret.windows(64).step_by(500);
            assert!(windows.into_iter().all(|part| !bytes.windows(64).any(|at| at == part)));
        }
        assert_eq!(links(&project), [1], "a pack of our own without it");
        std::fs::remove_file(test.root().join("secret.bin")).unwrap();
        test.refresh();
        assert_recorded(&test, &test.open());
        if borrowed {
            git::run(&test.root(), &["fsck", "--strict"]);
        }
    }
}
