//! Writes measured tables into a document: replaces the text between two marks.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::growth::GrowthCurves;
use crate::measurements::Measurements;
use crate::{files, goals, table};

/// Writes measured tables into a document, between its marks `<!-- bench:NAME -->` and `<!-- end -->`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArgs {
    /// The document
    document: PathBuf,
    /// What a comparison wrote with --json
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// What `growth` wrote with --json
    #[arg(long, value_name = "FILE")]
    growth: Option<PathBuf>,
}

impl ReportArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let mut text = std::fs::read_to_string(&self.document)
            .with_context(|| format!("{} cannot be read", self.document.display()))?;
        if let Some(file) = &self.compare {
            let book: Measurements = read(file)?;
            text = replace_marked(&text, "targets", &table::targets(&goals::all(&book)))?;
            let how_often = format!("{} rounds.\n\n", book.rounds);
            text = replace_marked(&text, "comparison", &(how_often + &table::comparison(&book)))?;
        }
        if let Some(file) = &self.growth {
            let curves: GrowthCurves = read(file)?;
            for axis in &curves.axes {
                text = replace_marked(&text, &axis.name, &axis.table())?;
            }
        }
        files::write(&self.document, text.as_bytes())
    }
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T> {
    let bytes =
        std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is of another kind", file.display()))
}

/// Returns the text with `new` between the marks of this name.
fn replace_marked(text: &str, name: &str, new: &str) -> Result<String> {
    let mark = format!("<!-- bench:{name} -->\n");
    let missing = || format!("the document has no place `{}` … `<!-- end -->`", mark.trim_end());
    let (head, rest) = text.split_once(&mark).with_context(missing)?;
    let (_, tail) = rest.split_once("<!-- end -->").with_context(missing)?;
    Ok(format!("{head}{mark}\n{}\n\n<!-- end -->{tail}", new.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_place_is_written_anew() {
        let text =
            "a\n<!-- bench:one -->\nold\n<!-- end -->\nb\n<!-- bench:two -->\n<!-- end -->\n";
        let text = replace_marked(text, "two", "second\n").unwrap();
        let once = replace_marked(&text, "one", "first").unwrap();
        assert_eq!(replace_marked(&once, "one", "first").unwrap(), once);
        assert!(once.starts_with("a\n<!-- bench:one -->\n\nfirst\n\n<!-- end -->\nb\n"));
        assert!(once.contains("second") && !once.contains("old"));
        assert!(replace_marked(&text, "three", "").is_err());
    }
}
