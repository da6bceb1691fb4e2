//! `[]` on types: pcore creates the type, the evaluator adds the location to its errors.

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
        // several keys may come from one list, which is then the location
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
