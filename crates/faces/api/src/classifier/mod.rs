//! Routes under `/classifier-api`: node groups and what nodes get from them.
//!
//! The rules: which rights an edit needs, the classifier says, on the tree that it edits; what a
//! caller may not see is left out of lists and refused elsewhere; errors have the names of Puppet
//! Enterprise's classifier.

pub(crate) mod classified;
pub(crate) mod code;
pub(crate) mod commands;
pub(crate) mod enc;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod rules;

mod body;
mod caller;
mod refusal;
mod shown;
mod yaml;
