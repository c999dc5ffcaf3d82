//! Simple commands: words, redirections, and the table of known commands.
//!
//! A command is in the table of handlers, is a function of the same text, or adds no targets: it
//! only reads, or is a program about which the text says no more.

use std::rc::Rc;

use brush_parser::ast::{
    CommandPrefixOrSuffixItem, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, SimpleCommand,
};

use super::state::WorkingFolder;
use super::walk::ScriptWalker;
use super::word::{self, ShellWord};
use super::{TargetEffect, danger, files, find, git, quote, reads, script, variables, wrappers};

/// One simple command, ready to be looked up.
pub(super) struct ShellCall {
    /// The name without its folder.
    pub(super) name: String,
    /// The words after the name.
    pub(super) args: Vec<ShellWord>,
    /// Its standard input, if a heredoc or here-string gives it.
    pub(super) stdin: Option<String>,
}

pub(super) type CommandHandler = fn(&mut ScriptWalker, &ShellCall);

/// The handlers of commands whose words name the files that they change.
const HANDLERS: &[(&str, CommandHandler)] = &[
    ("cd chdir pushd", wrappers::cd),
    ("popd", wrappers::popd),
    ("export declare typeset local readonly", variables::declare),
    ("unset read mapfile readarray getopts let", variables::forget_variables),
    ("printf", variables::printf),
    ("eval", wrappers::eval),
    ("trap", wrappers::trap),
    ("bash sh zsh dash ksh ash", wrappers::shell),
    ("env", wrappers::env),
    ("sudo doas", wrappers::sudo),
    ("command builtin", wrappers::command),
    ("exec time nice ionice stdbuf timeout chrt caffeinate", wrappers::plain),
    ("nohup setsid disown at batch systemd-run daemonize", wrappers::background),
    ("wait", wrappers::wait),
    ("xargs", wrappers::xargs),
    ("find", find::find),
    ("fd fdfind", find::fd),
    ("git", git::git),
    ("rm rmdir unlink shred", files::remove),
    ("touch mkdir mkfifo mknod truncate", files::make),
    ("chmod chown chgrp", files::attributes),
    ("cp mv ln install", files::copy),
    ("rsync scp", files::sync),
    ("dd", files::dd),
    ("tee sponge", files::tee),
    ("shuf sort uniq tree xxd", files::output),
    ("split csplit", files::split),
    ("rename prename", files::rename),
    ("tar", files::tar),
    ("gzip gunzip bzip2 bunzip2 xz unxz", files::compress),
    ("zip unzip", files::zip),
    ("curl wget", files::download),
    ("sed gsed", script::sed),
    ("perl ruby", script::perl),
    ("python python3 node deno bun php lua osascript Rscript", interpreter),
    ("source .", source),
    ("awk gawk mawk nawk", script::awk),
    ("yq", script::yq),
    ("alias", alias),
    (OFTEN_HARMLESS, often_harmless),
    ("ed ex", script::ed),
    ("patch", script::patch),
    ("apply_patch applypatch", script::apply_patch),
];

/// Walks one simple command of the tree.
pub(super) fn walk_simple(walker: &mut ScriptWalker, command: &SimpleCommand) {
    let mut stdin = None;
    let mut words = Vec::new();
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    for item in prefix {
        match item {
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                variables::assign(walker, assignment, command.word_or_name.is_none());
            }
            other => item_words(walker, other, &mut words, &mut stdin),
        }
    }
    if let Some(name) = &command.word_or_name {
        words.extend(walker.words(&name.value));
    }
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        item_words(walker, item, &mut words, &mut stdin);
    }
    if command.word_or_name.is_none() {
        return;
    }
    let diverts_all = matches!(words.as_slice(), [only] if only.exact() == Some("exec"));
    if !walker.follow_redirections(command) {
        walk_words(walker, words, stdin);
    } else if diverts_all {
        walker.divert_output();
    } else {
        walker.walk_unseen(|walker| walk_words(walker, words, stdin));
    }
}

/// Walks a command given by its words.
pub(super) fn walk_words(
    walker: &mut ScriptWalker,
    mut words: Vec<ShellWord>,
    stdin: Option<String>,
) {
    if words.is_empty() || !walker.count_step() {
        return;
    }
    let printed = walker.files_printed(&words);
    let args = words.split_off(1);
    let alone = args.is_empty();
    dispatch(walker, &words[0], args, stdin);
    walker.add_printed(printed, &words[0], alone);
}

