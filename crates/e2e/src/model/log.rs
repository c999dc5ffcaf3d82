//! The log of requests and answers, for the person who reads a failed test.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use super::wire::unique_id;

/// One line for each request, in the order they came.
pub(crate) struct RequestLog {
    start: Instant,
    lines: Mutex<Vec<String>>,
    /// Folder for the whole requests, if `RETAKE_E2E_BODIES` is set.
    bodies: Option<PathBuf>,
}

impl RequestLog {
    pub(crate) fn new() -> Self {
        let bodies = std::env::var_os("RETAKE_E2E_BODIES").map(PathBuf::from);
        Self { start: Instant::now(), lines: Mutex::new(Vec::new()), bodies }
    }

    pub(crate) fn add(&self, line: &str, body: &Value) {
        let mut lines = self.lines.lock().expect("no logger panics");
        lines.push(format!("{:8.3} {line}", self.start.elapsed().as_secs_f32()));
        if let Some(folder) = &self.bodies {
            let name = unique_id(&format!("{}-", std::process::id()));
            let written = std::fs::write(folder.join(name), format!("{line}\n{body:#}\n"));
            written.expect("the folder for requests exists");
        }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.lock().expect("no logger panics").join("\n")
    }
}
