//! Every route × everything that must be refused: by rule, not by list, so that a new route is
//! covered when it is there.

use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::stage::{STORY, Stage};

/// One operation of the description.
pub(crate) struct Route {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) template: String,
    statuses: Vec<String>,
    pub(crate) has_body: bool,
    has_query: bool,
    /// Who may use it, as the route's policy says.
    pub(crate) scope: String,
    /// Which projects it is about, as the route's policy says.
    pub(crate) reach: String,
}

impl Route {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.template)
    }

    pub(crate) fn ask(&self) -> Ask {
        let ask = Ask::new(&self.method, &self.path);
        if self.has_body { ask.json(&json!({})) } else { ask }
    }

    pub(crate) fn is_public(&self) -> bool {
        self.scope == "anybody"
    }

    #[track_caller]
    pub(crate) fn check(&self, what: &str, answer: &Answer, status: u16, code: &str) {
        let name = self.name();
        assert_eq!(answer.status, status, "{name}, {what}: {}", answer.body);
        assert_eq!(answer.code(), code, "{name}, {what}: {}", answer.body);
        assert!(answer.json()["message"].is_string() && answer.json()["hint"].is_string());
        self.check_documented(what, answer);
        check_headers(answer);
    }

    #[track_caller]
    pub(crate) fn check_documented(&self, what: &str, answer: &Answer) {
        let status = answer.status.to_string();
        let is_documented = self.statuses.contains(&status) || status == "405";
        assert!(is_documented, "{}, {what}: {status} is not documented", self.name());
    }
}

#[track_caller]
pub(crate) fn check_headers(answer: &Answer) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{}", answer.head);
    }
    let policy = answer.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!answer.head.contains("access-control-"), "{}", answer.head);
    assert!(!answer.head.contains("set-cookie"), "{}", answer.head);
}

pub(crate) fn routes(stage: &Stage) -> Vec<Route> {
    let described = retake_server::http::description();
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let oid = stage.project.changes()[0].after.known().unwrap().oid.to_string();
    let names = [
        ("{project}", stage.id.as_str()),
        ("{dialog}", "d1"),
        ("{dialog_id}", "d1"),
        ("{id}", "d1"),
        ("{change}", "c5"),
        ("{checkpoint}", &checkpoint),
        ("{tool_call_id}", "w1"),
        ("{token_id}", "00000000"),
        ("{call}", "w1"),
        ("{turn}", "1"),
        ("{oid}", &oid),
        ("{operation}", "r1"),
        ("{comment}", "1"),
        ("{rejection}", "1"),
    ];
    let mut routes = Vec::new();
    for (template, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = names
                .iter()
                .fold(template.clone(), |path, (name, value)| path.replace(name, value));
            assert!(!path.contains('{'), "{template}: this test does not know what to fill in");
            let parameters = operation["parameters"].as_array().into_iter();
            let policy = |name: &str| {
                let said = operation[name].as_str();
                said.unwrap_or_else(|| panic!("{method} {template} has no policy")).to_owned()
            };
            routes.push(Route {
                scope: policy("x-scope"),
                reach: policy("x-reach"),
                method: method.to_uppercase(),
                path,
                template: template.clone(),
                statuses: operation["responses"].as_object().unwrap().keys().cloned().collect(),
                has_body: !operation["requestBody"].is_null(),
                has_query: parameters.flatten().any(|one| one["in"] == "query"),
            });
        }
    }
    assert!(routes.len() > 35, "the description has only {} routes", routes.len());
    routes
}

#[test]
fn threat_csrf_without_a_good_token_nothing_is_told() {
    let stage = Stage::new(STORY);
    for route in routes(&stage).iter().filter(|route| !route.is_public()) {
        let answer = stage.send(&route.ask());
        route.check("no token", &answer, 401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), Some("bearer"));
        let wrong = stage.send(&route.ask().token(&"0".repeat(64)));
        route.check("wrong token", &wrong, 401, "unauthorized");
        let basic = route.ask().header("Authorization", &format!("Basic {}", stage.human()));
        route.check("no bearer", &stage.send(&basic), 401, "unauthorized");
        let twice = route.ask().token(&stage.human()).token(&stage.human());
        route.check("two tokens", &stage.send(&twice), 401, "unauthorized");
        let in_url = Ask::new(&route.method, &format!("{}?token={}", route.path, stage.human()));
        route.check("token in the URL", &stage.send(&in_url), 401, "unauthorized");
    }
}

#[test]
fn threat_dns_rebinding_and_csrf_foreign_hosts_and_origins_are_refused_before_anything_else() {
    let stage = Stage::new(STORY);
    let port = stage.address().port();
    for route in routes(&stage) {
        for host in [
            "evil.example".to_owned(),
            format!("evil.example:{port}"),
            "127.0.0.1".to_owned(),
            format!("127.0.0.1:{}", port ^ 1),
            format!("127.0.0.1:{port}.evil.example"),
            format!("127.0.0.2:{port}"),
        ] {
            let answer = stage.send(&route.ask().token(&stage.human()).host(&host));
            route.check(&format!("host {host}"), &answer, 403, "foreign_host");
        }
        for origin in [
            "null".to_owned(),
            "http://evil.example".to_owned(),
            "http://127.0.0.1".to_owned(),
            format!("https://127.0.0.1:{port}"),
            format!("http://127.0.0.1:{port}.evil.example"),
            format!("http://127.0.0.1:{}", port ^ 1),
        ] {
            let ask = route.ask().token(&stage.human()).header("Origin", &origin);
            let answer = stage.send(&ask);
            route.check(&format!("origin {origin}"), &answer, 403, "foreign_origin");
        }
        let no_token = stage.send(&route.ask().host("evil.example"));
        route.check("foreign host and no token", &no_token, 403, "foreign_host");
    }
}

