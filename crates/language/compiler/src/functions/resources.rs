//! `create_resources`, `realize`.

use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{
    CatalogScopeId, EvalResult, EvaluatedResourceBody, Evaluator, ResourceAttribute,
    ResourceDeclaration, SourceLocation, raise,
};
use pcore::{Hash, Value};
use syntax::ast::ResourceForm;

use super::arity::check_arity;
use crate::compilation::Compilation;
use crate::names::{reference_name, split_reference};
use crate::reference::{CatalogReference, flat_values};

pub(super) fn create_resources(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    check_arity("create_resources", call.len(), 2)?;
    if call.len() > 3 {
        return raise(format!(
            "create_resources(): wrong number of arguments ({}; must be 2 or 3)",
            call.len()
        ));
    }
    let Value::Hash(resources) = call.get(1).clone() else {
        return raise("create_resources(): second argument must be a hash");
    };
    let defaults = match call.get(2) {
        Value::Hash(defaults) => Arc::clone(defaults),
        Value::Undef => Arc::default(),
        _ => return raise("create_resources(): third argument, if provided, must be a hash"),
    };
    let type_name = call.text(0);
    let place = (call.catalog_scope(), compilation.call_site(call.location()));
    let declared = create(
        compilation,
        evaluator,
        place,
        (&type_name, &resources, &defaults),
    )?;
    Ok(Value::array(declared))
}

/// Declares resources from a hash of titles and attributes.
pub(crate) fn create(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    (scope, location): (CatalogScopeId, SourceLocation),
    (type_name, resources, defaults): (&str, &Hash, &Hash),
) -> EvalResult<Vec<Value>> {
    let form = match type_name.bytes().take_while(|it| *it == b'@').count() {
        0 => ResourceForm::Regular,
        1 => ResourceForm::Virtual,
        _ => ResourceForm::Exported,
    };
    let bare = type_name.strip_prefix('@').unwrap_or(type_name);
    let bare = bare.strip_prefix('@').unwrap_or(bare).to_lowercase();
    if bare == "class" && form != ResourceForm::Regular {
        return raise("Classes are not virtualizable");
    }
    let mut bodies = Vec::with_capacity(resources.len());
    for (title, attributes) in resources.iter() {
        bodies.push(EvaluatedResourceBody {
            titles: titles(title),
            are_converted: !matches!(title, Value::Str(_) | Value::Array(_)),
            attributes: merged(defaults, attributes, &location),
        });
    }
    evaluator.charge(resources.len())?;
    let declaration = ResourceDeclaration {
        form,
        type_name: bare.into(),
        bodies,
        scope,
        location,
    };
    compilation.declare_resources(evaluator, declaration)
}

fn titles(title: &Value) -> Vec<Arc<str>> {
    match title {
        Value::Array(titles) => titles.iter().map(|it| it.to_string().into()).collect(),
        Value::Str(text) => vec![Arc::clone(text)],
        other => vec![other.to_string().into()],
    }
}

fn merged(
    defaults: &Hash,
    attributes: &Value,
    location: &SourceLocation,
) -> Vec<ResourceAttribute> {
    let mut all = defaults.clone();
    if let Value::Hash(attributes) = attributes {
        for (name, value) in attributes.iter() {
            all.insert(name.clone(), value.clone());
        }
    }
    // Puppet keeps no position for these attributes, but error messages are better with one
    let location = SourceLocation {
        column: 0,
        ..location.clone()
    };
    all.into_iter()
        .map(|(name, value)| ResourceAttribute {
            name: name.to_string().into(),
            value,
            is_added: false,
            location: location.clone(),
        })
        .collect()
}

pub(super) fn realize(
    compilation: &Compilation<'_>,
    _: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    check_arity("realize", call.len(), 1)?;
    let values = call.arguments.iter().flat_map(flat_values);
    let references = values.map(resource_reference).collect::<EvalResult<_>>()?;
    compilation.realize(references);
    Ok(Value::Undef)
}

/// The type and the title that a value names.
fn resource_reference(value: &Value) -> EvalResult<(Arc<str>, Arc<str>)> {
    let reference = match value {
        Value::Type(ty) => CatalogReference::of(ty).map(|it| (it.type_name, it.title)),
        other => split_reference(&other.to_string())
            .map(|(type_name, title)| (reference_name(type_name), title.into())),
    };
    match reference {
        Some(reference) => Ok(reference),
        None => raise(format!(
            "No title provided and {:?} is not a valid resource reference",
            value.to_string()
        )),
    }
}
