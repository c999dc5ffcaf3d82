//! What an agent, or a program that is bound to no dialog, may ask for in a review.

use retake_engine::model::{
    Caller, CallerChannel, CallerEvidence, CallerScope, CommentKind, DialogId,
};
use retake_engine::{CommentPlace, FeedbackChannel, NewComment};
use retake_service::caller::permit_request;
use retake_service::request::{ChangeComment, CommentAct, ProjectRequest, TakeFeedback};
use retake_testkit::{TestProject, play};

fn agent_of(dialog: &str) -> Caller {
    let scope = CallerScope::Agent { dialog: dialog.into(), agent: None };
    let (channel, evidence) = (CallerChannel::CommandLine, CallerEvidence::AncestorProcess);
    Caller { channel, scope, evidence }
}

#[test]
fn what_an_agent_hears_and_answers_is_its_own_and_the_persons() {
    let test = TestProject::new();
    play(&test, "file a.txt: 1\\n\ninit\nsay d1: go\nsay d2: go\nedit d1 e1 a.txt: 1 => one\n");
    let project = test.open();
    let comment = NewComment {
        place: CommentPlace::Work,
        kind: CommentKind::Question,
        text: "why?".to_owned(),
        dialog: Some(DialogId::from("d1")),
    };
    project.add_comment(&comment, test.tick()).unwrap();
    project.send_comments(&[], test.tick()).unwrap();
    let take = || TakeFeedback { dialog: "d1".into(), channel: FeedbackChannel::Asked };
    let answer = || ChangeComment { id: 1, act: CommentAct::Answer("done".to_owned()) };
    let requests: [ProjectRequest; 2] = [take().into(), answer().into()];
    let program = Caller::program(CallerChannel::CommandLine, CallerEvidence::AncestorProcess);
    let person = Caller::person(CallerChannel::CommandLine, CallerEvidence::None);
    for (caller, refusal) in [
        (agent_of("d1"), None),
        (person, None),
        (agent_of("d2"), Some("other_dialog")),
        (program, Some("human_only")),
    ] {
        for request in &requests {
            let refused = permit_request(&project, &caller, request).err();
            let code = refused.as_ref().map(|error| error.code.to_string());
            assert_eq!(code.as_deref(), refusal, "{caller:?} {}", request.name());
        }
    }
}