#[test]
fn own_names_and_origins_are_let_through() {
    let stage = Stage::new(STORY);
    let port = stage.address().port();
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{name}:{port}");
        let ask = Ask::new("GET", "/api/projects").token(&stage.human()).host(&host);
        let answer = stage.send(&ask.header("Origin", &format!("http://{host}")));
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
    }
}

#[test]
fn a_wrong_method_is_told_after_the_token() {
    let stage = Stage::new(STORY);
    let routes = routes(&stage);
    for route in &routes {
        let documented: Vec<_> = routes
            .iter()
            .filter(|other| other.template == route.template)
            .map(|other| other.method.as_str())
            .collect();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if documented.contains(&method) {
                continue;
            }
            let answer = stage.send(&Ask::new(method, &route.path).token(&stage.human()));
            route.check(method, &answer, 405, "wrong_method");
            let allow = answer.header("allow").unwrap_or_default();
            for method in &documented {
                assert!(allow.contains(&method.to_lowercase()), "{}: {allow}", route.name());
            }
            if !route.is_public() {
                let answer = stage.send(&Ask::new(method, &route.path));
                route.check(method, &answer, 401, "unauthorized");
            }
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_not_read() {
    let stage = Stage::new(STORY);
    for route in routes(&stage) {
        // It is only announced: a server that reads it waits for ever.
        let ask = Ask::new(&route.method, &route.path)
            .token(&stage.human())
            .header("Content-Type", "application/json")
            .header("Content-Length", &(17 * 1024 * 1024).to_string());
        route.check("oversized", &stage.send(&ask), 413, "too_large");
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    let stage = Stage::new(STORY);
    for route in routes(&stage) {
        let ask = Ask::new(&route.method, &route.path).token(&stage.human());
        if route.has_body {
            let bad =
                stage.send(&ask.clone().body(b"{").header("Content-Type", "application/json"));
            route.check("bad JSON", &bad, 400, "bad_json");
            let text = stage.send(&ask.clone().body(b"{}").header("Content-Type", "text/plain"));
            route.check("text", &text, 400, "bad_body");
            let unknown = stage.send(&ask.clone().json(&json!({ "surprise": 1 })));
            route.check("unknown field", &unknown, 422, "bad_value");
            let list = stage.send(&ask.clone().json(&json!([])));
            route.check("list", &list, 422, "bad_value");
        }
        if route.has_query {
            let path = format!("{}?surprise=1", route.path);
            let ask = Ask::new(&route.method, &path).token(&stage.human());
            route.check("unknown parameter", &stage.send(&ask), 400, "bad_query");
        }
    }
}

#[test]
fn what_is_nowhere_is_told_in_the_same_shape() {
    let stage = Stage::new(STORY);
    for path in ["/", "/api", "/api/projects/", "/docs/", "/api/../docs", "/%64ocs"] {
        let answer = stage.send(&Ask::new("GET", path).token(&stage.human()));
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}");
        check_headers(&answer);
        assert_eq!(stage.send(&Ask::new("GET", path)).status, 401, "{path} without a token");
    }
    for (path, code) in [
        ("/api/projects/none/status", "unknown_project"),
        ("changes/c999999", "unknown_change"),
        ("dialogs/none", "unknown_dialog"),
        ("dialogs/none/turns", "unknown_dialog"),
        ("dialogs/d1/turns/9", "unknown_turn"),
        ("dialogs/none/calls", "unknown_dialog"),
        ("dialogs/d1/calls/none", "unknown_call"),
        ("changes?dialog=d1,none", "unknown_dialog"),
        ("changes?dialog=none", "unknown_dialog"),
        ("changes?agent=none", "unknown_agent"),
        ("context?dialog=none", "unknown_dialog"),
        ("context/export?dialog=none", "unknown_dialog"),
        ("checkpoints/0000000000", "unknown_checkpoint"),
        ("blame?path=none.txt", "unknown_file"),
        ("review?scope=none", "unknown_dialog"),
        ("review/file?path=none.txt", "unknown_file"),
        ("feedback?dialog=none", "unknown_dialog"),
        ("/sessions/none/file-changes", "unknown_dialog"),
        ("/api/dialogs/none/session", "unknown_dialog"),
    ] {
        let answer = stage.get(path);
        assert_eq!((answer.status, answer.code().as_str()), (404, code), "{path}");
    }
    let answer = stage.post("/sessions/d1/file-changes/none/reject", &Value::Null);
    assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_record"));
}
