//! Settings of the daemon's HTTP interface.

use serde::{Deserialize, Serialize};

/// The port of the default home's daemon, unless the settings name another one.
pub const DEFAULT_HTTP_PORT: u16 = 7382;

/// The daemon's HTTP interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// The port on this machine; 0 takes one that is free.
    pub port: Option<u16>,
    /// Days that the login of a browser lasts.
    pub login_days: u32,
    /// Days without use after which an agent's token ends.
    pub agent_token_days: u32,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self { port: None, login_days: 30, agent_token_days: 30 }
    }
}
