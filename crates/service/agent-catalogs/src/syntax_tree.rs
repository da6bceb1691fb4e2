//! Syntax trees of Puppet, as other servers send the body of an `apply` block: [`SyntaxTree`].
//!
//! A tree has the text that it was parsed from, and each statement its position in that text. The text is parsed
//! again, and the statements at these positions are compiled.
//!
//! Invariant: of a tree only the text and the positions of the outermost statements are kept. The rest is skipped
//! without recursion, so neither its depth nor its references matter.

use std::sync::Arc;

use compiler::parse_block;
use evaluator::{Manifest, StatementsPlace};
use serde::Deserialize;
use syntax::SourceText;

use crate::defaults::{BLOCK_FILE_BYTES_MAX, BLOCK_TEXT_BYTE_IN_QUEUE, BLOCK_TEXT_BYTES_MAX};

const PROGRAM: &str = "Puppet::AST::Program";
const LOCATOR: &str = "Puppet::AST::Locator";

/// Types of nodes that are lists of statements.
const BLOCKS: [&str; 2] = [
    "Puppet::AST::BlockExpression",
    "Puppet::AST::ApplyBlockExpression",
];

/// Reason that a syntax tree cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum SyntaxTreeError {
    #[error("it is not a syntax tree in the rich data of Puppet: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error(
        "its root {0} has no locator with the source text, from which this server compiles; send the tree that \
         Puppet's ToDataConverter makes of the body of the apply block"
    )]
    NoText(String),
    #[error(
        "its source text or the name of its file is longer than {} bytes; move the code of the block to a class of a module",
        BLOCK_TEXT_BYTES_MAX
    )]
    TooLong,
    #[error(
        "its statements are neither an apply block of its source text nor all statements of it; send the tree of the \
         whole block, with the text that it was parsed from"
    )]
    OtherStatements,
    #[error("its source text cannot be parsed: {0}")]
    Text(String),
}

/// The parts of a tree from which it is compiled.
#[derive(Debug)]
pub(crate) struct SyntaxTree {
    source: Arc<SourceText>,
    place: StatementsPlace,
}

#[derive(Deserialize)]
struct TreeDocument {
    #[serde(rename = "__ptype")]
    kind: String,
    #[serde(default)]
    locator: Option<LocatorDocument>,
    #[serde(default)]
    offset: Option<u32>,
    #[serde(default)]
    statements: Option<Vec<StatementDocument>>,
}

#[derive(Deserialize)]
struct LocatorDocument {
    #[serde(rename = "__ptype")]
    kind: String,
    #[serde(default)]
    string: Option<String>,
    #[serde(default)]
    file: Option<String>,
}

#[derive(Deserialize)]
struct StatementDocument {
    /// Bytes before the statement in the text.
    offset: u32,
}

impl SyntaxTree {
    /// Reads the text and the place of a tree in JSON.
    pub(crate) fn read(json: &str) -> Result<Self, SyntaxTreeError> {
        let tree: TreeDocument = serde_json::from_str(json)?;
        let locator = tree.locator.filter(|it| it.kind == LOCATOR);
        let Some((text, file)) = locator.and_then(|it| Some((it.string?, it.file))) else {
            return Err(SyntaxTreeError::NoText(tree.kind));
        };
        let file = file.filter(|it| !it.is_empty());
        let file_bytes = file.as_ref().map_or(0, String::len);
        if text.len() > BLOCK_TEXT_BYTES_MAX || file_bytes > BLOCK_FILE_BYTES_MAX {
            return Err(SyntaxTreeError::TooLong);
        }
        let place = match (&*tree.kind, tree.statements, tree.offset) {
            (PROGRAM, ..) => StatementsPlace::Whole,
            (kind, statements, _) if BLOCKS.contains(&kind) => {
                let statements = statements.unwrap_or_default().into_iter();
                StatementsPlace::Offsets(statements.map(|it| it.offset).collect())
            }
            (_, _, Some(offset)) => StatementsPlace::Offsets(vec![offset]),
            (_, _, None) => return Err(SyntaxTreeError::OtherStatements),
        };
        Ok(Self {
            source: Arc::new(SourceText::new(file.as_deref(), text)),
            place,
        })
    }

    /// Bytes that the parsed text counts in the queue of compilations.
    pub(crate) fn bytes_in_queue(&self) -> usize {
        self.source.text().len() * BLOCK_TEXT_BYTE_IN_QUEUE
    }

    /// Parses the statements of the tree.
    pub(crate) fn into_statements(self) -> Result<Manifest, SyntaxTreeError> {
        let parsed = parse_block(&self.source, &self.place);
        let parsed = parsed.map_err(|error| SyntaxTreeError::Text(error.to_string()))?;
        parsed.ok_or(SyntaxTreeError::OtherStatements)
    }
}
