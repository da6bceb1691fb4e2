//! `if`, `unless`, `case` and selectors; each restores the match variables when it ends.

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::code::{CaseNode, LoweredCaseOption, NodeId, NodeKind};
use crate::error::EvalResult;
use crate::ruby;

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn conditional(
        &mut self,
        cx: EvalContext<'_>,
        test: NodeId,
        if_true: NodeId,
        if_false: NodeId,
    ) -> EvalResult {
        let saved = self.matches.clone();
        let result = match self.eval(cx, test) {
            Ok(value) if self.looks_ahead && value.is_unknown() => {
                self.unknown_condition(cx, (test, &value), if_true, if_false)
            }
            Ok(value) if value.is_truthy() => self.eval(cx, if_true),
            Ok(_) => self.eval(cx, if_false),
            Err(unwind) => Err(unwind),
        };
        self.matches = saved;
        result
    }

    #[inline(never)]
    pub(super) fn case(&mut self, cx: EvalContext<'_>, case: &CaseNode) -> EvalResult {
        let saved = self.matches.clone();
        let result = self.chosen(cx, case).and_then(|(_, then)| match then {
            Some(then) => self.eval(cx, then),
            None => Ok(Value::Undef),
        });
        self.matches = saved;
        result
    }

    #[inline(never)]
    pub(super) fn selector(&mut self, cx: EvalContext<'_>, case: &CaseNode) -> EvalResult {
        let saved = self.matches.clone();
        let result = match self.chosen(cx, case) {
            Ok((_, Some(then))) => self.eval(cx, then),
            Ok((value, None)) => {
                let text = format!(
                    "No matching entry for selector parameter with value '{}'",
                    ruby::to_s(&value)
                );
                let at = cx.unit.node(case.test).at;
                Err(self.fail(cx, at, "UNMATCHED_SELECTOR", text))
            }
            Err(unwind) => Err(unwind),
        };
        self.matches = saved;
        result
    }

    /// Value of the test and the branch chosen by it.
    fn chosen(
        &mut self,
        cx: EvalContext<'_>,
        case: &CaseNode,
    ) -> EvalResult<(Value, Option<NodeId>)> {
        let value = self.eval(cx, case.test)?;
        if self.looks_ahead && value.has_unknown() {
            let then = self.unknown_case(cx, case, &value)?;
            return Ok((value, then));
        }
        for choice in &case.options {
            if self.fits(cx, &value, choice)? {
                return Ok((value, Some(choice.then)));
            }
        }
        Ok((value, case.otherwise))
    }

    fn fits(
        &mut self,
        cx: EvalContext<'_>,
        value: &Value,
        choice: &LoweredCaseOption,
    ) -> EvalResult<bool> {
        for id in &choice.values {
            let option = self.eval(cx, *id)?;
            if self.unknown_option(cx, *id, &option)? {
                continue;
            }
            if let (NodeKind::Splat(_), Value::Array(options)) = (&cx.unit.node(*id).kind, &option)
            {
                for option in options.iter() {
                    if self.matches_option(value, option)? {
                        return Ok(true);
                    }
                }
            } else if self.matches_option(value, &option)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
