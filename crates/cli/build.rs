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
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=retake=-no-pie");
    }
}
