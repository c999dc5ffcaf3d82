//! Whitelist of command line shapes that are fully understood: they change only their targets.
//!
//! Any other command line opens a window on the whole project. Allowed are commands and options
//! that touch only the files that their words name, literal words, and no control flow but `&&`,
//! `||`, `;` and pipes. A `cd` may only come first, with nothing but `&&` after it; the caller
//! checks that its folder exists. The random test of programs (`tests/walks/programs.rs`) compares
//! this with real shells.

use brush_parser::ast::{
    AndOr, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundListItem,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, Program, SeparatorOperator,
    SimpleCommand,
};

use super::commands::system_command;
use super::{git, parse, script};

/// The precondition of a command line of an understood shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnderstoodShape {
    /// The folder of its leading `cd`, which must exist.
    pub enters: Option<String>,
}

/// Commands that change no file, with any arguments.
const READERS: &str = "basename cat cksum cmp comm cut df diff dirname du echo egrep expand false fgrep fold \
     grep head join jq ls md5sum nl nproc od paste printenv pwd readlink realpath rev seq \
     sha1sum sha224sum sha256sum sha512sum sleep stat strings sum tac tail tr true uname \
     unexpand wc which whoami";

/// Returns whether the words of a command have an understood form.
type FormCheck = fn(&[ShellArgument]) -> bool;

/// Commands of which some forms are understood.
const FORMS: &[(&str, FormCheck)] = &[
    ("[", builtin),
    ("awk", awk),
    ("chmod", chmod),
    ("cp", |words| operands(words, "fpv").is_some_and(|files| files.len() > 1)),
    ("find", find),
    ("git", git),
    ("mkdir", |words| operands(words, "pv").is_some()),
    ("mv", |words| operands(words, "fnv").is_some_and(|files| files.len() > 1)),
    ("printf", builtin),
    ("rg", |words| !words.iter().any(runs_a_program)),
    ("rm", |words| operands(words, "fRrv").is_some()),
    ("rmdir", |words| operands(words, "").is_some()),
    ("sed", sed),
    ("sort", |words| operands(words, "bfhnruV").is_some()),
    ("tee", |words| operands(words, "a").is_some()),
    ("test", builtin),
    ("touch", |words| operands(words, "").is_some()),
    ("uniq", |words| operands(words, "cdiu").is_some_and(|files| files.len() < 2)),
];

/// Analyses a command line; `None` if its shape is not understood.
pub(super) fn match_shape(text: &str) -> Option<UnderstoodShape> {
    let program = parse::parse_program(text)?;
    // Some agents wrap every command in `bash -lc`.
    if let Some(inner) = inner_script(&program) {
        return program_shape(&parse::parse_program(&inner)?);
    }
    program_shape(&program)
}

fn program_shape(program: &Program) -> Option<UnderstoodShape> {
    if replaces_what_it_used(program) {
        return None;
    }
    let items: Vec<_> = program.complete_commands.iter().flat_map(|list| &list.0).collect();
    let is_sequence = |item: &&CompoundListItem| matches!(item.1, SeparatorOperator::Sequence);
    if !items.iter().all(is_sequence) {
        return None;
    }
    if let [only] = items.as_slice()
        && let Some(folder) = folder_of_cd(&only.0.first)
    {
        let follows = |next: &AndOr| matches!(next, AndOr::And(pipeline) if is_plain(pipeline));
        let is_whole = !only.0.additional.is_empty() && only.0.additional.iter().all(follows);
        return is_whole.then_some(UnderstoodShape { enters: Some(folder) });
    }
    let is_plain_item = |item: &&CompoundListItem| {
        let additional = item.0.additional.iter();
        is_plain(&item.0.first)
            && additional.map(|(AndOr::And(next) | AndOr::Or(next))| next).all(is_plain)
    };
    items.iter().all(is_plain_item).then(UnderstoodShape::default)
}

