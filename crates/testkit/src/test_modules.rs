//! No file of a test binary is forgotten: cargo silently leaves out what no module declares.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_file_of_a_test_binary_is_declared_as_a_module() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut declared, mut forgotten) = (0, Vec::new());
    for tests in entries(crates).iter().map(|crate_folder| crate_folder.join("tests")) {
        for binary in entries(&tests).iter().filter(|entry| entry.join("main.rs").exists()) {
            for file in modules_beneath(binary) {
                let is_declared = is_declared(&file);
                declared += usize::from(is_declared);
                forgotten.extend((!is_declared).then_some(file));
            }
        }
    }
    assert_eq!(forgotten, Vec::<PathBuf>::new());
    assert!(declared > 100, "only {declared}");
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    listed.map(|entry| entry.unwrap().path()).collect()
}

fn modules_beneath(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in entries(folder) {
        if entry.is_dir() {
            found.extend(modules_beneath(&entry));
        } else if entry.extension().is_some_and(|ext| ext == "rs") && !entry.ends_with("main.rs") {
            found.push(entry);
        }
    }
    found
}

/// Returns true if the file that has to declare this one does.
fn is_declared(file: &Path) -> bool {
    let folder = file.parent().unwrap();
    let (parents, module) = if file.ends_with("mod.rs") {
        (parents_of(folder.parent().unwrap()), folder.file_name())
    } else {
        (parents_of(folder), file.file_stem())
    };
    let line = format!("mod {};", module.unwrap().to_str().unwrap());
    let declares = |text: String| text.lines().any(|found| found.trim_end().ends_with(&line));
    parents.iter().any(|parent| fs::read_to_string(parent).is_ok_and(declares))
}

/// The files that can declare the modules of a folder.
fn parents_of(folder: &Path) -> [PathBuf; 3] {
    [folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")]
}
