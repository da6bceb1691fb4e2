//! Evaluates programs in the form that tests/conformance/ruby/evaluate.rb uses, to look at
//! differences by hand: `cargo run -p evaluator --example answers < programs.json`.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::io::Read;

use evaluator::{
    CodeMap, CodeSource, EvaluationHost, EvaluationLimits, Evaluator, LogLevel, ParseCache,
    SourceLocation,
};
use pcore::Type;
use serde_json::{Value as Json, json};

/// A host without functions, data or files.
struct Nothing(CodeMap);

impl EvaluationHost for Nothing {
    fn code(&self) -> &dyn CodeSource {
        &self.0
    }

    fn log(&self, _: LogLevel, _: &str, _: &SourceLocation) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let programs: Vec<String> = serde_json::from_str::<Json>(&text)?
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect();
    for program in programs {
        println!("{}", answer(&program));
    }
    Ok(())
}

fn answer(program: &str) -> Json {
    let host = Nothing(CodeMap::new());
    let mut evaluator = Evaluator::new(&host, EvaluationLimits::default(), ParseCache::new());
    match evaluator.evaluate(program, Some("/case.pp")) {
        Ok(value) => json!({
            "value": value.to_program_string(),
            "type": Type::infer_detailed(&value).to_string(),
        }),
        Err(unwind) => match unwind.into_error() {
            Ok(error) => {
                let place = error.location.unwrap_or_default();
                json!({
                    "error": error.message,
                    "code": error.code,
                    "line": place.line,
                    "column": place.column,
                })
            }
            Err(_) => json!({ "error": "interrupted" }),
        },
    }
}
