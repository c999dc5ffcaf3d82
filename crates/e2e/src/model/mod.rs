//! A model that plays scripts, behind a real HTTP server on this machine.
//!
//! It speaks the wires of all agents. Each agent has an address of its own below the server's, so
//! that a request tells who asks: `http://127.0.0.1:PORT/codex/v1/responses`. Conversations are
//! not remembered, see [`talk`]; scripts are chosen by name, so that several turns and several
//! agents can use one server at once.
//!
//! With `RETAKE_E2E_BODIES=FOLDER` every request is written there, to look into by hand.

mod anthropic;
mod chat;
mod conversation;
mod gemini;
mod log;
mod responses;
mod server;
mod tools;
mod wire;

#[cfg(test)]
mod tests;

pub use server::ModelServer;
