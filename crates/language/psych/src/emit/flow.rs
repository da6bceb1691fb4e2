//! Scalars on the current line: plain, in single and in double quotes. Lines are broken at a blank
//! beyond the width; the reader replaces the break by one blank.

use super::analysis::{is_break, is_printable};
use super::writer::YamlWriter;

impl YamlWriter {
    pub(super) fn write_plain(&mut self, text: &str, may_break: bool) {
        if !self.whitespace && !text.is_empty() {
            self.put(' ');
        }
        self.words(text, |writer, c, at| {
            let alone = !at.behind_blank && !at.before_blank;
            if c == ' ' && may_break && alone && writer.column > writer.width {
                writer.put_indent();
            } else {
                writer.put(c);
                writer.indention &= c == ' ';
            }
        });
        self.end_token();
    }

    pub(super) fn write_single_quoted(&mut self, text: &str, may_break: bool) {
        self.put_indicator("'", true, false);
        let mut breaks = false;
        self.words(text, |writer, c, at| {
            if c == ' ' {
                let alone = !at.behind_blank && !at.before_blank;
                if may_break && alone && !at.is_end && writer.column > writer.width {
                    writer.put_indent();
                } else {
                    writer.put(c);
                }
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    writer.put_break();
                }
                writer.copy_break(c);
                writer.indention = true;
                breaks = true;
            } else {
                if breaks {
                    writer.put_indent();
                }
                if c == '\'' {
                    writer.put('\'');
                }
                writer.put(c);
                writer.indention = false;
                breaks = false;
            }
        });
        if breaks {
            self.put_indent();
        }
        self.put_indicator("'", false, false);
        self.end_token();
    }

    pub(super) fn write_double_quoted(&mut self, text: &str, may_break: bool) {
        self.put_indicator("\"", true, false);
        self.words(text, |writer, c, at| {
            if !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                for c in escape(c).chars() {
                    writer.put(c);
                }
            } else if c == ' '
                && may_break
                && !at.behind_blank
                && !at.is_end
                && writer.column > writer.width
            {
                writer.put_indent();
                if at.before_blank {
                    writer.put('\\');
                }
            } else {
                writer.put(c);
            }
        });
        self.put_indicator("\"", false, false);
        self.end_token();
    }

    fn words(&mut self, text: &str, mut write: impl FnMut(&mut Self, char, CharacterContext)) {
        let mut before = None;
        let mut letters = text.chars().peekable();
        while let Some(c) = letters.next() {
            let after = letters.peek();
            let at = CharacterContext {
                behind_blank: before == Some(' '),
                before_blank: after == Some(&' '),
                is_end: before.is_none() || after.is_none(),
            };
            write(self, c, at);
            before = Some(c);
        }
    }
}

#[derive(Clone, Copy)]
struct CharacterContext {
    behind_blank: bool,
    before_blank: bool,
    /// True for the first or the last character.
    is_end: bool,
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
