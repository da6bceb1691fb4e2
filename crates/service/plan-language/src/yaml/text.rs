//! Values of a YAML plan: data, in which [`code_of`] tells the texts that are evaluated. Main function:
//! [`evaluate`].

use environments::code_of;
use evaluator::{Eval, Evaluator, VariableScope};
use pcore::{Hash, Value};
use psych::Node;

/// The value of a node.
pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    scope: &VariableScope,
    file: &str,
    node: &Node,
) -> Eval {
    match &node.value {
        psych::Value::Sequence(items) => {
            let values = items
                .iter()
                .map(|item| evaluate(evaluator, scope, file, item));
            Ok(Value::array(values.collect::<Eval<Vec<_>>>()?))
        }
        psych::Value::Mapping(mapping) => {
            let mut hash = Hash::new();
            for (key, item) in mapping.iter() {
                let value = evaluate(evaluator, scope, file, item)?;
                hash.insert(data(key), value);
            }
            Ok(Value::hash(hash))
        }
        psych::Value::String(text) => match code_of(text, node.style) {
            Some(code) => evaluator.evaluate_in(scope, &code, Some(file)),
            None => Ok(Value::Str(text.clone())),
        },
        _ => Ok(data(node)),
    }
}

/// A value of YAML as it stands.
pub(super) fn data(node: &Node) -> Value {
    match &node.value {
        // Times are read as texts: `psych::Options::PLAN`.
        psych::Value::Null | psych::Value::Date(_) | psych::Value::Time(_) => Value::Undef,
        psych::Value::Bool(flag) => Value::Bool(*flag),
        psych::Value::Integer(number) => Value::Int(*number),
        psych::Value::Float(number) => Value::Float(*number),
        psych::Value::BigInteger(text)
        | psych::Value::String(text)
        | psych::Value::Symbol(text) => Value::Str(text.clone()),
        psych::Value::Binary(bytes) => Value::Binary(pcore::Binary::new(bytes.to_vec())),
        psych::Value::Sequence(items) => Value::array(items.iter().map(data).collect()),
        psych::Value::Mapping(mapping) => {
            let pairs = mapping.iter().map(|(key, item)| (data(key), data(item)));
            Value::hash(pairs.collect())
        }
    }
}
