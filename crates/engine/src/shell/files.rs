//! Commands that make, copy, move or remove files.
//!
//! Where a destination may be a folder or a file, both readings are targets: only the scan can
//! tell which one was real.

use super::TargetEffect;
use super::commands::ShellCall;
use super::options::{CommandOptions, OptionSpec};
use super::walk::ScriptWalker;
use super::word::ShellWord;

/// `rm`, `rmdir`, `unlink`, `shred`.
pub(super) fn remove(walker: &mut ScriptWalker, call: &ShellCall) {
    let spec = match call.name.as_str() {
        "shred" => OptionSpec { short: "ns", long: &["iterations", "size", "random-source"] },
        _ => OptionSpec::default(),
    };
    let options = CommandOptions::parse(&call.args, spec);
    let shreds = call.name == "shred" && !options.has(&["u", "remove"]);
    let effect = if shreds { TargetEffect::Write } else { TargetEffect::Delete };
    let recursive = call.name == "rm" && options.has(&["r", "R", "recursive"]);
    for word in &options.operands {
        walker.destroy(word, effect, recursive);
    }
}

/// `touch`, `mkdir`, `truncate` and the like.
pub(super) fn make(walker: &mut ScriptWalker, call: &ShellCall) {
    let truncates = call.name == "truncate";
    let spec = match call.name.as_str() {
        "touch" => OptionSpec { short: "dtr", long: &["date", "time", "reference"] },
        "truncate" => OptionSpec { short: "sr", long: &["size", "reference"] },
        _ => OptionSpec { short: "m", long: &["mode"] },
    };
    for word in &CommandOptions::parse(&call.args, spec).operands {
        if truncates {
            walker.destroy(word, TargetEffect::Write, false);
        } else {
            walker.change(word, TargetEffect::Write, false);
        }
    }
}

/// `chmod`, `chown`, `chgrp`: the first operand is no file.
pub(super) fn attributes(walker: &mut ScriptWalker, call: &ShellCall) {
    // `-x` is a mode, not an option, unless it is one of these.
    let is_mode = |word: &&ShellWord| {
        call.name == "chmod" && word.is_option() && !word.text.starts_with("--") && {
            word.text[1..].contains(['r', 'w', 'x', 'X', 's', 't'])
        }
    };
    let dashed = call.args.iter().any(|word| is_mode(&word));
    let args: Vec<ShellWord> = call.args.iter().filter(|word| !is_mode(word)).cloned().collect();
    let options =
        CommandOptions::parse(&args, OptionSpec { short: "", long: &["reference", "from"] });
    let recursive = options.has(&["R", "recursive"]);
    let own = usize::from(!dashed && !options.has(&["reference"]));
    for word in options.operands.iter().skip(own) {
        walker.destroy(word, TargetEffect::Write, recursive);
    }
}

/// `cp`, `mv`, `ln`, `install`: sources and one destination.
pub(super) fn copy(walker: &mut ScriptWalker, call: &ShellCall) {
    let spec = match call.name.as_str() {
        "install" => OptionSpec {
            short: "tmogS",
            long: &["target-directory", "mode", "owner", "group", "suffix"],
        },
        _ => OptionSpec { short: "tS", long: &["target-directory", "suffix"] },
    };
    let options = CommandOptions::parse(&call.args, spec);
    let directory = options.value(&["t", "target-directory"]).cloned();
    let mut sources = options.operands.as_slice();
    if call.name == "install" && options.has(&["d", "directory"]) {
        return sources.iter().for_each(|word| walker.change(word, TargetEffect::Write, false));
    }
    let moves = call.name == "mv";
    let links = call.name == "ln";
    if links || options.has(&["l", "link", "s", "symbolic-link"]) {
        walker.make_link();
    }
    odd_options(walker, call);
    let destination = match (directory, sources) {
        (Some(directory), _) => directory,
        // `ln -s ../x` makes `./x`.
        (None, [_]) if links => ShellWord::plain("."),
        (None, [rest @ .., last]) if !rest.is_empty() => {
            sources = rest;
            last.clone()
        }
        _ => return,
    };
    let recursive = moves || options.has(&["r", "R", "a", "recursive", "archive"]);
    let loses = !links || options.has(&["f", "force"]);
    if moves {
        for word in sources {
            walker.destroy(word, TargetEffect::Move, true);
        }
    }
    let file_only = options.has(&["T", "no-target-directory"]);
    // `lib/` may be the new name all the same: a folder can be moved to it.
    let into_only = options.has(&["t", "target-directory"]);
    let mut places = Vec::new();
    let is_here = destination.text == "." && !destination.below && !file_only;
    if !into_only && sources.len() == 1 && !is_here {
        places.push(destination.clone());
    }
    if !file_only {
        places.extend(sources.iter().map(|source| inside(&destination, source)));
    }
    if options.has(&["parents"]) {
        places.extend(sources.iter().map(|source| with_folders(&destination, source)));
    }
    // The earlier content is moved to a backup name, and the file of that name is lost.
    if options.has(&["b", "S", "backup", "suffix"]) {
        walker.destroy_unknown();
    }
    for place in places {
        if loses {
            walker.destroy(&place, TargetEffect::Write, recursive);
        } else {
            walker.change(&place, TargetEffect::Write, recursive);
        }
    }
}

