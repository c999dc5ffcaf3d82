//! A first day by the README alone: its commands, typed at a terminal in a fresh home, from nothing
//! to an undone turn of a real agent.
//!
//! The lines are those of README.md. Each one is typed as it stands there, with its comment, and
//! judged by its effect, so that a line which stops working fails here.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use retake_e2e::AgentCli;
use retake_e2e::script::{ModelScript, edit, shell};
use retake_testkit::disk::DiskFiles;
use retake_testkit::machine::{self, MachineRequirement};

use crate::world::{World, assert_same};

const AGENT: AgentCli = AgentCli::ClaudeCode;

#[test]
fn the_readme_leads_from_nothing_to_an_undone_turn() {
    if !AGENT.is_available() || !machine::has_all(&[MachineRequirement::Terminal]) {
        return;
    }
    let lines = first_day_lines();
    let [install, setup, enter, agent, status, diff, undo, redo, approve] = lines.as_slice() else {
        panic!("the README's first day has other steps than this test: {lines:#?}");
    };
    let mut newcomer = Newcomer::arrive();
    newcomer.install(install);
    newcomer.sees_that_nothing_is_recorded(status);
    newcomer.set_up(setup);
    newcomer.enter_project(enter);

    let before = newcomer.world.disk();
    newcomer.work_with_the_agent(agent);
    newcomer.world.edit("existing.txt", "line 18\n", "line 18, mine\n");
    newcomer.world.write("mine.txt", "mine, too\n");
    let worked = newcomer.world.disk();

    newcomer.sees_the_agents_work(status, diff);
    let seen = newcomer.types(undo);
    assert_same(&newcomer.world.disk(), &with_own_edits(before, &worked), &seen);
    let seen = newcomer.types(redo);
    assert_same(&newcomer.world.disk(), &worked, &seen);
    let seen = newcomer.types(approve);
    assert_same(&newcomer.world.disk(), &worked, &seen);
    let seen = newcomer.types(status);
    assert_shows(&seen, &["Claude Code (last heard", "Nothing waits for your review."]);
    newcomer.world.is_sound();
}

/// The files as they were before the agent's turn, but for what the person did since.
fn with_own_edits(mut before: DiskFiles, worked: &DiskFiles) -> DiskFiles {
    let existing = before.get_mut("existing.txt").unwrap();
    let text = String::from_utf8(existing.content.clone()).unwrap();
    existing.content = text.replace("line 18\n", "line 18, mine\n").into_bytes();
    before.insert("mine.txt".to_owned(), worked["mine.txt"].clone());
    before
}

