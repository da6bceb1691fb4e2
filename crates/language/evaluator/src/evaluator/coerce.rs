//! Checks that operands are numbers; for a numeric string the error names its number.

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::code::NodeId;
use crate::error::EvalResult;
use crate::{numbers, ruby};

impl Evaluator<'_> {
    /// Checks that an operand is a number. The error has the location of `id`.
    pub(super) fn numeric(&self, cx: EvalContext<'_>, id: NodeId, value: Value) -> EvalResult {
        match value {
            Value::Int(_)
            | Value::Float(_)
            | Value::Timespan(_)
            | Value::Timestamp(_)
            | Value::SemVer(_) => Ok(value),
            other => Err(self.not_a_number_error(cx, cx.unit.node(id).at, &other)),
        }
    }

    #[cold]
    pub(super) fn not_a_number_error(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        value: &Value,
    ) -> Box<crate::error::EvalUnwind> {
        let number = value.as_str().and_then(numbers::parse);
        match number {
            Some(number) => self.fail(
                cx,
                at,
                "NUMERIC_COERCION",
                format!(
                    "The string '{}' was automatically coerced to the numerical value {}",
                    ruby::to_s(value),
                    ruby::to_s(&number)
                ),
            ),
            None => self.fail(
                cx,
                at,
                "NOT_NUMERIC",
                format!(
                    "The value '{}' cannot be converted to Numeric.",
                    ruby::to_s(value)
                ),
            ),
        }
    }
}
