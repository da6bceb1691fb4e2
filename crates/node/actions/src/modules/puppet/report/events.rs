//! Streaming reader of YAML of any size: [`YamlEvents`].
//!
//! Invariants: one value at a time is in memory, cut at its limit; tags are ignored; the recursion
//! is as deep as the caller's code, never as deep as the text; no input causes a panic.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use saphyr_parser::{BufferedInput, Event, Parser, ScalarStyle};

use crate::defaults::{REPORT_ANCHOR_BYTES, REPORT_ANCHORS};

/// Reason for which a text is not a usable report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error("it is no YAML: {0}")]
    Yaml(String),
    #[error("it ends in the middle")]
    Cut,
    #[error("it is not a mapping")]
    NoMapping,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it cannot be read: {0}")]
    Io(std::io::Error),
    #[error("it lacks {0:?}")]
    Lacks(&'static str),
}

/// A value, or the start of a collection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReportYamlNode {
    Null,
    Text(String),
    Sequence,
    Mapping,
}

pub(super) struct YamlEvents<R: Read> {
    parser: Parser<'static, BufferedInput<LossyUtf8Chars<R>>>,
    anchors: HashMap<usize, String>,
}

impl<R: Read> YamlEvents<R> {
    /// Enters the mapping of the first document.
    pub(super) fn of(from: R) -> Result<Self, ReportError> {
        let mut events = Self {
            parser: Parser::new(BufferedInput::new(LossyUtf8Chars::of(from))),
            anchors: HashMap::new(),
        };
        loop {
            match events.event()? {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                Event::MappingStart(..) => return Ok(events),
                _ => return Err(ReportError::NoMapping),
            }
        }
    }

    /// The next key of the entered mapping; `None` at its end.
    pub(super) fn key(&mut self) -> Result<Option<String>, ReportError> {
        loop {
            match self.event()? {
                Event::MappingEnd => return Ok(None),
                event => match self.node(event) {
                    ReportYamlNode::Text(key) => return Ok(Some(key)),
                    ReportYamlNode::Null => return Ok(Some(String::new())),
                    // No report has such a key.
                    ReportYamlNode::Sequence | ReportYamlNode::Mapping => {
                        self.leave()?;
                        self.skip()?;
                    }
                },
            }
        }
    }

    /// The next item of the entered sequence; `None` at its end.
    pub(super) fn item(&mut self) -> Result<Option<ReportYamlNode>, ReportError> {
        match self.event()? {
            Event::SequenceEnd => Ok(None),
            event => Ok(Some(self.node(event))),
        }
    }

    /// The next value; a collection is entered.
    pub(super) fn value(&mut self) -> Result<ReportYamlNode, ReportError> {
        let event = self.event()?;
        Ok(self.node(event))
    }

    /// A text of any YAML type; `None` for null and for collections.
    pub(super) fn text(&mut self) -> Result<Option<String>, ReportError> {
        let node = self.value()?;
        self.text_of(node)
    }

    pub(super) fn text_of(&mut self, node: ReportYamlNode) -> Result<Option<String>, ReportError> {
        match node {
            ReportYamlNode::Text(text) => Ok(Some(text)),
            ReportYamlNode::Null => Ok(None),
            ReportYamlNode::Sequence | ReportYamlNode::Mapping => {
                self.leave()?;
                Ok(None)
            }
        }
    }

