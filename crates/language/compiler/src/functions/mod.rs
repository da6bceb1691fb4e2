//! Functions that change or read the catalog: `include`, `create_resources`, `realize`, `tag` and
//! others, by name.
//!
//! Invariant: a function acts in the scope of the code that calls it.

mod classes;
mod resources;
mod stdlib_resources;
mod tags;

use std::collections::HashMap;
use std::sync::OnceLock;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, NativeFunction, any, some};
use evaluator::{EvalResult, Evaluator, raise};

use crate::compilation::Compilation;

/// A function of the compiler.
struct CatalogFunction {
    spec: FunctionSpec,
    run: CatalogFunctionBody,
}

type CatalogFunctionBody =
    fn(&Compilation<'_>, &mut Evaluator<'_>, &mut CallArguments<'_>) -> EvalResult;

const NAMES: &[FunctionDispatch] = &[FunctionDispatch::host(&[some("Any", "names")])];
const VALUES: &[FunctionDispatch] = &[FunctionDispatch::host(&[any("Any", "values")])];

static FUNCTIONS: &[CatalogFunction] = &[
    CatalogFunction::new("include", NAMES, classes::include),
    CatalogFunction::new("contain", NAMES, classes::contain),
    CatalogFunction::new("require", NAMES, classes::require),
    CatalogFunction::new("hiera_include", VALUES, classes::hiera_include),
    CatalogFunction::new("create_resources", VALUES, resources::create_resources),
    CatalogFunction::new("realize", VALUES, resources::realize),
    CatalogFunction::new("tag", VALUES, tags::tag),
    CatalogFunction::new("tagged", VALUES, tags::tagged),
];

impl CatalogFunction {
    const fn new(
        name: &'static str,
        forms: &'static [FunctionDispatch],
        run: CatalogFunctionBody,
    ) -> Self {
        Self {
            spec: FunctionSpec::new(name, forms),
            run,
        }
    }
}

/// Functions of stdlib that declare or find resources.
fn stdlib_function(name: &str) -> Option<CatalogFunctionBody> {
    Some(match name {
        "ensure_resource" => stdlib_resources::ensure_resource,
        "ensure_resources" => stdlib_resources::ensure_resources,
        "ensure_packages" | "stdlib::ensure_packages" => stdlib_resources::ensure_packages,
        "defined_with_params" => stdlib_resources::defined_with_params,
        "getparam" => stdlib_resources::getparam,
        "assert_private" | "private" => stdlib_resources::assert_private,
        _ => return None,
    })
}

/// The function with a name, as the evaluator calls it.
pub(crate) fn find(name: &str) -> Option<&'static NativeFunction> {
    static NATIVE: OnceLock<HashMap<&'static str, NativeFunction>> = OnceLock::new();
    let native = NATIVE.get_or_init(|| {
        let functions = FUNCTIONS.iter();
        let native = functions.map(|it| (it.spec.name, NativeFunction::new(it.spec)));
        native.collect()
    });
    native.get(name)
}

/// The names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.spec.name)
}

/// Runs a function that [`find`] returned.
pub(crate) fn run(
    compilation: &Compilation<'_>,
    name: &'static str,
    evaluator: &mut Evaluator<'_>,
    mut call: CallArguments<'_>,
) -> EvalResult {
    match FUNCTIONS.iter().find(|function| function.spec.name == name) {
        Some(function) => (function.run)(compilation, evaluator, &mut call),
        None => raise(format!("Unknown function: '{name}'.")),
    }
}

/// Runs a function of stdlib that needs the catalog; `None` if it is another function.
pub(crate) fn run_unknown(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> Option<EvalResult> {
    let body = stdlib_function(call.name)?;
    Some(body(compilation, evaluator, call))
}

/// Calls a function of Puppet's former interface with too few arguments.
fn check_arity(name: &str, given: usize, least: usize) -> EvalResult<()> {
    if given >= least {
        return Ok(());
    }
    raise(format!(
        "{name}(): Wrong number of arguments given ({given} for minimum {least})"
    ))
}
