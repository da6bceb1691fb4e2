//! Scalars on the lines below: after `|` and `>`.

use super::analysis::{is_blank_or_break, is_break};
use super::writer::YamlWriter;

impl YamlWriter {
    pub(super) fn write_literal(&mut self, text: &str) {
        self.block_start("|", text);
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.copy_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.put_indent();
                }
                self.put(c);
                self.indention = false;
                breaks = false;
            }
        }
    }

    pub(super) fn write_folded(&mut self, text: &str) {
        self.block_start(">", text);
        let (mut breaks, mut leading_blanks) = (true, true);
        for (at, c) in text.char_indices() {
            let rest = &text[at + c.len_utf8()..];
            if is_break(c) {
                if !breaks && !leading_blanks && c == '\n' && goes_on_with_a_word(rest) {
                    self.put_break();
                }
                self.copy_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.put_indent();
                    leading_blanks = matches!(c, ' ' | '\t');
                }
                let may_break = !breaks && c == ' ' && !rest.starts_with(' ');
                if may_break && self.column > self.width {
                    self.put_indent();
                } else {
                    self.put(c);
                }
                self.indention = false;
                breaks = false;
            }
        }
    }

    /// Writes the sign, with properties that the reader cannot infer: the indentation of a text
    /// that begins with a blank, and the line breaks at the end that belong to the text.
    fn block_start(&mut self, sign: &str, text: &str) {
        self.put_indicator(sign, true, false);
        if text.starts_with(|c: char| c == ' ' || is_break(c)) {
            let hint = self.step.to_string();
            self.put_indicator(&hint, false, false);
        }
        self.open_ended = false;
        let mut ends = text.chars().rev();
        match (ends.next(), ends.next()) {
            (Some(last), before) if is_break(last) => {
                if before.is_none_or(is_break) {
                    self.put_indicator("+", false, false);
                    self.open_ended = true;
                }
            }
            _ => self.put_indicator("-", false, false),
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
    }
}

/// True if neither a blank nor the end follows the leading line breaks.
fn goes_on_with_a_word(rest: &str) -> bool {
    rest.trim_start_matches(is_break)
        .starts_with(|c| !is_blank_or_break(c))
}
