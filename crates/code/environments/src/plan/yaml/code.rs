//! Texts of a YAML plan that are code, told by how they were written. Main function: [`code_of`].
//!
//! - `'single'` is as it stands; `"double"` is a string of Puppet with `${…}`;
//! - a block behind `|` and plain text that begins with `$` are code;
//! - all other plain text, and a block behind `>`, is as it stands. Keys are never evaluated.

use std::sync::Arc;

use psych::{Node, Style};
use syntax::{Options, Position, Source};

use super::{PlanProblem, Reading};

/// The program that a text is; `None`: it is text.
#[must_use]
pub fn code_of(text: &str, style: Style) -> Option<String> {
    match style {
        Style::Double => Some(interpolated(text)),
        Style::Literal => Some(text.to_owned()),
        Style::Plain if text.starts_with('$') => Some(text.to_owned()),
        _ => None,
    }
}

/// As a heredoc: what YAML has unescaped is not unescaped again, and quotes in it are quotes.
fn interpolated(text: &str) -> String {
    let mut tag = "END_OF_TEXT".to_owned();
    while text.contains(&tag) {
        tag.push('_');
    }
    format!("@(\"{tag}\")\n{text}\n- {tag}\n")
}

/// The place in the file of a place in a text. Exact for blocks and for plain text on one line; of a quoted text
/// it is where the text begins, since escapes and folding move what follows.
fn place(node: &Node, within: Position) -> (u32, u32) {
    match node.style {
        Style::Literal => (node.line + within.line - 1, node.column + within.column - 1),
        Style::Plain if within.line == 1 => (node.line, node.column + within.column - 1),
        _ => (node.line, node.column),
    }
}

// === impl Reading ===

impl Reading {
    /// Parses all code in a value.
    pub(super) fn check_code(&mut self, node: &Node) {
        match &node.value {
            psych::Value::Sequence(items) => {
                for item in items.iter() {
                    self.check_code(item);
                }
            }
            psych::Value::Mapping(mapping) => {
                for (_, item) in mapping.iter() {
                    self.check_code(item);
                }
            }
            psych::Value::String(text) => {
                if let Some(code) = code_of(text, node.style) {
                    self.parse(node, &code);
                }
            }
            _ => {}
        }
    }

    fn parse(&mut self, node: &Node, code: &str) {
        // An end that comes too early is at the end of the text, not in the line behind it.
        let code = match node.style {
            Style::Double => code,
            _ => code.trim_end(),
        };
        let source = Arc::new(Source::new(None, code));
        let options = Options {
            epp: false,
            tasks: true,
        };
        let parsed = syntax::parse(&source, options);
        for fault in parsed.diagnostics.iter().filter(|one| one.is_error()) {
            let (line, column) = place(node, source.position(fault.span.start));
            self.problems.push(PlanProblem {
                message: fault.message.clone(),
                line,
                column,
            });
        }
    }
}
