//! Converts events to a tree: [`YamlLoader`].
//!
//! Invariant: open collections are on a stack of our own, so no nesting overflows the thread's
//! stack.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, ScalarStyle as EventStyle, Span};

use crate::defaults::{MAX_DEPTH, MAX_NODES, MAX_WARNINGS};
use crate::mapping::{MappingBuilder, WrittenForm};
use crate::number::NotNumber;
use crate::scalar::{AllowedClasses, RefusedScalar};
use crate::tag::{self, CollectionTag, ScalarTag};
use crate::{
    DuplicateKeyWarning, Error, ScalarStyle, YamlDocument, YamlLoadOptions, YamlMapping,
    YamlTreeNode, YamlValue, scalar,
};

/// The start of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScalarPosition {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl ScalarPosition {
    pub(crate) fn from_marker(marker: &Marker) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            line: count(marker.line()),
            column: count(marker.col() + 1),
        }
    }
}

pub(crate) struct YamlLoader {
    options: YamlLoadOptions,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, AnchoredNode>,
    /// Number of values so far, including those behind aliases.
    nodes: usize,
    document: YamlDocument,
    open_end: Option<usize>,
}

/// A collection whose end has not been read.
struct OpenCollection {
    content: OpenContent,
    position: ScalarPosition,
    anchor: usize,
    /// Number of values before it.
    nodes_before: usize,
}

enum OpenContent {
    Sequence {
        items: Vec<YamlTreeNode>,
        omap: bool,
    },
    Mapping {
        building: MappingBuilder,
        key: Option<WrittenKey>,
    },
}

struct WrittenKey {
    node: YamlTreeNode,
    /// True for a `<<` that is not tagged as text.
    merges: bool,
}

struct AnchoredNode {
    node: YamlTreeNode,
    nodes: usize,
}

impl YamlLoader {
    pub(crate) fn new(options: YamlLoadOptions, text: &str) -> Self {
        Self {
            options,
            open: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            document: YamlDocument::default(),
            open_end: open_end(text),
        }
    }

    pub(crate) fn finish(self) -> YamlDocument {
        self.document
    }

    /// Handles an event. True at the end of the document.
    pub(crate) fn handle_event(&mut self, event: Event<'_>, span: &Span) -> Result<bool, Error> {
        let place = ScalarPosition::from_marker(&span.start);
        match event {
            Event::DocumentEnd | Event::StreamEnd => return Ok(true),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, place)?;
                let tag = tag::scalar_tag(tag.as_deref());
                let written_as_text = tag == ScalarTag::Text;
                let text = self.as_it_ends(&text, style, span);
                let node = self.scalar(text, style, tag, place)?;
                self.anchor(anchor, &node, 1);
                self.place(node, WrittenForm::Scalar, written_as_text);
            }
            Event::SequenceStart(anchor, tag) => {
                let omap = match tag::sequence_tag(tag.as_deref()) {
                    CollectionTag::Refused(class) => return Err(unpermitted_error(class, place)),
                    tag => tag == CollectionTag::Omap,
                };
                let items = Vec::new();
                self.enter(OpenContent::Sequence { items, omap }, place, anchor)?;
            }
            Event::MappingStart(anchor, tag) => {
                if let CollectionTag::Refused(class) = tag::mapping_tag(tag.as_deref()) {
                    return Err(unpermitted_error(class, place));
                }
                let building = MappingBuilder::default();
                let key = None;
                self.enter(OpenContent::Mapping { building, key }, place, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(anchor) => self.alias(anchor, place)?,
        }
        Ok(false)
    }

