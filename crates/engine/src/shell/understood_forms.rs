//! The commands and options of the whitelist: what they change is named by their words.

use super::argument::ShellArgument;
use super::{git, script};

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

/// Returns whether a command, in its understood forms, changes no file.
pub(super) fn is_reader(name: &str) -> bool {
    let among = |names: &str| names.split_ascii_whitespace().any(|reader| reader == name);
    among(READERS) || among("[ awk command find git rg test")
}

/// Returns whether a command changes only the files that these words name.
pub(super) fn is_known(name: &str, words: &[ShellArgument]) -> bool {
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
