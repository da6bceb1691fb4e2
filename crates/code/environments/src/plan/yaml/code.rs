//! Texts of a YAML plan that are code, determined by their style. Main function: [`code_of`].
//!
//! - `'single'` is a literal text; `"double"` is a string of Puppet with `${…}`;
//! - a block after `|` and plain text that begins with `$` are code;
//! - all other plain text, and a block after `>`, is literal. Keys are never evaluated.

use std::sync::Arc;

use psych::{Node, Style};
use syntax::{Options, Position, Source};

use super::{PlanProblem, Reading};

/// The program in a text; `None`: the text is literal.
#[must_use]
pub fn code_of(text: &str, style: Style) -> Option<String> {
    match style {
        Style::Double => Some(interpolated(text)),
        Style::Literal => Some(text.to_owned()),
        Style::Plain if text.starts_with('$') => Some(text.to_owned()),
        _ => None,
    }
}

/// Converts a text to a heredoc: escapes that YAML has resolved are not resolved again, and quotes
/// in it are quotes.
fn interpolated(text: &str) -> String {
    let mut tag = "END_OF_TEXT".to_owned();
    while text.contains(&tag) {
        tag.push('_');
    }
    format!("@(\"{tag}\")\n{text}\n- {tag}\n")
}

/// Converts a position in a text to the position in the file. Exact for blocks and for plain text
/// on one line; for a quoted text it is the beginning of the text, since escapes and folding shift
/// the rest.
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
        // An unexpected end is reported at the end of the text, not in the line after it.
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
