//! Real agents, headless and offline, against a model that plays scripts.
//!
//! - [`script`]: the model's messages and tool calls,
//! - [`ModelServer`]: the model behind a real HTTP server,
//! - [`AgentDriver`]: an agent's command line in a home of its own,
//! - [`AgentCli`]: the agents, and whether they are installed.
//!
//! ```no_run
//! use retake_e2e::script::{ModelScript, write};
//! use retake_e2e::{AgentCli, AgentDriver, ModelServer};
//! # let (home, project) = (std::path::Path::new("h"), std::path::Path::new("p"));
//! let server = ModelServer::start();
//! let script = ModelScript::new().step("I write.", [write("hi.txt", "hi\n")]);
//! server.add_script("greet", project, script);
//! let agent = AgentDriver::new(AgentCli::Codex, &server, home, project);
//! agent.turn("greet", "Greet us, please.").expect_success();
//! ```

#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

mod agent;
mod harness;
mod model;
pub mod script;

pub use agent::AgentCli;
pub use harness::{AgentDriver, AgentRun, RunningAgent};
pub use model::ModelServer;
