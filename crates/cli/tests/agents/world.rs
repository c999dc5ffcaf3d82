//! A person with agents: a project under git, a home with their settings, a model and `retake`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use retake_e2e::script::ModelScript;
use retake_e2e::{AgentCli, AgentDriver, ModelServer};
use retake_engine::{Project, Retake};
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::git;
use serde_json::Value;

/// Retake keeps its record in the home, as it does for people.
pub(crate) struct World {
    temp: tempfile::TempDir,
    pub(crate) server: ModelServer,
}

/// What `retake log` has on a change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) what: String,
    pub(crate) actor: String,
    pub(crate) kind: String,
    pub(crate) dialog: String,
    pub(crate) agent: String,
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) confidence: String,
    pub(crate) model: String,
}

impl World {
    /// A project with a few committed files, and these agents set up.
    pub(crate) fn with(agents: &[AgentCli]) -> Self {
        let temp = tempfile::Builder::new().prefix("retake-agents-").tempdir().unwrap();
        for name in ["project", "home"] {
            std::fs::create_dir(temp.path().join(name)).unwrap();
        }
        let world = Self { temp, server: ModelServer::start() };
        let numbered: Vec<_> = (1..=20).map(|number| format!("line {number}\n")).collect();
        world.write("existing.txt", &numbered.concat());
        world.write("doomed.txt", "bye\n");
        world.write("gone.txt", "bye, too\n");
        world.write("run.sh", "echo hi\n");
        git::run(&world.root(), &["init", "-q"]);
        git::run(&world.root(), &["add", "-A"]);
        git::run(&world.root(), &["commit", "-qm", "start"]);
        for agent in agents {
            // The driver's settings come first: Retake adds its hooks to those a person has.
            drop(world.untrusted(*agent));
            world.ok(&["setup", agent.name(), "--yes"]);
        }
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("home")
    }

    /// Retake's own folder, as it finds it from the home.
    fn record(&self) -> PathBuf {
        let data =
            if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        self.home().join(data).join("retake")
    }

    /// What the person sets for all projects.
    pub(crate) fn settings(&self, text: &str) {
        std::fs::create_dir_all(self.record()).unwrap();
        std::fs::write(self.record().join("config.toml"), text).unwrap();
    }

    /// The project as the library has it.
    pub(crate) fn project(&self) -> Project {
        Retake::new(self.record()).open(&self.root()).unwrap()
    }

    /// The agent with its hooks. Codex runs them only after a review by a person, or with this
    /// option.
    pub(crate) fn agent(&self, agent: AgentCli) -> AgentDriver<'_> {
        let driver = self.untrusted(agent);
        match agent {
            AgentCli::Codex => driver.arg("--dangerously-bypass-hook-trust"),
            _ => driver,
        }
    }

    /// The agent with its hooks and another model than its usual one, if that matters.
    pub(crate) fn agent_with(
        &self,
        agent: AgentCli,
        model: Option<&'static str>,
    ) -> AgentDriver<'_> {
        let driver = self.agent(agent);
        match model {
            Some(model) => driver.model(model),
            None => driver,
        }
    }

    /// The agent, before anybody has reviewed its hooks.
    pub(crate) fn untrusted(&self, agent: AgentCli) -> AgentDriver<'_> {
        AgentDriver::new(agent, &self.server, &self.home(), &self.root())
    }

    pub(crate) fn play(&self, name: &str, script: ModelScript) {
        self.server.add_script(name, &self.root(), script);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap_or_else(|_| "(absent)".to_owned())
    }

    /// The person replaces a piece of a file.
    pub(crate) fn edit(&self, name: &str, old: &str, new: &str) {
        let text = self.read(name);
        assert!(text.contains(old), "{name} has no '{old}': {text}");
        self.write(name, &text.replacen(old, new, 1));
    }

    pub(crate) fn disk(&self) -> DiskFiles {
        disk::read_files(&self.root())
    }

    pub(crate) fn retake(&self, arguments: &[&str]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_retake"))
            .args(arguments)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let code = output.status.code().expect("it was not killed");
        (code, format!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Runs `retake` and expects success.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let (code, text) = self.retake(arguments);
        assert_eq!(code, 0, "retake {arguments:?}: {text}\n{}", self.server.log());
        text
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.ok(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Everything on record, oldest first.
    pub(crate) fn log(&self) -> Vec<Change> {
        let log = self.json(&["log", "--oldest-first"]);
        log["changes"].as_array().unwrap().iter().map(Change::from).collect()
    }

    pub(crate) fn dialogs(&self) -> Vec<Value> {
        self.json(&["dialogs"])["dialogs"].as_array().unwrap().clone()
    }

    /// Takes the newest turn back; neither files that are not of it nor git notice.
    pub(crate) fn undo(&self) {
        let git = disk::git_state(&self.root());
        self.ok(&["undo", "--yes"]);
        assert_eq!(disk::git_state(&self.root()), git, "undo leaves .git alone");
    }

    /// Nothing is damaged or waits.
    pub(crate) fn is_sound(&self) {
        let checked = self.json(&["doctor", "--read-data"]);
        assert_eq!(checked["healthy"], true, "{checked:#}");
        assert_eq!(checked["spooled"], 0, "{checked:#}");
    }
}

impl From<&Value> for Change {
    fn from(change: &Value) -> Self {
        let text = |key: &str| change[key].as_str().unwrap_or("-").to_owned();
        Self {
            path: text("path"),
            what: text("change_type"),
            actor: text("actor"),
            kind: text("kind"),
            dialog: text("dialog"),
            agent: text("agent"),
            call: text("call"),
            tool: text("tool"),
            confidence: text("confidence"),
            model: text("model"),
        }
    }
}

impl Change {
    /// `new.txt create by agent Write toolu_s0x0xall certain`; ids that Retake or the agent made
    /// are not the model's and only called `ID`.
    pub(crate) fn line(&self) -> String {
        let Self { path, what, actor, tool, confidence, .. } = self;
        let call = match self.call.as_str() {
            "-" => "-",
            id if id.starts_with("toolu_s") || id.starts_with("call_s") => id,
            _ => "ID",
        };
        format!("{path} {what} by {actor} {tool} {call} {confidence}\n")
    }
}

/// Changes as lines to compare.
pub(crate) fn lines<'c>(changes: impl IntoIterator<Item = &'c Change>) -> String {
    changes.into_iter().map(Change::line).collect()
}

/// The values that a property has.
pub(crate) fn distinct(changes: &[Change], of: impl Fn(&Change) -> &String) -> BTreeSet<&String> {
    changes.iter().map(of).collect()
}

/// Two trees are the same, bytes and modes.
#[track_caller]
pub(crate) fn assert_same(now: &DiskFiles, before: &DiskFiles, hint: &str) {
    let names = |disk: &DiskFiles| disk.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(now), names(before), "{hint}");
    for (name, entry) in before {
        let now = &now[name];
        let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
        assert_eq!(text(&now.content), text(&entry.content), "{name}: {hint}");
        assert_eq!(now.mode, entry.mode, "{name}: {hint}");
    }
}
