//! Ruby's `to_s` and `inspect`.

use std::fmt::Write as _;

use pcore::{Value, ruby_float, ruby_inspect};

use super::{Eval, RubyValue, refuse};
use crate::defaults::{TEXT_MAX, VALUE_DEPTH_MAX};

impl RubyValue {
    /// Appends `to_s`.
    pub(crate) fn write_text(&self, into: &mut String) -> Eval<()> {
        match self {
            Self::Nil => {}
            Self::Bool(flag) => into.push_str(if *flag { "true" } else { "false" }),
            Self::Int(number) => {
                let _ = write!(into, "{number}");
            }
            Self::Float(number) => into.push_str(&ruby_float(*number)),
            Self::Str(text) => into.push_str(&text.get()),
            Self::Symbol(text) => into.push_str(text),
            Self::Foreign(Value::Sensitive(_)) => into.push_str(pcore::REDACTED),
            Self::Array(_) | Self::Hash(_) => self.write_inspected(into, 0)?,
            Self::Match(groups) => match groups.groups.first() {
                Some(Some(text)) => into.push_str(text),
                _ => return refuse("a match without text"),
            },
            other => return refuse(format!("{} as a text", other.kind())),
        }
        if into.len() > TEXT_MAX {
            return refuse("a long text");
        }
        Ok(())
    }

    pub(crate) fn to_text(&self) -> Eval<String> {
        let mut text = String::new();
        self.write_text(&mut text)?;
        Ok(text)
    }

    /// Appends `inspect`, with hashes as Ruby up to 3.3 prints them.
    pub(crate) fn write_inspected(&self, into: &mut String, depth: usize) -> Eval<()> {
        if depth > VALUE_DEPTH_MAX || into.len() > TEXT_MAX {
            return refuse("a long or deeply nested value");
        }
        match self {
            Self::Nil => into.push_str("nil"),
            Self::Bool(_) | Self::Int(_) | Self::Float(_) => self.write_text(into)?,
            Self::Str(text) => into.push_str(&inspect_text(&text.get())?),
            Self::Symbol(text) => {
                let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                if !is_plain {
                    return refuse("a symbol in quotes");
                }
                let _ = write!(into, ":{text}");
            }
            Self::Array(elements) => {
                into.push('[');
                for (index, element) in elements.get().iter().enumerate() {
                    into.push_str(if index > 0 { ", " } else { "" });
                    element.write_inspected(into, depth + 1)?;
                }
                into.push(']');
            }
            Self::Hash(entries) => {
                into.push('{');
                for (index, (key, value)) in entries.get()?.iter().enumerate() {
                    into.push_str(if index > 0 { ", " } else { "" });
                    key.value().write_inspected(into, depth + 1)?;
                    into.push_str("=>");
                    value.write_inspected(into, depth + 1)?;
                }
                into.push('}');
            }
            other => return refuse(format!("{} in an inspected value", other.kind())),
        }
        Ok(())
    }
}

/// `inspect` of a string. Which letters beyond ASCII are printable depends on Ruby's version.
fn inspect_text(text: &str) -> Eval<String> {
    if !text.is_ascii() || text.contains('\u{7f}') {
        return refuse("an inspected string beyond ASCII");
    }
    Ok(ruby_inspect(text))
}
