//! Three-way merge, as a person meets it: an agent's edit is taken back from a file
//! that was edited since.
//!
//! The merge itself is private to the engine, so it is reached through a plan. The contents
//! before the agent, after it, and now are the merge's `theirs`, `base` and `ours`.

use std::collections::BTreeMap;
use std::path::Path;

use retake_engine::model::DialogId;
use retake_engine::{Selection, TakeBackOptions};
use retake_testkit::{TestProject, git};
use serde_json::json;

use crate::input::{parts, split_head};
use crate::reused_project::{OpenTestProject, ReusedFixture, with_fixture};

/// Dictionary of lines and line ends.
pub const DICTIONARY: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "\n%%%%\n",
    "a\n",
    "b\n",
    "c\n",
    "line 1\n",
    "line 2\n",
    "\n\n",
    "}\n",
    "<<<<<<< ours\n",
    "=======\n",
    ">>>>>>> theirs\n",
    "\0",
    "é",
    "a\r\n",
    "\r\r\n",
];

thread_local! {
    static STAGE: ReusedFixture<(OpenTestProject, usize)> = const { ReusedFixture::new(None) };
}

/// Taking a change back keeps later edits, adds no line that is in none of the three contents, and
/// agrees with `git merge-file`; a file that cannot be merged is left alone.
pub fn merge(data: &[u8]) {
    let (first, rest) = split_head(data);
    let [before, after, now] = parts(rest);
    if before == after {
        return;
    }
    let stage = || (OpenTestProject::new(|test| test.write("kept.txt", "kept\n")), 0);
    with_fixture(&STAGE, 200, stage, |(stage, number)| {
        *number += 1;
        let found = take_back(stage, *number, [before, after, now]);
        check([before, after, now], found.as_deref());
        if first % 4 == 0 {
            check_as_git(stage.test.outer(), [before, after, now], found.as_deref());
        }
    });
}

/// Takes the change back and returns the content; `None` if the file was left alone.
fn take_back(
    stage: &OpenTestProject,
    number: usize,
    [before, after, now]: [&[u8]; 3],
) -> Option<Vec<u8>> {
    let (test, project) = (&stage.test, &stage.project);
    let (file, call) = (format!("f{number}.txt"), format!("c{number}"));
    let dialog = format!("d{number}");
    test.write(&file, before);
    let input = json!({ "file_path": file, "content": String::from_utf8_lossy(after) });
    project.record(&TestProject::begin(&dialog, &call, "Write", input), test.tick()).unwrap();
    test.write(&file, after);
    project.record(&TestProject::end(&dialog, &call), test.tick()).unwrap();
    test.write(&file, now);
    let selection = Selection { dialog: Some(DialogId(dialog)), ..Selection::default() };
    let plan = project.plan_reject(&selection, TakeBackOptions::default(), test.tick()).unwrap();
    assert_eq!(plan.files.len(), 1, "{plan:?}");
    let is_left = plan.files[0].is_left();
    let applied = project.apply(&plan, test.tick()).unwrap();
    assert!(applied.plan.is_whole() || is_left, "{applied:?}");
    let found = test.read(&file);
    assert!(!is_left || found == now, "it was to be left alone: {plan:?}");
    assert_eq!(test.read("kept.txt"), b"kept\n");
    (!is_left || found == before).then_some(found)
}

fn check([before, after, now]: [&[u8]; 3], found: Option<&[u8]>) {
    if now == after {
        assert_eq!(found, Some(before), "nothing came later");
        return;
    }
    let binary =
        [before, after, now].into_iter().any(|side| side.iter().take(8000).any(|b| *b == 0));
    let Some(found) = found else { return };
    if binary {
        assert!(found == now || found == before, "what is no text was merged");
        return;
    }
    // What came later than the agent's edit is the person's: none of its lines goes.
    let (found, now, base) = (count_lines(found), count_lines(now), count_lines(after));
    for (line, count) in &now {
        let own = count.saturating_sub(base.get(line).copied().unwrap_or(0));
        let kept = found.get(line).copied().unwrap_or(0);
        assert!(kept >= own, "{own} times {:?}, then {kept}", line.escape_ascii().to_string());
    }
    let theirs = count_lines(before);
    for line in found.keys() {
        let known = now.contains_key(line) || theirs.contains_key(line);
        assert!(known, "nobody wrote {:?}", line.escape_ascii().to_string());
    }
}

/// Lines without their ends, and how often each is there.
fn count_lines(text: &[u8]) -> BTreeMap<&[u8], usize> {
    let mut lines = BTreeMap::new();
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        *lines.entry(line.trim_ascii_end()).or_default() += 1;
    }
    lines
}

/// git has no say where lines end in different ways: it merges bytes.
fn check_as_git(folder: &Path, [before, after, now]: [&[u8]; 3], found: Option<&[u8]>) {
    let sides = [after, now, before];
    let is_plain = |side: &[u8]| !side.contains(&b'\r') && !side.contains(&0);
    if !sides.into_iter().all(is_plain) || now == before {
        return;
    }
    for (name, content) in ["base", "ours", "theirs"].into_iter().zip(sides) {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let arguments = ["merge-file", "-p", "-q", "--diff-algorithm=myers", "ours", "base", "theirs"];
    let output = git::command(folder).args(arguments).output().unwrap();
    // Where git sees a conflict, edits that only touch may be merged all the same: what must hold
    // for that is checked above.
    if output.status.code() == Some(0) {
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(found, Some(output.stdout.as_slice()), "git: {said}");
    }
}
