//! Why arguments and values do not fit, in Puppet's words: what pcore's describer is asked.
//!
//! The rule that must hold: it is only asked when something does not fit.

use std::sync::Arc;

use pcore::{CallableType, Hash, Kind, StructElement, Type, Value};

use crate::code::{CodeBody, Signature};

/// A form of a function, for the text of a mismatch.
pub(crate) struct DescribedCallable<'a> {
    pub(crate) callable: &'a Type,
    pub(crate) names: Vec<Arc<str>>,
}

fn described(callable: &Type, names: Vec<Arc<str>>) -> pcore::Signature {
    let callable = match callable.kind() {
        Kind::Callable(callable) => callable.clone(),
        _ => CallableType::new(None, None, None),
    };
    pcore::Signature {
        callable,
        parameter_names: names,
        block_name: "block".into(),
    }
}

fn types_of(arguments: &[Value]) -> Vec<Type> {
    arguments.iter().map(Type::infer_detailed).collect()
}

/// Arguments that fit no form of a function; the block's type comes last.
#[cold]
pub(crate) fn forms(
    name: &str,
    forms: &[DescribedCallable<'_>],
    arguments: &[Value],
    block: Option<Type>,
) -> String {
    let signatures: Vec<pcore::Signature> = forms
        .iter()
        .map(|form| described(form.callable, form.names.clone()))
        .collect();
    let mut types = types_of(arguments);
    types.extend(block);
    pcore::describe_call(name, &signatures, &types)
}

/// Arguments that do not fit code written in Puppet.
#[cold]
pub(crate) fn signature(
    name: &str,
    signature: &Signature,
    names: &[Arc<str>],
    arguments: &[Value],
) -> String {
    let signature = described(&signature.callable, names.to_vec());
    pcore::describe_call(name, &[signature], &types_of(arguments))
}

/// A block for a function written in Puppet, which takes none.
#[cold]
pub(crate) fn unexpected_block(
    name: &str,
    signature: &Signature,
    names: &[Arc<str>],
    arguments: &[Value],
    block: Option<Type>,
) -> String {
    let signature = described(&signature.callable, names.to_vec());
    let mut types = types_of(arguments);
    types.extend(block);
    pcore::describe_call(name, &[signature], &types)
}

/// A value that is not of a type.
#[cold]
pub(crate) fn value(subject: &str, ty: &Type, value: &Value) -> String {
    pcore::describe_mismatch(subject, ty, &Type::infer_detailed(value))
}

/// A value that a function gives and should not.
#[cold]
pub(crate) fn returned(subject: &str, ty: &Type, value: &Value) -> String {
    match pcore::assert_instance(subject, ty, value) {
        Ok(()) => String::new(),
        Err(mismatch) => mismatch.to_string(),
    }
}

/// Arguments by name that do not fit.
pub(crate) fn named(code: &CodeBody, signature: &Signature, given: &Hash) -> Option<String> {
    let parameters: Vec<StructElement> = code
        .parameters
        .iter()
        .zip(&signature.types)
        .map(|(it, ty)| StructElement::new(Arc::clone(&it.name), it.default.is_some(), ty.clone()))
        .collect();
    pcore::describe_parameters(&code.name, &parameters, given, false, |_| false)
        .err()
        .map(|mismatch| mismatch.to_string())
}
