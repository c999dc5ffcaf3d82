//! `git`: the subcommands that read, those that change files or refs, and the files that are lost.
//!
//! Paths are pathspecs: git expands globs itself, quoted ones too, and has magic words.

use super::TargetEffect;
use super::commands::ShellCall;
use super::options::{CommandOptions, OptionSpec};
use super::state::WorkingFolder;
use super::walk::ScriptWalker;
use super::word::ShellWord;

/// Subcommands that change neither files nor refs; the index is not a file of the project.
const READING_SUBCOMMANDS: &str = "add annotate blame cat-file check-ignore check-attr cherry count-objects describe diff \
     diff-files diff-index diff-tree for-each-ref fsck grep help log ls-files ls-remote ls-tree \
     merge-base name-rev range-diff rev-list rev-parse shortlog show show-branch show-ref stage \
     status update-index var verify-commit verify-tag version whatchanged";

/// Subcommands that change the whole tree: no word names the tracked files that change.
const TREE_SUBCOMMANDS: &str =
    "am bisect cherry-pick merge pull rebase revert sparse-checkout switch";

/// Options of git subcommands that take a value.
const GIT_OPTIONS: OptionSpec = OptionSpec {
    short: "bBmFsCcoe",
    long: &["message", "file", "source", "orphan", "conflict", "exclude", "pathspec-from-file"],
};

type SubcommandHandler = fn(&mut ScriptWalker, &CommandOptions, &[ShellWord]);

/// Handlers of subcommands that change files.
const HANDLERS: &[(&str, SubcommandHandler)] = &[
    ("apply", apply),
    ("checkout", checkout),
    ("clean", clean),
    ("mv", rename),
    ("reset", reset),
    ("restore", restore),
    ("rm", remove),
    ("stash", stash),
];

/// `git [-C DIR] SUBCOMMAND …`.
pub(super) fn git(walker: &mut ScriptWalker, call: &ShellCall) {
    let folder = walker.state.folder.clone();
    let rest = global_options(walker, &call.args);
    if let Some((name, args)) = rest.split_first() {
        match name.exact() {
            Some(name) => subcommand(walker, name, args, call.stdin.as_deref()),
            None => unknown(walker),
        }
    }
    walker.state.folder = folder;
}

/// Follows `-C`; options that redefine git itself are not followed.
fn global_options<'a>(walker: &mut ScriptWalker, args: &'a [ShellWord]) -> &'a [ShellWord] {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.is_option()) {
        at += 1;
        match word.text.as_str() {
            "-C" => {
                match args.get(at).and_then(ShellWord::exact) {
                    Some(path) => walker.state.enter(path),
                    None => walker.state.folder = WorkingFolder::Unknown,
                }
                at += 1;
            }
            "-c" => {
                if !args.get(at).and_then(ShellWord::exact).is_some_and(is_plain_setting) {
                    walker.destroy_unknown();
                }
                at += 1;
            }
            "--namespace" => at += 1,
            "--config-env" | "--exec-path" => {
                walker.destroy_unknown();
                at += usize::from(word.text == "--config-env");
            }
            text if text.starts_with("--config-env=") || text.starts_with("--exec-path=") => {
                walker.destroy_unknown();
            }
            "--git-dir" | "--work-tree" => {
                at += 1;
                walker.state.folder = WorkingFolder::Unknown;
            }
            text if text.starts_with("--work-tree=") => {
                walker.state.folder = WorkingFolder::Unknown;
            }
            _ => {}
        }
    }
    args.get(at..).unwrap_or_default()
}

/// Returns whether `-c SETTING` makes git neither run a program nor write elsewhere.
fn is_plain_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    let begins = ["advice.", "color.", "commit.gpgsign=", "init.defaultbranch=", "safe.", "user."];
    begins.iter().any(|begin| setting.starts_with(begin))
        || setting.starts_with("core.quotepath=")
        || setting == "core.pager=cat"
}

/// Returns whether `git grep` opens its matches in a program: `-O` may be in a cluster, `-lOrm`.
pub(super) fn opens_pager(name: &str, option: &str) -> bool {
    let is_cluster = option.starts_with('-') && !option.starts_with("--");
    name == "grep" && ((is_cluster && option.contains('O')) || option.starts_with("--op"))
}

/// Returns whether an option makes git run a program: the remote side, or a helper.
fn runs_program(option: &str) -> bool {
    ["--ex", "--rec", "--u"].iter().any(|start| option.starts_with(start))
}

