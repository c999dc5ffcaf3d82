//! What a tool makes beside its target is the tool's, whenever a look finds it: backups of
//! commands, and the temporary files of atomic saves.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use retake_engine::Project;
use retake_engine::model::{Actor, Change};
use retake_testkit::{ListingHints, TestProject};
use serde_json::{Value, json};

/// How somebody looks while a call is open.
#[derive(Clone, Copy, Debug)]
enum Looks {
    Never,
    Watcher,
    Asked,
}

const ALL: [Looks; 3] = [Looks::Never, Looks::Watcher, Looks::Asked];

struct Story {
    test: TestProject,
    project: Project,
    looks: Looks,
    found: Vec<Change>,
}

impl Story {
    fn new(looks: Looks) -> Self {
        let test = TestProject::new();
        test.write("sub/a.txt", "one\n");
        test.write("sub/b.txt", "other\n");
        let mut project = test.init();
        let rules = project.watch_rules().unwrap();
        let eyes = ListingHints::open(&test.root(), rules.clone());
        project.set_hint_source(Box::new(eyes), rules);
        project.refresh(test.tick()).unwrap();
        Self { test, project, looks, found: Vec::new() }
    }

    fn begin(&mut self, tool: &str, input: Value) {
        let begin = TestProject::begin("d1", "c1", tool, input);
        let recorded = self.project.record(&begin, self.test.tick()).unwrap();
        self.found.extend(recorded.changes);
    }

    fn end(&mut self) {
        let end = TestProject::end("d1", "c1");
        self.found.extend(self.project.record(&end, self.test.tick()).unwrap().changes);
        self.found.extend(self.project.refresh(self.test.tick()).unwrap().changes);
    }

    /// Somebody looks, if they do.
    fn glance(&mut self) {
        let at = self.test.tick();
        self.found.extend(match self.looks {
            Looks::Never => Vec::new(),
            Looks::Watcher => self.project.refresh_in_background(at).unwrap().changes,
            Looks::Asked => self.project.refresh(at).unwrap().changes,
        });
    }

    fn by(&self) -> Vec<(String, Actor)> {
        self.found.iter().map(|change| (change.path.to_string(), change.actor)).collect()
    }

    fn all_by_the_agent(&self, name: &str) {
        let by = self.by();
        assert!(!by.is_empty(), "{name}: nothing was found");
        let is_the_agents = by.iter().all(|(_, actor)| *actor == Actor::Agent);
        assert!(is_the_agents, "{name}, {:?}: {by:?}", self.looks);
    }
}

#[test]
fn backups_that_a_command_makes_are_its_own() {
    for command in [
        "cp -b sub/b.txt sub/a.txt",
        "cp --backup=numbered sub/b.txt sub/a.txt",
        "mv -b sub/b.txt sub/a.txt",
        "cd sub && mv -b b.txt a.txt",
        "zip -q sub/a.zip sub/a.txt",
        "perl -pi.bak -e s/one/two/ sub/a.txt",
        "perl -ibak -pe s/one/two/ sub/a.txt",
        "sed -i.bak s/one/two/ sub/a.txt",
        "sed -i~ s/one/two/ sub/a.txt && echo",
        "sed --in-place=.orig s/one/two/ sub/a.txt",
        "mktemp -p sub",
        "mktemp sub/XXXXXX",
        "install -b sub/b.txt sub/a.txt",
        "ln -sfb b.txt sub/a.txt",
        "tar -czf sub/a.tgz sub/b.txt",
        "sort -o sub/a.txt sub/b.txt",
    ] {
        for looks in ALL {
            let mut story = Story::new(looks);
            story.begin("Bash", json!({ "command": command }));
            story.test.shell(command);
            story.glance();
            story.end();
            story.all_by_the_agent(command);
        }
    }
}

#[test]
fn the_scratch_of_a_command_in_the_middle_is_its_own() {
    // Each with what it has on disk in the middle of its work.
    for (command, scratch) in [
        ("cp -b sub/b.txt sub/a.txt", "sub/a.txt~"),
        ("zip -q sub/a.zip sub/a.txt", "sub/ziQBnRxy"),
        ("perl -ibak -pe s/one/two/ sub/a.txt", "sub/XXaQ01Bc"),
        ("sed -i.bak s/one/two/ sub/a.txt", "sub/sedR9r7nd"),
        ("sed -i s/one/two/ sub/a.txt", "sub/sedR9r7nd"),
        ("sed -n -i s/one/two/p sub/a.txt", "sub/sedq0XYab"),
        ("cd sub && sed -i s/one/two/ a.txt", "sub/sedR9r7nd"),
    ] {
        for looks in ALL {
            let mut story = Story::new(looks);
            story.begin("Bash", json!({ "command": command }));
            story.test.write(scratch, "tw");
            story.glance();
            std::fs::remove_file(story.test.root().join(scratch)).unwrap();
            story.glance();
            story.test.shell(command);
            story.end();
            story.all_by_the_agent(command);
        }
    }
}

#[test]
fn the_temporary_file_of_an_atomic_save_is_the_edit_tools() {
    let write = json!({ "file_path": "sub/a.txt", "content": "two\nthree\n" });
    let edit = json!({
        "file_path": "sub/a.txt", "old_string": "one\n", "new_string": "two\nthree\n",
    });
    for (tool, input) in [("Write", write), ("Edit", edit)] {
        for scratch in [
            "sub/a.txt.tmp.123",
            "sub/.a.txt.swp",
            "sub/a.txt~",
            "sub/.a.txt.Xy01aB",
            "sub/.#a.txt",
            "sub/a.txt.4711.1700000000",
        ] {
            for looks in ALL {
                let mut story = Story::new(looks);
                story.begin(tool, input.clone());
                let path = story.test.root().join(scratch);
                story.test.write(scratch, "");
                story.glance();
                story.test.write(scratch, "two\n");
                story.glance();
                story.test.write(scratch, "two\nthree\n");
                story.glance();
                std::fs::rename(&path, story.test.root().join("sub/a.txt")).unwrap();
                story.end();
                story.all_by_the_agent(scratch);
            }
        }
    }
}

#[test]
fn what_the_person_makes_beside_the_target_of_an_edit_is_the_persons() {
    for looks in ALL {
        let mut story = Story::new(looks);
        let input = json!({ "file_path": "sub/a.txt", "content": "two\nthree\n" });
        story.begin("Write", input);
        story.test.write("sub/a.txt.bak", "one\n");
        story.test.write("sub/other.txt", "two\n");
        story.test.write("a.txt.tmp", "two\n");
        story.glance();
        story.test.write("sub/a.txt", "two\nthree\n");
        story.end();
        let mut by = story.by();
        by.sort_by(|a, b| a.0.cmp(&b.0));
        let (agents, mine) = (Actor::Agent, Actor::User);
        let expected = [
            ("a.txt.tmp", mine),
            ("sub/a.txt", agents),
            ("sub/a.txt.bak", mine),
            ("sub/other.txt", mine),
        ];
        assert_eq!(by, expected.map(|(path, actor)| (path.to_owned(), actor)), "{looks:?}");
    }
}
