//! The report as Markdown, as a person reads it and as an issue shows it.

use std::fmt::Write as _;

use serde_json::Value;

use super::document::{BugReport, ReportAgent, ReportDaemon, ReportLog, ReportProject};
use crate::describe::{format_size, plural};
use crate::escape::{escape, escape_text};

/// The whole report.
pub(super) fn render_report(report: &BugReport) -> String {
    let mut text = String::from("# Retake bug report\n\n");
    text.push_str(
        "Made by `retake bug-report`. Nothing was sent anywhere: read it, and attach it\n\
         to an issue yourself. Secrets, names, prompts and contents are left out.\n\n\
         What happened, and what was expected:\n\n\n",
    );
    text.push_str(&render_machine(report));
    text.push_str(&render_agents(&report.agents));
    text.push_str(&render_settings(report));
    text.push_str(&render_daemon(&report.daemon));
    text.push_str(&report.project.as_ref().map_or_else(
        || "## Project\n\nNone here, or it cannot be opened.\n\n".to_owned(),
        render_project,
    ));
    text.push_str(&render_failures(report));
    text.push_str(&render_log(&report.log));
    escape_text(text)
}

fn render_machine(report: &BugReport) -> String {
    let (build, system) = (&report.retake, &report.system);
    let debug = if build.debug { ", debug build" } else { "" };
    let mut text = String::from("## Machine\n\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "- {name}: {}", escape(value));
    };
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    row("Report", &report.at);
    row("Retake", &format!("{} ({}{debug})", build.version, build.target));
    row("System", &known(&system.os));
    row("Kernel", &known(&system.kernel));
    row("Git", system.git.as_deref().unwrap_or("not found"));
    row("Shell", &known(&system.shell));
    let width = system.width.map_or_else(String::new, |width| format!(", {width} columns"));
    row("Terminal", &format!("{}{width}", known(&system.term)));
    row("Retake's folder", if system.usual_home { "the usual one" } else { "named" });
    text + "\n"
}

fn render_agents(agents: &[ReportAgent]) -> String {
    let mut text = String::from("## Agents\n\n");
    for agent in agents.iter().filter(|agent| agent.installed || agent.hooks != "absent") {
        let version = agent.version.as_deref().unwrap_or("version unknown");
        let heard = agent.last_event.as_deref().unwrap_or("never");
        let ReportAgent { agent: name, hooks, hooks_here, .. } = agent;
        let line = format!(
            "{name}: {version}, hooks {hooks}, in this project {hooks_here}, last heard {heard}"
        );
        let _ = writeln!(text, "- {}", escape(line));
    }
    let others = agents.iter().filter(|agent| !agent.installed && agent.hooks == "absent");
    let others: Vec<_> = others.map(|agent| agent.agent.as_str()).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "- not installed: {}", others.join(", "));
    }
    text + "\n"
}

fn render_settings(report: &BugReport) -> String {
    let mut text = String::from("## Settings that are not default\n\n");
    if report.settings.is_empty() {
        text.push_str("None.\n");
    }
    for setting in &report.settings {
        let value = match &setting.value {
            Value::String(value) => escape(value),
            other => escape(other.to_string()),
        };
        let _ = writeln!(text, "- {} = {value} ({})", setting.key, setting.source);
    }
    text + "\n"
}

fn render_daemon(daemon: &ReportDaemon) -> String {
    let mut text = String::from("## Daemon\n\n");
    if !daemon.running && daemon.version.is_none() {
        return text + "None runs.\n\n";
    }
    let version = daemon.version.as_deref().unwrap_or("unknown");
    let since = daemon.since.as_deref().unwrap_or("unknown");
    let http = if daemon.http { "on" } else { "off" };
    let _ = writeln!(text, "- version {}, since {since}, HTTP {http}", escape(version));
    for (watch, count) in &daemon.watching {
        let projects = plural(*count, "project", "projects");
        let _ = writeln!(text, "- {projects}, watching: {}", escape(watch));
    }
    if let (Some(spooled), Some(queued)) = (daemon.spooled, daemon.queued) {
        let _ = writeln!(text, "- waiting: {spooled} in spools, {queued} in queues");
    }
    text + "\n"
}

fn render_project(project: &ReportProject) -> String {
    let mut text = String::from("## Project\n\n");
    if let Some(counts) = &project.counts {
        let _ = writeln!(
            text,
            "- {}, {}, {}, {}",
            plural(counts.files, "file", "files"),
            plural(counts.changes, "change", "changes"),
            plural(counts.dialogs, "dialog", "dialogs"),
            plural(counts.operations, "operation", "operations"),
        );
        let size = format_size(counts.record_bytes);
        let spooled = plural(counts.spooled, "event waits", "events wait");
        let _ = writeln!(text, "- record {size}, {spooled}");
        for (reason, count) in &counts.gaps {
            let _ = writeln!(text, "- not protected: {count} {reason}");
        }
    }
    for check in &project.checks {
        let problems = match check.problems {
            0 => String::new(),
            count => format!(" ({})", plural(count, "problem", "problems")),
        };
        let _ = writeln!(text, "- check {}: {}{problems}", check.name, check.state);
        for detail in &check.details {
            let _ = writeln!(text, "  - {}", escape(detail));
        }
    }
    if !project.operations.is_empty() {
        text.push_str("\nLast operations, newest first:\n\n");
    }
    for operation in &project.operations {
        let undone = if operation.undone { ", undone" } else { "" };
        let (id, at) = (&operation.id, &operation.at);
        let _ = writeln!(text, "- {id} {at} {} {}{undone}", operation.kind, operation.state);
    }
    text + "\n"
}

fn render_failures(report: &BugReport) -> String {
    if report.failures.is_empty() {
        return String::new();
    }
    let mut text = String::from("## What could not be found out\n\n");
    for failure in &report.failures {
        let error = escape(failure.error.replace('\n', " "));
        let _ = writeln!(text, "- {}: {error} ({})", failure.part, escape(&failure.code));
    }
    text + "\n"
}

fn render_log(log: &ReportLog) -> String {
    let mut text = String::from("## The daemon's log\n\n");
    if log.lines.is_empty() {
        return text + "There is none.\n";
    }
    if !log.problems.is_empty() {
        let _ = write!(text, "Last warnings and errors:\n\n{}\n", fenced(&log.problems));
    }
    let _ = write!(text, "Last lines:\n\n{}", fenced(&log.lines));
    if log.left_out > 0 {
        let lines = plural(log.left_out, "line that is", "lines that are");
        let _ = write!(text, "\nLeft out: {lines} no entry.\n");
    }
    text
}

/// Lines as they are; none of them can end the block.
fn fenced(lines: &[String]) -> String {
    let lines: String =
        lines.iter().map(|line| escape(line.replace("```", "'''")) + "\n").collect();
    format!("```text\n{lines}```\n")
}
