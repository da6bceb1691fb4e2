//! Values of a YAML plan: data with embedded code, which [`embedded_code`] recognizes. Main
//! function: [`evaluate`].

use environments::embedded_code;
use evaluator::{EvalResult, Evaluator, VariableScope};
use pcore::{Hash, Value};
use psych::YamlTreeNode;

/// Evaluates a node, embedded code included.
pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    scope: &VariableScope,
    file: &str,
    node: &YamlTreeNode,
) -> EvalResult {
    match &node.value {
        psych::YamlValue::Sequence(items) => {
            let values = items
                .iter()
                .map(|item| evaluate(evaluator, scope, file, item));
            Ok(Value::array(values.collect::<EvalResult<Vec<_>>>()?))
        }
        psych::YamlValue::Mapping(mapping) => {
            let mut hash = Hash::new();
            for (key, item) in mapping.iter() {
                let value = evaluate(evaluator, scope, file, item)?;
                hash.insert(node_to_value(key), value);
            }
            Ok(Value::hash(hash))
        }
        psych::YamlValue::String(text) => match embedded_code(text, node.style) {
            Some(code) => evaluator.evaluate_in(scope, &code, Some(file)),
            None => Ok(Value::Str(text.clone())),
        },
        _ => Ok(node_to_value(node)),
    }
}

/// Converts a node literally, without evaluating code.
pub(super) fn node_to_value(node: &YamlTreeNode) -> Value {
    match &node.value {
        // Dates and times are read as strings with `psych::YamlLoadOptions::PLAN`.
        psych::YamlValue::Null | psych::YamlValue::Date(_) | psych::YamlValue::Time(_) => {
            Value::Undef
        }
        psych::YamlValue::Bool(flag) => Value::Bool(*flag),
        psych::YamlValue::Integer(number) => Value::Int(*number),
        psych::YamlValue::Float(number) => Value::Float(*number),
        psych::YamlValue::BigInteger(text)
        | psych::YamlValue::String(text)
        | psych::YamlValue::Symbol(text) => Value::Str(text.clone()),
        psych::YamlValue::Binary(bytes) => Value::Binary(pcore::Binary::new(bytes.to_vec())),
        psych::YamlValue::Sequence(items) => {
            Value::array(items.iter().map(node_to_value).collect())
        }
        psych::YamlValue::Mapping(mapping) => {
            let pairs = mapping
                .iter()
                .map(|(key, item)| (node_to_value(key), node_to_value(item)));
            Value::hash(pairs.collect())
        }
    }
}
