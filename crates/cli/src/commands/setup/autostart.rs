//! The person's choice whether hooks start the daemon, in the settings of Retake's own home.
//!
//! Invariant: whatever else the file has, comments and order too, stays as it is.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use retake_engine::model::ErrorCode;
use retake_engine::settings::{SETTINGS_FILE_NAME, Settings};
use toml_edit::{DocumentMut, Item, Table, value};

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
    let path = home.join(SETTINGS_FILE_NAME);
    let cannot = |why: String| {
        let message = format!("{} is left as it is: {why}", path.display());
        ApiError::new(ErrorCode::Settings, message, "correct it, see docs/settings.md")
    };
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| cannot(error.to_string()))?,
    };
    let text = with_autostart(&text, autostart).map_err(cannot)?;
    retake_seam::fs::create_private_dir_all(home)
        .and_then(|()| retake_seam::fs::replace_durably(&path, text.as_bytes()))
        .map_err(|error| cannot(error.to_string()))?;
    // Settings that were invalid before are invalid still, and are reported.
    Settings::load_home(home).map(drop).map_err(|error| cannot(error.to_string()))
}

/// The settings with the choice in them.
fn with_autostart(text: &str, autostart: bool) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let daemon = document.entry("daemon").or_insert(Item::Table(Table::new()));
    let part = daemon.as_table_like_mut().ok_or("`daemon` is no table")?;
    match part.get_mut("autostart").and_then(Item::as_value_mut) {
        Some(known) => {
            let decor = known.decor().clone();
            *known = autostart.into();
            *known.decor_mut() = decor;
        }
        None => drop(part.insert("autostart", value(autostart))),
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_put_in_and_the_rest_stays() {
        let put = |text: &str, on| with_autostart(text, on).unwrap();
        assert_eq!(put("", true), "[daemon]\nautostart = true\n");
        let text =
            "# mine\n[hook] # fast\nbudget_ms = 5\n\n[daemon] # here\nautostart = false # no\n";
        assert_eq!(put(text, true), text.replace("false", "true"));
        assert_eq!(put(text, false), text);
        let text = "[daemon]\n# an hour\nidle_minutes = 60\n";
        assert_eq!(put(text, true), format!("{text}autostart = true\n"));
        assert_eq!(put("daemon.port = 7\n", true), "daemon.port = 7\ndaemon.autostart = true\n");
        assert!(with_autostart("daemon = 3", true).is_err());
        assert!(with_autostart("[", true).is_err());
    }
}
