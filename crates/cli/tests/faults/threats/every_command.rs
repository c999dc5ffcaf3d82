//! Every command of the program, run once after the other in a project where there is something to
//! show and something to take back.
//!
//! What there is to run is asked of the program itself, so that a command that is added later
//! fails here until it has a line in [`SCRIPT`].

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

/// Commands that `--help` does not tell.
const HIDDEN: [&str; 4] = ["catch-up", "help-markdown", "man-pages", "openapi"];

/// One command a line. Upper case words stand for what is there when it runs (see [`Stage::fill`]).
const SCRIPT: &str = "
    init
    init --checkpoint
    event
    hook
    catch-up
    status
    status --ignored
    log
    log --oldest-first -n 3
    log --file EVIL
    log --dialog EVIL
    log --since EVIL
    --project EVIL log
    show CHANGE
    diff
    diff --stat
    diff CHANGE
    blame FILE
    blame EVIL
    dialogs
    projects
    history
    history --model --whole
    history --views
    history export --output OUT/talk.json
    history import OUT/talk.json --dialog EVIL
    history import EVIL
    history condense --dry-run
    history back
    context
    context --stale
    context --timeline
    context mark FILE EVIL
    context export --output OUT/task_metadata.json
    context import OUT/task_metadata.json
    checkpoint -m EVIL
    checkpoints
    session
    session --all
    review
    review everything FILE
    review EVIL
    review --report
    review -p
    comment add - EVIL
    comment add HUNK EVIL --question
    comment add FILE EVIL
    comment edit 1 EVIL
    comment
    comment send
    comment answer 1 EVIL
    comment resolve 1
    comment remove 1
    feedback
    feedback EVIL
    accept HUNK
    review --patch
    accept CHANGE
    reject CHANGE --dry-run --diff
    reject --file FILE --yes
    undo --dry-run --diff
    undo --yes
    redo --yes
    reject HUNK --reason EVIL --dry-run --diff
    reject HUNK --reason EVIL --wait --yes
    review --queue
    review --cancel 1
    feedback --told
    review --seen
    review --forget EVIL
    review --forget
    rollback --agent EVIL
    rollback --call EVIL
    rollback --dialog DIALOG --dry-run --diff
    rollback --change CHANGE --yes
    restore EVIL
    restore CHECKPOINT --dry-run --diff
    restore CHECKPOINT --exact --yes
    restore CHECKPOINT FILE --exact --across-git --yes
    reset --dry-run --exact --diff
    reset --yes
    run --agent EVIL --dialog EVIL -- sh -c WORK
    approve -m EVIL
    approve --dialog EVIL
    ops
    recover
    recover --resume
    git
    git -- log --graph --all --stat
    git -- log --all -p
    git --no-dialog -- branch -a
    export OUT/export
    export OUT/export --force --with-secrets
    config
    config show --changed
    config get ignore.exclude
    config get EVIL
    config set ignore.exclude EVIL
    config set EVIL EVIL
    config set checkpoints.extensions EVIL --here
    config show
    config unset ignore.exclude
    config unset checkpoints.extensions --here
    config path
    bug-report -o -
    bug-report -o OUT/report.md --yes
    bug-report -o EVIL
    doctor
    doctor --read-data
    gc --dry-run
    gc
    setup --print
    setup --here --print claude-code codex gemini opencode copilot cline cursor
    setup --here --yes claude-code codex gemini opencode copilot cline
    setup --status
    setup --here --remove --yes
    purge EVIL --yes
    purge FILE --dry-run
    purge FILE --yes
    daemon status
    daemon start
    daemon status
    daemon code
    daemon code --agent
    daemon token --agent --label note
    daemon token --list
    daemon logout --all
    status
    daemon stop
    daemon run --idle-seconds 1
    demo
    completions bash
    help-markdown
    man-pages OUT/
    openapi
";

/// What is run, and where its words come from.
pub(crate) struct Stage<'a> {
    pub(crate) world: &'a World,
    /// A word that means harm wherever something is named.
    pub(crate) evil: &'a str,
    /// A file of the project that an agent changed.
    pub(crate) file: &'a str,
    /// What is put into the environment.
    pub(crate) variables: Vec<(String, String)>,
    /// Whether documents are asked for instead of text.
    pub(crate) json: bool,
}

/// A command that was run.
pub(crate) struct Done {
    pub(crate) words: Vec<String>,
    pub(crate) ran: Ran,
}

