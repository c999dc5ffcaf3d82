//! What a person at a terminal sees of setup: one screen, and a question.

use super::*;

impl Machine {
    /// Returns what a terminal of 80 columns shows to a person who gives this answer, with the exit code.
    fn answered(&self, words: &str, answer: &str) -> Option<(String, i32)> {
        let script = Path::new("/usr/bin/script");
        if !script.exists() {
            return None;
        }
        let program = self.command(&[]);
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_retake"));
        let mut command = Command::new(script);
        command.args(["-qec", &line, "/dev/null"]).current_dir(self.0.root()).env_clear();
        for (name, value) in program.get_envs() {
            value.map(|value| command.env(name, value));
        }
        command.env("NO_COLOR", "1").env("PAGER", "cat").env("TERM", "xterm");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, answer.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
        // The terminal shows at once what is typed ahead.
        let seen = seen.strip_prefix(answer).unwrap_or(&seen).to_owned();
        Some((seen, output.status.code().unwrap()))
    }
}

#[test]
fn at_a_terminal_the_answer_decides() {
    let machine = Machine::new();
    let file = machine.settings("{}\n");
    let Some((seen, code)) = machine.answered("setup", "n\n") else { return };
    let plan = "Claude Code  ~/.claude/settings.json  adds 10 hooks\n\
                Write this file? [y]es [d]iff [N]o ";
    assert_eq!(seen, format!("{plan}Cancelled; nothing was changed.\n"));
    assert_eq!((code, fs::read_to_string(&file).unwrap().as_str()), (3, "{}\n"));
    let (seen, _) = machine.answered("setup", "d\nn\n").unwrap();
    assert!(seen.contains("+++ ~/.claude/settings.json\n"), "{seen}");
    assert!(seen.contains("+  \"hooks\"") && seen.matches("[d]iff").count() == 2, "{seen}");
    let answered = |words: &str, answer: &str| machine.answered(words, answer).unwrap().0;
    let seen = answered("setup", "y\n");
    assert!(seen.contains("Claude Code  ~/.claude/settings.json  added 10 hooks\n"), "{seen}");
    assert!(seen.ends_with("Done. Start claude in a project, then run: retake status\n"), "{seen}");
    assert!(fs::read_to_string(&file).unwrap().contains("hook claude-code"));
    assert!(seen.contains("hooks start the daemon") && seen.contains("--daemon=no"), "{seen}");
    let settings = machine.home(".local/share/retake/config.toml");
    assert!(!settings.exists(), "what nobody chose is not written");
    let seen = answered("setup --daemon=no", "");
    assert!(seen.contains("hooks start no daemon"), "{seen}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "[daemon]\nautostart = false\n");
    assert!(answered("setup", "").contains("hooks start no daemon"), "the choice stays");
    let seen = answered("setup --remove", "y\n");
    assert!(seen.contains("~/.claude/settings.json  removes 10 hooks\n"), "{seen}");
    assert!(seen.contains("Take Retake's hooks out of this file? [y]es [d]iff [N]o "), "{seen}");
    assert!(seen.ends_with("Done. Retake is no longer called by these agents.\n"), "{seen}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
}

#[test]
fn seven_agents_fit_one_screen() {
    let machine = Machine::new();
    let words = format!("setup {}", AGENTS.join(" "));
    let Some((seen, code)) = machine.answered(&words, "y\n") else { return };
    expect![[r#"
        Claude Code  ~/.claude/settings.json    adds 10 hooks
        Codex        ~/.codex/hooks.json        adds 9 hooks; then approve them in
                                                /hooks
        Gemini CLI   ~/.gemini/settings.json    adds 6 hooks
        opencode     ~/…/plugins/retake.js      adds a plugin
        Copilot CLI  ~/…/hooks/retake.json      adds 9 hooks
        Cline        ~/.cline/hooks/            adds 7 scripts
        Cursor       ~/.cursor/hooks.json       adds 7 hooks
        Write these 13 files? [y]es [d]iff [N]o Claude Code  ~/.claude/settings.json               added 10 hooks
        Codex        ~/.codex/hooks.json                   added 9 hooks
        Gemini CLI   ~/.gemini/settings.json               added 6 hooks
        opencode     ~/.config/opencode/plugins/retake.js  added a plugin
        Copilot CLI  ~/.copilot/hooks/retake.json          added 9 hooks
        Cline        ~/.cline/hooks/                       added 7 scripts
        Cursor       ~/.cursor/hooks.json                  added 7 hooks

        Codex runs hooks only after you approve them: start codex, type /hooks.
        Until then it skips them without a word, and again after any change of them.
        Cursor's hooks are untested: they follow its documentation.
        Agents that run now take notice when they are started again.
        daemon: hooks start the daemon, so that agents do not wait; --daemon=no declines
        Done. Start one of them in a project, then run: retake status
    "#]]
    .assert_eq(&seen);
    assert_eq!(code, 0);
    fits_one_screen(&seen);
    let (seen, _) = machine.answered("setup --status", "").unwrap();
    fits_one_screen(&seen);
    let (seen, _) = machine.answered(&format!("{words} --remove"), "y\n").unwrap();
    assert!(seen.contains("Cline        ~/.cline/hooks/") && seen.contains("removes 7 scripts"));
    assert!(seen.contains("removes a plugin") && seen.contains("removes 9 hooks"), "{seen}");
    fits_one_screen(&seen);
}

/// The answer's own line break is not in the text, so that line may be longer.
fn fits_one_screen(seen: &str) {
    assert!(seen.lines().count() <= 23, "{seen}");
    let is_long = |line: &&str| line.chars().count() > 80 && !line.contains("[N]o ");
    assert_eq!(seen.lines().find(is_long), None);
}

#[test]
fn the_status_of_long_paths_fits() {
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "claude-code"]);
    let file = machine.home(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    let gone = machine.home("a/folder/with/a/long/name/in/which/there/is/no/program/retake");
    fs::write(&file, text.replace(env!("CARGO_BIN_EXE_retake"), gone.to_str().unwrap())).unwrap();
    let Some((seen, _)) = machine.answered("setup --status claude-code", "") else { return };
    assert!(seen.contains("~/…/") && seen.contains("broken; run `retake setup`"), "{seen}");
    fits_one_screen(&seen);
}

#[test]
fn hooks_are_counted_by_what_changes() {
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "claude-code"]);
    let file = machine.home(".claude/settings.json");
    let mut settings = json_of(&file);
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse").unwrap();
    fs::write(&file, settings.to_string()).unwrap();
    let told = machine.ok(&["setup", "-y", "claude-code"]);
    assert!(told.contains("~/.claude/settings.json  added 1 hook\n"), "{told}");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(env!("CARGO_BIN_EXE_retake"), "/old/retake")).unwrap();
    let told = machine.ok(&["setup", "-y", "claude-code"]);
    assert!(told.contains("~/.claude/settings.json  updated 10 hooks\n"), "{told}");
    let told = machine.ok(&["setup", "-y", "claude-code"]);
    assert!(told.contains("~/.claude/settings.json  already there\n"), "{told}");
    let told = machine.ok(&["setup", "--remove", "-y", "claude-code"]);
    assert!(told.contains("~/.claude/settings.json  removed 10 hooks\n"), "{told}");
}
