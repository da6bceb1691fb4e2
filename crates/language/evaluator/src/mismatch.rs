//! Puppet's texts for arguments and values of the wrong type, from pcore's describer.
//!
//! Invariant: these functions are called only after a check has failed.

use std::sync::Arc;

use pcore::{CallableType, Hash, StructElement, Type, TypeKind, Value};

use crate::code::{CodeBody, LoweredSignature};

/// A dispatch of a function, for the text of a mismatch.
pub(crate) struct DescribedCallable<'a> {
    pub(crate) callable: &'a Type,
    pub(crate) names: Vec<Arc<str>>,
}

fn described(callable: &Type, names: Vec<Arc<str>>) -> pcore::CallSignature {
    let callable = match callable.kind() {
        TypeKind::Callable(callable) => callable.clone(),
        _ => CallableType::new(None, None, None),
    };
    pcore::CallSignature {
        callable,
        parameter_names: names,
        block_name: "block".into(),
    }
}

fn types_of(arguments: &[Value]) -> Vec<Type> {
    arguments.iter().map(Type::infer_detailed).collect()
}

/// Text for arguments that no dispatch of a function accepts; the block's type comes last.
#[cold]
pub(crate) fn describe_forms(
    name: &str,
    forms: &[DescribedCallable<'_>],
    arguments: &[Value],
    block: Option<Type>,
) -> String {
    let signatures: Vec<pcore::CallSignature> = forms
        .iter()
        .map(|form| described(form.callable, form.names.clone()))
        .collect();
    let mut types = types_of(arguments);
    types.extend(block);
    pcore::describe_call(name, &signatures, &types)
}

/// Text for arguments that code written in Puppet does not accept.
#[cold]
pub(crate) fn describe_signature(
    name: &str,
    signature: &LoweredSignature,
    names: &[Arc<str>],
    arguments: &[Value],
) -> String {
    let signature = described(&signature.callable, names.to_vec());
    pcore::describe_call(name, &[signature], &types_of(arguments))
}

/// Text for a block passed to a function written in Puppet, which takes none.
#[cold]
pub(crate) fn unexpected_block(
    name: &str,
    signature: &LoweredSignature,
    names: &[Arc<str>],
    arguments: &[Value],
    block: Option<Type>,
) -> String {
    let signature = described(&signature.callable, names.to_vec());
    let mut types = types_of(arguments);
    types.extend(block);
    pcore::describe_call(name, &[signature], &types)
}

/// Text for a value of the wrong type.
#[cold]
pub(crate) fn value_mismatch(subject: &str, ty: &Type, value: &Value) -> String {
    pcore::describe_mismatch(subject, ty, &Type::infer_detailed(value))
}

/// Text for a returned value of the wrong type.
#[cold]
pub(crate) fn return_mismatch(subject: &str, ty: &Type, value: &Value) -> String {
    match pcore::assert_instance(subject, ty, value) {
        Ok(()) => String::new(),
        Err(mismatch) => mismatch.to_string(),
    }
}

/// Text for named arguments that are not accepted; `None` if they are.
pub(crate) fn named_mismatch(
    code: &CodeBody,
    signature: &LoweredSignature,
    given: &Hash,
) -> Option<String> {
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
