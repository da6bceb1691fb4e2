//! What a hierarchy was built from: [`HierarchyInput`].

use std::sync::Arc;

use pcore::Value;

/// Name of the variable with all facts.
pub(crate) const FACTS: &str = "facts";

/// A value on which a hierarchy depends.
#[derive(Debug)]
pub(crate) enum HierarchyInput {
    /// Name and value of a variable; `None` if there is none.
    Variable(String, Option<Value>),
    /// Path into the facts, and the value of its longest part that exists.
    Fact(Vec<Arc<str>>, Value),
}

impl HierarchyInput {
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        matches!(self, Self::Variable(known, _) if known == name)
    }
}
