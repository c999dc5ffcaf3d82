//! `retake review -p`: asks hunk by hunk what to do with it, in any terminal or by a pipe.
//!
//! Invariants: nothing is decided about lines that were not shown, since an act names the hunk by its
//! id, and one that changed meanwhile is refused and shown as it is now. No file is read before it is
//! reached. The end of input leaves what was decided and does nothing else. Closing a review of all that
//! agents did moves "since I looked" to what was on record at its beginning.

mod act;
mod answer;
mod decision;
mod rejection;
mod screen;
mod summary;
mod walk;

use anyhow::Result;
use retake_engine::model::ErrorCode;
use retake_engine::{HunkChoice, HunkRequest, Project};

use self::answer::{ReviewAnswer, ask_answer, help_text};
use self::decision::Decision;
use self::screen::HunkScreen;
use self::walk::{HunkPlace, HunkWalk, ShownHunk};
use super::list::empty_text;
use super::scope_words::ReviewTarget;
use super::{carry_out_due, hunk_lines};
use crate::args::ReviewArgs;
use crate::context::{CommandContext, Exit};
use crate::failure::failure_of;
use crate::output::{TextStyle, print_hint, print_message, print_to_person};

pub(super) fn run(context: &CommandContext, options: &ReviewArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    carry_out_due(context, &project)?;
    let target = ReviewTarget::resolve(context, &project, options)?;
    PlainReview::new(context, &project, &target)?.run(&target)
}

/// What comes after an answer.
enum NextStep {
    /// The next open hunk.
    Next,
    /// This one.
    Show(HunkPlace),
    /// The person closes the review.
    Close,
    /// The input has ended.
    Leave,
}

/// What comes after an act that was not done: the next hunk, or the same question again.
type NotDone = Option<NextStep>;

/// A review, while the person is asked.
struct PlainReview<'a> {
    context: &'a CommandContext,
    project: &'a Project,
    walk: HunkWalk<'a>,
    /// Whether it is of all that agents did since the person looked, in all files.
    covers_all: bool,
    screen: HunkScreen<'a>,
    /// What was decided, in the order of the answers.
    decisions: Vec<Decision>,
    /// The hunks that were shown, the newest last.
    history: Vec<HunkPlace>,
}

impl<'a> PlainReview<'a> {
    fn new(
        context: &'a CommandContext,
        project: &'a Project,
        target: &ReviewTarget,
    ) -> Result<Self> {
        Ok(Self {
            context,
            project,
            walk: HunkWalk::new(context, project, &target.scope)?,
            covers_all: target.covers_all(),
            screen: HunkScreen::new(context, project)?,
            decisions: Vec::new(),
            history: Vec::new(),
        })
    }

    fn run(mut self, target: &ReviewTarget) -> Result<Exit> {
        let mut next = self.walk.next_open()?;
        if next.is_none() {
            let decided = "All hunks of this are decided on.\n".to_owned();
            let text = if self.walk.is_empty() { empty_text(target) } else { decided };
            self.context.out.text(&text)?;
            return Ok(Exit::Done);
        }
        while let Some(shown) = next {
            self.show(&shown)?;
            next = match self.ask(&shown)? {
                NextStep::Next => self.walk.next_open()?,
                NextStep::Show(place) => match self.walk.find(&place)? {
                    Some(shown) => Some(shown),
                    None => self.walk.next_open()?,
                },
                NextStep::Close => {
                    let is_open = self.walk.has_open()?;
                    return self.close(is_open);
                }
                NextStep::Leave => return self.leave(),
            };
        }
        let is_open = self.walk.left_open() > 0;
        self.close(is_open)
    }

    fn show(&mut self, shown: &ShownHunk<'_>) -> Result<()> {
        let place = shown.place();
        self.history.retain(|other| *other != place);
        self.history.push(place);
        let text = self.screen.render(shown, hunk_lines::FIRST_LINES)?;
        Ok(self.context.out.text(&text)?)
    }

    /// Asks until an answer leads on.
    fn ask(&mut self, shown: &ShownHunk<'_>) -> Result<NextStep> {
        loop {
            let Some(answer) = ask_answer()? else { return Ok(NextStep::Leave) };
            let step = match answer {
                ReviewAnswer::Keep => self.keep(shown, vec![shown.choice_to_keep(shown.hunk())])?,
                ReviewAnswer::KeepRest => {
                    let rest = shown.rest().map(|hunk| shown.choice_to_keep(hunk));
                    self.keep(shown, rest.collect())?
                }
                ReviewAnswer::Reject => {
                    self.reject(shown, vec![shown.choice_to_reject(shown.hunk())])?
                }
                ReviewAnswer::RejectRest => {
                    let rest = shown.rest().map(|hunk| shown.choice_to_reject(hunk));
                    self.reject(shown, rest.collect())?
                }
                ReviewAnswer::Lines => self.decide_on_lines(shown)?,
                ReviewAnswer::Comment => self.comment(shown)?,
                ReviewAnswer::Skip => {
                    self.walk.skip(shown);
                    Some(NextStep::Next)
                }
                ReviewAnswer::View => {
                    let text = self.screen.render(shown, hunk_lines::MORE_LINES)?;
                    self.context.out.paged(text.as_bytes())?;
                    None
                }
                ReviewAnswer::Previous => self.previous()?,
                ReviewAnswer::Undo => self.undo(),
                ReviewAnswer::Quit => Some(NextStep::Close),
                ReviewAnswer::Help => {
                    print_to_person(&help_text());
                    None
                }
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }

    /// Goes back to the hunk that was shown before, if it is still one.
    fn previous(&mut self) -> Result<Option<NextStep>> {
        let current = self.history.pop();
        while let Some(place) = self.history.pop() {
            if self.walk.find(&place)?.is_some() {
                return Ok(Some(NextStep::Show(place)));
            }
        }
        self.history.extend(current);
        print_to_person("No hunk that was shown before is still there.\n");
        Ok(None)
    }

    fn request(&self, hunks: Vec<HunkChoice>) -> HunkRequest {
        HunkRequest { scope: self.walk.scope().clone(), hunks, all: false }
    }

    /// Says why an act was not done, if it was not. What is stale is shown again, as it is now.
    fn attempt<T>(&mut self, shown: &ShownHunk<'_>, done: Result<T>) -> Result<T, NotDone> {
        let error = match done {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let failure = failure_of(&error);
        let is = |code: ErrorCode| failure.code == code;
        if is(ErrorCode::StaleHunk) || is(ErrorCode::NeedsDigest) {
            let text = "nothing was done: the file has changed since this was shown; here it is as \
                        it is now";
            print_message("note", TextStyle::Warn, text);
            self.walk.return_to(&shown.file.path);
            return Err(Some(NextStep::Next));
        }
        report(&error);
        Err(None)
    }
}

/// Prints why something was not done; the review goes on.
fn report(error: &anyhow::Error) {
    let failure = failure_of(error);
    print_message("error", TextStyle::Bad, &failure.message);
    if let Some(hint) = &failure.hint {
        print_hint(hint);
    }
}
