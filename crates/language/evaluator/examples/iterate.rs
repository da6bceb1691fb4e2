//! Measures the speed of calls of blocks: 10^6 integers through map, filter and reduce. `cargo run
//! --release -p evaluator --example iterate [-- --smallest]`, which takes 1,000.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::time::Instant;

use evaluator::{
    CodeMap, CodeSource, EvaluationHost, EvaluationLimits, Evaluator, LogLevel, ParseCache,
    SourceLocation,
};

const INTEGERS: u32 = 1_000_000;
const INTEGERS_SMALLEST: u32 = 1_000;

const PROGRAM: &str = "
  .map |$x| { $x * 2 }
  .filter |$x| { $x % 3 == 0 }
  .reduce |$sum, $x| { $sum + $x }";

/// A host without functions, data or files.
struct Nothing(CodeMap);

impl EvaluationHost for Nothing {
    fn code(&self) -> &dyn CodeSource {
        &self.0
    }

    fn log(&self, _: LogLevel, _: &str, _: &SourceLocation) {}
}

fn main() {
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let integers = if is_smallest {
        INTEGERS_SMALLEST
    } else {
        INTEGERS
    };
    let program = format!("Integer[1, {integers}]{PROGRAM}");
    for _ in 0..5 {
        let host = Nothing(CodeMap::new());
        let mut evaluator = Evaluator::new(&host, EvaluationLimits::default(), ParseCache::new());
        let start = Instant::now();
        let result = evaluator.evaluate(&program, None);
        let elapsed = start.elapsed();
        match result {
            Ok(value) => println!("{value} in {} ms", elapsed.as_millis()),
            Err(unwind) => {
                println!("{unwind:?}");
                std::process::exit(1);
            }
        }
    }
}
