//! Parses a text to its tree: [`load`].

use std::borrow::Cow;

use saphyr_parser::{Parser, ScanError, StrInput};

use crate::defaults::{MAX_BYTES, MAX_DEPTH, MAX_READ_BYTES};
use crate::loader::{ScalarPosition, YamlLoader};
use crate::{Error, YamlTreeNode, repair};

/// The values other than plain data that a document may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct YamlLoadOptions {
    pub aliases: bool,
    pub symbols: bool,
    /// True to allow dates and times without quotes.
    pub times: bool,
}

impl YamlLoadOptions {
    /// The options for Hiera's data files and `hiera.yaml`.
    pub const HIERA: Self = Self {
        aliases: true,
        symbols: true,
        times: false,
    };
    /// The options for YAML plans.
    pub const PLAN: Self = Self {
        aliases: false,
        symbols: false,
        times: false,
    };
}

/// The result of reading a document.
#[derive(Debug, Clone, Default)]
pub struct YamlDocument {
    /// The tree of the document; `None` if the text contains no document.
    pub root: Option<YamlTreeNode>,
    pub warnings: Vec<DuplicateKeyWarning>,
}

/// A duplicate key in one mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKeyWarning {
    pub key: String,
    /// Line of the first occurrence of the key, from 1.
    pub first_line: u32,
    pub line: u32,
    pub column: u32,
}

/// Reads the first document of a text.
pub fn load(text: &str, options: YamlLoadOptions) -> Result<YamlDocument, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::Size { limit: MAX_BYTES });
    }
    let mut text = Cow::Borrowed(text);
    let mut read_bytes = 0;
    loop {
        let scan_error = match read(&text, options) {
            Ok(document) => return Ok(document),
            Err(LoadFailure::Refused(error)) => return Err(error),
            Err(LoadFailure::Scan(error)) => error,
        };
        // The bytes read so far, and the cost of the copy for the repair.
        read_bytes += scan_error.marker().index() + text.len() / COPIED_PER_READ;
        let repaired = repair::repair(&text, &scan_error);
        match repaired.filter(|_| read_bytes < MAX_READ_BYTES) {
            Some(better) => text = Cow::Owned(better),
            None => return Err(syntax(&scan_error)),
        }
    }
}

/// Number of bytes that are copied in the time in which one is parsed.
const COPIED_PER_READ: usize = 16;

enum LoadFailure {
    Scan(ScanError),
    Refused(Error),
}

fn read(text: &str, options: YamlLoadOptions) -> Result<YamlDocument, LoadFailure> {
    let mut loader = YamlLoader::new(options, text);
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(LoadFailure::Scan)?;
        let ended = loader
            .handle_event(event, &span)
            .map_err(LoadFailure::Refused)?;
        if ended {
            break;
        }
    }
    Ok(loader.finish())
}

fn syntax(error: &ScanError) -> Error {
    let ScalarPosition { line, column } = ScalarPosition::from_marker(error.marker());
    // The parser reads ahead of the current nesting.
    if error.info() == "recursion limit exceeded" {
        let limit = MAX_DEPTH;
        return Error::Depth {
            limit,
            line,
            column,
        };
    }
    Error::Syntax {
        what: error.info().to_owned(),
        line,
        column,
    }
}
