//! `slice`, `partition`, `group_by`: elements in groups.

use pcore::{Hash, Value};

use super::iterate::{ONE, TWO, check_not_broken, iteration, walk, walk_pairs};
use crate::Evaluator;
use crate::block::CodeBlock;
use crate::error::{EvalResult, EvalUnwind, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "slice",
        &[
            FunctionDispatch::new(
                &[
                    one("Hash[Any, Any]", "hash"),
                    one("Integer[1, default]", "slice_size"),
                ],
                slice,
            )
            .with_optional_block(""),
            FunctionDispatch::new(
                &[
                    one("Iterable", "enumerable"),
                    one("Integer[1, default]", "slice_size"),
                ],
                slice,
            )
            .with_optional_block(""),
        ],
    ),
    FunctionSpec::new(
        "partition",
        &[
            FunctionDispatch::new(&[one("Collection", "collection")], partition)
                .with_block(ONE)
                .returning("Tuple[Array, Array]"),
            FunctionDispatch::new(&[one("Array", "array")], partition_pairs)
                .with_block(TWO)
                .returning("Tuple[Array, Array]"),
            FunctionDispatch::new(&[one("Collection", "collection")], partition_pairs)
                .with_block(TWO)
                .returning("Tuple[Array, Array]"),
        ],
    ),
    FunctionSpec::new(
        "group_by",
        &[
            FunctionDispatch::new(&[one("Collection", "collection")], group_by)
                .with_block(ONE)
                .returning("Hash"),
            FunctionDispatch::new(&[one("Array", "array")], group_by_pairs)
                .with_block(TWO)
                .returning("Hash"),
            FunctionDispatch::new(&[one("Collection", "collection")], group_by_pairs)
                .with_block(TWO)
                .returning("Hash"),
        ],
    ),
];

fn slice(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let size = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    let served = match call.block {
        Some(block) => served_at_once(block, size)?,
        None => 1,
    };
    let filler = match call.get(0) {
        Value::Hash(_) => Value::array(Vec::new()),
        _ => Value::Undef,
    };
    let mut elements = iteration(&call)?;
    let mut slices = Vec::new();
    loop {
        let mut part: Vec<Value> = elements.by_ref().take(size).collect();
        if part.is_empty() {
            break;
        }
        evaluator.charge(part.len())?;
        let Some(block) = call.block else {
            slices.push(Value::array(part));
            continue;
        };
        let result = if served == 1 {
            evaluator.call_block(block, [Value::array(part)])
        } else {
            part.resize(served, filler.clone());
            evaluator.call_block_with(block, part)
        };
        match result {
            Err(unwind) if matches!(*unwind, EvalUnwind::Break(_)) => break,
            result => drop(result?),
        }
    }
    Ok(if call.block.is_some() {
        call.take(0)
    } else {
        Value::array(slices)
    })
}

/// Returns 1 if the block takes a slice as one list, otherwise the number of elements in a slice.
fn served_at_once(block: &CodeBlock, size: usize) -> EvalResult<usize> {
    let names = block.parameter_names();
    let (least, most) = block.arity();
    let served = match block {
        CodeBlock::Puppet(_) if most == Some(least) => least,
        CodeBlock::Puppet(_) => size,
        CodeBlock::Foreign(_) => most.unwrap_or(size),
    };
    if served == 0 {
        return raise("slice(): block must define at least one parameter. Block has 0.");
    }
    if served != 1 && served != size {
        return raise(format!(
            "slice(): block must define one parameter, or the same number of parameters as the given size of the slice ({size}). Block has {served}; {}",
            names.join(", ")
        ));
    }
    Ok(served)
}

fn partition(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        let side = evaluator.call_block(block, [element.clone()])?.is_truthy();
        if side { &mut yes } else { &mut no }.push(element);
        Ok(true)
    })?;
    check_not_broken(&call, broken)?;
    Ok(Value::array(vec![Value::array(yes), Value::array(no)]))
}

fn partition_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_hash = iteration(&call)?.is_hash();
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.charge_element()?;
        let arguments = [first.clone(), second.clone()];
        let side = evaluator.call_block(block, arguments)?.is_truthy();
        let element = if is_hash {
            Value::array(vec![first, second])
        } else {
            second
        };
        if side { &mut yes } else { &mut no }.push(element);
        Ok(true)
    })?;
    check_not_broken(&call, broken)?;
    Ok(Value::array(vec![Value::array(yes), Value::array(no)]))
}

fn group_by(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut groups = ElementGroups::default();
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        let key = evaluator.call_block(block, [element.clone()])?;
        groups.add(key, element);
        Ok(true)
    })?;
    check_not_broken(&call, broken)?;
    Ok(groups.value())
}

fn group_by_pairs(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_hash = iteration(&call)?.is_hash();
    let mut groups = ElementGroups::default();
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.charge_element()?;
        let key = evaluator.call_block(block, [first.clone(), second.clone()])?;
        groups.add(
            key,
            if is_hash {
                Value::array(vec![first, second])
            } else {
                second
            },
        );
        Ok(true)
    })?;
    check_not_broken(&call, broken)?;
    Ok(groups.value())
}

/// Elements grouped by key, in the order in which the keys first occurred.
#[derive(Default)]
struct ElementGroups {
    order: Hash,
    elements: Vec<Vec<Value>>,
}

impl ElementGroups {
    fn add(&mut self, key: Value, element: Value) {
        let index = match self.order.get(&key).and_then(Value::as_int) {
            Some(index) => usize::try_from(index).unwrap_or_default(),
            None => {
                let index = self.elements.len();
                self.order
                    .insert(key, Value::Int(i64::try_from(index).unwrap_or(i64::MAX)));
                self.elements.push(Vec::new());
                index
            }
        };
        if let Some(group) = self.elements.get_mut(index) {
            group.push(element);
        }
    }

    fn value(self) -> Value {
        let groups = self.elements.into_iter().map(Value::array);
        Value::hash(self.order.keys().cloned().zip(groups).collect())
    }
}
