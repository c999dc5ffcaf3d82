//! The messages of the daemon's socket and their framing.
//!
//! A message is a length of 4 bytes (big-endian) and so much JSON. The daemon
//! begins with [`Hello`], the client sends one [`Call`], that of a hook with the agent's payload as
//! a message of its own, and the daemon answers with [`Frame`]s up to one that is the last. The
//! answer follows the last frame as a message of its own.
//!
//! Invariants:
//! - [`Hello`] and `{"ask":{"stop":{…}}}` have the same form in every version, so that an older
//!   and a newer program can tell each other; everything else is of one version.
//! - Nothing is done before [`Frame::Begun`] could be sent. So a client that has not seen it, and
//!   stops listening, knows that it will not be done.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use retake_engine::model::{Caller, Millis};
use retake_service::ApiError;
use retake_service::documents::HealthDocument;
use retake_service::hook::{HookCall, HookProgress};
use retake_service::request::ProjectRequest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::http::{AccessRequest, TokenScope};

/// Protocol version; goes up when a call or a frame changes its meaning.
pub(crate) const PROTOCOL_VERSION: u32 = 3;
/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum bytes of a message: a hook's payload may have 64 MiB, and what is parsed out of it
/// about doubles that.
const MAX_MESSAGE_BYTES: u32 = 160 * 1024 * 1024;
/// Maximum initial capacity of the receive buffer.
const INITIAL_BUFFER_BYTES: u32 = 64 * 1024;

/// The daemon's first word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonHello {
    /// What it understands.
    pub protocol: u32,
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

impl DaemonHello {
    pub(crate) fn current() -> Self {
        Self { protocol: PROTOCOL_VERSION, version: VERSION.to_owned(), pid: std::process::id() }
    }
}

/// A client's call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DaemonCall {
    /// What it asks for.
    pub(crate) ask: DaemonRequest,
}

/// A request to the daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DaemonRequest {
    /// A verb of the project at or above a folder.
    Project {
        /// The folder.
        start: PathBuf,
        /// Whether a folder that is in no project becomes one.
        create: bool,
        /// The verb.
        request: Box<ProjectRequest>,
        /// Who the client says it is; a program, if it does not.
        #[serde(default)]
        caller: Caller,
    },
    /// The work of a hook.
    Hook(HookCall),
    /// How the daemon is.
    Status {},
    /// A code for a browser.
    Code {
        /// What it is for.
        scope: TokenScope,
    },
    /// Tokens of agents, and logins.
    Access(AccessRequest),
    /// That it ends.
    Stop {
        /// Why.
        because: String,
    },
}

/// A message of the daemon after its hello.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DaemonFrame {
    /// It begins to do what it was asked for.
    Begun {},
    /// It is still there, and has come so far.
    Progress { done: u64, all: u64 },
    /// Progress of a hook call.
    News(HookProgress),
    /// The last frame: the answer comes after it.
    Done {},
    /// The last frame: the error. Before [`Frame::Begun`]: nothing was done.
    Failed(ApiError),
}

/// A daemon's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it started.
    pub since: Millis,
    /// Where its HTTP interface is, if it has one.
    pub http: Option<String>,
    /// Says why it is not at the port in the settings.
    #[serde(default)]
    pub http_note: Option<String>,
    /// The open projects.
    pub projects: Vec<ServedProject>,
    /// The same and more, as `GET /api/health` tells it; none if the projects cannot be listed.
    pub health: Option<HealthDocument>,
}

/// A one-time code for a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserCode {
    /// Where to exchange the code.
    pub url: String,
    /// It is good once, for a minute.
    pub code: String,
}

/// A project that a daemon serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedProject {
    /// Its id.
    pub id: String,
    /// Its root.
    pub root: String,
    /// How its files are watched.
    pub watch: String,
}

/// Sends a message, whole or not at all as far as its size decides.
pub(crate) fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = Vec::new();
    append_message(&mut bytes, &serde_json::to_vec(message)?)?;
    stream.write_all(&bytes)
}

/// Receives a message.
pub(crate) fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    Ok(serde_json::from_slice(&read_message(stream)?)?)
}

/// Sends the last frame, with the answer. One that is too large is not sent at all.
pub(crate) fn send_done(stream: &mut impl Write, answer: &[u8]) -> io::Result<()> {
    let mut frame = Vec::new();
    append_message(&mut frame, &serde_json::to_vec(&DaemonFrame::Done {})?)?;
    let length = message_length(answer)?;
    frame.extend(length);
    stream.write_all(&frame)?;
    stream.write_all(answer)
}

/// Returns whether an error is that a message has more bytes than one may have.
pub(crate) fn is_too_large(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}

/// Sends a call, with the payload of a hook.
pub(crate) fn send_call(stream: &mut impl Write, call: &DaemonCall) -> io::Result<()> {
    let mut bytes = Vec::new();
    append_message(&mut bytes, &serde_json::to_vec(call)?)?;
    if let DaemonRequest::Hook(hook) = &call.ask {
        append_message(&mut bytes, hook.payload.as_bytes())?;
    }
    stream.write_all(&bytes)
}

/// Receives a call, with the payload of a hook.
pub(crate) fn receive_call(stream: &mut impl Read) -> io::Result<DaemonCall> {
    let mut call: DaemonCall = receive(stream)?;
    if let DaemonRequest::Hook(hook) = &mut call.ask {
        let payload = String::from_utf8(read_message(stream)?);
        hook.payload = payload.map_err(|_| io::ErrorKind::InvalidData)?.into();
    }
    Ok(call)
}

fn append_message(bytes: &mut Vec<u8>, message: &[u8]) -> io::Result<()> {
    bytes.extend(message_length(message)?);
    bytes.extend(message);
    Ok(())
}

fn message_length(message: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(message.len()).ok().filter(|length| *length <= MAX_MESSAGE_BYTES);
    Ok(length.ok_or_else(too_large)?.to_be_bytes())
}

/// Receives the bytes of a message.
pub(crate) fn read_message(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > MAX_MESSAGE_BYTES {
        return Err(too_large());
    }
    // Grows with what comes: a length alone takes little memory.
    let mut bytes = Vec::with_capacity(length.min(INITIAL_BUFFER_BYTES) as usize);
    stream.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("a message of more than {MAX_MESSAGE_BYTES} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_received_and_what_is_cut_or_too_large_is_an_error() {
        let mut bytes = Vec::new();
        send(&mut bytes, &DaemonHello::current()).unwrap();
        assert_eq!(receive::<DaemonHello>(&mut bytes.as_slice()).unwrap(), DaemonHello::current());
        let cut = &bytes[..bytes.len() - 1];
        assert_eq!(
            receive::<DaemonHello>(&mut &*cut).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        let endless = [255; 64];
        let error = receive::<DaemonHello>(&mut endless.as_slice()).unwrap_err();
        assert!(error.to_string().contains("more than"), "{error}");
    }

    /// Programs of other versions send and understand just this.
    #[test]
    fn the_forms_that_all_versions_share_stay_as_they_are() {
        let hello: DaemonHello =
            serde_json::from_str(r#"{"protocol":7,"version":"9.1","pid":3,"more":[]}"#).unwrap();
        assert_eq!((hello.protocol, hello.version.as_str(), hello.pid), (7, "9.1", 3));
        let stop = DaemonCall { ask: DaemonRequest::Stop { because: "x".into() } };
        assert_eq!(serde_json::to_string(&stop).unwrap(), r#"{"ask":{"stop":{"because":"x"}}}"#);
    }
}
