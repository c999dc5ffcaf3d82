//! Walks the syntax tree in execution order and gathers effects.
//!
//! Control flow is followed, not evaluated: every branch counts. A loop over literal words is
//! unrolled; in any other loop, what its body changes is unknown from the start.

use std::rc::Rc;

use brush_parser::ast::{
    AndOr, AndOrList, ArithmeticForClauseCommand, CaseClauseCommand, Command, CompoundCommand,
    CompoundList, ExtendedTestExpr, ForClauseCommand, IfClauseCommand, Pipeline, SeparatorOperator,
};

use super::reads::{self, OutputFlow};
use super::state::{ShellState, VariableValue, WorkingFolder};
use super::word::{self, ShellWord, WordExpansion};
use super::{
    CommandEffects, CommandTarget, TargetEffect, commands, danger, parse, quote, understood,
};

/// Maximum commands visited, over all loops and functions.
const MAX_STEPS: usize = 2_000;
/// Maximum nesting of scripts: `bash -c`, `eval`, substitutions, functions.
const MAX_SCRIPT_DEPTH: usize = 8;
/// Maximum values of a loop that is unrolled.
const MAX_UNROLLED: usize = 64;
/// Maximum targets that are listed.
const MAX_TARGETS: usize = 1_000;

/// Reads a script from a fresh state.
pub(super) fn analyse(text: &str) -> CommandEffects {
    let (effects, state, flow) =
        (CommandEffects::default(), ShellState::new(text), OutputFlow::default());
    let (lost, links) = (false, false);
    let mut walker = ScriptWalker { effects, state, flow, lost, links, steps: 0, scripts: 0 };
    walker.script(text);
    let ScriptWalker { mut effects, lost, links, .. } = walker;
    // A write through a symlink changes another file than the one named.
    effects.destroys_unknown |= links && !effects.destroys.is_empty();
    effects.destroys_unknown |= lost && danger::mentions_destroyer(text);
    effects.runs_git |= lost && danger::mentions_git(text);
    // A walk that was cut off has not listed every target.
    let is_whole = !lost && effects.targets.len() < MAX_TARGETS;
    effects.understood = understood::match_shape(text).filter(|_| is_whole);
    effects
}

/// The walk: the effects found, and the state at this point.
pub(super) struct ScriptWalker {
    pub(super) effects: CommandEffects,
    pub(super) state: ShellState,
    pub(super) flow: OutputFlow,
    /// Some part of the text was not followed.
    lost: bool,
    /// It creates links.
    links: bool,
    steps: usize,
    scripts: usize,
}

impl ScriptWalker {
    /// Walks shell text in the present state (`eval`, a sourced heredoc).
    pub(super) fn script(&mut self, text: &str) {
        self.nested(|walker| match parse::parse_program(text) {
            Some(program) => program.complete_commands.iter().for_each(|list| walker.list(list)),
            None => walker.lose_track(),
        });
    }

    /// Walks shell text that runs in a shell of its own.
    pub(super) fn subscript(&mut self, text: &str) {
        self.in_subshell(|walker| walker.script(text));
    }

    /// Walks one level deeper; too many levels are not followed.
    pub(super) fn nested(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.scripts >= MAX_SCRIPT_DEPTH {
            return self.lose_track();
        }
        self.scripts += 1;
        walk(self);
        self.scripts -= 1;
    }

    /// Marks the text as not followed: it may do anything that its words mention.
    pub(super) fn lose_track(&mut self) {
        self.lost = true;
    }

    /// Notes that a link is created: from here on a path may be another file.
    pub(super) fn make_link(&mut self) {
        self.links = true;
    }

    /// Notes that a file is destroyed that the text does not name.
    pub(super) fn destroy_unknown(&mut self) {
        self.effects.destroys_unknown = true;
    }

