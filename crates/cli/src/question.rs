//! Questions to the person at the terminal, on standard error.
//!
//! A question shows its choices as `[y]es [d]iff [N]o`; the capital letter is what Enter means.
//! Invariants: without a clear answer nothing is agreed to, so the end of input and
//! [`MAX_ANSWERS`] answers that fit no choice decline. Questions are asked only where
//! [`crate::output::is_interactive`] returns true; a command that is a conversation from its start,
//! as `review -p`, also takes its answers from a pipe.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::Result;
use unicode_width::UnicodeWidthStr as _;

use crate::output::{page_on_stderr, print_to_person, screen_width};

/// Maximum answers that are read before a question counts as declined.
const MAX_ANSWERS: usize = 3;

/// One answer that a question offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerChoice<T> {
    /// Words of the choice; the first letter, in lower case, is its key.
    pub(crate) label: &'static str,
    /// Value of the choice.
    pub(crate) value: T,
}

impl<T> AnswerChoice<T> {
    fn key(&self) -> &'static str {
        &self.label[..1]
    }

    fn matches(&self, answer: &str) -> bool {
        let word = self.label.split(' ').next().unwrap_or_default();
        answer == self.key() || answer == word
    }
}

/// A question with choices.
#[derive(Debug)]
pub(crate) struct ChoiceQuestion<'a, T> {
    /// The question, safe to show.
    pub(crate) text: &'a str,
    /// Choices with different first letters.
    pub(crate) choices: &'a [AnswerChoice<T>],
    /// Index of the choice that Enter means, if it means one.
    pub(crate) default: Option<usize>,
}

impl<T: Copy> ChoiceQuestion<'_, T> {
    /// Asks; none if the person declined to answer.
    pub(crate) fn ask(&self) -> io::Result<Option<T>> {
        self.ask_at_most(MAX_ANSWERS)
    }

    /// Asks until an answer fits; none at the end of input.
    pub(crate) fn ask_until_answered(&self) -> io::Result<Option<T>> {
        self.ask_at_most(usize::MAX)
    }

    fn ask_at_most(&self, times: usize) -> io::Result<Option<T>> {
        let keys: Vec<_> = self.choices.iter().map(AnswerChoice::key).collect();
        let repeated = RepeatedQuestion {
            prompt: &self.prompt(screen_width()),
            reminder: &reminder_text(&keys),
            times,
        };
        let default = self.default.and_then(|at| self.choices.get(at));
        repeated.ask(|answer| match answer {
            "" => default.map(|choice| choice.value),
            answer => self.choices.iter().find(|c| c.matches(answer)).map(|choice| choice.value),
        })
    }

    /// The question and its choices, broken between choices where a line would be too long.
    fn prompt(&self, width: usize) -> String {
        let mut prompt = self.text.to_owned();
        let mut column = prompt.lines().next_back().map_or(0, str::width);
        for (at, choice) in self.choices.iter().enumerate() {
            let (key, rest) = choice.label.split_at(1);
            let key =
                if Some(at) == self.default { key.to_ascii_uppercase() } else { key.to_owned() };
            let words = format!("[{key}]{rest}");
            // One more column for the blank before the answer.
            if column > 0 && column + 1 + words.width() + 1 >= width {
                prompt.push('\n');
                column = 0;
            } else if column > 0 {
                prompt.push(' ');
                column += 1;
            }
            prompt.push_str(&words);
            column += words.width();
        }
        prompt + " "
    }
}

/// Produces the difference that a question is about.
pub(crate) type ShowDiff<'a> = &'a dyn Fn() -> Result<Vec<u8>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConfirmAnswer {
    Yes,
    Diff,
    No,
}

/// Asks for a yes, and shows the difference as often as it is wanted. `text` is safe to show.
pub(crate) fn confirm(text: &str, diff: Option<ShowDiff<'_>>) -> Result<bool> {
    let mut choices = vec![AnswerChoice { label: "yes", value: ConfirmAnswer::Yes }];
    if diff.is_some() {
        choices.push(AnswerChoice { label: "diff", value: ConfirmAnswer::Diff });
    }
    choices.push(AnswerChoice { label: "no", value: ConfirmAnswer::No });
    let question = ChoiceQuestion { text, choices: &choices, default: Some(choices.len() - 1) };
    loop {
        match (question.ask()?, diff) {
            (Some(ConfirmAnswer::Diff), Some(diff)) => show_diff(diff)?,
            (answer, _) => return Ok(answer == Some(ConfirmAnswer::Yes)),
        }
    }
}

