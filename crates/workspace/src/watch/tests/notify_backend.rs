//! The other backend: the same promises, where the system watches whole trees.

use super::*;

impl WatchTestProject {
    fn watched_abroad(self, rules: &RuleSources) -> WatchedProject {
        let workspace = Workspace::open(&self.root()).unwrap();
        let cookies = self.cookies();
        let budget = WatchBudget::new(0);
        let started = FileWatcher::start_with(
            super::super::notify_backend::open,
            &workspace,
            rules,
            &cookies,
            budget,
        );
        let watch = started.unwrap();
        assert_eq!(watch.take_hint(), ChangeHint::Everything);
        WatchedProject { watch, project: self }
    }
}

#[test]
fn edits_are_hinted_and_ignored_ones_are_not() {
    let project = WatchTestProject::with(&["a", "d/b", "build/c", ".git/x"]);
    let project = project.watched_abroad(&ignoring("build/\n*.log\n"));
    project.hint();
    project.watch.set_always_tracked(set(&["kept.log"]));
    project.check(|p| p.write_text("a", "new"), &["a"]);
    project.check(|p| std::fs::remove_file(p.at("d/b")).unwrap(), &["d/b"]);
    project.check(|p| p.rename("a", "d/a"), &["a", "d/a"]);
    project.check(
        |p| ["build/c", "d/x.log", "kept.log", ".git/x"].iter().for_each(|file| p.write(file)),
        &["kept.log"],
    );
    project.watch.set_rules(&ignoring("build/\n"));
    // Nothing was passed over since the last hint was taken.
    assert_eq!(project.hint(), ChangeHint::Paths(BTreeSet::new()));
    project.check(|p| p.write("d/x.log"), &["d/x.log"]);
    project.write("build/c");
    project.watch.flush(PATIENCE);
    project.watch.set_rules(&RuleSources::default());
    assert_eq!(project.hint(), ChangeHint::Everything);
    project.write_text("d/.gitignore", "x\n");
    assert_eq!(project.hint(), ChangeHint::Everything);
}