/// An unknown long option, as the abbreviation `--suf`, may mean anything.
fn odd_options(walker: &mut ScriptWalker, call: &ShellCall) {
    const KNOWN: &str = "append archive best decompress directory fast force group interactive keep list mode \
         no-clobber no-target-directory output owner parents preserve quiet recursive reverse size \
         stdout suffix target-directory test unique update verbose";
    let is_odd = |word: &ShellWord| {
        let name = word.text.strip_prefix("--").map(|name| name.split('=').next().unwrap_or(name));
        let is_known = |name: &str| KNOWN.split_ascii_whitespace().any(|known| known == name);
        name.is_some_and(|name| !name.is_empty() && !is_known(name))
    };
    if call.args.iter().any(is_odd) {
        walker.destroy_unknown();
    }
}

/// Returns the path of `source` in the folder `destination`.
fn inside(destination: &ShellWord, source: &ShellWord) -> ShellWord {
    let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if source.below || matches!(name, "" | "." | "..") {
        return ShellWord { below: destination.literal, ..destination.clone() };
    }
    joined(destination, source, name)
}

/// Returns the path to which `cp --parents` copies `source`.
fn with_folders(destination: &ShellWord, source: &ShellWord) -> ShellWord {
    joined(destination, source, source.text.trim_matches('/'))
}

fn joined(destination: &ShellWord, source: &ShellWord, name: &str) -> ShellWord {
    let text = match destination.text.trim_end_matches('/') {
        "." => name.to_owned(),
        folder => format!("{folder}/{name}"),
    };
    let literal = destination.literal && source.literal;
    let expanded = destination.expanded || source.expanded;
    let glob = destination.glob || source.glob;
    ShellWord { text, literal, glob, below: destination.below, expanded }
}

/// `rsync`, `scp`: the last operand, unless it is on another machine.
pub(super) fn sync(walker: &mut ScriptWalker, call: &ShellCall) {
    const RSYNC: OptionSpec = OptionSpec {
        short: "efBTM",
        long: &[
            "rsh",
            "exclude",
            "include",
            "filter",
            "exclude-from",
            "include-from",
            "files-from",
        ],
    };
    const SCP: OptionSpec = OptionSpec { short: "cFiJloPSDX", long: &[] };
    let options = CommandOptions::parse(&call.args, if call.name == "scp" { SCP } else { RSYNC });
    if options.has(&["n", "dry-run", "list-only"]) && call.name == "rsync" {
        return;
    }
    let [sources @ .., destination] = options.operands.as_slice() else {
        return;
    };
    let deletes = call.args.iter().any(|word| word.text.starts_with("--delete"));
    if options.has(&["remove-source-files"]) {
        for word in sources {
            walker.destroy(word, TargetEffect::Delete, true);
        }
    }
    let remote = destination.text.contains(':');
    if !sources.is_empty() && !remote {
        let effect = if deletes { TargetEffect::Delete } else { TargetEffect::Write };
        walker.destroy(destination, effect, true);
    }
}

/// `dd if=a of=b`.
pub(super) fn dd(walker: &mut ScriptWalker, call: &ShellCall) {
    for word in &call.args {
        if let Some(path) = word.text.strip_prefix("of=") {
            let file = ShellWord { text: path.to_owned(), ..word.clone() };
            walker.destroy(&file, TargetEffect::Write, false);
        } else if !word.literal {
            walker.destroy_unknown();
        }
    }
}

