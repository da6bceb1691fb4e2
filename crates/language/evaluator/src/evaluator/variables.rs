//! Reading variables.

use std::rc::Rc;

use pcore::Value;

use super::closure::PARAMETER_NOT_READY;
use super::{EvalContext, Evaluator};
use crate::code::VariableNode;
use crate::error::{EvalError, EvalResult};
use crate::frame::VariableFrame;
use crate::suggest;

impl Evaluator<'_> {
    #[inline]
    pub(super) fn variable(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        variable: &VariableNode,
    ) -> EvalResult {
        if let Some(frame) = cx.frame {
            for slot in &variable.slots {
                if let Some(value) = frame.ancestor(slot.up).and_then(|it| it.get(slot.index)) {
                    return Ok(value);
                }
                if let Some(default) = &variable.default_of {
                    let text = if default.is_earlier {
                        format!(
                            "{}: expects a value for parameter ${}",
                            default.callee, variable.name
                        )
                    } else {
                        format!(
                            "{}: default expression for ${} tries to illegally access not yet evaluated ${}",
                            default.callee, default.parameter, variable.name
                        )
                    };
                    let place = cx.unit.location_at(at);
                    let error = EvalError::preformatted(PARAMETER_NOT_READY, text, place);
                    return Err(error.into());
                }
            }
        }
        if variable.is_qualified {
            return self.qualified_variable(cx, at, &variable.name);
        }
        self.outer_variable(cx, at, &variable.name)
    }

    /// Reads a variable by its namespace and name, which no frame has.
    #[inline(never)]
    fn qualified_variable(&mut self, cx: EvalContext<'_>, at: u32, name: &str) -> EvalResult {
        match self.variable_from(None, name) {
            Some(result) => result,
            None => Err(self.unknown_variable(cx, at, name)),
        }
    }

    /// Reads a variable none of whose slots is set.
    #[inline(never)]
    fn outer_variable(&mut self, cx: EvalContext<'_>, at: u32, name: &str) -> EvalResult {
        match self.lookup_variable(cx, name) {
            Some(result) => result,
            None => Err(self.unknown_variable(cx, at, name)),
        }
    }

    /// Value of a variable by its name; `None` if it is unknown to the program and the host.
    pub(crate) fn lookup_variable(&self, cx: EvalContext<'_>, name: &str) -> Option<EvalResult> {
        self.variable_from(cx.frame, name)
    }

    /// Value of a variable as seen from a frame.
    pub(crate) fn variable_from(
        &self,
        frame: Option<&Rc<VariableFrame>>,
        name: &str,
    ) -> Option<EvalResult> {
        let global = name.strip_prefix("::");
        if global.is_none()
            && let Some(value) = frame.and_then(|frame| frame.lookup(name))
        {
            return Some(Ok(value));
        }
        let name = global.unwrap_or(name);
        if let Some(value) = self.shared.globals.get(name) {
            return Some(Ok(value));
        }
        if let Some(answer) = self.host.variable(name) {
            return Some(answer);
        }
        matches!(name, "module_name" | "caller_module_name").then_some(Ok(Value::Undef))
    }

    #[cold]
    fn unknown_variable(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        name: &str,
    ) -> Box<crate::error::EvalUnwind> {
        let mut known = cx.frame.map(|frame| frame.names()).unwrap_or_default();
        known.extend(self.shared.globals.names());
        let mut error = crate::error::EvalError::with_location(
            "UNKNOWN_VARIABLE",
            format!("Unknown variable: '{name}'."),
            cx.unit.location_at(at),
        );
        if let Some(similar) = suggest::similar(name, known.iter().map(AsRef::as_ref)) {
            error = error.with_hint(format!("did you mean '${similar}'?"));
        }
        error.into()
    }
}
