//! Commands that take a program or a patch: `sed`, `perl`, `awk`, `patch`.
//!
//! Their programs are only checked for constructs that could write elsewhere: a program that is
//! not plainly harmless destroys unknown files.

use super::TargetEffect;
use super::commands::ShellCall;
use super::options::{CommandOptions, OptionSpec};
use super::state::WorkingFolder;
use super::walk::ScriptWalker;
use super::word::ShellWord;
use crate::tool::{EditKind, parse_patch};

/// Options of `sed` that write nothing by themselves.
const SED_OPTIONS: &str = "E binary debug e expression help i l line-length n null-data posix quiet r \
     regexp-extended s sandbox separate silent u unbuffered version z zero-terminated";

/// `sed [-i[SUFFIX]] [-e SCRIPT | -f FILE | SCRIPT] FILES`.
pub(super) fn sed(walker: &mut ScriptWalker, call: &ShellCall) {
    let mut words = call.args.clone();
    // BSD writes `-i ''`; an empty word is no file anywhere else.
    words.retain(|word| !(word.literal && word.text.is_empty()));
    let in_place: Vec<String> = words.iter().filter_map(in_place_suffix).collect();
    let plain: Vec<ShellWord> =
        words.iter().filter(|word| in_place_suffix(word).is_none()).cloned().collect();
    let spec = OptionSpec { short: "efl", long: &["expression", "file", "line-length"] };
    let options = CommandOptions::parse(&plain, spec);
    let given = options.has(&["e", "expression", "f", "file"]);
    let clustered = options.has(&["i", "I"]);
    // A script in a file, and unknown options, may write anywhere.
    if !options.only(SED_OPTIONS) {
        walker.destroy_unknown();
    }
    let (own, files) = options.operands.split_at(usize::from(!given).min(options.operands.len()));
    let scripts = options.values(&["e", "expression"]).chain(own);
    let harmless = |word: &ShellWord| word.exact().is_some_and(is_plain_sed) || is_plain_glob(word);
    let may_write = |word: &ShellWord| !harmless(word) && word.text.contains(['w', 'W', 'e']);
    if scripts.into_iter().any(may_write) {
        walker.destroy_unknown();
    }
    if in_place.is_empty() && !clustered {
        return;
    }
    for file in files {
        walker.destroy(file, TargetEffect::Write, false);
        for suffix in in_place.iter().filter(|suffix| !suffix.is_empty()) {
            backup(walker, file, suffix);
        }
    }
}

/// A script such as `s/a*/b/` written without quotes looks like a pattern.
fn is_plain_glob(word: &ShellWord) -> bool {
    word.literal && word.glob && is_plain_sed(&word.text.replace('\\', ""))
}

/// `-i`, `-i.bak`, `-ni`, `--in-place=.bak`: the suffix.
fn in_place_suffix(word: &ShellWord) -> Option<String> {
    if !word.is_option() {
        return None;
    }
    if let Some(long) = word.text.strip_prefix("--") {
        // Any unique abbreviation means the same.
        let (name, suffix) = long.split_once('=').unwrap_or((long, ""));
        return (!name.is_empty() && "in-place".starts_with(name)).then(|| suffix.to_owned());
    }
    let (before, suffix) = word.text.strip_prefix('-')?.split_once('i')?;
    before.bytes().all(|b| b"nrEszu".contains(&b)).then(|| suffix.to_owned())
}

fn backup(walker: &mut ScriptWalker, file: &ShellWord, suffix: &str) {
    if suffix.contains('*') {
        return walker.destroy_unknown();
    }
    let text = format!("{}{suffix}", file.text);
    walker.destroy(&ShellWord { text, ..file.clone() }, TargetEffect::Write, false);
}

/// Returns whether a script neither writes a file nor runs a command (`w`, `W`, `e`, such flags).
fn is_plain_sed(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest
            .trim_start_matches(|c: char| c.is_whitespace() || "{};!,0123456789$~+".contains(c));
        let Some(command) = rest.chars().next() else {
            return true;
        };
        rest = &rest[command.len_utf8()..];
        let tail = match command {
            '/' => skip_part(rest, '/'),
            '\\' => rest.chars().next().and_then(|mark| skip_part(&rest[mark.len_utf8()..], mark)),
            's' | 'y' => substitution(rest),
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                Some(rest.split_once('\n').map_or("", |(_, tail)| tail))
            }
            // Some versions end a label at a blank or `;`, so what follows may be a command.
            ':' | 'b' | 't' | 'T' => {
                let label = rest.trim_start_matches([' ', '\t']);
                Some(label.trim_start_matches(|c: char| !c.is_whitespace() && c != ';' && c != '}'))
            }
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x' | '='
            | 'l' | 'z' | 'I' => Some(rest),
            _ => None,
        };
        match tail {
            Some(tail) => rest = tail,
            None => return false,
        }
    }
}

