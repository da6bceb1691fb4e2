//! Functions that declare or find resources. A host with a catalog executes them; any other host
//! returns an error with the reason. `assert_private` checks the calling module, which only code of
//! a catalog has.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::Value;

const PACKAGES: &str = "Variant[String[1], Array[String[1]]]";

macro_rules! packages {
    () => {
        &[
            FunctionDispatch::new(
                &[
                    one(PACKAGES, "packages"),
                    optional("Hash", "default_attributes"),
                ],
                needs_catalog,
            )
            .returning("Undef"),
            FunctionDispatch::new(
                &[
                    one("Hash[String[1], Any]", "packages"),
                    optional("Hash", "default_attributes"),
                ],
                needs_catalog,
            )
            .returning("Undef"),
        ]
    };
}

macro_rules! any_arguments {
    ($run:path) => {
        &[FunctionDispatch::new(&[any("Any", "args")], $run)]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("ensure_packages", packages!()),
    FunctionSpec::new("stdlib::ensure_packages", packages!()),
    FunctionSpec::new("ensure_resource", any_arguments!(needs_catalog)),
    FunctionSpec::new("ensure_resources", any_arguments!(needs_catalog)),
    FunctionSpec::new("defined_with_params", any_arguments!(needs_catalog)),
    FunctionSpec::new("getparam", any_arguments!(needs_catalog)),
    FunctionSpec::new(
        "stdlib::str2resource",
        &[FunctionDispatch::new(
            &[one("String", "res_string")],
            needs_catalog,
        )],
    ),
    FunctionSpec::new("assert_private", any_arguments!(assert_private)),
    FunctionSpec::new("private", any_arguments!(assert_private)),
];

fn needs_catalog(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let host = evaluator.host();
    if let Some(result) = host.unknown_function(evaluator, &mut call) {
        return result;
    }
    raise(format!(
        "{}(): resources are known only where a catalog is compiled: call it in a class, or in an apply block of a plan",
        call.name
    ))
}

/// Outside of a catalog no code belongs to a module, so no call comes from another one.
fn assert_private(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let host = evaluator.host();
    if let Some(result) = host.unknown_function(evaluator, &mut call) {
        return result;
    }
    if call.len() > 1 {
        return raise(format!(
            "assert_private(): Wrong number of arguments given ({}}}) for 0 or 1)",
            call.len()
        ));
    }
    Ok(Value::Undef)
}
