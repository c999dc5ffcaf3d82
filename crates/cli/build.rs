//! How the program is linked.
//!
//! Agents start it twice for each call of a tool, and wait. A position-independent program of this
//! size spends a third of its start on relocations: some hundred pages are copied before `main`
//! runs. On Linux it is therefore linked to a fixed address (its libraries, heap and stack are
//! still placed at random).

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    // One without libraries is linked in another way.
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo:rustc-link-arg-bin=retake=-no-pie");
    }
}