/// Returns whether a script is one command that prints, deletes or substitutes.
pub(super) fn is_single_sed(script: &str) -> bool {
    let is_address = |c: char| c.is_ascii_digit() || c == ',' || c == '$';
    let rest = match script.strip_prefix('/') {
        Some(pattern) => skip_part(pattern, '/').unwrap_or("?"),
        None => script.trim_start_matches(is_address),
    };
    match rest.strip_prefix('s') {
        Some(parts) => {
            parts.starts_with(['/', ',', '|', '#', ':', '@']) && is_whole_substitution(parts)
        }
        None => matches!(rest, "p" | "d" | "q" | "="),
    }
}

fn is_whole_substitution(parts: &str) -> bool {
    substitution(parts).is_some_and(str::is_empty)
}

/// The text after `s/a/b/flags`, if no flag writes or runs.
fn substitution(text: &str) -> Option<&str> {
    let mark = text.chars().next()?;
    let replacement = skip_part(&text[mark.len_utf8()..], mark)?;
    let flags = skip_part(replacement, mark)?;
    let tail = flags.trim_start_matches(|c: char| "gpiIMm0123456789".contains(c));
    (!tail.starts_with(['w', 'e'])).then_some(tail)
}

/// The text after the next `mark` that is not escaped.
fn skip_part(text: &str, mark: char) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return Some(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}

/// `perl -i -pe 'PROGRAM' FILES`: the files that are edited in place.
pub(super) fn perl(walker: &mut ScriptWalker, call: &ShellCall) {
    let mut files = Vec::new();
    let mut in_place = None;
    let mut words = call.args.iter();
    while let Some(word) = words.next() {
        match word.text.strip_prefix('-').filter(|_| word.is_option() && files.is_empty()) {
            Some(letters) => {
                if let Some((before, suffix)) = letters.split_once('i')
                    && before.bytes().all(|b| b"0pnlaws".contains(&b))
                {
                    let suffix = suffix.trim_end_matches(['p', 'e', 'n']);
                    in_place = Some(if suffix.starts_with('.') { suffix } else { "" });
                }
                if letters.ends_with(['e', 'E']) {
                    words.next();
                }
            }
            None => files.push(word),
        }
    }
    walker.lose_track();
    for file in &files {
        walker.endanger(file, TargetEffect::Write, false);
    }
    let Some(suffix) = in_place else { return };
    for file in files {
        walker.destroy(file, TargetEffect::Write, false);
        if !suffix.is_empty() {
            backup(walker, file, suffix);
        }
    }
}

/// `awk 'PROGRAM' FILES`: a program may print to files and run commands.
pub(super) fn awk(walker: &mut ScriptWalker, call: &ShellCall) {
    let spec =
        OptionSpec { short: "Fvfilo", long: &["file", "assign", "field-separator", "include"] };
    let options = CommandOptions::parse(&call.args, spec);
    let program = options.operands.first();
    let may_write = |word: &ShellWord| {
        let text = word.text.as_str();
        !word.literal || text.contains(['>', '|', '@']) || text.contains("system")
    };
    // The program is in a file, or comes from another part of the text.
    if !options.only("F v assign field-separator") {
        walker.lose_track();
    }
    if options.has(&["i", "inplace"]) || program.is_some_and(may_write) {
        walker.destroy_unknown();
    }
}

/// `yq`: a reader without `-i`.
pub(super) fn yq(walker: &mut ScriptWalker, call: &ShellCall) {
    let options = CommandOptions::parse(&call.args, OptionSpec { short: "pIo", long: &[] });
    if options.has(&["i", "inplace"]) {
        let files = options.operands.iter().skip(1);
        files.for_each(|file| walker.destroy(file, TargetEffect::Write, false));
    }
    if options.has(&["s", "split-exp"]) {
        walker.destroy_unknown();
    }
}

