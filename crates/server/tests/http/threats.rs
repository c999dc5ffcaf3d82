//! Pages of other sites, and contents that want to be a page: rows of the table of threats in
//! docs/reliability.md that no other test here is named after.
//!
//! No browser runs here: what it goes by is headers and bodies, and those are read byte by byte.

use retake_testkit::{TestProject, play};
use serde_json::json;

use crate::client::{Answer, Ask};
use crate::every_route::{check_headers, routes};
use crate::stage::{STORY, Stage};

/// What must not be told to anybody without a token: names and contents of the story.
fn assert_tells_nothing(stage: &Stage, what: &str, answer: &Answer) {
    let root = stage.project.root().display().to_string();
    for secret in ["a.txt", "keep.txt", "make it better", "\"d1\"", stage.id.as_str(), &root] {
        assert!(!answer.body.contains(secret), "{what} tells {secret}: {}", answer.body);
    }
}

/// Answers that a page can make a script, a style or a picture of have no type that it could be:
/// with `nosniff`, plain text and bytes are neither.
fn assert_is_no_script(what: &str, answer: &Answer) {
    check_headers(answer);
    let kind = answer.header("content-type").unwrap_or_default();
    let is_content = ["text/plain; charset=utf-8", "application/octet-stream"].contains(&kind);
    let is_text = ["text/x-diff", "text/markdown; charset=utf-8"].contains(&kind);
    let is_data = is_content
        || is_text
        || kind.starts_with("application/json")
        || kind == "text/event-stream";
    assert!(is_data || kind.starts_with("text/html"), "{what}: {kind}");
}

/// Paths that are no route, and are refused like one.
const NOWHERE: [&str; 5] = ["/", "/api", "/favicon.ico", "/docs/../api/projects", "//evil/api"];

#[test]
fn threat_dns_rebinding_foreign_hosts_are_refused_before_routing() {
    let stage = Stage::new(STORY);
    let port = stage.address().port();
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("127.0.0.1:{port}@evil.example"),
        "localhost".to_owned(),
        format!("localhost:{}", port ^ 1),
        format!("localhost.:{port}"),
        format!("0.0.0.0:{port}"),
        format!("2130706433:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
    ];
    for host in &hosts {
        for path in NOWHERE {
            for method in ["GET", "POST", "OPTIONS", "BREW"] {
                let answer = stage.send(&Ask::new(method, path).token(&stage.human()).host(host));
                assert_eq!(answer.status, 403, "{method} {path} of {host}: {}", answer.body);
                check_headers(&answer);
            }
        }
        // A page with that name has neither the token nor the code, and gets no further with them.
        let exchange = Ask::new("POST", "/api/exchange").json(&json!({ "code": "x" })).host(host);
        assert_eq!(stage.send(&exchange).code(), "foreign_host");
    }
}

#[test]
fn threat_csrf_no_answer_has_a_cors_header() {
    let stage = Stage::new(STORY);
    let port = stage.address().port();
    let origins = [
        None,
        Some("null".to_owned()),
        Some("https://evil.example".to_owned()),
        Some("not an origin".to_owned()),
        Some(format!("http://127.0.0.1:{port}")),
    ];
    let all = routes(&stage);
    for route in &all {
        for origin in &origins {
            let with_origin = |ask: Ask| match origin {
                Some(origin) => ask.header("Origin", origin),
                None => ask,
            };
            // What a browser asks before it sends anything else.
            let ahead = Ask::new("OPTIONS", &route.path)
                .header("Access-Control-Request-Method", &route.method)
                .header("Access-Control-Request-Headers", "authorization, content-type")
                .header("Access-Control-Request-Private-Network", "true");
            let answer = stage.send(&with_origin(ahead));
            assert!(answer.status >= 400, "{} {origin:?}: {}", route.name(), answer.status);
            check_headers(&answer);
            // And what it sends without asking.
            let simple = Ask::new(&route.method, &route.path).header("Content-Type", "text/plain");
            check_headers(&stage.send(&with_origin(simple)));
            let whole = stage.send(&with_origin(route.ask().token(&stage.agent())));
            check_headers(&whole);
            let is_foreign = origin.as_ref().is_some_and(|origin| !origin.contains("127.0.0.1"));
            assert_eq!(whole.status == 403 && whole.code() == "foreign_origin", is_foreign);
        }
    }
    let events =
        all.iter().filter(|route| route.path.ends_with("/events") && route.method == "GET");
    assert_eq!(events.count(), 2, "the event streams are among them");
}