    pub(super) fn read_bool(&mut self) -> Result<Option<bool>, ReportError> {
        Ok(match self.text()?.as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        })
    }

    /// Enters the next value if it is a mapping, and skips it otherwise.
    pub(super) fn enter_mapping(&mut self) -> Result<bool, ReportError> {
        let node = self.value()?;
        self.matches(node, &ReportYamlNode::Mapping)
    }

    /// Enters the next value if it is a sequence, and skips it otherwise.
    pub(super) fn enter_sequence(&mut self) -> Result<bool, ReportError> {
        let node = self.value()?;
        self.matches(node, &ReportYamlNode::Sequence)
    }

    /// True if `node` is the expected one; any other is skipped.
    pub(super) fn matches(
        &mut self,
        node: ReportYamlNode,
        expected: &ReportYamlNode,
    ) -> Result<bool, ReportError> {
        if node == *expected {
            return Ok(true);
        }
        self.text_of(node)?;
        Ok(false)
    }

    /// Skips the next value.
    pub(super) fn skip(&mut self) -> Result<(), ReportError> {
        self.text()?;
        Ok(())
    }

    /// Skips to the end of the entered collection.
    pub(super) fn leave(&mut self) -> Result<(), ReportError> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.event()? {
                Event::MappingEnd | Event::SequenceEnd => depth -= 1,
                event => match self.node(event) {
                    ReportYamlNode::Mapping | ReportYamlNode::Sequence => depth += 1,
                    ReportYamlNode::Null | ReportYamlNode::Text(_) => {}
                },
            }
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Event<'static>, ReportError> {
        let next = self.parser.next_event();
        match next {
            Some(Ok((Event::StreamEnd | Event::DocumentEnd, _))) | None => Err(ReportError::Cut),
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(ReportError::Yaml(error.to_string())),
        }
    }

    fn node(&mut self, event: Event<'static>) -> ReportYamlNode {
        match event {
            Event::Scalar(text, style, anchor, _tag) => {
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let text = text.into_owned();
                // Ruby writes equal strings once and then refers to them.
                if anchor > 0
                    && self.anchors.len() < REPORT_ANCHORS
                    && text.len() <= REPORT_ANCHOR_BYTES
                {
                    self.anchors.insert(anchor, text.clone());
                }
                if null {
                    ReportYamlNode::Null
                } else {
                    ReportYamlNode::Text(text)
                }
            }
            Event::Alias(anchor) => self
                .anchors
                .get(&anchor)
                .cloned()
                .map_or(ReportYamlNode::Null, ReportYamlNode::Text),
            Event::MappingStart(..) => ReportYamlNode::Mapping,
            Event::SequenceStart(..) => ReportYamlNode::Sequence,
            _ => ReportYamlNode::Null,
        }
    }
}

/// The characters of a stream; bytes that are not UTF-8 become U+FFFD.
struct LossyUtf8Chars<R: Read> {
    from: BufReader<R>,
}

impl<R: Read> LossyUtf8Chars<R> {
    fn of(from: R) -> Self {
        Self {
            from: BufReader::with_capacity(64 * 1024, from),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        // A failing disk looks like a truncated report, which is refused.
        self.from.fill_buf().ok()?.first().copied()
    }
}

impl<R: Read> Iterator for LossyUtf8Chars<R> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let first = self.peek()?;
        self.from.consume(1);
        if first < 0x80 {
            return Some(char::from(first));
        }
        let (length, mut code) = match first {
            0xc2..=0xdf => (1, u32::from(first & 0x1f)),
            0xe0..=0xef => (2, u32::from(first & 0x0f)),
            0xf0..=0xf4 => (3, u32::from(first & 0x07)),
            _ => return Some(char::REPLACEMENT_CHARACTER),
        };
        for _ in 0..length {
            match self.peek() {
                Some(byte @ 0x80..=0xbf) => {
                    self.from.consume(1);
                    code = (code << 6) | u32::from(byte & 0x3f);
                }
                _ => return Some(char::REPLACEMENT_CHARACTER),
            }
        }
        Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_through_and_other_bytes_do_not() {
        let text = "aé€𝄞z";
        assert_eq!(
            LossyUtf8Chars::of(text.as_bytes()).collect::<String>(),
            text
        );
        let bad = LossyUtf8Chars::of(&b"a\xffb\xe2\x82c\xed\xa0\x80\xc3"[..]).collect::<String>();
        assert_eq!(bad, "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}");
    }

    #[test]
    fn aliases_are_what_they_refer_to() {
        let mut events = YamlEvents::of("a: &1 x\nb: *1\nc: &2 {}\nd: *2\n".as_bytes()).unwrap();
        let mut seen = Vec::new();
        while let Some(key) = events.key().unwrap() {
            seen.push((key, events.text().unwrap()));
        }
        let expected = [("a", Some("x")), ("b", Some("x")), ("c", None), ("d", None)];
        let expected = expected.map(|(key, text)| (key.to_owned(), text.map(str::to_owned)));
        assert_eq!(seen, expected);
    }

    #[test]
    fn depth_takes_no_stack() {
        let mut deep = String::new();
        for level in 0..3000 {
            deep.push_str(&" ".repeat(level));
            deep.push_str("a:\n");
        }
        let mut events = YamlEvents::of(deep.as_bytes()).unwrap();
        while let Ok(Some(_)) = events.key() {
            if events.skip().is_err() {
                break;
            }
        }
        let flow = format!("a: {}", "[".repeat(100_000));
        let mut events = YamlEvents::of(flow.as_bytes()).unwrap();
        events.key().unwrap();
        assert!(events.skip().is_err());
    }
}