/// Returns whether `mv` or `sed -i` may replace a symlink that another command wrote through: then
/// the other's target is unknown afterwards. A link that is only removed is a target itself.
fn replaces_what_it_used(program: &Program) -> bool {
    let lists = program.complete_commands.iter().flat_map(|list| &list.0);
    let pipelines = lists.flat_map(|item| {
        let additional = item.0.additional.iter();
        let additional = additional.map(|(AndOr::And(next) | AndOr::Or(next))| next);
        std::iter::once(&item.0.first).chain(additional)
    });
    let simple = |command: &'_ Command| match command {
        Command::Simple(simple) => Some(words_in(simple)),
        _ => None,
    };
    let commands = pipelines.flat_map(|pipeline| &pipeline.seq).filter_map(simple);
    let commands: Vec<Vec<String>> = commands.collect();
    let replaces = |words: &[String]| {
        let name = words.first().map(String::as_str);
        name == Some("mv") || (name == Some("sed") && words.iter().any(|word| word == "-i"))
    };
    let shares = |words: &[String], others: &[String]| {
        words.iter().skip(1).any(|word| others.iter().skip(1).any(|other| other == word))
    };
    commands.iter().enumerate().any(|(at, words)| {
        let mut others = commands.iter().enumerate().filter(|(other, _)| *other != at);
        replaces(words) && others.any(|(_, others)| shares(words, others))
    })
}

/// Returns the name of a command, and the file names of all paths in its words and redirections.
fn words_in(command: &SimpleCommand) -> Vec<String> {
    let last_name = |word: &str| {
        let plain = word.trim_matches(['"', '\'']);
        let name = plain.trim_end_matches('/').rsplit('/').next().unwrap_or(plain);
        name.replace(['\\', '"', '\''], "")
    };
    let name = command.word_or_name.as_ref().map(|word| last_name(&word.value));
    let items = command.suffix.iter().flat_map(|suffix| &suffix.0);
    let words = items.filter_map(|item| match item {
        CommandPrefixOrSuffixItem::Word(word)
        | CommandPrefixOrSuffixItem::AssignmentWord(_, word)
        | CommandPrefixOrSuffixItem::IoRedirect(
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word))
            | IoRedirect::OutputAndError(word, _),
        ) => Some(last_name(&word.value)),
        _ => None,
    });
    name.into_iter().chain(words).collect()
}

/// The folder of `cd FOLDER`.
fn folder_of_cd(pipeline: &Pipeline) -> Option<String> {
    let (name, words) = plain_words(only_simple(pipeline)?)?;
    match (name.as_str(), words.as_slice()) {
        ("cd", [ShellArgument::Literal(folder)])
            if !folder.is_empty() && !folder.starts_with('-') =>
        {
            Some(folder.clone())
        }
        _ => None,
    }
}

/// The text of `bash -lc TEXT`, if that is all.
fn inner_script(program: &Program) -> Option<String> {
    let [list] = program.complete_commands.as_slice() else { return None };
    let [CompoundListItem(item, SeparatorOperator::Sequence)] = list.0.as_slice() else {
        return None;
    };
    let (name, words) = plain_words(only_simple(&item.first)?)?;
    match (system_command(&name)?, words.as_slice()) {
        ("bash" | "sh" | "zsh", [ShellArgument::Literal(flag), ShellArgument::Literal(text)])
            if matches!(flag.as_str(), "-c" | "-lc") && item.additional.is_empty() =>
        {
            Some(text.clone())
        }
        _ => None,
    }
}

fn only_simple(pipeline: &Pipeline) -> Option<&SimpleCommand> {
    match pipeline.seq.as_slice() {
        [Command::Simple(simple)] if is_unprefixed(pipeline) => Some(simple),
        _ => None,
    }
}

fn is_unprefixed(pipeline: &Pipeline) -> bool {
    pipeline.timed.is_none() && !pipeline.bang
}

/// The name and words of a command without redirections.
fn plain_words(command: &SimpleCommand) -> Option<(String, Vec<ShellArgument>)> {
    let has_redirection = command
        .suffix
        .iter()
        .flat_map(|suffix| &suffix.0)
        .any(|item| matches!(item, CommandPrefixOrSuffixItem::IoRedirect(_)));
    if has_redirection { None } else { words_of(command) }
}

