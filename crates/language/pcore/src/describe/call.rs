//! Description of a call that no signature accepts: [`describe_call`].

use std::sync::Arc;

use super::describer::{describe, merge};
use super::mismatch::{MismatchClass, MismatchKind, TypeMismatchDetail};
use super::path::{MismatchPathStep, extend_path};
use crate::types::{CallableType, IntRange, Type, TypeKind};

/// A signature with which a function or block can be called.
#[derive(Debug, Clone)]
pub struct CallSignature {
    pub callable: CallableType,
    pub parameter_names: Vec<Arc<str>>,
    pub block_name: Arc<str>,
}

/// Describes why no signature accepts arguments of these types (a callable at the end is the
/// block). `name` is the name of the function, or `lambda` for a block.
#[must_use]
pub fn describe_call(name: &str, signatures: &[CallSignature], arguments: &[Type]) -> String {
    let mut found: Vec<Vec<TypeMismatchDetail>> = signatures
        .iter()
        .enumerate()
        .map(|(index, signature)| arguments_of(signature, arguments, index))
        .collect();
    if found.iter().any(Vec::is_empty) {
        let blocks: Vec<Vec<TypeMismatchDetail>> = signatures
            .iter()
            .enumerate()
            .map(|(index, signature)| block_of(signature, arguments, index))
            .collect();
        let wrong = blocks.iter().filter(|one| !one.is_empty()).count();
        if wrong == blocks.len() {
            found = blocks;
        } else if wrong > 0 {
            for (errors, block) in found.iter_mut().zip(blocks) {
                if errors.is_empty() {
                    *errors = block;
                }
            }
        }
    }
    let label = if name == "lambda" {
        "block".to_owned()
    } else {
        format!("'{name}'")
    };
    let merged = merge(0, MismatchClass::Count, found.clone());
    if let [one] = merged.as_slice() {
        return format!("{label}{one}");
    }
    let mut lines = Vec::new();
    let rejected = |indent: &str, errors: &[TypeMismatchDetail]| -> Vec<String> {
        errors
            .iter()
            .map(|error| format!("{indent}rejected:{}", error.without_step(0)))
            .collect()
    };
    if let [signature] = signatures {
        lines.push(format!("{label} expects ({})", signature.to_text()));
        lines.extend(found.iter().flat_map(|errors| rejected("  ", errors)));
    } else {
        lines.push(format!(
            "The function {label} was called with arguments it does not accept. It expects one of:"
        ));
        for (signature, errors) in signatures.iter().zip(&found) {
            lines.push(format!("  ({})", signature.to_text()));
            lines.extend(rejected("    ", errors));
        }
    }
    lines.join("\n")
}

/// The arguments without the block, if there is one.
fn split_block(arguments: &[Type]) -> (&[Type], Option<&Type>) {
    match arguments.split_last() {
        Some((block, rest)) if block.is_callable(true) => (rest, Some(block)),
        _ => (arguments, None),
    }
}

fn arguments_of(
    signature: &CallSignature,
    arguments: &[Type],
    index: usize,
) -> Vec<TypeMismatchDetail> {
    let path = [MismatchPathStep::Signature(index)];
    let (arguments, _) = split_block(arguments);
    let Some(parameters) = &signature.callable.parameters else {
        return Vec::new();
    };
    let (expected, actual) = (parameters.size_range(), IntRange::of_len(arguments.len()));
    if !expected.covers(actual) {
        return vec![TypeMismatchDetail::new(
            &path,
            MismatchKind::Count { expected, actual },
        )];
    }
    for (index, argument) in arguments.iter().enumerate() {
        let index = index.min(parameters.types.len().saturating_sub(1));
        let Some(wanted) = parameters.types.get(index) else {
            continue;
        };
        if !wanted.is_assignable(argument) {
            let name = signature.parameter_names.get(index);
            let name = name.map(ToString::to_string).unwrap_or_default();
            let found = describe(
                wanted,
                argument,
                &extend_path(&path, MismatchPathStep::Parameter(name)),
            );
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

fn block_of(
    signature: &CallSignature,
    arguments: &[Type],
    index: usize,
) -> Vec<TypeMismatchDetail> {
    let path = [MismatchPathStep::Signature(index)];
    match (&signature.callable.block, split_block(arguments).1) {
        (None, Some(_)) => vec![TypeMismatchDetail::new(
            &path,
            MismatchKind::UnexpectedBlock,
        )],
        (Some(wanted), Some(block)) => {
            describe(wanted, block, &extend_path(&path, MismatchPathStep::Block))
        }
        (Some(wanted), None) if !wanted.accepts_undef() => {
            vec![TypeMismatchDetail::new(&path, MismatchKind::MissingBlock)]
        }
        _ => Vec::new(),
    }
}

impl CallSignature {
    /// The parameters as messages show them: `String a, Integer b?`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Some(parameters) = &self.callable.parameters else {
            return String::new();
        };
        let size = parameters.size_range();
        if size == IntRange::EMPTY {
            return String::new();
        }
        let count = if self.parameter_names.is_empty() {
            parameters.types.len()
        } else {
            self.parameter_names.len()
        };
        let required = usize::try_from(size.lower_bound()).unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        for index in 0..count {
            let Some(mut ty) = parameters.type_at(index).cloned() else {
                break;
            };
            let name = self.parameter_names.get(index).map_or("", AsRef::as_ref);
            let mark = if size.to.is_none() && index + 1 == count {
                if required == count { "+" } else { "*" }
            } else if index + 1 > required {
                if let TypeKind::Optional(Some(inner)) = ty.kind() {
                    ty = inner.clone();
                }
                "?"
            } else {
                ""
            };
            parts.push(format!("{ty} {name}{mark}"));
        }
        match self.callable.block.as_ref().map(|ty| (ty, ty.kind())) {
            Some((_, TypeKind::Optional(Some(inner)))) => {
                parts.push(format!("{inner} {}?", self.block_name));
            }
            Some((ty, TypeKind::Callable(_))) => parts.push(format!("{ty} {}", self.block_name)),
            _ => {}
        }
        parts.join(", ")
    }
}
