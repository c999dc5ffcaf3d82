//! Commands that make, copy, move or remove files.
//!
//! Where a destination may be a folder or a file, both readings are targets: only the scan can
//! tell which one was real.

use super::Effect;
use super::commands::Call;
use super::options::{Options, Spec};
use super::walk::Walker;
use super::word::Word;

/// `rm`, `rmdir`, `unlink`, `shred`.
pub(super) fn remove(walker: &mut Walker, call: &Call) {
    let spec = match call.name.as_str() {
        "shred" => Spec { short: "ns", long: &["iterations", "size", "random-source"] },
        _ => Spec::default(),
    };
    let options = Options::parse(&call.args, spec);
    let shreds = call.name == "shred" && !options.has(&["u", "remove"]);
    let effect = if shreds { Effect::Write } else { Effect::Delete };
    let recursive = call.name == "rm" && options.has(&["r", "R", "recursive"]);
    for word in &options.operands {
        walker.destroy(word, effect, recursive);
    }
}

/// `touch`, `mkdir`, `truncate` and the like.
pub(super) fn make(walker: &mut Walker, call: &Call) {
    let truncates = call.name == "truncate";
    let spec = match call.name.as_str() {
        "touch" => Spec { short: "dtr", long: &["date", "time", "reference"] },
        "truncate" => Spec { short: "sr", long: &["size", "reference"] },
        _ => Spec { short: "m", long: &["mode"] },
    };
    for word in &Options::parse(&call.args, spec).operands {
        if truncates {
            walker.destroy(word, Effect::Write, false);
        } else {
            walker.change(word, Effect::Write, false);
        }
    }
}

/// `chmod`, `chown`, `chgrp`: the first operand is not a file.
pub(super) fn attributes(walker: &mut Walker, call: &Call) {
    // `-x` is a mode, not an option, unless it is one of these.
    let is_mode = |word: &&Word| {
        call.name == "chmod" && word.is_option() && !word.text.starts_with("--") && {
            word.text[1..].contains(['r', 'w', 'x', 'X', 's', 't'])
        }
    };
    let dashed = call.args.iter().any(|word| is_mode(&word));
    let args: Vec<Word> = call.args.iter().filter(|word| !is_mode(word)).cloned().collect();
    let options = Options::parse(&args, Spec { short: "", long: &["reference", "from"] });
    let recursive = options.has(&["R", "recursive"]);
    let own = usize::from(!dashed && !options.has(&["reference"]));
    for word in options.operands.iter().skip(own) {
        walker.change(word, Effect::Write, recursive);
    }
}

/// `cp`, `mv`, `ln`, `install`: sources and one destination.
pub(super) fn copy(walker: &mut Walker, call: &Call) {
    let spec = match call.name.as_str() {
        "install" => {
            Spec { short: "tmogS", long: &["target-directory", "mode", "owner", "group", "suffix"] }
        }
        _ => Spec { short: "tS", long: &["target-directory", "suffix"] },
    };
    let options = Options::parse(&call.args, spec);
    let directory = options.value(&["t", "target-directory"]).cloned();
    let mut sources = options.operands.as_slice();
    if call.name == "install" && options.has(&["d", "directory"]) {
        return sources.iter().for_each(|word| walker.change(word, Effect::Write, false));
    }
    let moves = call.name == "mv";
    let links = call.name == "ln";
    let destination = match (directory, sources) {
        (Some(directory), _) => directory,
        // `ln -s ../x` makes `./x`.
        (None, [_]) if links => Word::plain("."),
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
            walker.destroy(word, Effect::Move, true);
        }
    }
    let into_only = options.has(&["t", "target-directory"]) || destination.text.ends_with('/');
    let file_only = options.has(&["T", "no-target-directory"]);
    let mut places = Vec::new();
    if !into_only && sources.len() == 1 && destination.text != "." {
        places.push(destination.clone());
    }
    if !file_only {
        places.extend(sources.iter().map(|source| inside(&destination, source)));
    }
    for place in places {
        if loses {
            walker.destroy(&place, Effect::Write, recursive);
        } else {
            walker.change(&place, Effect::Write, recursive);
        }
    }
}

/// Where `source` lands in the folder `destination`.
fn inside(destination: &Word, source: &Word) -> Word {
    let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if source.below || matches!(name, "" | "." | "..") {
        return Word { below: destination.literal, ..destination.clone() };
    }
    let text = match destination.text.trim_end_matches('/') {
        "." => name.to_owned(),
        folder => format!("{folder}/{name}"),
    };
    let literal = destination.literal && source.literal;
    Word { text, literal, glob: destination.glob || source.glob, below: false }
}

