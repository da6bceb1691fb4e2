//! How fast blocks are called: 10^6 integers through map, filter and reduce.
//! `cargo run --release -p evaluator --example iterate`.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::time::Instant;

use evaluator::{CodeMap, CodeSource, Evaluator, Host, Level, Limits, Parsed, Place};

const PROGRAM: &str = "Integer[1, 1000000]
  .map |$x| { $x * 2 }
  .filter |$x| { $x % 3 == 0 }
  .reduce |$sum, $x| { $sum + $x }";

/// A host with nothing in it.
struct Nothing(CodeMap);

impl Host for Nothing {
    fn code(&self) -> &dyn CodeSource {
        &self.0
    }

    fn log(&self, _: Level, _: &str, _: &Place) {}
}

fn main() {
    for _ in 0..5 {
        let host = Nothing(CodeMap::new());
        let mut evaluator = Evaluator::new(&host, Limits::default(), Parsed::new());
        let start = Instant::now();
        let result = evaluator.evaluate(PROGRAM, None);
        let elapsed = start.elapsed();
        match result {
            Ok(value) => println!("{value} in {} ms", elapsed.as_millis()),
            Err(unwind) => println!("{unwind:?}"),
        }
    }
}
