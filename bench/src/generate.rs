//! Generates a project for measuring: the same one every time, shaped like a real one.
//!
//! Sizes are spread as in source trees (most files of a few KiB, some of a hundred), folders are
//! nested, and the text compresses about as well as source does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fastrand::Rng;

use crate::files;

const FILES_PER_FOLDER: u64 = 12;
const MAX_DEPTH: u32 = 6;

/// Fills a folder with `count` files; returns their bytes.
pub(crate) fn project(root: &Path, count: u64) -> Result<u64> {
    let mut rng = Rng::with_seed(count);
    let names: Vec<String> = (0..600).map(|_| word(&mut rng)).collect();
    let folders = folders(&mut rng, &names, (count / FILES_PER_FOLDER).max(1));
    let mut bytes = 0;
    for number in 0..count {
        let folder = &folders[rng.usize(..folders.len())];
        let extension = ["rs", "rs", "ts", "go", "md", "json"][rng.usize(..6)];
        let name = format!("{}_{number}.{extension}", rng.choice(&names).map_or("", |name| name));
        let size = size(&mut rng);
        let text = source(&mut rng, &names, size);
        bytes += text.len() as u64;
        files::write(&root.join(folder).join(name), text.as_bytes())?;
    }
    Ok(bytes)
}

/// Fills a folder with `count` small files, twenty to a folder and twenty folders to a folder, and
/// one `.gitignore`: the cost of a scan depends on their number, not on their content.
pub(crate) fn small_files(root: &Path, count: u64) -> Result<()> {
    files::write(&root.join(".gitignore"), b"target/\n*.log\n")?;
    for number in 0..count {
        let text = format!("pub fn number() -> u64 {{\n    {number}\n}}\n");
        files::write(&root.join(small_file(number)), text.as_bytes())?;
    }
    Ok(())
}

/// Returns the path of one of them.
pub(crate) fn small_file(number: u64) -> PathBuf {
    let (area, part) = (number / 400, number / 20 % 20);
    PathBuf::from(format!("src/area_{area}/part_{part}/file_{number}.rs"))
}

/// Generates text that compresses like source, of about `bytes` bytes.
pub(crate) fn text(seed: u64, bytes: usize) -> String {
    let mut rng = Rng::with_seed(seed);
    let names: Vec<String> = (0..200).map(|_| word(&mut rng)).collect();
    source(&mut rng, &names, bytes)
}

fn folders(rng: &mut Rng, names: &[String], count: u64) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("src")];
    while (folders.len() as u64) < count {
        let parent = folders[rng.usize(..folders.len())].clone();
        let deep = parent.components().count() as u32 >= MAX_DEPTH;
        let parent = if deep { PathBuf::from("src") } else { parent };
        let name = format!("{}{}", names[rng.usize(..names.len())], folders.len());
        folders.push(parent.join(name));
    }
    folders
}

/// Half of all files have less than 3 KiB, one in a hundred has more than 60 KiB.
fn size(rng: &mut Rng) -> usize {
    let spread: f64 = (0..6).map(|_| rng.f64() - 0.5).sum();
    (3000.0 * (spread * 1.8).exp()).clamp(40.0, 300_000.0) as usize
}

fn source(rng: &mut Rng, names: &[String], bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    let mut indent = 0;
    while text.len() < bytes {
        // Some names are far more common than others.
        let pick = |rng: &mut Rng| {
            let most = rng.usize(1..=names.len());
            names[rng.usize(..most)].as_str()
        };
        let (one, two, three) = (pick(rng), pick(rng), pick(rng));
        let pad = "    ".repeat(indent);
        let line = match rng.u8(..8) {
            0 => format!("{pad}// {one} {two} the {three} of {one}"),
            1 => format!("{pad}fn {one}({two}: {three}) {{"),
            2 => format!("{pad}if {one}.{two}() == {} {{", rng.u16(..)),
            3 | 4 => format!("{pad}let {one} = {two}({three}, {});", rng.u16(..)),
            5 => format!("{pad}return {one};"),
            6 => format!("{}}}", "    ".repeat(indent.saturating_sub(1))),
            _ => String::new(),
        };
        match line.trim_end().chars().last() {
            Some('{') => indent = (indent + 1).min(5),
            Some('}') => indent = indent.saturating_sub(1),
            _ => {}
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

fn word(rng: &mut Rng) -> String {
    let syllables = ["re", "ta", "ke", "lo", "ma", "in", "dex", "fo", "ra", "sto", "pa", "th"];
    (0..rng.usize(2..5)).map(|_| syllables[rng.usize(..syllables.len())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_twenty_to_a_folder() {
        let top = tempfile::tempdir().unwrap();
        small_files(top.path(), 450).unwrap();
        assert!(top.path().join(small_file(449)).is_file());
        let entries = |path: &str| top.path().join(path).read_dir().unwrap().count();
        let counts = ["", "src", "src/area_0", "src/area_0/part_19", "src/area_1/part_2"];
        assert_eq!(counts.map(entries), [2, 2, 20, 20, 10]);
    }

    #[test]
    fn a_tree_is_the_same_every_time_and_compresses_like_source() {
        let tops = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let bytes: Vec<u64> = tops.iter().map(|top| project(top.path(), 300).unwrap()).collect();
        assert_eq!(bytes[0], bytes[1]);
        assert!((2_000..20_000).contains(&(bytes[0] / 300)), "{} bytes a file", bytes[0] / 300);
        let text = text(1, 100_000);
        let packed = zstd::encode_all(text.as_bytes(), 3).unwrap().len();
        assert!((3..8).contains(&(text.len() / packed)), "1 : {}", text.len() / packed);
    }
}
