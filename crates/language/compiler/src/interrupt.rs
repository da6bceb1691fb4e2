//! Ends a compilation from another thread: [`CompileInterrupt`].
//!
//! Invariant: an interrupted compilation gives an error, never a catalog.

use std::sync::OnceLock;

use evaluator::{EvalResult, raise};

use crate::compilation::Compilation;

/// A request to end a compilation, which the compilation reads at regular intervals.
#[derive(Debug, Default)]
pub struct CompileInterrupt {
    reason: OnceLock<String>,
}

impl CompileInterrupt {
    /// Ends the compilation with an error of this text. Only the first reason counts.
    pub fn interrupt(&self, reason: impl Into<String>) {
        let _ = self.reason.set(reason.into());
    }

    /// Reason of the interruption; `None` if there is none.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }
}

impl Compilation<'_> {
    /// Fails if the compilation was interrupted.
    pub(crate) fn check_interrupt(&self) -> EvalResult<()> {
        let interrupt = self.request.interrupt.as_ref();
        match interrupt.and_then(|it| it.reason()) {
            Some(reason) => raise(reason),
            None => Ok(()),
        }
    }
}