/// `tee`, `sponge`.
pub(super) fn tee(walker: &mut ScriptWalker, call: &ShellCall) {
    let options = CommandOptions::parse(&call.args, OptionSpec::default());
    let appends = options.has(&["a", "append"]);
    let effect = if appends { TargetEffect::Append } else { TargetEffect::Write };
    for word in &options.operands {
        walker.destroy(word, effect, false);
    }
}

/// Readers with an option to write their output: `sort -o`, `uniq IN OUT`.
pub(super) fn output(walker: &mut ScriptWalker, call: &ShellCall) {
    let spec = match call.name.as_str() {
        "shuf" => OptionSpec { short: "oin", long: &["output", "input-range", "head-count"] },
        "sort" => OptionSpec { short: "oktST", long: &["output", "key", "field-separator"] },
        "tree" => OptionSpec { short: "oLPIH", long: &[] },
        "uniq" => OptionSpec { short: "fsw", long: &["skip-fields", "skip-chars", "check-chars"] },
        _ => OptionSpec { short: "cglons", long: &[] },
    };
    let options = CommandOptions::parse(&call.args, spec);
    odd_options(walker, call);
    if matches!(call.name.as_str(), "shuf" | "sort" | "tree") {
        options
            .values(&["o", "output"])
            .for_each(|w| walker.destroy(w, TargetEffect::Write, false));
    } else if let Some(word) = options.operands.get(1) {
        walker.destroy(word, TargetEffect::Write, false);
    }
}

/// `split FILE PREFIX` makes files whose names begin with the prefix.
pub(super) fn split(walker: &mut ScriptWalker, call: &ShellCall) {
    let spec =
        OptionSpec { short: "abClnft", long: &["prefix", "suffix-length", "bytes", "lines"] };
    let options = CommandOptions::parse(&call.args, spec);
    let prefix = match call.name.as_str() {
        "split" => options.operands.get(1),
        _ => options.value(&["f", "prefix"]),
    };
    let text = prefix.map_or("x", |word| word.text.as_str());
    let literal = prefix.is_none_or(|word| word.literal);
    let expanded = prefix.is_some_and(|word| word.expanded);
    let made = ShellWord { text: format!("{text}*"), literal, glob: true, below: false, expanded };
    walker.destroy(&made, TargetEffect::Write, false);
}

/// `rename EXPRESSION FILES`: the new names are unknown.
pub(super) fn rename(walker: &mut ScriptWalker, call: &ShellCall) {
    for word in CommandOptions::parse(&call.args, OptionSpec::default()).operands.iter().skip(1) {
        walker.destroy(word, TargetEffect::Move, true);
    }
    walker.destroy_unknown();
}

/// `tar`: creating names the archive; the files that extracting writes are unknown.
pub(super) fn tar(walker: &mut ScriptWalker, call: &ShellCall) {
    let Some(first) = call.args.first() else {
        return;
    };
    let letters = first.text.trim_start_matches('-');
    let is_bundle = !first.text.starts_with("--") && !letters.contains(['.', '/', '=']);
    let others = &call.args[1..];
    let is_plain = |word: &ShellWord| !word.is_option() || word.text.len() == 2;
    let is_clear = is_bundle && !letters.contains('x') && others.iter().all(is_plain);
    let extracts = |word: &ShellWord| word.text == "-x" || !word.literal;
    if !is_clear || others.iter().any(extracts) {
        return walker.destroy_unknown();
    }
    if letters.contains('t') && !letters.contains(['c', 'r', 'u', 'A']) {
        return;
    }
    let after = |at: usize| call.args.get(at + 1).map(|word| word.text.as_str());
    let next = call.args.iter().position(|word| word.text == "-f").and_then(after);
    let first = after(0).filter(|_| letters.ends_with('f'));
    match next.or(first) {
        Some(path) => walker.destroy(&ShellWord::plain(path), TargetEffect::Write, false),
        None => walker.destroy_unknown(),
    }
}

