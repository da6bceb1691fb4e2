//! `tag`, `tagged`.

use evaluator::function::CallArguments;
use evaluator::{EvalResult, Evaluator};
use pcore::Value;

use super::arity::check_arity;
use crate::compilation::Compilation;
use crate::error::fail_at;

/// Adds tags to the container of the calling code.
pub(super) fn tag(
    compilation: &Compilation<'_>,
    _: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    check_arity("tag", call.len(), 1)?;
    let mut state = compilation.state();
    let container = state.scope(call.catalog_scope()).resource;
    let resource = state.catalog.resource_mut(container);
    for value in &call.arguments {
        if let Err(error) = resource.add_tags_of(value) {
            return fail_at(error.to_string(), &resource.location);
        }
    }
    Ok(Value::Undef)
}

/// True if the catalog or the container of the calling code has all tags.
pub(super) fn tagged(
    compilation: &Compilation<'_>,
    _: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    check_arity("tagged", call.len(), 1)?;
    let state = compilation.state();
    let container = state.scope(call.catalog_scope()).resource;
    let resource = state.catalog.resource(container);
    let has_all = call.arguments.iter().all(|value| {
        let tag = value.to_string().to_lowercase();
        state.catalog.tags.contains(&tag) || state.has_tag(resource, &tag)
    });
    Ok(Value::Bool(has_all))
}