/// The lines of the block below the README's heading for the first day.
fn first_day_lines() -> Vec<String> {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let (_, day) = readme.split_once("\n## Your first day\n").expect("README.md has the heading");
    let (_, block) = day.split_once("```sh\n").expect("a block of commands follows");
    let (block, _) = block.split_once("\n```\n").expect("the block ends");
    block.lines().map(str::to_owned).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A line without its comment.
fn command_of(line: &str) -> &str {
    line.split_once(" #").map_or(line, |(command, _)| command).trim()
}

/// Checks for phrases, wherever the terminal's width broke the lines.
#[track_caller]
fn assert_shows(seen: &str, phrases: &[&str]) {
    let words = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    for phrase in phrases {
        assert!(words.contains(phrase), "no '{phrase}':\n{seen}");
    }
}

/// A person who has the agent, a project and the README, and nothing of Retake.
struct Newcomer {
    world: World,
    /// Where the next line is typed.
    folder: PathBuf,
}

impl Newcomer {
    fn arrive() -> Self {
        let world = World::with(&[]);
        let folder = world.home();
        let left = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 0, "the home is fresh");
        Self { world, folder }
    }

    /// Checks that the line names the package of this program, and puts the program where cargo
    /// does. Building it once more would take minutes.
    fn install(&self, line: &str) {
        let path = command_of(line).strip_prefix("cargo install --locked --path ").expect(line);
        let package = repository().join(path).canonicalize().expect(line);
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
        assert_eq!(package, own, "{line}");
        std::fs::create_dir_all(self.programs()).unwrap();
        let program = self.programs().join("retake");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_retake"), program).unwrap();
    }

    /// Cargo's folder for installed programs.
    fn programs(&self) -> PathBuf {
        self.world.home().join(".cargo/bin")
    }

    /// Before setup: a project tells what to do, and so does `retake` alone in the home.
    fn sees_that_nothing_is_recorded(&mut self, status: &str) {
        let seen = self.types("retake");
        assert_shows(&seen, &["Retake records", "retake setup", "retake demo", "retake -h"]);
        let home = std::mem::replace(&mut self.folder, self.world.root());
        let seen = self.types(status);
        let state = ["Nothing is recorded in", "not set up: Claude Code", "(run `retake setup`)"];
        assert_shows(&seen, &state);
        self.folder = home;
    }

    /// Says yes to setup; the agent's hooks then call the installed program.
    fn set_up(&self, line: &str) {
        let settings = self.world.home().join(".claude/settings.json");
        assert!(!settings.exists(), "nothing is written before it is asked for");
        let seen = self.answers(line, "y\n");
        let written = std::fs::read_to_string(settings).unwrap_or_default();
        let hook = format!("{} hook claude-code", self.programs().join("retake").display());
        assert!(written.contains(&hook), "no '{hook}':\n{written}\n{seen}");
    }

    /// The README's name stands for the person's own project.
    fn enter_project(&mut self, line: &str) {
        assert!(command_of(line).starts_with("cd "), "{line}");
        self.folder = self.world.root();
    }

    /// One message to the agent, which edits by tool and by a command. Its program is the one that
    /// the line names, started without a screen of its own.
    fn work_with_the_agent(&self, line: &str) {
        let program = AGENT.program().unwrap();
        assert_eq!(program.file_name().unwrap(), command_of(line), "{line}");
        let script = ModelScript::new()
            .step("I edit a line.", [edit("existing.txt", "line 2\n", "line TWO\n")])
            .step(
                "Now a command.",
                [shell("sed -i 's/line 10/line TEN/' existing.txt && echo made > made.txt && rm doomed.txt")],
            )
            .last_words("All done.");
        self.world.play("first-day", script);
        let run = self.world.agent(AGENT).turn("first-day", "Tidy up, please.").expect_success();
        assert!(self.world.read("existing.txt").contains("line TEN"), "{}", run.report());
    }

    /// The agent's changes are listed under its dialog's name and shown by line; the person's are not.
    fn sees_the_agents_work(&self, status: &str, diff: &str) {
        let seen = self.types(status);
        assert_shows(&seen, &["Claude Code (last heard", "claude-1"]);
        assert_shows(&seen, &["existing.txt", "made.txt", "doomed.txt"]);
        assert!(!seen.contains("mine.txt"), "{seen}");
        let seen = self.types(diff);
        for changed in ["-line 2", "+line TWO", "+line TEN", "+made", "-bye"] {
            assert!(seen.lines().any(|line| line == changed), "no '{changed}':\n{seen}");
        }
        assert!(!seen.contains("mine"), "{seen}");
    }

    /// Types a line that asks nothing and succeeds.
    fn types(&self, line: &str) -> String {
        self.answers(line, "")
    }

    /// Types a line that succeeds, with the answer to its question, and returns what the terminal
    /// shows.
    fn answers(&self, line: &str, answer: &str) -> String {
        let line_on_screen = format!("stty cols 80 rows 24\n{line}");
        let mut terminal = machine::on_terminal(OsStr::new(&line_on_screen));
        terminal
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", self.search_path())
            .env("HOME", self.world.home())
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env("PAGER", "cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = terminal.spawn().unwrap();
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
        assert!(output.status.success(), "{line}: {}\n{seen}", output.status);
        seen
    }

    /// What cargo installed, the agent, and the machine's programs.
    fn search_path(&self) -> OsString {
        let agent = AGENT.program().unwrap();
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.programs(), agent.parent().unwrap().to_owned()];
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&inherited))).unwrap()
    }
}
