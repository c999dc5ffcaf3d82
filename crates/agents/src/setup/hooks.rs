//! Finds, adds and removes Retake's hooks in a JSON file of an agent.
//!
//! Adding and removing are repeated single edits of the text, each one computed on a fresh
//! parse, until there is nothing left to do. Invariants: adding twice is adding once; whatever
//! is not ours keeps its bytes; of keys that are there twice the last one counts, as it does for
//! the agents.

mod tree;

use jsonc_parser::ast::{Object, StringLit, Value};
use jsonc_parser::common::Ranged as _;

use self::tree::{
    HandlerPosition, JsonRoot, PreexistingKeys, RetakeHandler, expect_array, expect_object,
    handler_positions, last_property, split_bom,
};
use super::command::{HookCommand, HookOwner, recognise_hook};
use super::hook_file::{DisableSwitch, HookEventSpec, HookFileSpec};
use super::literal::{JsonLiteral, JsonStyle, json_string, render_property};
use super::splice::JsonContainer;
use super::{FoundHooks, SetupError};

/// Maximum edits of one file; a fault here must not become an endless loop.
const MAX_EDITS: usize = 1000;

impl HookFileSpec {
    /// The file's text with our hooks in it; `None` is no file.
    pub(super) fn add(
        &self,
        text: Option<&str>,
        command: &HookCommand,
    ) -> Result<String, SetupError> {
        let (mark, body) = split_bom(text.unwrap_or_default());
        let mut body = if body.trim().is_empty() {
            format!("{{}}{}", line_end(body))
        } else {
            body.to_owned()
        };
        for _ in 0..MAX_EDITS {
            match self.next_addition(&body, command)? {
                Some(next) => body = next,
                None => return Ok(format!("{mark}{body}")),
            }
        }
        Err(SetupError::Endless)
    }

    /// The file's text without our hooks, and without what they left empty and `before` did not
    /// have. `None` means that the file is to be deleted.
    pub(super) fn remove(
        &self,
        text: &str,
        before: Option<&str>,
        own: Option<&HookCommand>,
    ) -> Result<Option<String>, SetupError> {
        let (mark, body) = split_bom(text);
        if body.trim().is_empty() {
            return Ok(Some(text.to_owned()));
        }
        let preexisting = before.and_then(|before| PreexistingKeys::from_text(split_bom(before).1));
        let preexisting = preexisting.unwrap_or_default();
        let mut body = body.to_owned();
        for edits in 0..MAX_EDITS {
            match self.next_removal(&body, &preexisting, own)? {
                Some(next) => body = next,
                None if edits > 0 && before.is_none() && self.is_only_version(&body)? => {
                    return Ok(None);
                }
                None => return Ok(Some(format!("{mark}{body}"))),
            }
        }
        Err(SetupError::Endless)
    }

    /// Finds our hooks in the file.
    pub(super) fn find(
        &self,
        text: &str,
        own: Option<&HookCommand>,
    ) -> Result<FoundHooks, SetupError> {
        let (_, body) = split_bom(text);
        let mut found = FoundHooks { missing: self.events.len(), ..FoundHooks::default() };
        if body.trim().is_empty() {
            return Ok(found);
        }
        let root = JsonRoot::parse(body)?;
        let all = self.own_handlers(&root.object, own);
        let counts = |event: &&HookEventSpec| {
            effective_handlers(&root.object, &all, event.name).next().is_some()
        };
        found.present = self.events.iter().filter(counts).count();
        found.missing -= found.present;
        found.switched_off = self.switched_off(&root.object);
        for one in all {
            match one.call {
                Some(call) if !found.calls.contains(&call) => found.calls.push(call),
                Some(_) => {}
                None => found.theirs.push(one.command.value.to_string()),
            }
        }
        Ok(found)
    }

