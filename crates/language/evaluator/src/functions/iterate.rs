//! `each`, `map`, `filter`, `reduce` and similar functions.
//!
//! A block with one parameter gets an element (an entry of a hash as a pair); with two parameters
//! the index and the element, or the key and the value. Invariant: `break` ends the functions that
//! it ends in Puppet, and no others.

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::block::CodeBlock;
use crate::error::{EvalResult, EvalUnwind, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use crate::iteration::ElementIteration;
use crate::iterator::LazyIterator;

pub(super) const ONE: &str = "Callable[1,1]";
pub(super) const TWO: &str = "Callable[2,2]";

/// The four signatures of functions over hashes and other iterable values.
macro_rules! forms {
    ($pairs:ident, $singles:ident) => {
        &[
            FunctionDispatch::new(&[one("Hash[Any, Any]", "hash")], $pairs).with_block(TWO),
            FunctionDispatch::new(&[one("Hash[Any, Any]", "hash")], $singles).with_block(ONE),
            FunctionDispatch::new(&[one("Iterable", "enumerable")], $pairs).with_block(TWO),
            FunctionDispatch::new(&[one("Iterable", "enumerable")], $singles).with_block(ONE),
        ]
    };
}
pub(super) use forms;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("each", forms!(each_pair, each)),
    FunctionSpec::new("map", forms!(map_pairs, map)),
    FunctionSpec::new("filter", forms!(filter_pairs, filter)),
    FunctionSpec::new(
        "reduce",
        &[
            FunctionDispatch::new(&[one("Iterable", "enumerable")], reduce).with_block(TWO),
            FunctionDispatch::new(
                &[one("Iterable", "enumerable"), one("Any", "memo")],
                reduce_from,
            )
            .with_block(TWO),
        ],
    ),
    FunctionSpec::new(
        "reverse_each",
        &[
            FunctionDispatch::new(&[one("Iterable", "iterable")], reversed),
            FunctionDispatch::new(&[one("Iterable", "iterable")], reverse_each).with_block(ONE),
        ],
    ),
    FunctionSpec::new(
        "step",
        &[
            FunctionDispatch::new(
                &[one("Iterable", "iterable"), one("Integer[1]", "step")],
                stepped,
            ),
            FunctionDispatch::new(
                &[one("Iterable", "iterable"), one("Integer[1]", "step")],
                step,
            )
            .with_block(ONE),
        ],
    ),
    FunctionSpec::new(
        "with",
        &[FunctionDispatch::new(&[any("Any", "arg")], with).with_block("")],
    ),
    FunctionSpec::new(
        "then",
        &[FunctionDispatch::new(&[one("Any", "arg")], then).with_block(ONE)],
    ),
    FunctionSpec::new(
        "lest",
        &[FunctionDispatch::new(&[one("Any", "arg")], lest).with_block("Callable[0,0]")],
    ),
];

/// Returns the elements that a call iterates over.
pub(super) fn iteration(call: &CallArguments<'_>) -> EvalResult<ElementIteration> {
    match ElementIteration::over_value(call.get(0)) {
        Some(iteration) => Ok(iteration),
        None => raise(format!(
            "{}(): wrong argument type ({}; is not Iterable.",
            call.name,
            crate::label::ruby_class(call.get(0))
        )),
    }
}

/// Visits the elements until `visit` returns false. Returns true if `break` ended the iteration.
pub(super) fn walk(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    mut visit: impl FnMut(&mut Evaluator<'_>, &CodeBlock, Value) -> EvalResult<bool>,
) -> EvalResult<bool> {
    let block = call.required_block();
    for element in iteration(call)? {
        match visit(evaluator, block, element) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(unwind) if matches!(*unwind, EvalUnwind::Break(_)) => return Ok(true),
            Err(unwind) => return Err(unwind),
        }
    }
    Ok(false)
}

/// Like [`walk`], but visits index and element, or key and value.
pub(super) fn walk_pairs(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    mut visit: impl FnMut(&mut Evaluator<'_>, &CodeBlock, Value, Value) -> EvalResult<bool>,
) -> EvalResult<bool> {
    let is_hash = iteration(call)?.is_hash();
    let mut index = 0;
    walk(evaluator, call, |evaluator, block, element| {
        let (first, second) = if is_hash {
            pair(element)
        } else {
            (Value::Int(index), element)
        };
        index += 1;
        visit(evaluator, block, first, second)
    })
}

pub(super) fn pair(entry: Value) -> (Value, Value) {
    match entry {
        Value::Array(parts) => match parts.as_slice() {
            [key, value] => (key.clone(), value.clone()),
            _ => (Value::Undef, Value::Undef),
        },
        other => (other, Value::Undef),
    }
}

/// Passes a `break` on to the surrounding construct, for functions that `break` does not end.
pub(super) fn check_not_broken(call: &CallArguments<'_>, broken: bool) -> EvalResult<()> {
    if broken {
        let jump = crate::error::ControlJump {
            value: Value::Undef,
            location: call.location(),
        };
        return Err(Box::new(EvalUnwind::Break(jump)));
    }
    Ok(())
}

fn each(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let sweep = evaluator.sweep();
    walk(evaluator, &call, |evaluator, block, element| {
        evaluator.call_block(block, [element])?;
        sweep.charge_nothing(evaluator).map(|()| true)
    })?;
    Ok(call.take(0))
}

fn each_pair(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let sweep = evaluator.sweep();
    walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.call_block(block, [first, second])?;
        sweep.charge_nothing(evaluator).map(|()| true)
    })?;
    Ok(call.take(0))
}

