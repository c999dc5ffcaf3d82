//! The real program in a world of its own: cleared environment, own home, own folders.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use retake_testkit::machine::{self, MachineRequirement};
use serde_json::{Value, json};

/// A folder with a project, a person's home and Retake's home.
pub(crate) struct World {
    temp: tempfile::TempDir,
}

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("output is UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.text(), self.stderr))
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("retake-cli-").tempdir().unwrap();
        for name in ["project", "person", "tmp"] {
            std::fs::create_dir(temp.path().join(name)).unwrap();
        }
        Self { temp }
    }

    /// A world whose project holds these files and is initialised.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (name, text) in files {
            world.write(name, text);
        }
        assert_eq!(world.run(&["init"]).code, 0);
        world
    }

    pub(crate) fn outer(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outer().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.outer().join("retake-home")
    }

    /// The project's folder in Retake's home.
    pub(crate) fn store(&self) -> PathBuf {
        let mut entries = std::fs::read_dir(self.home().join("projects")).unwrap();
        entries.next().unwrap().unwrap().path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.root(), arguments)
    }

    pub(crate) fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("RETAKE_HOME", self.home())
            .env("RETAKE_AUTOSTART", "0")
            // A slow machine does not make `just now` of it `1 min ago`.
            .env("RETAKE_DATE", "iso")
            .env("HOME", self.outer().join("person"))
            .env("TMPDIR", self.outer().join("tmp"))
            .env("TZ", "UTC");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs and expects success.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {} {}", ran.text(), ran.stderr);
        ran.text()
    }

    /// Runs `retake event` with this input.
    pub(crate) fn feed(&self, input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.spawn_event();
        child.stdin.take().unwrap().write_all(input.as_ref()).unwrap();
        ran(child.wait_with_output().unwrap())
    }

    pub(crate) fn spawn_event(&self) -> Child {
        let mut command = self.command(&["event"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The agent's shell call, whole; the command really runs.
    pub(crate) fn shell(&self, call: &str, script: &str) {
        self.shell_of("d1", call, script);
    }

    /// The person's message to an agent.
    pub(crate) fn say(&self, dialog: &str, text: &str) -> Value {
        let message = json!({ "event": "user_message", "dialog": dialog, "text": text });
        self.feed(message.to_string()).lines().remove(0)
    }

    /// What a file says.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap_or_else(|_| "(absent)".to_owned())
    }

    /// The id of the newest change of a file.
    pub(crate) fn change_of(&self, name: &str) -> String {
        let log = self.run(&["log", "--json", "--file", name]).json();
        log["changes"][0]["id"].as_str().unwrap().to_owned()
    }

    /// What a person sees, with standard error and the exit code below.
    pub(crate) fn seen(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        self.normal(&format!("{}{}exit {}\n", ran.text(), ran.stderr, ran.code))
    }

    /// A shell call of an agent in some dialog.
    pub(crate) fn shell_of(&self, dialog: &str, call: &str, script: &str) {
        let begin = json!({ "event": "tool_begin", "dialog": dialog, "call": call, "tool": "Bash", "input": { "command": script } });
        assert_eq!(self.feed(begin.to_string()).code, 0);
        let status = Command::new("sh").args(["-c", script]).current_dir(self.root()).status();
        assert!(status.unwrap().success(), "{script}");
        let end = json!({ "event": "tool_end", "dialog": dialog, "call": call, "ok": true });
        assert_eq!(self.feed(end.to_string()).code, 0);
    }

    /// Returns what a terminal without colour shows; none where there is no terminal to try it on.
    pub(crate) fn on_a_terminal(&self, command: &[&str]) -> Option<String> {
        let program = self.command(command);
        let words: Vec<_> =
            std::iter::once(program.get_program()).chain(program.get_args()).collect();
        let output = self.terminal(&words.join(OsStr::new(" ")))?.output().unwrap();
        Some(String::from_utf8(output.stdout).expect("nothing invalid on a terminal"))
    }

    /// Returns what a terminal shows to a person who gives this answer; none where there is none to
    /// try it on.
    pub(crate) fn answered(&self, words: &str, answer: &str) -> Option<String> {
        self.answered_with_code(words, answer).map(|(seen, _)| seen)
    }

    /// Like [`Self::answered`], with the exit code.
    pub(crate) fn answered_with_code(&self, words: &str, answer: &str) -> Option<(String, i32)> {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_retake"));
        let mut terminal = self.terminal(OsStr::new(&line))?;
        let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // A program that asks less than this does not read on.
        let _ = child.stdin.take().unwrap().write_all(answer.as_bytes());
        let output = child.wait_with_output().unwrap();
        let seen = String::from_utf8(output.stdout).expect("nothing invalid on a terminal");
        Some((seen.replace("\r\n", "\n"), output.status.code().unwrap()))
    }

    /// A line at a terminal without colour, with the environment of [`Self::command`].
    pub(crate) fn terminal(&self, line: &OsStr) -> Option<Command> {
        if !machine::has_all(&[MachineRequirement::Terminal]) {
            return None;
        }
        let mut terminal = machine::on_terminal(line);
        terminal.current_dir(self.root()).env_clear();
        for (name, value) in self.command(&[]).get_envs() {
            terminal.env(name, value.unwrap_or_default());
        }
        terminal.env("NO_COLOR", "1").env("PAGER", "cat").env("TERM", "xterm");
        Some(terminal)
    }

    /// Output with what differs from run to run replaced.
    pub(crate) fn normal(&self, text: &str) -> String {
        let text = text.replace(self.store().to_str().unwrap(), "[STORE]");
        let text = text.replace(self.outer().to_str().unwrap(), "[WORLD]");
        let words = text.split_inclusive([' ', '\n']).map(|word| {
            let core = word.trim_end_matches([' ', '\n', '.', ';', ',', '`', ')']);
            let rest = &word[core.len()..];
            let shape: String =
                core.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            let is_id = core.len() == 8 && core.bytes().all(|byte| byte.is_ascii_hexdigit());
            match shape.as_str() {
                _ if is_id => format!("CHECK-ID{rest}"),
                "0000-00-00" => format!("DATE{rest}"),
                "00:00:00" => format!("TIME{rest}"),
                "(0000-00-00T00:00:00.000Z" => format!("(ISO{rest}"),
                _ => word.to_owned(),
            }
        });
        sizes(&words.collect::<String>())
    }
}

/// `136.81 KiB` depends on the file system.
fn sizes(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut line = line.to_owned();
        for unit in [" KiB", " MiB", " GiB", " TiB"] {
            while let Some(at) = line.find(unit) {
                let number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
                let start = line[..at].rfind(|c| !number(c)).map_or(0, |before| before + 1);
                line.replace_range(start..at + unit.len(), "SIZE");
            }
        }
        out.push_str(&line);
    }
    out
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().expect("it was not killed"),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
