//! The ancestors of a process, and which of them is the agent that ran a hook.
//!
//! What the system does not tell is absent: a caller whose ancestors are unknown is a person.

use std::path::Path;

use retake_engine::model::ProcessKey;

/// Maximum ancestors that are read.
const MAX_ANCESTORS: usize = 64;
/// Maximum bytes that are read of a command line.
#[cfg(target_os = "linux")]
const MAX_COMMAND_LINE_BYTES: u64 = 256 * 1024;
/// Names of shells, which agents run hooks and commands through.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox"];
/// Names of programs that run another one in their place or as their only child.
const WRAPPERS: [&str; 9] =
    ["env", "timeout", "nice", "nohup", "setsid", "stdbuf", "time", "ionice", "sudo"];

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Which one it is.
    pub key: ProcessKey,
    /// Its command line.
    pub words: Vec<String>,
}

impl ProcessInfo {
    /// The name of its program, without the folder and the dash of a login shell.
    pub(super) fn program(&self) -> &str {
        let program = self.words.first().map_or("", String::as_str);
        let name = Path::new(program).file_name().and_then(|name| name.to_str());
        name.unwrap_or(program).trim_start_matches('-')
    }

    /// Returns true if it is a shell.
    pub(super) fn is_shell(&self) -> bool {
        SHELLS.contains(&self.program())
    }

    /// Returns true if it only runs a hook for its parent: a shell with a command (`sh -c`), a
    /// shell with a script in a folder of hooks, or a wrapper.
    fn runs_for_parent(&self) -> bool {
        if WRAPPERS.contains(&self.program()) {
            return true;
        }
        let is_option = |word: &&String| word.starts_with('-') && !word.starts_with("--");
        let mut options = self.words.iter().skip(1).take_while(|word| word.starts_with('-'));
        let is_command = options.any(|word| is_option(&word) && word.contains('c'));
        let script = self.words.iter().skip(1).find(|word| !word.starts_with('-'));
        let is_hook = script.is_some_and(|script| {
            Path::new(script).parent().is_some_and(|folder| folder.ends_with("hooks"))
        });
        self.is_shell() && (is_command || is_hook)
    }
}

/// The agent among the ancestors of its hook, which is the first of them: the nearest one that
/// does not just run the hook for its parent.
pub fn agent_process(ancestors: &[ProcessInfo]) -> Option<ProcessKey> {
    let agent = ancestors.iter().skip(1).find(|process| !process.runs_for_parent())?;
    // Process 1 adopts what has lost its parent.
    (agent.key.pid > 1).then(|| agent.key.clone())
}

/// A process and its ancestors, nearest first; as far as the system tells.
pub fn ancestors_of(pid: u32) -> Vec<ProcessInfo> {
    let table = ProcessTable::read();
    let mut found = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < MAX_ANCESTORS) {
        let Some((process, parent)) = table.process(pid) else { break };
        next = Some(parent).filter(|parent| *parent != pid);
        found.push(process);
    }
    found
}

/// Tells whether a process still runs.
pub fn is_process_alive(process: &ProcessKey) -> bool {
    let found = ProcessTable::read().process(process.pid);
    found.is_some_and(|(found, _)| found.key == *process)
}

/// The system's list of processes: on Linux read one by one.
#[cfg(target_os = "linux")]
struct ProcessTable;

#[cfg(target_os = "linux")]
impl ProcessTable {
    fn read() -> Self {
        Self
    }

    /// A process and the pid of its parent.
    #[expect(clippy::unused_self, reason = "elsewhere the list is read at once")]
    fn process(&self, pid: u32) -> Option<(ProcessInfo, u32)> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program stands in parentheses and may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.to_owned();
        let words = command_line(pid);
        Some((ProcessInfo { key: ProcessKey { pid, started }, words }, parent))
    }
}

#[cfg(target_os = "linux")]
fn command_line(pid: u32) -> Vec<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(format!("/proc/{pid}/cmdline")) {
        // What was read until an error is a beginning.
        let _ = file.take(MAX_COMMAND_LINE_BYTES).read_to_end(&mut bytes);
    }
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The system's list of processes, as `ps` tells it.
#[cfg(not(target_os = "linux"))]
struct ProcessTable(String);

#[cfg(not(target_os = "linux"))]
impl ProcessTable {
    fn read() -> Self {
        let columns = "pid=,ppid=,lstart=,command=";
        let told = std::process::Command::new("ps").args(["-axww", "-o", columns]).output();
        Self(told.map_or(String::new(), |told| String::from_utf8_lossy(&told.stdout).into_owned()))
    }

    /// A process and the pid of its parent.
    fn process(&self, pid: u32) -> Option<(ProcessInfo, u32)> {
        let line = self.0.lines().find(|line| {
            line.split_whitespace().next().and_then(|word| word.parse().ok()) == Some(pid)
        })?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let parent = words.get(1)?.parse().ok()?;
        // The start is five words: the day of the week, the month, the day, the time, the year.
        let started = words.get(2..7)?.join(" ");
        let words = words.get(7..)?.iter().map(|word| (*word).to_owned()).collect();
        Some((ProcessInfo { key: ProcessKey { pid, started }, words }, parent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, line: &str) -> ProcessInfo {
        let words = line.split('|').map(ToOwned::to_owned).collect();
        ProcessInfo { key: ProcessKey { pid, started: "1".into() }, words }
    }

    #[test]
    fn the_agent_is_the_nearest_ancestor_that_does_not_just_run_the_hook() {
        let cases: [(&[&str], Option<u32>); 9] = [
            // Directly, as opencode's plugin does.
            (&["retake|hook|opencode", "opencode", "-zsh"], Some(2)),
            // Through a shell, as most agents do.
            (&["retake|hook|claude-code", "/bin/sh|-c|retake hook claude-code", "claude"], Some(3)),
            (&["retake|hook|codex", "/bin/bash|-lc|retake hook codex", "codex|exec"], Some(3)),
            (&["retake|hook|x", "timeout|9|sh", "sh|-c|timeout 9 retake hook x", "a"], Some(4)),
            // By a script of its own, as Cline does.
            (&["retake|hook|cline", "/bin/sh|/home/a/.cline/hooks/PreToolUse", "cline"], Some(3)),
            // An agent that is itself a script.
            (&["retake|hook|x", "/bin/sh|./agent.sh", "bash"], Some(2)),
            (&["retake|hook|x", "node|/usr/bin/gemini", "bash"], Some(2)),
            // Nothing is known.
            (&["retake|hook|x"], None),
            (&[], None),
        ];
        for (lines, agent) in cases {
            let chain: Vec<_> = (1..).zip(lines).map(|(pid, line)| process(pid, line)).collect();
            assert_eq!(agent_process(&chain).map(|key| key.pid), agent, "{lines:?}");
        }
    }

    #[test]
    fn the_ancestors_of_this_process_begin_with_itself_and_its_parent() {
        let found = ancestors_of(std::process::id());
        assert_eq!(found[0].key.pid, std::process::id());
        assert!(!found[0].words.is_empty() && !found[0].key.started.is_empty(), "{:?}", found[0]);
        assert_eq!(found[1].key.pid, std::os::unix::process::parent_id());
        assert_eq!(ancestors_of(std::process::id())[0], found[0], "the start does not change");
        assert!(is_process_alive(&found[0].key));
        let earlier = ProcessKey { started: "before".into(), ..found[0].key.clone() };
        assert!(!is_process_alive(&earlier), "a pid is given again");
    }
}