/// `ed FILE`: it edits the file, and could do anything.
pub(super) fn ed(walker: &mut ScriptWalker, call: &ShellCall) {
    for file in CommandOptions::parse(&call.args, OptionSpec { short: "pc", long: &[] }).operands {
        walker.destroy(&file, TargetEffect::Write, false);
    }
    // `w NAME` writes another one.
    walker.destroy_unknown();
}

/// Options of `patch` that make no backups.
const PATCH_OPTIONS: &str = "E F N R binary d directory f force forward fuzz i input l o output p quiet r \
     reject-file remove-empty-files reverse s silent strip t u unified verbose";

/// `patch [-pN] [FILE [PATCH]]`.
pub(super) fn patch(walker: &mut ScriptWalker, call: &ShellCall) {
    let spec = OptionSpec {
        short: "pidoBDFgrVYz",
        long: &["strip", "input", "directory", "output", "fuzz", "reject-file"],
    };
    let options = CommandOptions::parse(&call.args, spec);
    if options.has(&["dry-run", "C"]) {
        return;
    }
    // Other options may make backups, whose names are unknown.
    if !options.only(PATCH_OPTIONS) {
        walker.destroy_unknown();
    }
    let folder = walker.state.folder.clone();
    if options.has(&["d", "directory"]) {
        walker.state.folder = WorkingFolder::Unknown;
    }
    let strip = options.value(&["p", "strip"]).and_then(|word| word.text.parse().ok());
    if let Some(rejects) = options.value(&["r", "reject-file"]) {
        walker.destroy(rejects, TargetEffect::Write, false);
    }
    let output = options.value(&["o", "output"]).or(options.operands.first()).cloned();
    match (output, &call.stdin) {
        (Some(file), _) => patch_file(walker, &file),
        (None, Some(text)) => {
            add_patch_targets(walker, text, strip.unwrap_or(0));
            for beside in ["*.orig", "*.rej"] {
                let word = ShellWord { glob: true, ..ShellWord::plain(beside) };
                walker.endanger(&word, TargetEffect::Write, false);
            }
        }
        (None, None) => walker.destroy_unknown(),
    }
    walker.state.folder = folder;
}

fn patch_file(walker: &mut ScriptWalker, file: &ShellWord) {
    walker.destroy(file, TargetEffect::Write, false);
    for suffix in [".orig", ".rej"] {
        let beside = ShellWord { text: format!("{}{suffix}", file.text), ..file.clone() };
        walker.destroy(&beside, TargetEffect::Write, false);
    }
}

/// `apply_patch <<'EOF'`, `apply_patch "$TEXT"`.
pub(super) fn apply_patch(walker: &mut ScriptWalker, call: &ShellCall) {
    let argument = call.args.first().and_then(ShellWord::exact).map(str::to_owned);
    match argument.or_else(|| call.stdin.clone()) {
        Some(text) => add_patch_targets(walker, &text, 0),
        None => walker.destroy_unknown(),
    }
}

/// Adds every file that a patch names; `strip` leading folders are removed, beyond `a/` and `b/`.
pub(super) fn add_patch_targets(walker: &mut ScriptWalker, text: &str, strip: usize) {
    let edits = parse_patch(text);
    if edits.is_empty() || text.contains("\nIndex: ") {
        walker.destroy_unknown();
    }
    // The parser has already taken `a/` and `b/` off.
    let levels = strip.saturating_sub(1);
    let bare = |path: &str| {
        ShellWord::plain(path.splitn(levels.saturating_add(1), '/').last().unwrap_or(path))
    };
    for edit in &edits {
        // Options may change its folder, or strip more components.
        let name = edit.path.rsplit('/').next().unwrap_or(&edit.path);
        walker.endanger(&ShellWord::plain(name), TargetEffect::Write, false);
        match &edit.edit {
            EditKind::Delete => walker.destroy(&bare(&edit.path), TargetEffect::Delete, false),
            EditKind::MoveTo { to, .. } => {
                walker.destroy(&bare(&edit.path), TargetEffect::Move, false);
                walker.destroy(&bare(to), TargetEffect::Write, false);
            }
            _ => walker.destroy(&bare(&edit.path), TargetEffect::Write, false),
        }
    }
}
