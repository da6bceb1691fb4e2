//! A type alias as a table has it: [`AliasDefinition`].

/// The name of an alias and its type expression.
pub(super) type AliasDefinition = (&'static str, &'static str);
