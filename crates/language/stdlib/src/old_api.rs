//! Functions of Puppet's former interface (`newfunction`): they accept any arguments and check them
//! themselves. Main type: [`OldCall`]; [`old_functions`] makes a table of them.
//!
//! Invariant: arguments are converted as Puppet does it for these functions, so an `undef` among
//! them is an empty text, and a pattern or a time its text.

use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{EvalResult, Evaluator, LogLevel, SourceLocation, raise, ruby};
use pcore::{Hash, Value};

/// The arguments of a call.
pub(crate) struct OldCall {
    pub(crate) arguments: Vec<Value>,
    pub(crate) location: SourceLocation,
}

/// Makes a table of such functions: a name, and the implementation. If Puppet itself checks the
/// number of arguments, the number follows: `= 2` for exactly two, `>= 1` for at least one.
macro_rules! old_functions {
    ($($name:literal => $run:path $(, = $exactly:literal)? $(, >= $least:literal)?;)+) => {
        &[$(evaluator::function::FunctionSpec::new(
            $name,
            &[evaluator::function::FunctionDispatch::new(
                &[evaluator::function::any("Any", "args")],
                {
                    fn entry(
                        evaluator: &mut evaluator::Evaluator<'_>,
                        call: evaluator::function::CallArguments<'_>,
                    ) -> evaluator::EvalResult {
                        let old = $crate::old_api::OldCall::of(evaluator, call)?;
                        $(old.check_exact_count($name, $exactly)?;)?
                        $(old.check_least_count($name, $least)?;)?
                        $run(evaluator, &old)
                    }
                    entry
                },
            )
            .with_optional_block("")],
        )),+]
    };
}
pub(crate) use old_functions;

impl OldCall {
    pub(crate) fn of(evaluator: &Evaluator<'_>, call: CallArguments<'_>) -> EvalResult<Self> {
        let place = call.location();
        let converted = call.arguments.iter().map(|it| evaluator.old_argument(it));
        Ok(Self {
            location: place,
            arguments: converted.collect::<EvalResult<_>>()?,
        })
    }

    /// Arguments without conversion, for functions behind one of the new interface.
    pub(crate) fn with_sensitive(call: CallArguments<'_>) -> Self {
        Self {
            location: call.location(),
            arguments: call.arguments,
        }
    }

    pub(crate) fn get(&self, index: usize) -> &Value {
        const UNDEF: &Value = &Value::Undef;
        self.arguments.get(index).unwrap_or(UNDEF)
    }

    pub(crate) fn len(&self) -> usize {
        self.arguments.len()
    }

    pub(crate) fn text(&self, index: usize) -> Option<&Arc<str>> {
        match self.get(index) {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self, index: usize) -> Option<&Arc<Vec<Value>>> {
        match self.get(index) {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn hash(&self, index: usize) -> Option<&Arc<Hash>> {
        match self.get(index) {
            Value::Hash(entries) => Some(entries),
            _ => None,
        }
    }

    /// Refuses any other number of arguments, as Puppet does before it runs such a function.
    pub(crate) fn check_exact_count(&self, name: &str, count: usize) -> EvalResult<()> {
        if self.len() == count {
            return Ok(());
        }
        raise(format!(
            "{name}(): Wrong number of arguments given ({} for {count})",
            self.len()
        ))
    }

    pub(crate) fn check_least_count(&self, name: &str, count: usize) -> EvalResult<()> {
        if self.len() >= count {
            return Ok(());
        }
        raise(format!(
            "{name}(): Wrong number of arguments given ({} for minimum {count})",
            self.len()
        ))
    }

    /// The usual refusal of a call without arguments; `wanted` is the noun in the message.
    pub(crate) fn check_any_count(&self, name: &str, wanted: &str) -> EvalResult<()> {
        if self.arguments.is_empty() {
            return raise(format!(
                "{name}(): Wrong number of arguments given (0 for {wanted})"
            ));
        }
        Ok(())
    }

    pub(crate) fn warn(&self, evaluator: &Evaluator<'_>, message: &str) {
        evaluator
            .host()
            .log(LogLevel::Warning, message, &self.location);
    }
}

/// The name of a value's class in Ruby.
pub(crate) fn class_name(value: &Value) -> String {
    ruby::class_name(value)
}
