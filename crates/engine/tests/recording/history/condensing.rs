//! Condensing: pairs stay together, the log keeps everything, and no newer view is overwritten.

use std::cell::RefCell;
use std::time::Duration;

use retake_engine::model::{MessageRole, ModelMessage};
use retake_engine::{
    CondenseError, CondenseMethod, HistoryError, HistoryMessage, Project, Summariser, SummaryError,
    SummaryRequest, SummaryRetry, message_tokens,
};
use retake_testkit::TestProject;
use serde_json::{Value, json};

use super::{condense, dialog, main_agent, message, numbered, shown, user};

fn letters(text: &str) -> u64 {
    text.len() as u64
}

/// Says what it is told to, and how long it was asked to wait.
struct Writer {
    answer: Result<String, SummaryError>,
    waited: RefCell<Vec<Duration>>,
}

impl Writer {
    fn new(answer: Result<&str, SummaryRetry>) -> Self {
        let failed = |retry| SummaryError { why: "it is out".to_owned(), retry };
        let answer = answer.map(str::to_owned).map_err(failed);
        Self { answer, waited: RefCell::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&SummaryRequest<'_>) -> T) -> T {
        act(&SummaryRequest {
            summariser: self,
            count: &letters,
            max_tokens: 50,
            max_input_tokens: 200,
            attempts: 3,
            pause: &|time| self.waited.borrow_mut().push(time),
        })
    }
}

impl Summariser for Writer {
    fn summarise(&self, _: &[ModelMessage], _: u32) -> Result<String, SummaryError> {
        self.answer.clone()
    }
}

fn block(role: MessageRole, block: Value) -> ModelMessage {
    ModelMessage { content: vec![block], ..message(role, "", None) }
}

/// Messages as agents write them: each call gets its result some messages later, or not yet.
fn talk(rng: &mut fastrand::Rng, count: usize, calls: &mut u32) -> Vec<ModelMessage> {
    let mut open: Vec<u32> = Vec::new();
    let mut messages = Vec::new();
    for _ in 0..count {
        messages.push(match rng.u8(..3) {
            0 => {
                *calls += 1;
                open.push(*calls);
                let call = json!({ "type": "tool_use", "id": calls.to_string(), "name": "x", "input": {} });
                block(MessageRole::Assistant, call)
            }
            1 if !open.is_empty() => {
                let id = open.remove(rng.usize(..open.len())).to_string();
                block(MessageRole::User, json!({ "type": "tool_result", "tool_use_id": id, "content": "y" }))
            }
            _ => user("words"),
        });
    }
    messages
}

/// The ids of calls, or of those that results are of.
fn ids(messages: &[HistoryMessage], key: &str) -> Vec<String> {
    let blocks = messages.iter().flat_map(|kept| &kept.message.content);
    blocks.filter_map(|block| block[key].as_str()).map(str::to_owned).collect()
}

fn check(project: &Project, told: &[ModelMessage]) {
    let view = project.model_messages(&dialog(), &main_agent()).unwrap();
    let log = project.model_log(&dialog(), &main_agent()).unwrap();
    let kept: Vec<_> =
        log.iter().filter(|kept| kept.place >= 0).map(|kept| kept.message.clone()).collect();
    assert_eq!(kept, told, "the log has everything");
    let (calls, results) = (ids(&view, "id"), ids(&view, "tool_use_id"));
    let answered = ids(&log, "tool_use_id");
    for result in &results {
        assert!(calls.contains(result), "the result of {result} is shown without its call");
    }
    for call in calls.iter().filter(|call| answered.contains(call)) {
        assert!(results.contains(call), "call {call} is shown without its result");
    }
}

#[test]
fn whatever_is_condensed_pairs_stay_whole_and_the_log_too() {
    let test = TestProject::new();
    test.init();
    let project = test.open();
    let mut rng = fastrand::Rng::with_seed(11);
    let (mut told, mut calls, mut condensed) = (Vec::new(), 0, [0; 2]);
    for at in 0..120 {
        let count = rng.usize(1..6);
        let more = talk(&mut rng, count, &mut calls);
        let numbers = numbered(told.len() as u64, &more);
        project.add_model_messages(&dialog(), &main_agent(), &numbers, at).unwrap();
        told.extend(more);
        let answer = if rng.bool() { Ok("short") } else { Err(SummaryRetry::Soon) };
        let keep = rng.usize(..5);
        let plan = match project.plan_condense(&dialog(), &main_agent(), keep, &letters) {
            Ok(plan) => plan,
            Err(CondenseError::Nothing(_)) => continue,
            Err(error) => panic!("{error}"),
        };
        let with = match Writer::new(answer).with(|asking| plan.summarise(asking, at)) {
            Ok(with) => with,
            Err(CondenseError::TooLittle { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let done = project.condense(&with, at).unwrap();
        let view = project.model_messages(&dialog(), &main_agent()).unwrap();
        let tokens: u64 = view.iter().map(|kept| message_tokens(&kept.message, &letters)).sum();
        assert_eq!(done.tokens_after, tokens);
        assert_eq!(done.view.shown, view.len() as u64);
        match &done.how {
            CondenseMethod::Summary(summary) => {
                let message = &view[done.replaced.start].message;
                let said = format!("[Previous conversation summary]\n{summary}");
                assert_eq!(message.content, [json!({ "type": "text", "text": said })]);
                assert_eq!((message.role, message.ts), (MessageRole::User, Some(at)));
                assert!(message.is_summary);
                condensed[0] += 1;
            }
            CondenseMethod::Forced(why) => {
                assert_eq!(why, "it is out");
                condensed[1] += 1;
            }
        }
        check(&project, &told);
        if rng.u8(..4) == 0 {
            project.bring_back(&dialog(), &main_agent(), at).unwrap();
            check(&project, &told);
        }
    }
    assert!(condensed.iter().all(|&times| times > 15), "{condensed:?}");
}

#[test]
fn nobody_s_view_is_overrun_and_what_came_meanwhile_is_shown() {
    let test = TestProject::new();
    test.init();
    let project = test.open();
    let (dialog, agent) = (dialog(), main_agent());
    let texts = ["a", "b", "c", "d"].map(user);
    project.add_model_messages(&dialog, &agent, &numbered(0, &texts), 1).unwrap();
    let plan = project.plan_condense(&dialog, &agent, 1, &letters).unwrap();
    assert_eq!(plan.replaced, 0..3);
    let writer = Writer::new(Ok("abc"));
    let with = writer.with(|asking| plan.summarise(asking, 2)).unwrap();
    // The agent goes on while the model writes.
    project.add_model_messages(&dialog, &agent, &numbered(4, &[user("e")]), 2).unwrap();
    project.condense(&with, 3).unwrap();
    assert_eq!(shown(&project), ["[Previous conversation summary]\nabc", "d", "e"]);
    // Somebody shows it otherwise: the same once more is refused.
    assert!(matches!(project.condense(&with, 4), Err(HistoryError::Moved(_))));
    project.bring_back(&dialog, &agent, 5).unwrap();
    let plan = project.plan_condense(&dialog, &agent, 0, &letters).unwrap();
    condense(&project, 2, 6).unwrap();
    let with = writer.with(|asking| plan.summarise(asking, 7)).unwrap();
    assert!(matches!(project.condense(&with, 8), Err(HistoryError::Moved(_))));
    // Only what came since the last summary is condensed; what cannot be is said.
    let plan = project.plan_condense(&dialog, &agent, 0, &letters).unwrap();
    assert_eq!(plan.replaced, 1..4);
    let nothing = project.plan_condense(&dialog, &agent, 3, &letters);
    assert!(matches!(nothing, Err(CondenseError::Nothing(_))));
    let slow = Writer::new(Err(SummaryRetry::After(Duration::from_secs(9))));
    let forced = slow.with(|asking| plan.summarise(asking, 9)).unwrap();
    assert_eq!(slow.waited.take(), [Duration::from_secs(9); 2]);
    project.condense(&forced, 10).unwrap();
    assert_eq!(shown(&project), ["summary of 2", "d", "e"], "a summary outlives it");
}
