//! An operation that was interrupted is finished by its journal: what that says is checked again.

use super::bounded::assert_ended_well;
use crate::support::World;

/// A project in which an agent's turn changed two files.
fn turn() -> World {
    let world = World::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo more >> a.txt; echo more >> b.txt");
    world
}

/// The number of the step that puts the first file into place.
fn first_exchange() -> String {
    let world = turn();
    let steps = world.outer().join("steps");
    let counted = world.command(&["undo"]).env("RETAKE_COUNT_STEPS", &steps).output().unwrap();
    assert!(counted.status.success());
    let steps = std::fs::read_to_string(steps).unwrap();
    steps.lines().find_map(|line| line.strip_suffix(" exchange")).unwrap().to_owned()
}

/// A project in which the undo of both files was killed before it wrote the first one.
fn interrupted(at: &str) -> World {
    let world = turn();
    let killed = world.command(&["undo"]).env("RETAKE_KILL_AT", at).output().unwrap();
    assert!(killed.status.code().is_none(), "it was killed");
    world
}

#[test]
fn threat_tree_names_in_the_journal_of_an_interrupted_operation() {
    let names: [&[u8]; 8] = [
        b"../evil",
        b"/evil",
        b"a/../../evil",
        b"evil\0",
        b".git/hooks/post-checkout",
        b".GIT/config",
        b"..",
        b"",
    ];
    let at = first_exchange();
    for (column, names) in [("path", &names[..]), ("temp", &names[..3])] {
        for name in names {
            let world = interrupted(&at);
            std::fs::create_dir_all(world.root().join(".git/hooks")).unwrap();
            let db = rusqlite::Connection::open(world.store().join("retake.db")).unwrap();
            let sql = format!("UPDATE step SET {column} = ?1 WHERE number = 0");
            assert_eq!(db.execute(&sql, [name]).unwrap(), 1);
            drop(db);
            let outside = names_outside(&world);
            for words in [&["recover", "--resume"][..], &["recover", "--undo"], &["gc"]] {
                assert_ended_well(&world.run(words), &format!("{words:?} {column} {name:?}"));
            }
            assert_eq!(names_outside(&world), outside, "{column} {name:?}");
        }
    }
}

/// Everything but the project's own files and Retake's home.
fn names_outside(world: &World) -> Vec<std::path::PathBuf> {
    let (root, home, tmp) = (world.root(), world.home(), world.outer().join("tmp"));
    let git = root.join(".git");
    let mut names = Vec::new();
    super::walk(&world.outer(), &mut |path, _| {
        let is_own = path.starts_with(&home) || path.starts_with(&tmp);
        if !is_own && (!path.starts_with(&root) || path.starts_with(&git)) {
            names.push(path.to_owned());
        }
    });
    names.sort();
    names
}
