//! `to_yaml` in the format of Ruby's Psych.

use std::sync::Arc;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Hash, Value};
use psych::{EmitLayout, ScalarStyle, YamlMapping, YamlTreeNode, emit};

use super::sensitive::write_unwrapped;
use crate::defaults::NESTING_MAX;

macro_rules! forms {
    () => {
        &[FunctionDispatch::new(
            &[one("Any", "data"), optional("Hash", "options")],
            to_yaml,
        )]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("to_yaml", forms!()),
    FunctionSpec::new("stdlib::to_yaml", forms!()),
];

fn to_yaml(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let layout = layout(&call.hash(1))?;
    write_unwrapped(evaluator, call.get(0), |value| {
        let tree = tree(evaluator, value, 0)?;
        emit(&tree, layout).or_else(|error| raise(error.to_string()))
    })
}

/// Unknown options are ignored, as in Psych; options that would change the notation in other ways
/// are refused.
fn layout(options: &Hash) -> EvalResult<EmitLayout> {
    let mut layout = EmitLayout::default();
    for (name, value) in options.iter() {
        match (name.as_str().unwrap_or_default(), value) {
            ("indentation", Value::Int(columns)) => {
                layout.indentation = usize::try_from(*columns).unwrap_or_default();
            }
            ("line_width", Value::Int(width)) => layout.line_width = Some(*width),
            (name @ ("indentation" | "line_width" | "canonical" | "header" | "version"), _) => {
                return raise(format!(
                    "to_yaml(): the option '{name}' cannot be {}: only indentation and line_width, as integers, are known",
                    value.to_program_string()
                ));
            }
            _ => {}
        }
    }
    Ok(layout)
}

/// The tree that Psych writes for a value. A value that is not data has a form that only Ruby
/// reads, so it becomes a text.
fn tree(evaluator: &Evaluator<'_>, value: &Value, depth: usize) -> EvalResult<psych::YamlValue> {
    evaluator.charge_element()?;
    if depth > NESTING_MAX {
        return raise(format!(
            "collections are nested deeper than {NESTING_MAX} levels"
        ));
    }
    Ok(match value {
        Value::Undef => psych::YamlValue::Null,
        Value::Default => psych::YamlValue::Symbol("default".into()),
        Value::Bool(flag) => psych::YamlValue::Bool(*flag),
        Value::Int(number) => psych::YamlValue::Integer(*number),
        Value::Float(number) => psych::YamlValue::Float(*number),
        Value::Str(text) => psych::YamlValue::String(Arc::clone(text)),
        Value::Binary(bytes) => psych::YamlValue::Binary(bytes.bytes().into()),
        Value::Array(list) => {
            let mut items = Vec::with_capacity(list.len());
            for it in list.iter() {
                items.push(node(tree(evaluator, it, depth + 1)?));
            }
            psych::YamlValue::Sequence(Arc::new(items))
        }
        Value::Hash(entries) => {
            let mut mapping = YamlMapping::with_capacity(entries.len());
            for (key, it) in entries.iter() {
                let key = node(tree(evaluator, key, depth + 1)?);
                mapping.insert(key, node(tree(evaluator, it, depth + 1)?));
            }
            psych::YamlValue::Mapping(Arc::new(mapping))
        }
        other => psych::YamlValue::String(other.to_string().into()),
    })
}

fn node(value: psych::YamlValue) -> YamlTreeNode {
    YamlTreeNode {
        value,
        line: 0,
        column: 0,
        style: ScalarStyle::Plain,
    }
}
