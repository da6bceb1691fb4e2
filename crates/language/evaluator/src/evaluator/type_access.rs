//! `[]` on types: pcore makes the type, the evaluator knows who is blamed.

use pcore::{Type, Value};

use super::{EvalContext, Evaluator};
use crate::code::{LoweredNode, NodeId};
use crate::error::{EvalResult, raise};

impl Evaluator<'_> {
    pub(super) fn access_type(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        ty: &Type,
        ids: &[NodeId],
        keys: &[Value],
    ) -> EvalResult {
        let error = match ty.parameterize(keys) {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        let Some(issue) = error.issue else {
            return raise(error.message);
        };
        // keys may have come out of one list: then that is blamed
        let at = match error.argument {
            Some(place) => ids
                .get(place)
                .or(ids.last())
                .map_or(node.at, |id| cx.unit.node(*id).at),
            None => node.at,
        };
        Err(self.fail(cx, at, issue, error.message))
    }
}
