//! The places that `mutants` changes are in the code: one that is lost proves nothing.

use std::path::Path;
use std::process::Command;

#[test]
fn every_mutant_s_place_is_found_once() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("mutants");
    let output = Command::new("python3").arg(script).arg("--check-places").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