/// Shows a difference to the person who is asked.
pub(crate) fn show_diff(diff: ShowDiff<'_>) -> Result<()> {
    let diff = diff()?;
    if diff.is_empty() {
        print_to_person("There is no difference to show.\n");
    } else {
        page_on_stderr(&diff)?;
    }
    Ok(())
}

/// Asks for a number from 1 to `most`; none if the person declined. `text` is safe to show.
pub(crate) fn ask_number(text: &str, most: usize) -> io::Result<Option<usize>> {
    let prompt = format!("{text} [1-{most}] [N]one ");
    let reminder = format!("Please answer with a number from 1 to {most}, or n.\n");
    let repeated = RepeatedQuestion { prompt: &prompt, reminder: &reminder, times: MAX_ANSWERS };
    let answer = repeated.ask(|answer| match answer {
        "" | "n" | "no" | "none" => Some(None),
        number => number.parse().ok().filter(|number| (1..=most).contains(number)).map(Some),
    })?;
    Ok(answer.flatten())
}

/// Asks for words of the person, on one line; none at the end of input. `prompt` is safe to show.
pub(crate) fn ask_words(prompt: &str) -> io::Result<Option<String>> {
    print_to_person(prompt);
    let line = read_line()?;
    if line.is_none() {
        print_to_person("\n");
    }
    Ok(line)
}

/// A question that is repeated until an answer fits.
struct RepeatedQuestion<'a> {
    prompt: &'a str,
    reminder: &'a str,
    /// Maximum answers that are read.
    times: usize,
}

impl RepeatedQuestion<'_> {
    /// Asks until `parse` accepts the answer, in lower case.
    fn ask<T>(&self, parse: impl Fn(&str) -> Option<T>) -> io::Result<Option<T>> {
        for count in 1..=self.times {
            let Some(answer) = ask_words(self.prompt)? else { return Ok(None) };
            if let Some(value) = parse(&answer.to_lowercase()) {
                return Ok(Some(value));
            }
            if count < self.times {
                print_to_person(self.reminder);
            }
        }
        Ok(None)
    }
}

/// Reads one line; none at the end of input, where a line without its end counts as no answer.
fn read_line() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin.read_until(b'\n', &mut line)?;
    let is_whole = line.ends_with(b"\n");
    if is_whole && !stdin.is_terminal() {
        // A terminal shows the answer with its newline.
        print_to_person("\n");
    }
    Ok(is_whole.then(|| String::from_utf8_lossy(&line).trim().to_owned()))
}

/// `Please answer y, d or n.`
fn reminder_text(keys: &[&str]) -> String {
    match keys {
        [others @ .., last] if !others.is_empty() => {
            format!("Please answer {} or {last}.\n", others.join(", "))
        }
        _ => format!("Please answer {}.\n", keys.join("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: [AnswerChoice<u8>; 4] = [
        AnswerChoice { label: "keep the file as it is", value: 0 },
        AnswerChoice { label: "both versions with markers", value: 1 },
        AnswerChoice { label: "take the later edit back too", value: 2 },
        AnswerChoice { label: "diff", value: 3 },
    ];

    #[test]
    fn choices_are_broken_where_the_line_ends() {
        let question = ChoiceQuestion { text: "What then?", choices: &CHOICES, default: Some(0) };
        let one_line = "What then? [K]eep the file as it is [b]oth versions with markers \
                        [t]ake the later edit back too [d]iff ";
        assert_eq!(question.prompt(200), one_line);
        let narrow = "What then? [K]eep the file as it is [b]oth versions with markers\n\
                      [t]ake the later edit back too [d]iff ";
        assert_eq!(question.prompt(80), narrow);
        assert!(question.prompt(80).lines().all(|line| line.width() < 80));
    }

    #[test]
    fn a_choice_is_named_by_its_letter_or_its_first_word() {
        let found = |answer: &str| CHOICES.iter().find(|c| c.matches(answer)).map(|c| c.value);
        assert_eq!((found("t"), found("take"), found("both")), (Some(2), Some(2), Some(1)));
        assert_eq!((found("ta"), found("x"), found("keep the")), (None, None, None));
        assert_eq!(reminder_text(&["y", "d", "n"]), "Please answer y, d or n.\n");
    }
}