#[test]
fn threat_script_inclusion_nothing_is_told_to_a_page_whatever_it_claims() {
    let stage = Stage::new(STORY);
    for route in routes(&stage).iter().filter(|route| route.method == "GET") {
        let path = |query: &str| Ask::new("GET", &format!("{}{query}", route.path));
        let bare = [
            path(""),
            // Headers that only browsers send, and that other programs can write as well.
            path("").header("Sec-Fetch-Site", "same-origin").header("Sec-Fetch-Mode", "cors"),
            path("").header("Sec-Fetch-Site", "none").header("Sec-Fetch-Dest", "document"),
            path("").header("Sec-Fetch-Mode", "no-cors").header("Sec-Fetch-Dest", "script"),
            path("").header("Referer", &stage.running.url()),
            // A cookie goes along with what a page includes; a token in it is none.
            path("").header("Cookie", &format!("token={0}; Authorization={0}", stage.human())),
            path(&format!("?access_token={}", stage.human())),
            path("?callback=steal"),
        ];
        for ask in bare {
            let answer = stage.send(&ask);
            assert_is_no_script(&route.name(), &answer);
            assert_tells_nothing(&stage, &route.name(), &answer);
            assert!(route.is_public() || answer.status == 401, "{}: {}", route.name(), answer.body);
            assert!(!answer.body.contains("steal("), "{}", answer.body);
        }
        // With the token it is data, and no script either.
        assert_is_no_script(&route.name(), &stage.send(&route.ask().token(&stage.human())));
    }
}

/// A client sends the token as a header; `EventSource` of a browser, which cannot, gets nothing.
#[test]
fn threat_sse_the_token_is_a_header_and_never_in_a_url() {
    let stage = Stage::new(STORY);
    let token = stage.human();
    for query in ["", "?token=T", "?access_token=T", "?authorization=Bearer%20T", "?after=0&key=T"]
    {
        let path = stage.path("events") + &query.replace('T', &token);
        let ask = Ask::new("GET", &path).header("Accept", "text/event-stream");
        assert_eq!(stage.send(&ask).status, 401, "{query}");
        let cookie = ask.clone().header("Cookie", &format!("token={token}"));
        assert_eq!(stage.send(&cookie).status, 401, "{query} with a cookie");
    }
    let answer = stage.get("events");
    assert_eq!(answer.status, 200);
    check_headers(&answer);
    // Nothing that the server says holds the token, so that no page can copy it from there.
    for route in routes(&stage).iter().filter(|route| route.method == "GET") {
        let answer = stage.send(&route.ask().token(&token));
        assert!(!answer.body.contains(&token) && !answer.head.contains(&token.to_lowercase()));
    }
}

/// Names and contents that are a page to a browser that is allowed to guess.
const PAGES: [&str; 5] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "javascript:alert(1)//",
];

#[test]
fn threat_xss_names_and_contents_are_data_to_a_browser() {
    let project = TestProject::new();
    play(&project, STORY);
    for page in PAGES {
        let name = page.replace('/', "_");
        project.write(&name, page);
    }
    let stage = Stage::of(project);
    let say = |text: &str| json!({ "event": "user_message", "dialog": text, "text": text });
    let events: Vec<_> = PAGES.iter().map(|page| say(page)).collect();
    stage.done("events", &json!({ "events": events }));
    stage.got("status");
    let mut seen = 0;
    for route in routes(&stage).iter().filter(|route| route.method == "GET") {
        for query in ["", "?path=%3Cscript%3Ealert(1)%3C_script%3E", "?dialog=%3Cscript%3E"] {
            let ask = Ask::new("GET", &format!("{}{query}", route.path)).token(&stage.human());
            let answer = stage.send(&ask.header("Accept", "text/html"));
            check_headers(&answer);
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.contains("require-trusted-types-for 'script'"), "{policy}");
            assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
            let kind = answer.header("content-type").unwrap();
            seen += usize::from(answer.body.contains("alert(1)"));
            if kind.starts_with("text/html") {
                assert!(!answer.body.contains("alert(1)"), "the page holds data");
                assert_tells_nothing(&stage, &route.name(), &answer);
                assert!(!answer.body.contains("<script"), "the page has a script");
            }
        }
    }
    assert!(seen > 5, "the payloads are in {seen} answers only");
    // What is wrong is told in the same way: the word that was sent comes back as data.
    let wrong = stage.get("changes?since=%3Cscript%3Ealert(1)%3C/script%3E&limit=%3Cb%3E");
    assert!(wrong.status >= 400);
    assert_is_no_script("an error", &wrong);
}
