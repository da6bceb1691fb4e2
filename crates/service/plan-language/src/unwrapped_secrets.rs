//! Values that a plan unwrapped from `Sensitive`, kept so that they are redacted in stored texts.
//! Main type: [`UnwrappedSecrets`].
//!
//! Invariant: a text that contains such a value is redacted wherever it leaves the evaluation,
//! except in the sealed request to a node. The set follows from the plan's steps, so it is the same
//! when the plan is evaluated again.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobs::{JobSpec, REDACTED, TaskWork};
use pcore::Value;
use plans::{PlanEventMessage, StepWork};
use serde_json::{Map, Value as Json};
use zeroize::Zeroize as _;

use crate::defaults::{UNWRAPPED_BYTES, UNWRAPPED_TEXT_BYTES};

/// Texts that one evaluation of a plan unwrapped, in all forms in which they may occur in other
/// texts.
#[derive(Default)]
pub(crate) struct UnwrappedSecrets {
    texts: RefCell<BTreeSet<String>>,
    bytes: Cell<usize>,
    /// Search automaton over all texts, rebuilt after a text is added. `None` if it could not be
    /// built.
    search: RefCell<OnceCell<Option<AhoCorasick>>>,
}

impl UnwrappedSecrets {
    /// Adds every string, number and binary in a value.
    pub(crate) fn add(&self, value: &Value) {
        match value {
            Value::Str(text) => self.add_text(text),
            Value::Int(_) | Value::Float(_) => self.add_text(&value.to_string()),
            Value::Binary(bytes) => self.add_text(&STANDARD.encode(bytes.bytes())),
            Value::Sensitive(inner) => self.add(inner),
            Value::Array(elements) => elements.iter().for_each(|it| self.add(it)),
            Value::Hash(entries) => entries.iter().for_each(|(_, it)| self.add(it)),
            _ => {}
        }
    }

    /// Adds every `Sensitive` value inside a value that is sent to a node in clear text.
    pub(crate) fn add_hidden(&self, value: &Value) {
        match value {
            Value::Sensitive(inner) => self.add(inner),
            Value::Array(elements) => elements.iter().for_each(|it| self.add_hidden(it)),
            Value::Hash(entries) => entries.iter().for_each(|(_, it)| self.add_hidden(it)),
            _ => {}
        }
    }

    fn add_text(&self, text: &str) {
        if text.len() < UNWRAPPED_TEXT_BYTES {
            return;
        }
        for form in forms(text) {
            if self.is_full() {
                return;
            }
            let bytes = form.len();
            if self.texts.borrow_mut().insert(form) {
                self.bytes.set(self.bytes.get() + bytes);
                self.search.take();
            }
        }
    }

    /// Returns true if more was unwrapped than the bound allows; every text counts as secret then.
    fn is_full(&self) -> bool {
        self.bytes.get() > UNWRAPPED_BYTES
    }

    fn search<T>(&self, with: impl FnOnce(&AhoCorasick) -> T) -> Option<T> {
        let search = self.search.borrow();
        let search = search.get_or_init(|| {
            let texts = self.texts.borrow();
            let found = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(texts.iter().map(|it| it.as_bytes()));
            found.ok()
        });
        search.as_ref().map(with)
    }

