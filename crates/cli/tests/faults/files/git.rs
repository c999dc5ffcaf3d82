//! Rows 40 and 44 to 47: what git is and does around the files.

use retake_testkit::disk::git_state;
use retake_testkit::git;

use super::{assert_same, check, check_record, files, newest_checkpoint, sh, turn};
use crate::support::World;

/// A repository in which these files are committed.
fn repository(script: &str) -> World {
    let world = World::new();
    git::run(&world.root(), &["init", "--quiet"]);
    sh(&world, script);
    commit(&world, "base");
    world
}

fn commit(world: &World, message: &str) {
    git::run(&world.root(), &["add", "--all"]);
    git::run(&world.root(), &["commit", "--quiet", "--allow-empty", "-m", message]);
}

#[test]
fn row_40_nested_repositories_and_submodules() {
    let world = repository("echo a > a.txt");
    let source = world.outer().join("source");
    std::fs::create_dir(&source).unwrap();
    git::run(&source, &["init", "--quiet"]);
    std::fs::write(source.join("s.txt"), "s\n").unwrap();
    git::run(&source, &["add", "."]);
    git::run(&source, &["commit", "--quiet", "-m", "one"]);
    let url = source.to_str().unwrap();
    git::run(
        &world.root(),
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"],
    );
    git::run(&world.root(), &["clone", "--quiet", url, "nested"]);
    world.ok(&["init"]);
    let before = files(&world.root());
    let status = world.ok(&["status"]);
    assert!(status.contains("nested repositor"), "{status}");
    // The agent commits in the inner repositories, too.
    let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm agent";
    turn(
        &world,
        &format!(
            "echo more >> sub/s.txt; rm nested/s.txt; echo new > nested/new; echo new > sub/new;
            (cd nested && {commit}); (cd sub && {commit})"
        ),
    );
    let inner = || {
        let nested = git_state(&world.root().join("nested"));
        (nested, git_state(&world.root()), std::fs::read(world.root().join("sub/.git")).unwrap())
    };
    let repositories = inner();
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &before);
    world.ok(&["redo"]);
    world.ok(&["restore", "--before-message", "1", "--yes"]);
    assert_same(&files(&world.root()), &before);
    assert!(inner() == repositories, "no `.git` was touched");
    for folder in ["nested", "sub"] {
        let log = git::run(&world.root().join(folder), &["log", "--format=%s"]);
        assert_eq!(log, "agent\none", "{folder}: what was committed stays so");
    }
    // Even if the inner repository goes, its files are protected.
    turn(&world, "rm -rf nested");
    world.ok(&["undo"]);
    assert_eq!(world.read("nested/s.txt"), "s\n");
    check_record(&world);
}

#[test]
fn row_44_the_repository_is_deleted() {
    let world = World::new();
    git::run(&world.root(), &["init", "--quiet"]);
    // So many that their contents are borrowed from git.
    for number in 0..500 {
        world.write(&format!("src/{number}.txt"), format!("{number}\n"));
    }
    commit(&world, "base");
    git::run(&world.root(), &["gc", "--quiet"]);
    world.ok(&["init", "--checkpoint"]);
    let before = files(&world.root());
    turn(&world, "rm -rf .git; echo more >> src/1.txt; rm src/2.txt");
    check(&world);
    world.ok(&["undo"]);
    assert_same(&files(&world.root()), &before);
    sh(&world, "rm -r src");
    world.shell("k2", "echo after > after.txt");
    world.ok(&["restore", "--before-message", "1", "--yes"]);
    assert_same(&files(&world.root()), &before);
    check(&world);
}

#[test]
fn row_45_the_person_collects_garbage() {
    let world = World::new();
    git::run(&world.root(), &["init", "--quiet"]);
    for number in 0..500 {
        world.write(&format!("src/{number}.txt"), format!("content {number}\n"));
    }
    commit(&world, "base");
    git::run(&world.root(), &["gc", "--quiet"]);
    world.ok(&["init", "--checkpoint"]);
    let checkpoint = newest_checkpoint(&world);
    assert!(world.store().join("packs").is_dir(), "contents were borrowed");
    let before = files(&world.root());
    let blob = git::run(&world.root(), &["rev-parse", "HEAD:src/7.txt"]);
    // All of it becomes garbage, and is collected.
    git::run(&world.root(), &["checkout", "--quiet", "--orphan", "other"]);
    git::run(&world.root(), &["rm", "-r", "--quiet", "--force", "."]);
    world.write("other.txt", "other\n");
    commit(&world, "other");
    git::run(&world.root(), &["branch", "--quiet", "-D", "main"]);
    git::run(&world.root(), &["reflog", "expire", "--expire=now", "--all"]);
    git::run(&world.root(), &["gc", "--quiet", "--prune=now"]);
    let found = git::command(&world.root()).args(["cat-file", "-e", &blob]).output().unwrap();
    assert!(!found.status.success(), "git itself has it no more");
    check(&world);
    // Its own garbage, too.
    world.ok(&["gc"]);
    check(&world);
    world.ok(&["restore", &checkpoint, "--yes", "--exact", "--across-git"]);
    assert_same(&files(&world.root()), &before);
    assert_eq!(git::run(&world.root(), &["fsck"]), "");
    check(&world);
}

