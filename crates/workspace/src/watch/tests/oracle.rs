//! Random acts against a full listing: whatever changed is covered by the hint.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A random path, up to four deep.
fn some_path(random: &mut fastrand::Rng) -> String {
    let names: Vec<_> = (0..random.usize(1..5)).map(|_| NAMES[random.usize(..4)]).collect();
    names.join("/")
}

/// Does one random thing. Much of it is impossible just now, which is fine.
fn act(project: &WatchTestProject, random: &mut fastrand::Rng) {
    let (one, other) = (project.at(&some_path(random)), project.at(&some_path(random)));
    match random.u32(..11) {
        0..3 => drop(std::fs::write(&one, random.u64(..).to_string())),
        3 => drop(std::fs::create_dir(&one)),
        4 => {
            let _ = std::fs::create_dir_all(&one);
            let _ = std::fs::write(one.join("a"), random.u64(..).to_string());
        }
        5 => drop(std::fs::remove_file(&one).or_else(|_| std::fs::remove_dir_all(&one))),
        6..8 => drop(std::fs::rename(&one, &other)),
        8 => drop(renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE)),
        9 => drop(symlink(&other, &one)),
        _ => {
            // Away and back under another name.
            let away = project.outside("away");
            if std::fs::rename(&one, &away).is_ok() && std::fs::rename(&away, &other).is_err() {
                let _ = std::fs::remove_dir_all(&away).or_else(|_| std::fs::remove_file(&away));
            }
        }
    }
}

fn is_covered(path: &[u8], hint: &BTreeSet<ProjectPath>) -> bool {
    let path = ProjectPath::new(path.to_vec()).unwrap();
    hint.iter().any(|hinted| path.is_beneath(hinted))
}

/// Each folder is watched once, and its events come under its present name.
#[track_caller]
fn check_tree(project: &WatchedProject) {
    let folders: Vec<_> = snapshot(&project.root())
        .into_iter()
        .filter(|(_, what)| what.0 == 'd')
        .map(|(path, _)| String::from_utf8(path).unwrap())
        .collect();
    assert_eq!(project.watch.state().watched, folders.len() + 1);
    let probes: Vec<_> = folders.iter().map(|folder| format!("{folder}/probe")).collect();
    for probe in &probes {
        project.write(probe);
    }
    assert_eq!(project.hinted().into_iter().collect::<BTreeSet<_>>(), probes.into_iter().collect());
}

#[test]
fn whatever_differs_is_covered() {
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let project = WatchTestProject::new().watched();
        let mut before = snapshot(&project.root());
        for round in 0..60 {
            (0..random.usize(1..25)).for_each(|_| act(&project, &mut random));
            let ChangeHint::Paths(hint) = project.hint() else {
                panic!("seed {seed}, round {round}: everything");
            };
            let after = snapshot(&project.root());
            for path in before.keys().chain(after.keys()) {
                let differs = before.get(path) != after.get(path);
                let name = String::from_utf8_lossy(path);
                assert!(
                    !differs || is_covered(path, &hint),
                    "seed {seed}, round {round}: {name} is not in {hint:?}"
                );
            }
            before = after;
        }
        check_tree(&project);
    }
}

#[test]
fn who_follows_the_hints_while_it_happens_ends_with_the_truth() {
    for seed in 0..10 {
        let project = WatchTestProject::new().watched();
        let mut known = FileSnapshot::new();
        std::thread::scope(|scope| {
            let writers: Vec<_> = [seed, seed + 1000]
                .map(|seed| {
                    let project = &project.project;
                    scope.spawn(move || {
                        let mut random = fastrand::Rng::with_seed(seed);
                        (0..2000).for_each(|_| act(project, &mut random));
                    })
                })
                .into();
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                catch_up(&mut known, &project.root(), &project.hint());
            }
        });
        catch_up(&mut known, &project.root(), &project.hint());
        assert!(known == snapshot(&project.root()), "seed {seed}");
        check_tree(&project);
    }
}
