//! Errors of reading a document: [`Error`].

use crate::defaults::MAX_NUMBER_BYTES;

/// The reason for which a document cannot be read. Lines and columns count from 1, columns in
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{what} at line {line} column {column}")]
    Syntax {
        what: String,
        line: u32,
        column: u32,
    },
    /// A refused class or tag, in Psych's words.
    #[error("Tried to load unspecified class: {class} at line {line} column {column}")]
    Unpermitted {
        class: String,
        line: u32,
        column: u32,
    },
    #[error("aliases are not allowed here; write the value out at line {line} column {column}")]
    Alias { line: u32, column: u32 },
    #[error("the alias refers to what it is a part of at line {line} column {column}")]
    Recursive { line: u32, column: u32 },
    #[error("invalid value for a number: {text:?} at line {line} column {column}")]
    Number {
        text: String,
        line: u32,
        column: u32,
    },
    #[error("a number of more than {MAX_NUMBER_BYTES} digits at line {line} column {column}")]
    LongNumber { line: u32, column: u32 },
    #[error("nested deeper than {limit} levels at line {line} column {column}")]
    Depth {
        limit: usize,
        line: u32,
        column: u32,
    },
    #[error(
        "more than {limit} values, those that aliases stand for included, at line {line} \
         column {column}"
    )]
    Nodes {
        limit: usize,
        line: u32,
        column: u32,
    },
    #[error("the document is larger than {limit} bytes")]
    Size { limit: usize },
}
