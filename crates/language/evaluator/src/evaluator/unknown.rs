//! Operators, conditions and calls with unknown operands.
//!
//! Invariants: an evaluation without unknown values costs only the test of a flag more; and a value
//! computed from an unknown value is unknown.

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::block::CodeBlock;
use crate::code::{CallNode, CaseNode, NodeId, NodeKind};
use crate::error::{EvalError, EvalResult, EvalUnwind};
use crate::function::{CallArguments, NativeFunction};
use crate::unknown::UnknownValues;

/// Functions that treat unknown arguments like any other: they pass them on or print them.
const HANDS_ON: &[&str] = &[
    "break", "next", "return", "fail", "call", "debug", "info", "notice", "warning", "err",
    "alert", "emerg", "crit",
];

/// Functions that call their block for every element, whatever the block returns.
const CALLS_ALWAYS: &[&str] = &[
    "each",
    "map",
    "reduce",
    "reverse_each",
    "step",
    "slice",
    "with",
];

/// Functions that call their block for each element.
const ITERATIONS: &[&str] = &[
    "all",
    "any",
    "each",
    "filter",
    "group_by",
    "index",
    "map",
    "partition",
    "reduce",
    "reverse_each",
    "slice",
    "step",
    "tree_each",
];

impl Evaluator<'_> {
    fn unknowns(&self) -> Option<&dyn UnknownValues> {
        match self.looks_ahead {
            true => self.host.unknowns(),
            false => None,
        }
    }

    /// Unknown result of an operator; `None` if all operands are known.
    pub(super) fn unknown_of(&self, operands: &[&Value]) -> Option<Value> {
        self.unknown_text(operands, None)
    }

    /// Like [`unknown_of`](Self::unknown_of), for a string.
    pub(super) fn unknown_text(&self, pieces: &[&Value], text: Option<&str>) -> Option<Value> {
        let unknowns = self.unknowns()?;
        if !pieces.iter().any(|piece| piece.has_unknown()) {
            return None;
        }
        let pieces: Vec<Value> = pieces.iter().map(|piece| (*piece).clone()).collect();
        Some(unknowns.unknown_made_of(&pieces, text.map(str::to_owned)))
    }

    /// Notifies the host that the program depends on those of the values that are unknown.
    pub(super) fn depends_on(&self, values: &[&Value]) {
        if let Some(unknowns) = self.unknowns() {
            let values: Vec<Value> = values.iter().map(|value| (*value).clone()).collect();
            unknowns.depends_on(&values);
        }
    }

    /// Checks the result of a block for a function whose own result depends on it.
    #[inline]
    pub(super) fn note_block_result(&self, result: EvalResult) -> EvalResult {
        if self.block_decides
            && let Ok(value) = &result
            && value.has_unknown()
        {
            self.depends_on(&[value]);
        }
        result
    }

    fn goes_on(&self, cx: EvalContext<'_>, at: u32, value: &Value, how: &str) -> EvalResult<()> {
        match self.unknowns() {
            Some(unknowns) => unknowns.check_unknown_branch(
                std::slice::from_ref(value),
                &cx.unit.location_at(at),
                how,
            ),
            None => Ok(()),
        }
    }

    /// `and` and `or` with an unknown first operand: the second one is evaluated too.
    #[inline(never)]
    pub(super) fn unknown_junction(
        &mut self,
        cx: EvalContext<'_>,
        left: &Value,
        right: NodeId,
    ) -> EvalResult {
        self.depends_on(&[left]);
        let right = self.eval(cx, right)?;
        Ok(self.unknown_of(&[left, &right]).unwrap_or_default())
    }

    /// Evaluates `if` or `unless` with an unknown condition. The branch with statements is
    /// evaluated; if the plan would end there, the other one too.
    #[inline(never)]
    pub(super) fn unknown_condition(
        &mut self,
        cx: EvalContext<'_>,
        test: (NodeId, &Value),
        if_true: NodeId,
        if_false: NodeId,
    ) -> EvalResult {
        let (at, value) = (cx.unit.node(test.0).at, test.1);
        let is_nothing = matches!(cx.unit.node(if_true).kind, NodeKind::Nop);
        let (first, second, taken) = match is_nothing {
            false => (if_true, if_false, "true"),
            true => (if_false, if_true, "false"),
        };
        self.goes_on(cx, at, value, &format!("as if it were {taken}"))?;
        let unwind = match self.eval(cx, first) {
            Ok(value) => return Ok(value),
            Err(unwind) => unwind,
        };
        let what = match &*unwind {
            EvalUnwind::Interrupted(_) => return Err(unwind),
            EvalUnwind::Error(error) => format!("fail ({})", words(error)),
            EvalUnwind::Next(_) | EvalUnwind::Return(_) | EvalUnwind::Break(_) => {
                "leave here".to_owned()
            }
        };
        let how = format!("as if it were not {taken}: otherwise the plan would {what}");
        self.goes_on(cx, at, value, &how)?;
        self.eval(cx, second)
    }

    /// Branch of a case with an unknown value: its default, or else its first option.
    #[inline(never)]
    pub(super) fn unknown_case(
        &mut self,
        cx: EvalContext<'_>,
        case: &CaseNode,
        value: &Value,
    ) -> EvalResult<Option<NodeId>> {
        let first = case.options.first().map(|choice| choice.then);
        let (then, how) = match (case.otherwise, first) {
            (Some(otherwise), _) => (Some(otherwise), "with the default"),
            (None, Some(first)) => (Some(first), "as if the first option fitted"),
            (None, None) => (None, "as if nothing fitted"),
        };
        self.goes_on(cx, cx.unit.node(case.test).at, value, how)?;
        Ok(then)
    }

    /// Records an unknown option, which never matches.
    pub(super) fn unknown_option(
        &self,
        cx: EvalContext<'_>,
        id: NodeId,
        option: &Value,
    ) -> EvalResult<bool> {
        if !(self.looks_ahead && option.has_unknown()) {
            return Ok(false);
        }
        let at = cx.unit.node(id).at;
        self.goes_on(cx, at, option, "as if this option did not fit")?;
        Ok(true)
    }

    /// Result of a method or attribute if the object or an argument is unknown. Functions called
    /// with method syntax are not handled here.
    #[inline(never)]
    pub(super) fn unknown_method(
        &mut self,
        cx: EvalContext<'_>,
        receiver: &Value,
        call: &CallNode,
        arguments: &[Value],
    ) -> EvalResult<Option<Value>> {
        let is_known = !receiver.is_unknown() && !arguments.iter().any(Value::has_unknown);
        if is_known || call.native.is_some() || self.knows_function(cx, &call.name)? {
            return Ok(None);
        }
        let values: Vec<&Value> = arguments.iter().chain([receiver]).collect();
        Ok(self.unknown_of(&values))
    }

    /// Calls a function whose arguments may be unknown.
    #[inline(never)]
    pub(crate) fn call_with_unknown(
        &mut self,
        native: &'static NativeFunction,
        call: CallArguments<'_>,
    ) -> EvalResult {
        let name = native.name();
        let is_given = call.arguments.iter().any(Value::has_unknown);
        if is_given && !native.is_of_host() && !HANDS_ON.contains(&name) {
            let arguments: Vec<&Value> = call.arguments.iter().collect();
            let Some(block) = call.block else {
                return Ok(self.unknown_of(&arguments).unwrap_or_default());
            };
            let is_first = call.get(0).is_unknown();
            if is_first && ITERATIONS.contains(&name) {
                return self.iterate_once(&call, block);
            }
            if is_first || !CALLS_ALWAYS.contains(&name) {
                self.depends_on(&arguments);
            }
        }
        let decides = !(native.is_of_host() || CALLS_ALWAYS.contains(&name));
        let outer = std::mem::replace(&mut self.block_decides, decides);
        let result = native.dispatch(self, call);
        self.block_decides = outer;
        result
    }

    /// Calls the block once with an unknown element, since the number of elements is unknown.
    fn iterate_once(&mut self, call: &CallArguments<'_>, block: &CodeBlock) -> EvalResult {
        let how = "with what is done for one element; there may be none or more";
        self.goes_on(call.cx, call.at, call.get(0), how)?;
        let arguments: Vec<&Value> = call.arguments.iter().collect();
        let element = self.unknown_of(&arguments).unwrap_or_default();
        let count = block.arity().0.max(1);
        let count = block.arity().1.map_or(count, |most| count.min(most));
        let result = self.call_block_with(block, vec![element.clone(); count]);
        match result {
            Ok(value) => Ok(self.unknown_of(&[&element, &value]).unwrap_or_default()),
            Err(unwind) if matches!(*unwind, EvalUnwind::Break(_)) => Ok(element),
            Err(unwind) => Err(unwind),
        }
    }
}

/// The message of an error, taken from its `Error` value if it carries one.
fn words(error: &EvalError) -> String {
    let payload = error.payload.as_ref().and_then(Value::as_object);
    let msg = payload.and_then(|payload| payload.attribute("msg"));
    msg.map_or_else(|| error.message.clone(), |msg| msg.to_string())
}
