//! Values that become text: interpolated strings, heredocs, templates.

use std::fmt::{self, Write};

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::budget::ExhaustedLimit;
use crate::code::{ApplyNode, NodeId};
use crate::error::{EvalError, EvalResult};
use crate::host::ApplyBlock;
use crate::variable_scope::VariableScope;
use crate::{heredoc_syntax, ruby};

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn interpolate(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        pieces: &[NodeId],
    ) -> EvalResult {
        let mut text = String::new();
        let mut unknown = Vec::new();
        for piece in pieces {
            match self.eval(cx, *piece)? {
                Value::Str(piece) => self.append(cx, at, &mut text, &piece)?,
                other => {
                    let piece = self.to_text(&other)?;
                    self.append(cx, at, &mut text, &piece)?;
                    if self.looks_ahead {
                        unknown.push(other);
                    }
                }
            }
        }
        let unknown: Vec<&Value> = unknown.iter().collect();
        let unknown = self.unknown_text(&unknown, Some(&text));
        Ok(unknown.unwrap_or_else(|| Value::Str(text.into())))
    }

    fn append(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        text: &mut String,
        piece: &str,
    ) -> EvalResult<()> {
        self.charge_text(cx, at, piece.len())?;
        if (text.len() + piece.len()) as u64 > self.budget.limits().value_bytes_max {
            return Err(self.fail_exhausted(cx, at, &ExhaustedLimit::ValueBytes));
        }
        text.push_str(piece);
        Ok(())
    }

    /// The text of a value in an interpolation, within the limits of one value.
    pub(crate) fn to_text(&self, value: &Value) -> EvalResult<String> {
        if let Value::Int(number) = value {
            return Ok(number.to_string());
        }
        let mut bounded = BoundedInterpolation {
            text: String::new(),
            bytes_max: usize::try_from(self.budget.limits().value_bytes_max).unwrap_or(usize::MAX),
        };
        if ruby::interpolate(value, &mut bounded).is_err() {
            return Err(self.exhausted_error(&ExhaustedLimit::ValueBytes));
        }
        Ok(bounded.text)
    }

    #[inline(never)]
    pub(super) fn heredoc(&mut self, cx: EvalContext<'_>, id: NodeId, syntax: &str) -> EvalResult {
        let value = self.eval(cx, id)?;
        if let Value::Str(text) = &value
            && let Err(detail) = heredoc_syntax::check(syntax, text)
        {
            let place = cx.unit.location_at(cx.unit.node(id).at);
            return Err(EvalError::preformatted("ILLEGAL_JSON", detail, place).into());
        }
        Ok(value)
    }

    /// Evaluates the body of a template to its output, which is Sensitive if any part of it was.
    #[inline(never)]
    pub(super) fn template(&mut self, cx: EvalContext<'_>, body: NodeId) -> EvalResult {
        self.rendered.push(Vec::new());
        let result = self.eval(cx, body);
        let pieces = self.rendered.pop().unwrap_or_default();
        result?;
        let mut text = String::new();
        let mut is_sensitive = false;
        for piece in &pieces {
            match piece {
                Value::Str(piece) => text.push_str(piece),
                Value::Sensitive(inner) => {
                    is_sensitive = true;
                    text.push_str(&self.to_text(inner)?);
                }
                other => text.push_str(&self.to_text(other)?),
            }
        }
        self.charge_bytes(text.len())?;
        let pieces: Vec<&Value> = pieces.iter().collect();
        let unknown = self.unknown_text(&pieces, Some(&text));
        let text = unknown.unwrap_or_else(|| Value::Str(text.into()));
        Ok(if is_sensitive {
            Value::sensitive(text)
        } else {
            text
        })
    }

    pub(super) fn render(&mut self, piece: Value) -> EvalResult {
        if let Some(pieces) = self.rendered.last_mut() {
            pieces.push(piece);
        }
        Ok(Value::Undef)
    }

    #[inline(never)]
    pub(super) fn render_value(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        inner: NodeId,
    ) -> EvalResult {
        let value = self.eval(cx, inner)?;
        let piece = match value {
            Value::Str(_) | Value::Sensitive(_) => value,
            other if self.looks_ahead && other.has_unknown() => other,
            other => {
                let text = self.to_text(&other)?;
                self.charge_text(cx, at, text.len())?;
                Value::Str(text.into())
            }
        };
        self.render(piece)
    }

    #[inline(never)]
    pub(super) fn apply(&mut self, cx: EvalContext<'_>, at: u32, apply: &ApplyNode) -> EvalResult {
        let arguments = self.unfold(cx, &apply.arguments)?;
        let host = self.host;
        host.apply(
            self,
            ApplyBlock {
                arguments,
                ast: &cx.unit.ast,
                expression: apply.expression,
                scope: VariableScope::new(cx.frame.cloned()),
                location: cx.unit.location_at(at),
            },
        )
    }
}

/// Text buffer with a maximum size: lists that share their elements may print much larger than they
/// are in memory.
struct BoundedInterpolation {
    text: String,
    bytes_max: usize,
}

impl Write for BoundedInterpolation {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > self.bytes_max {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}
