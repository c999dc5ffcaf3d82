//! Commands that run another command, or change the working folder.

use super::commands::{self, ShellCall};
use super::options::{CommandOptions, OptionSpec};
use super::state::WorkingFolder;
use super::variables;
use super::walk::ScriptWalker;
use super::word::ShellWord;

/// Options with a value, per wrapper that takes its command as the remaining words.
const VALUED_OPTIONS: &[(&str, &str, &[&str])] = &[
    ("sudo", "ugpCDhrtTU", &["user", "group", "prompt", "chdir", "host", "role", "type"]),
    ("doas", "uC", &[]),
    ("nice", "n", &["adjustment"]),
    ("ionice", "cn", &["class", "classdata"]),
    ("stdbuf", "ioe", &["input", "output", "error"]),
    ("timeout", "ks", &["kill-after", "signal"]),
    ("exec", "a", &[]),
    ("time", "fo", &["format", "output"]),
    ("env", "uCS", &["unset", "chdir", "split-string"]),
    ("xargs", "adEeIiLlnPsx", &["arg-file", "delimiter", "max-args", "max-procs", "replace"]),
];

/// `cd DIR`, `pushd DIR`.
pub(super) fn cd(walker: &mut ScriptWalker, call: &ShellCall) {
    let words: Vec<&ShellWord> = call.args.iter().filter(|word| !word.is_option()).collect();
    match words.as_slice() {
        [] if call.name == "pushd" => lose_folder(walker),
        [] => walker.state.folder = WorkingFolder::At("~".to_owned()),
        [word] => match word.exact().filter(|text| *text != "-" && !text.is_empty()) {
            Some(path) => walker.state.enter(path),
            None => lose_folder(walker),
        },
        _ => lose_folder(walker),
    }
}

/// `popd`: the folder is unknown, since the stack is not tracked.
pub(super) fn popd(walker: &mut ScriptWalker, _: &ShellCall) {
    lose_folder(walker);
}

fn lose_folder(walker: &mut ScriptWalker) {
    walker.state.folder = WorkingFolder::Unknown;
}

/// `eval 'text'`.
pub(super) fn eval(walker: &mut ScriptWalker, call: &ShellCall) {
    let words: Option<Vec<&str>> = call.args.iter().map(ShellWord::exact).collect();
    match words {
        Some(words) => walker.script(&words.join(" ")),
        None => walker.lose_track(),
    }
}

/// `trap 'text' SIGNAL`.
pub(super) fn trap(walker: &mut ScriptWalker, call: &ShellCall) {
    match call.args.iter().find(|word| !word.is_option()).map(ShellWord::exact) {
        Some(Some("-")) | None => {}
        Some(Some(text)) => walker.walk_unseen(|walker| walker.subscript(text)),
        Some(None) => walker.lose_track(),
    }
}

/// `bash -lc 'text'`, `bash <<EOF`.
pub(super) fn shell(walker: &mut ScriptWalker, call: &ShellCall) {
    let options = CommandOptions::parse(
        &call.args,
        OptionSpec { short: "oO", long: &["rcfile", "init-file"] },
    );
    if options.has(&["c"]) {
        // `-c` takes the first operand, wherever it stands among the letters.
        match options.operands.first().map(ShellWord::exact) {
            Some(Some(text)) => walker.subscript(text),
            _ => walker.lose_track(),
        }
    } else if let Some(text) = &call.stdin
        && (options.operands.is_empty() || options.has(&["s"]))
    {
        walker.subscript(text);
    } else {
        // The script comes through a pipe, or is in a file.
        commands::script_file(walker, options.operands.get(1..).unwrap_or_default());
    }
}

/// `env A=b CMD`, and alone it prints.
pub(super) fn env(walker: &mut ScriptWalker, call: &ShellCall) {
    let rest = after_options(call);
    let own = &call.args[..call.args.len() - rest.len()];
    let begins = |starts: [&str; 2]| {
        own.iter().any(|word| starts.iter().any(|start| word.text.starts_with(start)))
    };
    if begins(["-S", "--split"]) {
        walker.lose_track();
    }
    let rest = after_settings(walker, rest);
    let stdin = call.stdin.clone();
    if begins(["-C", "--chdir"]) {
        walker.in_subshell(|walker| {
            lose_folder(walker);
            commands::walk_words(walker, rest, stdin);
        });
    } else {
        commands::walk_words(walker, rest, stdin);
    }
}

