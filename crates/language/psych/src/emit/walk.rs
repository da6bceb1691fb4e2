//! Traversal of a tree: [`Walk`].

use crate::{Mapping, Node, Value};

use super::analysis::analyse;
use super::choose::{Scalar, Style, scalar};
use super::writer::Writer;
use super::{EmitError, check_depth, check_size};

/// Maximum length in bytes of a key on the line of its colon.
const SIMPLE_KEY_BYTES: usize = 128;

/// The position of a value in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Element,
    SimpleKey,
    /// A key after `?`, or a value.
    Entry,
}

pub(super) struct Walk {
    pub(super) writer: Writer,
    /// The length above which texts are folded.
    pub(super) fold_above: Option<usize>,
    pub(super) depth: usize,
}

impl Walk {
    pub(super) fn document(&mut self, value: &Value) -> Result<(), EmitError> {
        self.writer.indicator("---", true, false);
        self.value(value, Place::Root)?;
        self.writer.indent();
        if self.writer.open_ended {
            self.writer.indicator("...", true, false);
            self.writer.indent();
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, place: Place) -> Result<(), EmitError> {
        check_size(self.writer.len())?;
        match value {
            Value::Sequence(items) if items.is_empty() => self.writer.indicator("[]", true, false),
            Value::Mapping(entries) if entries.is_empty() => {
                self.writer.indicator("{}", true, false);
            }
            Value::Sequence(items) => {
                self.depth += 1;
                check_depth(self.depth)?;
                self.sequence(items, place)?;
                self.depth -= 1;
            }
            Value::Mapping(entries) => {
                self.depth += 1;
                check_depth(self.depth)?;
                self.mapping(entries)?;
                self.depth -= 1;
            }
            leaf => {
                if let Some(scalar) = scalar(leaf, self.fold_above) {
                    self.scalar(scalar, place == Place::SimpleKey);
                }
            }
        }
        Ok(())
    }

    fn sequence(&mut self, items: &[Node], place: Place) -> Result<(), EmitError> {
        // under a key, dashes are in the column of the key
        let indentless = place == Place::Entry && !self.writer.indention;
        let outer = self.writer.deeper(false, indentless);
        for item in items {
            self.writer.indent();
            self.writer.indicator("-", true, true);
            self.value(&item.value, Place::Element)?;
        }
        self.writer.indent = outer;
        Ok(())
    }

    fn mapping(&mut self, entries: &Mapping) -> Result<(), EmitError> {
        let outer = self.writer.deeper(false, false);
        for (key, value) in entries {
            self.writer.indent();
            if self.is_simple_key(&key.value) {
                self.value(&key.value, Place::SimpleKey)?;
                self.writer.indicator(":", false, false);
            } else {
                self.writer.indicator("?", true, true);
                self.value(&key.value, Place::Entry)?;
                self.writer.indent();
                self.writer.indicator(":", true, true);
            }
            self.value(&value.value, Place::Entry)?;
        }
        self.writer.indent = outer;
        Ok(())
    }

    fn is_simple_key(&self, key: &Value) -> bool {
        match key {
            Value::Sequence(items) => items.is_empty(),
            Value::Mapping(entries) => entries.is_empty(),
            leaf => scalar(leaf, self.fold_above).is_some_and(|scalar| {
                !analyse(&scalar.text).multiline && scalar.text.len() <= SIMPLE_KEY_BYTES
            }),
        }
    }

    fn scalar(&mut self, mut scalar: Scalar<'_>, is_simple_key: bool) {
        scalar.settle(analyse(&scalar.text), is_simple_key);
        if let Some(tag) = scalar.tag {
            self.writer.indicator(tag, true, false);
        }
        let outer = self.writer.deeper(true, false);
        let text = &scalar.text;
        match scalar.style {
            Style::Plain => self.writer.plain(text, !is_simple_key),
            Style::Single => self.writer.single_quoted(text, !is_simple_key),
            Style::Double => self.writer.double_quoted(text, !is_simple_key),
            Style::Literal => self.writer.literal(text),
            Style::Folded => self.writer.folded(text),
        }
        self.writer.indent = outer;
    }
}
