//! `each`, `map`, `filter`, `reduce` and their kin.
//!
//! A block with one parameter gets an element (an entry of a hash as a pair), with two the index and the
//! element, or the key and the value. Invariant: `break` ends those that Puppet lets it end,
//! and no others.

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::block::Block;
use crate::error::{Eval, Unwind, raise};
use crate::function::{CallArguments, Dispatch, FunctionSpec, any, one};
use crate::iteration::Iteration;
use crate::iterator::Iterator;

pub(super) const ONE: &str = "Callable[1,1]";
pub(super) const TWO: &str = "Callable[2,2]";

/// The four forms of functions over hashes and everything else that can be iterated.
macro_rules! forms {
    ($pairs:ident, $singles:ident) => {
        &[
            Dispatch::new(&[one("Hash[Any, Any]", "hash")], $pairs).with_block(TWO),
            Dispatch::new(&[one("Hash[Any, Any]", "hash")], $singles).with_block(ONE),
            Dispatch::new(&[one("Iterable", "enumerable")], $pairs).with_block(TWO),
            Dispatch::new(&[one("Iterable", "enumerable")], $singles).with_block(ONE),
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
            Dispatch::new(&[one("Iterable", "enumerable")], reduce).with_block(TWO),
            Dispatch::new(
                &[one("Iterable", "enumerable"), one("Any", "memo")],
                reduce_from,
            )
            .with_block(TWO),
        ],
    ),
    FunctionSpec::new(
        "reverse_each",
        &[
            Dispatch::new(&[one("Iterable", "iterable")], reversed),
            Dispatch::new(&[one("Iterable", "iterable")], reverse_each).with_block(ONE),
        ],
    ),
    FunctionSpec::new(
        "step",
        &[
            Dispatch::new(
                &[one("Iterable", "iterable"), one("Integer[1]", "step")],
                stepped,
            ),
            Dispatch::new(
                &[one("Iterable", "iterable"), one("Integer[1]", "step")],
                step,
            )
            .with_block(ONE),
        ],
    ),
    FunctionSpec::new(
        "with",
        &[Dispatch::new(&[any("Any", "arg")], with).with_block("")],
    ),
    FunctionSpec::new(
        "then",
        &[Dispatch::new(&[one("Any", "arg")], then).with_block(ONE)],
    ),
    FunctionSpec::new(
        "lest",
        &[Dispatch::new(&[one("Any", "arg")], lest).with_block("Callable[0,0]")],
    ),
];

/// The sequence that a call iterates over.
pub(super) fn iteration(call: &CallArguments<'_>) -> Eval<Iteration> {
    match Iteration::over(call.get(0)) {
        Some(iteration) => Ok(iteration),
        None => raise(format!(
            "{}(): wrong argument type ({}; is not Iterable.",
            call.name,
            crate::label::ruby_class(call.get(0))
        )),
    }
}

/// Goes through a value until the block says that it is enough. True if it ended with `break`.
pub(super) fn walk(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    mut visit: impl FnMut(&mut Evaluator<'_>, &Block, Value) -> Eval<bool>,
) -> Eval<bool> {
    let block = call.required_block();
    for element in iteration(call)? {
        match visit(evaluator, block, element) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(unwind) if matches!(*unwind, Unwind::Break(_)) => return Ok(true),
            Err(unwind) => return Err(unwind),
        }
    }
    Ok(false)
}