impl Stage<'_> {
    /// Runs the whole script, and passes the result of each command to `see`.
    pub(crate) fn run_all(&self, see: &mut dyn FnMut(&Done)) {
        std::fs::create_dir_all(self.out()).unwrap();
        let told = self.told();
        let mut run = BTreeSet::new();
        for line in SCRIPT.lines().map(str::trim).filter(|line| !line.is_empty()) {
            run.extend(told.iter().filter(|name| is_of(line, name)).cloned());
            match line {
                "hook" => self.hooks(see),
                "event" => self.events(see),
                _ => self.line(line, see),
            }
        }
        assert_eq!(run, told, "a command has no line in the script");
    }

    fn line(&self, line: &str, see: &mut dyn FnMut(&Done)) {
        let json = self.json.then_some("--json");
        let words = json.into_iter().chain(line.split(' ')).map(|word| self.fill(word));
        see(&self.run(words.collect(), b""));
    }

    pub(crate) fn run(&self, words: Vec<String>, input: &[u8]) -> Done {
        let program = self.world.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        // One that waits for something that never comes is killed, which `ran` tells.
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "60"]).arg(program.get_program()).args(program.get_args());
        command.current_dir(self.world.root()).env_clear();
        command.envs(program.get_envs().map(|(name, value)| (name, value.unwrap())));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Who refuses its arguments does not read on.
        let _ = child.stdin.take().unwrap().write_all(input);
        Done { words, ran: ran(child.wait_with_output().unwrap()) }
    }

    fn out(&self) -> PathBuf {
        self.world.outer().join("out")
    }

    fn fill(&self, word: &str) -> String {
        let first = |words: &[&str], list: &str| {
            let mut command = self.world.command(words);
            command.env("RETAKE_NO_DAEMON", "1");
            let answer: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
            answer[list][0]["id"].as_str().unwrap_or("c1").to_owned()
        };
        match word {
            "EVIL" => self.evil.to_owned(),
            "FILE" => self.file.to_owned(),
            "WORK" => "echo more >> ran.txt".to_owned(),
            "CHANGE" => first(&["log", "--json", "--actor", "agent"], "changes"),
            "HUNK" => {
                let mut command = self.world.command(&["review", "--json"]);
                command.env("RETAKE_NO_DAEMON", "1");
                let answer: Value =
                    serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
                let hunk = &answer["contents"][0]["hunks"][0]["id"];
                hunk.as_str().unwrap_or("h000000000000").to_owned()
            }
            "CHECKPOINT" => first(&["checkpoints", "--json"], "checkpoints"),
            "DIALOG" => first(&["dialogs", "--json"], "dialogs"),
            _ => word.replace("OUT/", &format!("{}/", self.out().display())),
        }
    }

    /// All commands that the program tells of, and those that it does not.
    fn told(&self) -> BTreeSet<String> {
        let mut told: BTreeSet<_> = HIDDEN.map(str::to_owned).into();
        for name in self.grouped() {
            let inner = self.listed(&[&name, "--help"]);
            told.extend(inner.iter().map(|act| format!("{name} {act}")));
            told.insert(name);
        }
        assert!(told.len() > 40, "{told:?}");
        told
    }

    /// The commands in all groups of the program's own help.
    fn grouped(&self) -> Vec<String> {
        let help = self.world.ok(&["--help"]);
        let groups = help.lines().take_while(|line| *line != "Global options:");
        let names = groups.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next()).map(ToOwned::to_owned).collect()
    }

    fn listed(&self, words: &[&str]) -> Vec<String> {
        let help = self.world.ok(words);
        let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let names = list.take_while(|line| line.starts_with("  "));
        let names = names.filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(ToOwned::to_owned).collect()
    }

    /// What agents told when they were listened to, of this project.
    fn hooks(&self, see: &mut dyn FnMut(&Done)) {
        for (agent, event, payload) in captured() {
            let payload = payload.replace("/home/dev/project", self.world.root().to_str().unwrap());
            let words = ["hook".to_owned(), agent, event];
            see(&self.run(words.into(), payload.as_bytes()));
        }
    }

    /// The agent's turn: names that mean harm, and a change.
    fn events(&self, see: &mut dyn FnMut(&Done)) {
        let (evil, path) = (self.evil, self.world.root().join(self.file));
        let tell = |event: Value| self.run(vec!["event".to_owned()], event.to_string().as_bytes());
        let start = json!({ "event": "dialog_start", "dialog": evil, "kind": evil, "title": evil, "agent": evil });
        let said = json!({ "event": "user_message", "dialog": evil, "text": evil });
        let begin = json!({ "event": "tool_begin", "dialog": evil, "agent": evil, "call": evil, "tool": "Bash", "input": { "command": evil } });
        for event in [start, said, begin] {
            see(&tell(event));
        }
        let mut text = std::fs::read(&path).unwrap();
        text.extend_from_slice(format!("{evil}\n").as_bytes());
        std::fs::write(&path, text).unwrap();
        std::fs::write(self.world.root().join("made.txt"), "made\n").unwrap();
        let saw =
            json!({ "event": "assistant_message", "dialog": evil, "agent": evil, "text": evil });
        let end =
            json!({ "event": "tool_end", "dialog": evil, "agent": evil, "call": evil, "ok": true });
        let over = json!({ "event": "turn_end", "dialog": evil });
        for event in [end, saw, over] {
            see(&tell(event));
        }
    }
}

/// Whether a line of the script runs this command.
fn is_of(line: &str, name: &str) -> bool {
    let line = line.strip_prefix("--project EVIL ").unwrap_or(line);
    line == name || line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '))
}

/// A few payloads of each agent, as they were captured: agent, event, payload.
fn captured() -> Vec<(String, String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/payloads");
    let mut payloads = Vec::new();
    for agent in std::fs::read_dir(folder).unwrap() {
        let agent = agent.unwrap();
        let name = agent.file_name().to_string_lossy().into_owned();
        let mut files: Vec<_> =
            std::fs::read_dir(agent.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.retain(|file| !file.file_name().unwrap().to_str().unwrap().starts_with("transcript"));
        // One in four is of each kind of event at least once, over all agents.
        for file in files.iter().step_by(4) {
            let event = file.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
            let payload = std::fs::read_to_string(file).unwrap();
            payloads.push((name.clone(), event.to_owned(), payload));
        }
    }
    assert!(payloads.len() > 20, "{}", payloads.len());
    payloads
}
