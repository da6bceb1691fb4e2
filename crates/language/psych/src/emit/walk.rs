//! Traversal of a tree: [`EmitWalk`].

use crate::{YamlMapping, YamlTreeNode, YamlValue};

use super::analysis::analyse;
use super::scalar_style::{EmittedStyle, StyledScalar, scalar};
use super::writer::YamlWriter;
use super::{EmitError, check_depth, check_size};

/// Maximum length in bytes of a key on the line of its colon.
const SIMPLE_KEY_BYTES: usize = 128;

/// The position of a value in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmitPosition {
    Root,
    Element,
    SimpleKey,
    /// A key after `?`, or a value.
    Entry,
}

pub(super) struct EmitWalk {
    pub(super) writer: YamlWriter,
    /// The length above which texts are folded.
    pub(super) fold_above: Option<usize>,
    pub(super) depth: usize,
}

impl EmitWalk {
    pub(super) fn write_document(&mut self, value: &YamlValue) -> Result<(), EmitError> {
        self.writer.put_indicator("---", true, false);
        self.value(value, EmitPosition::Root)?;
        self.writer.put_indent();
        if self.writer.open_ended {
            self.writer.put_indicator("...", true, false);
            self.writer.put_indent();
        }
        Ok(())
    }

    fn value(&mut self, value: &YamlValue, place: EmitPosition) -> Result<(), EmitError> {
        check_size(self.writer.len())?;
        match value {
            YamlValue::Sequence(items) if items.is_empty() => {
                self.writer.put_indicator("[]", true, false)
            }
            YamlValue::Mapping(entries) if entries.is_empty() => {
                self.writer.put_indicator("{}", true, false);
            }
            YamlValue::Sequence(items) => {
                self.depth += 1;
                check_depth(self.depth)?;
                self.sequence(items, place)?;
                self.depth -= 1;
            }
            YamlValue::Mapping(entries) => {
                self.depth += 1;
                check_depth(self.depth)?;
                self.mapping(entries)?;
                self.depth -= 1;
            }
            leaf => {
                if let Some(scalar) = scalar(leaf, self.fold_above) {
                    self.scalar(scalar, place == EmitPosition::SimpleKey);
                }
            }
        }
        Ok(())
    }

    fn sequence(&mut self, items: &[YamlTreeNode], place: EmitPosition) -> Result<(), EmitError> {
        // under a key, dashes are in the column of the key
        let indentless = place == EmitPosition::Entry && !self.writer.indention;
        let outer = self.writer.enter_level(false, indentless);
        for item in items {
            self.writer.put_indent();
            self.writer.put_indicator("-", true, true);
            self.value(&item.value, EmitPosition::Element)?;
        }
        self.writer.indent = outer;
        Ok(())
    }

    fn mapping(&mut self, entries: &YamlMapping) -> Result<(), EmitError> {
        let outer = self.writer.enter_level(false, false);
        for (key, value) in entries {
            self.writer.put_indent();
            if self.is_simple_key(&key.value) {
                self.value(&key.value, EmitPosition::SimpleKey)?;
                self.writer.put_indicator(":", false, false);
            } else {
                self.writer.put_indicator("?", true, true);
                self.value(&key.value, EmitPosition::Entry)?;
                self.writer.put_indent();
                self.writer.put_indicator(":", true, true);
            }
            self.value(&value.value, EmitPosition::Entry)?;
        }
        self.writer.indent = outer;
        Ok(())
    }

    fn is_simple_key(&self, key: &YamlValue) -> bool {
        match key {
            YamlValue::Sequence(items) => items.is_empty(),
            YamlValue::Mapping(entries) => entries.is_empty(),
            leaf => scalar(leaf, self.fold_above).is_some_and(|scalar| {
                !analyse(&scalar.text).multiline && scalar.text.len() <= SIMPLE_KEY_BYTES
            }),
        }
    }

    fn scalar(&mut self, mut scalar: StyledScalar<'_>, is_simple_key: bool) {
        scalar.choose_style(analyse(&scalar.text), is_simple_key);
        if let Some(tag) = scalar.tag {
            self.writer.put_indicator(tag, true, false);
        }
        let outer = self.writer.enter_level(true, false);
        let text = &scalar.text;
        match scalar.style {
            EmittedStyle::Plain => self.writer.write_plain(text, !is_simple_key),
            EmittedStyle::Single => self.writer.write_single_quoted(text, !is_simple_key),
            EmittedStyle::Double => self.writer.write_double_quoted(text, !is_simple_key),
            EmittedStyle::Literal => self.writer.write_literal(text),
            EmittedStyle::Folded => self.writer.write_folded(text),
        }
        self.writer.indent = outer;
    }
}
