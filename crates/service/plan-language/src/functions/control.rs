//! `fail_plan`, `catch_errors`, `ctrl::sleep`, `ctrl::do_until`, `without_default_logging`.
//!
//! Invariant: only errors of plan functions are caught; a mistake in the plan's code ends it.

use std::time::Duration;

use evaluator::function::{CallArguments, Dispatch, FunctionSpec, one, optional};
use evaluator::{Eval, Evaluator, UnknownValues as _};
use pcore::Value;

use super::Run;
use super::options::seconds;
use crate::defaults::DO_UNTIL_CALLS;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::Unknown;
use crate::preview::{Effect, Preview};

pub(super) const FUNCTIONS: &[(FunctionSpec, Run)] = &[
    (
        FunctionSpec::new(
            "fail_plan",
            &[
                Dispatch::host(&[
                    one("String[1]", "msg"),
                    optional("String[1]", "kind"),
                    optional("Hash[String[1], Any]", "details"),
                    optional("String[1]", "issue_code"),
                ]),
                Dispatch::host(&[one("Error", "error")]),
            ],
        ),
        fail_plan,
    ),
    (
        FunctionSpec::new(
            "catch_errors",
            &[
                Dispatch::host(&[optional("Array[String[1]]", "error_types")])
                    .with_block("Callable[0, 0]"),
            ],
        ),
        catch_errors,
    ),
    (
        FunctionSpec::new(
            "ctrl::sleep",
            &[Dispatch::host(&[one("Numeric", "period")]).returning("Undef")],
        ),
        sleep,
    ),
    (
        FunctionSpec::new(
            "ctrl::do_until",
            &[
                Dispatch::host(&[optional("Hash[String[1], Any]", "options")])
                    .with_block("Callable[0, 0]"),
            ],
        ),
        do_until,
    ),
    (
        FunctionSpec::new(
            "without_default_logging",
            &[Dispatch::host(&[]).with_block("Callable[0, 0]")],
        ),
        without_default_logging,
    ),
];

fn fail_plan(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let first = call.get(0);
    if let Value::Object(_) = first {
        return Err(failure::raised(first.clone()));
    }
    let kind = call.get(1).as_str().unwrap_or("bolt/plan-failure");
    let details = call.get(2).as_hash().cloned().unwrap_or_default();
    let error = failure::error(kind, &call.text(0), details, call.get(3).as_str());
    Err(failure::raised(error))
}

fn catch_errors(_: &PlanHost<'_>, evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let unwind = match evaluator.call_block(call.required_block(), []) {
        Ok(value) => return Ok(value),
        Err(unwind) => unwind,
    };
    let Some(error) = failure::caught(&unwind) else {
        return Err(unwind);
    };
    let kind = failure::attribute(error, "kind");
    // An empty list names no kind, as in Bolt.
    let is_meant = match call.get(0) {
        Value::Array(kinds) => kinds.contains(&kind),
        _ => true,
    };
    match is_meant {
        true => Ok(error.clone()),
        false => Err(unwind),
    }
}

fn sleep(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let is_negative = match call.get(0) {
        Value::Int(seconds) => *seconds < 0,
        Value::Float(seconds) => *seconds < 0.0,
        _ => false,
    };
    if is_negative {
        return evaluator::raise("time interval must not be negative");
    }
    let time = seconds("the time to sleep", call.get(0))?;
    host.sleep(&call.place(), time)?;
    Ok(Value::Undef)
}

fn do_until(host: &PlanHost<'_>, evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let options = call.hash(0);
    let given = |name: &str| options.get_str(name).filter(|value| !value.is_undef());
    let limit = match given("limit") {
        Some(Value::Int(limit)) if *limit > 0 => limit.unsigned_abs(),
        Some(Value::Int(0)) | None => DO_UNTIL_CALLS,
        Some(other) => {
            let msg = format!("ctrl::do_until: limit is a number of calls from 0, not {other}");
            return Err(failure::invalid(msg));
        }
    };
    let interval = match given("interval") {
        Some(value) => seconds("interval", value)?,
        None => Duration::ZERO,
    };
    let block = call.required_block();
    for count in 1.. {
        let value = evaluator.call_block(block, [])?;
        if let Some(preview) = &host.preview
            && (value.is_unknown() || !value.is_truthy())
        {
            return until(host, preview, &call, value);
        }
        if value.is_truthy() || (count >= limit && given("limit").is_some()) {
            return Ok(value);
        }
        if count >= limit {
            let msg = format!("ctrl::do_until: the block was false {limit} times");
            return Err(failure::plain("tutti/do-until-limit", msg));
        }
        if interval > Duration::ZERO {
            host.sleep(&call.place(), interval)?;
        }
    }
    Ok(Value::Undef)
}

/// In a preview the block is called once.
fn until(host: &PlanHost<'_>, preview: &Preview, call: &CallArguments<'_>, value: Value) -> Eval {
    if value.is_unknown() {
        let how = "as if the block had given true";
        host.goes_on(std::slice::from_ref(&value), &call.place(), how)?;
        return Ok(value);
    }
    let effect = Effect {
        function: call.name,
        object: "would call its block again, until it is true",
        ..Effect::default()
    };
    let number = preview.show(host, &call.place(), &effect, false)?;
    Ok(Value::object(Unknown::of(number)))
}

/// The log of the server does not concern the plan.
fn without_default_logging(
    _: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> Eval {
    evaluator.call_block(call.required_block(), [])
}
