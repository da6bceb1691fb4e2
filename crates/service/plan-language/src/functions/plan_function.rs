//! A function of plans and its implementation: [`PlanFunction`].

use evaluator::function::{CallArguments, FunctionSpec, NativeFunction};
use evaluator::{EvalResult, Evaluator};

use crate::host::PlanHost;

/// The implementation of a function.
pub(crate) type PlanFunctionBody =
    fn(&PlanHost<'_>, &mut Evaluator<'_>, CallArguments<'_>) -> EvalResult;

/// A function of plans.
pub(crate) struct PlanFunction {
    pub(crate) native: NativeFunction,
    pub(crate) run: PlanFunctionBody,
}

/// Functions with their implementations.
pub(super) type PlanFunctionGroup = &'static [(FunctionSpec, PlanFunctionBody)];
