//! Walks the syntax tree in execution order and gathers effects.
//!
//! Control flow is followed, not evaluated: every branch counts. A loop over literal words is
//! unrolled; in any other loop, what its body changes is unknown from the start.

use std::rc::Rc;

use brush_parser::ast::{
    AndOr, AndOrList, ArithmeticForClauseCommand, CaseClauseCommand, Command, CompoundCommand,
    CompoundList, ExtendedTestExpr, ForClauseCommand, IfClauseCommand, Pipeline, SeparatorOperator,
};

use super::reads::{self, Flow};
use super::state::{Folder, State, Value};
use super::word::{self, Expansion, Word};
use super::{Effect, Effects, Target, commands, parse, quote};

/// Commands visited, over all loops and functions.
const MAX_STEPS: usize = 2_000;
/// Scripts inside scripts: `bash -c`, `eval`, substitutions, functions.
const MAX_SCRIPTS: usize = 8;
/// Values of a loop that is unrolled.
const MAX_UNROLLED: usize = 64;
const MAX_TARGETS: usize = 1_000;

/// Reads a script from a fresh state.
pub(super) fn analyse(text: &str) -> Effects {
    let effects = Effects { complete: true, ..Effects::default() };
    let (state, flow) = (State::default(), Flow::default());
    let mut walker = Walker { effects, state, flow, steps: 0, scripts: 0 };
    walker.script(text);
    walker.effects
}

/// The walk: what was found, and what is known at this point.
pub(super) struct Walker {
    pub(super) effects: Effects,
    pub(super) state: State,
    pub(super) flow: Flow,
    steps: usize,
    scripts: usize,
}

impl Walker {
    /// Reads shell text in the present state (`eval`, a sourced heredoc).
    pub(super) fn script(&mut self, text: &str) {
        self.nested(|walker| match parse::program(text) {
            Some(program) => program.complete_commands.iter().for_each(|list| walker.list(list)),
            None => walker.incomplete(),
        });
    }

    /// Reads shell text that runs in a shell of its own.
    pub(super) fn subscript(&mut self, text: &str) {
        self.apart(|walker| walker.script(text));
    }

    /// One level further in; too many levels are not followed.
    pub(super) fn nested(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.scripts >= MAX_SCRIPTS {
            return self.incomplete();
        }
        self.scripts += 1;
        walk(self);
        self.scripts -= 1;
    }

    /// Something may change that is not among the targets.
    pub(super) fn incomplete(&mut self) {
        self.effects.complete = false;
    }

