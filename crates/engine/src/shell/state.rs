//! The shell's state at one point of a command line: folder, variables, functions.
//!
//! Branches that may or may not run are joined: values that differ become unknown. With an
//! unknown folder, relative targets are dropped instead of naming the wrong ones.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast::FunctionBody;

/// Maximum bytes of a variable's value; longer ones become unknown: `a=$a$a` in a loop is bounded.
const MAX_VALUE_BYTES: usize = 4096;

/// The working folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkingFolder {
    /// The folder in which the command started.
    Start,
    /// The folder to which literal `cd`s led.
    At(String),
    /// Not known.
    Unknown,
}

/// A variable's value, if the text tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableValue {
    /// The value after expansion.
    pub(super) text: String,
    /// It stands for every file that matches this pattern (a loop over `*.txt`).
    pub(super) glob: bool,
}

/// The state at one point.
#[derive(Clone, Debug)]
pub(super) struct ShellState {
    pub(super) folder: WorkingFolder,
    variables: BTreeMap<String, Option<VariableValue>>,
    /// Number of occurrences of each name in the whole text other than as `$name`.
    mentions: Rc<BTreeMap<String, usize>>,
    pub(super) functions: BTreeMap<String, Rc<FunctionBody>>,
}

impl ShellState {
    /// The state at the start of a text.
    pub(super) fn new(text: &str) -> Self {
        let (variables, functions) = (BTreeMap::new(), BTreeMap::new());
        Self {
            folder: WorkingFolder::Start,
            variables,
            mentions: Rc::new(mentions(text)),
            functions,
        }
    }

    /// Returns whether a variable can have no other value than the known one. A variable set in one
    /// place has that value or none; `PWD` and `HOME` keep their value if nothing sets them.
    pub(super) fn is_unambiguous(&self, name: &str) -> bool {
        let count = |name: &str| self.mentions.get(name).copied().unwrap_or(0);
        match name {
            "PWD" => ["cd", "pushd", "popd", "chdir", "PWD"].iter().all(|name| count(name) == 0),
            "HOME" => count(name) == 0,
            _ => count(name) == 1 && self.variables.contains_key(name),
        }
    }

    /// The value of a variable that the text set, or that always means the same place.
    pub(super) fn value(&self, name: &str) -> Option<VariableValue> {
        let fixed = |text: &str| Some(VariableValue { text: text.to_owned(), glob: false });
        match self.variables.get(name) {
            Some(value) => value.clone(),
            // Targets are resolved against the folder, and the engine knows `~`.
            None if name == "PWD" => fixed("."),
            None if name == "HOME" => fixed("~"),
            None => None,
        }
    }

    /// Sets a variable; `None` is "not known".
    pub(super) fn set(&mut self, name: &str, value: Option<VariableValue>) {
        let value = value.filter(|value| value.text.len() <= MAX_VALUE_BYTES);
        self.variables.insert(name.to_owned(), value);
    }

    /// Changes the folder, relative to the present one.
    pub(super) fn enter(&mut self, path: &str) {
        let absolute = path.starts_with('/') || path.starts_with('~');
        self.folder = match &self.folder {
            _ if absolute => WorkingFolder::At(path.to_owned()),
            same if path == "." => same.clone(),
            WorkingFolder::Start => WorkingFolder::At(path.to_owned()),
            WorkingFolder::At(folder) if folder.len() < MAX_VALUE_BYTES => {
                WorkingFolder::At(format!("{}/{path}", folder.trim_end_matches('/')))
            }
            _ => WorkingFolder::Unknown,
        };
    }

    /// Joins the state of another branch: values that differ become unknown.
    pub(super) fn join(&mut self, other: &Self) {
        if self.folder != other.folder {
            self.folder = WorkingFolder::Unknown;
        }
        for (name, value) in &mut self.variables {
            if other.variables.get(name) != Some(value) {
                *value = None;
            }
        }
        for name in other.variables.keys() {
            self.variables.entry(name.clone()).or_insert(None);
        }
        // A function that only one branch defines may or may not be the command of that name.
        self.functions.retain(|name, body| {
            other.functions.get(name).is_some_and(|known| Rc::ptr_eq(known, body))
        });
    }
}

/// Counts the names of a text that are not the use of a variable.
fn mentions(text: &str) -> BTreeMap<String, usize> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut counts = BTreeMap::new();
    let mut before = "";
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        let (gap, names) = rest.split_at(start);
        before = if gap.is_empty() { before } else { gap };
        let end = names.find(|c| !is_name(c)).unwrap_or(names.len());
        if !before.ends_with('$') && !before.ends_with("${") {
            *counts.entry(names[..end].to_owned()).or_default() += 1;
        }
        (before, rest) = ("", &names[end..]);
    }
    counts
}
