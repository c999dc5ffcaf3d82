//! A hook file as a syntax tree, and our entries in it.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Array, Object, ObjectProp, StringLit, Value};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::setup::SetupError;
use crate::setup::command::HookCommand;
use crate::setup::splice::{JsonContainer, has_comment};

/// A handler in the file that calls us.
pub(super) struct RetakeHandler<'t> {
    pub(super) position: HandlerPosition<'t>,
    pub(super) command: &'t StringLit<'t>,
    /// What it calls, if it is an entry of just the shape that setup writes.
    pub(super) call: Option<HookCommand>,
}

/// Where a handler is.
#[derive(Clone, Copy)]
pub(super) struct HandlerPosition<'t> {
    pub(super) hooks: &'t Object<'t>,
    pub(super) hooks_at: usize,
    pub(super) event_at: usize,
    pub(super) event: &'t ObjectProp<'t>,
    pub(super) list: &'t Array<'t>,
    pub(super) group_at: usize,
    /// The handlers of the group, if the agent has groups.
    pub(super) handlers: Option<&'t Array<'t>>,
    pub(super) handler_at: usize,
}

/// Keys that existed before Retake, and so must stay on removal.
#[derive(Debug, Default)]
pub(super) struct PreexistingKeys {
    hooks: bool,
    events: BTreeSet<String>,
}

/// All handlers of a file, in the order of the file.
pub(super) fn handler_positions<'t>(
    root: &'t Object<'t>,
    grouped: bool,
) -> Vec<HandlerPosition<'t>> {
    let mut all = Vec::new();
    for (hooks_at, hooks) in properties_named(root, "hooks") {
        let Some(hooks) = hooks.value.as_object() else { continue };
        for (event_at, event) in hooks.properties.iter().enumerate() {
            let Some(list) = event.value.as_array() else { continue };
            for (group_at, group) in list.elements.iter().enumerate() {
                let handlers = None;
                let first = HandlerPosition {
                    hooks,
                    hooks_at,
                    event_at,
                    event,
                    list,
                    group_at,
                    handlers,
                    handler_at: 0,
                };
                if !grouped {
                    all.push(first);
                    continue;
                }
                let handlers = group.as_object().and_then(|group| last_property(group, "hooks"));
                let handlers = handlers.and_then(|(_, all)| all.value.as_array());
                let count = handlers.map_or(0, |handlers| handlers.elements.len());
                all.extend((0..count).map(|handler_at| HandlerPosition {
                    handlers,
                    handler_at,
                    ..first
                }));
            }
        }
    }
    all
}

impl<'t> HandlerPosition<'t> {
    pub(super) fn handler(&self) -> &'t Value<'t> {
        match self.handlers {
            Some(handlers) => &handlers.elements[self.handler_at],
            None => self.group(),
        }
    }

    pub(super) fn group(&self) -> &'t Value<'t> {
        &self.list.elements[self.group_at]
    }

    /// For which tools it is; agents take no word, an empty one and a star for all.
    pub(super) fn matcher(&self) -> &'t str {
        let matcher = self.group().as_object().and_then(|group| last_property(group, "matcher"));
        let matcher = matcher.and_then(|(_, matcher)| matcher.value.as_string_lit());
        matcher.map(|text| text.value.as_ref()).filter(|text| *text != "*").unwrap_or_default()
    }

    /// The text without this handler and what it alone filled. A comment keeps what it is in.
    pub(super) fn remove_from(
        &self,
        text: &str,
        root: &Object<'_>,
        preexisting: &PreexistingKeys,
    ) -> String {
        let free = |inner: Range, outer: Range| {
            !has_comment(&text[outer.start..inner.start])
                && !has_comment(&text[inner.end..outer.end])
        };
        let (handler, group) = (self.handler().range(), self.group().range());
        if let Some(handlers) = self.handlers
            && (handlers.elements.len() > 1 || !free(handler, group))
        {
            return JsonContainer::from(handlers).remove(text, self.handler_at);
        }
        let stays = preexisting.events.contains(self.event.name.as_str());
        if self.list.elements.len() > 1 || stays || !free(group, self.event.range) {
            return JsonContainer::from(self.list).remove(text, self.group_at);
        }
        let hooks = root.properties[self.hooks_at].range;
        if self.hooks.properties.len() > 1 || preexisting.hooks || !free(self.event.range, hooks) {
            return JsonContainer::from(self.hooks).remove(text, self.event_at);
        }
        JsonContainer::from(root).remove(text, self.hooks_at)
    }
}

impl PreexistingKeys {
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let root = JsonRoot::parse(text).ok()?;
        let Some((_, hooks)) = last_property(&root.object, "hooks") else {
            return Some(Self::default());
        };
        let events = hooks.value.as_object().map(|hooks| &hooks.properties);
        let name = |event: &ObjectProp<'_>| event.name.as_str().to_owned();
        let events = events.into_iter().flatten().map(name).collect();
        Some(Self { hooks: true, events })
    }
}

/// The object that a file holds.
pub(super) struct JsonRoot<'t> {
    pub(super) object: Object<'t>,
}

impl<'t> JsonRoot<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, SetupError> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
        let parsed = parsed.map_err(|error| SetupError::NotJson {
            line: error.line_display(),
            column: error.column_display(),
            reason: error.kind().to_string(),
        })?;
        match parsed.value {
            Some(Value::Object(object)) => Ok(Self { object }),
            _ => Err(SetupError::Shape { what: "the file".to_owned(), wanted: "an object" }),
        }
    }
}

/// Splits off the byte order mark that some editors write.
pub(super) fn split_bom(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |rest| (&text[..3], rest))
}

fn properties_named<'o, 't>(
    object: &'o Object<'t>,
    name: &str,
) -> impl DoubleEndedIterator<Item = (usize, &'o ObjectProp<'t>)> {
    object.properties.iter().enumerate().filter(move |(_, property)| property.name.as_str() == name)
}

pub(super) fn last_property<'o, 't>(
    object: &'o Object<'t>,
    name: &str,
) -> Option<(usize, &'o ObjectProp<'t>)> {
    properties_named(object, name).next_back()
}

pub(super) fn expect_object<'v, 't>(
    value: &'v Value<'t>,
    what: &str,
) -> Result<&'v Object<'t>, SetupError> {
    let shape = || SetupError::Shape { what: format!("\"{what}\""), wanted: "an object" };
    value.as_object().ok_or_else(shape)
}

pub(super) fn expect_array<'v, 't>(
    value: &'v Value<'t>,
    what: &str,
) -> Result<&'v Array<'t>, SetupError> {
    let shape = || SetupError::Shape { what: format!("\"{what}\""), wanted: "a list" };
    value.as_array().ok_or_else(shape)
}
