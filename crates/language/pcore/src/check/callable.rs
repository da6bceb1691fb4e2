//! Assignability of callables, and the arguments that a callable accepts.
//!
//! Invariant: parameters are compared in reverse (contravariance), since a function must accept
//! everything that its caller may pass.

use super::collections::tuple_takes_tuple;
use super::recursion_trail::TypeCheckTrail;
use crate::types::{CallableType, IntRange, TupleType, Type, TypeKind};

pub(super) fn assignable(
    mine: &CallableType,
    other: &Type,
    trail: &mut TypeCheckTrail<'_>,
) -> bool {
    let TypeKind::Callable(theirs) = other.kind() else {
        return false;
    };
    if let Some(returns) = &mine.returns {
        let their_returns = theirs.returns.clone().unwrap_or_else(Type::any);
        if !returns.is_assignable_within(&their_returns, &mut trail.enter_element()) {
            return false;
        }
    }
    let Some(parameters) = &mine.parameters else {
        return true;
    };
    let fits = theirs
        .parameters
        .as_ref()
        .is_some_and(|theirs| tuple_takes_tuple(theirs, parameters, trail));
    let block = |callable: &CallableType| callable.block.clone().unwrap_or_else(Type::undef);
    fits && block(theirs).is_assignable_within(&block(mine), &mut trail.enter_element())
}

impl Type {
    /// True for a callable, a variant of callables or, if `optional` is set, an optional one.
    #[must_use]
    pub fn is_callable(&self, optional: bool) -> bool {
        callable_within(self, optional, ALIASES_MAX)
    }
}

/// Maximum number of aliases followed to a callable. An alias that only leads back to itself is not
/// callable.
const ALIASES_MAX: u32 = 8;

fn callable_within(ty: &Type, optional: bool, aliases: u32) -> bool {
    match ty.kind() {
        TypeKind::Callable(_) => true,
        TypeKind::Variant(types) => types
            .iter()
            .all(|one| callable_within(one, optional, aliases)),
        TypeKind::Optional(Some(inner)) => optional && callable_within(inner, optional, aliases),
        TypeKind::Alias(alias) => alias
            .resolved()
            .is_some_and(|ty| aliases > 0 && callable_within(ty, optional, aliases - 1)),
        TypeKind::Object(object) => object
            .parent()
            .is_some_and(|ty| aliases > 0 && callable_within(ty, optional, aliases - 1)),
        _ => false,
    }
}

impl CallableType {
    /// True if it accepts arguments of these types; a callable at the end is the block.
    #[must_use]
    pub fn accepts(&self, arguments: &[Type]) -> bool {
        let trail = &mut TypeCheckTrail::new();
        let Some(parameters) = &self.parameters else {
            return true;
        };
        match arguments.split_last() {
            Some((block, arguments)) if block.is_callable(true) => {
                self.block
                    .as_ref()
                    .is_some_and(|wanted| wanted.is_assignable_within(block, trail))
                    && takes_arguments(parameters, arguments)
            }
            _ => {
                let tuple = TupleType::new(arguments.to_vec(), None);
                let given = if arguments.is_empty() {
                    TupleType::new(Vec::new(), Some(IntRange::EMPTY))
                } else {
                    tuple
                };
                tuple_takes_tuple(parameters, &given, trail)
                    && self.block.as_ref().is_none_or(Type::accepts_undef)
            }
        }
    }
}

fn takes_arguments(parameters: &TupleType, arguments: &[Type]) -> bool {
    parameters.size_range().contains_len(arguments.len())
        && arguments.iter().enumerate().all(|(index, argument)| {
            parameters
                .type_at(index)
                .is_some_and(|wanted| wanted.is_assignable(argument))
        })
}
