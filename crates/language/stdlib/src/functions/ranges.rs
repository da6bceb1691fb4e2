//! `range`: `range(1, 10, 3)`, `range('a', 'e')`, `range('host01-host09')`.

use std::ops::ControlFlow;

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::defaults::RANGE_ELEMENTS_MAX;
use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::numbers::{to_i, value_to_i};
use crate::ruby::successor::upto;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "range" => range;
};

struct RangeArguments {
    from: String,
    to: Value,
    step: usize,
    excludes_end: bool,
}

fn range(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("range", "1")?;
    let range = if old.len() > 1 {
        let step = match old.get(2) {
            Value::Undef => 1,
            step => value_to_i(step)?.unsigned_abs(),
        };
        if step == 0 {
            return raise("range(): 3rd arg (step size) must be a non zero integer (e.g. 1 or -1)");
        }
        RangeArguments {
            from: ruby::to_s(old.get(0)),
            to: old.get(1).clone(),
            step: usize::try_from(step).unwrap_or(usize::MAX),
            excludes_end: false,
        }
    } else {
        written(old.get(0))?
    };
    let elements = if !range.from.is_empty() && range.from.bytes().all(|it| it.is_ascii_digit()) {
        numbers(&range)?
    } else {
        texts(evaluator, &range)?
    };
    evaluator.charge(elements.len())?;
    Ok(Value::array(elements))
}

/// Parses `a..c`, `a...c` and `a-c` from one text.
fn written(value: &Value) -> EvalResult<RangeArguments> {
    let Value::Str(text) = value else {
        return raise(format!(
            "undefined method `match' for {}",
            class_name(value)
        ));
    };
    let is_word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for (sign, excludes_end) in [("...", true), ("..", false), ("-", false)] {
        if let Some((from, to)) = text.split_once(sign)
            && is_word(from)
            && is_word(to)
        {
            return Ok(RangeArguments {
                from: from.to_owned(),
                to: Value::from(to),
                step: 1,
                excludes_end,
            });
        }
    }
    if text.split('\n').any(|line| !line.is_empty()) {
        raise(format!(
            "range(): Unable to compute range from the value: {text}"
        ))
    } else {
        raise(format!("range(): Unknown range format: {text}"))
    }
}

fn numbers(range: &RangeArguments) -> EvalResult<Vec<Value>> {
    let (from, to) = (to_i(&range.from), value_to_i(&range.to)?);
    let last = if range.excludes_end {
        to.saturating_sub(1)
    } else {
        to
    };
    Ok((from..=last)
        .step_by(range.step)
        .take(RANGE_ELEMENTS_MAX)
        .map(Value::Int)
        .collect())
}

fn texts(evaluator: &Evaluator<'_>, range: &RangeArguments) -> EvalResult<Vec<Value>> {
    let mut elements = Vec::new();
    let mut seen = 0_usize;
    let mut stopped = Ok(());
    upto(
        &range.from,
        &ruby::to_s(&range.to),
        range.excludes_end,
        |text| {
            stopped = evaluator
                .charge_bytes(text.len())
                .and_then(|()| evaluator.charge_element());
            if seen.is_multiple_of(range.step) {
                elements.push(Value::from(text));
            }
            seen += 1;
            if stopped.is_err() || elements.len() == RANGE_ELEMENTS_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    stopped.map(|()| elements)
}
