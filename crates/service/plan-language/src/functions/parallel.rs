//! `parallelize`, `background`, `wait`, and the state of a future.
//!
//! Invariant: a parallel block has its own branch and stack and shares all other state; a plan does
//! not end before all blocks that it started have ended.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{
    BranchBytes, BranchSeed, CodeBlock, EvalError, EvalResult, EvalUnwind, EvaluationHost as _,
    Evaluator, SourceLocation, UnknownValues as _,
};
use pcore::{Hash, Value};
use plans::{BranchId, BranchResult, PlanBranch};

use super::action_options::parse_seconds;
use super::plan_function::PlanFunctionBody as RunFn;
use crate::error_object::error_object;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::PlanFuture;
use crate::preview::PreviewBranch;
use crate::run::{DecidingResults, ParallelBlock, ParallelBlockResult, PlanEvaluation};

pub(super) const FUNCTIONS: &[(FunctionSpec, RunFn)] = &[
    (
        FunctionSpec::new(
            "parallelize",
            &[
                FunctionDispatch::host(&[one("Variant[Array[Any], ResultSet, Iterable]", "data")])
                    .with_block("Callable[Any]")
                    .returning("Array[Any]"),
            ],
        ),
        parallelize,
    ),
    (
        FunctionSpec::new(
            "background",
            &[FunctionDispatch::host(&[optional("String[1]", "name")])
                .with_block("Callable[0, 0]")
                .returning("Future")],
        ),
        background,
    ),
    (
        FunctionSpec::new(
            "wait",
            &[
                FunctionDispatch::host(&[
                    one("Variant[Future, Array[Future]]", "futures"),
                    optional("Hash[String[1], Any]", "options"),
                ])
                .returning("Array"),
                FunctionDispatch::host(&[optional("Hash[String[1], Any]", "options")])
                    .returning("Array"),
                FunctionDispatch::host(&[
                    one("Variant[Integer[0], Float[0.0]]", "timeout"),
                    optional("Hash[String[1], Any]", "options"),
                ])
                .returning("Array"),
                FunctionDispatch::host(&[
                    one("Variant[Future, Array[Future]]", "futures"),
                    one("Variant[Integer[0], Float[0.0]]", "timeout"),
                    optional("Hash[String[1], Any]", "options"),
                ])
                .returning("Array"),
            ],
        ),
        wait,
    ),
];

/// A parallel block and its arguments, before it runs.
struct ParallelBlockStart {
    seed: BranchSeed,
    run: Rc<PlanEvaluation>,
    plan: u64,
    run_as: Option<String>,
    block: CodeBlock,
    arguments: Vec<Value>,
    /// Location of the call that started it.
    location: SourceLocation,
    end: ParallelBlockResult,
    /// The part of the memory budget that was unspent at its end.
    unspent_bytes: Rc<Cell<BranchBytes>>,
    /// At the start, the results on which the call depends; at the end, those on which the block
    /// depends.
    decided: DecidingResults,
}

impl ParallelBlockStart {
    fn of(
        host: &PlanHost<'_>,
        evaluator: &Evaluator<'_>,
        call: &CallArguments<'_>,
        arguments: Vec<Value>,
    ) -> Self {
        Self {
            seed: evaluator.seed(),
            run: Rc::clone(host.run),
            plan: host.plan.get(),
            run_as: host.run_as.borrow().clone(),
            block: call.required_block().clone(),
            arguments,
            location: call.location(),
            end: ParallelBlockResult::default(),
            unspent_bytes: Rc::default(),
            decided: Rc::new(RefCell::new(
                host.preview
                    .as_ref()
                    .map(PreviewBranch::decided)
                    .unwrap_or_default(),
            )),
        }
    }

    fn run_block(self, branch: &mut PlanBranch<'_>) -> BranchResult {
        let host = PlanHost::new(branch, &self.run, self.plan)
            .with_deciding_results(self.decided.take())
            .with_user(self.run_as);
        let mut evaluator = self.seed.evaluator(&host);
        let result = evaluator.call_block_with(&self.block, self.arguments);
        let result = match result {
            Ok(value) => Ok(value),
            // `return` in a parallel block ends only the block.
            Err(unwind) => match *unwind {
                EvalUnwind::Return(jump) => Ok(jump.value),
                unwind => match failure::error_or_stop(unwind) {
                    Ok(error) => Err(error),
                    Err(stop) => return Err(stop.into()),
                },
            },
        };
        let result = result.and_then(|value| check_result(&host, &self.location, value));
        *self.end.borrow_mut() = Some(result);
        self.unspent_bytes.set(evaluator.left_bytes());
        if let Some(preview) = &host.preview {
            self.decided.replace(preview.decided());
        }
        Ok(serde_json::Value::Null)
    }
}

/// The code of the error of a block that returned an invalid value. It ends the plan instead of
/// counting as a failure of the block.
const INVALID_RESULT: &str = "INVALID_PARALLEL_RESULT";

