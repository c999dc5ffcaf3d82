//! The command line that an agent runs for each hook, and its recognition.
//!
//! It ends in `|| true`: an agent is never disturbed because Retake was uninstalled or failed
//! (Copilot CLI refuses the tool if a hook fails). Only a line of just that shape is ours to
//! replace or remove, wherever its program lies; any other that calls us is the person's own.

use std::path::Path;

use super::SetupError;
use super::shell::{ShellLine, ShellToken};
use crate::AgentKind;

/// Wrapper programs that run the program in their arguments.
const WRAPPER_PROGRAMS: [&str; 16] = [
    "!", "command", "do", "else", "env", "exec", "if", "ionice", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "then", "time", "timeout",
];

/// How hooks reach Retake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCommand {
    program: String,
    home: Option<String>,
}

impl HookCommand {
    /// Calls `program`; `home` is Retake's own folder, if it is not the usual one.
    pub fn new(program: &Path, home: Option<&Path>) -> Result<Self, SetupError> {
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| SetupError::PathNotText(path.into()))
        };
        Ok(Self { program: text(program)?, home: home.map(text).transpose()? })
    }

    pub(crate) fn from_text(program: String, home: Option<String>) -> Self {
        Self { program, home }
    }

    /// The program's path.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Retake's own folder, if it is not the usual one.
    pub fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// The line for a POSIX shell. `event` is named where the payload does not name it.
    pub fn shell_line(&self, agent: AgentKind, event: Option<&str>) -> String {
        format!("{} || true", self.bare_shell_line(agent, event))
    }

    /// The line without the part that makes its failure harmless.
    pub(crate) fn bare_shell_line(&self, agent: AgentKind, event: Option<&str>) -> String {
        let home = self.home.as_deref();
        let home =
            home.map_or_else(String::new, |home| format!("RETAKE_HOME={} ", shell_quote(home)));
        let event = event.map_or_else(String::new, |event| format!(" {event}"));
        format!("{home}{} hook {agent}{event}", shell_quote(&self.program))
    }
}

/// What a shell line has to do with us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookOwner {
    /// It is what setup writes, and calls this.
    Ours(HookCommand),
    /// A command of the person's that calls us.
    Theirs,
}

/// Returns whether a shell line calls `retake hook AGENT`, and how. `own` is known as Retake even
/// if its file has another name.
pub fn recognise_hook(
    line: &str,
    agent: AgentKind,
    own: Option<&HookCommand>,
) -> Option<HookOwner> {
    let line = ShellLine::parse(line.trim());
    if let Some(ours) = parse_exact(&line, agent).filter(|ours| is_retake(&ours.program, own)) {
        return Some(HookOwner::Ours(ours));
    }
    line.commands()
        .iter()
        .any(|words| calls_retake_hook(words, agent, own))
        .then_some(HookOwner::Theirs)
}

/// `[RETAKE_HOME=HOME] PROGRAM hook AGENT [EVENT] [|| true]`, and nothing else.
fn parse_exact(line: &ShellLine, agent: AgentKind) -> Option<HookCommand> {
    let mut tokens = line.tokens.as_slice();
    if let [rest @ .., ShellToken::Operator(or), ShellToken::Word(end)] = tokens
        && (or.as_str(), end.as_str()) == ("||", "true")
    {
        tokens = rest;
    }
    let word = |token: &ShellToken| match token {
        ShellToken::Word(word) if line.is_plain => Some(word.clone()),
        _ => None,
    };
    let words: Vec<_> = tokens.iter().map(word).collect::<Option<_>>()?;
    let (first, rest) = words.split_first()?;
    let (home, words) = match first.strip_prefix("RETAKE_HOME=") {
        Some(home) => (Some(home.to_owned()), rest),
        None => (None, words.as_slice()),
    };
    let ([program, hook, name] | [program, hook, name, _]) = words else { return None };
    let named = hook == "hook" && name.parse().ok() == Some(agent);
    named.then(|| HookCommand::from_text(program.clone(), home))
}

fn calls_retake_hook(words: &[&str], agent: AgentKind, own: Option<&HookCommand>) -> bool {
    let is_setting = |word: &&&str| {
        word.contains('=') && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    };
    let words: Vec<_> = words.iter().skip_while(is_setting).copied().collect();
    let wrapped = words.first().is_some_and(|first| WRAPPER_PROGRAMS.contains(&base_name(first)));
    let last_start = if wrapped { words.len() } else { 1 };
    let mut starts = (0..words.len().min(last_start)).filter(|at| is_retake(words[*at], own));
    starts.any(|at| is_hook(&words[at + 1..], agent))
}

