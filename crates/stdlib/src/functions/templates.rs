//! What stdlib writes in the Puppet language: `stdlib::ensure`, `stdlib::deferrable_epp`.

use evaluator::function::{Call, Form, Function, one};
use evaluator::{Eval, Evaluator, raise};
use pcore::{Kind, Type, Value};

use super::hashes::collect;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "stdlib::ensure",
        &[Form::new(
            &[
                one("Variant[Boolean, Enum['present', 'absent']]", "ensure"),
                one(
                    "Enum['directory', 'link', 'mounted', 'service', 'file', 'package']",
                    "resource",
                ),
            ],
            ensure,
        )
        .returning("String")],
    ),
    Function::new(
        "stdlib::deferrable_epp",
        &[Form::new(
            &[one("String", "template"), one("Hash", "variables")],
            deferrable_epp,
        )],
    ),
];

/// What the attribute `ensure` of a resource is.
fn ensure(_: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let is_present = match call.get(0) {
        Value::Bool(flag) => *flag,
        word => word.as_str() == Some("present"),
    };
    let resource = call.text(1);
    Ok(Value::from(match (&*resource, is_present) {
        ("package", true) => "installed",
        ("service", true) => "running",
        ("service", false) => "stopped",
        (resource, true) => resource,
        (_, false) => "absent",
    }))
}

/// Rendered on the node, if it needs a value that only the node has.
fn deferrable_epp(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let mut values = Vec::new();
    collect(evaluator, &call.hash(1), &mut values)?;
    if !values.iter().any(is_deferred) {
        return evaluator.call_function("epp", call.arguments.clone(), None);
    }
    let template = vec![call.get(0).clone()];
    let path = evaluator.call_function("find_template", template, None)?;
    if path.is_undef() {
        return raise(format!("Could not find template '{}'", call.text(0)));
    }
    let text = evaluator.call_function("file", vec![path], None)?;
    let arguments = Value::array(vec![text, call.get(1).clone()]);
    let deferred = Type::named("Deferred", &|_| None);
    pcore::new_instance(&deferred, &[Value::from("inline_epp"), arguments])
        .or_else(|error| raise(error.to_string()))
}

fn is_deferred(value: &Value) -> bool {
    match value {
        Value::Object(object) => {
            let ty = object.object_type();
            matches!(ty.kind(), Kind::Object(ty) if ty.name() == Some("Deferred"))
        }
        _ => false,
    }
}