fn map(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut made = Vec::new();
    walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        made.push(evaluator.call_block(block, [element])?);
        Ok(true)
    })?;
    Ok(Value::array(made))
}

fn map_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut made = Vec::new();
    walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.charge_element()?;
        made.push(evaluator.call_block(block, [first, second])?);
        Ok(true)
    })?;
    Ok(Value::array(made))
}

fn filter(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut kept =
        FilteredElements::like(&iteration(&call)?, matches!(call.get(0), Value::Hash(_)));
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        if evaluator.call_block(block, [element.clone()])?.is_truthy() {
            kept.keep(element);
        }
        Ok(true)
    })?;
    check_not_broken(
        &call,
        broken && matches!(kept, FilteredElements::Entries(_)),
    )?;
    Ok(kept.value())
}

fn filter_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_hash = iteration(&call)?.is_hash();
    let mut kept = FilteredElements::like(&iteration(&call)?, is_hash);
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.charge_element()?;
        let arguments = [first.clone(), second.clone()];
        if evaluator.call_block(block, arguments)?.is_truthy() {
            if is_hash {
                kept.keep(Value::array(vec![first, second]));
            } else {
                kept.keep(second);
            }
        }
        Ok(true)
    })?;
    check_not_broken(&call, broken && is_hash)?;
    Ok(kept.value())
}

/// The elements that a filter keeps; a hash stays a hash.
enum FilteredElements {
    Elements(Vec<Value>),
    Entries(Hash),
}

impl FilteredElements {
    fn like(iteration: &ElementIteration, as_hash: bool) -> Self {
        if iteration.is_hash() && as_hash {
            Self::Entries(Hash::new())
        } else {
            Self::Elements(Vec::new())
        }
    }

    fn keep(&mut self, element: Value) {
        match self {
            Self::Elements(elements) => elements.push(element),
            Self::Entries(entries) => {
                let (key, value) = pair(element);
                entries.insert(key, value);
            }
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Elements(elements) => Value::array(elements),
            Self::Entries(entries) => Value::hash(entries),
        }
    }
}

fn reduce(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut memo = None;
    let mut sweep = evaluator.sweep();
    walk(evaluator, &call, |evaluator, block, element| {
        // If the block breaks, the memo keeps its value.
        let next = match memo.clone() {
            None => element,
            Some(memo) => evaluator.call_block(block, [memo, element])?,
        };
        sweep
            .charge_value(evaluator, memo.insert(next))
            .map(|()| true)
    })?;
    Ok(memo.unwrap_or_default())
}

fn reduce_from(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let mut memo = call.take(1);
    let mut sweep = evaluator.sweep();
    walk(evaluator, &call, |evaluator, block, element| {
        memo = evaluator.call_block(block, [memo.clone(), element])?;
        sweep.charge_value(evaluator, &memo).map(|()| true)
    })?;
    Ok(memo)
}

fn reversed(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let elements = iteration(&call)?;
    let element = elements.element_type();
    Ok(LazyIterator::value(elements.reversed(), element))
}

fn reverse_each(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let elements = iteration(&call)?.reversed();
    visit_all(evaluator, &call, elements)
}

fn stepped(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let every = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    let elements = iteration(&call)?.stepped(every);
    let element = elements.element_type();
    Ok(LazyIterator::value(elements, element))
}

fn step(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let every = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    let elements = iteration(&call)?.stepped(every);
    visit_all(evaluator, &call, elements)
}

fn visit_all(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    elements: ElementIteration,
) -> EvalResult {
    let block = call.required_block();
    let sweep = evaluator.sweep();
    for element in elements {
        match evaluator.call_block(block, [element]) {
            Err(unwind) if matches!(*unwind, EvalUnwind::Break(_)) => break,
            result => drop(result?),
        }
        sweep.charge_nothing(evaluator)?;
    }
    Ok(Value::Undef)
}

fn with(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    evaluator.call_block_with(call.required_block(), call.arguments)
}

fn then(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    match call.take(0) {
        Value::Undef => Ok(Value::Undef),
        value => evaluator.call_block(call.required_block(), [value]),
    }
}

fn lest(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    match call.take(0) {
        Value::Undef => evaluator.call_block(call.required_block(), []),
        value => Ok(value),
    }
}
