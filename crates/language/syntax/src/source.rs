//! The text of one file and positions in it: [`SourceText`], [`SourceSpan`], [`SourcePosition`].
//!
//! Invariant: positions are byte offsets everywhere; lines and columns are computed only on demand.

use std::sync::{Arc, OnceLock};

use crate::diagnostic::Diagnostic;

/// A range of bytes in a source: `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SourceSpan {
    pub start: u32,
    pub end: u32,
}

/// Line and column, both counted from 1; columns count characters, as Puppet's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePosition {
    pub line: u32,
    pub column: u32,
}

/// One file's name and text.
#[derive(Debug)]
pub struct SourceText {
    name: Option<Arc<str>>,
    text: Arc<str>,
    /// Start of each line; computed at first use.
    line_starts: OnceLock<Box<[u32]>>,
}

// === impl SourceSpan ===

impl SourceSpan {
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    #[must_use]
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

// === impl SourceText ===

impl SourceText {
    /// Creates a source. `name` is the path that messages show; code from a string has none.
    pub fn new(name: Option<&str>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.map(Arc::from),
            text: text.into(),
            line_starts: OnceLock::new(),
        }
    }

    /// Decodes bytes to a source. Bytes that are not UTF-8 are a fault, and are replaced so that
    /// the text can be shown.
    pub fn decode(name: Option<&str>, bytes: &[u8]) -> (Self, Option<Diagnostic>) {
        let fault = byte_order_mark(bytes).or_else(|| not_utf8(bytes));
        (Self::new(name, String::from_utf8_lossy(bytes)), fault)
    }

    pub fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The text of a span; empty if the span is not within this source.
    pub fn slice(&self, span: SourceSpan) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Line and column of a byte offset. An offset past the end counts as the end.
    pub fn position(&self, byte: u32) -> SourcePosition {
        let starts = self.line_starts();
        let line = starts.partition_point(|start| *start <= byte).max(1);
        let from = starts[line - 1] as usize;
        let to = (byte as usize).min(self.text.len()).max(from);
        let before = &self.text.as_bytes()[from..to];
        // a character is counted by its first byte
        let characters = before.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        SourcePosition {
            line: as_u32(line),
            column: as_u32(characters + 1),
        }
    }

    /// The line of a byte offset, which is all that most messages of the evaluator need.
    pub fn line(&self, byte: u32) -> u32 {
        as_u32(
            self.line_starts()
                .partition_point(|start| *start <= byte)
                .max(1),
        )
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', self.text.as_bytes()).map(|at| as_u32(at + 1)))
                .collect()
        })
    }
}

/// Converts an offset. Sources are bounded by [`crate::defaults::MAX_SOURCE_BYTES`], so offsets
/// fit.
pub(crate) fn as_u32(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// Byte order marks of Unicode and other encodings; Puppet accepts none of them.
const MARKS: [(&str, &[u8]); 10] = [
    ("UTF-32", &[0x00, 0x00, 0xFE, 0xFF]),
    ("UTF-32", &[0xFF, 0xFE, 0x00, 0x00]),
    ("GB-18030", &[0x84, 0x31, 0x95, 0x33]),
    ("UTF-EBCDIC", &[0xDD, 0x73, 0x66, 0x73]),
    ("SCSU", &[0x0E, 0xFE, 0xFF]),
    ("UTF-8", &[0xEF, 0xBB, 0xBF]),
    ("UTF-1", &[0xF7, 0x64, 0x4C]),
    ("BOCU", &[0xFB, 0xEE, 0x28]),
    ("UTF-16", &[0xFE, 0xFF]),
    ("UTF-16", &[0xFF, 0xFE]),
];

pub(crate) fn byte_order_mark(bytes: &[u8]) -> Option<Diagnostic> {
    let (format, mark) = MARKS.iter().find(|(_, mark)| bytes.starts_with(mark))?;
    let shown: Vec<String> = mark.iter().map(|byte| format!("{byte:X}")).collect();
    let message = format!(
        "Illegal {format} Byte Order mark at beginning of input: [{}] - remove these from the puppet \
         source",
        shown.join(" ")
    );
    Some(Diagnostic::error(
        "ILLEGAL_BOM",
        SourceSpan::default(),
        message,
    ))
}

fn not_utf8(bytes: &[u8]) -> Option<Diagnostic> {
    let error = std::str::from_utf8(bytes).err()?;
    let at = error.valid_up_to();
    let message = format!(
        "The source is not UTF-8: byte {:#04X} cannot stand here",
        bytes[at]
    );
    // the replacement character has three bytes
    let span = SourceSpan::new(as_u32(at), as_u32(at + 3));
    let fault = Diagnostic::error("NOT_UTF8", span, message)
        .with_help("save the file as UTF-8, for example by `iconv -f latin1 -t utf-8`");
    Some(fault)
}
