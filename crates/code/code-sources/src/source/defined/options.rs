//! The options of an entry: [`Options`], and conversion of YAML values to those of a Puppetfile:
//! [`value`].
//!
//! Invariant: no message quotes a value, since it may be a secret.

use psych::{Node, Value};
use puppetfile::InnerPath;

use super::document::Wrong;

/// The options of an entry that were not used yet, with the lines of their keys.
pub(super) struct Options<'n> {
    /// Line of the entry.
    pub(super) line: u32,
    given: Vec<(String, &'n Node, u32)>,
}

/// A text with its line.
pub(super) struct Text {
    pub(super) value: String,
    pub(super) line: u32,
}

// === impl Options ===

impl<'n> Options<'n> {
    pub(crate) fn of(node: &'n Node, line: u32) -> Result<Self, Wrong> {
        let entries = node.as_mapping().ok_or_else(|| {
            let what = "what the environment is stands here as keys and values: type, source, version, \
                        modules";
            (line, what.to_owned())
        })?;
        let mut given: Vec<(String, &Node, u32)> = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let key = key(name)?;
            // Given both as a text and as a symbol.
            if given.iter().any(|(known, ..)| *known == key) {
                return Err((name.line, format!("{key:?} is given twice")));
            }
            given.push((key, value, name.line));
        }
        Ok(Self { line, given })
    }

    /// Removes a key, and returns its value and its line.
    pub(super) fn take(&mut self, key: &str) -> Option<(&'n Node, u32)> {
        let index = self.given.iter().position(|(known, ..)| known == key)?;
        let (_, node, line) = self.given.remove(index);
        Some((node, line))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<Text>, Wrong> {
        let Some((node, line)) = self.take(key) else {
            return Ok(None);
        };
        let value = match &node.value {
            Value::Null => return Ok(None),
            Value::String(text) | Value::Symbol(text) => text.to_string(),
            // A commit with decimal digits only.
            Value::Integer(number) => number.to_string(),
            _ => return Err((line, format!("{key} is a text; put it in quotes"))),
        };
        let is_wrong =
            value.is_empty() || value.starts_with('-') || value.chars().any(char::is_control);
        match is_wrong {
            true => Err((line, format!("{key} cannot be used as it is"))),
            false => Ok(Some(Text { value, line })),
        }
    }

    /// The value of an option with two alternative names, which is required.
    pub(super) fn one_of(&mut self, key: &str, other: &str) -> Result<String, Wrong> {
        match (self.text(key)?, self.text(other)?) {
            (Some(one), None) | (None, Some(one)) => Ok(one.value),
            (None, None) => Err((self.line, format!("{key} is missing"))),
            (Some(_), Some(two)) => Err((two.line, format!("{key} and {other} are the same"))),
        }
    }

    pub(super) fn nothing_left(&self) -> Result<(), Wrong> {
        match self.given.first() {
            None => Ok(()),
            Some((key, _, line)) => Err((
                *line,
                format!("the option {key:?} is not known for this type of environment"),
            )),
        }
    }
}

/// The name of an option, or of a module.
pub(super) fn key(node: &Node) -> Result<String, Wrong> {
    match &node.value {
        Value::String(text) | Value::Symbol(text) => Ok(text.to_string()),
        _ => Err((node.line, "a name is expected here, a text".to_owned())),
    }
}

pub(super) fn inner_path(key: &str, given: &Text) -> Result<InnerPath, Wrong> {
    let path = given.value.parse();
    path.map_err(|error| (given.line, format!("{key}: {error}")))
}

/// Converts a value to the form of the options of `mod`.
pub(super) fn value(node: &Node) -> Result<puppetfile::Value, Wrong> {
    let Value::Mapping(entries) = &node.value else {
        return Ok(plain(node));
    };
    let options = entries.iter();
    let options = options.map(|(name, node)| Ok((key(name)?, plain(node))));
    Ok(puppetfile::Value::Hash(
        options.collect::<Result<_, Wrong>>()?,
    ))
}

/// Converts a value within options: lists and hashes become empty, whatever they contain.
fn plain(node: &Node) -> puppetfile::Value {
    use puppetfile::Value as Said;
    match &node.value {
        Value::Null => Said::Nil,
        Value::Bool(flag) => Said::Bool(*flag),
        Value::String(text) => Said::Text(text.to_string()),
        Value::Symbol(text) => Said::Symbol(text.to_string()),
        // A commit with decimal digits only.
        Value::Integer(number) => Said::Text(number.to_string()),
        Value::Mapping(_) => Said::Hash(Vec::new()),
        Value::Sequence(_) | Value::Binary(_) => Said::List(Vec::new()),
        Value::BigInteger(_) | Value::Float(_) | Value::Date(_) | Value::Time(_) => {
            Said::Number(String::new())
        }
    }
}
