//! `tree_each`: visits a collection and everything in it, with the path to each value.

use std::collections::VecDeque;

use pcore::{Type, Value};

use crate::Evaluator;
use crate::error::{EvalResult, EvalUnwind, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use crate::iteration::ElementIteration;
use crate::iterator::LazyIterator;

const TREE: &str = "Variant[Iterator, Array, Hash, Object]";
const OPTIONS: &[(&str, &str)] = &[(
    "OptionsType",
    "Struct[{container_type => Optional[Type], include_root => Optional[Boolean], include_containers => Optional[Boolean], include_values => Optional[Boolean], order => Optional[Enum[depth_first, breadth_first]], include_refs => Optional[Boolean]}]",
)];

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "tree_each",
    &[
        FunctionDispatch::new(
            &[one(TREE, "tree"), optional("OptionsType", "options")],
            each_pair,
        )
        .with_block("Callable[2,2]"),
        FunctionDispatch::new(
            &[one(TREE, "tree"), optional("OptionsType", "options")],
            each,
        )
        .with_block("Callable[1,1]"),
        FunctionDispatch::new(
            &[one(TREE, "tree"), optional("OptionsType", "options")],
            tree,
        ),
    ],
)
.with_types(OPTIONS)];

struct TreeOptions {
    containers: Option<Type>,
    with_root: bool,
    with_containers: bool,
    with_values: bool,
    breadth_first: bool,
}

impl TreeOptions {
    fn of(value: &Value) -> EvalResult<Self> {
        let option = |name: &str| value.as_hash().and_then(|it| it.get_str(name)).cloned();
        let flag = |name: &str| option(name).and_then(|it| it.as_bool()).unwrap_or(true);
        let options = Self {
            containers: match option("container_type") {
                Some(Value::Type(ty)) => Some(ty),
                _ => None,
            },
            with_containers: flag("include_containers"),
            with_root: flag("include_containers") && flag("include_root"),
            with_values: flag("include_values"),
            breadth_first: option("order").is_some_and(|it| it.as_str() == Some("breadth_first")),
        };
        if !options.with_containers && !options.with_values {
            return raise("Options 'include_containers' and 'include_values' cannot both be false");
        }
        Ok(options)
    }

    /// Returns the keys of a value that is descended into; `None` for other values.
    fn keys(&self, value: &Value) -> Option<Vec<Value>> {
        if self
            .containers
            .as_ref()
            .is_some_and(|ty| !ty.is_instance(value))
        {
            return None;
        }
        match value {
            Value::Array(elements) => {
                Some((0_i64..).take(elements.len()).map(Value::Int).collect())
            }
            Value::Hash(entries) => Some(entries.keys().cloned().collect()),
            Value::Object(object) => Some(object.init_hash().keys().cloned().collect()),
            _ => None,
        }
    }
}

fn child(value: &Value, key: &Value) -> Value {
    match (value, key) {
        (Value::Array(elements), Value::Int(index)) => crate::evaluator::element(elements, *index),
        (Value::Hash(entries), key) => entries.get(key).cloned().unwrap_or_default(),
        (Value::Object(object), Value::Str(name)) => object.attribute(name).unwrap_or_default(),
        _ => Value::Undef,
    }
}

/// Returns everything in a tree as pairs of path and value.
fn nodes(evaluator: &Evaluator<'_>, call: &CallArguments<'_>) -> EvalResult<Vec<Value>> {
    let options = TreeOptions::of(call.get(1))?;
    let root = call.get(0);
    let mut found = Vec::new();
    let mut waiting: VecDeque<(Vec<Value>, Value)> = VecDeque::new();
    waiting.push_back((Vec::new(), root.clone()));
    while let Some((path, value)) = waiting.pop_front() {
        evaluator.charge(path.len() + 1)?;
        let keys = options.keys(&value);
        let is_wanted = match (&keys, path.is_empty()) {
            (_, true) => options.with_root,
            (Some(_), false) => options.with_containers,
            (None, false) => options.with_values,
        };
        let children: Vec<(Vec<Value>, Value)> = keys
            .unwrap_or_default()
            .into_iter()
            .map(|key| {
                let child = child(&value, &key);
                let mut path = path.clone();
                path.push(key);
                (path, child)
            })
            .collect();
        if options.breadth_first {
            waiting.extend(children);
        } else {
            for child in children.into_iter().rev() {
                waiting.push_front(child);
            }
        }
        if is_wanted {
            found.push(Value::array(vec![Value::array(path), value]));
        }
    }
    Ok(found)
}

fn tree(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let found = nodes(evaluator, &call)?;
    Ok(LazyIterator::value(
        ElementIteration::list(found.into()),
        Type::any(),
    ))
}

fn each(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    for node in nodes(evaluator, &call)? {
        let value = child(&node, &Value::Int(1));
        match evaluator.call_block(call.required_block(), [value]) {
            Err(unwind) if matches!(*unwind, EvalUnwind::Break(_)) => break,
            result => drop(result?),
        }
    }
    Ok(call.take(0))
}

fn each_pair(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    for node in nodes(evaluator, &call)? {
        let (path, value) = (child(&node, &Value::Int(0)), child(&node, &Value::Int(1)));
        match evaluator.call_block(call.required_block(), [path, value]) {
            Err(unwind) if matches!(*unwind, EvalUnwind::Break(_)) => break,
            result => drop(result?),
        }
    }
    Ok(call.take(0))
}
