//! Statements of a block that is given as text: [`parse_block`].

use std::sync::Arc;

use evaluator::{EvalError, Manifest, StatementsPlace};
use syntax::SourceText;

use crate::compile::on_compiler_thread;
use crate::defaults;

/// Parses the statements of a block, on a thread that has the stack for nested code. `None` if the text has
/// no statements at this place.
///
/// # Errors
/// The text has a syntax error, or is nested too deeply.
pub fn parse_block(
    source: &Arc<SourceText>,
    place: &StatementsPlace,
) -> Result<Option<Manifest>, EvalError> {
    let stack_bytes = defaults::STACK_BYTES - defaults::STACK_BYTES / 4;
    let parsed = on_compiler_thread(|| {
        let parsed = Manifest::parse_place(source, place, stack_bytes);
        parsed.map_err(|unwind| match unwind.into_error() {
            Ok(error) => error,
            Err(_) => EvalError::without_location("the text cannot be parsed"),
        })
    });
    parsed?
}
