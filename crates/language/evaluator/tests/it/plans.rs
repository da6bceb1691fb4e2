//! Features of hosts: plans, scopes, functions and types of their own, interruptions.

use std::any::Any;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, NativeFunction, one};
use evaluator::{
    CodeMap, CodeSource, EvalResult, EvalUnwind, EvaluationHost, EvaluationLimits, Evaluator,
    HostInterrupt, LogLevel, ParseCache, SourceLocation, VariableScope,
};
use pcore::{Hash, Value};

struct Plans(CodeMap);

static TWICE: NativeFunction = NativeFunction::new(FunctionSpec::new(
    "twice",
    &[FunctionDispatch::new(&[one("Integer", "number")], twice)
        .with_optional_block("Callable[1,1]")],
));

static STOP: NativeFunction = NativeFunction::new(FunctionSpec::new(
    "stop",
    &[FunctionDispatch::new(&[], stop)],
));

fn twice(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let number = Value::Int(call.int(0) * 2);
    match call.block {
        Some(block) => evaluator.call_block(block, [number]),
        None => Ok(number),
    }
}

fn stop(_: &mut Evaluator<'_>, _: CallArguments<'_>) -> EvalResult {
    let reason: Box<dyn Any + Send> = Box::new("evicted");
    Err(Box::new(EvalUnwind::Interrupted(HostInterrupt(reason))))
}

impl EvaluationHost for Plans {
    fn code(&self) -> &dyn CodeSource {
        &self.0
    }

    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        match name {
            "twice" => Some(&TWICE),
            "stop" => Some(&STOP),
            _ => None,
        }
    }

    fn log(&self, _: LogLevel, _: &str, _: &SourceLocation) {}
}

fn evaluator() -> Evaluator<'static> {
    let code = CodeMap::new().with(
        "modules/m/plans/p.pp",
        *b"plan m::p(Integer $n, $m = $n + 1) { return twice($n) |$x| { $x + $m } }",
    );
    Evaluator::new(
        Box::leak(Box::new(Plans(code))),
        EvaluationLimits::default(),
        ParseCache::new(),
    )
}

fn text(result: EvalResult) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(unwind) => match unwind.into_error() {
            Ok(error) => error.to_string(),
            Err(HostInterrupt(reason)) => {
                format!("interrupted: {:?}", reason.downcast_ref::<&str>())
            }
        },
    }
}

#[test]
fn a_plan_runs_with_arguments_by_name() {
    let mut evaluator = evaluator();
    let plan = evaluator.plan("m::p").ok().flatten().expect("it is there");
    assert_eq!(plan.name(), "m::p");
    let names: Vec<(String, bool)> = plan
        .parameters()
        .into_iter()
        .map(|(name, optional)| (name.to_string(), optional))
        .collect();
    assert_eq!(names, [("n".to_owned(), false), ("m".to_owned(), true)]);
    let arguments: Hash = [("n", 5_i64)].into_iter().collect();
    assert_eq!(text(evaluator.run_plan(&plan, &arguments)), "16");
    let wrong: Hash = [("n", Value::from("x")), ("m", Value::Int(1))]
        .into_iter()
        .collect();
    let error = text(evaluator.run_plan(&plan, &wrong));
    assert!(
        error.contains("parameter 'n' expects an Integer value, got String"),
        "{error}"
    );
    assert!(evaluator.plan("m::none").ok().flatten().is_none());
}

#[test]
fn functions_of_the_host_have_forms() {
    let mut evaluator = evaluator();
    assert_eq!(text(evaluator.evaluate("twice(4)", None)), "8");
    let error = text(evaluator.evaluate("twice('x')", None));
    assert!(
        error.contains("'twice' parameter 'number' expects an Integer value, got String"),
        "{error}"
    );
}

#[test]
fn texts_are_evaluated_inside_a_scope() {
    let mut evaluator = evaluator();
    let scope = VariableScope::default();
    assert!(scope.define("x", Value::Int(1)));
    assert!(
        !scope.define("x", Value::Int(2)),
        "a variable has one value"
    );
    assert_eq!(
        text(evaluator.evaluate_in(&scope, "$y = $x + 1\n\"${y}\"", None)),
        "2"
    );
    assert!(scope.get("y").is_none(), "what a text sets ends with it");
}

#[test]
fn an_interruption_passes_everything() {
    let mut evaluator = evaluator();
    let program = "function f() { [1].map |$x| { stop() } }\nf()";
    assert_eq!(
        text(evaluator.evaluate(program, None)),
        "interrupted: Some(\"evicted\")"
    );
}
