//! `fail_plan`, `catch_errors`, `ctrl::sleep`, `ctrl::do_until`, `without_default_logging`.
//!
//! Invariant: only errors of plan functions are caught; a mistake in the plan's code ends it.

use std::time::Duration;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, SourceLocation, UnknownValues as _};
use pcore::Value;
use plans::StepWork;
use serde_json::json;

use super::action_options::parse_seconds;
use super::plan_function::PlanFunctionBody;
use crate::defaults::DO_UNTIL_CALLS;
use crate::error_object::{error_attribute, error_object};
use crate::failure;
use crate::host::PlanHost;
use crate::objects::UnknownResult;
use crate::preview::{PreviewBranch, PreviewedEffect};

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "fail_plan",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "msg"),
                    optional("String[1]", "kind"),
                    optional("Hash[String[1], Any]", "details"),
                    optional("String[1]", "issue_code"),
                ]),
                FunctionDispatch::host(&[one("Error", "error")]),
            ],
        ),
        fail_plan,
    ),
    (
        FunctionSpec::new(
            "catch_errors",
            &[
                FunctionDispatch::host(&[optional("Array[String[1]]", "error_types")])
                    .with_block("Callable[0, 0]"),
            ],
        ),
        catch_errors,
    ),
    (
        FunctionSpec::new(
            "ctrl::sleep",
            &[FunctionDispatch::host(&[one("Numeric", "period")]).returning("Undef")],
        ),
        sleep,
    ),
    (
        FunctionSpec::new(
            "ctrl::do_until",
            &[
                FunctionDispatch::host(&[optional("Hash[String[1], Any]", "options")])
                    .with_block("Callable[0, 0]"),
            ],
        ),
        do_until,
    ),
    (
        FunctionSpec::new(
            "without_default_logging",
            &[FunctionDispatch::host(&[]).with_block("Callable[0, 0]")],
        ),
        without_default_logging,
    ),
];

fn fail_plan(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let first = call.get(0);
    if let Value::Object(_) = first {
        return Err(failure::raise(first.clone()));
    }
    let kind = call.get(1).as_str().unwrap_or("bolt/plan-failure");
    let details = call.get(2).as_hash().cloned().unwrap_or_default();
    let error = error_object(kind, &call.text(0), details, call.get(3).as_str());
    Err(failure::raise(error))
}

fn catch_errors(
    _: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let unwind = match evaluator.call_block(call.required_block(), []) {
        Ok(value) => return Ok(value),
        Err(unwind) => unwind,
    };
    let Some(error) = failure::caught_error(&unwind) else {
        return Err(unwind);
    };
    let kind = error_attribute(error, "kind");
    // An empty list catches no kind, as in Bolt.
    let is_meant = match call.get(0) {
        Value::Array(kinds) => kinds.contains(&kind),
        _ => true,
    };
    match is_meant {
        true => Ok(error.clone()),
        false => Err(unwind),
    }
}

fn sleep(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_negative = match call.get(0) {
        Value::Int(seconds) => *seconds < 0,
        Value::Float(seconds) => *seconds < 0.0,
        _ => false,
    };
    if is_negative {
        return evaluator::raise("time interval must not be negative");
    }
    let time = parse_seconds("the time to sleep", call.get(0))?;
    pause_branch(host, &call.location(), time)?;
    Ok(Value::Undef)
}

fn do_until(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let options = call.hash(0);
    let given = |name: &str| options.get_str(name).filter(|value| !value.is_undef());
    let limit = match given("limit") {
        Some(Value::Int(limit)) if *limit > 0 => limit.unsigned_abs(),
        Some(Value::Int(0)) | None => DO_UNTIL_CALLS,
        Some(other) => {
            let msg = format!("ctrl::do_until: limit is a number of calls from 0, not {other}");
            return Err(failure::invalid_value_error(msg));
        }
    };
    let interval = match given("interval") {
        Some(value) => parse_seconds("interval", value)?,
        None => Duration::ZERO,
    };
    let block = call.required_block();
    for count in 1.. {
        let value = evaluator.call_block(block, [])?;
        if let Some(preview) = &host.preview
            && (value.is_unknown() || !value.is_truthy())
        {
            return repeat_previewed(host, preview, &call, value);
        }
        if value.is_truthy() || (count >= limit && given("limit").is_some()) {
            return Ok(value);
        }
        if count >= limit {
            let msg = format!("ctrl::do_until: the block was false {limit} times");
            return Err(failure::plain_error("tutti/do-until-limit", msg));
        }
        if interval > Duration::ZERO {
            pause_branch(host, &call.location(), interval)?;
        }
    }
    Ok(Value::Undef)
}

/// Ends the loop of a preview, which calls the block only once.
fn repeat_previewed(
    host: &PlanHost<'_>,
    preview: &PreviewBranch,
    call: &CallArguments<'_>,
    value: Value,
) -> EvalResult {
    if value.is_unknown() {
        let how = "as if the block had given true";
        host.check_unknown_branch(std::slice::from_ref(&value), &call.location(), how)?;
        return Ok(value);
    }
    let effect = PreviewedEffect {
        function: call.name,
        object: "would call its block again, until it is true",
        ..PreviewedEffect::default()
    };
    let number = preview.show_effect(host, &call.location(), &effect, false)?;
    Ok(Value::object(UnknownResult::of(number)))
}

/// Only calls the block: in Bolt this function concerns the console's log, which does not exist
/// here.
fn without_default_logging(
    _: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    evaluator.call_block(call.required_block(), [])
}

/// Pauses the branch; a preview shows the pause.
pub(super) fn pause_branch(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    time: Duration,
) -> EvalResult<()> {
    if let Some(preview) = &host.preview {
        let effect = PreviewedEffect {
            function: "ctrl::sleep",
            object: &format!("{} s", time.as_secs_f64()),
            ..PreviewedEffect::default()
        };
        return preview.show_effect(host, place, &effect, false).map(drop);
    }
    let arguments = json!({"ms": time.as_millis().to_string()});
    host.step("sleep", place, arguments, StepWork::Sleep(time))?;
    Ok(())
}
