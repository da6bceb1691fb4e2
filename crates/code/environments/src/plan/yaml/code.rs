//! Texts of a YAML plan that are code, determined by their style. Main function: [`embedded_code`].
//!
//! - `'single'` is a literal text; `"double"` is a string of Puppet with `${…}`;
//! - a block after `|` and plain text that begins with `$` are code;
//! - all other plain text, and a block after `>`, is literal. Keys are never evaluated.

use std::sync::Arc;

use psych::{ScalarStyle, YamlTreeNode};
use syntax::{SourcePosition, SourceText, SyntaxOptions};

use super::{PlanProblem, YamlPlanReader};

/// The program in a text; `None`: the text is literal.
#[must_use]
pub fn embedded_code(text: &str, style: ScalarStyle) -> Option<String> {
    match style {
        ScalarStyle::Double => Some(to_heredoc(text)),
        ScalarStyle::Literal => Some(text.to_owned()),
        ScalarStyle::Plain if text.starts_with('$') => Some(text.to_owned()),
        _ => None,
    }
}

/// Converts a text to a heredoc: escapes that YAML has resolved are not resolved again, and quotes
/// in it are quotes.
fn to_heredoc(text: &str) -> String {
    let mut tag = "END_OF_TEXT".to_owned();
    while text.contains(&tag) {
        tag.push('_');
    }
    format!("@(\"{tag}\")\n{text}\n- {tag}\n")
}

/// Converts a position in a text to the position in the file. Exact for blocks and for plain text
/// on one line; for a quoted text it is the beginning of the text, since escapes and folding shift
/// the rest.
fn position_in_file(node: &YamlTreeNode, within: SourcePosition) -> (u32, u32) {
    match node.style {
        ScalarStyle::Literal => (node.line + within.line - 1, node.column + within.column - 1),
        ScalarStyle::Plain if within.line == 1 => (node.line, node.column + within.column - 1),
        _ => (node.line, node.column),
    }
}

// === impl YamlPlanReader ===

impl YamlPlanReader {
    /// Parses all code in a value.
    pub(super) fn check_code(&mut self, node: &YamlTreeNode) {
        match &node.value {
            psych::YamlValue::Sequence(items) => {
                for item in items.iter() {
                    self.check_code(item);
                }
            }
            psych::YamlValue::Mapping(mapping) => {
                for (_, item) in mapping.iter() {
                    self.check_code(item);
                }
            }
            psych::YamlValue::String(text) => {
                if let Some(code) = embedded_code(text, node.style) {
                    self.parse(node, &code);
                }
            }
            _ => {}
        }
    }

    fn parse(&mut self, node: &YamlTreeNode, code: &str) {
        // An unexpected end is reported at the end of the text, not in the line after it.
        let code = match node.style {
            ScalarStyle::Double => code,
            _ => code.trim_end(),
        };
        let source = Arc::new(SourceText::new(None, code));
        let options = SyntaxOptions {
            tasks: true,
            ..SyntaxOptions::default()
        };
        let parsed = syntax::parse(&source, options);
        for fault in parsed.diagnostics.iter().filter(|one| one.is_error()) {
            let (line, column) = position_in_file(node, source.position(fault.span.start));
            self.problems.push(PlanProblem {
                message: fault.message.clone(),
                line,
                column,
            });
        }
    }
}