fn among(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

fn unknown(walker: &mut ScriptWalker) {
    walker.effects.runs_git = true;
    destroy_tree(walker);
}

fn subcommand(walker: &mut ScriptWalker, name: &str, args: &[ShellWord], stdin: Option<&str>) {
    if among(READING_SUBCOMMANDS, name) {
        return reader(walker, name, args);
    }
    if lists_only(name, args) {
        return;
    }
    walker.effects.runs_git = true;
    // Every word after `--` is a path.
    let dashes = args.iter().position(|word| word.text == "--");
    let (before, paths) = match dashes {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &[][..]),
    };
    let options = CommandOptions::parse(before, GIT_OPTIONS);
    if among(TREE_SUBCOMMANDS, name) {
        return destroy_tree(walker);
    }
    odd_options(walker, before);
    match HANDLERS.iter().find(|(known, _)| *known == name) {
        // A patch from a heredoc names its files.
        Some(_) if name == "apply" && stdin.is_some() => {
            super::script::add_patch_targets(walker, stdin.unwrap_or_default(), 1);
        }
        Some((_, handler)) => handler(walker, &options, paths),
        None => {
            if !keeps_files(name, args) {
                walker.destroy_unknown();
            }
            // `git config -f FILE`: any word may be a file that it writes.
            for word in args {
                walker.add_possible_edit(word);
            }
        }
    }
}

/// Returns whether a subcommand without a handler leaves the files alone; it may be an alias.
fn keeps_files(name: &str, args: &[ShellWord]) -> bool {
    const QUIET: &str = "branch commit commit-tree config fetch gc hash-object init notes pack-refs prune push \
         reflog remote repack symbolic-ref tag update-ref write-tree";
    match name {
        "worktree" => {
            matches!(args.first().and_then(ShellWord::exact), Some("add" | "lock" | "prune"))
        }
        name => among(QUIET, name) && !args.iter().any(|word| runs_program(&word.text)),
    }
}

/// Handles unknown long options: git accepts unique abbreviations, `--har` resets everything.
fn odd_options(walker: &mut ScriptWalker, args: &[ShellWord]) {
    const KNOWN: &str = "3way abort all all-match allow-empty amend annotate author branch cached check \
         conflict continue date delete depth detach directory dry-run exclude file fixup force \
         force-with-lease get global hard ignore-unmatch include include-untracked index intent-to-add \
         keep keep-index list local merge message mixed no-edit no-verify ours orphan patch \
         pathspec-file-nul pathspec-from-file porcelain prune quiet reject reset-author reverse \
         set-upstream set-upstream-to show-current signoff soft source staged stat summary tags theirs \
         track unset verbose whitespace worktree";
    let is_odd = |word: &ShellWord| {
        let long = word.text.strip_prefix("--").filter(|_| word.is_option());
        long.is_some_and(|long| !among(KNOWN, long.split('=').next().unwrap_or(long)))
    };
    if args.iter().any(is_odd) {
        walker.destroy_unknown();
    }
}

/// Readers with an option that writes.
fn reader(walker: &mut ScriptWalker, name: &str, args: &[ShellWord]) {
    let runs = |word: &ShellWord| opens_pager(name, &word.text);
    // `-u` and the like are options of some readers, which run nothing.
    let connects = name == "ls-remote" && args.iter().any(|word| runs_program(&word.text));
    if connects || args.iter().any(runs) {
        walker.destroy_unknown();
    }
    let options = CommandOptions::parse(args, OptionSpec { short: "", long: &["output"] });
    for file in options.values(&["output"]) {
        walker.destroy(file, TargetEffect::Write, false);
    }
    // git accepts any unique abbreviation of an option.
    let is_output = |word: &&ShellWord| word.text.starts_with("--o") && word.text.contains('=');
    for word in args.iter().filter(is_output) {
        let value = word.text.split_once('=').map_or("", |(_, value)| value);
        walker.endanger(&ShellWord::plain(value), TargetEffect::Write, false);
    }
}

/// `git branch`, `git stash list`, `git worktree list`, `git remote -v`: reading forms.
fn lists_only(name: &str, args: &[ShellWord]) -> bool {
    let first = args.first().map_or("", |word| word.text.as_str());
    let literal = args.iter().all(|word| word.literal);
    literal
        && match name {
            "branch" => args.iter().all(|word| {
                let listing = ["-a", "-r", "-v", "-vv", "-l", "--list", "--show-current", "--all"];
                listing.contains(&word.text.as_str())
            }),
            "tag" => args.is_empty() || matches!(first, "-l" | "--list" | "-n"),
            "stash" => matches!(first, "list" | "show"),
            "worktree" | "notes" => first == "list",
            "bisect" => matches!(first, "log" | "view"),
            "submodule" => args.is_empty() || matches!(first, "status" | "summary"),
            "remote" => args.is_empty() || matches!(first, "-v" | "show" | "get-url"),
            "config" => args.iter().any(|word| {
                matches!(word.text.as_str(), "--get" | "--get-all" | "--list" | "-l" | "get")
            }),
            "reflog" => args.is_empty() || first == "show",
            // `--stat --apply` applies.
            "apply" => {
                let reads = |word: &&ShellWord| {
                    matches!(word.text.as_str(), "--check" | "--numstat" | "--stat" | "--summary")
                };
                let others = args.iter().filter(|word| !reads(word));
                args.iter().any(|word| reads(&word)) && !others.clone().any(ShellWord::is_option)
            }
            _ => false,
        }
}