/// Fails if the value is not a `PlanResult`.
fn check_result(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    value: Value,
) -> Result<Value, EvalError> {
    match host.named_type("PlanResult") {
        Some(ty) if !ty.is_instance(&value) => {
            let text = value.to_string();
            let msg = format!("Background block returned an invalid result: {text}");
            let mut details = Hash::new();
            if let Some(file) = &place.file {
                details.insert("file", Value::Str(file.clone()));
            }
            details.insert("line", Value::Int(place.line.into()));
            details.insert("result_string", text.as_str());
            let error = error_object("bolt/invalid-plan-result", &msg, details, None);
            Err(EvalError {
                code: INVALID_RESULT,
                ..EvalError::without_location(msg).with_payload(error)
            })
        }
        _ => Ok(value),
    }
}

fn spawn_block(host: &PlanHost<'_>, beginning: ParallelBlockStart) -> EvalResult<BranchId> {
    let spawned = host.branch.spawn(move |branch| beginning.run_block(branch));
    spawned.map_err(failure::unwind)
}

fn parallelize(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let data = call.get(0);
    if data.is_unknown() {
        let how = "with what is done for one element; there may be none or more";
        host.check_unknown_branch(std::slice::from_ref(data), &call.location(), how)?;
    }
    let elements = match data {
        Value::Array(elements) => elements.to_vec(),
        unknown if unknown.is_unknown() => vec![unknown.clone()],
        Value::Object(object) if let Some(elements) = object.elements() => elements,
        Value::Hash(entries) => {
            let pair =
                |(key, value): (&Value, &Value)| Value::array(vec![key.clone(), value.clone()]);
            entries.iter().map(pair).collect()
        }
        other => {
            let listed =
                evaluator.call_function("convert_to", vec![other.clone(), array()], None)?;
            listed.as_array().map(<[Value]>::to_vec).unwrap_or_default()
        }
    };
    let mut ends = Vec::with_capacity(elements.len());
    let mut branches = Vec::with_capacity(elements.len());
    let mut decided = Vec::with_capacity(elements.len());
    let mut left = Vec::with_capacity(elements.len());
    for element in elements {
        let beginning = ParallelBlockStart::of(host, evaluator, &call, vec![element]);
        ends.push(Rc::clone(&beginning.end));
        decided.push(Rc::clone(&beginning.decided));
        left.push(Rc::clone(&beginning.unspent_bytes));
        branches.push(spawn_block(host, beginning)?);
    }
    host.branch.wait(&branches).map_err(failure::unwind)?;
    decided.iter().for_each(|it| host.decide(&it.borrow()));
    left.iter().for_each(|it| evaluator.take_over(it.get()));
    let ends = ends.iter().filter_map(|end| end.borrow().clone());
    let given = ParallelResults::of(ends)?.settle()?;
    Ok(match data.is_unknown() {
        true => host.unknown(&[data.clone(), given], None),
        false => given,
    })
}

fn array() -> Value {
    Value::Type(pcore::Type::array())
}

/// The results of several parallel blocks.
struct ParallelResults {
    /// Values, or `Error` objects of blocks that failed.
    values: Vec<Value>,
    /// Indices of the blocks that failed.
    failed: Vec<Value>,
}

impl ParallelResults {
    /// Collects results. A mistake in the plan's code is returned as error, since it ends the plan.
    fn of(ends: impl IntoIterator<Item = Result<Value, EvalError>>) -> EvalResult<Self> {
        let (mut values, mut failed) = (Vec::new(), Vec::new());
        for (place, end) in (0..).zip(ends) {
            values.push(match end {
                Ok(value) => value,
                Err(error) => {
                    let payload = error.payload.clone();
                    let Some(payload) = payload.filter(|_| error.code != INVALID_RESULT) else {
                        return Err(error.into());
                    };
                    failed.push(Value::Int(place));
                    payload
                }
            });
        }
        Ok(Self { values, failed })
    }

    /// Returns all values, or `bolt/parallel-failure` if a block failed.
    fn settle(self) -> EvalResult {
        if self.failed.is_empty() {
            return Ok(Value::array(self.values));
        }
        let failed = self.failed.len();
        let targets = if failed == 1 { "target" } else { "targets" };
        let msg = format!("parallel block failed on {failed} {targets}");
        let mut details = Hash::new();
        details.insert("action", "parallelize");
        details.insert("failed_indices", Value::array(self.failed));
        details.insert("results", Value::array(self.values));
        Err(failure::bolt_error("bolt/parallel-failure", &msg, details))
    }
}

