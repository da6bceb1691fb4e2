//! A host for tests: code in memory, logs in a list. Main functions: [`run`], [`error`].

use std::cell::RefCell;

use evaluator::{
    CodeMap, CodeSource, EvalError, EvaluationHost, EvaluationLimits, Evaluator, LogLevel,
    ParseCache, SourceLocation,
};

#[derive(Default)]
pub(crate) struct World {
    pub(crate) code: CodeMap,
    pub(crate) logged: RefCell<Vec<(LogLevel, String)>>,
}

impl EvaluationHost for World {
    fn code(&self) -> &dyn CodeSource {
        &self.code
    }

    fn log(&self, level: LogLevel, message: &str, _: &SourceLocation) {
        self.logged.borrow_mut().push((level, message.to_owned()));
    }
}

/// An evaluator with a host that lives as long as the test program, so that a test can pass the
/// evaluator on.
pub(crate) fn evaluator(code: CodeMap) -> (&'static World, Evaluator<'static>) {
    let world: &World = Box::leak(Box::new(World {
        code,
        logged: RefCell::default(),
    }));
    let evaluator = Evaluator::new(world, EvaluationLimits::default(), ParseCache::new());
    (world, evaluator)
}

/// The value of a program, as a program writes it, or its error.
pub(crate) fn run(code: CodeMap, program: &str) -> Result<String, EvalError> {
    let (_, mut evaluator) = evaluator(code);
    match evaluator.evaluate(program, Some("case.pp")) {
        Ok(value) => Ok(value.to_program_string()),
        Err(unwind) => Err(unwind.into_error().expect("nothing interrupts here")),
    }
}

#[track_caller]
pub(crate) fn value(program: &str) -> String {
    match run(CodeMap::new(), program) {
        Ok(value) => value,
        Err(error) => panic!("{program}\n{error}"),
    }
}

/// The error of a program, with its location.
#[track_caller]
pub(crate) fn error(program: &str) -> String {
    failure(program).to_string()
}

#[track_caller]
pub(crate) fn failure(program: &str) -> EvalError {
    match run(CodeMap::new(), program) {
        Ok(value) => panic!("{program}\ngave {value}"),
        Err(error) => error,
    }
}

/// Checks pairs of a program and its expected result.
#[track_caller]
pub(crate) fn all(cases: &[(&str, &str)]) {
    for (program, expected) in cases {
        assert_eq!(value(program), *expected, "{program}");
    }
}