fn dispatch(
    walker: &mut ScriptWalker,
    name: &ShellWord,
    args: Vec<ShellWord>,
    stdin: Option<String>,
) {
    if name.text == "[" {
        // Unquoted `[` opens a glob; alone it is a command.
        return often_harmless(walker, &ShellCall { name: name.text.clone(), args, stdin });
    }
    let Some(name) = name.exact() else {
        return walker.lose_track();
    };
    if let Some(body) = walker.state.functions.get(name).map(Rc::clone) {
        let redirects = body.1.iter().flat_map(|list| &list.0);
        let elsewhere = redirects.clone().any(reads::diverts);
        redirects.for_each(|redirect| drop(self::redirect(walker, redirect)));
        variables::set_positional(walker, &args);
        return walker.nested(|walker| {
            if elsewhere {
                walker.walk_unseen(|walker| walker.compound(&body.0));
            } else {
                walker.compound(&body.0);
            }
        });
    }
    let Some(name) = system_command(name) else { return script_file(walker, &args) };
    let among = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
    match HANDLERS.iter().find(|(names, _)| among(names)) {
        Some((_, handler)) => handler(walker, &ShellCall { name: name.to_owned(), args, stdin }),
        None if among(HARMLESS) => {}
        None => unknown(walker, &args, stdin.as_deref()),
    }
}

/// Commands that change no file named by their arguments.
const HARMLESS: &str = ": arch base32 base64 basename break cal cat cksum clear cmp col column comm continue cut \
     date df dig diff dirname dirs du echo egrep exa exit expand expr eza factor false fgrep \
     fmt fold free getconf getent grep groups head hexdump host hostname id join jq kill \
     killall locale logname look ls lsb_release lsof md5 md5sum more nl nproc nslookup numfmt \
     od paste pathchk pgrep ping pkill pr printenv ps pwd readlink realpath return rev seq set \
     sha1sum sha224sum sha256sum sha512sum shasum shift shopt sleep stat strings stty sum \
     sw_vers sync tac tail times top tput tr true tsort tty type ulimit umask uname unexpand \
     uptime users vmstat w wc whatis whereis which who whoami yes zcat zgrep";

/// Commands that change no file unless one of these options is given: letters, and prefixes of
/// long options.
const WRITING_OPTIONS: &[(&str, &str, &[&str])] = &[
    ("ack ag bat batcat", "", &["--pager"]),
    ("bind", "fx", &[]),
    ("compgen complete", "CF", &[]),
    ("fc", "es", &[]),
    ("file", "C", &["--compile"]),
    ("hash", "p", &[]),
    ("history", "anprsw", &[]),
    ("jobs", "x", &[]),
    ("less", "oO", &["--log", "--LOG", "+"]),
    ("rg", "", &["--pre", "--host"]),
    ("xmllint", "o", &["--o"]),
];

/// The commands of `WRITING_OPTIONS`, and `test`, which evaluates a subscript if there is one.
const OFTEN_HARMLESS: &str =
    "[ ack ag bat batcat bind compgen complete fc file hash history jobs less rg test xmllint";

fn often_harmless(walker: &mut ScriptWalker, call: &ShellCall) {
    if matches!(call.name.as_str(), "[" | "test") {
        if call.args.iter().any(|word| quote::may_run(&word.text)) {
            walker.lose_track();
        }
        return;
    }
    let is_own = |names: &str| names.split_ascii_whitespace().any(|known| known == call.name);
    let own = WRITING_OPTIONS.iter().find(|(names, ..)| is_own(names));
    let (letters, long) = own.map_or(("", &[][..]), |(_, letters, long)| (*letters, *long));
    let writes = |word: &ShellWord| {
        let is_short = word.is_option() && !word.text.starts_with("--");
        !word.literal && call.name == "jobs"
            || (is_short && word.text.contains(|c| letters.contains(c)))
            || long.iter().any(|start| word.text.starts_with(start))
    };
    if call.args.iter().any(writes) {
        walker.destroy_unknown();
    }
}

/// `alias k='rm -rf'`: from here on a name may be any command.
fn alias(walker: &mut ScriptWalker, call: &ShellCall) {
    if !call.args.is_empty() {
        walker.lose_track();
    }
}

/// An unknown command: it may edit the files that it names, or run the command that follows.
fn unknown(walker: &mut ScriptWalker, args: &[ShellWord], stdin: Option<&str>) {
    const RUN: &str = "bash cp dd find git gzip ln mv patch perl rm rmdir rsync sed sh shred tar tee \
         truncate unlink xargs zsh";
    let is_run = |text: &str| RUN.split_ascii_whitespace().any(|known| known == text);
    let runs = |word: &ShellWord| word.text.split_ascii_whitespace().any(is_run);
    if args.iter().any(runs) || stdin.is_some_and(danger::mentions_destroyer) {
        walker.destroy_unknown();
    }
    for word in args {
        walker.add_possible_edit(word);
    }
}

