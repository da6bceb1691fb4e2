//! Named types. Main type: [`Alias`].
//!
//! An alias is made before what it stands for, so that it can hold itself. Aliases that hold themselves
//! are never freed. The rule that must hold: an alias is resolved once.

use std::sync::{Arc, OnceLock};

use super::Type;

/// A name for a type, which may be recursive.
#[derive(Debug)]
pub struct Alias {
    name: Arc<str>,
    resolved: OnceLock<Resolved>,
}

#[derive(Debug)]
struct Resolved {
    ty: Type,
    recursive: bool,
}

impl Alias {
    /// A name without its type, for now.
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

    /// What it stands for, once that is known.
    #[must_use]
    pub fn resolved(&self) -> Option<&Type> {
        self.resolved.get().map(|resolved| &resolved.ty)
    }

    /// Whether the type holds the alias itself.
    #[must_use]
    pub fn is_recursive(&self) -> bool {
        self.resolved
            .get()
            .is_some_and(|resolved| resolved.recursive)
    }

    pub(crate) fn set(&self, ty: Type, recursive: bool) {
        // a second resolution would be the same one
        let _ = self.resolved.set(Resolved { ty, recursive });
    }
}
