//! Converts events to a tree: [`Loader`].
//!
//! Invariant: open collections are on a stack of our own, so no nesting overflows the thread's
//! stack.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, ScalarStyle, Span};

use crate::defaults::{MAX_DEPTH, MAX_NODES, MAX_WARNINGS};
use crate::mapping::{Building, Stands};
use crate::number::NotNumber;
use crate::scalar::{Allowed, Refused};
use crate::tag::{self, CollectionTag, ScalarTag};
use crate::{Document, Error, Mapping, Node, Options, Style, Value, Warning, scalar};

/// The start of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    pub(crate) fn of(marker: &Marker) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            line: count(marker.line()),
            column: count(marker.col() + 1),
        }
    }
}

pub(crate) struct Loader {
    options: Options,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    /// Number of values so far, including those behind aliases.
    nodes: usize,
    document: Document,
    open_end: Option<usize>,
}

/// A collection whose end has not been read.
struct Open {
    content: Content,
    place: Place,
    anchor: usize,
    /// Number of values before it.
    nodes_before: usize,
}

enum Content {
    Sequence {
        items: Vec<Node>,
        omap: bool,
    },
    Mapping {
        building: Building,
        key: Option<WrittenKey>,
    },
}

struct WrittenKey {
    node: Node,
    /// True for a `<<` that is not tagged as text.
    merges: bool,
}

struct Anchored {
    node: Node,
    nodes: usize,
}

impl Loader {
    pub(crate) fn new(options: Options, text: &str) -> Self {
        Self {
            options,
            open: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            document: Document::default(),
            open_end: open_end(text),
        }
    }

    pub(crate) fn finish(self) -> Document {
        self.document
    }

    /// Handles an event. True at the end of the document.
    pub(crate) fn event(&mut self, event: Event<'_>, span: &Span) -> Result<bool, Error> {
        let place = Place::of(&span.start);
        match event {
            Event::DocumentEnd | Event::StreamEnd => return Ok(true),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, place)?;
                let tag = tag::of_scalar(tag.as_deref());
                let written_as_text = tag == ScalarTag::Text;
                let text = self.as_it_ends(&text, style, span);
                let node = self.scalar(text, style, tag, place)?;
                self.anchor(anchor, &node, 1);
                self.place(node, Stands::Scalar, written_as_text);
            }
            Event::SequenceStart(anchor, tag) => {
                let omap = match tag::of_sequence(tag.as_deref()) {
                    CollectionTag::Refused(class) => return Err(unpermitted(class, place)),
                    tag => tag == CollectionTag::Omap,
                };
                let items = Vec::new();
                self.enter(Content::Sequence { items, omap }, place, anchor)?;
            }
            Event::MappingStart(anchor, tag) => {
                if let CollectionTag::Refused(class) = tag::of_mapping(tag.as_deref()) {
                    return Err(unpermitted(class, place));
                }
                let building = Building::default();
                let key = None;
                self.enter(Content::Mapping { building, key }, place, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(anchor) => self.alias(anchor, place)?,
        }
        Ok(false)
    }

    /// A block that ends with the text has no newline there, although the parser adds one.
    fn as_it_ends<'t>(&self, text: &'t str, style: ScalarStyle, span: &Span) -> &'t str {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if block && self.open_end == Some(span.end.index()) {
            return text.strip_suffix('\n').unwrap_or(text);
        }
        text
    }

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), Error> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            let Place { line, column } = place;
            return Err(Error::Nodes {
                limit: MAX_NODES,
                line,
                column,
            });
        }
        Ok(())
    }

    fn enter(&mut self, content: Content, place: Place, anchor: usize) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            let Place { line, column } = place;
            return Err(Error::Depth {
                limit: MAX_DEPTH,
                line,
                column,
            });
        }
        let nodes_before = self.nodes;
        self.count(1, place)?;
        self.open.push(Open {
            content,
            place,
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
            Content::Sequence { items, omap: false } => {
                (Value::Sequence(Arc::new(items)), Stands::Sequence)
            }
            Content::Sequence { items, omap: true } => {
                (Value::Mapping(Arc::new(omap(&items))), Stands::Sequence)
            }
            Content::Mapping { building, .. } => {
                (Value::Mapping(Arc::new(building.finish())), Stands::Mapping)
            }
        };
        let node = Node {
            value,
            line: open.place.line,
            column: open.place.column,
            style: Style::Collection,
        };
        self.anchor(open.anchor, &node, self.nodes - open.nodes_before);
        self.place(node, stands, false);
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Error> {
        let Place { line, column } = place;
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
        self.place(node, Stands::Alias, false);
        Ok(())
    }

    fn anchor(&mut self, anchor: usize, node: &Node, nodes: usize) {
        if anchor > 0 {
            let node = node.clone();
            self.anchors.insert(anchor, Anchored { node, nodes });
        }
    }

    /// Adds a complete value to its collection.
    fn place(&mut self, node: Node, stands: Stands, written_as_text: bool) {
        let Some(open) = self.open.last_mut() else {
            self.document.root = Some(node);
            return;
        };
        let (building, key) = match &mut open.content {
            Content::Sequence { items, .. } => return items.push(node),
            Content::Mapping { building, key } => (building, key),
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
            self.document.warnings.push(Warning {
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
        style: ScalarStyle,
        tag: ScalarTag,
        place: Place,
    ) -> Result<Node, Error> {
        let allowed = Allowed {
            symbols: self.options.symbols,
            times: self.options.times,
        };
        let plain = || scalar::plain(text, allowed);
        let string = || Ok(Value::String(Arc::from(text)));
        let value = match tag {
            ScalarTag::Untagged if style != ScalarStyle::Plain => string(),
            ScalarTag::Text => string(),
            ScalarTag::Untagged | ScalarTag::None => plain(),
            ScalarTag::Binary => Ok(Value::Binary(Arc::from(tag::unpacked(text)))),
            ScalarTag::Float => plain().and_then(|value| scalar::as_float(&value)),
            ScalarTag::Symbol if allowed.symbols => Ok(Value::Symbol(Arc::from(text))),
            ScalarTag::Symbol => Err(Refused::Class("Symbol")),
            ScalarTag::Refused(class) => return Err(unpermitted(class, place)),
        };
        let Place { line, column } = place;
        let value = value.map_err(|refused| match refused {
            Refused::Class(class) => unpermitted(class.to_owned(), place),
            Refused::Number(NotNumber::TooLong) => Error::LongNumber { line, column },
            Refused::Number(NotNumber::Invalid) => Error::Number {
                text: text.chars().take(40).collect(),
                line,
                column,
            },
        })?;
        Ok(Node {
            value,
            line,
            column,
            style: match style {
                ScalarStyle::Plain => Style::Plain,
                ScalarStyle::SingleQuoted => Style::Single,
                ScalarStyle::DoubleQuoted => Style::Double,
                ScalarStyle::Literal => Style::Literal,
                ScalarStyle::Folded => Style::Folded,
            },
        })
    }
}

/// The end, in characters, of a text that does not end with a newline.
fn open_end(text: &str) -> Option<usize> {
    let open = !text.ends_with(['\n', '\r']);
    open.then(|| text.chars().count())
}

fn unpermitted(class: String, place: Place) -> Error {
    let Place { line, column } = place;
    Error::Unpermitted {
        class,
        line,
        column,
    }
}

/// Converts the items to a mapping of their first entries.
fn omap(items: &[Node]) -> Mapping {
    let firsts = items.iter().filter_map(|item| item.as_mapping()?.first());
    firsts
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
