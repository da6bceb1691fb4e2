//! Measures that the time to read a source grows linearly with its size: `parse_shapes
//! [--smallest]`.
//!
//! Each shape is long in one respect only, as real manifests never are and an attacker's may be.

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use syntax::{SourceText, SyntaxOptions};

/// Bytes of the smaller of the two sources that are compared.
const SMALL: usize = 200_000;

/// Bytes of the smaller source with `--smallest`, which only tries the program.
const SMALL_SMALLEST: usize = 2_000;

/// Size of the larger source as a multiple of the smaller one.
const LARGER: usize = 8;

/// Number of runs, of which the fastest counts.
const ROUNDS: usize = 5;

/// Per shape: text that comes once in front, text that is repeated, and text that comes once at the
/// end.
const SHAPES: &[(&str, &str, &str, &str)] = &[
    ("operators", "$x = ", "1 + ", "1"),
    ("comparisons", "$x = ", "$a == ", "1"),
    ("arrows", "", "File['a'] -> ", "File['b']"),
    ("methods", "$x = $y", ".f", ""),
    ("lambdas", "$x = $y", ".map |$a| { $a }", ""),
    ("indices", "$x = $y", "[1]", ""),
    ("list", "$x = [", "1, ", "]"),
    ("equal keys", "$x = {", "a => 1, ", "}"),
    ("large numbers", "$x = [", "99999999999999999999, ", "]"),
    ("selectors", "$x = $y", " ? { 1 => 2 }", ""),
    ("options", "case $x { ", "1: {} ", "}"),
    ("interpolations", "$x = \"", "${a} ", "\""),
    ("heredocs", "", "$x = @(E)\n a\n | E\n", ""),
    ("no heredocs", "", "@(E) ", ""),
    ("no comments", "", "/* ", ""),
    ("no names", "", "::", ""),
    (
        "brackets",
        "",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n",
        "",
    ),
    ("open brackets", "", "[", ""),
    (
        "statements",
        "",
        "if true { notice(1) } else { notice(2) }\n",
        "",
    ),
];

fn main() {
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let small_bytes = if is_smallest { SMALL_SMALLEST } else { SMALL };
    let large_bytes = LARGER * small_bytes;
    for (name, before, part, behind) in SHAPES {
        let of = |bytes: usize| {
            let text = format!("{before}{}{behind}", part.repeat(bytes / part.len()));
            Arc::new(SourceText::new(None, text))
        };
        let [small, large] = [of(small_bytes), of(large_bytes)];
        for tasks in [false, true] {
            let (small, large) = (nanoseconds(&small, tasks), nanoseconds(&large, tasks));
            let mode = if tasks { "plan" } else { "manifest" };
            let growth = large / small;
            println!(
                "{name} ({mode}): {small:.0} ns a byte of {small_bytes}, {large:.0} of {large_bytes}: {growth:.1} times"
            );
        }
    }
}

/// Nanoseconds per byte.
fn nanoseconds(source: &Arc<SourceText>, tasks: bool) -> f64 {
    let options = SyntaxOptions {
        tasks,
        ..SyntaxOptions::default()
    };
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        drop(syntax::parse(source, options));
        best = best.min(started.elapsed());
    }
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let bytes = source.text().len() as f64;
    best.as_secs_f64() * 1e9 / bytes
}
