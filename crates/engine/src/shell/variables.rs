//! Variables of a script: assignments, positional parameters, and commands that set or forget them.

use brush_parser::ast::{Assignment, AssignmentName, AssignmentValue};

use super::commands::ShellCall;
use super::danger;
use super::state::VariableValue;
use super::walk::ScriptWalker;
use super::word::ShellWord;

pub(super) fn assign(walker: &mut ScriptWalker, assignment: &Assignment, lasting: bool) {
    let value = match &assignment.value {
        AssignmentValue::Scalar(word) => Some(walker.whole_word(&word.value)),
        AssignmentValue::Array(items) => {
            for (_, item) in items {
                walker.whole_word(&item.value);
            }
            None
        }
    };
    let (AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _)) =
        &assignment.name;
    let scalar = matches!(assignment.name, AssignmentName::VariableName(_)) && !assignment.append;
    if !lasting && let Some(value) = &value {
        check_setting(walker, &value.text);
    }
    if lasting {
        set_variable(walker, name, value.filter(|_| scalar).and_then(as_value));
    }
}

/// Checks an environment variable: some programs run its value, as git does with `GIT_PAGER`.
pub(super) fn check_setting(walker: &mut ScriptWalker, value: &str) {
    if danger::mentions_destroyer(value) {
        walker.destroy_unknown();
    }
}

fn set_variable(walker: &mut ScriptWalker, name: &str, value: Option<VariableValue>) {
    // It changes how words are split from here on.
    if name == "IFS" {
        walker.lose_track();
    }
    walker.state.set(name, value);
}

/// Converts a word to a value. A glob in an assignment is plain text until it is used unquoted.
fn as_value(word: ShellWord) -> Option<VariableValue> {
    word.literal.then(|| {
        let text = if word.glob { unescape(&word.text) } else { word.text };
        VariableValue { text, glob: false }
    })
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    plain
}

pub(super) fn set_positional(walker: &mut ScriptWalker, args: &[ShellWord]) {
    for at in 1..10 {
        let value = args.get(at - 1).filter(|word| word.literal);
        let value = value.map(|word| VariableValue { text: word.text.clone(), glob: word.glob });
        walker.state.set(&at.to_string(), value);
    }
}

/// `export A=b`.
pub(super) fn declare(walker: &mut ScriptWalker, call: &ShellCall) {
    for word in &call.args {
        // `declare -n` makes an alias of another variable.
        if word.is_option() && word.text.contains('n') {
            walker.lose_track();
        }
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if word.is_option() => continue,
            None => (word.text.as_str(), None),
        };
        if let Some(value) = value {
            if call.name == "export" {
                check_setting(walker, value);
            }
            let value = ShellWord { text: value.to_owned(), ..word.clone() };
            set_variable(walker, name, as_value(value));
        }
    }
}

/// `read A`, `unset A`: from here on the variable's value is unknown.
pub(super) fn forget_variables(walker: &mut ScriptWalker, call: &ShellCall) {
    for word in &call.args {
        if word.literal {
            walker.arithmetic(&word.text);
            // The name may be attached to the letter: `read -aA`.
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            letters.char_indices().for_each(|(at, _)| walker.state.set(&letters[at..], None));
        } else {
            walker.lose_track();
        }
    }
}

/// `printf -v A`, `printf -vA`.
pub(super) fn printf(walker: &mut ScriptWalker, call: &ShellCall) {
    if call.args.first().is_some_and(|word| !word.literal || word.text.starts_with("-v")) {
        forget_variables(walker, call);
    }
}