fn background(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let beginning = ParallelBlockStart::of(host, evaluator, &call, Vec::new());
    let (end, plan) = (Rc::clone(&beginning.end), host.plan.get());
    let decided = Rc::clone(&beginning.decided);
    let branch = spawn_block(host, beginning)?;
    let name = call
        .get(0)
        .as_str()
        .map_or_else(|| branch.to_string(), str::to_owned);
    let future = PlanFuture::new(branch.clone(), &name);
    host.run.futures.borrow_mut().push(ParallelBlock {
        branch,
        name,
        plan,
        end,
        decided,
    });
    Ok(Value::object(future))
}

/// The state of a future: `running`, `done` or `error`.
pub(super) fn future_state(host: &PlanHost<'_>, future: &PlanFuture) -> EvalResult {
    let over = host
        .branch
        .branch_result(future.branch())
        .map_err(failure::unwind)?;
    host.reads_shared();
    Ok(Value::from(
        match (over, host.run.block_result(future.branch())) {
            (None, _) => "running",
            (Some(Ok(_)), Some(Ok(_))) => "done",
            _ => "error",
        },
    ))
}

fn wait(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let asked = WaitArguments::of(host, &call)?;
    let branches = &asked.branches;
    let Some(timeout) = asked.timeout else {
        host.branch.wait(branches).map_err(failure::unwind)?;
        return collect_results(host, &asked);
    };
    let site = call.location().to_string();
    let ended = host.branch.wait_for(branches, &site, timeout);
    let ended = ended.map_err(failure::unwind)?;
    let late = branches
        .iter()
        .zip(&ended)
        .filter(|(_, ended)| ended.is_none());
    let late: Vec<BranchId> = late.map(|(branch, _)| branch.clone()).collect();
    host.branch.cancel(&late).map_err(failure::unwind)?;
    for branch in &late {
        let futures = host.run.futures.borrow();
        let name = futures
            .iter()
            .find(|beside| beside.branch == *branch)
            .map_or_else(|| branch.to_string(), |beside| beside.name.clone());
        let seconds = Value::Float(timeout.as_secs_f64());
        let seconds = match timeout.subsec_nanos() {
            0 => timeout.as_secs().to_string(),
            _ => seconds.to_string(),
        };
        let msg = format!("Future '{name}' timed out after {seconds} seconds.");
        let details = [("future", Value::from(name.as_str()))]
            .into_iter()
            .collect();
        let unwind = failure::bolt_error("bolt/future-timeout-error", &msg, details);
        if let (Some(beside), Ok(error)) = (
            futures.iter().find(|beside| beside.branch == *branch),
            failure::error_or_stop(*unwind),
        ) {
            *beside.end.borrow_mut() = Some(Err(error));
        }
    }
    collect_results(host, &asked)
}

/// The arguments of a call of `wait`.
struct WaitArguments {
    branches: Vec<BranchId>,
    timeout: Option<std::time::Duration>,
    catch_errors: bool,
}

impl WaitArguments {
    fn of(host: &PlanHost<'_>, call: &CallArguments<'_>) -> EvalResult<Self> {
        let mut asked = Self {
            branches: Vec::new(),
            timeout: None,
            catch_errors: false,
        };
        let mut named = false;
        for argument in &call.arguments {
            match argument {
                Value::Array(futures) => {
                    named = true;
                    let futures = futures
                        .iter()
                        .filter_map(|it| it.downcast_object::<PlanFuture>());
                    asked.branches.extend(futures.map(|it| it.branch().clone()));
                }
                Value::Object(_) => {
                    named = true;
                    let future = argument.downcast_object::<PlanFuture>();
                    asked.branches.extend(future.map(|it| it.branch().clone()));
                }
                Value::Hash(options) => {
                    let caught = options.get_str("_catch_errors");
                    asked.catch_errors = caught.is_some_and(Value::is_truthy);
                }
                other => asked.timeout = Some(parse_seconds("the timeout", other)?),
            }
        }
        if !named {
            let futures = host.run.futures.borrow();
            let own = futures
                .iter()
                .filter(|beside| beside.plan == host.plan.get());
            asked.branches = own.map(|beside| beside.branch.clone()).collect();
        }
        Ok(asked)
    }
}

fn collect_results(host: &PlanHost<'_>, asked: &WaitArguments) -> EvalResult {
    for branch in &asked.branches {
        host.decide(&host.run.deciding_results(branch));
    }
    let ends = asked
        .branches
        .iter()
        .filter_map(|branch| host.run.block_result(branch));
    let ends = ParallelResults::of(ends)?;
    if asked.catch_errors {
        return Ok(Value::array(ends.values));
    }
    ends.settle()
}

/// Waits for all parallel blocks of the plan.
pub(crate) fn await_all(host: &PlanHost<'_>) -> EvalResult<()> {
    loop {
        let futures = host.run.futures.borrow();
        let all: Vec<BranchId> = futures.iter().map(|it| it.branch.clone()).collect();
        drop(futures);
        host.branch.wait(&all).map_err(failure::unwind)?;
        // These blocks may have started others.
        if host.run.futures.borrow().len() == all.len() {
            return Ok(());
        }
    }
}