    /// A block that ends with the text has no newline there, although the parser adds one.
    fn as_it_ends<'t>(&self, text: &'t str, style: EventStyle, span: &Span) -> &'t str {
        let block = matches!(style, EventStyle::Literal | EventStyle::Folded);
        if block && self.open_end == Some(span.end.index()) {
            return text.strip_suffix('\n').unwrap_or(text);
        }
        text
    }

    fn count(&mut self, nodes: usize, place: ScalarPosition) -> Result<(), Error> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            let ScalarPosition { line, column } = place;
            return Err(Error::Nodes {
                limit: MAX_NODES,
                line,
                column,
            });
        }
        Ok(())
    }

    fn enter(
        &mut self,
        content: OpenContent,
        place: ScalarPosition,
        anchor: usize,
    ) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            let ScalarPosition { line, column } = place;
            return Err(Error::Depth {
                limit: MAX_DEPTH,
                line,
                column,
            });
        }
        let nodes_before = self.nodes;
        self.count(1, place)?;
        self.open.push(OpenCollection {
            content,
            position: place,
            anchor,
            nodes_before,
        });
        Ok(())
    }

    fn leave(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let (value, stands) = match open.content {
            OpenContent::Sequence { items, omap: false } => {
                (YamlValue::Sequence(Arc::new(items)), WrittenForm::Sequence)
            }
            OpenContent::Sequence { items, omap: true } => (
                YamlValue::Mapping(Arc::new(omap(&items))),
                WrittenForm::Sequence,
            ),
            OpenContent::Mapping { building, .. } => (
                YamlValue::Mapping(Arc::new(building.finish())),
                WrittenForm::Mapping,
            ),
        };
        let node = YamlTreeNode {
            value,
            line: open.position.line,
            column: open.position.column,
            style: ScalarStyle::Collection,
        };
        self.anchor(open.anchor, &node, self.nodes - open.nodes_before);
        self.place(node, stands, false);
    }

    fn alias(&mut self, anchor: usize, place: ScalarPosition) -> Result<(), Error> {
        let ScalarPosition { line, column } = place;
        if !self.options.aliases {
            return Err(Error::Alias { line, column });
        }
        // The parser knows the anchor, so its value is still open.
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(Error::Recursive { line, column });
        };
        let (mut node, nodes) = (anchored.node.clone(), anchored.nodes);
        (node.line, node.column) = (line, column);
        self.count(nodes, place)?;
        self.place(node, WrittenForm::Alias, false);
        Ok(())
    }

    fn anchor(&mut self, anchor: usize, node: &YamlTreeNode, nodes: usize) {
        if anchor > 0 {
            let node = node.clone();
            self.anchors.insert(anchor, AnchoredNode { node, nodes });
        }
    }

    /// Adds a complete value to its collection.
    fn place(&mut self, node: YamlTreeNode, stands: WrittenForm, written_as_text: bool) {
        let Some(open) = self.open.last_mut() else {
            self.document.root = Some(node);
            return;
        };
        let (building, key) = match &mut open.content {
            OpenContent::Sequence { items, .. } => return items.push(node),
            OpenContent::Mapping { building, key } => (building, key),
        };
        let Some(WrittenKey { node: name, merges }) = key.take() else {
            let merges = !written_as_text && node.as_str() == Some("<<");
            *key = Some(WrittenKey { node, merges });
            return;
        };
        let value = match merges {
            true => match building.merge(node, stands) {
                Ok(()) => return,
                Err(value) => value,
            },
            false => node,
        };
        let (line, column) = (name.line, name.column);
        let text = name.as_str().unwrap_or_default().to_owned();
        if let Some(first_line) = building.put(name, value)
            && self.document.warnings.len() < MAX_WARNINGS
        {
            self.document.warnings.push(DuplicateKeyWarning {
                key: text,
                first_line,
                line,
                column,
            });
        }
    }

    fn scalar(
        &self,
        text: &str,
        style: EventStyle,
        tag: ScalarTag,
        place: ScalarPosition,
    ) -> Result<YamlTreeNode, Error> {
        let allowed = AllowedClasses {
            symbols: self.options.symbols,
            times: self.options.times,
        };
        let plain = || scalar::parse_plain(text, allowed);
        let string = || Ok(YamlValue::String(Arc::from(text)));
        let value = match tag {
            ScalarTag::Untagged if style != EventStyle::Plain => string(),
            ScalarTag::Text => string(),
            ScalarTag::Untagged | ScalarTag::None => plain(),
            ScalarTag::Binary => Ok(YamlValue::Binary(Arc::from(tag::decode_base64(text)))),
            ScalarTag::Float => plain().and_then(|value| scalar::as_float(&value)),
            ScalarTag::Symbol if allowed.symbols => Ok(YamlValue::Symbol(Arc::from(text))),
            ScalarTag::Symbol => Err(RefusedScalar::Class("Symbol")),
            ScalarTag::Refused(class) => return Err(unpermitted_error(class, place)),
        };
        let ScalarPosition { line, column } = place;
        let value = value.map_err(|refused| match refused {
            RefusedScalar::Class(class) => unpermitted_error(class.to_owned(), place),
            RefusedScalar::Number(NotNumber::TooLong) => Error::LongNumber { line, column },
            RefusedScalar::Number(NotNumber::Invalid) => Error::Number {
                text: text.chars().take(40).collect(),
                line,
                column,
            },
        })?;
        Ok(YamlTreeNode {
            value,
            line,
            column,
            style: match style {
                EventStyle::Plain => ScalarStyle::Plain,
                EventStyle::SingleQuoted => ScalarStyle::Single,
                EventStyle::DoubleQuoted => ScalarStyle::Double,
                EventStyle::Literal => ScalarStyle::Literal,
                EventStyle::Folded => ScalarStyle::Folded,
            },
        })
    }
}

/// The end, in characters, of a text that does not end with a newline.
fn open_end(text: &str) -> Option<usize> {
    let open = !text.ends_with(['\n', '\r']);
    open.then(|| text.chars().count())
}

fn unpermitted_error(class: String, place: ScalarPosition) -> Error {
    let ScalarPosition { line, column } = place;
    Error::Unpermitted {
        class,
        line,
        column,
    }
}

/// Converts the items to a mapping of their first entries.
fn omap(items: &[YamlTreeNode]) -> YamlMapping {
    let firsts = items.iter().filter_map(|item| item.as_mapping()?.first());
    firsts
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