/// The same with an index, or with key and value.
pub(super) fn walk_pairs(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    mut visit: impl FnMut(&mut Evaluator<'_>, &Block, Value, Value) -> Eval<bool>,
) -> Eval<bool> {
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

/// For those that `break` does not end but leave: it goes on to whatever is around them.
pub(super) fn unbroken(call: &CallArguments<'_>, broken: bool) -> Eval<()> {
    if broken {
        let jump = crate::error::Jump {
            value: Value::Undef,
            place: call.place(),
        };
        return Err(Box::new(Unwind::Break(jump)));
    }
    Ok(())
}

fn each(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> Eval {
    let sweep = evaluator.sweep();
    walk(evaluator, &call, |evaluator, block, element| {
        evaluator.call_block(block, [element])?;
        sweep.hold_nothing(evaluator).map(|()| true)
    })?;
    Ok(call.take(0))
}

fn each_pair(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> Eval {
    let sweep = evaluator.sweep();
    walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.call_block(block, [first, second])?;
        sweep.hold_nothing(evaluator).map(|()| true)
    })?;
    Ok(call.take(0))
}

fn map(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let mut made = Vec::new();
    walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        made.push(evaluator.call_block(block, [element])?);
        Ok(true)
    })?;
    Ok(Value::array(made))
}

fn map_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let mut made = Vec::new();
    walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.charge_element()?;
        made.push(evaluator.call_block(block, [first, second])?);
        Ok(true)
    })?;
    Ok(Value::array(made))
}

fn filter(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let mut kept =
        FilteredElements::like(&iteration(&call)?, matches!(call.get(0), Value::Hash(_)));
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        if evaluator.call_block(block, [element.clone()])?.is_truthy() {
            kept.keep(element);
        }
        Ok(true)
    })?;
    unbroken(
        &call,
        broken && matches!(kept, FilteredElements::Entries(_)),
    )?;
    Ok(kept.value())
}

fn filter_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
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
    unbroken(&call, broken && is_hash)?;
    Ok(kept.value())
}

/// Elements kept by a filter: a hash stays a hash.
enum FilteredElements {
    Elements(Vec<Value>),
    Entries(Hash),
}

impl FilteredElements {
    fn like(iteration: &Iteration, as_hash: bool) -> Self {
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

fn reduce(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let mut memo = None;
    let mut sweep = evaluator.sweep();
    walk(evaluator, &call, |evaluator, block, element| {
        // a block that breaks leaves what there was
        let next = match memo.clone() {
            None => element,
            Some(memo) => evaluator.call_block(block, [memo, element])?,
        };
        sweep.hold(evaluator, memo.insert(next)).map(|()| true)
    })?;
    Ok(memo.unwrap_or_default())
}

fn reduce_from(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> Eval {
    let mut memo = call.take(1);
    let mut sweep = evaluator.sweep();
    walk(evaluator, &call, |evaluator, block, element| {
        memo = evaluator.call_block(block, [memo.clone(), element])?;
        sweep.hold(evaluator, &memo).map(|()| true)
    })?;
    Ok(memo)
}

fn reversed(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let elements = iteration(&call)?;
    let element = elements.element_type();
    Ok(Iterator::value(elements.reversed(), element))
}

fn reverse_each(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let elements = iteration(&call)?.reversed();
    visit_all(evaluator, &call, elements)
}

fn stepped(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let every = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    let elements = iteration(&call)?.stepped(every);
    let element = elements.element_type();
    Ok(Iterator::value(elements, element))
}

fn step(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let every = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    let elements = iteration(&call)?.stepped(every);
    visit_all(evaluator, &call, elements)
}

fn visit_all(evaluator: &mut Evaluator<'_>, call: &CallArguments<'_>, elements: Iteration) -> Eval {
    let block = call.required_block();
    let sweep = evaluator.sweep();
    for element in elements {
        match evaluator.call_block(block, [element]) {
            Err(unwind) if matches!(*unwind, Unwind::Break(_)) => break,
            result => drop(result?),
        }
        sweep.hold_nothing(evaluator)?;
    }
    Ok(Value::Undef)
}

fn with(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    evaluator.call_block_with(call.required_block(), call.arguments)
}

fn then(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> Eval {
    match call.take(0) {
        Value::Undef => Ok(Value::Undef),
        value => evaluator.call_block(call.required_block(), [value]),
    }
}

fn lest(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> Eval {
    match call.take(0) {
        Value::Undef => evaluator.call_block(call.required_block(), []),
        value => Ok(value),
    }
}
