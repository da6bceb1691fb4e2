//! Values that are not known, in an evaluation that only looks ahead. Main trait: [`UnknownValues`].
//!
//! Such a value is an [`Object`](pcore::Object) of the host's that says so. The rule that must hold: what is
//! made of one is one, and where the program's way depends on one, the host is told before the program
//! goes on.

use pcore::Value;

use crate::error::{Eval, SourceLocation};

/// A host whose values may be unknown.
pub trait UnknownValues {
    /// What an operator or a function makes of these, of which some are unknown. `text`: how it is shown, if
    /// it is a text with something unknown in it.
    fn made_of(&self, values: &[Value], text: Option<String>) -> Value;

    /// What is evaluated from here on depends on these.
    fn depends_on(&self, values: &[Value]);

    /// The same, and one of several ways is taken: `how` says which, for people.
    fn goes_on(&self, values: &[Value], place: &SourceLocation, how: &str) -> Eval<()>;
}
