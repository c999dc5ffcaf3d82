//! What is known at one point of a command line: folder, variables, functions.
//!
//! Branches that may or may not run are joined: what differs afterwards is unknown. An unknown
//! folder drops relative targets instead of naming the wrong ones.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast::FunctionBody;

/// Longer values are forgotten, so that `a=$a$a` in a loop stays small.
const MAX_VALUE: usize = 4096;

/// The working folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// Where the command started.
    Start,
    /// Where literal `cd`s led.
    At(String),
    /// Somewhere.
    Unknown,
}

/// A variable's value, if the text tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// The value after expansion.
    pub(super) text: String,
    /// It stands for every file that matches this pattern (a loop over `*.txt`).
    pub(super) glob: bool,
}

/// What is known at one point.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) folder: Folder,
    variables: BTreeMap<String, Option<Value>>,
    /// How often each name stands in the whole text other than as `$name`.
    mentions: Rc<BTreeMap<String, usize>>,
    pub(super) functions: BTreeMap<String, Rc<FunctionBody>>,
}

impl State {
    /// Where a text starts.
    pub(super) fn new(text: &str) -> Self {
        let (variables, functions) = (BTreeMap::new(), BTreeMap::new());
        Self { folder: Folder::Start, variables, mentions: Rc::new(mentions(text)), functions }
    }

    /// Whether a variable can have no other value than the one that the walk knows. What is set in
    /// one place has that value or none; `PWD` and `HOME` are what they were if nothing sets them.
    pub(super) fn is_settled(&self, name: &str) -> bool {
        let count = |name: &str| self.mentions.get(name).copied().unwrap_or(0);
        match name {
            "PWD" => ["cd", "pushd", "popd", "chdir", "PWD"].iter().all(|name| count(name) == 0),
            "HOME" => count(name) == 0,
            _ => count(name) == 1 && self.variables.contains_key(name),
        }
    }

    /// The value of a variable that the text set, or that always means the same place.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        let fixed = |text: &str| Some(Value { text: text.to_owned(), glob: false });
        match self.variables.get(name) {
            Some(value) => value.clone(),
            // Targets are resolved against the folder, and the engine knows `~`.
            None if name == "PWD" => fixed("."),
            None if name == "HOME" => fixed("~"),
            None => None,
        }
    }

    /// Sets a variable; `None` is "not known".
    pub(super) fn set(&mut self, name: &str, value: Option<Value>) {
        let value = value.filter(|value| value.text.len() <= MAX_VALUE);
        self.variables.insert(name.to_owned(), value);
    }

    /// Goes to a folder, relative to the present one.
    pub(super) fn enter(&mut self, path: &str) {
        let absolute = path.starts_with('/') || path.starts_with('~');
        self.folder = match &self.folder {
            _ if absolute => Folder::At(path.to_owned()),
            same if path == "." => same.clone(),
            Folder::Start => Folder::At(path.to_owned()),
            Folder::At(folder) if folder.len() < MAX_VALUE => {
                Folder::At(format!("{}/{path}", folder.trim_end_matches('/')))
            }
            _ => Folder::Unknown,
        };
    }

    /// Forgets what differs from `other`, which is another way to have come here.
    pub(super) fn join(&mut self, other: &Self) {
        if self.folder != other.folder {
            self.folder = Folder::Unknown;
        }
        for (name, value) in &mut self.variables {
            if other.variables.get(name) != Some(value) {
                *value = None;
            }
        }
        for name in other.variables.keys() {
            self.variables.entry(name.clone()).or_insert(None);
        }
        // A function that only one way defines may or may not be the command of that name.
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