/// The name and words of a command whose redirections are plain ones.
fn words_of(command: &SimpleCommand) -> Option<(String, Vec<ShellArgument>)> {
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    if !prefix.into_iter().all(is_plain_setting) {
        return None;
    }
    let ShellArgument::Literal(name) = ShellArgument::read(&command.word_or_name.as_ref()?.value)?
    else {
        return None;
    };
    let mut words = Vec::new();
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            CommandPrefixOrSuffixItem::Word(word)
            // `grep a=b` has a word that looks like an assignment.
            | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.push(ShellArgument::read(&word.value)?);
            }
            CommandPrefixOrSuffixItem::IoRedirect(redirect) if is_plain_redirect(redirect) => {}
            _ => return None,
        }
    }
    Some((name, words))
}

/// `LC_ALL=C` and the like before a command: they change what it prints, not what it does.
fn is_plain_setting(item: &CommandPrefixOrSuffixItem) -> bool {
    let CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item else { return false };
    let (AssignmentName::VariableName(name), AssignmentValue::Scalar(value)) =
        (&assignment.name, &assignment.value)
    else {
        return false;
    };
    let is_known = matches!(name.as_str(), "LANG" | "TZ" | "NO_COLOR" | "TERM");
    let is_literal = matches!(ShellArgument::read(&value.value), Some(ShellArgument::Literal(_)));
    (is_known || name.starts_with("LC_")) && is_literal && !assignment.append
}

fn is_plain(pipeline: &Pipeline) -> bool {
    // With `!` or `time`, only commands that read are understood.
    let only_reads = !is_unprefixed(pipeline);
    let is_plain = |command: &Command| match command {
        Command::Simple(simple) => words_of(simple).is_some_and(|(name, words)| {
            system_command(&name)
                .is_some_and(|name| (is_reader(name) || !only_reads) && is_known(name, &words))
        }),
        _ => false,
    };
    pipeline.seq.iter().all(is_plain)
}

/// Returns whether a command, in its understood forms, changes no file.
fn is_reader(name: &str) -> bool {
    let among = |names: &str| names.split_ascii_whitespace().any(|reader| reader == name);
    among(READERS) || among("[ awk command find git rg test")
}

fn is_known(name: &str, words: &[ShellArgument]) -> bool {
    if READERS.split_ascii_whitespace().any(|reader| reader == name) {
        return true;
    }
    if name == "command" {
        return command(words);
    }
    let may_be_option = words.contains(&ShellArgument::Pattern);
    let form = FORMS.iter().find(|(known, _)| *known == name).filter(|_| !may_be_option);
    form.is_some_and(|(_, is_understood)| is_understood(words))
}

/// `command -v NAME`, `command ls`.
fn command(words: &[ShellArgument]) -> bool {
    match words {
        [ShellArgument::Literal(option), names @ ..] if matches!(option.as_str(), "-v" | "-V") => {
            names.iter().all(|name| name.literal().is_some())
        }
        [ShellArgument::Literal(name), rest @ ..] => {
            name != "command" && is_reader(name) && is_known(name, rest)
        }
        _ => false,
    }
}

fn is_plain_redirect(redirect: &IoRedirect) -> bool {
    let is_file = |text: &str| matches!(ShellArgument::read(text), Some(ShellArgument::Literal(_)));
    match redirect {
        IoRedirect::File(_, kind, target) => match (kind, target) {
            (
                IoFileRedirectKind::Read
                | IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::Clobber,
                IoFileRedirectTarget::Filename(word),
            ) => is_file(&word.value),
            (
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Fd(_),
            ) => true,
            (
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Duplicate(word),
            ) => word.value.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        },
        IoRedirect::OutputAndError(word, _) | IoRedirect::HereString(_, word) => {
            is_file(&word.value)
        }
        IoRedirect::HereDocument(_, document) => {
            !document.requires_expansion || !document.doc.value.contains(['$', '`', '\\'])
        }
    }
}

