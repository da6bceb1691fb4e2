//! `each`, `map`, `filter`, `reduce` and their kin.
//!
//! A block with one parameter gets an element (an entry of a hash as a pair), with two the index and the
//! element, or the key and the value. The rule that must hold: `break` ends those that Puppet lets it end,
//! and no others.

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::block::Block;
use crate::error::{Eval, Unwind, raise};
use crate::function::{Call, Form, Function, any, one};
use crate::iteration::Iteration;
use crate::iterator::Iterator;

const ONE: &str = "Callable[1,1]";
const TWO: &str = "Callable[2,2]";

/// The four forms of functions over hashes and everything else that can be iterated.
macro_rules! forms {
    ($pairs:ident, $singles:ident) => {
        &[
            Form::new(&[one("Hash[Any, Any]", "hash")], $pairs).with_block(TWO),
            Form::new(&[one("Hash[Any, Any]", "hash")], $singles).with_block(ONE),
            Form::new(&[one("Iterable", "enumerable")], $pairs).with_block(TWO),
            Form::new(&[one("Iterable", "enumerable")], $singles).with_block(ONE),
        ]
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("each", forms!(each_pair, each)),
    Function::new("map", forms!(map_pairs, map)),
    Function::new("filter", forms!(filter_pairs, filter)),
    Function::new("all", forms!(all_pairs, all)),
    Function::new("any", forms!(any_pair, any_of)),
    Function::new(
        "reduce",
        &[
            Form::new(&[one("Iterable", "enumerable")], reduce).with_block(TWO),
            Form::new(
                &[one("Iterable", "enumerable"), one("Any", "memo")],
                reduce_from,
            )
            .with_block(TWO),
        ],
    ),
    Function::new(
        "slice",
        &[
            Form::new(
                &[
                    one("Hash[Any, Any]", "hash"),
                    one("Integer[1, default]", "slice_size"),
                ],
                slice,
            )
            .with_optional_block(""),
            Form::new(
                &[
                    one("Iterable", "enumerable"),
                    one("Integer[1, default]", "slice_size"),
                ],
                slice,
            )
            .with_optional_block(""),
        ],
    ),
    Function::new(
        "reverse_each",
        &[
            Form::new(&[one("Iterable", "iterable")], reversed),
            Form::new(&[one("Iterable", "iterable")], reverse_each).with_block(ONE),
        ],
    ),
    Function::new(
        "step",
        &[
            Form::new(
                &[one("Iterable", "iterable"), one("Integer[1]", "step")],
                stepped,
            ),
            Form::new(
                &[one("Iterable", "iterable"), one("Integer[1]", "step")],
                step,
            )
            .with_block(ONE),
        ],
    ),
    Function::new(
        "with",
        &[Form::new(&[any("Any", "arg")], with).with_block("")],
    ),
    Function::new(
        "then",
        &[Form::new(&[one("Any", "arg")], then).with_block(ONE)],
    ),
    Function::new(
        "lest",
        &[Form::new(&[one("Any", "arg")], lest).with_block("Callable[0,0]")],
    ),
    Function::new(
        "partition",
        &[
            Form::new(&[one("Collection", "collection")], partition)
                .with_block(ONE)
                .returning("Tuple[Array, Array]"),
            Form::new(&[one("Array", "array")], partition_pairs)
                .with_block(TWO)
                .returning("Tuple[Array, Array]"),
            Form::new(&[one("Collection", "collection")], partition_pairs)
                .with_block(TWO)
                .returning("Tuple[Array, Array]"),
        ],
    ),
    Function::new(
        "group_by",
        &[
            Form::new(&[one("Collection", "collection")], group_by)
                .with_block(ONE)
                .returning("Hash"),
            Form::new(&[one("Array", "array")], group_by_pairs)
                .with_block(TWO)
                .returning("Hash"),
            Form::new(&[one("Collection", "collection")], group_by_pairs)
                .with_block(TWO)
                .returning("Hash"),
        ],
    ),
    Function::new(
        "index",
        &[
            Form::new(&[one("Hash[Any, Any]", "hash")], index_pairs).with_block(TWO),
            Form::new(&[one("Hash[Any, Any]", "hash")], index).with_block(ONE),
            Form::new(&[one("Iterable", "enumerable")], index_pairs).with_block(TWO),
            Form::new(&[one("Iterable", "enumerable")], index).with_block(ONE),
            Form::new(
                &[one("String", "str"), one("Variant[String,Regexp]", "match")],
                index_in_text,
            ),
            Form::new(
                &[one("Iterable", "enumerable"), one("Any", "match")],
                index_of,
            ),
        ],
    ),
];

/// What a call goes through.
fn iteration(call: &Call<'_>) -> Eval<Iteration> {
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
fn walk(
    evaluator: &mut Evaluator,
    call: &Call<'_>,
    mut visit: impl FnMut(&mut Evaluator, &Block, Value) -> Eval<bool>,
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
fn walk_pairs(
    evaluator: &mut Evaluator,
    call: &Call<'_>,
    mut visit: impl FnMut(&mut Evaluator, &Block, Value, Value) -> Eval<bool>,
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

fn pair(entry: Value) -> (Value, Value) {
    match entry {
        Value::Array(parts) => match parts.as_slice() {
            [key, value] => (key.clone(), value.clone()),
            _ => (Value::Undef, Value::Undef),
        },
        other => (other, Value::Undef),
    }
}

/// For those that `break` does not end but leave: it goes on to whatever is around them.
fn unbroken(call: &Call<'_>, broken: bool) -> Eval<()> {
    if broken {
        let jump = crate::error::Jump {
            value: Value::Undef,
            place: call.place(),
        };
        return Err(Box::new(Unwind::Break(jump)));
    }
    Ok(())
}

fn each(evaluator: &mut Evaluator, mut call: Call<'_>) -> Eval {
    walk(evaluator, &call, |evaluator, block, element| {
        evaluator.call_block(block, [element]).map(|_| true)
    })?;
    Ok(call.take(0))
}

fn each_pair(evaluator: &mut Evaluator, mut call: Call<'_>) -> Eval {
    walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.call_block(block, [first, second]).map(|_| true)
    })?;
    Ok(call.take(0))
}

fn map(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut made = Vec::new();
    walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        made.push(evaluator.call_block(block, [element])?);
        Ok(true)
    })?;
    Ok(Value::array(made))
}

