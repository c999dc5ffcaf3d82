//! Everything that writes files, with hostile names, links and plans: nothing outside the project
//! changes, and neither does `.git`.
//!
//! An input is a story: its first byte chooses how things are taken back, each further line is a
//! step and a name. Beside the project lie a folder and a sibling with the same files in them, and
//! links in the project lead there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use retake_engine::model::ProjectPath;
use retake_engine::{GoToOptions, OperationError, Plan, Selection, TakeBackOptions};
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::{TestProject, git};
use serde_json::{Value, json};

use crate::input::split_head;
use crate::reused_project::{OpenTestProject, ReusedFixture, with_fixture};

const MAX_STEPS: usize = 12;

thread_local! {
    static STAGE: ReusedFixture<(OpenTestProject, usize)> = const { ReusedFixture::new(None) };
}

fn stage() -> (OpenTestProject, usize) {
    let stage = OpenTestProject::new(|test| {
        for folder in ["", "../canary/", "../project-2/"] {
            for file in ["a.txt", "d/e.txt", "x/y/z.txt"] {
                test.write(&format!("{folder}{file}"), format!("first {folder}\n"));
            }
        }
        git::run(&test.root(), &["init", "-q", "."]);
    });
    (stage, 0)
}

/// After any changes of the project, taking them back writes only inside it.
pub fn restore(data: &[u8]) {
    let (verb, story) = split_head(data);
    with_fixture(&STAGE, 60, stage, |(stage, number)| {
        let outside = outside_state(&stage.test);
        let point = stage.project.checkpoint(Some("before"), None, stage.test.tick()).unwrap();
        let mut names = Vec::new();
        for line in story.split(|byte| *byte == b'\n').take(MAX_STEPS) {
            let (step, name) = split_head(line);
            *number += 1;
            run_step(stage, *number, step, name);
            names.push(name);
        }
        assert!(outside_state(&stage.test) == outside, "the story itself went astray");
        let (taking, at) = (TakeBackOptions::default(), stage.test.tick());
        let exact = GoToOptions { exact: true, ..GoToOptions::default() };
        let plan = match verb % 4 {
            0 => stage.project.plan_restore(&point, &exact, at),
            1 => stage.project.plan_undo(taking, at).map(|(plan, _)| plan),
            2 => stage.project.plan_reject(&Selection::default(), taking, at),
            _ => stage.project.plan_rollback(&Selection::default(), taking, at),
        };
        apply_plan(stage, plan, verb, &names);
        assert!(outside_state(&stage.test) == outside, "something outside the project changed");
    });
}

fn apply_plan(
    stage: &OpenTestProject,
    plan: Result<Plan, OperationError>,
    verb: usize,
    names: &[&[u8]],
) {
    // That there is nothing to take back is fine.
    let Ok(plan) = plan else { return };
    if verb & 0x10 == 0 {
        stage.project.apply(&plan, stage.test.tick()).unwrap();
    }
    if verb & 0x20 == 0 {
        return;
    }
    // A client may send back a plan with other paths in it: then it may fail, and no more.
    let mut told = serde_json::to_value(&plan).unwrap();
    for (file, name) in told["files"].as_array_mut().unwrap().iter_mut().zip(names) {
        file["path"] = path_of(name);
    }
    if let Ok(plan) = serde_json::from_value::<Plan>(told) {
        let _ = stage.project.apply(&plan, stage.test.tick());
    }
}

/// A path as it stands in JSON, whether it is one or not.
fn path_of(name: &[u8]) -> Value {
    std::str::from_utf8(name).map_or_else(|_| json!(name), |text| json!(text))
}

fn run_step(stage: &OpenTestProject, number: usize, step: usize, name: &[u8]) {
    let root = stage.test.root();
    let call = format!("c{number}");
    match step % 6 {
        0 | 1 => {
            let text = String::from_utf8_lossy(name);
            let content = format!("by an agent {number}\n");
            let input = json!({ "file_path": text, "content": content });
            let begin = TestProject::begin("d", &call, "Write", input);
            stage.project.record(&begin, stage.test.tick()).unwrap();
            if let Some(at) = allowed_path(&root, name) {
                write_file(&at, content.as_bytes());
            }
            stage.project.record(&TestProject::end("d", &call), stage.test.tick()).unwrap();
        }
        2 => {
            if let Some(at) = allowed_path(&root, name) {
                write_file(&at, format!("by a person {number}\n").as_bytes());
            }
        }
        3 => {
            if let Some(at) = allowed_path(&root, name) {
                remove(&at);
            }
        }
        // A folder or file is swapped for a link that leads out.
        4 => {
            if let Some(at) = allowed_path(&root, name) {
                remove(&at);
                let _ = std::os::unix::fs::symlink("../canary", &at);
            }
        }
        _ => {
            if let Some(at) = allowed_path(&root, name).filter(|at| at.parent() != Some(&root)) {
                let folder = at.parent().unwrap();
                remove(folder);
                let deep = folder.strip_prefix(&root).unwrap().components().count();
                let _ = std::os::unix::fs::symlink(format!("{}canary", "../".repeat(deep)), folder);
            }
        }
    }
}

/// Returns the path if the story may change it: in the project, not in `.git`, through no link.
fn allowed_path(root: &Path, name: &[u8]) -> Option<PathBuf> {
    let path = ProjectPath::new(name).ok()?;
    if path.components().next()?.eq_ignore_ascii_case(b".git") || path.components().count() > 6 {
        return None;
    }
    let at = root.join(OsStr::from_bytes(name));
    let folders = at.ancestors().skip(1).take_while(|above| *above != root);
    (!folders.into_iter().any(Path::is_symlink)).then_some(at)
}

fn write_file(at: &Path, content: &[u8]) {
    if at.is_symlink() {
        remove(at);
    }
    if std::fs::create_dir_all(at.parent().unwrap()).is_ok() {
        let _ = std::fs::write(at, content);
    }
}

fn remove(at: &Path) {
    let is_folder = at.symlink_metadata().is_ok_and(|found| found.is_dir());
    let _ = if is_folder { std::fs::remove_dir_all(at) } else { std::fs::remove_file(at) };
}

/// Everything beside the project but Retake's own home, the names there, and `.git`.
fn outside_state(
    test: &TestProject,
) -> (Vec<DiskFiles>, Vec<String>, Vec<(String, disk::DiskFile)>) {
    let folders = ["canary", "project-2"].map(|name| disk::read_files(&test.outer().join(name)));
    let entries = std::fs::read_dir(test.outer()).unwrap().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    (folders.into(), names, disk::git_state(&test.root()))
}