    /// Returns true if the text contains an unwrapped value.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        if self.texts.borrow().is_empty() {
            return false;
        }
        self.is_full() || self.search(|it| it.is_match(text)).unwrap_or(true)
    }

    /// Returns true if any string, number or key in a JSON value contains an unwrapped value.
    fn is_in_json(&self, value: &Json) -> bool {
        match value {
            Json::Null | Json::Bool(_) => false,
            Json::Number(number) => self.is_in(&number.to_string()),
            Json::String(text) => self.is_in(text),
            Json::Array(list) => list.iter().any(|it| self.is_in_json(it)),
            Json::Object(entries) => entries
                .iter()
                .any(|(key, it)| self.is_in(key) || self.is_in_json(it)),
        }
    }

    /// Returns the text with each unwrapped value redacted.
    pub(crate) fn to_redacted_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.is_in(text) {
            return Cow::Borrowed(text);
        }
        let without = |search: &AhoCorasick| {
            let mut shown = String::with_capacity(text.len());
            search.replace_all_with(text, &mut shown, |_, _, shown| {
                shown.push_str(REDACTED);
                true
            });
            shown
        };
        let shown = match self.is_full() {
            true => None,
            false => self.search(without),
        };
        Cow::Owned(shown.unwrap_or_else(|| REDACTED.to_owned()))
    }

    /// Redacts every string, number and key in a JSON value.
    pub(crate) fn redact(&self, value: &mut Json) {
        match value {
            Json::Null | Json::Bool(_) => {}
            Json::Number(number) => {
                if self.is_in(&number.to_string()) {
                    *value = Json::from(REDACTED);
                }
            }
            Json::String(text) => self.redact_text(text),
            Json::Array(list) => list.iter_mut().for_each(|it| self.redact(it)),
            Json::Object(entries) => self.redact_entries(entries),
        }
    }

    fn redact_entries(&self, entries: &mut Map<String, Json>) {
        if entries.keys().any(|key| self.is_in(key)) {
            let renamed = std::mem::take(entries).into_iter();
            *entries = renamed
                .map(|(key, it)| (self.to_redacted_text(&key).into_owned(), it))
                .collect();
        }
        entries.values_mut().for_each(|it| self.redact(it));
    }

    fn redact_text(&self, text: &mut String) {
        if let Cow::Owned(shown) = self.to_redacted_text(text) {
            *text = shown;
        }
    }

    /// Redacts unwrapped values in the parts of a step that are stored readably; a task's
    /// parameters with such values are marked sensitive instead, so they are sealed.
    pub(crate) fn redact_work(&self, work: &mut StepWork) {
        if self.texts.borrow().is_empty() {
            return;
        }
        match work {
            StepWork::Run(spec) => self.redact_job(spec),
            StepWork::RecordEvent(told) | StepWork::Ask(told) => {
                let PlanEventMessage {
                    details, message, ..
                } = told;
                self.redact_entries(details);
                self.redact_text(message);
            }
            StepWork::Compute(_) | StepWork::Sleep(_) | StepWork::RunLocalEffect(_) => {}
        }
    }

    /// The same for a job that is the pattern of several steps.
    pub(crate) fn redact_job(&self, spec: &mut JobSpec) {
        self.redact_text(&mut spec.description);
        if let Some(task) = spec.work.task_mut() {
            self.seal_parameters(task);
        }
    }

    fn seal_parameters(&self, task: &mut TaskWork) {
        for (name, value) in &task.params {
            if !task.sensitive.contains(name) && self.is_in_json(value) {
                task.sensitive.push(name.clone());
            }
        }
    }
}

impl Drop for UnwrappedSecrets {
    fn drop(&mut self) {
        for mut text in std::mem::take(self.texts.get_mut()) {
            text.zeroize();
        }
    }
}

/// The forms of a text: unchanged, in JSON, in single quotes of a shell, escaped for a shell, in
/// Base64 and in a URL.
fn forms(text: &str) -> [String; 6] {
    let json = Json::from(text).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
    let escaped = text.chars().fold(String::new(), |mut escaped, character| {
        if !character.is_ascii_alphanumeric() && !"_-.,:+/@\n".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
        escaped
    });
    let url = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    [
        text.to_owned(),
        json,
        text.replace('\'', r"'\''"),
        escaped,
        STANDARD.encode(text),
        url.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(text: &str) -> UnwrappedSecrets {
        let secrets = UnwrappedSecrets::default();
        secrets.add(&Value::from(text));
        secrets
    }

    #[test]
    fn every_form_of_an_unwrapped_value_is_redacted() {
        let secrets = of("it's \"x\" & y");
        for text in [
            "login it's \"x\" & y now",
            r#"{"pw":"it's \"x\" & y"}"#,
            r#"echo 'it'\''s "x" & y'"#,
            r#"echo it\'s\ \"x\"\ \&\ y"#,
            "aXQncyAieCIgJiB5",
            "pw=it%27s%20%22x%22%20%26%20y",
        ] {
            let shown = secrets.to_redacted_text(text).into_owned();
            assert!(shown.contains(REDACTED), "{text} -> {shown}");
        }
        assert_eq!(secrets.to_redacted_text("login x now"), "login x now");
        let mut value = json!({"a": ["it's \"x\" & y"], "it's \"x\" & y": 1});
        secrets.redact(&mut value);
        assert_eq!(value, json!({"a": [REDACTED], REDACTED: 1}));
    }

    #[test]
    fn what_is_too_short_for_a_secret_hides_nothing() {
        for short in ["", "1", "any"] {
            assert_eq!(of(short).to_redacted_text("any 1"), "any 1");
        }
    }

    #[test]
    fn more_than_is_remembered_hides_everything() {
        let secrets = of(&"x".repeat(UNWRAPPED_BYTES + 1));
        assert_eq!(secrets.to_redacted_text("any"), REDACTED);
    }
}
