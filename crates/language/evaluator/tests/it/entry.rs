//! Evaluation of arbitrary text as a program with a small budget; fuzzing and property tests run
//! the same function.
//!
//! Invariant: no panic; an evaluation ends; a second evaluation has the same result.

use std::cell::RefCell;

use evaluator::{
    CodeMap, CodeSource, EvaluationHost, EvaluationLimits, Evaluator, LogLevel, ParseCache,
    SourceLocation,
};

/// Enough for some thousand iterations, and small enough for some hundred programs a second.
const LIMITS: EvaluationLimits = EvaluationLimits {
    steps_max: 10_000,
    bytes_max: 4 << 20,
    value_bytes_max: 256 << 10,
    calls_max: 40,
    stack_bytes: 512 << 10,
    shared: None,
};

#[derive(Default)]
struct World {
    code: CodeMap,
    logged: RefCell<Vec<(LogLevel, String)>>,
}

impl EvaluationHost for World {
    fn code(&self) -> &dyn CodeSource {
        &self.code
    }

    fn log(&self, level: LogLevel, message: &str, _: &SourceLocation) {
        self.logged.borrow_mut().push((level, message.to_owned()));
    }
}

pub(crate) fn program(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let first = evaluated(&text);
    assert_eq!(first, evaluated(&text), "{text}");
}

fn evaluated(text: &str) -> (Result<String, String>, Vec<(LogLevel, String)>) {
    let world = World::default();
    let mut evaluator = Evaluator::new(&world, LIMITS, ParseCache::new());
    let value = match evaluator.evaluate(text, Some("case.pp")) {
        Ok(value) => Ok(value.to_program_string()),
        Err(unwind) => Err(unwind
            .into_error()
            .map_or_else(|_| "interrupted".to_owned(), |error| error.to_string())),
    };
    drop(evaluator);
    (value, world.logged.into_inner())
}
