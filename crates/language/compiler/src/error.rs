//! Errors of a compilation: [`CompileError`].
//!
//! Invariant: the first message is Puppet's, with place and node; further ones are of the same
//! phase, so none is a consequence of another; a message has a bounded length.

use std::borrow::Cow;

use evaluator::{EvalError, EvalUnwind, SourceLocation};

use crate::data_queries::DataQueryResult;
use crate::defaults::MESSAGE_BYTES_MAX;

/// A catalog that cannot be compiled.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message} on node {certname}")]
pub struct CompileError {
    /// Puppet's message with the place in the code, without the node.
    pub message: String,
    pub certname: String,
    /// Place in the code; `None` if the error has none.
    pub location: Option<SourceLocation>,
    /// Suggestions, such as similar names.
    pub hints: Vec<String>,
    /// Further errors that were found, each with its place.
    pub others: Vec<String>,
    /// The queries for data of other nodes before the error; with other results the compilation may succeed.
    pub queries: Vec<DataQueryResult>,
}

impl CompileError {
    pub(crate) fn boxed(error: &EvalError, certname: &str, others: Vec<String>) -> Box<Self> {
        let error = clipped(error);
        let others = others.into_iter().map(|it| clip(&it).to_owned());
        Box::new(Self {
            message: error.to_string(),
            certname: certname.to_owned(),
            location: error.location.clone(),
            hints: error.hints.clone(),
            others: others.collect(),
            queries: Vec::new(),
        })
    }
}

/// The error with the first part of its message, and its place.
fn clipped(error: &EvalError) -> Cow<'_, EvalError> {
    if error.message.len() <= MESSAGE_BYTES_MAX {
        return Cow::Borrowed(error);
    }
    let message = format!("{}…", clip(&error.message));
    Cow::Owned(EvalError {
        message,
        ..error.clone()
    })
}

pub(crate) fn clip(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)]
}

/// An error with its line, complete as it is.
pub(crate) fn error_at(message: impl Into<String>, location: &SourceLocation) -> EvalError {
    if location.line == 0 {
        return EvalError::without_location(message);
    }
    let location = SourceLocation {
        column: 0,
        ..location.clone()
    };
    EvalError::preformatted(evaluator::RUNTIME_ERROR, message, location)
}

/// The same as the result of a step.
pub(crate) fn fail_at<T>(
    message: impl Into<String>,
    location: &SourceLocation,
) -> Result<T, Box<EvalUnwind>> {
    Err(error_at(message, location).into())
}

/// `(file: a.pp, line: 1)`, or empty without a line.
pub(crate) fn location_text(location: &SourceLocation) -> String {
    SourceLocation {
        column: 0,
        ..location.clone()
    }
    .to_string()
}
