//! Whatever schemathesis makes of the description: no fault of the server, and no answer that is
//! not described.

use std::path::Path;
use std::process::Command;

use crate::stage::{STORY, Stage};

#[test]
fn schemathesis_finds_nothing() {
    let stage = Stage::new(STORY);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis/run");
    let output = Command::new(script)
        .arg(stage.running.url())
        .env("RETAKE_TOKEN", stage.human())
        .env("RETAKE_PROJECT", &stage.id)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{stderr}");
    println!("{told}");
}
