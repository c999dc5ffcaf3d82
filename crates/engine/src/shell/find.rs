//! `find` and `fd`: readers, unless an action deletes or runs something.

use super::TargetEffect;
use super::commands::{self, ShellCall};
use super::walk::ScriptWalker;
use super::word::ShellWord;

/// Maximum start folders whose action is followed one by one.
const MAX_STARTS: usize = 16;

/// `find DIR… TESTS ACTIONS`.
pub(super) fn find(walker: &mut ScriptWalker, call: &ShellCall) {
    let args = &call.args;
    if args.iter().any(|word| !word.literal) {
        // Any unknown word could be `-delete`.
        walker.lose_track();
    }
    let leading = args.iter().take_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P"));
    let skipped = leading.count();
    let is_start = |word: &&ShellWord| !word.text.starts_with(['-', '(', '!', ')']);
    let starts: Vec<ShellWord> = args[skipped..].iter().take_while(is_start).cloned().collect();
    let tests = &args[skipped + starts.len()..];
    let starts = if starts.is_empty() { vec![ShellWord::plain(".")] } else { starts };
    let known = walker.effects.destroys.len();
    for (at, word) in tests.iter().enumerate() {
        match word.text.as_str() {
            "-delete" => {
                for dir in &starts {
                    walker.destroy(dir, TargetEffect::Delete, true);
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                walk_action(walker, &starts, &tests[at + 1..]);
            }
            "-fprint" | "-fprintf" | "-fprint0" | "-fls" => {
                if let Some(file) = tests.get(at + 1) {
                    walker.destroy(file, TargetEffect::Write, false);
                }
            }
            _ => {}
        }
    }
    // Targets of symlinks are destroyed as well.
    let follows = args.iter().any(|word| matches!(word.text.as_str(), "-L" | "-H" | "-follow"));
    if follows && walker.effects.destroys.len() > known {
        walker.destroy_unknown();
    }
}

/// Walks the words up to `;` or `+` with `{}` as "any file below the start".
fn walk_action(walker: &mut ScriptWalker, starts: &[ShellWord], words: &[ShellWord]) {
    let end = words.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
    let words = &words[..end.unwrap_or(words.len())];
    if starts.len() > MAX_STARTS {
        return walker.destroy_unknown();
    }
    for start in starts {
        let found = ShellWord { below: true, ..start.clone() };
        let place = |word: &ShellWord| match word.text.as_str() {
            "{}" => found.clone(),
            text if text.contains("{}") => ShellWord::unknown(),
            _ => word.clone(),
        };
        walker.walk_unseen(|w| commands::walk_words(w, words.iter().map(place).collect(), None));
    }
}

/// `fd PATTERN`: a reader without `-x` and `-X`.
pub(super) fn fd(walker: &mut ScriptWalker, call: &ShellCall) {
    let runs = |word: &ShellWord| {
        !word.literal
            || word.text.starts_with("--exec")
            || (word.is_option() && !word.text.starts_with("--") && word.text.contains(['x', 'X']))
    };
    if call.args.iter().any(runs) {
        walker.lose_track();
    }
}
