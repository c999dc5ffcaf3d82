//! Completion in real shells: what the scripts offer, and what hostile names do not do.
//!
//! bash is required. zsh and fish are driven where they are installed (`./test` installs them); the
//! protocol behind their scripts is tested everywhere.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::json;

use crate::support::{Ran, World, ran};

/// Names that a shell would run, expand or split if they were inserted as they are.
const HOSTILE: &[&str] = &[
    "$(touch owned)",
    "`touch owned`",
    "a b; touch owned",
    "star * ? [x]",
    "quote'\" \\ end",
    "~root",
];
/// Names that cannot be written on one line.
const UNWRITABLE: &[&str] = &["new\nline", "tab\tbed", "esc\u{1b}]0;owned\u{7}", "turn\u{202e}ed"];

/// A project with a change of an agent, a dialog with a title, and a checkpoint.
fn world() -> World {
    let world =
        World::with(&[("a.txt", "one\n"), (".env", "x\n"), ("src/main.rs", "fn main() {}\n")]);
    let start = json!({ "event": "dialog_start", "dialog": "d1", "kind": "claude-code", "title": "Fix the parser" });
    world.feed(start.to_string());
    world.shell("k1", "echo two > a.txt");
    world.ok(&["checkpoint", "-m", "before lunch"]);
    world
}

/// Returns what a script gets that sends these words; the last one is completed.
fn asked(world: &World, shell: &str, words: &[&str]) -> Ran {
    let line: Vec<_> = ["--", "retake"].iter().chain(words).copied().collect();
    let mut command = world.command(&line);
    let mut answer =
        ran(command.env("RETAKE_COMPLETE", shell).stdin(Stdio::null()).output().unwrap());
    answer.stdout = without_minutes(&answer.text()).into_bytes();
    answer
}

/// On a slow machine, what was just made is some minutes old.
fn without_minutes(text: &str) -> String {
    let minutes = (1..60).map(|number| format!("{number} min ago"));
    minutes.fold(text.to_owned(), |text, ago| text.replace(&ago, "just now"))
}

/// The candidates for the last word, without descriptions.
fn candidates(world: &World, words: &[&str]) -> Vec<String> {
    let answer = asked(world, "fish", words);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{words:?}");
    let value = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    answer.text().lines().map(value).collect()
}

