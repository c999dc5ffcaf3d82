//! Who runs a command: the person, or an agent whose open shell call runs it.
//!
//! A command that an agent's shell call runs has the agent's scope, with and without a daemon.
//! When unsure, it is the person's.

use anyhow::Result;
use retake_engine::model::{Caller, CallerChannel, CallerScope, ErrorCode};
use retake_engine::shell::quoted;
use retake_engine::{AgentCall, Plan, Project};
use retake_service::caller::{
    CallerHints, CallerProcess, ancestors_of, permit_request, refused_plan_reason, resolve_caller,
};
use retake_service::request::ProjectCommand;
use retake_service::review::CommentReader;

use crate::args::{CliCommand, CommentCommand, ConfigCommand, DaemonCommand, HistoryCommand};
use crate::context::CommandContext;
use crate::failure::ApiError;

/// The caller that a command speaks for, before anything is known of its surroundings.
pub(crate) fn initial_caller(command: &CliCommand) -> Caller {
    use retake_engine::model::CallerEvidence::None as NoEvidence;
    match command {
        CliCommand::Hook(_) => Caller::program(CallerChannel::Hook, NoEvidence),
        CliCommand::Event(_) => Caller::program(CallerChannel::Event, NoEvidence),
        CliCommand::Run(_) => Caller::person(CallerChannel::Run, NoEvidence),
        CliCommand::CatchUp => Caller::daemon(),
        _ => Caller::person(CallerChannel::CommandLine, NoEvidence),
    }
}

/// Returns true if a command decides for the person or changes what guards the record. Commands
/// that take changes back are judged by their plans.
fn is_for_person(command: &CliCommand) -> bool {
    match command {
        CliCommand::Accept(_) | CliCommand::Approve(_) => true,
        CliCommand::Review(options) => {
            options.plain || options.seen || options.forget || options.cancel.is_some()
        }
        CliCommand::Reject(options) => options.wait && !options.apply.dry_run,
        CliCommand::Comment(options) => {
            !matches!(options.command, None | Some(CommentCommand::Answer(_)))
        }
        CliCommand::Setup(options) => !options.status && !options.print,
        CliCommand::Init(options) => options.same || options.new || options.anywhere,
        CliCommand::Restore(options) => !options.apply.dry_run,
        CliCommand::Recover(options) => options.resume || options.undo,
        CliCommand::Gc(options) => !options.dry_run,
        CliCommand::Purge(options) => !options.dry_run,
        CliCommand::Daemon(options) => {
            matches!(options.command, DaemonCommand::Stop | DaemonCommand::Code(_))
        }
        CliCommand::Config(options) => {
            matches!(options.command, Some(ConfigCommand::Set(_) | ConfigCommand::Unset(_)))
        }
        CliCommand::History(options) => matches!(
            options.command,
            Some(HistoryCommand::Import(_) | HistoryCommand::Condense(_) | HistoryCommand::Back(_))
        ),
        _ => false,
    }
}

impl CommandContext {
    /// Fails if the command is for the person and an agent's shell call runs it.
    pub(crate) fn check_caller(&self, command: &CliCommand) -> Result<(), ApiError> {
        if !is_for_person(command) {
            return Ok(());
        }
        self.resolve_callers();
        let caller = self.caller.borrow();
        let around = match &caller.scope {
            CallerScope::Person => return Ok(()),
            CallerScope::Agent { dialog, .. } => format!("a call of dialog {dialog}"),
            CallerScope::Program => "a call of an agent".to_owned(),
        };
        let command = own_command();
        let message = format!("this is for the person to decide, and {around} runs it: {command}");
        Err(ApiError::new(ErrorCode::HumanOnly, message, self.person_hint()))
    }

    /// Resolves the caller by the project that the command is about, by the one around the current
    /// folder, in which the agent works, and by all others: an agent may leave its folder first.
    fn resolve_callers(&self) {
        for start in [self.start_folder(), &self.cwd] {
            if let Ok(project) = self.retake.open(start) {
                self.resolve_caller(&project);
            }
        }
        self.resolve_caller_anywhere();
    }

    /// Resolves a person by the open calls of all projects, once.
    fn resolve_caller_anywhere(&self) {
        if self.caller.borrow().is_person() && !self.is_looked_for_anywhere.replace(true) {
            // Damage of a record is reported by what reads it.
            self.resolve_by_calls(self.retake.all_agent_calls().unwrap_or_default());
        }
    }

    /// Resolves who runs the command by the open calls of a project, which is told, too.
    pub(crate) fn resolve_caller(&self, project: &Project) {
        // Damage of the record is reported by what reads it.
        self.resolve_by_calls(project.agent_calls().unwrap_or_default());
        project.set_caller(self.caller.borrow().clone());
    }

    fn resolve_by_calls(&self, mut calls: Vec<AgentCall>) {
        let channel = self.caller.borrow().channel;
        if self.caller.borrow().dialog().is_some()
            || matches!(channel, CallerChannel::Hook | CallerChannel::Daemon)
        {
            return;
        }
        calls.retain(|call| call.process.is_some());
        if !calls.is_empty() {
            let ancestors = ancestors_of(std::process::id());
            let process = CallerProcess { ancestors, is_peer: false };
            self.caller.replace(resolve_caller(&CallerHints::new(channel), &calls, &process));
        }
    }

    /// Checks that the caller of the command may ask for this.
    pub(crate) fn permit<V: ProjectCommand>(
        &self,
        project: &Project,
        command: &V,
    ) -> Result<(), ApiError> {
        let caller = self.caller.borrow();
        if caller.is_person() {
            return Ok(());
        }
        permit_request(project, &caller, &command.clone().into())
    }

    /// Who reads comments here: the person, or an agent that sees only what was sent to it.
    pub(crate) fn comment_reader(&self) -> CommentReader {
        let caller = self.caller.borrow();
        if caller.is_person() {
            return CommentReader::Person;
        }
        CommentReader::Agent(caller.dialog().cloned())
    }

    /// The refusal of a plan that is not the caller's to apply.
    pub(crate) fn plan_refusal(&self, project: &Project, plan: &Plan) -> Result<Option<ApiError>> {
        self.resolve_caller_anywhere();
        project.set_caller(self.caller.borrow().clone());
        let caller = self.caller.borrow();
        let reason = refused_plan_reason(project, &caller, plan)?;
        Ok(reason.map(|reason| {
            let message = format!("nothing was changed, since an agent asks for it and {reason}");
            ApiError::new(ErrorCode::HumanOnly, message, self.person_hint())
        }))
    }

    /// The way out of a refusal: the same command, run by the person.
    pub(crate) fn person_hint(&self) -> String {
        let folder = quoted(&self.cwd.to_string_lossy());
        format!("ask the person to run: cd {folder} && {}", own_command())
    }
}

/// This very command, as a shell reads it.
fn own_command() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("retake".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
