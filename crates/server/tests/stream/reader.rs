//! The reader in docs/events.md works as it is written.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use retake_testkit::machine::{MachineRequirement, has_all};

use super::served::{LIVELY, Served};

/// The text of the document.
fn reader() -> &'static str {
    let text = include_str!("../../../../docs/events.md");
    let (_, rest) = text.split_once("```js\n").unwrap();
    rest.split_once("```").unwrap().0
}

/// Prints each event; with `once` it is cut off after each, and resumes.
const RUN: &str = r#"
const [url, token, once] = process.argv.slice(2);
const real = fetch;
if (once === "once") {
  globalThis.fetch = async (...args) => {
    const response = await real(...args);
    async function* cut() {
      let seen = "";
      for await (const bytes of response.body) {
        yield bytes;
        seen += new TextDecoder().decode(bytes);
        if (seen.includes("event: user")) return;
      }
    }
    return { ok: response.ok, status: response.status, body: cut(), json: () => response.json() };
  };
  const later = setTimeout;
  globalThis.setTimeout = (call, pause) => later(call, pause === 1000 ? 0 : pause);
}
follow(url, token, (name, data) => {
  console.log(`${name} ${data.seq} ${data.content ?? ""}`);
  if (data.content === "last") process.exit(0);
}, { after: "0" }).catch((error) => {
  console.log(`${error.code}`);
  process.exit(0);
});
"#;

fn run(served: &Served, path: &str, once: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("reader.mjs");
    std::fs::write(&script, format!("{}\n{RUN}", reader())).unwrap();
    let url = format!("http://{}{path}", served.door.address);
    let mut child = Command::new("node")
        .arg(&script)
        .args([url.as_str(), &served.door.token, once])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.collect::<Result<_, _>>().unwrap();
    assert!(child.wait().unwrap().success());
    lines
}

#[test]
fn the_reader_of_the_documentation_reads_resumes_and_tells_refusals() {
    if !has_all(&[MachineRequirement::Program("node")]) {
        return;
    }
    let served = Served::new(LIVELY);
    for text in ["a\n\nb", "zwei €", "last"] {
        served.say(true, "d1", text);
    }
    let public =
        |kind: &str| if kind == "user_message" { "user".to_owned() } else { kind.to_owned() };
    let told: Vec<_> = served
        .table()
        .iter()
        .map(|event| format!("{} {}", public(event.kind.as_str()), event.seq))
        .collect();
    for once in ["", "once"] {
        let lines = run(&served, &served.events(""), once);
        // A message of two lines is printed on two.
        let start = |line: &String| {
            let mut words = line.split(' ');
            Some(format!("{} {}", words.next()?, words.next()?))
        };
        let seen = lines.iter().filter_map(start).filter(|line| told.contains(line));
        let seen: Vec<String> = seen.collect();
        assert_eq!(seen, told, "{once}: {lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("zwei €")), "{lines:?}");
    }
    let lines = run(&served, "/api/projects/nonsense/events", "");
    assert_eq!(lines, ["unknown_project"]);
}