/// One word of a command.
#[derive(Debug, PartialEq, Eq)]
enum ShellArgument {
    /// It means itself.
    Literal(String),
    /// A glob that can only expand to paths: it begins with a letter, `.`, `/` or the home.
    Paths,
    /// Any other glob: it may also expand to an option.
    Pattern,
}

impl ShellArgument {
    /// Removes quotes; `None` if anything in the word is expanded, but for a plain pattern.
    fn read(word: &str) -> Option<Self> {
        // Alone they are a command and the end of it, not a pattern.
        if matches!(word, "[" | "]") {
            return Some(Self::Literal(word.to_owned()));
        }
        let mut text = String::new();
        let mut is_pattern = false;
        let mut chars = word.chars();
        while let Some(c) = chars.next() {
            match c {
                '\'' => loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => text.push(inner),
                    }
                },
                '"' => loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => text.push_str(&quoted_backslash(&mut chars)?),
                        inner => text.push(inner),
                    }
                },
                '\\' => text.push(chars.next().filter(|next| *next != '\n')?),
                '*' | '?' | '[' | ']' => {
                    is_pattern = true;
                    text.push(c);
                }
                '$' | '`' | '{' | '}' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | '^' => {
                    return None;
                }
                // The home: a path, whatever its name.
                '~' if text.is_empty() && matches!(chars.clone().next(), None | Some('/')) => {
                    is_pattern = true;
                    text.push(c);
                }
                '~' | '=' | '#' if text.is_empty() => return None,
                c if c.is_whitespace() => return None,
                c => text.push(c),
            }
        }
        if !is_pattern {
            return Some(Self::Literal(text));
        }
        let begins_as_path =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '~');
        Some(if text.starts_with(begins_as_path) { Self::Paths } else { Self::Pattern })
    }

    fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Paths | Self::Pattern => None,
        }
    }
}

/// Decodes a backslash and the next character in double quotes; `None` for a line continuation.
fn quoted_backslash(chars: &mut std::str::Chars<'_>) -> Option<String> {
    match chars.next()? {
        '\n' => None,
        next @ ('$' | '`' | '"' | '\\') => Some(next.to_string()),
        next => Some(format!("\\{next}")),
    }
}

/// The operands of a command that has no other options than these letters, all of them literal.
fn operands<'a>(words: &'a [ShellArgument], letters: &str) -> Option<Vec<&'a str>> {
    let mut operands = Vec::new();
    for word in words {
        let text = word.literal()?;
        match text.strip_prefix('-') {
            Some(given) if !given.is_empty() => {
                given.chars().all(|letter| letters.contains(letter)).then_some(())?;
            }
            _ => operands.push(text),
        }
    }
    operands.iter().all(|text| !text.is_empty()).then_some(operands)
}

/// Built-ins that evaluate a subscript if there is one: `test -v 'a[$(rm x)]'`.
fn builtin(words: &[ShellArgument]) -> bool {
    let is_plain = |text: &str| text == "]" || !text.contains(['$', '`', '[']);
    let is_word = |word: &ShellArgument| word.literal().is_some_and(is_plain);
    words.iter().all(is_word) && !words.iter().any(|word| word.literal() == Some("-v"))
}

fn chmod(words: &[ShellArgument]) -> bool {
    let Some((ShellArgument::Literal(mode), files)) = words.split_first() else { return false };
    let is_mode = |mode: &str| {
        mode.bytes().all(|b| b.is_ascii_digit())
            || (mode.contains(['+', '=']) && mode.bytes().all(|b| b"ugoa+=rwxX,".contains(&b)))
    };
    is_mode(mode) && operands(files, "").is_some()
}

/// `rg --pre COMMAND` and the like.
fn runs_a_program(word: &ShellArgument) -> bool {
    word.literal().is_some_and(|text| text.starts_with("--pre") || text.starts_with("--host"))
}

