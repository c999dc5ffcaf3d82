//! The review, hunk by hunk: what is listed, decided, refused and taken back.

use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::stage::Stage;

/// A turn of an agent that is over: two places of one file, and a new file.
pub(crate) const TURN: &str = r"
    file a.txt: one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n
    file keep.txt: keep\n
    init
    say d1: make it better
    edit d1 w1 a.txt: two => TWO
    edit d1 w2 a.txt: eleven => ELEVEN
    write d1 w3 new.txt: made by an agent\n
    turn-end d1
";

/// The hunks of a file in a scope.
#[track_caller]
pub(crate) fn hunks_of(stage: &Stage, scope: &str, path: &str) -> Vec<Value> {
    let document = stage.got(&format!("review/file?scope={scope}&path={path}"));
    let files = document["files"].as_array().unwrap().iter();
    files.flat_map(|file| file["hunks"].as_array().unwrap().clone()).collect()
}

/// A hunk as an act names it.
pub(crate) fn named(hunk: &Value, path: &str) -> Value {
    json!({ "id": hunk["id"], "path": path })
}

fn ids(hunks: &[Value]) -> Vec<Value> {
    hunks.iter().map(|hunk| hunk["id"].clone()).collect()
}

/// The lines of a hunk, each with its sign.
fn lines(hunk: &Value) -> Vec<String> {
    let sign = |kind: &str| if kind == "removed" { '-' } else { '+' };
    let lines = hunk["lines"].as_array().unwrap().iter();
    let line = |line: &Value| {
        format!("{}{}", sign(line["kind"].as_str().unwrap()), line["text"].as_str().unwrap())
    };
    lines.map(line).collect()
}

fn read(stage: &Stage, path: &str) -> String {
    String::from_utf8(stage.project.read(path)).unwrap()
}

