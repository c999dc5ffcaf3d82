//! Corners of planning and applying: moves, modes, hunks, and a save at the worst moment.
//!
//! What a person saved is never lost, what a verb says is what it did, and a turn
//! goes back and forth as often as one likes.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::rc::Rc;

use retake_engine::model::{Actor, Hunk};
use retake_engine::{GoToOptions, TakeBackOptions};
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::{TestProject, plan_line, play};

fn played(story: &str) -> (TestProject, String) {
    let project = TestProject::in_memory();
    let said = play(&project, story);
    (project, said)
}

fn text(project: &TestProject, path: &str) -> Option<String> {
    std::fs::read_to_string(project.root().join(path)).ok()
}

/// Plays while `meanwhile` is called before each step with its number and name; gives how many
/// steps there were.
fn play_disturbed(
    project: &TestProject,
    story: &str,
    mut meanwhile: impl FnMut(u32, &'static str) + 'static,
) -> (String, u32) {
    let count = Rc::new(Cell::new(0));
    let counted = Rc::clone(&count);
    retake_seam::on_step(Some(Box::new(move |label| {
        counted.set(counted.get() + 1);
        meanwhile(counted.get(), label);
    })));
    let said = play(project, story);
    retake_seam::on_step(None);
    (said, count.get())
}

#[test]
fn moved_then_deleted_comes_back_at_its_first_name() {
    let (project, said) = played(
        r"
        file a.txt: one\ntwo\nthree\n
        init
        say d: go
        shell d s1: mv a.txt b.txt
        shell d s2: rm b.txt
        undo
        ",
    );
    assert_eq!(text(&project, "a.txt").as_deref(), Some("one\ntwo\nthree\n"), "{said}");
    assert_eq!(text(&project, "b.txt"), None, "{said}");
}

#[test]
fn rejecting_a_hunk_leaves_the_mode() {
    let (project, said) = played(
        r"
        file a.sh: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        run chmod 644 a.sh
        init
        say d: go
        shell d s1: sed -i -e s/2/two/ -e s/8/eight/ a.sh && chmod 755 a.sh
        reject call=s1 hunk=1
        ",
    );
    let mode = std::fs::metadata(project.root().join("a.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "{said}");
    assert_eq!(project.read("a.sh"), b"1\n2\n3\n4\n5\n6\n7\neight\n9\n", "{said}");
}

#[test]
fn approval_survives_the_undo_of_an_older_hunk_rejection() {
    let (project, said) = played(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
        init
        say d: go
        write d w1 a.txt: 1\ntwo\n3\n4\nfive\n6\n7\neight\n9\n
        reject call=w1 hunk=2
        approve d
        undo
        ",
    );
    let statuses = play(&project, "statuses");
    assert!(statuses.contains(" approved"), "{said}{statuses}");
    assert!(!statuses.contains("pending approved"), "{said}{statuses}");
}

/// The agent makes a file, the person edits it, the agent edits it again.
#[test]
fn restore_lists_user_edits_between_agents_edits_before_it_deletes() {
    let (project, said) = played(
        r"
        file x: x\n
        init
        say d: go
        write d w1 new.txt: 1\n2\n3\n4\n5\n
        run sed -i s/5/five-by-user/ new.txt
        look
        edit d e2 new.txt: 2 => two
        ",
    );
    let opened = project.open();
    let checkpoint = opened.find_checkpoint(&project.checkpoint_id("d:1")).unwrap();
    let options = GoToOptions::default();
    let plan = opened.plan_restore(&checkpoint, &options, project.tick()).unwrap();
    let is_written = plan.writes().any(|file| file.path.to_string() == "new.txt");
    let is_listed = plan.replaces_user_edits().any(|file| file.path.to_string() == "new.txt");
    assert!(!is_written || is_listed, "deleted without being listed: {said}{:?}", plan.files);
}

/// The person moved the agent's file: it stays, so the agent's change is still in effect.
#[test]
fn restore_does_not_call_a_change_reverted_whose_content_stays() {
    let (project, _) = played(
        r"
        file x: x\n
        init
        say d: go
        write d w1 made.txt: some longer content\nof several\nlines\n
        run mv made.txt mine.txt
        look
        ",
    );
    let said = play(&project, "restore d:1\nstatuses");
    let stays = text(&project, "mine.txt").is_some();
    assert!(!stays || !said.contains("reverted"), "{said}");
}

/// A folder becomes a file; a program that has a file of the folder open writes to it at last.
#[test]
fn folder_to_file_that_fails_late_is_put_back_whole() {
    let (project, _) = played(
        r"
        file dir: a file\n
        init
        say d: go
        shell d s1: rm dir && mkdir dir && echo x > dir/x && echo y > dir/y
        ",
    );
    let path = project.root().join("dir/x");
    let mut late = OpenOptions::new().append(true).open(path).unwrap();
    let renamed = Rc::new(Cell::new(0));
    let counted = Rc::clone(&renamed);
    let (said, _) = play_disturbed(&project, "undo", move |_, label| {
        if label == "rename new" {
            counted.set(counted.get() + 1);
            if counted.get() == 3 {
                late.write_all(b"late\n").unwrap();
            }
        }
    });
    assert!(renamed.get() >= 3, "two files go and one comes: {said}");
    let found = ["dir", "dir/x", "dir/y"].map(|path| text(&project, path));
    let is_new = found == [Some("a file\n".to_owned()), None, None];
    let is_old = found == [None, Some("x\nlate\n".to_owned()), Some("y\n".to_owned())];
    assert!(is_new || is_old, "neither old nor new: {found:?}\n{said}");
}

/// How somebody saves a file.
#[derive(Clone, Copy, Debug)]
enum Save {
    /// To a file beside it that takes its place.
    Atomically,
    InPlace,
    AsFolder,
    AsLink,
}

const SAVED: &str = "saved by the user";

impl Save {
    fn save(self, path: &Path) {
        match self {
            Self::Atomically => {
                let beside = path.with_extension("swp");
                std::fs::write(&beside, SAVED).unwrap();
                std::fs::rename(beside, path).unwrap();
            }
            Self::InPlace => std::fs::write(path, SAVED).unwrap(),
            Self::AsFolder => {
                drop(std::fs::remove_file(path));
                std::fs::create_dir(path).unwrap();
                std::fs::write(path.join("in"), SAVED).unwrap();
            }
            Self::AsLink => {
                drop(std::fs::remove_file(path));
                symlink(SAVED, path).unwrap();
            }
        }
    }

    fn is_at(self, path: &Path) -> bool {
        let holds = |path: &Path| std::fs::read(path).is_ok_and(|found| found == SAVED.as_bytes());
        match self {
            Self::Atomically | Self::InPlace => holds(path),
            Self::AsFolder => holds(&path.join("in")),
            Self::AsLink => std::fs::read_link(path).is_ok_and(|to| to == Path::new(SAVED)),
        }
    }
}

/// Somebody saves all three files before step `nth` of an undo. Gives whether there is such a step.
fn save_at(save: Save, nth: u32) -> bool {
    let names = ["a.txt", "b.txt", "new.txt"];
    let (project, _) = played(
        r"
        file a.txt: 1\n2\n3\n
        file b.txt: 1\n2\n3\n
        init
        say d: go
        shell d s1: sed -i s/2/two/ a.txt b.txt; echo n > new.txt
        ",
    );
    let root = project.root();
    let (said, steps) = play_disturbed(&project, "undo", move |step, _| {
        if step == nth {
            for name in names {
                save.save(&root.join(name));
            }
        }
    });
    if steps < nth {
        return false;
    }
    let oid = retake_store::hash_blob(SAVED.as_bytes()).unwrap();
    let is_stored = project.open().store().has(&oid).unwrap();
    for name in names {
        let is_there = save.is_at(&project.root().join(name));
        assert!(is_there || is_stored, "{save:?} at step {nth}: {name} is lost: {said}");
    }
    let now = disk::read_files(&project.root());
    let stays = now.keys().find(|name| name.contains(".retake-"));
    assert_eq!(stays, None, "{save:?} at step {nth}: {said}");
    true
}

#[test]
fn atomic_save_at_every_step_is_never_lost() {
    for save in [Save::Atomically, Save::InPlace, Save::AsFolder, Save::AsLink] {
        let steps = (1..1000).take_while(|&nth| save_at(save, nth)).count();
        assert!(steps > 20, "only {steps} steps: does the seam still see the writes?");
    }
}

const COMMANDS: [&str; 27] = [
    "mv a b",
    "mv b a",
    "mv a c",
    "mv c b",
    "mv b c",
    "rm a",
    "rm b",
    "rm c",
    r"printf 'new a\nn2\nn3\n' > a",
    r"printf 'new b\nm2\nm3\n' > b",
    "echo more >> a",
    "echo more >> b",
    "chmod 755 b",
    "chmod 755 a",
    "rm -rf d",
    "test -d d || echo file > d",
    "mkdir -p d && cp a d/y",
    "mv a d/x",
    "mv d/x a",
    "ln -sfn b a",
    ": > b",
    ": > c",
    "mv d e",
    "mv e d",
    r"printf 'a1\r\na2' > a",
    "cp b c",
    "mv a t && mv b a && mv t b",
];

/// A turn of a few random commands, with what was there before it and after it.
fn little_turn(random: &mut fastrand::Rng) -> (TestProject, DiskFiles, DiskFiles, String) {
    let (project, _) = played(
        r"
        file a: a one\na two\na three\na four\n
        file b: b 1\nb 2\nb 3\nb 4\nb 5\n
        file d/x: dx uno\ndx due\ndx tre\n
        init
        say d: go
        ",
    );
    let old = disk::read_files(&project.root());
    let mut said = String::new();
    for call in 0..random.usize(2..5) {
        let command = COMMANDS[random.usize(..COMMANDS.len())];
        let shell = format!("shell d s{call}: ( {command} ) 2>/dev/null || true");
        said.push_str(command);
        said.push('\n');
        said.push_str(&play(&project, &shell));
    }
    said.push_str(&play(&project, "turn-end d"));
    let new = disk::read_files(&project.root());
    (project, old, new, said)
}

fn go_back_and_forth(random: &mut fastrand::Rng) {
    let (project, old, new, mut said) = little_turn(random);
    if disk::same_files(&old, &new) {
        return;
    }
    let verbs = ["undo", "redo", "undo", "redo", "restore d:1", "undo", "redo"];
    let goals = [&old, &new, &old, &new, &old, &new, &old];
    for (verb, goal) in verbs.into_iter().zip(goals) {
        said.push_str(&play(&project, verb));
        let now = disk::read_files(&project.root());
        assert!(disk::same_files(&now, goal), "{said}is {now:?}\nnot {goal:?}");
    }
}

#[test]
fn little_turns_go_back_and_forth() {
    for seed in 1..=4 {
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..10 {
            go_back_and_forth(&mut random);
        }
    }
}

/// Does something once, before the n-th step with this label.
fn at_step(label: &'static str, mut nth: u32, mut act: impl FnMut() + 'static) {
    retake_seam::on_step(Some(Box::new(move |what| {
        if what == label && nth > 0 {
            nth -= 1;
            if nth == 0 {
                act();
            }
        }
    })));
}

/// A program that still has the replaced file open writes to it while others are exchanged.
#[test]
fn a_late_write_to_a_displaced_file_brings_it_back() {
    let project = TestProject::in_memory();
    play(&project, "file a.txt: a\\n\nfile b.txt: b\\n\ninit\nsay d: go");
    play(&project, "shell d s1: echo A > a.txt; echo B > b.txt");
    let mut open = OpenOptions::new().append(true).open(project.root().join("a.txt")).unwrap();
    at_step("exchange", 2, move || open.write_all(b"late\n").unwrap());
    let said = play(&project, "undo");
    retake_seam::on_step(None);
    assert_eq!(project.read("a.txt"), b"A\nlate\n", "{said}");
    assert_eq!(project.read("b.txt"), b"b\n", "{said}");
    assert!(said.contains("\"a.txt\" leave moved_on"), "{said}");
}

/// The same among so many files that two threads look at them and remove what was displaced.
#[test]
fn late_writes_to_some_of_many_displaced_files_bring_those_back() {
    let project = TestProject::in_memory();
    play(&project, "run for i in $(seq 100 199); do echo $i > $i; done\ninit\nsay d: go");
    play(&project, "shell d s1: for i in $(seq 100 199); do echo more >> $i; done");
    let open =
        |name: &&str| OpenOptions::new().append(true).open(project.root().join(name)).unwrap();
    let late = ["100", "149", "150", "199"];
    let mut files: Vec<_> = late.iter().map(open).collect();
    at_step("exchange", 100, move || {
        for file in &mut files {
            file.write_all(b"late\n").unwrap();
        }
    });
    let said = play(&project, "undo");
    retake_seam::on_step(None);
    for number in 100..200 {
        let name = number.to_string();
        let is_late = late.contains(&name.as_str());
        let expected = if is_late { format!("{name}\nmore\nlate\n") } else { format!("{name}\n") };
        assert_eq!(project.read(&name), expected.as_bytes(), "{said}");
    }
    assert_eq!(said.matches("leave moved_on").count(), late.len(), "{said}");
    assert_eq!(std::fs::read_dir(project.root()).unwrap().count(), 100, "nothing stays beside");
}

/// Nothing takes a file's place that is not byte for byte what was to be there.
#[test]
fn what_is_staged_is_read_before_it_takes_a_place() {
    let project = TestProject::in_memory();
    play(&project, "file a.txt: a\\n\nfile b.txt: b\\n\ninit\nsay d: go");
    play(&project, "shell d s1: echo A > a.txt; echo B > b.txt");
    let root = project.root();
    // A disk that says it has written, and has not.
    at_step("fsync", 1, move || {
        let names = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let temps = names.filter(|path| path.to_string_lossy().contains("/.retake-"));
        std::fs::write(temps.min().unwrap(), "").unwrap();
    });
    let said = play(&project, "undo");
    retake_seam::on_step(None);
    assert_eq!(project.read("a.txt"), b"A\n", "{said}");
    assert_eq!(project.read("b.txt"), b"b\n", "{said}");
    assert!(said.contains("\"a.txt\" leave not_writable"), "{said}");
}

/// What the disk did not confirm is done, and told.
#[test]
fn a_folder_that_cannot_be_synced_is_told() {
    let project = TestProject::in_memory();
    play(&project, "file a.txt: a\\n\ninit\nsay d: go\nwrite d w1 a.txt: b\\n");
    let (opened, plan) = (project.open(), plan_line(&project, "undo").unwrap());
    retake_seam::fail_once("fsync", 2, 5); // The first is the new content's.
    let applied = opened.apply(&plan, project.tick()).unwrap();
    assert_eq!(project.read("a.txt"), b"a\n");
    let warning = applied.plan.files[0].warning.as_deref().unwrap_or_default();
    assert!(warning.contains("the disk did not confirm it"), "{warning}");
}

/// Every operation begins with a checkpoint of what it found, whatever the last one was of.
#[test]
fn the_safety_checkpoint_is_of_the_moment_before() {
    let project = TestProject::in_memory();
    play(
        &project,
        "file a.txt: a\\n\ninit\nsay d: go\nwrite d w1 a.txt: b\\n\nwrite d w2 c.txt: c\\n",
    );
    play(&project, "checkpoint named");
    for verb in
        ["undo", "redo", "rollback call=w1", "undo", "reject call=w2", "restore named", "reset d"]
    {
        project.write("mine.txt", verb);
        project.refresh();
        let before = project.open().tree_id().unwrap();
        play(&project, verb);
        let opened = project.open();
        let operation = opened.store().operations(1).unwrap().remove(0);
        let safety = opened.store().checkpoint(&operation.safety).unwrap().unwrap();
        assert_eq!(safety.tree, before, "{verb}");
    }
}

/// A move that can be taken back only half is not taken back.
#[test]
fn a_part_that_fails_is_put_back_whole() {
    let project = TestProject::in_memory();
    play(&project, "file old.txt: some text\\nthat moves\\n\ninit\nsay d: go");
    play(&project, "shell d s1: mv old.txt new.txt");
    let new = project.root().join("new.txt");
    at_step("rename new", 2, move || std::fs::write(&new, "saved just now\n").unwrap());
    let said = play(&project, "undo");
    retake_seam::on_step(None);
    assert_eq!(project.read("new.txt"), b"saved just now\n", "{said}");
    assert!(!project.root().join("old.txt").exists(), "{said}");
    assert!(said.contains("\"old.txt\" leave moved_on"), "{said}");
}

/// What Retake changed is counted like what anybody changed, whether one change goes back or two.
#[test]
fn what_goes_back_is_counted_in_lines() {
    let (project, _) = played(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        write d w1 a.txt: 1\n3\n
        write d w2 a.txt: 0\n1\n3\n4\n
        undo
        redo
        ",
    );
    let ours = project.changes().into_iter().filter(|change| change.actor == Actor::Retake);
    let told = ours.map(|change| {
        let lines = change.lines.unwrap();
        let place = |hunk: &Hunk| [hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines];
        (lines.added, lines.removed, lines.hunks.iter().map(place).collect::<Vec<_>>())
    });
    let back = (1, 2, vec![[1, 1, 1, 0], [3, 0, 2, 1], [4, 1, 4, 0]]);
    let forth = (2, 1, vec![[1, 0, 1, 1], [2, 1, 3, 0], [4, 0, 4, 1]]);
    assert_eq!(told.collect::<Vec<_>>(), [back, forth]);
}

/// Promise 2 is about bytes, not about a row that once held them.
#[test]
fn what_is_replaced_is_sound_in_the_store_first() {
    let (project, _) = played("file a.txt: one\\n\ninit\nsay d: go\nwrite d w1 a.txt: two\\n");
    let oid = retake_store::hash_blob(b"two\n").unwrap();
    let db = rusqlite::Connection::open(project.open().store().folder().join("retake.db")).unwrap();
    let damage = "UPDATE object SET data = zeroblob(length(data)) WHERE oid = ?1";
    assert_eq!(db.execute(damage, [oid.as_bytes().as_slice()]).unwrap(), 1);
    drop(db);
    let said = play(&project, "undo");
    assert_eq!(project.read("a.txt"), b"one\n", "{said}");
    assert_eq!(project.open().store().read(&oid).unwrap(), b"two\n", "mended before it went");
}

/// A work session that cannot be read costs a checkpoint, never an event.
#[test]
fn a_damaged_work_session_does_not_keep_events_out() {
    let (project, _) = played("file a.txt: one\\n\ninit\nsay d: go\n");
    let db = rusqlite::Connection::open(project.open().store().folder().join("retake.db")).unwrap();
    assert_eq!(db.execute("UPDATE work_session SET tip = x'00'", []).unwrap(), 1);
    drop(db);
    let said = play(&project, "say d: more\nwrite d w1 a.txt: two\\n");
    assert!(said.contains("! gap") && said.contains("modify by agent d/main:w1"), "{said}");
    assert_eq!(project.open().status().unwrap().spooled, 0);
}

#[test]
fn many_files_are_made_durable_as_often_as_a_few() {
    let times = |files: u32| {
        let (project, said) = played(&format!(
            r"
            run for i in $(seq {files}); do mkdir d$i; echo $i > d$i/f; done
            init
            say d: go
            shell d s1: for i in $(seq {files}); do echo more >> d$i/f; done
            "
        ));
        assert!(said.contains("d1/f"), "{said}");
        let times = Rc::new(Cell::new(0));
        let counted = Rc::clone(&times);
        let (said, _) = play_disturbed(&project, "undo", move |_, label| {
            counted.set(counted.get() + u32::from(["fsync", "syncfs", "commit"].contains(&label)));
        });
        assert_eq!(said.matches("write exact").count() as u32, files, "{said}");
        times.get()
    };
    let (a_few, many) = (times(5), times(50));
    assert_eq!(a_few, many);
    // Two looks, the journal, all new contents, all names, the outcome.
    assert!(many <= 6, "{many}");
}

#[test]
fn an_old_plan_is_carried_out_after_a_look_at_everything() {
    for (later, is_seen) in [(10, false), (60_000, true)] {
        let (project, _) = played("file a.txt: a\ninit\nsay d: go\nwrite d w1 a.txt: b");
        let (opened, at) = (project.open(), project.tick());
        let (plan, _) = opened.plan_undo(TakeBackOptions::default(), at).unwrap();
        project.write("other.txt", "meanwhile");
        let applied = opened.apply(&plan, at + later).unwrap();
        let safety = applied.operation.unwrap().safety;
        let files = opened.find_checkpoint(&safety.to_string()).unwrap().files;
        assert_eq!(files, if is_seen { 2 } else { 1 });
        // Either way it is found, and it is the person's.
        project.refresh();
        let found =
            project.changes().into_iter().find(|change| change.path.to_string() == "other.txt");
        assert_eq!(found.unwrap().actor, Actor::User);
    }
}