fn map_pairs(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut made = Vec::new();
    walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        evaluator.charge_element()?;
        made.push(evaluator.call_block(block, [first, second])?);
        Ok(true)
    })?;
    Ok(Value::array(made))
}

fn filter(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut kept = Kept::like(&iteration(&call)?, matches!(call.get(0), Value::Hash(_)));
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        if evaluator.call_block(block, [element.clone()])?.is_truthy() {
            kept.keep(element);
        }
        Ok(true)
    })?;
    unbroken(&call, broken && matches!(kept, Kept::Entries(_)))?;
    Ok(kept.value())
}

fn filter_pairs(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let is_hash = iteration(&call)?.is_hash();
    let mut kept = Kept::like(&iteration(&call)?, is_hash);
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

/// What a filter keeps: entries of a hash stay one.
enum Kept {
    Elements(Vec<Value>),
    Entries(Hash),
}

impl Kept {
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

fn all(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut result = true;
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        result = evaluator.call_block(block, [element])?.is_truthy();
        Ok(result)
    })?;
    unbroken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn all_pairs(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut result = true;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        result = evaluator.call_block(block, [first, second])?.is_truthy();
        Ok(result)
    })?;
    unbroken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn any_of(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut result = false;
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        result = evaluator.call_block(block, [element])?.is_truthy();
        Ok(!result)
    })?;
    unbroken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn any_pair(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut result = false;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        result = evaluator.call_block(block, [first, second])?.is_truthy();
        Ok(!result)
    })?;
    unbroken(&call, broken)?;
    Ok(Value::Bool(result))
}

fn reduce(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut memo = None;
    walk(evaluator, &call, |evaluator, block, element| {
        memo = Some(match memo.clone() {
            None => element,
            Some(memo) => evaluator.call_block(block, [memo, element])?,
        });
        Ok(true)
    })?;
    Ok(memo.unwrap_or_default())
}

fn reduce_from(evaluator: &mut Evaluator, mut call: Call<'_>) -> Eval {
    let mut memo = call.take(1);
    walk(evaluator, &call, |evaluator, block, element| {
        memo = evaluator.call_block(block, [memo.clone(), element])?;
        Ok(true)
    })?;
    Ok(memo)
}

fn slice(evaluator: &mut Evaluator, mut call: Call<'_>) -> Eval {
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
            Err(unwind) if matches!(*unwind, Unwind::Break(_)) => break,
            result => drop(result?),
        }
    }
    Ok(if call.block.is_some() {
        call.take(0)
    } else {
        Value::array(slices)
    })
}

