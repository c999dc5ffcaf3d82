//! The answers to a hunk.

use std::io;

use crate::layout::{Column, TableCell, TextTable};
use crate::output::{Output, TextStyle};
use crate::question::{AnswerChoice, ChoiceQuestion};

/// What the person does with a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewAnswer {
    Keep,
    Reject,
    Skip,
    Comment,
    Lines,
    View,
    KeepRest,
    RejectRest,
    Previous,
    Undo,
    Quit,
    Help,
}

const CHOICES: [AnswerChoice<ReviewAnswer>; 12] = [
    AnswerChoice { label: "y keep", value: ReviewAnswer::Keep },
    AnswerChoice { label: "n reject", value: ReviewAnswer::Reject },
    AnswerChoice { label: "s skip", value: ReviewAnswer::Skip },
    AnswerChoice { label: "c comment", value: ReviewAnswer::Comment },
    AnswerChoice { label: "l lines", value: ReviewAnswer::Lines },
    AnswerChoice { label: "v view", value: ReviewAnswer::View },
    AnswerChoice { label: "a keep rest", value: ReviewAnswer::KeepRest },
    AnswerChoice { label: "x reject rest", value: ReviewAnswer::RejectRest },
    AnswerChoice { label: "p previous", value: ReviewAnswer::Previous },
    AnswerChoice { label: "u undo", value: ReviewAnswer::Undo },
    AnswerChoice { label: "q quit", value: ReviewAnswer::Quit },
    AnswerChoice { label: "? help", value: ReviewAnswer::Help },
];

/// What the answers mean.
const MEANINGS: [(&str, &str); 12] = [
    ("y", "keep the hunk: it is reviewed, and no file is written"),
    ("n", "reject it: it leaves the file, now or when the agent has ended its turn"),
    ("s", "leave it open and go on"),
    ("c", "write a comment on it for the agent; it is a draft until it is sent"),
    ("l", "keep or reject only some of its lines: +1-3,-2"),
    ("v", "show more of the file around it, and all of a long hunk"),
    ("a", "keep it and all later open hunks of this file"),
    ("x", "reject it and all later open hunks of this file"),
    ("p", "go back to the hunk before"),
    ("u", "undo the last decision"),
    ("q", "close the review; what is decided stays decided"),
    ("?", "show this help"),
];

/// Explains the answers, in the width of the terminal.
pub(super) fn help_text() -> String {
    let mut table = TextTable::new([Column::WHOLE, Column::WRAPPED]);
    for (key, meaning) in MEANINGS {
        let key = TableCell::new(key, TextStyle::Mark);
        table.row([key, TableCell::new(meaning, TextStyle::Plain)]);
    }
    table.render("", Output::stderr())
}

/// Asks what to do with the hunk that is shown; none at the end of input.
pub(super) fn ask_answer() -> io::Result<Option<ReviewAnswer>> {
    ChoiceQuestion { text: "", choices: &CHOICES, default: None }.ask_until_answered()
}

/// What is done with lines of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinesAnswer {
    Keep,
    Reject,
    Neither,
}

/// Asks what to do with chosen lines; none at the end of input.
pub(super) fn ask_lines_answer() -> io::Result<Option<LinesAnswer>> {
    let choices = [
        AnswerChoice { label: "y keep these lines", value: LinesAnswer::Keep },
        AnswerChoice { label: "n reject these lines", value: LinesAnswer::Reject },
        AnswerChoice { label: "b back", value: LinesAnswer::Neither },
    ];
    ChoiceQuestion { text: "", choices: &choices, default: None }.ask_until_answered()
}
