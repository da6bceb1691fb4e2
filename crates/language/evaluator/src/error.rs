//! Errors and jumps that end an evaluation early. Main types: [`EvalUnwind`], [`EvalError`].
//!
//! Invariant: an error gets its source location once, from the innermost expression that has one,
//! and the text before that location is Puppet's.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pcore::Value;

/// Result of an evaluation. The error is boxed to one machine word, so that values stay cheap to
/// return.
pub type EvalResult<T = Value> = Result<T, Box<EvalUnwind>>;

/// Reason for leaving an expression without a value.
#[derive(Debug)]
pub enum EvalUnwind {
    /// An error in the program or its input.
    Error(EvalError),
    /// `next(value)`: the innermost block or function has its value.
    Next(ControlJump),
    /// `return(value)`: the enclosing function or plan has its value.
    Return(ControlJump),
    /// `break()`: the enclosing iteration ends.
    Break(ControlJump),
    /// The host ends the evaluation without a result. Nothing in the language catches this; the
    /// payload is opaque to the evaluator.
    Interrupted(HostInterrupt),
}

/// Payload that a host passes through an evaluation that it interrupts.
pub struct HostInterrupt(pub Box<dyn Any + Send>);

impl fmt::Debug for HostInterrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

/// Value of a `next`, `return` or `break`, with the location of that call.
#[derive(Debug, Clone)]
pub struct ControlJump {
    pub value: Value,
    pub location: SourceLocation,
}

/// File, line and column in a source text. Lines and columns count from 1; 0 is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceLocation {
    pub file: Option<Arc<str>>,
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    /// Puppet's format, `(file: a.pp, line: 1, column: 2)`, without the unknown parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(file) = &self.file {
            parts.push(format!("file: {file}"));
        }
        if self.line > 0 {
            parts.push(format!("line: {}", self.line));
            if self.column > 0 {
                parts.push(format!("column: {}", self.column));
            }
        }
        if parts.is_empty() {
            Ok(())
        } else {
            write!(f, "({})", parts.join(", "))
        }
    }
}

/// An error of the program, with Puppet's text.
#[derive(Debug, Clone)]
pub struct EvalError {
    /// Puppet's issue code, such as `UNKNOWN_VARIABLE`.
    pub code: &'static str,
    /// The text, without the location.
    pub message: String,
    /// Location of the error; `None` until an enclosing expression sets it.
    pub location: Option<SourceLocation>,
    /// Suggestions: similar names, a different way to write it.
    pub hints: Vec<String>,
    /// Value attached by the host, for example the `Error` of a failed plan function.
    pub payload: Option<Value>,
}

/// Code of errors raised by functions and conversions.
pub const RUNTIME_ERROR: &str = "RUNTIME_ERROR";
/// Code of errors for a limit that was reached.
pub const BUDGET_EXHAUSTED: &str = "BUDGET_EXHAUSTED";

impl EvalError {
    /// An error without a location. The enclosing expression adds its location and a prefix such as
    /// `Error while evaluating a Function Call, `.
    pub fn without_location(message: impl Into<String>) -> Self {
        Self {
            code: RUNTIME_ERROR,
            message: message.into(),
            location: None,
            hints: Vec::new(),
            payload: None,
        }
    }

    /// An error with its own code and location.
    pub fn with_location(
        code: &'static str,
        message: impl fmt::Display,
        place: SourceLocation,
    ) -> Self {
        Self {
            code,
            message: format!("Evaluation Error: {message}"),
            location: Some(place),
            hints: Vec::new(),
            payload: None,
        }
    }

    /// An error whose message is already complete: no prefix is added.
    pub fn preformatted(
        code: &'static str,
        message: impl Into<String>,
        place: SourceLocation,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            location: Some(place),
            hints: Vec::new(),
            payload: None,
        }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn with_payload(mut self, payload: Value) -> Self {
        self.payload = Some(payload);
        self
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.location.as_ref().map(ToString::to_string) {
            Some(place) if !place.is_empty() => write!(f, " {place}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for EvalError {}

impl From<EvalError> for Box<EvalUnwind> {
    #[cold]
    fn from(error: EvalError) -> Self {
        Box::new(EvalUnwind::Error(error))
    }
}

/// Returns an error without a location as the result of a function.
#[cold]
pub fn raise<T>(message: impl Into<String>) -> EvalResult<T> {
    Err(EvalError::without_location(message).into())
}

impl EvalUnwind {
    /// Converts to the error that the caller of the evaluation sees: an uncaught jump is an error.
    /// Returns an interruption as `Err`.
    pub fn into_error(self) -> Result<EvalError, HostInterrupt> {
        match self {
            Self::Error(error) => Ok(error),
            Self::Next(jump) => Ok(illegal_jump("next", jump.location)),
            Self::Return(jump) => Ok(illegal_jump("return", jump.location)),
            Self::Break(jump) => Ok(illegal_jump("break", jump.location)),
            Self::Interrupted(interrupt) => Err(interrupt),
        }
    }
}

/// Error for an uncaught jump. Puppet reports only the line of such a call, not the column.
fn illegal_jump(name: &str, place: SourceLocation) -> EvalError {
    EvalError::preformatted(
        "ILLEGAL_JUMP",
        format!("{name}() from context where this is illegal"),
        SourceLocation { column: 0, ..place },
    )
}
