//! Programs that would never end, or exhaust memory or stack.

use std::thread;

use evaluator::{BUDGET_EXHAUSTED, EvalError, EvaluationLimits, Evaluator, ParseCache};

use crate::world::World;

/// Runs on a stack as small as a plan's.
fn on_a_plans_stack(program: &'static str, limits: fn() -> EvaluationLimits) -> EvalError {
    thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            let world = World::default();
            let mut evaluator = Evaluator::new(&world, limits(), ParseCache::new());
            match evaluator.evaluate(program, Some("case.pp")) {
                Ok(value) => panic!("{program}\ngave {value}"),
                Err(unwind) => unwind.into_error().expect("nothing interrupts here"),
            }
        })
        .expect("a thread starts")
        .join()
        .expect("the stack is not overrun")
}

fn few_steps() -> EvaluationLimits {
    EvaluationLimits {
        steps_max: 100_000,
        ..EvaluationLimits::default()
    }
}

fn small_values() -> EvaluationLimits {
    EvaluationLimits {
        value_bytes_max: 1 << 20,
        ..EvaluationLimits::default()
    }
}

#[track_caller]
fn exhausted(error: &EvalError, line: u32) {
    assert_eq!(error.code, BUDGET_EXHAUSTED, "{error}");
    assert_eq!(
        error.location.as_ref().map(|it| it.line),
        Some(line),
        "{error}"
    );
    assert!(!error.hints.is_empty() || error.message.contains("deep"));
}

#[test]
fn a_loop_without_an_end() {
    let program = "\nInteger[0, 9000000000].each |$x| { $y = $x }";
    exhausted(&on_a_plans_stack(program, few_steps), 2);
}

#[test]
fn a_text_that_doubles() {
    let program = "\nInteger[0, 60].reduce('x') |$m, $i| {\n \"${m}${m}\" }";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 3);
}

#[test]
fn a_list_that_doubles() {
    let program = "\nInteger[0, 60].reduce([1]) |$m, $i| {\n $m + $m }";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 3);
}

#[test]
fn a_text_of_shared_lists() {
    let program = "$l = Integer[0, 60].reduce([1, 2]) |$m, $i| { [$m, $m] }\n\"${l}\"";
    exhausted(&on_a_plans_stack(program, small_values), 2);
}

#[test]
fn a_function_that_calls_itself() {
    let program = "function f($x) { f($x + 1) }\nf(1)";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 1);
}

#[test]
fn blocks_inside_blocks() {
    let program = "function f($x) { [1].map |$i| { [$i].reduce(1) |$m, $n| { case f($x + 1) { default: { 1 } } } } }\nf(1)";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 1);
}

#[test]
fn a_chain_of_operators() {
    let program: &'static str = format!("\n1{}", " + 1".repeat(5_000)).leak();
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 2);
}

#[test]
fn lists_inside_lists() {
    let program = "\nInteger[0, 100000].reduce([1]) |$m, $i| { [$m] }";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 2);
    let program = "\nInteger[0, 100000].reduce({a => 1}) |$m, $i| { {a => $m} }";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 2);
    let program = "\nInteger[0, 100000].reduce([1]) |$m, $i| { [] << $m }";
    exhausted(&on_a_plans_stack(program, EvaluationLimits::default), 2);
}

#[test]
fn deep_recursion_within_the_limit_works_on_a_plans_stack() {
    let program = "function f($n) { if $n == 0 { 0 } else { 1 + f($n - 1) } }\nf(99)";
    let value = thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            let world = World::default();
            let mut evaluator =
                Evaluator::new(&world, EvaluationLimits::default(), ParseCache::new());
            evaluator
                .evaluate(program, None)
                .map(|it| it.to_string())
                .map_err(|unwind| unwind.into_error().map(|it| it.to_string()))
                .ok()
        })
        .expect("a thread starts")
        .join()
        .expect("the stack is not overrun");
    assert_eq!(value.as_deref(), Some("99"));
}