/// `gzip FILE` replaces the file by `FILE.gz`.
pub(super) fn compress(walker: &mut ScriptWalker, call: &ShellCall) {
    let options = CommandOptions::parse(&call.args, OptionSpec { short: "S", long: &["suffix"] });
    odd_options(walker, call);
    if options.has(&["S", "suffix"]) {
        walker.destroy_unknown();
    }
    if options.has(&["c", "stdout", "t", "test", "l", "list"]) {
        return;
    }
    let suffix = match call.name.as_str() {
        "gzip" | "gunzip" => ".gz",
        "bzip2" | "bunzip2" => ".bz2",
        _ => ".xz",
    };
    let recursive = options.has(&["r", "recursive"]);
    for word in &options.operands {
        let other = match word.text.strip_suffix(suffix) {
            Some(stem) => stem.to_owned(),
            None => format!("{}{suffix}", word.text),
        };
        walker.destroy(word, TargetEffect::Delete, recursive);
        walker.destroy(&ShellWord { text: other, ..word.clone() }, TargetEffect::Write, recursive);
    }
}

/// `zip ARCHIVE FILES`, `unzip`.
pub(super) fn zip(walker: &mut ScriptWalker, call: &ShellCall) {
    let options = CommandOptions::parse(&call.args, OptionSpec { short: "bnixdP", long: &[] });
    match options.operands.first() {
        Some(archive) if call.name == "zip" => walker.destroy(archive, TargetEffect::Write, false),
        _ if options.has(&["l", "t", "p", "Z"]) => {}
        _ => walker.destroy_unknown(),
    }
    let is_long = |word: &ShellWord| word.is_option() && word.text.starts_with("--");
    if options.has(&["m", "O"]) || call.args.iter().any(is_long) {
        walker.destroy_unknown();
    }
}

/// Returns whether a long option may abbreviate one that writes, and is not a known option.
fn is_shortened(word: &ShellWord, known: &[&str]) -> bool {
    const BEGINS: &[&str] =
        &["alt", "app", "conf", "coo", "du", "et", "hs", "lib", "mir", "ou", "rec", "rem", "tr"];
    let long = word.text.strip_prefix("--").filter(|_| word.is_option());
    let name = long.map(|long| long.split('=').next().unwrap_or(long));
    let harmless = ["cookie", "output-dir", "retry", "trace-time"];
    name.is_some_and(|name| {
        BEGINS.iter().any(|begin| name.starts_with(begin))
            && !known.contains(&name)
            && !harmless.contains(&name)
    })
}

/// Options of `curl` whose value is a further file that it writes.
const CURL_LOGS: &[&str] =
    &["D", "dump-header", "c", "cookie-jar", "stderr", "trace", "trace-ascii", "hsts", "etag-save"];
/// Options of `wget` whose value is a further file that it writes.
const WGET_LOGS: &[&str] = &["o", "output-file", "a", "append-output"];

/// `curl -o FILE`, `wget -O FILE`.
pub(super) fn download(walker: &mut ScriptWalker, call: &ShellCall) {
    const CURL: OptionSpec = OptionSpec {
        short: "oHdXAbcDEeFKmTtuUwxyYzrQPC",
        long: &[
            "output",
            "header",
            "data",
            "request",
            "user-agent",
            "output-dir",
            "url",
            "user",
            "dump-header",
            "cookie-jar",
            "stderr",
            "trace",
            "trace-ascii",
            "hsts",
            "etag-save",
        ],
    };
    const WGET: OptionSpec = OptionSpec {
        short: "OoPaeitTUw",
        long: &["output-document", "output-file", "append-output", "header"],
    };
    let curl = call.name == "curl";
    let options = CommandOptions::parse(&call.args, if curl { CURL } else { WGET });
    let names: &[&str] = if curl { &["o", "output"] } else { &["O", "output-document"] };
    let logs = if curl { CURL_LOGS } else { WGET_LOGS };
    for word in options.values(names).chain(options.values(logs)).filter(|word| word.text != "-") {
        walker.destroy(word, TargetEffect::Write, false);
    }
    // The server or a config file chooses the file names.
    let chosen: &[&str] = if curl { &["O", "J", "K"] } else { &["N", "c", "m", "r", "x"] };
    let shortened = |word: &ShellWord| is_shortened(word, &[names, logs].concat());
    if options.has(chosen) || call.args.iter().any(shortened) {
        walker.destroy_unknown();
    }
}
