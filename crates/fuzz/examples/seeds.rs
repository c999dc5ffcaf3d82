//! Writes the seeds of every target into a folder, for fuzzers: `seeds FOLDER`.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a tool for developers")]

use std::path::PathBuf;

fn main() {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).expect("seeds FOLDER");
    for target in retake_fuzz::TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, (_, seed)) in retake_fuzz::seeds::seeds(*target).into_iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:04}")), seed).unwrap();
        }
    }
}
