//! The position in the written text: [`YamlWriter`].
//!
//! Invariant: `column` counts characters since the last line break, and `indention` is true if
//! there is nothing but indentation and indicators since then.

use super::EmitLayout;

/// The default column after which lines are broken.
const WIDTH: usize = 80;

pub(super) struct YamlWriter {
    text: String,
    pub(super) column: usize,
    /// The indentation; `None` outside of all collections.
    pub(super) indent: Option<usize>,
    pub(super) step: usize,
    pub(super) width: usize,
    /// True if the last character needs no blank after it.
    pub(super) whitespace: bool,
    pub(super) indention: bool,
    /// True if the last block keeps its line breaks. libyaml ends a document then, even if more
    /// followed.
    pub(super) open_ended: bool,
}

impl YamlWriter {
    pub(super) fn new(layout: EmitLayout) -> Self {
        let step = match layout.indentation {
            step @ 2..=9 => step,
            _ => 2,
        };
        let width = match layout.line_width {
            Some(-1) => usize::MAX,
            given => match usize::try_from(given.unwrap_or_default()) {
                Ok(width) if width > step * 2 => width,
                _ => WIDTH,
            },
        };
        Self {
            text: String::new(),
            column: 0,
            indent: None,
            step,
            width,
            whitespace: true,
            indention: true,
            open_ended: false,
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn put(&mut self, c: char) {
        self.text.push(c);
        self.column += 1;
    }

    pub(super) fn put_break(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    /// Copies a line break of the text itself; those beyond ASCII stay unchanged.
    pub(super) fn copy_break(&mut self, c: char) {
        self.text.push(c);
        self.column = 0;
    }

    pub(super) fn put_indicator(&mut self, sign: &str, needs_blank: bool, indention: bool) {
        if needs_blank && !self.whitespace {
            self.put(' ');
        }
        for c in sign.chars() {
            self.put(c);
        }
        self.whitespace = false;
        self.indention &= indention;
    }

    /// Moves to the indentation, on a new line if necessary.
    pub(super) fn put_indent(&mut self) {
        let indent = self.indent.unwrap_or_default();
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Begins a deeper level; the returned value ends it.
    pub(super) fn enter_level(&mut self, of_scalar: bool, indentless: bool) -> Option<usize> {
        let outer = self.indent;
        self.indent = Some(match outer {
            None if of_scalar => self.step,
            None => 0,
            Some(indent) if indentless => indent,
            Some(indent) => indent + self.step,
        });
        outer
    }

    /// Records that the last character is neither blank nor indentation.
    pub(super) fn end_token(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }
}