/// `[options] hook AGENT …`
fn is_hook(words: &[&str], agent: AgentKind) -> bool {
    let Some(at) = words.iter().position(|word| *word == "hook") else { return false };
    let is_option = |at: usize| words[at].starts_with('-');
    let only_options = (0..at).all(|at| is_option(at) || at > 0 && is_option(at - 1));
    let name = words[at + 1..].iter().find(|word| !word.starts_with('-'));
    only_options && name.and_then(|name| name.parse().ok()) == Some(agent)
}

fn is_retake(program: &str, own: Option<&HookCommand>) -> bool {
    base_name(program) == "retake" || own.is_some_and(|own| own.program == program)
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(program: &str, home: Option<&str>) -> String {
        let command = HookCommand::new(Path::new(program), home.map(Path::new)).unwrap();
        command.shell_line(AgentKind::Codex, None)
    }

    #[test]
    fn words_are_quoted_only_where_the_shell_needs_it() {
        assert_eq!(line("/usr/bin/retake", None), "/usr/bin/retake hook codex || true");
        assert_eq!(line("/a b/retake", None), "'/a b/retake' hook codex || true");
        assert_eq!(
            line("/o'neill/retake", Some("/$HOME/é")),
            r"RETAKE_HOME='/$HOME/é' '/o'\''neill/retake' hook codex || true"
        );
        let command = HookCommand::new(Path::new("/b/retake"), None).unwrap();
        assert_eq!(
            command.shell_line(AgentKind::Cline, Some("TaskStart")),
            "/b/retake hook cline TaskStart || true"
        );
    }

    #[test]
    fn own_lines_are_known_whatever_their_path() {
        let tricky = ["/usr/bin/retake", "/a b/retake", "/o'neill/retake", "/x\"y\\z/retake"];
        for program in tricky {
            for home in [None, Some("/h"), Some("/h h='|$x #~*")] {
                let line = line(program, home);
                let command = HookCommand::from_text(program.into(), home.map(str::to_owned));
                assert_eq!(
                    recognise_hook(&line, AgentKind::Codex, None),
                    Some(HookOwner::Ours(command)),
                    "{line}"
                );
                assert_eq!(recognise_hook(&line, AgentKind::Gemini, None), None, "{line}");
            }
        }
        for line in
            ["retake hook claude-code", "retake hook claude", "\"/a b/retake\" hook claude-code"]
        {
            let ours = matches!(
                recognise_hook(line, AgentKind::ClaudeCode, None),
                Some(HookOwner::Ours(_))
            );
            assert!(ours, "{line}");
        }
    }

    #[test]
    fn a_copy_under_another_name_knows_its_own_lines() {
        let own = HookCommand::from_text("/opt/retake-dev".into(), None);
        let line = own.shell_line(AgentKind::Codex, None);
        assert_eq!(recognise_hook(&line, AgentKind::Codex, Some(&own)), Some(HookOwner::Ours(own)));
        assert_eq!(recognise_hook(&line, AgentKind::Codex, None), None);
    }

    #[test]
    fn a_line_of_the_person_that_calls_us_is_theirs() {
        for line in [
            "retake hook claude-code; ~/bin/notify.sh",
            "tee -a ~/audit.log | retake hook claude-code",
            "printf '%s' \"$in\" | /opt/retake hook claude-code >/dev/null || true",
            "env X=1 retake hook claude-code",
            "timeout 5 retake hook claude-code || true",
            "exec retake hook claude-code",
            "retake --home /x hook claude-code",
            "retake --home=/x hook claude-code || true",
            "retake hook claude-code>/dev/null",
            "2>/dev/null retake hook claude-code 2>&1",
            "X=1 retake hook claude-code",
            "$HOME/bin/retake hook claude-code || true",
            "~/bin/retake hook claude-code",
            "retake hook claude-code || true # mine",
            "(retake hook claude-code) &",
            "if true; then retake hook claude-code; fi",
            "# note\nretake hook claude-code",
        ] {
            assert_eq!(
                recognise_hook(line, AgentKind::ClaudeCode, None),
                Some(HookOwner::Theirs),
                "{line}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_a_call_is_none() {
        for line in [
            "",
            "retake status",
            "retake hook",
            "retake hook codex",
            "/bin/retaken hook claude-code",
            "echo retake hook claude-code",
            "echo 'retake hook claude-code'",
            "my-retake hook claude-code",
            "# retake hook claude-code",
            "# note; retake hook claude-code",
            "true # retake hook claude-code",
            "cat > retake hook claude-code",
        ] {
            assert_eq!(recognise_hook(line, AgentKind::ClaudeCode, None), None, "{line}");
        }
    }
}
