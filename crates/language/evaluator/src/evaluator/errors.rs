//! Construction of errors with a location, and charging of the budget.

use std::borrow::Cow;
use std::fmt::Display;

use pcore::Value;
use syntax::ast::EdgeOp;

use super::{EvalContext, Evaluator};
use crate::budget::ExhaustedLimit;
use crate::code::NodeKind;
use crate::defaults::{self, ELEMENT_BYTES};
use crate::error::{BUDGET_EXHAUSTED, EvalError, EvalResult, EvalUnwind};
use crate::label;

impl Evaluator<'_> {
    /// An error with Puppet's code and text, at a location of the program.
    #[cold]
    pub(crate) fn fail(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        code: &'static str,
        text: impl Display,
    ) -> Box<EvalUnwind> {
        EvalError::with_location(code, text, cx.unit.location_at(at)).into()
    }

    #[cold]
    pub(crate) fn fail_exhausted(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        exhausted: &ExhaustedLimit,
    ) -> Box<EvalUnwind> {
        let (text, hint) = self.budget.describe(exhausted);
        EvalError::with_location(BUDGET_EXHAUSTED, text, cx.unit.location_at(at))
            .with_hint(hint)
            .into()
    }

    /// Charges bytes to the budget and to the region of the current call.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<(), ExhaustedLimit> {
        self.budget.spend_bytes(bytes)?;
        self.region.charge(bytes);
        Ok(())
    }

    /// Charges the bytes of a list before it is created.
    pub(crate) fn charge_list(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        elements: usize,
    ) -> EvalResult<()> {
        self.take_bytes(elements as u64 * ELEMENT_BYTES)
            .map_err(|exhausted| self.fail_exhausted(cx, at, &exhausted))
    }

    /// Charges the bytes of a text before it is created.
    pub(crate) fn charge_text(&self, cx: EvalContext<'_>, at: u32, bytes: usize) -> EvalResult<()> {
        self.take_bytes(bytes as u64)
            .map_err(|exhausted| self.fail_exhausted(cx, at, &exhausted))
    }

    /// Charges the bytes and steps of a list that a function creates.
    pub fn charge(&self, elements: usize) -> EvalResult<()> {
        self.budget
            .spend_steps(elements as u64)
            .and_then(|()| self.take_bytes(elements as u64 * ELEMENT_BYTES))
            .map_err(|exhausted| self.exhausted_error(&exhausted))
    }

    /// Charges the bytes and the step of one more element.
    #[inline]
    pub fn charge_element(&self) -> EvalResult<()> {
        self.charge(1)
    }

    /// Refuses a text that is larger than a value may be.
    pub fn check_size(&self, bytes: usize) -> EvalResult<()> {
        if bytes as u64 > self.budget.limits().value_bytes_max {
            return Err(self.exhausted_error(&ExhaustedLimit::ValueBytes));
        }
        Ok(())
    }

    /// Charges the bytes of a text that a function creates, and refuses it if it is larger than a
    /// value may be.
    pub fn charge_bytes(&self, bytes: usize) -> EvalResult<()> {
        self.check_size(bytes)?;
        self.take_bytes(bytes as u64)
            .map_err(|exhausted| self.exhausted_error(&exhausted))
    }

    /// Error for a limit reached inside a function; the call adds its location.
    #[cold]
    pub(crate) fn exhausted_error(&self, exhausted: &ExhaustedLimit) -> Box<EvalUnwind> {
        let (text, hint) = self.budget.describe(exhausted);
        let mut error = EvalError::without_location(text).with_hint(hint);
        error.code = BUDGET_EXHAUSTED;
        error.into()
    }

    /// Refuses a value that is nested too deeply.
    pub(crate) fn check_nesting(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        value: &Value,
    ) -> EvalResult<()> {
        match self.shared.nesting.is_allowed(value) {
            true => Ok(()),
            false => Err(self.fail(cx, at, BUDGET_EXHAUSTED, nesting_message())),
        }
    }

    /// The same for the result of a function; the call adds its location.
    pub(crate) fn check_result(&self, result: Value) -> EvalResult {
        match self.shared.nesting.is_allowed(&result) {
            true => Ok(result),
            false => {
                let mut error = EvalError::without_location(nesting_message());
                error.code = BUDGET_EXHAUSTED;
                Err(error.into())
            }
        }
    }
}

fn nesting_message() -> String {
    format!(
        "lists and hashes are more than {} deep inside each other",
        defaults::NESTING_MAX
    )
}

/// Label of an expression in error texts.
pub(crate) fn node_label(kind: &NodeKind) -> Cow<'static, str> {
    Cow::Borrowed(match kind {
        NodeKind::Const(value) => return Cow::Owned(label::value_label(value)),
        NodeKind::Nop => "Nop Expression",
        NodeKind::Parenthesized(_) => "Parenthesized Expression",
        NodeKind::Interpolated(_) => "Double Quoted String",
        NodeKind::Heredoc { syntax, .. } => return Cow::Owned(format!("'@({syntax})' expression")),
        NodeKind::List(_) => "Array Expression",
        NodeKind::Hash(_) => "Hash Expression",
        NodeKind::Variable(_) | NodeKind::Group(_) => "Variable",
        NodeKind::Assign { .. } => "'=' expression",
        NodeKind::Arithmetic { operator, .. } | NodeKind::Compare { operator, .. } => {
            return Cow::Owned(label::operator_label(operator.text()));
        }
        NodeKind::Match { negated: false, .. } => "'=~' expression",
        NodeKind::Match { negated: true, .. } => "'!~' expression",
        NodeKind::In { .. } => "'in' expression",
        NodeKind::And { .. } => "'and' expression",
        NodeKind::Or { .. } => "'or' expression",
        NodeKind::Not(_) => "'not' expression",
        NodeKind::Minus(_) => "Unary Minus",
        NodeKind::Splat(_) => "Unfold",
        NodeKind::Access { .. } => "'[]' expression",
        NodeKind::If { .. } => "'if' statement",
        NodeKind::Unless { .. } => "'unless' Statement",
        NodeKind::Case(_) => "'case' statement",
        NodeKind::Selector(_) => "Selector Expression",
        NodeKind::Block(_) => "Block Expression",
        NodeKind::Call(_) | NodeKind::Construct(_) => "Function Call",
        NodeKind::Method(_) => "Method call",
        NodeKind::TypeName(_) => "Type-Name",
        NodeKind::Epp(_) => "Epp Template",
        NodeKind::RenderText(_) => "Epp Text",
        NodeKind::Render(_) => "Epp Interpolated Expression",
        NodeKind::Apply(_) => "'apply' expression",
        NodeKind::Resource(_) => "Resource Statement",
        NodeKind::ResourceDefaults(_) => "Resource Defaults Expression",
        NodeKind::ResourceOverride(_) => "Resource Override",
        NodeKind::Collector(collector) if collector.is_exported => "Exported Query",
        NodeKind::Collector(_) => "Virtual Query",
        NodeKind::Relationship(chain) => {
            let outermost = chain.rest.last().map_or(EdgeOp::Before, |it| it.operator);
            return Cow::Owned(label::operator_label(outermost.text()));
        }
        NodeKind::Reserved(word) => return Cow::Owned(format!("Reserved Word '{word}'")),
        NodeKind::Illegal(_) => "Expression",
    })
}