/// `sudo CMD`: the command is the same, with more rights.
pub(super) fn sudo(walker: &mut ScriptWalker, call: &ShellCall) {
    let rest = after_settings(walker, after_options(call));
    commands::walk_words(walker, rest, call.stdin.clone());
}

/// `command CMD`; with `-v` it only looks the command up.
pub(super) fn command(walker: &mut ScriptWalker, call: &ShellCall) {
    if !call.args.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) {
        plain(walker, call);
    }
}

/// Wrappers whose remaining words are the command.
pub(super) fn plain(walker: &mut ScriptWalker, call: &ShellCall) {
    // `timeout 5 CMD` has one operand of its own.
    let own = usize::from(matches!(call.name.as_str(), "timeout" | "chrt"));
    let rest: Vec<ShellWord> = after_options(call).iter().skip(own).cloned().collect();
    commands::walk_words(walker, rest, call.stdin.clone());
}

/// `nohup CMD`, `setsid CMD`: the command may outlive this one.
pub(super) fn background(walker: &mut ScriptWalker, call: &ShellCall) {
    walker.effects.background = true;
    match call.name.as_str() {
        "nohup" | "setsid" => {
            if call.name == "nohup" {
                walker.change(&ShellWord::plain("nohup.out"), super::TargetEffect::Append, false);
            }
            walker.walk_unseen(|walker| plain(walker, call));
        }
        "disown" => {}
        _ => walker.lose_track(),
    }
}

/// `xargs CMD`: the command with unknown further words.
pub(super) fn xargs(walker: &mut ScriptWalker, call: &ShellCall) {
    let rest = after_options(call);
    if rest.is_empty() {
        return;
    }
    let place = placeholder(&call.args[..call.args.len() - rest.len()]);
    let fill = |word: &ShellWord| match &place {
        Some(place) if word.text.contains(place.as_str()) => ShellWord::unknown(),
        _ => word.clone(),
    };
    let more = place.is_none().then(ShellWord::unknown);
    let words = rest.iter().map(fill).chain(more).collect();
    walker.walk_unseen(|walker| commands::walk_words(walker, words, None));
}

/// Returns the placeholder of `xargs` for its input: `{}` in `-I{}`, `-I {}` and `-i`.
fn placeholder(options: &[ShellWord]) -> Option<String> {
    let at = options.iter().position(|word| {
        ["-I", "-i", "--replace"].iter().any(|option| word.text.starts_with(option))
    })?;
    let text = options[at].text.trim_start_matches("--replace").trim_start_matches('=');
    let attached = text.trim_start_matches("-I").trim_start_matches("-i");
    match options.get(at + 1) {
        _ if !attached.is_empty() => Some(attached.to_owned()),
        Some(next) if options[at].text == "-I" => Some(next.text.clone()),
        _ => Some("{}".to_owned()),
    }
}

/// The words after the wrapper's own options.
fn after_options(call: &ShellCall) -> &[ShellWord] {
    let valued = VALUED_OPTIONS.iter().find(|(name, ..)| *name == call.name);
    let (short, long) = valued.map_or(("", &[][..]), |(_, short, long)| (*short, *long));
    let mut at = 0;
    while let Some(word) = call.args.get(at).filter(|word| word.is_option()) {
        at += 1;
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        let next_is_value = match text.strip_prefix("--") {
            Some(name) => long.contains(&name),
            // The last letter of `-u` takes the next word; in `-uroot` the value is attached.
            None => text.len() == 2 && text.chars().nth(1).is_some_and(|c| short.contains(c)),
        };
        at += usize::from(next_is_value && !optional_value(call, text));
    }
    call.args.get(at..).unwrap_or_default()
}

/// Letters whose value, if any, is attached.
fn optional_value(call: &ShellCall, text: &str) -> bool {
    call.name == "xargs" && matches!(text, "-e" | "-i" | "-l" | "-x")
}

/// The words after `A=b`.
fn after_settings(walker: &mut ScriptWalker, words: &[ShellWord]) -> Vec<ShellWord> {
    let count = words.iter().take_while(|word| is_assignment(word)).count();
    let (settings, rest) = words.split_at(count);
    for word in settings {
        variables::check_setting(walker, word.text.split_once('=').map_or("", |(_, value)| value));
    }
    rest.to_vec()
}

fn is_assignment(word: &ShellWord) -> bool {
    word.text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// `wait`: background commands have ended when this returns.
pub(super) fn wait(walker: &mut ScriptWalker, _call: &ShellCall) {
    walker.effects.background = false;
}
