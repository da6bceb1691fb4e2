//! The surroundings of an expression: [`EvalContext`].

use std::rc::Rc;
use std::sync::Arc;

use crate::code::LoweredUnit;
use crate::frame::{CatalogScopeId, VariableFrame};

/// The code and the frame in which an expression is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvalContext<'a> {
    pub(crate) unit: &'a Arc<LoweredUnit>,
    pub(crate) frame: Option<&'a Rc<VariableFrame>>,
}

impl EvalContext<'_> {
    pub(crate) fn catalog_scope(&self) -> CatalogScopeId {
        self.frame.map_or(CatalogScopeId::TOP, |frame| {
            VariableFrame::catalog_scope(frame)
        })
    }
}
