//! The instances of applications that a job names: [`ApplicationSelector`].
//!
//! Invariant: a selector is the reference of a type or of an instance, so it can be shown and logged as it is.

use std::fmt;
use std::str::FromStr;

use crate::defaults::APPLICATION_REFERENCE_BYTES;

/// All instances of an application (`Lamp`), or one of them (`Lamp[app1]`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationSelector {
    type_name: String,
    /// `None`: all instances.
    title: Option<String>,
}

/// Text that is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is neither an application such as Lamp nor an instance such as Lamp[app1], of at most \
     {APPLICATION_REFERENCE_BYTES} bytes"
)]
pub struct InvalidApplicationSelector;

// === impl ApplicationSelector ===

impl ApplicationSelector {
    /// True if the instance with this reference is selected.
    pub fn matches(&self, reference: &str) -> bool {
        match &self.title {
            Some(_) => reference == self.to_string(),
            None => reference
                .strip_prefix(self.type_name.as_str())
                .is_some_and(|rest| rest.starts_with('[')),
        }
    }
}

impl FromStr for ApplicationSelector {
    type Err = InvalidApplicationSelector;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > APPLICATION_REFERENCE_BYTES || text.contains(char::is_control) {
            return Err(InvalidApplicationSelector);
        }
        let (type_name, title) = match text.split_once('[') {
            Some((type_name, rest)) => {
                let title = rest.strip_suffix(']').ok_or(InvalidApplicationSelector)?;
                (type_name, Some(without_quotes(title)))
            }
            None => (text, None),
        };
        if !is_type_name(type_name) || title == Some("") {
            return Err(InvalidApplicationSelector);
        }
        Ok(Self {
            type_name: type_name.to_owned(),
            title: title.map(str::to_owned),
        })
    }
}

impl fmt::Display for ApplicationSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) => write!(f, "{}[{title}]", self.type_name),
            None => f.write_str(&self.type_name),
        }
    }
}

/// The title as references show it: Puppet's code may have quotes around it.
fn without_quotes(title: &str) -> &str {
    let inner = |quote| title.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(title)
}

/// True for a type's name as references show it, such as `Lamp::Web`.
fn is_type_name(text: &str) -> bool {
    text.split("::").all(|part| {
        let mut letters = part.chars();
        letters.next().is_some_and(|it| it.is_ascii_uppercase())
            && letters.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_selects_all_its_instances_and_a_title_one() {
        for (text, shown, reference, is_selected) in [
            ("Lamp", "Lamp", "Lamp[app1]", true),
            ("Lamp", "Lamp", "Lamp::Web[app1]", false),
            ("Lamp", "Lamp", "Lamps[app1]", false),
            ("Lamp::Web", "Lamp::Web", "Lamp::Web[a]", true),
            ("Lamp[app1]", "Lamp[app1]", "Lamp[app1]", true),
            ("Lamp[app1]", "Lamp[app1]", "Lamp[app10]", false),
            ("Lamp['app1']", "Lamp[app1]", "Lamp[app1]", true),
            ("Lamp[\"a]b\"]", "Lamp[a]b]", "Lamp[a]b]", true),
        ] {
            let selector: ApplicationSelector = text.parse().unwrap();
            assert_eq!(selector.to_string(), shown);
            assert_eq!(selector.matches(reference), is_selected, "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        let long = format!("Lamp[{}]", "a".repeat(APPLICATION_REFERENCE_BYTES));
        for text in [
            "",
            "lamp",
            "Lamp[",
            "Lamp]",
            "Lamp[]",
            "Lamp['']",
            "[app1]",
            "Lamp::[a]",
            "::Lamp",
            "../Lamp",
            "Lamp[a\0b]",
            "Lamp[a\nb]",
            "Lämp[a]",
            "Lamp [a]",
            &long,
        ] {
            assert!(text.parse::<ApplicationSelector>().is_err(), "{text:?}");
        }
    }
}