    /// Counts one command; false when there were too many.
    pub(super) fn count_step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.lose_track();
        }
        self.steps <= MAX_STEPS
    }

    /// Adds `word` as a target.
    pub(super) fn change(&mut self, word: &ShellWord, what: TargetEffect, recursive: bool) {
        if let Some(target) = self.target(word, what, recursive) {
            push_unique(&mut self.effects.targets, target);
        }
    }

    /// Adds `word` as a target whose earlier content is lost.
    pub(super) fn destroy(&mut self, word: &ShellWord, what: TargetEffect, recursive: bool) {
        self.effects.destroys_unknown |= !word.literal || word.expanded || self.is_full();
        // Its folder is unknown, but its name is not.
        if word.literal && self.state.folder == WorkingFolder::Unknown && !is_absolute(word) {
            self.endanger(word, what, recursive);
        }
        if let Some(target) = self.target(word, what, recursive) {
            push_unique(&mut self.effects.targets, target.clone());
            push_unique(&mut self.effects.destroys, target);
        }
    }

    /// Adds a word passed to an unknown program: it may be a file that the program edits.
    pub(super) fn add_possible_edit(&mut self, word: &ShellWord) {
        let text = word.text.trim_end_matches('/');
        if !word.literal || !text.contains(['.', '/']) || matches!(text, "." | "..") {
            return;
        }
        if self.state.folder != WorkingFolder::Start {
            // The walk may have the wrong folder.
            self.endanger(word, TargetEffect::Write, false);
        } else if let Some(target) = self.target(word, TargetEffect::Write, false) {
            push_unique(&mut self.effects.may_edit, target);
        }
    }

    /// Adds a file of this name, in any folder, as possibly lost.
    pub(super) fn endanger(&mut self, word: &ShellWord, what: TargetEffect, recursive: bool) {
        let recursive = recursive || word.below;
        let (path, glob) = (word.text.clone(), word.glob);
        if self.effects.destroys.len() < MAX_TARGETS {
            push_unique(
                &mut self.effects.destroys,
                CommandTarget { path, cwd: None, glob, recursive, what },
            );
        }
    }

    fn is_full(&self) -> bool {
        self.effects.targets.len() >= MAX_TARGETS
    }

    fn target(
        &self,
        word: &ShellWord,
        what: TargetEffect,
        recursive: bool,
    ) -> Option<CommandTarget> {
        let is_nowhere = self.state.folder == WorkingFolder::Unknown && !is_absolute(word);
        if !word.literal || is_nowhere || self.is_full() {
            return None;
        }
        let device = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];
        let path = word.text.as_str();
        if path.is_empty() || device.contains(&path) || path.starts_with("/dev/fd/") {
            return None;
        }
        let cwd = match &self.state.folder {
            WorkingFolder::At(folder) if !is_absolute(word) => Some(folder.clone()),
            _ => None,
        };
        let recursive = recursive || word.below;
        Some(CommandTarget { path: path.to_owned(), cwd, glob: word.glob, recursive, what })
    }

    /// Expands one written word into words, following its substitutions.
    pub(super) fn words(&mut self, text: &str) -> Vec<ShellWord> {
        let mut expansion = word::expand(text, &self.state);
        let words = std::mem::take(&mut expansion.words);
        self.substitutions(&expansion);
        words
    }

    /// Expands a written word that stays one.
    pub(super) fn whole_word(&mut self, text: &str) -> ShellWord {
        let (word, expansion) = word::expand_whole(text, &self.state);
        self.substitutions(&expansion);
        word
    }

    pub(super) fn substitutions(&mut self, expansion: &WordExpansion) {
        if expansion.obscure {
            self.lose_track();
        }
        expansion.assigned.iter().for_each(|name| self.state.set(name, None));
        expansion
            .commands
            .iter()
            .for_each(|text| self.walk_unseen(|walker| walker.subscript(text)));
    }

    /// Runs `walk` like a subshell: what it changes in the state is gone afterwards.
    pub(super) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self)) {
        let state = self.state.clone();
        self.keeping_exit_state(walk);
        self.state = state;
    }

    pub(super) fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            match item.1 {
                SeparatorOperator::Async => {
                    self.effects.background = true;
                    self.walk_unseen(|walker| walker.in_subshell(|walker| walker.and_or(&item.0)));
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
                // Its changes count all the same: `cd a && rm b`.
                AndOr::And(pipeline) if reached => self.pipeline(pipeline),
                AndOr::And(pipeline) => self.walk_unseen(|walker| walker.pipeline(pipeline)),
                AndOr::Or(pipeline) if leaves(pipeline) => {
                    self.in_subshell(|w| w.pipeline(pipeline));
                }
                AndOr::Or(pipeline) => self.walk_optional(|walker| walker.pipeline(pipeline)),
            }
            reached &= matches!(next, AndOr::And(pipeline) if reads::succeeds(pipeline));
        }
    }

    /// Walks commands that may or may not run.
    fn walk_optional(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        self.walk_unseen(walk);
        self.state.join(&before);
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        match pipeline.seq.as_slice() {
            [only] => self.command(only),
            [before @ .., last] => {
                for one in before {
                    self.in_subshell(|walker| walker.walk_piped(one));
                }
                self.in_subshell(|walker| walker.command(last));
                self.end_pipe();
            }
            [] => {}
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        // Counted for compound commands too: loops in loops end as soon as the budget does.
        if !self.count_step() {
            return;
        }
        match command {
            Command::Simple(simple) => commands::walk_simple(self, simple),
            Command::Compound(compound, redirects) => {
                let redirects = redirects.iter().flat_map(|list| &list.0);
                let elsewhere = redirects.clone().any(reads::diverts);
                redirects.for_each(|redirect| drop(commands::redirect(self, redirect)));
                if elsewhere {
                    self.walk_unseen(|walker| walker.compound(compound));
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
            CompoundCommand::Subshell(shell) => self.in_subshell(|walker| walker.list(&shell.list)),
            CompoundCommand::ForClause(clause) => self.for_clause(clause),
            CompoundCommand::CaseClause(clause) => self.case_clause(clause),
            CompoundCommand::IfClause(clause) => self.if_clause(clause),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.walk_loop(|walker| {
                    walker.list(&clause.0);
                    walker.list(&clause.1.list);
                });
            }
            CompoundCommand::Coprocess(process) => {
                self.effects.background = true;
                self.walk_unseen(|walker| {
                    walker.in_subshell(|walker| walker.command(&process.body));
                });
            }
        }
    }

    /// Walks a loop's body twice: once to find the variables it changes, once for its effects.
    fn walk_loop(&mut self, walk: impl Fn(&mut Self)) {
        let before = self.state.clone();
        let effects = self.effects.clone();
        walk(self);
        self.state.join(&before);
        self.effects = effects;
        let start = self.state.clone();
        self.walk_unseen(walk);
        self.state.join(&start);
    }

    fn for_clause(&mut self, clause: &ForClauseCommand) {
        let name = &clause.variable_name;
        let texts = clause.values.iter().flatten();
        let values: Vec<ShellWord> = texts.flat_map(|word| self.words(&word.value)).collect();
        let known = clause.values.is_some() && values.iter().all(|word| word.literal);
        if known && values.len() <= MAX_UNROLLED {
            for ShellWord { text, glob, .. } in values {
                self.state.set(name, Some(VariableValue { text, glob }));
                self.list(&clause.body.list);
            }
            // It may have been left before its end.
            self.state.set(name, None);
            return;
        }
        self.walk_loop(|walker| {
            walker.state.set(name, None);
            walker.list(&clause.body.list);
        });
    }

    fn arithmetic_for(&mut self, clause: &ArithmeticForClauseCommand) {
        let parts = [&clause.initializer, &clause.condition, &clause.updater];
        parts.into_iter().flatten().for_each(|expression| self.arithmetic(&expression.value));
        self.walk_loop(|walker| walker.list(&clause.body.list));
    }

    /// Arithmetic may assign any variable that it names.
    pub(super) fn arithmetic(&mut self, text: &str) {
        if quote::may_run(text) {
            self.lose_track();
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
                self.walk_optional(|walker| walker.list(list));
            }
        }
    }

    fn if_clause(&mut self, clause: &IfClauseCommand) {
        self.list(&clause.condition);
        let before = self.state.clone();
        self.walk_unseen(|walker| walker.list(&clause.then));
        let mut joined = std::mem::replace(&mut self.state, before);
        let mut exhaustive = false;
        for branch in clause.elses.iter().flatten() {
            match &branch.condition {
                Some(condition) => self.walk_unseen(|walker| walker.list(condition)),
                None => exhaustive = true,
            }
            let before = self.state.clone();
            self.walk_unseen(|walker| walker.list(&branch.body));
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

fn push_unique(targets: &mut Vec<CommandTarget>, target: CommandTarget) {
    if !targets.contains(&target) {
        targets.push(target);
    }
}

/// Returns whether a pipeline only leaves, as `|| exit 1`: later commands run without it.
fn leaves(pipeline: &Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else {
        return false;
    };
    let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
    matches!(name, Some("exit" | "return" | "break" | "continue"))
}

fn is_absolute(word: &ShellWord) -> bool {
    word.text.starts_with(['/', '~'])
}
