//! The callers of the daemon's socket, known by the credentials of its peers.
//!
//! A client says who it is; an agent among the ancestors of its process counts more than that. A
//! client in a sandbox may not see its own ancestors, the daemon does.

use std::os::unix::net::UnixStream;

use retake_engine::AgentCall;
use retake_engine::model::{Caller, CallerChannel, CallerEvidence, ErrorCode};
use retake_service::ApiError;
use retake_service::caller::{
    CallerHints, CallerProcess, HUMAN_ONLY_HINT, ancestors_of, resolve_caller,
};

use super::DaemonState;
use crate::ProjectHandle;

/// The process of a client, if the system tells.
#[cfg(target_os = "linux")]
pub(super) fn peer_pid(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The process of a client is not known.
#[cfg(not(target_os = "linux"))]
pub(super) fn peer_pid(_stream: &UnixStream) -> Option<u32> {
    None
}

/// Who a client of a project is.
pub(super) fn resolve_peer(handle: &ProjectHandle, pid: Option<u32>, claimed: Caller) -> Caller {
    // A client that knows itself to be an agent's is one.
    if claimed.evidence != CallerEvidence::None || claimed.channel == CallerChannel::Daemon {
        return claimed;
    }
    resolve(&CallerHints::new(claimed.channel), &agent_calls(handle), pid)
}

/// Fails if an agent's open shell call, in any project that is served, runs the client.
pub(super) fn require_person(state: &DaemonState, pid: Option<u32>) -> Result<(), ApiError> {
    let calls: Vec<_> =
        state.projects.handles().iter().flat_map(|handle| agent_calls(handle)).collect();
    let caller = resolve(&CallerHints::new(CallerChannel::CommandLine), &calls, pid);
    if caller.is_person() {
        return Ok(());
    }
    let dialog = caller.dialog().map_or_else(String::new, |dialog| format!(" of dialog {dialog}"));
    let message = format!("this is for the person, and an agent's call{dialog} asks for it");
    Err(ApiError::new(ErrorCode::HumanOnly, message, HUMAN_ONLY_HINT))
}

fn resolve(hints: &CallerHints, calls: &[AgentCall], pid: Option<u32>) -> Caller {
    // Without a call that an ancestor could have begun, no process is looked at.
    let ancestors = match pid {
        Some(pid) if !calls.is_empty() => ancestors_of(pid),
        _ => Vec::new(),
    };
    resolve_caller(hints, calls, &CallerProcess { ancestors, is_peer: pid.is_some() })
}

/// The calls of a project whose agents' processes are known.
fn agent_calls(handle: &ProjectHandle) -> Vec<AgentCall> {
    // Damage of the record is reported by what reads it.
    let mut calls = handle.read(|project| Ok(project.agent_calls()?)).unwrap_or_default();
    calls.retain(|call| call.process.is_some());
    calls
}
