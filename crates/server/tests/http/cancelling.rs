//! Long verbs are listed while they run or wait, and the person cancels them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

/// Keeps the worker of the project busy until the sender is dropped.
fn gate(stage: &Stage) -> mpsc::Sender<()> {
    let (open, gate) = mpsc::channel();
    let (begun, is_begun) = mpsc::channel();
    let handle = stage.pool.handle(&stage.id).unwrap();
    std::thread::spawn(move || {
        handle.run_job(move |_| {
            begun.send(()).unwrap();
            let _ = gate.recv();
        })
    });
    is_begun.recv().unwrap();
    open
}

fn wait_for_run(stage: &Stage) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let running = stage.got("operations/running");
        if let Some(run) = running["running"].get(0) {
            return run.clone();
        }
        assert!(Instant::now() < until, "it is not listed");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_waits_is_listed_and_a_cancel_leaves_everything_as_it_is() {
    let stage = Stage::new(STORY);
    let before = stage.project.read("a.txt");
    let open = gate(&stage);
    let undo = Ask::new("POST", &stage.path("undo")).token(&stage.human()).json(&json!({}));
    let address = stage.address();
    let undo = std::thread::spawn(move || undo.send(address));
    let run = wait_for_run(&stage);
    assert_eq!((&run["verb"], &run["phase"]), (&json!("undo"), &json!("waiting")));
    let path = stage.path(&format!("operations/{}/cancel", run["run"].as_str().unwrap()));
    let agent = stage.send(&Ask::new("POST", &path).token(&stage.agent()));
    assert_eq!((agent.status, agent.code().as_str()), (403, "human_only"));
    let cancelled = stage.send(&Ask::new("POST", &path).token(&stage.human()));
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    assert_eq!(cancelled.json()["cancelled"], true);
    drop(open);
    let answer = undo.join().unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (409, "cancelled"), "{}", answer.body);
    assert_eq!(stage.got("operations/running"), json!({ "running": [] }));
    assert_eq!(stage.got("operations"), json!({ "operations": [] }));
    assert_eq!(stage.project.read("a.txt"), before);
    assert_eq!(stage.done("undo", &json!({}))["whole"], true);
}

#[test]
fn what_does_not_run_is_not_cancelled_and_the_answer_says_why() {
    let stage = Stage::new(STORY);
    let done = stage.done("undo", &json!({}));
    let operation = done["operation"].as_str().unwrap();
    let cancel = |name: &str| {
        let path = stage.path(&format!("operations/{name}/cancel"));
        let answer = stage.send(&Ask::new("POST", &path).token(&stage.human()));
        (answer.status, answer.code())
    };
    assert_eq!(cancel(operation), (409, "not_running".to_owned()));
    assert_eq!(cancel("r77"), (404, "unknown_operation".to_owned()));
    assert_eq!(cancel("o999999"), (404, "unknown_operation".to_owned()));
}
