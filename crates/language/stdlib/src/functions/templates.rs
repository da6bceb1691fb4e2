//! Functions that stdlib implements in the Puppet language: `stdlib::ensure`,
//! `stdlib::deferrable_epp`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Type, TypeKind, Value};

use super::dig::collect;
use super::files::read;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "stdlib::ensure",
        &[FunctionDispatch::new(
            &[
                one("Variant[Boolean, Enum['present', 'absent']]", "ensure"),
                optional(
                    "Optional[Enum['directory', 'link', 'mounted', 'service', 'file', 'package']]",
                    "resource",
                ),
            ],
            ensure,
        )
        .returning("String")],
    ),
    FunctionSpec::new(
        "stdlib::deferrable_epp",
        &[FunctionDispatch::new(
            &[one("String", "template"), one("Hash", "variables")],
            deferrable_epp,
        )
        .returning("Variant[String, Sensitive[String], Deferred]")],
    ),
];

/// The value of the attribute `ensure` of a resource.
fn ensure(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_present = match call.get(0) {
        Value::Bool(flag) => *flag,
        word => word.as_str() == Some("present"),
    };
    let resource = call.text(1);
    Ok(Value::from(match (&*resource, is_present) {
        ("package", true) => "installed",
        ("service", true) => "running",
        ("service", false) => "stopped",
        ("", true) => "present",
        (resource, true) => resource,
        (_, false) => "absent",
    }))
}

/// Rendered on the node, if it needs a value that is known only there.
fn deferrable_epp(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut values = Vec::new();
    collect(evaluator, &call.hash(1), &mut values)?;
    if !values.iter().any(is_deferred) {
        return evaluator.call_function("epp", call.arguments.clone(), None);
    }
    let text = template(evaluator, &call.text(0))?;
    let arguments = Value::array(vec![Value::from(text), call.get(1).clone()]);
    let deferred = Type::named("Deferred", &|_| None);
    pcore::new_instance(&deferred, &[Value::from("inline_epp"), arguments])
        .or_else(|error| raise(error.to_string()))
}

/// The text of a template with the name `module/path`.
fn template(evaluator: &Evaluator<'_>, name: &str) -> EvalResult<String> {
    let (module, path) = name.split_once('/').unwrap_or((name, ""));
    let is_inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let file = if is_inside {
        read(evaluator, module, &format!("templates/{path}"))?
    } else {
        None
    };
    match file {
        Some(text) => Ok(text),
        None => raise(format!("Could not find template '{name}'")),
    }
}

fn is_deferred(value: &Value) -> bool {
    match value {
        Value::Object(object) => {
            let ty = object.object_type();
            matches!(ty.kind(), TypeKind::Object(ty) if ty.name() == Some("Deferred"))
        }
        _ => false,
    }
}