    /// Counts one command; false when there were too many.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.incomplete();
        }
        self.steps <= MAX_STEPS
    }

    /// Notes that `word` is changed; a word that is not known makes the answer incomplete.
    pub(super) fn change(&mut self, word: &Word, what: Effect, recursive: bool) {
        if let Some(target) = self.target(word, what, recursive) {
            push(&mut self.effects.targets, target);
        }
    }

    /// Notes that `word` is changed so that its content before is lost.
    pub(super) fn destroy(&mut self, word: &Word, what: Effect, recursive: bool) {
        let unknown = self.is_unknown(word);
        self.effects.destroys_unknown |= unknown && matches!(what, Effect::Delete | Effect::Move);
        if let Some(target) = self.target(word, what, recursive) {
            push(&mut self.effects.targets, target.clone());
            push(&mut self.effects.destroys, target);
        }
    }

    /// Whether what a word names cannot be told before the command runs.
    fn is_unknown(&self, word: &Word) -> bool {
        let lost = self.state.folder == Folder::Unknown && !is_absolute(word);
        !word.literal || lost || self.effects.targets.len() >= MAX_TARGETS
    }

    fn target(&mut self, word: &Word, what: Effect, recursive: bool) -> Option<Target> {
        if self.is_unknown(word) {
            self.incomplete();
            return None;
        }
        let device = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];
        let path = word.text.as_str();
        if path.is_empty() || device.contains(&path) || path.starts_with("/dev/fd/") {
            return None;
        }
        let cwd = match &self.state.folder {
            Folder::At(folder) if !is_absolute(word) => Some(folder.clone()),
            _ => None,
        };
        let recursive = recursive || word.below;
        Some(Target { path: path.to_owned(), cwd, glob: word.glob, recursive, what })
    }

    /// Expands one written word into words, following its substitutions.
    pub(super) fn words(&mut self, text: &str) -> Vec<Word> {
        let mut expansion = word::expand(text, &self.state);
        let words = std::mem::take(&mut expansion.words);
        self.substitutions(&expansion);
        words
    }

    /// Expands a written word that stays one.
    pub(super) fn whole_word(&mut self, text: &str) -> Word {
        let (word, expansion) = word::expand_whole(text, &self.state);
        self.substitutions(&expansion);
        word
    }

    pub(super) fn substitutions(&mut self, expansion: &Expansion) {
        if expansion.obscure {
            self.incomplete();
        }
        expansion.commands.iter().for_each(|text| self.unseen(|walker| walker.subscript(text)));
    }

    /// Runs `walk` like a subshell: what it changes in the state is gone afterwards.
    pub(super) fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let state = self.state.clone();
        self.inside(walk);
        self.state = state;
    }

    pub(super) fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            match item.1 {
                SeparatorOperator::Async => {
                    self.effects.background = true;
                    self.unseen(|walker| walker.apart(|walker| walker.and_or(&item.0)));
                }
                SeparatorOperator::Sequence => self.and_or(&item.0),
            }
        }
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        let mut reached = reads::succeeds(&list.first);
        for next in &list.additional {
            match next {
                // What it changes counts all the same: `cd a && rm b`.
                AndOr::And(pipeline) if reached => self.pipeline(pipeline),
                AndOr::And(pipeline) => self.unseen(|walker| walker.pipeline(pipeline)),
                AndOr::Or(pipeline) if leaves(pipeline) => self.apart(|w| w.pipeline(pipeline)),
                AndOr::Or(pipeline) => self.maybe(|walker| walker.pipeline(pipeline)),
            }
            reached &= matches!(next, AndOr::And(pipeline) if reads::succeeds(pipeline));
        }
    }

    /// Walks what may or may not run.
    fn maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        self.unseen(walk);
        self.state.join(&before);
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        match pipeline.seq.as_slice() {
            [only] => self.command(only),
            [before @ .., last] => {
                for one in before {
                    self.apart(|walker| walker.piped(one));
                }
                self.apart(|walker| walker.command(last));
                self.end_pipe();
            }
            [] => {}
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        // Counted for compound commands too: loops in loops end as soon as the budget does.
        if !self.step() {
            return;
        }
        match command {
            Command::Simple(simple) => commands::simple(self, simple),
            Command::Compound(compound, redirects) => {
                let redirects = redirects.iter().flat_map(|list| &list.0);
                let elsewhere = redirects.clone().any(reads::diverts);
                redirects.for_each(|redirect| drop(commands::redirect(self, redirect)));
                if elsewhere {
                    self.unseen(|walker| walker.compound(compound));
                } else {
                    self.compound(compound);
                }
            }
            Command::Function(function) => {
                let body = Rc::new(function.body.clone());
                self.state.functions.insert(function.fname.value.clone(), body);
            }
            Command::ExtendedTest(test, redirects) => {
                let redirects = redirects.iter().flat_map(|list| &list.0);
                redirects.for_each(|redirect| drop(commands::redirect(self, redirect)));
                self.test(&test.expr);
            }
        }
    }

    pub(super) fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(command) => self.arithmetic(&command.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => self.arithmetic_for(clause),
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(shell) => self.apart(|walker| walker.list(&shell.list)),
            CompoundCommand::ForClause(clause) => self.for_clause(clause),
            CompoundCommand::CaseClause(clause) => self.case_clause(clause),
            CompoundCommand::IfClause(clause) => self.if_clause(clause),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.repeat(|walker| {
                    walker.list(&clause.0);
                    walker.list(&clause.1.list);
                });
            }
            CompoundCommand::Coprocess(process) => {
                self.effects.background = true;
                self.unseen(|walker| walker.apart(|walker| walker.command(&process.body)));
            }
        }
    }

    /// Walks a loop's body: once to learn what it changes, once for what that does.
    fn repeat(&mut self, walk: impl Fn(&mut Self)) {
        let before = self.state.clone();
        let effects = self.effects.clone();
        walk(self);
        self.state.join(&before);
        self.effects = effects;
        let start = self.state.clone();
        self.unseen(walk);
        self.state.join(&start);
    }

    fn for_clause(&mut self, clause: &ForClauseCommand) {
        let name = &clause.variable_name;
        let texts = clause.values.iter().flatten();
        let values: Vec<Word> = texts.flat_map(|word| self.words(&word.value)).collect();
        let known = clause.values.is_some() && values.iter().all(|word| word.literal);
        if known && values.len() <= MAX_UNROLLED {
            for Word { text, glob, .. } in values {
                self.state.set(name, Some(Value { text, glob }));
                self.list(&clause.body.list);
            }
            return;
        }
        self.repeat(|walker| {
            walker.state.set(name, None);
            walker.list(&clause.body.list);
        });
    }

    fn arithmetic_for(&mut self, clause: &ArithmeticForClauseCommand) {
        let parts = [&clause.initializer, &clause.condition, &clause.updater];
        parts.into_iter().flatten().for_each(|expression| self.arithmetic(&expression.value));
        self.repeat(|walker| walker.list(&clause.body.list));
    }

    /// Arithmetic may assign any variable that it names.
    pub(super) fn arithmetic(&mut self, text: &str) {
        if quote::may_run(text) {
            self.incomplete();
        }
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.filter(|name| !name.is_empty()).for_each(|name| self.state.set(name, None));
    }

    fn case_clause(&mut self, clause: &CaseClauseCommand) {
        self.whole_word(&clause.value.value);
        for case in &clause.cases {
            for pattern in &case.patterns {
                self.whole_word(&pattern.value);
            }
            if let Some(list) = &case.cmd {
                self.maybe(|walker| walker.list(list));
            }
        }
    }

    fn if_clause(&mut self, clause: &IfClauseCommand) {
        self.list(&clause.condition);
        let before = self.state.clone();
        self.unseen(|walker| walker.list(&clause.then));
        let mut joined = std::mem::replace(&mut self.state, before);
        let mut exhaustive = false;
        for branch in clause.elses.iter().flatten() {
            match &branch.condition {
                Some(condition) => self.unseen(|walker| walker.list(condition)),
                None => exhaustive = true,
            }
            let before = self.state.clone();
            self.unseen(|walker| walker.list(&branch.body));
            joined.join(&self.state);
            self.state = before;
        }
        if !exhaustive {
            joined.join(&self.state);
        }
        self.state = joined;
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner);
            }
            ExtendedTestExpr::UnaryTest(_, word) => drop(self.whole_word(&word.value)),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.whole_word(&left.value);
                self.whole_word(&right.value);
            }
        }
    }
}

fn push(targets: &mut Vec<Target>, target: Target) {
    if !targets.contains(&target) {
        targets.push(target);
    }
}

/// `|| exit 1`: what comes after was reached without it.
fn leaves(pipeline: &Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else {
        return false;
    };
    let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
    matches!(name, Some("exit" | "return" | "break" | "continue"))
}

fn is_absolute(word: &Word) -> bool {
    word.text.starts_with(['/', '~'])
}
