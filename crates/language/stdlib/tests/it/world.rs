//! A host with stdlib, facts, files in memory, a constant clock and repeatable randomness.

use std::cell::RefCell;

use evaluator::function::NativeFunction;
use evaluator::{
    CodeMap, CodeSource, EvalError, EvalResult, EvaluationHost, EvaluationLimits, Evaluator,
    LogLevel, ParseCache, SourceLocation,
};
use pcore::{PuppetTimestamp, Type, Value};

#[derive(Default)]
pub(crate) struct World {
    pub(crate) code: CodeMap,
    pub(crate) logged: RefCell<Vec<(LogLevel, String)>>,
}

impl EvaluationHost for World {
    fn code(&self) -> &dyn CodeSource {
        &self.code
    }

    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        stdlib::function(name)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        stdlib::named_type(name)
    }

    fn log(&self, level: LogLevel, message: &str, _: &SourceLocation) {
        self.logged.borrow_mut().push((level, message.to_owned()));
    }

    fn now(&self) -> EvalResult<PuppetTimestamp> {
        let nanos = 1_700_000_000_500_000_000;
        PuppetTimestamp::from_nanos(nanos)
            .ok_or_else(|| EvalError::without_location("no time").into())
    }

    fn random(&self) -> EvalResult<[u8; 16]> {
        Ok(*b"0123456789abcdef")
    }
}

/// The result of a program in this world, in the notation of the language.
pub(crate) fn run(world: &World, program: &str) -> Result<String, String> {
    run_within(world, EvaluationLimits::default(), program)
}

pub(crate) fn run_within(
    world: &World,
    limits: EvaluationLimits,
    program: &str,
) -> Result<String, String> {
    let facts = r#"{"networking": {"fqdn": "web1.example.com",
        "interfaces": {"eth0": {"ip": "10.0.0.1", "mac": "00:11:22:33:44:55", "network": "10.0.0.0"}}},
        "os": {"name": "Debian", "release": {"major": "12"}}, "list": ["a"]}"#;
    let facts = Value::from_json(&serde_json::from_str(facts).expect("it is JSON"));
    let mut evaluator = Evaluator::new(world, limits, ParseCache::new());
    evaluator.set_global("facts", facts);
    match evaluator.evaluate(program, None) {
        Ok(value) => Ok(value.to_program_string()),
        Err(unwind) => {
            let error = unwind.into_error().expect("nothing interrupts here");
            let text = error.message;
            let front = "Evaluation Error: Error while evaluating a Function Call, ";
            Err(text.strip_prefix(front).unwrap_or(&text).to_owned())
        }
    }
}

#[track_caller]
pub(crate) fn value(program: &str) -> String {
    run(&World::default(), program).unwrap_or_else(|error| panic!("{program}\n{error}"))
}

#[track_caller]
pub(crate) fn error(program: &str) -> String {
    match run(&World::default(), program) {
        Ok(value) => panic!("{program}\ngave {value}"),
        Err(error) => error,
    }
}
