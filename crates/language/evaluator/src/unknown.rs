//! Unknown values, in an evaluation that only predicts the effects of a plan. Main trait:
//! [`UnknownValues`].
//!
//! An unknown value is a [`PuppetObject`](pcore::PuppetObject) of the host that is marked as
//! unknown.
//!
//! Invariants: a value computed from an unknown value is unknown, and the host is notified before
//! the program takes a branch that depends on one.

use pcore::Value;

use crate::error::{EvalResult, SourceLocation};

/// A host whose values may be unknown.
pub trait UnknownValues {
    /// Result of an operator or a function whose operands are partly unknown. `text` is the
    /// representation to display, if the result is a string with unknown parts.
    fn unknown_made_of(&self, values: &[Value], text: Option<String>) -> Value;

    /// Records that everything evaluated from here on depends on these values.
    fn depends_on(&self, values: &[Value]);

    /// Like [`depends_on`](Self::depends_on), when one of several branches is taken. `how`
    /// describes the chosen branch to the user.
    fn check_unknown_branch(
        &self,
        values: &[Value],
        place: &SourceLocation,
        how: &str,
    ) -> EvalResult<()>;
}
