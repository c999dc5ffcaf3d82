//! What is masked, and what is not.

use std::path::Path;

use expect_test::expect;
use retake_engine::{DiffBody, DiffLine};

use super::*;

fn masked(path: &str, text: &str) -> String {
    Masking::On.mask_content(&path.parse().unwrap(), text).into_owned()
}

/// Assembled, so that no scanner takes this file for a leak.
fn token(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn files_of_secrets_keep_their_names_and_lose_their_values() {
    let text =
        "# for production\nexport DB_URL=postgres://db\n\nKEY = \"a b\"\nEMPTY=\n[other]\nloose\n";
    expect![[r"
        # for production
        export DB_URL=•••

        KEY = •••
        EMPTY=
        [other]
        •••
    "]]
    .assert_eq(&masked("a/.env.local", text));
    expect![[r#"
        {
          "type": •••
          "inner": {
            "private_key": •••
          }
        }
    "#]]
    .assert_eq(&masked(
        "credentials.json",
        "{\n  \"type\": \"x\",\n  \"inner\": {\n    \"private_key\": \"y\"\n  }\n}\n",
    ));
    assert_eq!(masked(".netrc", "machine h login me password pw\r\n"), "•••\r\n");
}

#[test]
fn private_keys_are_masked_between_their_ends() {
    let begin = token(&["-----BEGIN RSA ", "PRIVATE KEY-----"]);
    let end = token(&["-----END RSA ", "PRIVATE KEY-----"]);
    let text = format!("before\n  {begin}\n  MIIEabc+/=\n\n  Zm9v\n  {end}\nafter the key\n");
    let hidden = format!("before\n  {begin}\n  •••\n\n  •••\n  {end}\nafter the key\n");
    assert_eq!(masked("notes.md", &text), hidden);
    let one_line = format!("{{\"k\": \"{begin}\\nMIIEabc\\n{end}\\n\"}}\n");
    assert_eq!(masked("x.json", &one_line), format!("{{\"k\": \"{begin}•••{end}\\n\"}}\n"));
    // Cut off, as by a diff or a limit: what is no part of a key stays.
    let open = format!("{begin}\nMIIEabc\nthis is prose.\n");
    assert_eq!(masked("a.txt", &open), format!("{begin}\n•••\nthis is prose.\n"));
    let code = format!("if text.contains(\"{begin}\") {{\n    mask(text);\n}}\n");
    assert_eq!(masked("a.rs", &code), code);
}

#[test]
fn tokens_are_known_by_their_form_anywhere() {
    let body = "Ab1".repeat(14);
    for token in [
        token(&["AKIA", "IOSFODNN7EXAMPL1"]),
        token(&["ghp_", &body]),
        token(&["github_pat_", &body]),
        token(&["glpat-", &body]),
        token(&["xoxb-", "123456789012-abcdefABCDEF"]),
        token(&["sk-ant-", &body]),
        token(&["sk-proj-", &body]),
        token(&["sk_live_", &body]),
        token(&["AIza", &body[..35]]),
        token(&["eyJ", "hbGciOiJI", ".eyJ", "zdWIiOiIx", ".", "dozjgNryP4J3jVmN"]),
    ] {
        let text = format!("call({token}) # ok\n");
        assert_eq!(masked("a.py", &text), "call(•••) # ok\n", "{token}");
        assert_eq!(Masking::On.mask_text(&token), "•••");
        assert_eq!(Masking::Off.mask_text(&token), token);
    }
}

#[test]
fn what_is_given_to_a_secret_name_is_masked() {
    for (text, hidden) in [
        ("password = \"hunter2\"", "password = \"•••\""),
        ("let db_password: &str = \"letmein\";", "let db_password: &str = \"•••\";"),
        ("'apiKey' => 'a1b2c3d4e5f6g7'", "'apiKey' => '•••'"),
        ("{\"client_secret\": \"9f8e7d6c5b4a\"}", "{\"client_secret\": \"•••\"}"),
        ("DB_PASSWORD=s3cr3t-x ./run", "DB_PASSWORD=••• ./run"),
        ("curl -d 'user=me&password=hunter22&x=1'", "curl -d 'user=me&password=•••&x=1'"),
        ("mysql --password=hunter22", "mysql --password=•••"),
        ("Authorization: Bearer abc123def456ghi", "Authorization: Bearer •••"),
        ("-H \"authorization: Basic dXNlcjpwYXNzMQ==\"", "-H \"authorization: Basic •••\""),
        ("postgres://me:pa55@host/db", "postgres://me:•••@host/db"),
    ] {
        assert_eq!(masked("a.txt", text), hidden);
    }
    assert_eq!(masked("a.yml", "db:\n  password: hunter2\n"), "db:\n  password: •••\n");
}

#[test]
fn ordinary_code_is_not_masked() {
    for text in [
        "password: String,",
        "pub password: Option<Password>,",
        "let token = next_token();",
        "token = \"identifier\"",
        "let secret = \"api_key_v2\";",
        "PASSWORD=$SECRET",
        "password = \"${PASSWORD}\"",
        "password: \"your password\"",
        "\"password\": \"Password\"",
        "type=\"password\"",
        "foo(password=password1, token=token2)",
        "if password == \"abc\" {",
        "postgres://user:${PASS}@host",
        "http://localhost:8080/a@b",
        "checksum = \"8f4e0f1a2b3c4d5e6f\"",
        "Authorization: Bearer TOKEN",
        "sk-loading-spinner-of-the-page",
        "Token::Keyword => \"keyword\"",
        "secret: [u8; 32],",
    ] {
        assert_eq!(masked("a.rs", text), text);
    }
}

/// Code and documentation of this repository, which hold no secrets, are told as they are. Tests
/// are left out: some make up secrets.
#[test]
fn a_repository_of_ordinary_files_is_told_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut folders = vec![root.to_owned()];
    let (mut files, mut found) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_left_out = ["target", "tests", "mask"].contains(&name.as_str());
                if !is_left_out && !name.starts_with('.') {
                    folders.push(path);
                }
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            files += 1;
            let shown = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let lines = Masking::On.masked_lines(&shown.parse().unwrap(), text.as_bytes());
            found.extend(lines.values().map(|masked| format!("{shown}: {}", masked.trim())));
        }
    }
    assert!(files > 250, "{files}");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn lines_stay_in_their_places() {
    let words =
        ["-----BEGIN PRIVATE KEY-----", "", "password=abc12345", "\"", "a\r", "•••", "x: y"];
    let mut seed = 7_usize;
    for _ in 0..300 {
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let lines: Vec<_> = (0..next(8)).map(|_| words[next(words.len())]).collect();
        let text = lines.join("\n");
        for path in [".env", "a.yml", "a.rs"] {
            assert_eq!(
                masked(path, &text).split('\n').count(),
                text.split('\n').count(),
                "{text:?}"
            );
        }
    }
}

/// A line of a key is masked in a diff that does not show where the key begins.
#[test]
fn a_diff_is_masked_by_what_its_lines_are_in_the_whole_file() {
    let key = |middle: &str| {
        let body: Vec<_> = (10..20).map(|n| format!("QUJDREVGR0g{n}")).collect();
        let begin = token(&["-----BEGIN ", "PRIVATE KEY-----"]);
        let end = token(&["-----END ", "PRIVATE KEY-----"]);
        format!("{begin}\n{}\n{middle}\n{}\n{end}\n", body.join("\n"), body.join("\n"))
    };
    let (before, after) = (key("T0xE"), key("TkVX"));
    let path = "notes.txt".parse().unwrap();
    let content = |text| FileContent { path: &path, bytes: str::as_bytes(text) };
    let DiffBody::Lines(mut lines) = DiffBody::between(before.as_bytes(), after.as_bytes()) else {
        unreachable!("they are texts")
    };
    let count = lines.len();
    Masking::On.mask_diff(content(&before), content(&after), &mut lines);
    assert_eq!((lines.len(), count), (9, 9));
    let is_masked = |line: &DiffLine| match line {
        DiffLine::Context(text) | DiffLine::Added(text) | DiffLine::Removed(text) => {
            text == MASK.as_bytes()
        }
        DiffLine::Header(_) | DiffLine::NoNewline => true,
    };
    assert!(lines.iter().all(is_masked), "{lines:?}");
}

#[test]
fn calls_about_files_of_secrets_lose_their_contents_and_results() {
    let content = serde_json::json!([
        { "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "/home/dev/.env" } },
        { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "A=b" }] },
        { "type": "tool_use", "id": "t2", "name": "Run",
          "input": { "password": "hunter2-x", "command": "ls", "user": "me" } },
        { "type": "tool_result", "tool_use_id": "t2", "content": "a.txt" },
    ]);
    let content: Vec<serde_json::Value> = serde_json::from_value(content).unwrap();
    let role = retake_engine::model::MessageRole::User;
    let message = retake_engine::model::ModelMessage {
        role,
        content: content.clone(),
        ts: None,
        is_summary: false,
        index: None,
    };
    let secret = SecretCalls::find([&message]);
    let told = serde_json::to_string(&Masking::On.mask_message(&content, &secret)).unwrap();
    expect![[r#"[{"id":"t1","input":{"file_path":"/home/dev/.env"},"name":"Read","type":"tool_use"},{"content":[{"text":"•••","type":"text"}],"tool_use_id":"t1","type":"tool_result"},{"id":"t2","input":{"command":"ls","password":"•••","user":"me"},"name":"Run","type":"tool_use"},{"content":"a.txt","tool_use_id":"t2","type":"tool_result"}]"#]].assert_eq(&told);
    assert_eq!(Masking::Off.mask_message(&content, &secret), content);
}
