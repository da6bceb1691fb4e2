//! The options of an entry: [`DefinitionOptions`], and conversion of YAML values to those of a
//! Puppetfile: [`to_puppetfile_value`].
//!
//! Invariant: no message quotes a value, since it may be a secret.

use psych::{YamlTreeNode, YamlValue};
use puppetfile::InnerPath;

use super::document::LineError;

/// The options of an entry that were not used yet, with the lines of their keys.
pub(super) struct DefinitionOptions<'n> {
    /// Line of the entry.
    pub(super) line: u32,
    unused: Vec<(String, &'n YamlTreeNode, u32)>,
}

/// A text with its line.
pub(super) struct OptionText {
    pub(super) value: String,
    pub(super) line: u32,
}

// === impl DefinitionOptions ===

impl<'n> DefinitionOptions<'n> {
    pub(crate) fn of(node: &'n YamlTreeNode, line: u32) -> Result<Self, LineError> {
        let entries = node.as_mapping().ok_or_else(|| {
            let what = "what the environment is stands here as keys and values: type, source, version, \
                        modules";
            (line, what.to_owned())
        })?;
        let mut given: Vec<(String, &YamlTreeNode, u32)> = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let key = parse_key(name)?;
            // Given both as a text and as a symbol.
            if given.iter().any(|(known, ..)| *known == key) {
                return Err((name.line, format!("{key:?} is given twice")));
            }
            given.push((key, value, name.line));
        }
        Ok(Self {
            line,
            unused: given,
        })
    }

    /// Removes a key, and returns its value and its line.
    pub(super) fn take(&mut self, key: &str) -> Option<(&'n YamlTreeNode, u32)> {
        let index = self.unused.iter().position(|(known, ..)| known == key)?;
        let (_, node, line) = self.unused.remove(index);
        Some((node, line))
    }

    pub(super) fn take_text(&mut self, key: &str) -> Result<Option<OptionText>, LineError> {
        let Some((node, line)) = self.take(key) else {
            return Ok(None);
        };
        let value = match &node.value {
            YamlValue::Null => return Ok(None),
            YamlValue::String(text) | YamlValue::Symbol(text) => text.to_string(),
            // A commit with decimal digits only.
            YamlValue::Integer(number) => number.to_string(),
            _ => return Err((line, format!("{key} is a text; put it in quotes"))),
        };
        let is_wrong =
            value.is_empty() || value.starts_with('-') || value.chars().any(char::is_control);
        match is_wrong {
            true => Err((line, format!("{key} cannot be used as it is"))),
            false => Ok(Some(OptionText { value, line })),
        }
    }

    /// The value of an option with two alternative names, which is required.
    pub(super) fn take_one_of(&mut self, key: &str, other: &str) -> Result<String, LineError> {
        match (self.take_text(key)?, self.take_text(other)?) {
            (Some(one), None) | (None, Some(one)) => Ok(one.value),
            (None, None) => Err((self.line, format!("{key} is missing"))),
            (Some(_), Some(two)) => Err((two.line, format!("{key} and {other} are the same"))),
        }
    }

    pub(super) fn check_all_used(&self) -> Result<(), LineError> {
        match self.unused.first() {
            None => Ok(()),
            Some((key, _, line)) => Err((
                *line,
                format!("the option {key:?} is not known for this type of environment"),
            )),
        }
    }
}

/// The name of an option, or of a module.
pub(super) fn parse_key(node: &YamlTreeNode) -> Result<String, LineError> {
    match &node.value {
        YamlValue::String(text) | YamlValue::Symbol(text) => Ok(text.to_string()),
        _ => Err((node.line, "a name is expected here, a text".to_owned())),
    }
}

pub(super) fn parse_inner_path(key: &str, given: &OptionText) -> Result<InnerPath, LineError> {
    let path = given.value.parse();
    path.map_err(|error| (given.line, format!("{key}: {error}")))
}

/// Converts a value to the form of the options of `mod`.
pub(super) fn to_puppetfile_value(
    node: &YamlTreeNode,
) -> Result<puppetfile::PuppetfileValue, LineError> {
    let YamlValue::Mapping(entries) = &node.value else {
        return Ok(to_plain_value(node));
    };
    let options = entries.iter();
    let options = options.map(|(name, node)| Ok((parse_key(name)?, to_plain_value(node))));
    Ok(puppetfile::PuppetfileValue::Hash(
        options.collect::<Result<_, LineError>>()?,
    ))
}

/// Converts a value within options: lists and hashes become empty, whatever they contain.
fn to_plain_value(node: &YamlTreeNode) -> puppetfile::PuppetfileValue {
    use puppetfile::PuppetfileValue as Said;
    match &node.value {
        YamlValue::Null => Said::Nil,
        YamlValue::Bool(flag) => Said::Bool(*flag),
        YamlValue::String(text) => Said::Text(text.to_string()),
        YamlValue::Symbol(text) => Said::Symbol(text.to_string()),
        // A commit with decimal digits only.
        YamlValue::Integer(number) => Said::Text(number.to_string()),
        YamlValue::Mapping(_) => Said::Hash(Vec::new()),
        YamlValue::Sequence(_) | YamlValue::Binary(_) => Said::List(Vec::new()),
        YamlValue::BigInteger(_)
        | YamlValue::Float(_)
        | YamlValue::Date(_)
        | YamlValue::Time(_) => Said::Number(String::new()),
    }
}
