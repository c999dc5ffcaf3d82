//! `find` and `fd`: readers, unless an action deletes or runs something.

use super::Effect;
use super::commands::{self, Call};
use super::walk::Walker;
use super::word::Word;

/// Maximum start folders whose action is followed one by one.
const MAX_STARTS: usize = 16;

/// `find DIR… TESTS ACTIONS`.
pub(super) fn find(walker: &mut Walker, call: &Call) {
    let args = &call.args;
    if args.iter().any(|word| !word.literal) {
        // Any unknown word could be `-delete`.
        walker.lose_track();
    }
    let leading = args.iter().take_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P"));
    let skipped = leading.count();
    let is_start = |word: &&Word| !word.text.starts_with(['-', '(', '!', ')']);
    let starts: Vec<Word> = args[skipped..].iter().take_while(is_start).cloned().collect();
    let tests = &args[skipped + starts.len()..];
    let starts = if starts.is_empty() { vec![Word::plain(".")] } else { starts };
    let known = walker.effects.destroys.len();
    for (at, word) in tests.iter().enumerate() {
        match word.text.as_str() {
            "-delete" => starts.iter().for_each(|dir| walker.destroy(dir, Effect::Delete, true)),
            "-exec" | "-execdir" | "-ok" | "-okdir" => run(walker, &starts, &tests[at + 1..]),
            "-fprint" | "-fprintf" | "-fprint0" | "-fls" => {
                if let Some(file) = tests.get(at + 1) {
                    walker.destroy(file, Effect::Write, false);
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
fn run(walker: &mut Walker, starts: &[Word], words: &[Word]) {
    let end = words.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
    let words = &words[..end.unwrap_or(words.len())];
    if starts.len() > MAX_STARTS {
        return walker.destroy_unknown();
    }
    for start in starts {
        let found = Word { below: true, ..start.clone() };
        let place = |word: &Word| match word.text.as_str() {
            "{}" => found.clone(),
            text if text.contains("{}") => Word::unknown(),
            _ => word.clone(),
        };
        walker.unseen(|w| commands::run(w, words.iter().map(place).collect(), None));
    }
}

/// `fd PATTERN`: a reader without `-x` and `-X`.
pub(super) fn fd(walker: &mut Walker, call: &Call) {
    let runs = |word: &Word| {
        !word.literal
            || word.text.starts_with("--exec")
            || (word.is_option() && !word.text.starts_with("--") && word.text.contains(['x', 'X']))
    };
    if call.args.iter().any(runs) {
        walker.lose_track();
    }
}