/// `find` with tests alone.
fn find(words: &[ShellArgument]) -> bool {
    const ALONE: &str = "! ( ) -a -and -depth -empty -executable -ls -mount -not -o -or -print -print0 -prune \
         -quit -readable -writable -xdev";
    const VALUED: &str = "-group -iname -ipath -iregex -maxdepth -mindepth -mmin -mtime -name -path -perm \
         -printf -regex -size -type -user -wholename";
    let among = |names: &str, text: &str| names.split_ascii_whitespace().any(|name| name == text);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some(text) if among(VALUED, text) || is_newer(text) => drop(words.next()),
            Some(text) if among(ALONE, text) || !text.starts_with('-') => {}
            _ => return false,
        }
    }
    true
}

/// `-newer`, and with two letters for the times that are compared, as `-newermt`.
fn is_newer(text: &str) -> bool {
    let times = text.strip_prefix("-newer").map(str::as_bytes);
    times.is_some_and(|times| match times {
        [] => true,
        [own, other] => b"aBcm".contains(own) && b"aBcmt".contains(other),
        _ => false,
    })
}

/// `awk [-F x] 'PROGRAM' FILES` with a program that can only print.
fn awk(words: &[ShellArgument]) -> bool {
    let words = match words {
        [ShellArgument::Literal(option), _, rest @ ..] if option == "-F" => rest,
        [ShellArgument::Literal(option), rest @ ..] if option.starts_with("-F") => rest,
        words => words,
    };
    let Some((ShellArgument::Literal(program), files)) = words.split_first() else { return false };
    let is_file = |word: &ShellArgument| word.literal().is_none_or(|text| !text.starts_with('-'));
    let can_only_print = !program.starts_with('-')
        && !program.contains(['>', '|', '@'])
        && !program.contains("system")
        && !program.contains("getline");
    can_only_print && files.iter().all(is_file)
}

/// `sed` with one command that prints, deletes or substitutes, in place or not.
fn sed(words: &[ShellArgument]) -> bool {
    let mut in_place = false;
    let mut rest = Vec::new();
    for word in words {
        match word.literal() {
            Some("-n" | "-E" | "-r") => {}
            Some("-i") => in_place = true,
            Some(text) if text.starts_with('-') => return false,
            _ => rest.push(word),
        }
    }
    let Some((ShellArgument::Literal(script), files)) = rest.split_first() else { return false };
    let is_literal = |word: &&ShellArgument| word.literal().is_some_and(|text| !text.is_empty());
    script::is_single_sed(script) && (!in_place || files.iter().all(is_literal))
}

/// `git` with subcommands that change neither files nor refs.
fn git(words: &[ShellArgument]) -> bool {
    const READERS: &str = "blame cat-file describe diff grep log ls-files ls-tree merge-base name-rev rev-list \
         rev-parse shortlog show status";
    let mut words = words;
    loop {
        words = match words {
            [ShellArgument::Literal(option), rest @ ..] if option == "--no-pager" => rest,
            [ShellArgument::Literal(option), ShellArgument::Literal(_), rest @ ..]
                if option == "-C" =>
            {
                rest
            }
            _ => break,
        };
    }
    let Some((ShellArgument::Literal(name), words)) = words.split_first() else { return false };
    // git accepts any unique abbreviation of an option: `--outp=f` writes a file.
    let writes = |text: &str| {
        git::opens_pager(name, text)
            || text.starts_with("-O")
            || text.starts_with("--ext")
            || (text.starts_with("--o") && text != "--oneline")
    };
    let texts: Vec<_> = words.iter().map(|word| word.literal().unwrap_or("pattern")).collect();
    match (name.as_str(), texts.as_slice()) {
        ("add", texts) => {
            let is_known =
                |text: &&str| !text.starts_with('-') || matches!(*text, "-A" | "-u" | "--");
            texts.iter().all(is_known)
        }
        ("branch", texts) => {
            let lists = ["-a", "-r", "-v", "-vv", "--list", "--show-current"];
            texts.iter().all(|text| lists.contains(text))
        }
        ("remote", [] | ["-v"])
        | ("stash", ["list"])
        | ("tag", [] | ["-l" | "--list"])
        | ("config", ["--get", _] | ["--list" | "-l"]) => true,
        (name, texts) => {
            READERS.split_ascii_whitespace().any(|reader| reader == name)
                && !texts.iter().any(|text| writes(text))
        }
    }
}