/// Who made the newest changes, by path.
fn makers(world: &World, count: usize) -> Vec<(String, String)> {
    let count = count.to_string();
    let log = world.run(&["log", "--json", "-n", &count]).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let changes = log["changes"].as_array().unwrap().iter();
    let mut makers: Vec<_> = changes.map(|c| (text(&c["path"]), text(&c["actor"]))).collect();
    makers.sort();
    makers
}

#[test]
fn row_46_switch_rebase_and_stash() {
    let world = repository("echo 1 > a.txt; echo b > b.txt");
    let root = world.root();
    git::run(&root, &["checkout", "--quiet", "-b", "other"]);
    sh(&world, "echo other > a.txt; echo c > c.txt");
    commit(&world, "other");
    git::run(&root, &["checkout", "--quiet", "main"]);
    sh(&world, "echo main >> b.txt");
    commit(&world, "main");
    world.ok(&["init"]);
    turn(&world, "echo agent >> a.txt");
    let by_git = |paths: &[&str]| -> Vec<(String, String)> {
        paths.iter().map(|path| ((*path).to_owned(), "git".to_owned())).collect()
    };
    git::run(&root, &["stash", "--quiet"]);
    world.ok(&["status"]);
    assert_eq!(makers(&world, 1), by_git(&["a.txt"]), "stash");
    git::run(&root, &["checkout", "--quiet", "other"]);
    world.ok(&["status"]);
    assert_eq!(makers(&world, 3), by_git(&["a.txt", "b.txt", "c.txt"]), "switch");
    git::run(&root, &["rebase", "--quiet", "main"]);
    world.ok(&["status"]);
    assert_eq!(makers(&world, 1), by_git(&["b.txt"]), "rebase");
    let events = world.run(&["log", "--json", "--actor", "agent"]).json();
    assert_eq!(events["changes"].as_array().unwrap().len(), 1, "nothing of it is the agent's");
    check(&world);
    // Going back across it needs to be said.
    let (now, state) = (files(&root), git_state(&root));
    for verb in [
        &["undo"][..],
        &["restore", "--before-message", "1", "--yes"],
        &["rollback", "--message", "1"],
    ] {
        let refused = world.run(verb);
        assert_eq!(refused.code, 3, "{verb:?}: {}{}", refused.text(), refused.stderr);
        assert!(refused.text().contains("git changed it since"), "{verb:?}: {}", refused.text());
        assert_eq!(files(&root), now, "{verb:?}");
    }
    world.ok(&["restore", "--before-message", "1", "--yes", "--across-git"]);
    assert_eq!((world.read("a.txt"), world.read("c.txt")), ("1\n".into(), "(absent)".into()));
    world.ok(&["undo"]);
    assert_same(&files(&root), &now);
    assert!(git_state(&root) == state, "`.git` was never touched");
    check(&world);
}

/// cline#14367: the agent's `.gitignore` was taken back, and with it went what it had hidden.
#[test]
fn row_47_changes_of_the_ignore_rules() {
    let world = repository(
        "echo a > a.txt; echo '*.log' > .gitignore; echo log > app.log; mkdir data; echo row > data/row.csv",
    );
    world.ok(&["init"]);
    let before = files(&world.root());
    // It hides what is tracked, and shows what was hidden.
    turn(&world, "echo 'data/' > .gitignore; echo more >> a.txt; echo two > data/two.csv");
    sh(&world, "echo mine > data/mine.csv; echo mine > mine.log");
    world.ok(&["status"]);
    let hidden = ["data/row.csv", "data/mine.csv", "app.log", "mine.log"];
    let kept = |what: &str| {
        for name in hidden {
            assert_ne!(world.read(name), "(absent)", "{what}: {name}");
        }
    };
    for verb in
        [&["undo"][..], &["redo"], &["restore", "--before-message", "1", "--yes", "--exact"]]
    {
        world.ok(verb);
        kept(verb[0]);
    }
    assert_eq!(world.read("data/two.csv"), "(absent)", "the agent made it, so it goes");
    let now = files(&world.root());
    for name in [".gitignore", "a.txt", "app.log", "data/row.csv"] {
        assert!(now[name.as_bytes()].is_same(&before[name.as_bytes()]), "{name}");
    }
    check(&world);
    // The person shows what was hidden: it was there all along, so nothing takes it away.
    sh(&world, "rm .gitignore");
    world.ok(&["status"]);
    turn(&world, "echo again >> a.txt");
    for verb in [&["undo"][..], &["restore", "--before-message", "1", "--yes"]] {
        world.run(verb);
        kept("without rules");
    }
    check(&world);
}