    /// The handlers of the file as `is_wanted` (given whether it is ours) says, for
    /// [`crate::codex::trust`].
    pub(crate) fn handlers(
        &self,
        text: &str,
        own: Option<&HookCommand>,
        is_wanted: fn(bool) -> bool,
    ) -> Result<Vec<HandlerEntry>, SetupError> {
        let (_, body) = split_bom(text);
        let root = JsonRoot::parse(body)?;
        let wanted =
            |position: &HandlerPosition<'_>| is_wanted(self.command_at(position, own).is_some());
        let handler = |position: HandlerPosition<'_>| {
            let group = position.group().range();
            HandlerEntry {
                event: position.event.name.as_str().to_owned(),
                group_at: position.group_at,
                handler_at: position.handler_at,
                group: body[group.start..group.end].to_owned(),
                text: position.handler().range().text(body).to_owned(),
            }
        };
        let positions = handler_positions(&root.object, self.grouped);
        Ok(positions.into_iter().filter(wanted).map(handler).collect())
    }

    fn next_addition(
        &self,
        text: &str,
        command: &HookCommand,
    ) -> Result<Option<String>, SetupError> {
        let root = JsonRoot::parse(text)?;
        let root = &root.object;
        let style = JsonStyle::detect(text, root);
        let add = |to: &Object<'_>, name: &str, value: &JsonLiteral| {
            let render = |indent: Option<&str>| render_property(name, value, &style, indent);
            Some(JsonContainer::from(to).append(text, &style, &render))
        };
        if self.versioned && last_property(root, "version").is_none() {
            return Ok(add(root, "version", &JsonLiteral::Number(1)));
        }
        let Some((_, hooks)) = last_property(root, "hooks") else {
            let first = self.event_literal(&self.events[0], command);
            return Ok(add(root, "hooks", &JsonLiteral::Map(vec![first])));
        };
        let hooks = expect_object(&hooks.value, "hooks")?;
        let ours = self.own_handlers(root, Some(command));
        for event in self.events {
            let wanted = self.command_line(command, event);
            let is_old =
                |one: &&RetakeHandler<'_>| one.call.is_some() && one.command.value != wanted;
            if let Some(old) = effective_handlers(root, &ours, event.name).find(is_old) {
                return Ok(Some(replace_string(text, old.command, &wanted)));
            }
            if effective_handlers(root, &ours, event.name).next().is_some() {
                continue;
            }
            let (name, groups) = self.event_literal(event, command);
            let Some((_, list)) = last_property(hooks, event.name) else {
                return Ok(add(hooks, name, &groups));
            };
            let list = expect_array(&list.value, event.name)?;
            let group = self.group_literal(event, command);
            let render = |indent: Option<&str>| group.render(&style, indent);
            // Last, so that no hook of others moves: Codex knows approved ones by position.
            return Ok(Some(JsonContainer::from(list).append(text, &style, &render)));
        }
        let stray = ours.iter().find(|one| one.call.is_some() && self.is_stray(root, &ours, one));
        Ok(stray.map(|stray| stray.position.remove_from(text, root, &PreexistingKeys::default())))
    }

    /// Returns whether an entry is a duplicate, or for an event that is no longer used. One more
    /// for other tools is no duplicate: the person wants it so.
    fn is_stray(
        &self,
        root: &Object<'_>,
        ours: &[RetakeHandler<'_>],
        one: &RetakeHandler<'_>,
    ) -> bool {
        let same = |other: &&RetakeHandler<'_>| {
            other.call.is_some() && other.position.matcher() == one.position.matcher()
        };
        let mut kept = self.events.iter().filter_map(|event| {
            effective_handlers(root, ours, event.name)
                .filter(same)
                .find(|other| other.position.event_at == one.position.event_at)
        });
        !kept.any(|kept| kept.command.range == one.command.range)
    }

    fn next_removal(
        &self,
        text: &str,
        preexisting: &PreexistingKeys,
        own: Option<&HookCommand>,
    ) -> Result<Option<String>, SetupError> {
        let root = JsonRoot::parse(text)?;
        let ours = self.own_handlers(&root.object, own);
        let next = ours.iter().find(|one| one.call.is_some());
        Ok(next.map(|ours| ours.position.remove_from(text, &root.object, preexisting)))
    }

    /// All handlers that call us.
    fn own_handlers<'t>(
        &self,
        root: &'t Object<'t>,
        own: Option<&HookCommand>,
    ) -> Vec<RetakeHandler<'t>> {
        let ours = |position: HandlerPosition<'t>| {
            let (command, call) = self.command_at(&position, own)?;
            let call = if let HookOwner::Ours(call) = call { Some(call) } else { None };
            Some(RetakeHandler { position, command, call })
        };
        handler_positions(root, self.grouped).into_iter().filter_map(ours).collect()
    }

    fn command_at<'t>(
        &self,
        position: &HandlerPosition<'t>,
        own: Option<&HookCommand>,
    ) -> Option<(&'t StringLit<'t>, HookOwner)> {
        let (_, command) = last_property(position.handler().as_object()?, self.command_key)?;
        let text = command.value.as_string_lit()?;
        Some((text, recognise_hook(&text.value, self.agent, own)?))
    }

    fn command_line(&self, command: &HookCommand, event: &HookEventSpec) -> String {
        command.shell_line(self.agent, self.names_event.then_some(event.name))
    }

    fn event_literal(
        &self,
        event: &HookEventSpec,
        command: &HookCommand,
    ) -> (&'static str, JsonLiteral) {
        (event.name, JsonLiteral::List(vec![self.group_literal(event, command)]))
    }

    fn group_literal(&self, event: &HookEventSpec, command: &HookCommand) -> JsonLiteral {
        let besides = self.extra_keys.iter();
        let mut handler: Vec<_> =
            besides.map(|(key, value)| (*key, JsonLiteral::Text((*value).to_owned()))).collect();
        handler.push((self.command_key, JsonLiteral::Text(self.command_line(command, event))));
        handler.push((self.timeout_key, JsonLiteral::Number(event.timeout)));
        let handler = JsonLiteral::Map(handler);
        if !self.grouped {
            return handler;
        }
        let matcher =
            event.matcher.map(|matcher| ("matcher", JsonLiteral::Text(matcher.to_owned())));
        let handlers = ("hooks", JsonLiteral::List(vec![handler]));
        JsonLiteral::Map(matcher.into_iter().chain([handlers]).collect())
    }

    /// The setting by which a file of the agent turns our hooks off, in words.
    pub(super) fn switched_off(&self, root: &Object<'_>) -> Option<String> {
        let setting = |path: &[&str]| {
            let (key, folders) = path.split_last()?;
            let folder = folders.iter().try_fold(root, |object, folder| {
                last_property(object, folder)?.1.value.as_object()
            })?;
            Some(&last_property(folder, key)?.1.value)
        };
        let DisableSwitch { path, off_value } = self.disable_switch?;
        let value = setting(path).and_then(|value| value.as_boolean_lit());
        if value.is_some_and(|value| value.value == off_value) {
            return Some(format!("{} is {off_value}", path.join(".")));
        }
        let names = setting(self.disabled_list)?.as_array()?;
        let is_ours = |name: &Value<'_>| {
            let name = name.as_string_lit().map(|name| name.value.as_ref()).unwrap_or_default();
            name == "retake" || recognise_hook(name, self.agent, None).is_some()
        };
        names
            .elements
            .iter()
            .any(is_ours)
            .then(|| format!("{} has it", self.disabled_list.join(".")))
    }

    /// Returns whether nothing but a version is left, not even a comment.
    fn is_only_version(&self, text: &str) -> Result<bool, SetupError> {
        let root = JsonRoot::parse(text)?;
        let only_version = root.object.properties.iter().all(|p| p.name.as_str() == "version");
        let rest: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let hollow = ["{}", r#"{"version":1}"#, r#"{"version":1,}"#];
        Ok(only_version && hollow[..if self.versioned { 3 } else { 1 }].contains(&rest.as_str()))
    }
}

/// A handler in a file, for [`crate::codex::trust`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandlerEntry {
    pub(crate) event: String,
    pub(crate) group_at: usize,
    pub(crate) handler_at: usize,
    /// The JSON of its group.
    pub(crate) group: String,
    /// Its own JSON.
    pub(crate) text: String,
}

/// The handlers that call us and that the agent runs for an event.
fn effective_handlers<'o, 't>(
    root: &Object<'_>,
    ours: &'o [RetakeHandler<'t>],
    event: &str,
) -> impl Iterator<Item = &'o RetakeHandler<'t>> {
    let at = last_property(root, "hooks").and_then(|(hooks_at, hooks)| {
        let (event_at, _) = last_property(hooks.value.as_object()?, event)?;
        Some((hooks_at, event_at))
    });
    ours.iter().filter(move |ours| Some((ours.position.hooks_at, ours.position.event_at)) == at)
}

fn line_end(blank: &str) -> &'static str {
    if blank.contains("\r\n") { "\r\n" } else { "\n" }
}

fn replace_string(text: &str, old: &StringLit<'_>, new: &str) -> String {
    let (head, tail) = (&text[..old.range.start], &text[old.range.end..]);
    format!("{head}{}{tail}", json_string(new))
}
