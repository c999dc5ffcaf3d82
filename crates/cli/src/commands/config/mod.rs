//! `retake config`: the settings in force, where each comes from, and changes of single ones.
//!
//! Reading, checking and writing the files is [`SettingsFiles`]', as for HTTP; here words of the
//! command line become values, and documents become text.

mod change;
mod document;
mod show;
mod value;

use anyhow::Result;
use retake_engine::ProjectError;
use retake_service::settings::{SettingsFiles, unknown_setting};

use crate::args::{ConfigArgs, ConfigCommand};
use crate::context::{CommandContext, Exit};
use document::{ConfigDocument, ConfigFilesDocument};

pub(super) fn run(context: &CommandContext, options: &ConfigArgs) -> Result<Exit> {
    match &options.command {
        None => show::run(context, options.show),
        Some(ConfigCommand::Show(options)) => show::run(context, *options),
        Some(ConfigCommand::Get(options)) => get(context, &options.key),
        Some(ConfigCommand::Set(options)) => change::set(context, options),
        Some(ConfigCommand::Unset(options)) => change::unset(context, options),
        Some(ConfigCommand::Path) => print_paths(context),
    }
}

/// The files that decide here: the home's, and in a project also the project's.
fn files_here(context: &CommandContext) -> Result<SettingsFiles> {
    let home = context.retake.folder();
    match context.retake.locate(context.start_folder()) {
        Ok(located) => Ok(SettingsFiles::of_project(home, located.folder())),
        // A folder that the person named is meant.
        Err(ProjectError::NotAProject(_)) if context.project.is_none() => {
            Ok(SettingsFiles::of_home(home))
        }
        Err(error) => Err(error.into()),
    }
}

fn get(context: &CommandContext, key: &str) -> Result<Exit> {
    let document = ConfigDocument::read(context, &files_here(context)?);
    let Some(found) = document.find(key) else {
        return Err(unknown_setting(key).into());
    };
    if context.json {
        context.out.json(found)?;
    } else if !found.setting.value.is_null() {
        context.out.text(&format!("{}\n", value::plain_text(&found.setting.value)))?;
    }
    Ok(Exit::Done)
}

fn print_paths(context: &CommandContext) -> Result<Exit> {
    let files = ConfigFilesDocument { files: files_here(context)?.read().files };
    if context.json {
        context.out.json(&files)?;
    } else {
        context.out.text(&show::render_paths(context, &files.files))?;
    }
    Ok(Exit::Done)
}
