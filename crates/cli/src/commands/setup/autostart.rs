//! The person's choice whether hooks start the daemon, in the settings of Retake's own home.
//!
//! Invariant: whatever else the file has, comments and order too, stays as it is.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use retake_engine::settings::Settings;
use retake_service::settings::{SettingsChange, SettingsFiles};
use serde_json::json;

use crate::args::SetupArgs;
use crate::context::CommandContext;
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message};

/// Writes the choice of the command line to the settings, and prints the one in force.
pub(super) fn apply_choice(context: &CommandContext, options: &SetupArgs) -> Result<()> {
    let home = context.retake.folder();
    if let Some(choice) = options.daemon {
        write(home, choice.into())?;
    } else if options.remove || context.json {
        return Ok(());
    }
    // Invalid settings are reported where they are used.
    let wanted = Settings::load_home(home).unwrap_or_default().daemon.autostart;
    let text = if wanted {
        "hooks start the daemon, so that agents do not wait; --daemon=no declines"
    } else {
        "hooks start no daemon; --daemon has them start it"
    };
    print_message("daemon", TextStyle::Mark, text);
    Ok(())
}

fn write(home: &Path, autostart: bool) -> Result<(), ApiError> {
    let set = BTreeMap::from([("daemon.autostart".to_owned(), json!(autostart))]);
    SettingsFiles::of_home(home).write(&SettingsChange { set, version: None })
}
