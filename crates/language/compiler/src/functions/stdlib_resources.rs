//! The functions of puppetlabs-stdlib that declare or find resources.

use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Hash, Value};

use super::resources::create;
use crate::catalog::CatalogResource;
use crate::compilation::Compilation;
use crate::names::{reference_name, split_reference};
use crate::reference::CatalogReference;
use crate::scope::ScopeKind;

/// Declares resources that are not declared with these attributes.
pub(super) fn ensure_resource(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let (type_name, titles) = type_and_titles(call)?;
    let attributes = hash_of(call.get(2));
    for title in &titles {
        ensure(
            compilation,
            evaluator,
            call,
            (&type_name, title, &attributes),
        )?;
    }
    Ok(Value::Undef)
}

fn type_and_titles(call: &CallArguments<'_>) -> EvalResult<(String, Vec<Value>)> {
    if !call.get(0).is_truthy() {
        return raise("Must specify a type");
    }
    if !call.get(1).is_truthy() {
        return raise("Must specify a title");
    }
    let titles = match call.get(1) {
        Value::Array(titles) => evaluator::ruby::flatten(titles),
        single => vec![single.clone()],
    };
    Ok((call.get(0).to_string(), titles))
}

fn hash_of(value: &Value) -> Arc<Hash> {
    match value {
        Value::Hash(entries) => Arc::clone(entries),
        _ => Arc::default(),
    }
}

fn ensure(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    (type_name, title, attributes): (&str, &Value, &Hash),
) -> EvalResult<()> {
    let reference = reference_name(type_name);
    if is_defined_with(
        compilation,
        call,
        (&reference, &title.to_string()),
        attributes,
    )? {
        return Ok(());
    }
    let resources: Hash = [(title.clone(), Value::hash(attributes.clone()))]
        .into_iter()
        .collect();
    let place = (call.catalog_scope(), compilation.call_site(call.location()));
    let request = (type_name, &resources, &Hash::new());
    create(compilation, evaluator, place, request).map(drop)
}

pub(super) fn ensure_resources(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let (type_name, _) = type_and_titles(call)?;
    let Value::Hash(resources) = call.get(1).clone() else {
        return raise("ensure_resources(): Requires second argument to be a Hash");
    };
    let defaults = hash_of(call.get(2));
    ensure_all(
        compilation,
        evaluator,
        call,
        &type_name,
        (&resources, &defaults),
    )?;
    Ok(Value::Undef)
}

fn ensure_all(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    type_name: &str,
    (resources, defaults): (&Hash, &Hash),
) -> EvalResult<()> {
    for (title, attributes) in resources.iter() {
        let mut merged = defaults.clone();
        for (name, value) in hash_of(attributes).iter() {
            merged.insert(name.clone(), value.clone());
        }
        ensure(compilation, evaluator, call, (type_name, title, &merged))?;
    }
    Ok(())
}

pub(super) fn ensure_packages(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let mut defaults: Hash = [("ensure", "installed")].into_iter().collect();
    for (name, value) in hash_of(call.get(1)).iter() {
        defaults.insert(name.clone(), value.clone());
    }
    if defaults.get_str("ensure").and_then(Value::as_str) == Some("present") {
        defaults.insert("ensure", "installed");
    }
    match call.get(0).clone() {
        Value::Hash(packages) => {
            ensure_all(
                compilation,
                evaluator,
                call,
                "package",
                (&packages, &defaults),
            )?;
        }
        Value::Array(packages) => {
            for package in packages.iter() {
                ensure(
                    compilation,
                    evaluator,
                    call,
                    ("package", package, &defaults),
                )?;
            }
        }
        package => ensure(
            compilation,
            evaluator,
            call,
            ("package", &package, &defaults),
        )?,
    }
    Ok(Value::Undef)
}

/// True if a resource is declared with these attributes.
pub(super) fn defined_with_params(
    compilation: &Compilation<'_>,
    _: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let attributes = hash_of(call.get(1));
    let (type_name, title) = match call.get(0) {
        Value::Undef => return raise("Must specify a reference"),
        Value::Str(text) => match split_reference(text) {
            Some((type_name, title)) => (reference_name(type_name), Arc::from(title)),
            None => (reference_name(text), Arc::from("")),
        },
        Value::Type(ty) => match CatalogReference::of(ty) {
            Some(reference) => (reference.type_name, reference.title),
            None => return raise("Reference is not understood: 'Puppet::Pops::Types::PAnyType'"),
        },
        _ => return raise("Reference is not understood"),
    };
    is_defined_with(compilation, call, (&type_name, &title), &attributes).map(Value::Bool)
}

/// True if a resource has the attributes; with an empty title, any resource of the type. The
/// container of the calling code does not count.
fn is_defined_with(
    compilation: &Compilation<'_>,
    call: &CallArguments<'_>,
    (type_name, title): (&str, &str),
    attributes: &Hash,
) -> EvalResult<bool> {
    let candidates = match title.is_empty() {
        true => compilation.state().catalog.of_type(type_name).to_vec(),
        false => Vec::from_iter(compilation.find_resource(type_name, title)?),
    };
    let state = compilation.state();
    let container = state.scope(call.catalog_scope()).resource;
    Ok(candidates
        .into_iter()
        .filter(|id| *id != container)
        .any(|id| has_attributes(state.catalog.resource(id), attributes)))
}

fn has_attributes(resource: &CatalogResource, attributes: &Hash) -> bool {
    attributes.iter().all(|(name, value)| {
        let actual = resource.value(&name.to_string()).unwrap_or_default();
        actual == *value
    })
}

/// Value of an attribute of a declared resource; empty if there is none.
pub(super) fn getparam(
    compilation: &Compilation<'_>,
    _: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let Value::Str(name) = call.get(1) else {
        return raise("Must specify name of a parameter");
    };
    let (type_name, title) = match call.get(0) {
        Value::Undef => return raise("Must specify a reference"),
        Value::Type(ty) => match CatalogReference::of(ty) {
            Some(reference) => (reference.type_name, reference.title),
            None => return Ok(Value::from("")),
        },
        other => match split_reference(&other.to_string()) {
            Some((type_name, title)) => (reference_name(type_name), title.into()),
            None => return Ok(Value::from("")),
        },
    };
    let Some(id) = compilation.find_resource(&type_name, &title)? else {
        return Ok(Value::from(""));
    };
    let value = compilation.state().catalog.resource(id).value(name);
    Ok(value
        .filter(|value| !value.is_undef())
        .unwrap_or_else(|| Value::from("")))
}

/// Refuses callers of other modules.
pub(super) fn assert_private(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    if call.len() > 1 {
        return raise(format!(
            "assert_private(): Wrong number of arguments given ({}}}) for 0 or 1)",
            call.len()
        ));
    }
    let scope = call.scope();
    let read = |name| match evaluator.variable_in(&scope, name) {
        Some(value) => value,
        None => Ok(Value::Undef),
    };
    if read("module_name")? == read("caller_module_name")? {
        return Ok(Value::Undef);
    }
    if let Value::Str(text) = call.get(0) {
        return raise(text.to_string());
    }
    let state = compilation.state();
    let scope = state.scope(call.catalog_scope());
    let resource = state.catalog.resource(scope.resource);
    let kind = match scope.kind {
        ScopeKind::Class => "Class",
        _ => "Definition",
    };
    let name = match scope.kind {
        ScopeKind::Class => resource.title.to_lowercase(),
        _ => resource.type_name.to_lowercase(),
    };
    raise(format!("{kind} {name} is private"))
}