/// `rsync`, `scp`: the last operand, unless it is on another machine.
pub(super) fn sync(walker: &mut Walker, call: &Call) {
    const RSYNC: Spec = Spec {
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
    const SCP: Spec = Spec { short: "cFiJloPSDX", long: &[] };
    let options = Options::parse(&call.args, if call.name == "scp" { SCP } else { RSYNC });
    if options.has(&["n", "dry-run", "list-only"]) && call.name == "rsync" {
        return;
    }
    if options.has(&["rsh", "e", "rsync-path", "S", "o", "F"]) {
        walker.incomplete();
    }
    let [sources @ .., destination] = options.operands.as_slice() else {
        return;
    };
    let deletes = call.args.iter().any(|word| word.text.starts_with("--delete"));
    if options.has(&["remove-source-files"]) {
        for word in sources {
            walker.destroy(word, Effect::Delete, true);
        }
    }
    let remote = destination.text.contains(':');
    if !sources.is_empty() && !remote {
        let effect = if deletes { Effect::Delete } else { Effect::Write };
        walker.destroy(destination, effect, true);
    }
}

/// `dd if=a of=b`.
pub(super) fn dd(walker: &mut Walker, call: &Call) {
    for word in &call.args {
        if let Some(path) = word.text.strip_prefix("of=") {
            let file = Word { text: path.to_owned(), ..word.clone() };
            walker.destroy(&file, Effect::Write, false);
        } else if !word.literal {
            walker.incomplete();
        }
    }
}

/// `tee`, `sponge`.
pub(super) fn tee(walker: &mut Walker, call: &Call) {
    let options = Options::parse(&call.args, Spec::default());
    let appends = options.has(&["a", "append"]);
    for word in options.operands.iter().filter(|word| word.text != "-" || !word.literal) {
        if appends {
            walker.change(word, Effect::Append, false);
        } else {
            walker.destroy(word, Effect::Write, false);
        }
    }
}

/// Readers that can be told to write their output: `sort -o`, `uniq IN OUT`.
pub(super) fn output(walker: &mut Walker, call: &Call) {
    let spec = match call.name.as_str() {
        "sort" => Spec { short: "oktST", long: &["output", "key", "field-separator"] },
        "tree" => Spec { short: "oLPIH", long: &[] },
        "uniq" => Spec { short: "fsw", long: &["skip-fields", "skip-chars", "check-chars"] },
        _ => Spec { short: "cglons", long: &[] },
    };
    let options = Options::parse(&call.args, spec);
    if matches!(call.name.as_str(), "sort" | "tree") {
        options.values(&["o", "output"]).for_each(|w| walker.destroy(w, Effect::Write, false));
        if options.has(&["compress-program"]) || call.args.iter().any(|word| !word.literal) {
            walker.incomplete();
        }
    } else if let Some(word) = options.operands.get(1) {
        walker.destroy(word, Effect::Write, false);
    }
}

/// `tar`: creating names its file, extracting does not name its targets.
pub(super) fn tar(walker: &mut Walker, call: &Call) {
    let Some(first) = call.args.first() else {
        return;
    };
    let letters = if first.text.starts_with("--") { "" } else { first.text.as_str() };
    let has = |letter: char, long: &str| {
        letters.contains(letter) || call.args.iter().any(|word| word.text == long)
    };
    if has('t', "--list") && !has('x', "--extract") {
        return;
    }
    if !has('c', "--create") || has('C', "--directory") || call.args.iter().any(|w| !w.literal) {
        walker.incomplete();
    }
    let named = call.args.iter().find_map(|word| word.text.strip_prefix("--file="));
    let next = || call.args.get(1).filter(|_| letters.ends_with('f')).map(|w| w.text.as_str());
    match named.or_else(next) {
        Some(path) if has('c', "--create") => {
            walker.destroy(&Word::plain(path), Effect::Write, false);
        }
        _ => walker.incomplete(),
    }
}

/// `gzip FILE` replaces the file by `FILE.gz`.
pub(super) fn compress(walker: &mut Walker, call: &Call) {
    let options = Options::parse(&call.args, Spec { short: "S", long: &["suffix"] });
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
        walker.destroy(word, Effect::Delete, recursive);
        walker.destroy(&Word { text: other, ..word.clone() }, Effect::Write, recursive);
    }
}

/// `zip ARCHIVE FILES`, `unzip`.
pub(super) fn zip(walker: &mut Walker, call: &Call) {
    let options = Options::parse(&call.args, Spec { short: "bnixd", long: &[] });
    match options.operands.first() {
        Some(archive) if call.name == "zip" => walker.destroy(archive, Effect::Write, false),
        _ if options.has(&["l", "t", "p", "Z"]) => {}
        _ => walker.incomplete(),
    }
    if options.has(&["m", "T"]) {
        walker.incomplete();
    }
}

/// Options with which `curl` writes files that are not followed here.
const CURL_WRITES: &str = "O remote-name remote-name-all output-dir K config c D cookie-jar \
     dump-header J trace trace-ascii stderr libcurl hsts etag-save";
/// The same for `wget`.
const WGET_WRITES: &str = "P o a r m i e mirror recursive execute output-file append-output \
     directory-prefix input-file";

/// `curl -o FILE`, `wget -O FILE`.
pub(super) fn download(walker: &mut Walker, call: &Call) {
    const CURL: Spec = Spec {
        short: "oHdXAbcDEeFKmTtuUwxyYzrQPC",
        long: &["output", "header", "data", "request", "user-agent", "output-dir", "url", "user"],
    };
    const WGET: Spec = Spec { short: "OoPaeitTUw", long: &["output-document", "header"] };
    let curl = call.name == "curl";
    let options = Options::parse(&call.args, if curl { CURL } else { WGET });
    let names: &[&str] = if curl { &["o", "output"] } else { &["O", "output-document"] };
    for word in options.values(names).filter(|word| word.text != "-") {
        walker.destroy(word, Effect::Write, false);
    }
    let others = if curl { CURL_WRITES } else { WGET_WRITES };
    let unnamed = !curl && !options.has(&["O", "output-document", "spider"]);
    if others.split_ascii_whitespace().any(|name| options.has(&[name])) || unnamed {
        walker.incomplete();
    }
    if call.args.iter().any(|word| !word.literal && word.text.starts_with('-')) {
        walker.incomplete();
    }
}

/// `mktemp` makes a file in the folder for temporary files, unless it is told where.
pub(super) fn mktemp(walker: &mut Walker, call: &Call) {
    let options = Options::parse(&call.args, Spec { short: "p", long: &["tmpdir", "suffix"] });
    if !options.operands.is_empty() && !options.has(&["t"]) {
        walker.incomplete();
    }
}
