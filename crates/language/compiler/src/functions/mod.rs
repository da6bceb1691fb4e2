//! Functions that change or read the catalog: `include`, `create_resources`, `realize`, `tag` and
//! others, by name.
//!
//! The evaluator and stdlib declare them with their arguments, and pass the calls to the host.
//! Invariant: a function acts in the scope of the code that calls it.

mod arity;
mod classes;
mod puppetdb;
mod resources;
mod stdlib_resources;
mod tags;
mod templates;

use evaluator::function::CallArguments;
use evaluator::{EvalResult, Evaluator};

pub(crate) use self::puppetdb::{PUPPETDB_QUERY, puppetdb_query, unknown_function};
pub(crate) use self::resources::create as create_from_hash;
use crate::compilation::Compilation;

type CatalogFunction =
    fn(&Compilation<'_>, &mut Evaluator<'_>, &mut CallArguments<'_>) -> EvalResult;

fn find(name: &str) -> Option<CatalogFunction> {
    Some(match name {
        "include" => classes::include,
        "contain" => classes::contain,
        "require" => classes::require,
        "hiera_include" => classes::hiera_include,
        "create_resources" => resources::create_resources,
        "realize" => resources::realize,
        "tag" => tags::tag,
        "tagged" => tags::tagged,
        "template" => templates::template,
        "inline_template" => templates::inline_template,
        "ensure_resource" => stdlib_resources::ensure_resource,
        "ensure_resources" => stdlib_resources::ensure_resources,
        "ensure_packages" | "stdlib::ensure_packages" => stdlib_resources::ensure_packages,
        "defined_with_params" => stdlib_resources::defined_with_params,
        "getparam" => stdlib_resources::getparam,
        "assert_private" | "private" => stdlib_resources::assert_private,
        _ => return None,
    })
}

/// True if there is a function with this name.
pub(crate) fn exists(name: &str) -> bool {
    find(name).is_some()
}

/// Runs a function that needs the catalog; `None` if it is another function.
pub(crate) fn run(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> Option<EvalResult> {
    let body = find(call.name)?;
    Some(body(compilation, evaluator, call))
}
