//! Arguments and context of a function call. Main type: [`CallArguments`].

use std::sync::Arc;

use pcore::{Hash, Value};

use crate::block::CodeBlock;
use crate::error::SourceLocation;
use crate::eval_context::EvalContext;
use crate::frame::CatalogScopeId;
use crate::variable_scope::VariableScope;

/// The arguments of a call, already accepted by the dispatch that runs.
#[derive(Debug)]
pub struct CallArguments<'a> {
    pub arguments: Vec<Value>,
    pub block: Option<&'a CodeBlock>,
    pub(crate) cx: EvalContext<'a>,
    pub(crate) at: u32,
    /// The name that the function was called by.
    pub name: &'a str,
}

impl<'a> CallArguments<'a> {
    /// Source location of the call.
    pub fn location(&self) -> SourceLocation {
        self.cx.unit.location_at(self.at)
    }

    /// The variables around the call.
    pub fn scope(&self) -> VariableScope {
        VariableScope::new(self.cx.frame.cloned())
    }

    /// Scope of the catalog to which the calling code belongs.
    pub fn catalog_scope(&self) -> CatalogScopeId {
        self.cx.catalog_scope()
    }

    /// Takes an argument out; `undef` if it was not given.
    pub fn take(&mut self, index: usize) -> Value {
        self.arguments
            .get_mut(index)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    pub fn get(&self, index: usize) -> &Value {
        const UNDEF: &Value = &Value::Undef;
        self.arguments.get(index).unwrap_or(UNDEF)
    }

    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// A string argument. The types of the dispatch ensure that it is one.
    pub fn text(&self, index: usize) -> Arc<str> {
        match self.get(index) {
            Value::Str(text) => Arc::clone(text),
            // an unknown value is accepted by every type
            unknown if unknown.is_unknown() => unknown.to_string().into(),
            _ => "".into(),
        }
    }

    pub fn list(&self, index: usize) -> Arc<Vec<Value>> {
        match self.get(index) {
            Value::Array(elements) => Arc::clone(elements),
            _ => Arc::default(),
        }
    }

    pub fn hash(&self, index: usize) -> Arc<Hash> {
        match self.get(index) {
            Value::Hash(entries) => Arc::clone(entries),
            _ => Arc::default(),
        }
    }

    pub fn int(&self, index: usize) -> i64 {
        self.get(index).as_int().unwrap_or_default()
    }

    /// The block that the dispatch requires.
    pub fn required_block(&self) -> &'a CodeBlock {
        match self.block {
            Some(block) => block,
            None => unreachable!("a form that requires a block is not run without one"),
        }
    }
}