fn destroy_tree(walker: &mut ScriptWalker) {
    walker.destroy(&ShellWord::plain("."), TargetEffect::CheckoutTree, true);
}

fn checkout(walker: &mut ScriptWalker, options: &CommandOptions, paths: &[ShellWord]) {
    if !paths.is_empty() {
        return restore_paths(walker, paths);
    }
    match options.operands.as_slice() {
        // `-b` creates a branch at HEAD, which changes no file by itself.
        [] => {}
        [only] if only.text == "." => destroy_tree(walker),
        [only] => {
            destroy_tree(walker);
            // It may be a path as well as a branch.
            if only.literal && only.text.contains(['.', '/']) {
                walker.destroy(only, TargetEffect::CheckoutTree, true);
            }
        }
        [_, paths @ ..] => restore_paths(walker, paths),
    }
}

fn restore(walker: &mut ScriptWalker, options: &CommandOptions, paths: &[ShellWord]) {
    let staged_only = options.has(&["staged", "S"]) && !options.has(&["worktree", "W"]);
    if staged_only {
        return;
    }
    if options.has(&["pathspec-from-file"]) {
        walker.destroy_unknown();
    }
    restore_paths(walker, &options.operands);
    restore_paths(walker, paths);
}

/// Tracked files at or below these paths get their recorded content.
fn restore_paths(walker: &mut ScriptWalker, paths: &[ShellWord]) {
    for path in paths {
        walker.destroy(&pathspec(path), TargetEffect::CheckoutTree, true);
    }
}

/// Converts a word to a pathspec: git expands globs itself, and a word that begins with `:` may
/// match anything in the tree.
fn pathspec(word: &ShellWord) -> ShellWord {
    match word.exact() {
        Some(text) if text.starts_with(':') => ShellWord::plain("."),
        Some(text) if text.contains(['*', '?', '[']) => ShellWord { glob: true, ..word.clone() },
        _ => word.clone(),
    }
}

fn reset(walker: &mut ScriptWalker, options: &CommandOptions, _: &[ShellWord]) {
    if options.has(&["hard", "merge", "keep"]) {
        destroy_tree(walker);
    }
}

fn clean(walker: &mut ScriptWalker, options: &CommandOptions, paths: &[ShellWord]) {
    if options.has(&["n", "dry-run"]) {
        return;
    }
    // `-i` and `-e` delete less: the targets are a superset.
    let here = [ShellWord::plain(".")];
    let all: Vec<&ShellWord> = options.operands.iter().chain(paths).collect();
    let all = if all.is_empty() { here.iter().collect() } else { all };
    for path in all.into_iter().map(pathspec) {
        // git deletes an ignored folder as a whole if the glob matches a part of it.
        if path.glob && options.has(&["x", "X"]) {
            walker.destroy_unknown();
        }
        if !options.has(&["X"]) {
            walker.destroy(&path, TargetEffect::CleanUntracked, true);
        }
        if options.has(&["x", "X"]) {
            walker.destroy(&path, TargetEffect::CleanIgnored, true);
        }
    }
}

fn stash(walker: &mut ScriptWalker, options: &CommandOptions, _: &[ShellWord]) {
    let verb = options.operands.first().map_or("push", |word| word.text.as_str());
    match verb {
        "drop" | "clear" | "store" | "create" => return,
        _ => {}
    }
    destroy_tree(walker);
    let here = ShellWord::plain(".");
    if options.has(&["u", "a", "include-untracked", "all"]) {
        walker.destroy(&here, TargetEffect::CleanUntracked, true);
    }
    if options.has(&["a", "all"]) {
        walker.destroy(&here, TargetEffect::CleanIgnored, true);
    }
}

fn remove(walker: &mut ScriptWalker, options: &CommandOptions, paths: &[ShellWord]) {
    if options.has(&["cached", "n", "dry-run"]) {
        return;
    }
    for path in options.operands.iter().chain(paths) {
        walker.destroy(&pathspec(path), TargetEffect::Delete, options.has(&["r"]));
    }
}

fn rename(walker: &mut ScriptWalker, options: &CommandOptions, paths: &[ShellWord]) {
    let args = options.operands.iter().chain(paths).cloned().collect();
    let call = ShellCall { name: "mv".to_owned(), args, stdin: None };
    super::files::copy(walker, &call);
}

/// The files are named in a patch that this text does not hold.
fn apply(walker: &mut ScriptWalker, options: &CommandOptions, _: &[ShellWord]) {
    if !options.has(&["cached"]) {
        destroy_tree(walker);
    }
}
