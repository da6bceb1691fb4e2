//! The budget counts the memory that a program holds, not all that it ever created.

use evaluator::{BUDGET_EXHAUSTED, EvalError, EvaluationLimits, Evaluator, ParseCache};

use crate::world::World;

/// Enough for the values that these programs hold, and a small part of those that they create.
const BYTES_MAX: u64 = 4 << 20;

fn run(program: &str, bytes_max: u64) -> Result<String, EvalError> {
    let world = World::default();
    let limits = EvaluationLimits {
        bytes_max,
        ..EvaluationLimits::default()
    };
    let mut evaluator = Evaluator::new(&world, limits, ParseCache::new());
    match evaluator.evaluate(program, Some("case.pp")) {
        Ok(value) => Ok(value.to_string()),
        Err(unwind) => Err(unwind.into_error().expect("nothing interrupts here")),
    }
}

#[track_caller]
fn works(program: &str, expected: &str) {
    match run(program, BYTES_MAX) {
        Ok(value) => assert_eq!(value, expected, "{program}"),
        Err(error) => panic!("{program}\n{error}"),
    }
}

#[track_caller]
fn is_refused(program: &str) {
    match run(program, BYTES_MAX) {
        Ok(value) => panic!("{program}\ngave {} bytes", value.len()),
        Err(error) => {
            assert_eq!(error.code, BUDGET_EXHAUSTED, "{program}\n{error}");
            assert!(error.message.contains("holds more than"), "{error}");
        }
    }
}

/// A list of 100 kB.
const LARGE: &str = "$large = Integer[1, 1000].map |$i| { sprintf('%076d', $i) }\n";

#[test]
fn a_reduce_that_merges_keys() {
    // creates 24 MB in all, and holds 48 kB
    works(
        "Integer[1, 1000].reduce({}) |$all, $i| { $all + { \"key${i}\" => $i } }.size",
        "1000",
    );
    works(
        "Integer[1, 1000].reduce([]) |$all, $i| { $all << $i }.size",
        "1000",
    );
    works(
        &format!("{LARGE}Integer[1, 1000].reduce |$sum, $i| {{ [$sum, *$large].size }}"),
        "1001",
    );
}

#[test]
fn what_blocks_and_functions_make_is_free_when_they_end() {
    works(
        &format!("{LARGE}Integer[1, 200].each |$i| {{ $large + [$i] }}\n1"),
        "1",
    );
    works(
        &format!(
            "{LARGE}$h = {{a => 1}}\n$h.each |$k, $v| {{ Integer[1, 200].each |$i| {{ $large + [$i] }} }}\n1"
        ),
        "1",
    );
    works(
        &format!("{LARGE}Integer[1, 200].map |$i| {{ ($large + [$i]).size }}.size"),
        "200",
    );
    works(
        &format!("{LARGE}Integer[1, 200].filter |$i| {{ size($large + [$i]) > 5 }}.size"),
        "200",
    );
    works(
        &format!("{LARGE}Integer[1, 200].reverse_each |$i| {{ $large + [$i] }}\n1"),
        "1",
    );
    works(
        "function made() { Integer[1, 1000].map |$i| { sprintf('%0100d', $i) } }\n\
         function f() { $x = made()\n size($x) }\nInteger[1, 100].map |$i| { f() }.size",
        "100",
    );
    works(
        &format!(
            "{LARGE}Integer[1, 100].map |$i| {{ size(inline_epp('<%= $l %>', {{l => $large}})) }}.size"
        ),
        "100",
    );
}

#[test]
fn statements_of_a_body_hold_only_their_variables() {
    let statements = "  $n = size(Integer[1, 1000].map |$i| { sprintf('%0100d', $i) })\n";
    let numbered: String = (0..100)
        .map(|number| statements.replace("$n", &format!("$n{number}")))
        .collect();
    works(
        &format!("function f() {{\n{numbered}  $n99\n}}\nf()"),
        "1000",
    );
}

#[test]
fn what_is_held_is_refused() {
    is_refused("Integer[1, 100000].map |$i| { sprintf('%0100d', $i) }");
    is_refused("Integer[1, 100000].reduce([]) |$all, $i| { $all << sprintf('%0100d', $i) }");
    is_refused(
        "function f() { Integer[1, 1000].map |$i| { sprintf('%0100d', $i) } }\n\
         Integer[1, 1000].map |$i| { f() }",
    );
    // variables of calls that have not ended
    is_refused(
        "function f($n) { $x = Integer[1, 1000].map |$i| { sprintf('%0100d', $i) }\n\
           if $n > 0 { f($n - 1) }\n size($x) }\nf(100)",
    );
    // values outside a loop stay
    is_refused(
        "Integer[1, 100].reduce({}) |$all, $i| {\n  $new = Integer[1, 1000].map |$i| { sprintf('%0100d', $i) }\n\
           $all + { $i => $new }\n}",
    );
    // types, sensitive values, bytes
    is_refused(
        "Integer[1, 1000].map |$i| { Enum[*(Integer[1, 1000].map |$j| { sprintf('%0100d', $j) })] }",
    );
    is_refused(
        "Integer[1, 1000].map |$i| { Sensitive(Integer[1, 1000].map |$j| { sprintf('%0100d', $j) }) }",
    );
    // the output of a template so far
    is_refused(
        "inline_epp('<% Integer[1, 100000].each |$i| { %><%= sprintf(\"%0100d\", $i) %><% } %>')",
    );
}

#[test]
fn an_error_gives_nothing_back_and_values_that_leave_a_loop_are_held() {
    works(
        "Integer[1, 10].each |$i| { if $i == 5 { break() } }\n1",
        "1",
    );
    works(
        "function f() { Integer[1, 10].each |$i| { if $i == 5 { return([$i]) } } }\nf()[0]",
        "5",
    );
    works(
        "Integer[1, 10].reduce(0) |$m, $i| { if $i > 3 { break() } $m + $i }",
        "6",
    );
}

#[test]
fn looking_at_what_is_held_takes_steps() {
    // a large value goes through many calls
    let run = |calls: u32| {
        let program = format!(
            "function f($n) {{ if $n == 0 {{ Integer[1, 5000].map |$i| {{ \"${{i}}\" }} }} else {{ f($n - 1) }} }}\n\
             size(f({calls}))"
        );
        let world = World::default();
        let limits = EvaluationLimits {
            steps_max: 35_000,
            ..EvaluationLimits::default()
        };
        let mut evaluator = Evaluator::new(&world, limits, ParseCache::new());
        evaluator
            .evaluate(&program, None)
            .map(|value| value.to_string())
            .map_err(|unwind| unwind.into_error().expect("nothing interrupts here"))
    };
    assert_eq!(run(1).expect("few steps"), "5000");
    let error = run(90).expect_err("many steps");
    assert!(error.message.contains("steps"), "{error}");
}