/// Whether a block takes a slice as one list, or its elements.
fn served_at_once(block: &Block, size: usize) -> Eval<usize> {
    let names = block.parameter_names();
    let (least, most) = block.arity();
    let served = if most == Some(least) { least } else { size };
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

fn reversed(_: &mut Evaluator, call: Call<'_>) -> Eval {
    Ok(Iterator::value(iteration(&call)?.reversed()))
}

fn reverse_each(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let elements = iteration(&call)?.reversed();
    visit_all(evaluator, &call, elements)
}

fn stepped(_: &mut Evaluator, call: Call<'_>) -> Eval {
    let every = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    Ok(Iterator::value(iteration(&call)?.stepped(every)))
}

fn step(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let every = usize::try_from(call.int(1)).unwrap_or(usize::MAX);
    let elements = iteration(&call)?.stepped(every);
    visit_all(evaluator, &call, elements)
}

fn visit_all(evaluator: &mut Evaluator, call: &Call<'_>, elements: Iteration) -> Eval {
    let block = call.required_block();
    for element in elements {
        match evaluator.call_block(block, [element]) {
            Err(unwind) if matches!(*unwind, Unwind::Break(_)) => break,
            result => drop(result?),
        }
    }
    Ok(Value::Undef)
}

fn with(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    evaluator.call_block_with(call.required_block(), call.arguments)
}

fn then(evaluator: &mut Evaluator, mut call: Call<'_>) -> Eval {
    match call.take(0) {
        Value::Undef => Ok(Value::Undef),
        value => evaluator.call_block(call.required_block(), [value]),
    }
}

fn lest(evaluator: &mut Evaluator, mut call: Call<'_>) -> Eval {
    match call.take(0) {
        Value::Undef => evaluator.call_block(call.required_block(), []),
        value => Ok(value),
    }
}

fn partition(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        let side = evaluator.call_block(block, [element.clone()])?.is_truthy();
        if side { &mut yes } else { &mut no }.push(element);
        Ok(true)
    })?;
    unbroken(&call, broken)?;
    Ok(Value::array(vec![Value::array(yes), Value::array(no)]))
}

fn partition_pairs(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
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
    unbroken(&call, broken)?;
    Ok(Value::array(vec![Value::array(yes), Value::array(no)]))
}

fn group_by(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut groups = Groups::default();
    let broken = walk(evaluator, &call, |evaluator, block, element| {
        evaluator.charge_element()?;
        let key = evaluator.call_block(block, [element.clone()])?;
        groups.add(key, element);
        Ok(true)
    })?;
    unbroken(&call, broken)?;
    Ok(groups.value())
}

fn group_by_pairs(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let is_hash = iteration(&call)?.is_hash();
    let mut groups = Groups::default();
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
    unbroken(&call, broken)?;
    Ok(groups.value())
}

/// Elements by a key, in the order in which keys came.
#[derive(Default)]
struct Groups {
    order: Hash,
    elements: Vec<Vec<Value>>,
}

impl Groups {
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

fn index(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut found = Value::Undef;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        if evaluator.call_block(block, [second])?.is_truthy() {
            found = first;
            return Ok(false);
        }
        Ok(true)
    })?;
    unbroken(&call, broken)?;
    Ok(found)
}

fn index_pairs(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let mut found = Value::Undef;
    let broken = walk_pairs(evaluator, &call, |evaluator, block, first, second| {
        if evaluator
            .call_block(block, [first.clone(), second])?
            .is_truthy()
        {
            found = first;
            return Ok(false);
        }
        Ok(true)
    })?;
    unbroken(&call, broken)?;
    Ok(found)
}

fn index_in_text(evaluator: &mut Evaluator, call: Call<'_>) -> Eval {
    let text = call.text(0);
    let start = match call.get(1) {
        Value::Str(part) => text.find(&**part),
        Value::Regexp(pattern) => match evaluator.regex(pattern.source())?.captures(&text) {
            Ok(found) => found.and_then(|it| it.span(0)).map(|it| it.start),
            Err(error) => return raise(error.to_string()),
        },
        _ => None,
    };
    let letters = start
        .and_then(|start| text.get(..start))
        .map(|it| it.chars().count());
    Ok(letters
        .and_then(|it| i64::try_from(it).ok())
        .map_or(Value::Undef, Value::Int))
}

fn index_of(_: &mut Evaluator, call: Call<'_>) -> Eval {
    let elements = iteration(&call)?;
    let is_hash = elements.is_hash();
    for (index, element) in (0..).zip(elements) {
        let (key, element) = if is_hash {
            pair(element)
        } else {
            (Value::Int(index), element)
        };
        if crate::ruby::equal(&element, call.get(1)) {
            return Ok(key);
        }
    }
    Ok(Value::Undef)
}
