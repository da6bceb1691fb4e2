//! Routes under `/classifier-api`: node groups and the classification of nodes.
//!
//! Invariants: the classifier decides which rights an edit needs, on the tree that it edits; groups
//! that a caller may not see are left out of lists and refused elsewhere; errors are named as in
//! Puppet Enterprise's classifier.

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
mod responses;
mod yaml;
