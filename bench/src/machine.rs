//! Facts about the machine, and the versions of all tools.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::tools::BenchTools;

/// Printed with every result: figures of another machine cannot be compared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MachineFacts {
    cpu: String,
    cores: usize,
    memory: String,
    kernel: String,
    file_system: String,
    day: String,
    versions: Vec<String>,
}

impl MachineFacts {
    /// Detects them; `scratch` is the folder of the measured files.
    pub(crate) fn detect(tools: &BenchTools, scratch: &Path) -> Self {
        let mut versions = vec![
            command_output(&tools.retake, &["--version"]),
            command_output("git", &["--version"]),
        ];
        versions.extend(tools.jj.iter().map(|jj| command_output(jj, &["--version"])));
        if tools.watchman {
            versions.push(format!("watchman {}", command_output("watchman", &["--version"])));
        }
        versions.push(command_output("rustc", &["--version"]));
        Self {
            cpu: line_of("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: line_of("/proc/meminfo", "MemTotal"),
            kernel: command_output("uname", &["-sr"]),
            file_system: command_output("stat", &["-f", "-c", "%T", &scratch.to_string_lossy()]),
            day: command_output("date", &["+%Y-%m-%d"]),
            versions,
        }
    }

    /// Returns labels and values.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        vec![
            ("processor", format!("{}, {} cores", self.cpu, self.cores)),
            ("memory", self.memory.clone()),
            ("system", format!("{}, {}", self.kernel, self.file_system)),
            ("versions", self.versions.join("; ")),
            ("day", self.day.clone()),
        ]
    }
}

fn command_output(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

fn line_of(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
    line.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}
