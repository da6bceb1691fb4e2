//! Presents results: lists as tables, single objects as fields, and both as JSON on request. Main
//! types: [`OutputOptions`], [`Fields`].
//!
//! Invariant: JSON is the document of the API, unchanged; only text is formatted for people.

use std::fmt::Display;

use serde::Serialize;

use crate::terminal::{escape_control, style_dim};
use crate::{EXIT_SUCCESS, OutputFormat, ProgramName, VerbResult, table};

/// The output option of every verb that shows something.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputOptions {
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: OutputFormat,
}

/// A column of a table: its heading, and the function that formats the cell of an item.
pub type Column<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);

// === impl OutputFormat ===

impl OutputFormat {
    /// The format under the name of another tool: those of Puppet Enterprise print JSON.
    pub(crate) fn under(self, name: ProgramName) -> Self {
        match name {
            ProgramName::Tutti => self,
            ProgramName::Puppet => Self::Json,
        }
    }

    /// Prints `document` if the format is JSON; returns true if it is.
    pub fn print_json(self, document: &impl Serialize) -> bool {
        if self == Self::Json {
            json(document);
        }
        self == Self::Json
    }

    /// Prints `document` as JSON, or as text with `print`.
    pub(crate) fn present<T: Serialize>(self, document: &T, print: impl FnOnce(&T)) -> VerbResult {
        if !self.print_json(document) {
            print(document);
        }
        Ok(EXIT_SUCCESS)
    }

    /// Prints `document` as JSON, or its `items` as a table; `empty` is the text if there are none.
    pub(crate) fn list<T>(
        self,
        document: &impl Serialize,
        items: &[T],
        empty: &str,
        columns: &[Column<'_, T>],
    ) -> VerbResult {
        self.present(document, |_| match items {
            [] => say!("{empty}"),
            items => table(items, columns),
        })
    }
}

/// Prints one JSON document.
pub(crate) fn json(document: &impl Serialize) {
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    say!("{text}");
}

/// Prints a table with a row for each item.
pub fn table<T>(items: &[T], columns: &[Column<'_, T>]) {
    let heading: Vec<_> = columns.iter().map(|(heading, _)| *heading).collect();
    let row = |item| columns.iter().map(|(_, cell)| cell(item)).collect();
    table::print(&heading, items.iter().map(row).collect());
}

/// Prints text from the server or a node, with each line indented.
pub(crate) fn print_indented(text: &str) {
    for line in text.lines() {
        say!("    {}", escape_control(line));
    }
}

/// The fields of one object, which are printed as lines with the values in one column.
#[derive(Debug, Default)]
pub struct Fields(Vec<(&'static str, String)>);

// === impl Fields ===

impl Fields {
    /// Adds a text from the server or a node, which is escaped.
    pub(crate) fn text(self, key: &'static str, text: &str) -> Self {
        self.value(key, escape_control(text))
    }

    /// Adds a value that is safe to print, such as a number or escaped text.
    pub fn value(mut self, key: &'static str, value: impl Display) -> Self {
        self.0.push((key, value.to_string()));
        self
    }

    /// Adds a value that is safe to print, if there is one.
    pub fn optional(self, key: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.value(key, value),
            None => self,
        }
    }

    /// Adds a text that is escaped, if there is one.
    pub(crate) fn optional_text(self, key: &'static str, text: Option<&str>) -> Self {
        self.optional(key, text.map(escape_control))
    }

    /// Prints the fields; an empty value is shown as `-`.
    pub fn print(&self) {
        let width = self.0.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        for (key, value) in &self.0 {
            let pad = " ".repeat(width - key.len());
            let value = if value.is_empty() { "-" } else { value };
            say!("{}{pad}  {value}", style_dim(key));
        }
    }
}
