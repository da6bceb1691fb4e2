//! Variables of a call as hosts see them: [`VariableScope`].
//!
//! Invariant: clones of a scope share its variables.

use std::rc::Rc;
use std::sync::Arc;

use pcore::Value;

use crate::frame::{CatalogScopeId, VariableFrame};

/// Local variables by name, for texts that are evaluated within other code: the steps of a YAML
/// plan, the code around an `apply` block.
#[derive(Debug, Clone)]
pub struct VariableScope {
    pub(crate) frame: Option<Rc<VariableFrame>>,
}

impl Default for VariableScope {
    fn default() -> Self {
        Self::new(Some(VariableFrame::new_growable()))
    }
}

impl VariableScope {
    pub(crate) fn new(frame: Option<Rc<VariableFrame>>) -> Self {
        Self { frame }
    }

    /// Sets a variable. Returns false if it is already set.
    pub fn define(&self, name: &str, value: Value) -> bool {
        self.frame
            .as_ref()
            .is_some_and(|frame| frame.define(name, value))
    }

    /// Value of a variable of this scope or of one around it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.frame.as_ref()?.lookup(name)
    }

    /// All variables of this scope and of those around it, except those of the top scope.
    #[must_use]
    pub fn variables(&self) -> Vec<(Arc<str>, Value)> {
        let Some(frame) = &self.frame else {
            return Vec::new();
        };
        frame
            .names()
            .into_iter()
            .filter_map(|name| frame.lookup(&name).map(|value| (name, value)))
            .collect()
    }

    /// Value of a parameter of a class or defined type, by its index; `None` if it is not set.
    #[must_use]
    pub fn parameter(&self, index: usize) -> Option<Value> {
        self.frame.as_ref()?.get(u16::try_from(index).ok()?)
    }

    /// Sets a parameter, by its index.
    pub fn set_parameter(&self, index: usize, value: Value) {
        if let (Some(frame), Ok(index)) = (&self.frame, u16::try_from(index)) {
            frame.set(index, value);
        }
    }

    /// Makes a parameter unset again, by its index.
    pub fn clear_parameter(&self, index: usize) {
        if let (Some(frame), Ok(index)) = (&self.frame, u16::try_from(index)) {
            frame.unset(index);
        }
    }

    /// Value of a variable that this scope itself has.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<Value> {
        self.frame.as_ref()?.own(name)
    }

    /// Scope of the catalog to which the code belongs.
    #[must_use]
    pub fn catalog_scope(&self) -> CatalogScopeId {
        self.frame
            .as_ref()
            .map_or(CatalogScopeId::TOP, |frame| frame.catalog_scope())
    }

    /// The top scope, which has no frame.
    #[must_use]
    pub fn top() -> Self {
        Self::new(None)
    }

    /// The scope that functions see besides their parameters: the node block around this scope, or
    /// the top scope.
    #[must_use]
    pub fn global(&self) -> Self {
        let frame = self.frame.as_ref().and_then(VariableFrame::node_block);
        Self::new(frame.cloned())
    }

    /// An empty scope inside this one, whose variables are defined by name.
    #[must_use]
    pub fn growable_inside(&self) -> Self {
        let frame = VariableFrame::new_growable_inside(self.frame.as_ref());
        Self::new(Some(frame))
    }
}
