//! What ends an evaluation before it has a value. Main types: [`Unwind`], [`EvalError`].
//!
//! The rule that must hold: an error gets its place once, at the innermost expression that knows one,
//! and the text in front of that place is the one that Puppet writes.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pcore::Value;

/// The result of everything that evaluates. The error is one word, so that values stay cheap to return.
pub type Eval<T = Value> = Result<T, Box<Unwind>>;

/// Why an evaluation left the expression it was in.
#[derive(Debug)]
pub enum Unwind {
    /// A mistake in the program or in what it was given.
    Error(EvalError),
    /// `next(value)`: the innermost block or function has its value.
    Next(Jump),
    /// `return(value)`: the enclosing function or plan has its value.
    Return(Jump),
    /// `break()`: the enclosing iteration ends.
    Break(Jump),
    /// The host wants the evaluation to end without an answer. Nothing in the language catches it; what
    /// it carries is the host's business.
    Interrupted(Interrupt),
}

/// What a host sends through an evaluation that it interrupts.
pub struct Interrupt(pub Box<dyn Any + Send>);

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

/// A jump on its way to where it is caught, with the place where it was asked for.
#[derive(Debug, Clone)]
pub struct Jump {
    pub value: Value,
    pub place: SourceLocation,
}

/// Where something stands in a source text. Lines and columns count from 1; 0 is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceLocation {
    pub file: Option<Arc<str>>,
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    /// Puppet's form, `(file: a.pp, line: 1, column: 2)`, without what is unknown.
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

/// A mistake, in Puppet's words.
#[derive(Debug, Clone)]
pub struct EvalError {
    /// Puppet's issue code, such as `UNKNOWN_VARIABLE`.
    pub code: &'static str,
    /// The text, without the place.
    pub message: String,
    /// Where it was met; `None` as long as no expression has taken it for its own.
    pub place: Option<SourceLocation>,
    /// What may help: similar names, what to write instead.
    pub hints: Vec<String>,
    /// What a host attached: the `Error` value of a failed plan function, for instance.
    pub payload: Option<Value>,
}

/// The code of errors that come out of functions and conversions.
pub const RUNTIME_ERROR: &str = "RUNTIME_ERROR";
/// The code of errors that say that a limit was reached.
pub const BUDGET_EXHAUSTED: &str = "BUDGET_EXHAUSTED";

impl EvalError {
    /// An error that does not know its place yet. The expression that meets it puts
    /// `Error while evaluating a Function Call, ` or the like in front of it.
    pub fn raw(message: impl Into<String>) -> Self {
        Self {
            code: RUNTIME_ERROR,
            message: message.into(),
            place: None,
            hints: Vec::new(),
            payload: None,
        }
    }

    /// An error with its own code that is found at a place.
    pub fn at(code: &'static str, message: impl fmt::Display, place: SourceLocation) -> Self {
        Self {
            code,
            message: format!("Evaluation Error: {message}"),
            place: Some(place),
            hints: Vec::new(),
            payload: None,
        }
    }

    /// An error that already has the text it is shown with.
    pub fn preformatted(
        code: &'static str,
        message: impl Into<String>,
        place: SourceLocation,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            place: Some(place),
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
        match self.place.as_ref().map(ToString::to_string) {
            Some(place) if !place.is_empty() => write!(f, " {place}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for EvalError {}

impl From<EvalError> for Box<Unwind> {
    #[cold]
    fn from(error: EvalError) -> Self {
        Box::new(Unwind::Error(error))
    }
}

/// A raw error as the result of a function.
#[cold]
pub fn raise<T>(message: impl Into<String>) -> Eval<T> {
    Err(EvalError::raw(message).into())
}

impl Unwind {
    /// The error that whoever started the evaluation sees: jumps that nothing caught are mistakes.
    /// `Err` gives an interruption back.
    pub fn into_error(self) -> Result<EvalError, Interrupt> {
        match self {
            Self::Error(error) => Ok(error),
            Self::Next(jump) => Ok(illegal_jump("next", jump.place)),
            Self::Return(jump) => Ok(illegal_jump("return", jump.place)),
            Self::Break(jump) => Ok(illegal_jump("break", jump.place)),
            Self::Interrupted(interrupt) => Err(interrupt),
        }
    }
}

/// Puppet knows only the line of such a call.
fn illegal_jump(name: &str, place: SourceLocation) -> EvalError {
    EvalError::preformatted(
        "ILLEGAL_JUMP",
        format!("{name}() from context where this is illegal"),
        SourceLocation { column: 0, ..place },
    )
}
