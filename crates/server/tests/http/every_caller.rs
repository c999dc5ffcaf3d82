//! Every route × every caller: what the table of policies says is what happens. A route that is
//! added is tried as soon as it is there; one without a policy fails.

use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::every_route::{Route, routes};
use crate::stage::{STORY, Stage};

/// Who asks for something of dialog d1 in the stage's project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// Without a token.
    Stranger,
    /// With a token that is bound to d1.
    OwnAgent,
    /// With a token that is bound to another dialog.
    OtherAgent,
    /// With a token for another project.
    ForeignAgent,
    /// With the token that all agents share.
    UnboundAgent,
    Person,
}

/// The person comes last: what it asks for is done.
const CALLERS: [Caller; 6] = [
    Caller::Stranger,
    Caller::OwnAgent,
    Caller::OtherAgent,
    Caller::ForeignAgent,
    Caller::UnboundAgent,
    Caller::Person,
];

/// What the policy of a route says to a caller: none if it is served.
fn refusal(route: &Route, caller: Caller) -> Option<(u16, &'static str)> {
    let (scope, reach) = (route.scope.as_str(), route.reach.as_str());
    if scope == "anybody" || caller == Caller::Person {
        return None;
    }
    if caller == Caller::Stranger {
        return Some((401, "unauthorized"));
    }
    if scope == "human" {
        return Some((403, "human_only"));
    }
    let is_spoken = scope == "human, or agent of the dialog";
    if is_spoken && caller == Caller::UnboundAgent {
        return Some((403, "unbound_token"));
    }
    let is_minted = caller != Caller::UnboundAgent;
    let is_elsewhere = reach == "project" && caller == Caller::ForeignAgent;
    if is_minted && (reach == "machine" || is_elsewhere) {
        return Some((403, "other_project"));
    }
    if is_spoken && caller == Caller::OtherAgent {
        return Some((403, "other_dialog"));
    }
    dry_run_refusal(scope)
}

fn dry_run_refusal(scope: &str) -> Option<(u16, &'static str)> {
    match scope {
        "human, or agent with dry_run" => Some((403, "human_only")),
        "agent" | "human, or agent of the dialog" => None,
        other => panic!("this test does not know the scope '{other}'"),
    }
}

/// A request of dialog d1.
fn request(route: &Route, caller: Caller) -> Ask {
    let ask = Ask::new(&route.method, &route.path);
    if caller == Caller::Person && route.has_body {
        // It is let in, and then not understood.
        return ask.json(&json!({ "surprise": 1 }));
    }
    if route.scope != "human, or agent of the dialog" {
        return route.ask();
    }
    if route.template.ends_with("/events") {
        let event = json!({ "event": "user_message", "dialog": "d1", "text": "hello" });
        return ask.json(&json!({ "events": [event] }));
    }
    match route.template.rsplit('/').next().unwrap() {
        "mark" => ask.json(&json!({ "dialog": "d1", "paths": [] })),
        // The comment is for d1.
        "answer" => ask.json(&json!({ "text": "done" })),
        "feedback" if route.has_body => ask.json(&json!({ "dialog": "d1" })),
        "feedback" => Ask::new(&route.method, &format!("{}?dialog=d1", route.path)),
        _ => panic!("{}: this test does not know how it names a dialog", route.name()),
    }
}

struct Callers {
    stage: Stage,
    other_project: String,
}

impl Callers {
    fn new() -> Self {
        let (stage, other_project) = Stage::beside_another_project();
        stage.done("comments", &json!({ "text": "why?", "dialog": "d1" }));
        stage.done("comments/send", &json!({}));
        Self { stage, other_project }
    }

    fn token(&self, caller: Caller) -> Option<String> {
        match caller {
            Caller::Stranger => None,
            Caller::Person => Some(self.stage.human()),
            Caller::OwnAgent => Some(self.stage.mint(Some("d1"))),
            Caller::OtherAgent => Some(self.stage.mint(Some("d2"))),
            Caller::ForeignAgent => {
                let path = format!("/api/projects/{}/agent-tokens", self.other_project);
                let minted = self.stage.done(&path, &Value::Null);
                Some(minted["token"].as_str().unwrap().to_owned())
            }
            Caller::UnboundAgent => Some(self.stage.agent()),
        }
    }

    fn send(&self, ask: Ask, token: Option<&str>) -> Answer {
        self.stage.send(&token.into_iter().fold(ask, Ask::token))
    }
}

#[test]
fn threat_agent_is_the_attacker_every_route_says_to_every_caller_what_its_policy_says() {
    let callers = Callers::new();
    let routes = routes(&callers.stage);
    for caller in CALLERS {
        let token = callers.token(caller);
        for route in &routes {
            let what = format!("{caller:?}");
            let answer = callers.send(request(route, caller), token.as_deref());
            if let Some((status, code)) = refusal(route, caller) {
                route.check(&what, &answer, status, code);
                continue;
            }
            let name = route.name();
            assert!(![401, 403].contains(&answer.status), "{name}, {what}: {}", answer.body);
            route.check_documented(&what, &answer);
        }
        if caller != Caller::Person {
            let before = "one\nTwo\nthree\nfour\nfive\n";
            let now = callers.stage.project.read("a.txt");
            assert_eq!(now, before.as_bytes(), "{caller:?} changed a file");
        }
    }
}

#[test]
fn threat_agent_is_the_attacker_agents_see_plans_and_no_more() {
    let callers = Callers::new();
    let routes = routes(&callers.stage);
    let planned: Vec<_> =
        routes.iter().filter(|route| route.scope == "human, or agent with dry_run").collect();
    assert!(planned.len() >= 6, "only {} routes have plans", planned.len());
    for caller in [Caller::OwnAgent, Caller::OtherAgent, Caller::UnboundAgent] {
        let token = callers.token(caller);
        for route in &planned {
            let send = |body: Value| {
                callers.send(Ask::new(&route.method, &route.path).json(&body), token.as_deref())
            };
            let plan = send(json!({ "dry_run": true }));
            assert_ne!(plan.status, 403, "{}, {caller:?}: {}", route.name(), plan.body);
            let deed = send(json!({ "dry_run": false, "yes": true }));
            route.check(&format!("{caller:?} without dry run"), &deed, 403, "human_only");
        }
    }
}

/// The table itself: what changes something is the person's, but for checkpoints, plans and what
/// an agent records of its own dialog.
#[test]
fn what_agents_may_do_everywhere_is_to_look_and_to_make_checkpoints() {
    let stage = Stage::new(STORY);
    for route in routes(&stage).iter().filter(|route| route.scope == "agent") {
        let is_checkpoint = route.template == "/api/projects/{project}/checkpoints";
        assert!(route.method == "GET" || is_checkpoint, "{} is for agents", route.name());
    }
}
