//! Reads of parts of the variable `facts`, which are recorded as such: `$facts['a']['b']`,
//! `$facts.get('a.b')`, `$facts.dig('a', 'b')`.
//!
//! Invariant: an expression that is not read here is evaluated as any other, with the same value.

use std::sync::Arc;

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::code::{MethodNode, NodeId, NodeKind, VariableNode};
use crate::error::EvalResult;
use crate::fact_reads::FACTS;
use crate::functions::names_of_path;

impl Evaluator<'_> {
    /// The value of `$facts['a']['b']`; `None` for any other expression, and if the value is not that of a name
    /// in a hash.
    pub(super) fn fact_access(
        &self,
        cx: EvalContext<'_>,
        left: NodeId,
        keys: &[NodeId],
    ) -> Option<Value> {
        let mut path = vec![constant_name(cx, keys)?];
        let mut here = left;
        loop {
            match &cx.unit.node(here).kind {
                NodeKind::Access { left, keys } => {
                    path.push(constant_name(cx, keys)?);
                    here = *left;
                }
                NodeKind::Variable(variable) if is_all_facts(cx, variable) => break,
                _ => return None,
            }
        }
        path.reverse();
        self.whole_fact_at(&path)
    }

    /// The value of `$facts.get('a.b')` or `$facts.dig('a', 'b')`; `None` for any other call, and if the value
    /// is not that of a name in a hash.
    pub(super) fn fact_method(
        &mut self,
        cx: EvalContext<'_>,
        method: &MethodNode,
    ) -> EvalResult<Option<Value>> {
        let call = &method.call;
        let is_of_facts = match &cx.unit.node(method.receiver).kind {
            NodeKind::Variable(variable) => is_all_facts(cx, variable),
            _ => false,
        };
        if !is_of_facts || call.native.is_none() || call.block.is_some() {
            return Ok(None);
        }
        let names = call
            .arguments
            .iter()
            .map(|node| constant_name(cx, &[*node]));
        let (path, default) = match (&*call.name, &*call.arguments) {
            ("dig", [_, ..]) => (names.collect::<Option<Vec<_>>>(), None),
            ("get", [path]) => (dotted_names(cx, *path), None),
            ("get", [path, default]) => (dotted_names(cx, *path), Some(*default)),
            _ => (None, None),
        };
        let found = path.and_then(|path| self.whole_fact_at(&path));
        match (found, default) {
            (Some(Value::Undef), Some(default)) => self.eval(cx, default).map(Some),
            (found, _) => Ok(found),
        }
    }
}

/// True for `$facts` of the top scope. A host may define a variable of that name in the frames of a program.
fn is_all_facts(cx: EvalContext<'_>, variable: &VariableNode) -> bool {
    let is_local = || cx.frame.is_some_and(|frame| frame.lookup(FACTS).is_some());
    variable.is_all_facts() && (variable.is_qualified || !is_local())
}

/// The key if it is one text that the code has as such.
fn constant_name(cx: EvalContext<'_>, keys: &[NodeId]) -> Option<Arc<str>> {
    let [key] = keys else { return None };
    match &cx.unit.node(*key).kind {
        NodeKind::Const(Value::Str(name)) => Some(Arc::clone(name)),
        _ => None,
    }
}

/// The names of a dotted path that the code has as a text.
fn dotted_names(cx: EvalContext<'_>, path: NodeId) -> Option<Vec<Arc<str>>> {
    let path = constant_name(cx, &[path])?;
    names_of_path(&path).filter(|names| !names.is_empty())
}