/// Runs a script of a shell that has the completion script in `$script`.
fn in_shell(world: &World, shell: &str, script: &str, variables: &[(&str, &str)]) -> String {
    let program = world.command(&["completions", shell]);
    let registration = world.ok(&["completions", shell]);
    let mut command = Command::new(shell);
    command.arg("-c").arg(script).current_dir(world.root()).env_clear();
    command.envs(program.get_envs().map(|(name, value)| (name, value.unwrap())));
    command.env("script", registration).env("SHELL", shell);
    let done = ran(command.envs(variables.iter().copied()).output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{shell}: {}", done.text());
    done.text()
}

/// Returns what bash would show or insert; `cut` are the words as bash cuts them, the last is completed.
fn in_bash(world: &World, cut: &[&str], comp_type: &str) -> Vec<String> {
    let script = r#"
        eval "$script"
        COMP_WORDS=(retake); while IFS= read -r word; do COMP_WORDS+=("$word"); done <<< "$cut"
        COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMP_TYPE=$type
        complete -p retake >/dev/null || exit 1
        word=${COMP_WORDS[COMP_CWORD]}; [[ $word == [=:] ]] && word=
        _retake_complete retake "$word" ""
        (( ${#COMPREPLY[@]} == 0 )) || printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let cut = cut.join("\n");
    let seen = in_shell(world, "bash", script, &[("cut", &cut), ("type", comp_type)]);
    without_minutes(&seen).lines().map(ToOwned::to_owned).collect()
}

#[test]
fn values_come_from_the_project_with_a_description() {
    let world = world();
    let change = world.change_of("a.txt");
    let checkpoint = world.run(&["checkpoints", "--json"]).json()["checkpoints"][0]["id"].clone();
    let checkpoint = &checkpoint.as_str().unwrap()[..8];
    for words in
        [&["accept", ""][..], &["reject", "c"], &["show", "c"], &["diff", "c"], &["undo", ""]]
    {
        let seen = asked(&world, "fish", words).text();
        assert_eq!(seen, format!("{change}\ta.txt, just now\n"), "{words:?}");
    }
    assert_eq!(candidates(&world, &["rollback", "--change", ""]), [change]);
    let dialog = "d1\tclaude-code, just now: Fix the parser\n";
    for words in [
        &["log", "--dialog", ""][..],
        &["dialogs", "--turns", ""],
        &["context", "mark", "--dialog", "d"],
    ] {
        assert_eq!(asked(&world, "fish", words).text(), dialog, "{words:?}");
    }
    let seen = asked(&world, "fish", &["restore", &checkpoint[..3]]).text();
    assert_eq!(seen, format!("{checkpoint}\tjust now, before lunch\n"));
    assert_eq!(candidates(&world, &["log", "--agent", ""]), ["main"]);
}

#[test]
fn scopes_hunks_comments_and_rejections_are_offered() {
    let world = world();
    world.say("d1", "go on");
    world.shell("k2", "echo x >> src/main.rs");
    let scopes = ["all", "last-turn", "unseen", "everything", "d1"];
    assert_eq!(candidates(&world, &["accept", "--scope", ""]), scopes);
    let offered = candidates(&world, &["review", ""]);
    assert!(scopes.iter().all(|scope| offered.contains(&(*scope).to_owned())), "{offered:?}");
    assert!(offered.contains(&"src/".to_owned()), "a path is offered, too: {offered:?}");
    let seen = asked(&world, "fish", &["review", "un"]).text();
    assert!(seen.starts_with("unseen\tchanges of agents since you closed a review"), "{seen}");
    let document = world.run(&["review", "--json"]).json();
    let hunk = document["contents"][0]["hunks"][0]["id"].as_str().unwrap();
    for words in [&["accept", "h"][..], &["reject", "h"], &["comment", "add", "h"]] {
        let seen = asked(&world, "fish", words).text();
        assert!(seen.starts_with(&format!("{hunk}\ta.txt, line 1\n")), "{words:?}: {seen}");
        assert!(seen.contains("\tsrc/main.rs, line 2\n"), "{words:?}: {seen}");
    }
    // What is decided on is not offered again.
    world.ok(&["accept", hunk]);
    assert_eq!(candidates(&world, &["reject", hunk]), [""; 0]);
    world.ok(&["comment", "add", "src/main.rs", "why $(touch owned)?"]);
    world.ok(&["comment", "add", "-", "all of it"]);
    world.ok(&["comment", "send", "2"]);
    assert_eq!(candidates(&world, &["comment", "edit", ""]), ["1"]);
    assert_eq!(candidates(&world, &["comment", "send", ""]), ["1"]);
    assert_eq!(candidates(&world, &["comment", "answer", ""]), ["2"]);
    assert_eq!(candidates(&world, &["comment", "resolve", ""]), ["2", "1"]);
    let seen = asked(&world, "fish", &["comment", "edit", ""]).text();
    assert_eq!(seen, "1\tsrc/main.rs: why $(touch owned)?\n");
    let second = document["contents"][1]["hunks"][0]["id"].as_str().unwrap();
    world.ok(&["reject", second, "--wait"]);
    let seen = asked(&world, "fish", &["review", "--cancel", ""]).text();
    assert_eq!(seen, format!("1\t{second} in src/main.rs\n"));
    assert_eq!(candidates(&world, &["feedback", ""]), ["d1"]);
}

#[test]
fn fixed_values_and_paths_are_offered_and_hidden_commands_never() {
    let world = world();
    let all = |words: &[&str]| candidates(&world, words).join(" ");
    assert_eq!(all(&["log", "--actor", ""]), "agent user git retake unknown");
    assert_eq!(all(&["log", "--status", "pending,r"]), "pending,rejected pending,reverted");
    assert_eq!(all(&["log", "--confidence=w"]), "--confidence=window");
    assert_eq!(all(&["--color", ""]), "auto always never");
    assert_eq!(all(&["setup", "--daemon="]), "--daemon=yes --daemon=no");
    assert_eq!(all(&["setup", "co"]), "codex copilot");
    assert_eq!(all(&["hook", "copilot"]), "copilot copilot-vscode");
    assert_eq!(all(&["log", "--since", "y"]), "yesterday");
    assert_eq!(all(&["config", "get", "retention.max_d"]), "retention.max_dialogs");
    assert_eq!(all(&["blame", "s"]), "src/");
    assert_eq!(all(&["blame", "src/"]), "src/main.rs");
    assert_eq!(all(&["blame", ".e"]), ".env");
    assert_eq!(all(&["log", "--oldest"]), "--oldest-first");
    let commands = candidates(&world, &[""]);
    assert!(commands.len() > 30 && commands.contains(&"undo".to_owned()), "{commands:?}");
    assert!(commands.iter().all(|name| !name.starts_with('-')), "{commands:?}");
    for hidden in ["catch-up", "help-markdown", "man-pages", "openapi"] {
        assert!(!commands.contains(&hidden.to_owned()));
        assert_eq!(all(&[hidden]), "", "not even when it is written out");
    }
    assert_eq!(all(&["event", "--hear"]), "", "an old name");
    // A file cannot pass for an option, and options come where there is nothing else.
    world.write("--yes", "x\n");
    assert_eq!(all(&["purge", ""]), ". a.txt src/");
    assert!(all(&["ops", ""]).contains("--limit"));
}

#[test]
fn the_project_and_home_of_the_line_count() {
    let (world, other) = (world(), World::new());
    let (root, home) = (world.root(), world.home());
    let (root, home) = (root.to_str().unwrap(), home.to_str().unwrap());
    assert_eq!(candidates(&other, &["show", "c"]), [""; 0], "no project there");
    let named = ["--project", root, "--home", home, "session", "--dialog", ""];
    assert_eq!(candidates(&other, &named), ["d1"]);
    let attached = format!("--project={root}");
    assert_eq!(candidates(&other, &[&attached, "--home", home, "session", "--dialog", ""]), ["d1"]);
}

/// Every file below, with what would tell a write.
fn snapshot(folder: &Path, into: &mut BTreeMap<std::path::PathBuf, (u64, i64, i64, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, data) = (entry.path(), entry.metadata().unwrap());
        if data.is_dir() {
            snapshot(&path, into);
        }
        // The index of SQLite's log, which readers share, is no record.
        if !path.to_string_lossy().ends_with("-shm") {
            let bytes = if data.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            into.insert(path, (data.ino(), data.mtime(), data.mtime_nsec(), bytes));
        }
    }
}

#[test]
fn completion_writes_nothing_and_what_cannot_be_read_gives_nothing() {
    let world = world();
    world.write("unseen.txt", "not scanned\n");
    let state = || {
        let mut files = BTreeMap::new();
        snapshot(&world.outer(), &mut files);
        files
    };
    let before = state();
    for words in
        [&["show", ""][..], &["log", "--dialog", ""], &["restore", ""], &["log", "--agent", ""]]
    {
        assert!(!candidates(&world, words).is_empty(), "{words:?}");
    }
    assert!(before == state(), "a file was written");

    // Without a log of SQLite, none is created.
    let database = world.store().join("retake.db");
    let folded = rusqlite::Connection::open(&database).unwrap();
    folded.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(folded);
    let before = state();
    assert!(!before.keys().any(|path| path.ends_with("retake.db-wal")));
    assert_eq!(candidates(&world, &["session", "--dialog", ""]), ["d1"]);
    assert!(before == state(), "a file was written");

    let newer = rusqlite::Connection::open(&database).unwrap();
    newer.pragma_update(None, "user_version", 9999).unwrap();
    drop(newer);
    let before = state();
    assert_eq!(candidates(&world, &["show", "c"]), [""; 0]);
    std::fs::write(&database, "no database").unwrap();
    assert_eq!(candidates(&world, &["show", "c"]), [""; 0]);
    assert_eq!(before.len(), state().len());
    assert_eq!(candidates(&world, &["sta"]), ["status"], "the rest is completed");

    let fresh = World::new();
    assert_eq!(candidates(&fresh, &["show", "c"]), [""; 0]);
    assert!(!fresh.home().exists(), "no record was made");
}

#[test]
fn only_a_request_is_answered_as_one() {
    let world = world();
    let with = |arguments: &[&str], shell: &str| {
        let mut command = world.command(arguments);
        ran(command.env("RETAKE_COMPLETE", shell).stdin(Stdio::null()).output().unwrap())
    };
    // A variable that was left in the environment does not get in the way of a command or a hook.
    assert!(with(&["dialogs"], "bash").text().contains("Fix the parser"));
    let hook = with(&["hook", "claude-code"], "bash");
    assert!(hook.code == 0 && !hook.text().contains("status"), "{}", hook.text());
    let unknown = with(&["--", "retake", "sta"], "nonsense");
    assert_eq!((unknown.code, unknown.text().as_str(), unknown.stderr.as_str()), (0, "", ""));
    assert_eq!(with(&["--"], "fish").code, 0);
}

#[test]
fn bash_lists_with_descriptions_and_inserts_without() {
    let world = world();
    let change = world.change_of("a.txt");
    assert_eq!(in_bash(&world, &["show", "c"], "9"), [change], "a single one is inserted");
    world.shell("k2", "echo more > src/main.rs");
    let (first, second) = (world.change_of("a.txt"), world.change_of("src/main.rs"));
    let listed = in_bash(&world, &["accept", ""], "63");
    assert_eq!(
        listed,
        [format!("{second}  (src/main.rs, just now)"), format!("{first}  (a.txt, just now)")]
    );
    assert_eq!(in_bash(&world, &["accept", ""], "37"), [second, first], "a menu inserts each");
    assert_eq!(in_bash(&world, &["statu"], "9"), ["status"]);
    // Bash cuts words at = and :, and replaces what is behind.
    assert_eq!(in_bash(&world, &["log", "--dialog", "="], "9"), ["d1"]);
    assert_eq!(in_bash(&world, &["log", "--dialog", "=", "d"], "9"), ["d1"]);
    world.say("ses:one:two", "hello");
    assert_eq!(in_bash(&world, &["log", "--dialog", "ses", ":", "o"], "9"), ["one:two"]);
    assert_eq!(in_bash(&world, &["log", "--dialog", "ses", ":"], "9"), ["one:two"]);
    let quoted = format!("'{}'", world.root().display());
    assert_eq!(in_bash(&world, &["--project", &quoted, "log", "--dialog", "d"], "9"), ["d1"]);
}

/// A project in which files, dialogs, titles and checkpoints have hostile names.
fn hostile_world() -> World {
    let world = world();
    for name in HOSTILE.iter().chain(UNWRITABLE) {
        world.write(name, "x\n");
        let start = json!({ "event": "dialog_start", "dialog": name, "kind": name, "title": name });
        assert_eq!(world.feed(start.to_string()).code, 0);
        world.ok(&["checkpoint", "-m", name]);
    }
    world
}

/// No word of the world is run, and none is offered that takes more than one line.
fn assert_harmless(world: &World, seen: &[String], what: &str) {
    assert!(!world.root().join("owned").exists(), "{what}: a name was run");
    for line in seen {
        let is_plain = |c: char| !c.is_control() && c != '\u{202e}';
        assert!(line.chars().all(is_plain), "{what}: {line:?}");
    }
}

#[test]
fn hostile_names_are_one_word_in_bash() {
    let world = hostile_world();
    // What is inserted is read back by bash as just the name.
    let inserted = in_bash(&world, &["blame", ""], "37");
    let script = r#"while IFS= read -r word; do eval "set -- $word"; printf '%s|%s\n' "$#" "$1"; done <<< "$inserted""#;
    let read = in_shell(&world, "bash", script, &[("inserted", &inserted.join("\n"))]);
    let read: Vec<_> = read.lines().collect();
    for name in HOSTILE {
        assert!(read.contains(&format!("1|{name}").as_str()), "{name}: {read:?}");
    }
    assert_harmless(&world, &inserted, "insert");
    // The same behind a quote that was typed.
    for quote in ["\"", "'"] {
        let inserted = in_bash(&world, &["blame", quote], "37");
        let script = r#"while IFS= read -r word; do eval "set -- $quote$word$quote"; printf '%s|%s\n' "$#" "$1"; done <<< "$inserted""#;
        let words = inserted.join("\n");
        let read = in_shell(&world, "bash", script, &[("inserted", &words), ("quote", quote)]);
        for name in HOSTILE {
            assert!(read.lines().any(|line| line == format!("1|{name}")), "{name}: {read}");
        }
        assert_harmless(&world, &inserted, "insert within quotes");
    }
    for words in [
        &["blame", ""][..],
        &["session", "--dialog", ""],
        &["restore", ""],
        &["log", "--agent", ""],
    ] {
        let listed = in_bash(&world, words, "63");
        assert!(!listed.is_empty(), "{words:?}");
        assert_harmless(&world, &listed, "list");
    }
    for name in UNWRITABLE {
        assert!(!read.iter().any(|line| line.contains(&name[..4])), "{name:?}: {read:?}");
    }
}

#[test]
fn zsh_offers_the_same_and_runs_no_name() {
    if !has_all(&[MachineRequirement::Program("zsh")]) {
        return;
    }
    let world = hostile_world();
    // The function that fills zsh's list is replaced; the script itself runs as it is.
    let script = r#"
        compdef() { :; }
        _describe() { local -a shown=("${(@P)3}"); print -rl -- "${shown[@]}"; }
        eval "$script"
        words=("${(@f)line}") CURRENT=$#words
        _retake; true
    "#;
    let zsh = |line: &[&str]| -> Vec<String> {
        let line = format!("retake\n{}", line.join("\n"));
        let seen = in_shell(&world, "zsh", script, &[("line", &line)]);
        seen.lines().map(ToOwned::to_owned).collect()
    };
    assert!(zsh(&["log", "--dialog", "d1"])[0].starts_with("d1:claude-code, "));
    assert!(zsh(&["sta"])[0].starts_with("status:Show unreviewed"));
    assert_eq!(zsh(&["blame", "sr"]), ["src/"]);
    assert_eq!(zsh(&["blame", "\\$\\(t"]), ["$(touch owned)"]);
    assert_eq!(zsh(&["blame", "quo"]), ["quote'\" \\\\ end"], "as _describe reads it");
    for words in [["blame", "a"], ["--dialog", "n"], ["restore", "a"]] {
        assert_harmless(&world, &zsh(&words), "zsh");
    }
}

#[test]
fn fish_offers_the_same_and_runs_no_name() {
    if !has_all(&[MachineRequirement::Program("fish")]) {
        return;
    }
    let world = hostile_world();
    let file = world.outer().join("retake.fish");
    std::fs::write(&file, world.ok(&["completions", "fish"])).unwrap();
    let script = format!("source {}; complete -C \"$line\"", file.display());
    let fish = |line: &str| -> Vec<String> {
        let seen = in_shell(&world, "fish", &script, &[("line", line)]);
        seen.lines().map(ToOwned::to_owned).collect()
    };
    assert_eq!(fish("retake sta"), ["status\tShow unreviewed agent changes and unprotected files"]);
    assert!(fish("retake log --dialog d1")[0].starts_with("d1\tclaude-code, "));
    assert!(fish("retake blame ").iter().any(|line| line == "$(touch owned)"));
    assert_eq!(fish("retake blame \\$\\(t"), ["$(touch owned)"]);
    for line in ["retake blame ", "retake log --dialog ", "retake restore "] {
        let seen = fish(line);
        assert!(seen.len() > 3, "{line}: {seen:?}");
        let without_tabs: Vec<_> = seen.iter().map(|line| line.replacen('\t', " ", 1)).collect();
        assert_harmless(&world, &without_tabs, "fish");
    }
}

#[test]
fn completions_names_the_shell_by_itself() {
    let world = World::new();
    let with = |shell: &str, arguments: &[&str]| {
        let mut command = world.command(arguments);
        ran(command.env("SHELL", shell).stdin(Stdio::null()).output().unwrap())
    };
    assert_eq!(with("/usr/bin/zsh", &["completions"]).text(), world.ok(&["completions", "zsh"]));
    let unknown = with("/bin/strange", &["completions"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("retake completions bash"), "{}", unknown.stderr);
    assert!(world.ok(&["completions", "elvish"]).contains("edit:completion"));
    let help = world.ok(&["completions", "--help"]);
    for shell in ["bash", "zsh", "fish"] {
        assert!(help.contains(&format!("retake completions {shell}")), "{help}");
    }
}
