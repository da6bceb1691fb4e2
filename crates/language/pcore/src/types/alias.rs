//! Named types. Main type: [`NamedTypeAlias`].
//!
//! An alias is created before its type, so that the type can contain the alias; a recursive one is
//! never freed.
//!
//! Invariant: an alias is resolved once, to a type that does not consist of aliases only.

use std::sync::{Arc, OnceLock};

use super::visit::visit;
use super::{Type, TypeKind};

/// A name for a type, which may be recursive.
#[derive(Debug)]
pub struct NamedTypeAlias {
    name: Arc<str>,
    resolved: OnceLock<ResolvedAlias>,
}

#[derive(Debug)]
struct ResolvedAlias {
    ty: Type,
    recursive: bool,
}

/// An alias could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AliasError {
    #[error("Type alias '{0}' cannot be resolved to a real type")]
    NotAType(Arc<str>),
}

impl NamedTypeAlias {
    /// Creates an alias whose type is not known yet.
    pub fn declare(name: impl Into<Arc<str>>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            resolved: OnceLock::new(),
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The aliased type; `None` until it is resolved.
    #[must_use]
    pub fn resolved(&self) -> Option<&Type> {
        self.resolved.get().map(|resolved| &resolved.ty)
    }

    /// True if the aliased type contains the alias itself.
    #[must_use]
    pub fn is_recursive(&self) -> bool {
        self.resolved
            .get()
            .is_some_and(|resolved| resolved.recursive)
    }

    /// Sets the aliased type. Aliases in a `Variant` that only lead back to this one are dropped.
    pub fn resolve(&self, ty: &Type) -> Result<(), AliasError> {
        self.resolve_as(ty.normalize())
    }

    /// Sets the aliased type unchanged, for Puppet's own aliases.
    pub(super) fn resolve_as(&self, ty: Type) -> Result<(), AliasError> {
        if !has_real_type(&ty) {
            return Err(AliasError::NotAType(self.name.clone()));
        }
        let mut recursive = self.is_in(&ty);
        let ty = match ty.kind() {
            TypeKind::Variant(types) if recursive => {
                let real: Vec<Type> = types
                    .iter()
                    .filter(|one| !self.is_alias(one) && has_real_type(one))
                    .cloned()
                    .collect();
                if real.len() == types.len() {
                    ty
                } else {
                    let ty = Type::variant(real);
                    recursive = self.is_in(&ty);
                    ty
                }
            }
            _ => ty,
        };
        // a second resolution would have the same result
        let _ = self.resolved.set(ResolvedAlias { ty, recursive });
        Ok(())
    }

    fn is_alias(&self, ty: &Type) -> bool {
        matches!(ty.kind(), TypeKind::Alias(other) if std::ptr::eq(other.as_ref(), self))
    }

    fn is_in(&self, ty: &Type) -> bool {
        let mut found = false;
        visit(ty, &mut |one| {
            found |= self.is_alias(one);
            !found
        });
        found
    }
}

/// True if the type contains something other than aliases and variants.
fn has_real_type(ty: &Type) -> bool {
    let mut found = false;
    visit(ty, &mut |one| {
        found |= !matches!(one.kind(), TypeKind::Alias(_) | TypeKind::Variant(_));
        !found
    });
    found
}