#[test]
fn the_list_names_files_in_pages_and_reads_none() {
    let stage = Stage::new(TURN);
    let list = stage.got("review?scope=last-turn");
    assert_eq!((&list["scope"], &list["resolved"]), (&json!("last-turn"), &json!("dialog:d1:1")));
    assert_eq!(list["next"], Value::Null);
    let files = list["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["a.txt", "new.txt"]);
    assert_eq!((&files[0]["added"], &files[0]["removed"]), (&json!(2), &json!(2)));
    assert_eq!(files[0]["dialogs"][0]["id"], "d1");
    let root = stage.project.root().join("a.txt");
    assert_eq!(files[0]["file_path"], root.to_str().unwrap());

    let first = stage.got("review?limit=1");
    assert_eq!(first["files"][0]["path"], "a.txt");
    let next = first["next"].as_str().unwrap();
    let second = stage.got(&format!("review?limit=1&after={next}"));
    assert_eq!((&second["files"][0]["path"], &second["next"]), (&json!("new.txt"), &Value::Null));

    let count = |query: &str| stage.got(query)["files"].as_array().unwrap().len();
    assert_eq!(count("review?path=new.txt"), 1);
    assert_eq!(count("review?path=new.txt&path=a.txt"), 2);
    assert_eq!(count("review?path=keep.txt"), 0);
    assert_eq!(count("review?scope=dialog:d1"), 2);
    // No content is read: the list is the same when all of them are damaged.
    let db = rusqlite::Connection::open(stage.project.open().folder().join("retake.db")).unwrap();
    for change in stage.project.changes() {
        let damage = "UPDATE object SET data = zeroblob(length(data)) WHERE oid = ?1";
        let oid = change.after.known().unwrap().oid;
        assert_eq!(db.execute(damage, [oid.as_bytes().as_slice()]).unwrap(), 1);
    }
    assert_eq!(stage.got("review?scope=last-turn")["files"], list["files"]);
    let hunks = hunks_of(&stage, "all", "a.txt");
    assert_eq!(hunks[0]["kind"], "binary", "what reads them finds no lines: {hunks:?}");
}

#[test]
fn what_names_no_review_is_refused() {
    let stage = Stage::new(TURN);
    for (path, status, code) in [
        ("review?scope=nobody", 404, "unknown_dialog"),
        ("review?scope=", 404, "unknown_dialog"),
        ("review?scope=dialog:", 404, "unknown_dialog"),
        ("review?scope=d1:7", 404, "unknown_message"),
        ("review?after=zz", 422, "bad_value"),
        ("review?limit=0", 422, "bad_value"),
        ("review?path=../outside", 422, "outside_project"),
        ("review?scope=all&scope=all", 400, "bad_query"),
        ("review/file", 422, "bad_value"),
        ("review/file?path=none.txt", 404, "unknown_file"),
        ("review/file?path_hex=2e2e", 422, "bad_value"),
        ("review/file?path_hex=61f", 422, "bad_value"),
    ] {
        let answer = stage.get(path);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
    let hunk = json!({ "id": "h000000000000" });
    for (body, code) in [
        (json!({}), "bad_value"),
        (json!({ "hunks": [] }), "bad_value"),
        (json!({ "hunks": [hunk], "all": true }), "bad_value"),
        (json!({ "hunks": [{ "id": "h1" }] }), "bad_value"),
        (json!({ "hunks": [{ "id": "h000000000000", "lines": "1-2" }] }), "bad_value"),
        (json!({ "all": true, "scope": "nobody" }), "unknown_dialog"),
        (json!({ "hunks": [hunk] }), "stale_hunk"),
    ] {
        for route in ["review/keep", "review/mark", "review/reject"] {
            assert_eq!(stage.post(route, &body).code(), code, "{route} {body}");
        }
    }
}

#[test]
fn the_hunks_of_a_file_come_in_pages_as_the_file_is_now() {
    let stage = Stage::new(TURN);
    let hunks = hunks_of(&stage, "all", "a.txt");
    assert_eq!(
        hunks.iter().map(lines).collect::<Vec<_>>(),
        [["-two", "+TWO"], ["-eleven", "+ELEVEN"]]
    );
    assert_eq!(hunks[0]["changes"][0]["call"], "w1");
    assert_eq!((&hunks[0]["reviewed"], &hunks[0]["kind"]), (&json!(false), &json!("lines")));

    let first = stage.got("review/file?path=a.txt&limit=1");
    let file = &first["files"][0];
    assert_eq!(
        (&file["count"], &file["unreviewed"], &first["next"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(file["hunks"][0], hunks[0]);
    let second = stage.got("review/file?path=a.txt&limit=1&from=1");
    assert_eq!((&second["files"][0]["hunks"][0], &second["next"]), (&hunks[1], &Value::Null));

    // The person's line is no hunk, and is seen without waiting for anything.
    stage.project.write(
        "a.txt",
        "one\nTWO\nthree\nfour\nfive\nmine\nseven\neight\nnine\nten\nELEVEN\ntwelve\n",
    );
    let now = stage.got("review/file?path=a.txt");
    assert_eq!(ids(now["files"][0]["hunks"].as_array().unwrap()), ids(&hunks));
    assert_ne!(now["files"][0]["digest"], file["digest"]);
    let everything = hunks_of(&stage, "everything", "a.txt");
    assert_eq!(lines(&everything[1]), ["-six", "+mine"]);
    // A file that only the person changed has nothing to review.
    stage.project.write("keep.txt", "mine\n");
    assert_eq!(stage.got("review/file?path=keep.txt")["files"], json!([]));
}

#[test]
fn tokens_can_be_left_out() {
    let story = r"
        file a.rs: fn a() {}\n
        init
        say d1: do
        write d1 w1 a.rs: fn b() {}\n
    ";
    let stage = Stage::new(story);
    let shown = |query: &str| stage.got(query)["files"][0].clone();
    let plain = shown("review/file?path=a.rs&tokens=false");
    assert_eq!(
        (&plain["highlighted"], &plain["hunks"][0]["lines"][1]["tokens"]),
        (&json!(false), &json!([]))
    );
    let drawn = shown("review/file?path=a.rs");
    assert_eq!(drawn["highlighted"], true);
    assert_ne!(drawn["hunks"][0]["lines"][1]["tokens"], json!([]));
}

#[test]
fn a_file_whose_name_is_not_utf8_is_named_by_its_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = TestProject::new();
    play(&project, "init\nsay d1: do\nbegin d1 s1 sh: ./build\n");
    let name = std::ffi::OsStr::from_bytes(b"\xff.txt");
    std::fs::write(project.root().join(name), "one\n").unwrap();
    play(&project, "end d1 s1\nturn-end d1\n");
    let stage = Stage::of(project);
    let list = stage.got("review");
    let hex = list["files"][0]["path_hex"].as_str().unwrap();
    assert_eq!(hex, "ff2e747874");
    let file = stage.got(&format!("review/file?path_hex={hex}"));
    let hunk = &file["files"][0]["hunks"][0];
    assert_eq!(hunk["kind"], "create");
    let body = json!({ "hunks": [{ "id": hunk["id"], "path_hex": hex }] });
    assert_eq!(stage.done("review/keep", &body)["hunks"], json!([hunk["id"]]));
}

#[test]
fn keeping_marks_in_every_scope_and_accepts_what_is_seen_whole() {
    let stage = Stage::new(TURN);
    let hunks = hunks_of(&stage, "all", "a.txt");
    let kept = stage.done("review/keep", &json!({ "hunks": [named(&hunks[0], "a.txt")] }));
    assert_eq!(kept["hunks"], json!([hunks[0]["id"]]));
    assert_eq!(kept["accepted"], json!([hunks[0]["changes"][0]["id"]]));
    let reviewed = |scope: &str| -> Vec<Value> {
        let hunks = hunks_of(&stage, scope, "a.txt");
        hunks.iter().map(|hunk| hunk["reviewed"].clone()).collect()
    };
    assert_eq!(reviewed("last-turn"), [true, false]);
    assert_eq!(reviewed("everything"), [true, false]);
    // Marking decides on nothing.
    let id = hunks[1]["changes"][0]["id"].as_str().unwrap();
    let status = || stage.got(&format!("changes/{id}"))["change"]["status"].clone();
    let one = json!({ "hunks": [named(&hunks[1], "a.txt")], "scope": "last-turn" });
    assert_eq!(stage.done("review/mark", &one)["accepted"], json!([]));
    assert_eq!((reviewed("all"), status()), (vec![json!(true); 2], json!("pending")));
    let open = json!({ "hunks": [named(&hunks[1], "a.txt")], "reviewed": false });
    stage.done("review/mark", &open);
    assert_eq!(reviewed("all"), [true, false]);
    let all = stage.done("review/keep", &json!({ "all": true, "scope": "last-turn" }));
    assert_eq!(all["hunks"].as_array().unwrap().len(), 3);
    assert_eq!((reviewed("all"), status()), (vec![json!(true); 2], json!("accepted")));
    assert_eq!(read(&stage, "a.txt").lines().nth(1), Some("TWO"), "no file is written");
}

/// What a refusal shows is what another request would have shown.
#[track_caller]
fn check_stale(stage: &Stage, answer: &Answer, code: &str, path: &str) -> Value {
    assert_eq!((answer.status, answer.code().as_str()), (409, code), "{}", answer.body);
    let review = answer.json()["review"].clone();
    let now = stage.got(&format!("review/file?path={path}"));
    assert_eq!((&review["files"], &review["seq"]), (&now["files"], &now["seq"]));
    review
}

#[test]
fn a_hunk_that_changed_is_refused_with_the_new_state() {
    let stage = Stage::new(TURN);
    let hunks = hunks_of(&stage, "all", "a.txt");
    // The agent goes on: the first place is another one, the second is as it was.
    play(&stage.project, "edit d1 w4 a.txt: TWO => Two\n");
    let both = json!({ "hunks": [named(&hunks[0], "a.txt"), named(&hunks[1], "a.txt")] });
    for route in ["review/keep", "review/mark", "review/reject"] {
        let answer = stage.post(route, &both);
        let review = check_stale(&stage, &answer, "stale_hunk", "a.txt");
        let now = &review["files"][0]["hunks"];
        assert_eq!(
            (lines(&now[0]), &now[1]["id"]),
            (vec!["-two".into(), "+Two".into()], &hunks[1]["id"])
        );
        assert!(now.as_array().unwrap().iter().all(|hunk| hunk["reviewed"] == false), "{route}");
    }
    assert_eq!(read(&stage, "a.txt").lines().nth(1), Some("Two"));
    // Without its file the whole scope is shown; a file of which nothing is left is not there.
    let answer = stage.post("review/keep", &json!({ "hunks": [{ "id": hunks[0]["id"] }] }));
    let shown: Vec<_> = answer.json()["review"]["files"].as_array().unwrap().clone();
    let paths: Vec<_> = shown.iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["a.txt", "new.txt"]);
    let created = hunks_of(&stage, "all", "new.txt").remove(0);
    std::fs::remove_file(stage.project.root().join("new.txt")).unwrap();
    let answer = stage.post("review/keep", &json!({ "hunks": [named(&created, "new.txt")] }));
    assert_eq!(answer.json()["review"]["files"], json!([]), "{}", answer.body);
}

#[test]
fn one_of_several_equal_hunks_needs_the_files_digest() {
    let story = r"
        file a.txt: a\nb\nc\nx\na\nb\nc\n\na\nb\nc\nx\na\nb\nc\n
        init
        say d1: do
        shell d1 s1: sed -i s/x/y/ a.txt
        turn-end d1
    ";
    let stage = Stage::new(story);
    let file = stage.got("review/file?path=a.txt")["files"][0].clone();
    let hunks = file["hunks"].as_array().unwrap();
    assert!(hunks[1]["id"].as_str().unwrap().ends_with(".2"), "{hunks:?}");
    let second = named(&hunks[1], "a.txt");
    let answer = stage.post("review/keep", &json!({ "hunks": [second] }));
    let review = check_stale(&stage, &answer, "needs_digest", "a.txt");
    assert_eq!(review["files"][0]["digest"], file["digest"]);
    let mut with_digest = second;
    with_digest["digest"] = review["files"][0]["digest"].clone();
    stage.done("review/keep", &json!({ "hunks": [with_digest] }));
    let reviewed: Vec<_> =
        hunks_of(&stage, "all", "a.txt").iter().map(|hunk| hunk["reviewed"].clone()).collect();
    assert!(reviewed.contains(&json!(true)), "{reviewed:?}");
}

#[test]
fn a_refusal_shows_a_bounded_number_of_files() {
    let project = TestProject::new();
    play(&project, "init\nsay d1: do\nshell d1 s1: for i in $(seq 30); do echo $i > f$i; done\n");
    let stage = Stage::of(project);
    let answer = stage.post("review/keep", &json!({ "hunks": [{ "id": "h000000000000" }] }));
    let review = answer.json()["review"].clone();
    let shown = review["files"].as_array().unwrap().len() as u64;
    assert_eq!((shown, shown + review["more"].as_u64().unwrap()), (20, 30), "{}", answer.body);
}

#[test]
fn seen_moves_when_it_is_said_and_never_because_something_is_listed() {
    let stage = Stage::new(TURN);
    let unseen = || stage.got("review?scope=unseen")["files"].as_array().unwrap().len();
    assert_eq!((unseen(), unseen()), (2, 2));
    let seq = stage.got("review")["seq"].as_u64().unwrap();
    play(&stage.project, "say d1: more\nwrite d1 w4 later.txt: later\\n\nturn-end d1\n");
    // A review is closed at the place that was looked through.
    assert_eq!(stage.done("review/seen", &json!({ "seq": seq }))["seen"], seq);
    assert_eq!(stage.got("review?scope=unseen")["files"][0]["path"], "later.txt");
    assert_eq!(unseen(), 1);
    assert!(stage.done("review/seen", &json!({ "seq": 1 }))["seen"] == seq, "it never moves back");
    let all = stage.send(&Ask::new("POST", &stage.path("review/seen")).token(&stage.human()));
    assert!(all.json()["seen"].as_u64().unwrap() > seq, "{}", all.body);
    assert_eq!(unseen(), 0);
}

#[test]
fn what_is_kept_is_a_patch_that_git_applies() {
    let stage = Stage::new(TURN);
    let none = stage.get("review/patch");
    assert_eq!((none.status, none.header("content-type")), (200, Some("text/x-diff")));
    assert_eq!((none.body.as_str(), none.header("retake-left-out")), ("", Some("0")));
    let hunks = hunks_of(&stage, "all", "a.txt");
    stage.done("review/keep", &json!({ "hunks": [named(&hunks[1], "a.txt")] }));
    let patch = stage.get("review/patch?scope=last-turn");
    let added: Vec<_> = patch.body.lines().filter(|line| line.starts_with('+')).collect();
    assert_eq!(added, ["+++ b/a.txt", "+ELEVEN"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), stage.project.read("a.txt")).unwrap();
    let back = std::process::Command::new("git")
        .args(["apply", "--reverse", "-"])
        .current_dir(folder.path())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .and_then(|mut git| {
            std::io::Write::write_all(git.stdin.as_mut().unwrap(), &patch.bytes)?;
            git.wait_with_output()
        });
    assert!(back.unwrap().status.success(), "{}", patch.body);
    let without = std::fs::read_to_string(folder.path().join("a.txt")).unwrap();
    assert_eq!(
        without,
        "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n"
    );
}

#[test]
fn secrets_are_masked_and_left_out_of_patches() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let story =
        format!("init\nsay d1: use {secret}\nwrite d1 w1 a.txt: token {secret}\\n\nturn-end d1\n");
    let stage = Stage::new(&story);
    stage.done("review/keep", &json!({ "all": true }));
    for path in ["review", "review/file?path=a.txt", "review/patch", "review/report"] {
        let told = stage.get(path);
        assert!(!told.body.contains("ghp_01234"), "{path}: {}", told.body);
    }
    assert_eq!(stage.get("review/patch").header("retake-left-out"), Some("1"));
    for path in ["review/file?path=a.txt&reveal=true", "review/patch?reveal=true"] {
        assert!(stage.get(path).body.contains(secret), "{path}");
        let agent = stage.send(&Ask::new("GET", &stage.path(path)).token(&stage.agent()));
        assert_eq!((agent.status, agent.code().as_str()), (403, "human_only"), "{path}");
    }
    let refused = stage.post("review/keep", &json!({ "hunks": [{ "id": "h000000000000" }] }));
    assert!(refused.json()["review"]["files"][0].is_object(), "{}", refused.body);
    assert!(!refused.body.contains("ghp_01234"), "{}", refused.body);
}

#[test]
fn the_report_tells_what_was_asked_and_how_it_was_decided() {
    let stage = Stage::new(TURN);
    let hunks = hunks_of(&stage, "all", "a.txt");
    stage.done("review/keep", &json!({ "hunks": [named(&hunks[0], "a.txt")] }));
    let report = stage.get("review/report?scope=last-turn&path=a.txt");
    assert_eq!(report.header("content-type"), Some("text/markdown; charset=utf-8"));
    for text in ["make it better", "line 2, +1 −1: kept", "line 11, +1 −1: not reviewed"] {
        assert!(report.body.contains(text), "{text}: {}", report.body);
    }
    assert!(!report.body.contains("new.txt"), "{}", report.body);
}
