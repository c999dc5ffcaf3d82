//! The neutral event, as any program may send it.

use retake_engine::model::{Event, EventKind};
use retake_engine::tool::{self, EditKind, PredictedFile};
use retake_testkit::disk;
use serde_json::Value;

use crate::reused_project::{OpenTestProject, ReusedFixture, with_fixture};

/// Maximum bytes of a prediction, even if the arguments repeat much.
const MAX_PREDICTION_BYTES: usize = 64 << 20;

/// Without the disk: the event is parsed or refused, survives a round trip, and the targets of
/// its call can be computed.
pub fn event(data: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(data) else { return };
    check(&event);
}

/// An event that was understood.
pub(super) fn check(event: &Event) {
    let text = serde_json::to_string(event).unwrap();
    // One that is nested as deep as can be read is nested no deeper after a round trip.
    let again: Event = serde_json::from_str(&text).unwrap();
    assert_eq!(again.name(), event.name());
    assert_eq!((&again.dialog, again.agent()), (&event.dialog, event.agent()));
    let (EventKind::ToolBegin { tool, input, .. }
    | EventKind::ToolEnd { tool: Some(tool), input, .. }) = &event.what
    else {
        return;
    };
    check_call(tool, input);
}

fn check_call(tool: &str, input: &Value) {
    let intent = tool::intent(tool, input);
    // One that names no file is an edit of nothing.
    for edit in intent.edits.iter().filter(|edit| !edit.path.is_empty()) {
        assert!(
            intent.paths.contains(&edit.path),
            "an edit of a path that is not named: {intent:?}"
        );
        if let EditKind::MoveTo { to, .. } = &edit.edit {
            assert!(intent.paths.contains(to), "a move to a path that is not named: {intent:?}");
        }
        for before in [None, Some(&b"one\ntwo\r\nthree"[..]), Some(b"\xff\0")] {
            if let Some(PredictedFile::Content(content)) = tool::predict(&edit.edit, before) {
                assert!(content.len() <= MAX_PREDICTION_BYTES);
            }
        }
    }
    if let Some(command) = &intent.command {
        retake_engine::shell::effects(command);
    }
}

thread_local! {
    static STAGE: ReusedFixture<OpenTestProject> = const { ReusedFixture::new(None) };
}

fn stage() -> OpenTestProject {
    OpenTestProject::new(|test| {
        test.write("a.txt", "one\ntwo\nthree\n");
        test.write("src/b.rs", "fn b() {}\n");
        test.write("../canary/a.txt", "not in the project\n");
    })
}

/// Any event can be recorded, and recording changes no file, in the project or beside it.
pub fn event_recorded(data: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(data) else { return };
    with_fixture(&STAGE, 200, stage, |stage| {
        let files = || {
            [stage.test.root(), stage.test.outer().join("canary")].map(|at| disk::read_files(&at))
        };
        let before = files();
        let recorded = stage.project.record(&event, stage.test.tick());
        let recorded = recorded.unwrap_or_else(|error| panic!("{error}: {event:?}"));
        assert!(recorded.changes.is_empty(), "nothing changed, but {:?}", recorded.changes);
        assert!(files() == before, "recording changed files");
        stage.project.status().unwrap();
        stage.project.context(&event.dialog, &event.agent()).unwrap();
        let found = stage.project.check_health(false, &mut |_, _| {}).unwrap();
        assert_eq!(found.verification.problems, []);
    });
}
