//! Files that Gemini CLI has read: those in a prompt, and lines that `read_file` showed.

use retake_model::SeenFile;

use crate::file_reads::{included_file, range_after, read_of_lines};

/// The files that Gemini CLI wrote into a prompt behind the person's words, which mention them.
pub(crate) fn inlined_files(prompt: &str) -> Vec<SeenFile> {
    let Some((words, contents)) = prompt.split_once("\n--- Content from referenced files ---")
    else {
        return Vec::new();
    };
    let heads = contents.lines().filter_map(|line| line.strip_prefix("Content from @"));
    let names = heads.filter_map(|head| head.strip_suffix(':'));
    names.filter(|name| words.contains(&format!("@{name}"))).map(included_file).collect()
}

/// Parses the output of `read_file`; a truncated file says so.
pub(crate) fn read_result(path: &str, answer: &str) -> Option<SeenFile> {
    const TRUNCATION_PREFIXES: &[&str] =
        &["\nIMPORTANT: The file content has been truncated.", "[File content truncated:"];
    if !TRUNCATION_PREFIXES.iter().any(|start| answer.starts_with(start)) {
        let shown = !answer.starts_with("Cannot display content of ");
        return shown.then(|| SeenFile { path: path.to_owned(), lines: None });
    }
    let (first, last) = range_after(answer, "howing lines ")?;
    read_of_lines(path, first, last)
}