/// A script of the project: it may do anything to its arguments, and the text may have just
/// created it.
pub(super) fn script_file(walker: &mut ScriptWalker, args: &[ShellWord]) {
    walker.lose_track();
    args.iter().filter(|word| !word.is_option()).for_each(|word| walker.add_possible_edit(word));
}

/// Commands that run a script, which is their first operand or the value of an option.
fn interpreter(walker: &mut ScriptWalker, call: &ShellCall) {
    let operands: Vec<_> = call.args.iter().filter(|word| !word.is_option()).cloned().collect();
    script_file(walker, operands.get(1..).unwrap_or_default());
}

/// `source FILE`: it may change the working folder.
fn source(walker: &mut ScriptWalker, call: &ShellCall) {
    interpreter(walker, call);
    walker.state.folder = WorkingFolder::Unknown;
}

/// The bare name of a command in a system folder; a project's own `./ls` is not `ls`.
pub(super) fn system_command(name: &str) -> Option<&str> {
    match name.rsplit_once('/') {
        None => Some(name),
        Some(("/bin" | "/usr/bin" | "/usr/local/bin" | "/sbin" | "/usr/sbin", bare)) => Some(bare),
        Some(_) => None,
    }
}

fn item_words(
    walker: &mut ScriptWalker,
    item: &CommandPrefixOrSuffixItem,
    words: &mut Vec<ShellWord>,
    stdin: &mut Option<String>,
) {
    match item {
        CommandPrefixOrSuffixItem::Word(word)
        // `dd of=x` and `export A=b` look like assignments and are words.
        | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            words.extend(walker.words(&word.value));
        }
        CommandPrefixOrSuffixItem::IoRedirect(item) => {
            *stdin = redirect(walker, item).or(stdin.take());
        }
        CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
            walker.walk_unseen(|walker| walker.in_subshell(|walker| walker.list(&shell.list)));
            // A pipe's name: no file of the project.
            words.push(ShellWord::plain("/dev/fd/63"));
        }
    }
}

/// Adds the target that a redirection writes; returns the standard input that it gives, if known.
pub(super) fn redirect(walker: &mut ScriptWalker, redirect: &IoRedirect) -> Option<String> {
    match redirect {
        IoRedirect::File(_, kind, target) => file_redirect(walker, kind, target),
        IoRedirect::OutputAndError(word, append) => {
            output(
                walker,
                &word.value,
                if *append { TargetEffect::Append } else { TargetEffect::Write },
            );
        }
        IoRedirect::HereString(_, word) => {
            let word = walker.whole_word(&word.value);
            return word.literal.then(|| word.text + "\n");
        }
        IoRedirect::HereDocument(_, document) => {
            if !document.requires_expansion {
                return Some(document.doc.value.clone());
            }
            let (word, expansion) = word::expand_heredoc(&document.doc.value, &walker.state);
            walker.substitutions(&expansion);
            return word.literal.then_some(word.text);
        }
    }
    None
}

fn file_redirect(
    walker: &mut ScriptWalker,
    kind: &IoFileRedirectKind,
    target: &IoFileRedirectTarget,
) {
    match (kind, target) {
        (_, IoFileRedirectTarget::Fd(_)) => {}
        (_, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => {
            walker.walk_unseen(|walker| walker.in_subshell(|walker| walker.list(&shell.list)));
        }
        (
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput,
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
        ) => drop(walker.whole_word(&word.value)),
        (
            IoFileRedirectKind::DuplicateOutput,
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
        ) => {
            // `>&2`, `>&-` and `>&3-` are descriptors, `>&file` is a file.
            if !word.value.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                output(walker, &word.value, TargetEffect::Write);
            }
        }
        (kind, IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word)) => {
            let effect = match kind {
                // `<>` overwrites in place, from the start.
                IoFileRedirectKind::Append | IoFileRedirectKind::ReadAndWrite => {
                    TargetEffect::Append
                }
                _ => TargetEffect::Write,
            };
            output(walker, &word.value, effect);
        }
    }
}

fn output(walker: &mut ScriptWalker, text: &str, what: TargetEffect) {
    let word = walker.whole_word(text);
    // Appending destroys the earlier state, too.
    walker.destroy(&word, what, false);
}
