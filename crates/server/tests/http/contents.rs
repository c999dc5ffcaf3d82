//! Contents of files over HTTP: types, ranges, who gets them, and what is not given.

use retake_engine::PurgeTarget;
use retake_engine::model::ObjectId;
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::every_route::check_headers;
use crate::stage::{STORY, Stage};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A server for a project in which an agent wrote these files.
fn stage_with(files: &[(&str, &[u8])]) -> Stage {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.init();
    play(&project, "say d1: go");
    project.record(&TestProject::begin("d1", "k1", "Bash", json!({ "command": "make" })));
    for (name, content) in files {
        project.write(name, content);
    }
    project.record(&TestProject::end("d1", "k1"));
    Stage::of(project)
}

fn change_of(stage: &Stage, path: &str) -> Value {
    stage.got(&format!("changes?path={path}"))["changes"][0].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_content_is_given_by_every_name_that_it_has() {
    let stage = Stage::new(STORY);
    let change = change_of(&stage, "a.txt");
    let id = text(&change["id"]);
    let now = "one\nTwo\nthree\nfour\nfive\n";
    let before = "one\nTWO\nthree\nfour\nfive\n";
    let first = "one\ntwo\nthree\nfour\nfive\n";
    let checkpoint = stage.project.checkpoint_id("d1:1");
    for (path, expected) in [
        (format!("changes/{id}/after"), now),
        (format!("changes/{id}/before"), before),
        (format!("contents/{}", text(&change["before"]["oid"])), before),
        ("file?path=a.txt".to_owned(), now),
        (format!("checkpoints/{checkpoint}/file?path=a.txt"), first),
    ] {
        let answer = stage.get(&path);
        assert_eq!((answer.status, answer.body.as_str()), (200, expected), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{path}");
        let disposition = answer.header("content-disposition").unwrap();
        assert_eq!(disposition, "attachment; filename*=utf-8''a.txt");
        check_headers(&answer);
        let head = stage.send(&Ask::new("HEAD", &stage.path(&path)).token(&stage.human()));
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        let length = expected.len().to_string();
        assert_eq!(head.header("content-length"), Some(length.as_str()));
        assert_eq!(head.header("etag"), answer.header("etag"));
    }
    let answer = stage.get("file?path=a.txt");
    assert_eq!(answer.header("retake-oid"), change["after"]["oid"].as_str());
    assert_eq!(answer.header("retake-kind"), Some("file"));
    let agent = Ask::new("GET", &stage.path("file?path=a.txt")).token(&stage.agent());
    assert_eq!(stage.send(&agent).body, now);
}

#[test]
fn what_is_not_there_is_told_as_such() {
    let stage = Stage::new(STORY);
    let new = change_of(&stage, "new.txt");
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let tree = text(&stage.got(&format!("checkpoints/{checkpoint}"))["tree"]).to_owned();
    let foreign = "0".repeat(40);
    for (path, status, code) in [
        (format!("changes/{}/before", text(&new["id"])), 404, "did_not_exist"),
        ("changes/c999/after".to_owned(), 404, "unknown_change"),
        (format!("contents/{foreign}"), 404, "nothing_on_record"),
        (format!("contents/{tree}"), 404, "nothing_on_record"),
        (format!("contents/{checkpoint}"), 404, "nothing_on_record"),
        ("contents/odd".to_owned(), 422, "bad_value"),
        ("file?path=none.txt".to_owned(), 404, "unknown_file"),
        ("file?path=../x".to_owned(), 422, "outside_project"),
        ("file".to_owned(), 400, "bad_query"),
        (format!("checkpoints/{checkpoint}/file?path=new.txt"), 404, "unknown_file"),
        (format!("checkpoints/{checkpoint}/file?path=a.txt/b"), 404, "unknown_file"),
        (format!("checkpoints/{checkpoint}/tree?path=a.txt"), 404, "unknown_path"),
        (format!("checkpoints/{checkpoint}/tree?cursor=%21"), 422, "bad_value"),
        ("checkpoints/0000/tree".to_owned(), 404, "unknown_checkpoint"),
    ] {
        let answer = stage.get(&path);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
}

#[test]
fn a_blob_of_the_store_that_the_record_does_not_name_is_not_given() {
    let project = TestProject::new();
    retake_testkit::git::run(&project.root(), &["init", "-q"]);
    project.write("secret.txt", "only in git's history\n");
    let commit = |what: &str| {
        retake_testkit::git::run(&project.root(), &["add", "-A"]);
        retake_testkit::git::run(&project.root(), &["commit", "-qm", what]);
    };
    commit("one");
    let oid = retake_testkit::git::run(&project.root(), &["hash-object", "secret.txt"]);
    std::fs::remove_file(project.root().join("secret.txt")).unwrap();
    project.write("a.txt", "a\n");
    commit("two");
    retake_testkit::git::run(&project.root(), &["gc", "-q"]);
    project.init();
    let stage = Stage::of(project);
    let answer = stage.get(&format!("contents/{}", oid.trim()));
    assert_eq!((answer.status, answer.code().as_str()), (404, "nothing_on_record"));
}

#[test]
fn one_range_is_given_and_one_outside_is_refused() {
    let body: String = (0..200_000).flat_map(|n| [n.to_string(), "\n".to_owned()]).collect();
    let mut binary = b"\0".to_vec();
    binary.extend(body.as_bytes());
    let stage = stage_with(&[("a.txt", b"0123456789\n"), ("large.bin", &binary)]);
    let ask = |path: &str, range: &str| {
        let ask = Ask::new("GET", &stage.path(path)).token(&stage.human());
        stage.send(&ask.header("Range", range))
    };
    let told = |answer: &Answer| (answer.status, answer.body.clone());
    let part = ask("file?path=a.txt", "bytes=2-4");
    assert_eq!(told(&part), (206, "234".to_owned()));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/11"));
    check_headers(&part);
    assert_eq!(told(&ask("file?path=a.txt", "bytes=-3")), (206, "89\n".to_owned()));
    assert_eq!(ask("file?path=a.txt", "bytes=0-1,4-5").status, 200, "several: all");
    let outside = ask("file?path=a.txt", "bytes=11-");
    assert_eq!((outside.status, outside.code().as_str()), (416, "bad_range"));
    assert_eq!(outside.header("content-range"), Some("bytes */11"));
    // One in chunks is read by pieces; the range may begin and end in any of them.
    for (first, last) in [(0, 0), (300_000, 800_001), (binary.len() - 5, binary.len() - 1)] {
        let part = ask("file?path=large.bin", &format!("bytes={first}-{last}"));
        assert!(part.status == 206 && part.bytes == binary[first..=last], "{first}-{last}");
    }
    let whole = stage.get("file?path=large.bin");
    assert!(whole.bytes == binary);
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    let tag = whole.header("etag").unwrap().to_owned();
    let again = Ask::new("GET", &stage.path("file?path=large.bin")).token(&stage.human());
    let again = stage.send(&again.header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[test]
fn threat_xss_contents_have_types_that_no_browser_runs() {
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>\n";
    let stage = stage_with(&[
        ("a.svg", svg),
        ("a.html", b"<script>alert(1)</script>\n"),
        ("a.js", b"alert(1)\n"),
        ("a.png", PNG),
        ("not.png", b"<script>alert(1)</script>"),
        ("latin.txt", b"caf\xe9\n"),
        ("a.bin", b"\0\x01"),
        ("\"q\r\n;.txt", b"x\n"),
    ]);
    for (path, expected) in [
        ("a.svg", "text/plain; charset=utf-8"),
        ("a.html", "text/plain; charset=utf-8"),
        ("a.js", "text/plain; charset=utf-8"),
        ("a.png", "image/png"),
        ("not.png", "text/plain; charset=utf-8"),
        ("latin.txt", "application/octet-stream"),
        ("a.bin", "application/octet-stream"),
        ("%22q%0D%0A;.txt", "text/plain; charset=utf-8"),
    ] {
        let answer = stage.get(&format!("file?path={path}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(expected)), "{path}");
        check_headers(&answer);
        let disposition = answer.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment; filename*=utf-8''"), "{disposition}");
        assert!(!disposition.contains(['"', ';']) || disposition.matches(';').count() == 1);
    }
    assert_eq!(stage.get("file?path=a.png").bytes, PNG);
    assert_eq!(stage.get("file?path=latin.txt").bytes, b"caf\xe9\n");
}

#[test]
fn threat_secrets_in_contents_are_masked_or_not_given() {
    let key = b"password = 'hunter2-x'\n";
    let mut latin = b"caf\xe9\n".to_vec();
    latin.extend(key);
    let large = "line without a secret\n".repeat(200_000);
    let stage = stage_with(&[
        (".env", b"KEY=hunter2-canary\n"),
        ("copy.txt", b"KEY=hunter2-canary\n"),
        ("code.py", key),
        ("latin.txt", &latin),
        ("store.p12", b"\0hunter2\0"),
        ("large.txt", large.as_bytes()),
    ]);
    let agent = |path: &str| stage.send(&Ask::new("GET", &stage.path(path)).token(&stage.agent()));
    for path in [".env", "copy.txt", "store.p12"] {
        let answer = agent(&format!("file?path={path}"));
        assert_eq!((answer.status, answer.code().as_str()), (403, "secret"), "{path}");
    }
    let oid = change_of(&stage, "copy.txt");
    let oid = text(&oid["after"]["oid"]);
    assert_eq!(agent(&format!("contents/{oid}")).code(), "secret", "another name says so");
    let masked = stage.get("file?path=.env");
    assert_eq!(masked.body, "KEY=•••\n");
    assert_eq!(masked.header("retake-masked"), Some("true"));
    assert_eq!(stage.get("file?path=store.p12").code(), "secret", "it cannot be masked");
    for path in ["code.py", "latin.txt"] {
        let answer = agent(&format!("file?path={path}"));
        let seen = String::from_utf8_lossy(&answer.bytes).into_owned();
        assert!(answer.status == 200 && !seen.contains("hunter2"), "{path}: {seen}");
    }
    // Ranges are of the masked text.
    let ask = Ask::new("GET", &stage.path("file?path=code.py")).token(&stage.human());
    let part = stage.send(&ask.header("Range", "bytes=12-"));
    assert_eq!((part.status, part.body.as_str()), (206, "•••'\n"));
    let large = stage.get("file?path=large.txt");
    assert_eq!((large.status, large.code().as_str()), (413, "too_large"));
    // The person may want them.
    std::fs::write(stage.project.open().folder().join("config.toml"), "[api]\nmask = false\n")
        .unwrap();
    assert_eq!(stage.get("file?path=code.py").body, "password = 'hunter2-x'\n");
    let large = stage.get("file?path=large.txt");
    assert_eq!((large.status, large.body.len()), (200, 4_400_000));
    assert_eq!(agent("file?path=.env").code(), "secret");
}

#[test]
fn a_content_that_was_purged_or_damaged_is_no_other() {
    let mut large = b"\0".to_vec();
    large.extend((0..100_000).flat_map(|n| format!("{n}\n").into_bytes()));
    let files: [(&str, &[u8]); 3] =
        [("gone.txt", b"purge me\n"), ("hurt.txt", b"damage me\n"), ("large.bin", &large)];
    let stage = stage_with(&files);
    let (gone, hurt) = (change_of(&stage, "gone.txt"), change_of(&stage, "hurt.txt"));
    let tag = stage.get(&format!("changes/{}/diff", text(&gone["id"])));
    let tag = tag.header("etag").unwrap().to_owned();
    let checkpoint = text(&stage.done("checkpoints", &json!({}))["id"]).to_owned();
    let project = stage.project.open();
    let oid: ObjectId = text(&gone["after"]["oid"]).parse().unwrap();
    std::fs::remove_file(stage.project.root().join("gone.txt")).unwrap();
    project.purge(&PurgeTarget::Content(oid), 1_700_000_901_000).unwrap();
    let id = text(&gone["id"]);
    for (path, code) in [
        (format!("contents/{oid}"), "purged"),
        (format!("checkpoints/{checkpoint}/file?path=gone.txt"), "purged"),
        (format!("changes/{id}/after"), "not_captured"),
    ] {
        let answer = stage.get(&path);
        assert_eq!((answer.status, answer.code().as_str()), (409, code), "{path}");
    }
    let ask = Ask::new("GET", &stage.path(&format!("changes/{id}/diff"))).token(&stage.human());
    let diff = stage.send(&ask.header("If-None-Match", &tag));
    assert_eq!((diff.status, &diff.json()["body"]), (200, &json!("not_captured")));
    let db = rusqlite::Connection::open(project.folder().join("retake.db")).unwrap();
    let hurt: ObjectId = text(&hurt["after"]["oid"]).parse().unwrap();
    let damage = "UPDATE object SET data = zeroblob(length(data)) WHERE oid = ?1";
    assert_eq!(db.execute(damage, [hurt.as_bytes().as_slice()]).unwrap(), 1);
    let answer = stage.get(&format!("contents/{hurt}"));
    assert_eq!((answer.status, answer.code().as_str()), (500, "damaged"));
    // Damage further in is found when the beginning is sent already: the rest never comes.
    let last = "UPDATE object SET data = zeroblob(length(data)) WHERE id =
        (SELECT max(id) FROM object WHERE kind = 1 AND encoding < 2 AND size > 1000)";
    assert_eq!(db.execute(last, []).unwrap(), 1);
    let answer = stage.get("file?path=large.bin");
    let announced: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!((answer.status, announced), (200, large.len()));
    assert!(answer.bytes.len() < large.len() && large.starts_with(&answer.bytes));
}

#[test]
fn a_checkpoint_has_a_tree_in_pages() {
    let stage = Stage::new(
        r"
        file a.txt: a\n
        file a/b/deep.txt: deep\n
        file a/x.txt: x\n
        file a.d/y.txt: y\n
        file z.txt: z\n
        init
        say d1: go
    ",
    );
    let checkpoint = stage.project.checkpoint_id("d1:1");
    let tree = |query: &str| stage.got(&format!("checkpoints/{checkpoint}/tree{query}"));
    let listed = |tree: &Value| -> Vec<(String, String)> {
        let entries = tree["entries"].as_array().unwrap().iter();
        entries.map(|one| (text(&one["path"]).to_owned(), text(&one["kind"]).to_owned())).collect()
    };
    let named = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(path, kind)| ((*path).to_owned(), (*kind).to_owned())).collect()
    };
    let root = tree("");
    let expected =
        named(&[("a.d", "folder"), ("a.txt", "file"), ("a", "folder"), ("z.txt", "file")]);
    assert_eq!(listed(&root), expected, "in git's order");
    assert_eq!(root["entries"][1]["size"], 2);
    assert_eq!(listed(&tree("?path=a")), named(&[("a/b", "folder"), ("a/x.txt", "file")]));
    let all = listed(&tree("?recursive=true"));
    let files = ["a.d/y.txt", "a.txt", "a/b/deep.txt", "a/x.txt", "z.txt"];
    assert_eq!(all.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), files);
    for (start, whole) in [("?", &expected), ("?recursive=true&", &all)] {
        let (mut seen, mut query) = (Vec::new(), format!("{start}limit=1"));
        loop {
            let page = tree(&query);
            seen.extend(listed(&page));
            let Some(next) = page["next"].as_str() else { break };
            query = format!("{start}limit=1&cursor={next}");
        }
        assert_eq!(&seen, whole, "pages neither skip nor repeat");
    }
    let deep = stage.get(&format!("checkpoints/{checkpoint}/file?path=a/b/deep.txt"));
    assert_eq!(deep.body, "deep\n");
}
