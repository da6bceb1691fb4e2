//! Scopes of a compilation: [`CompileScope`].
//!
//! Invariant: variables are read along the chain class, inherited class, node block or site, top; resource
//! defaults along the chain of declarations.

use std::sync::Arc;

use evaluator::{CatalogScopeId, SourceLocation, VariableScope};
use pcore::{FastHashMap, FastIndexMap, Value};

use crate::catalog::{ResourceId, ResourceSource};
use crate::state::CompileState;

/// The definition whose code runs in a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Top,
    Node,
    Class,
    DefinedType,
    Site,
    Application,
}

#[derive(Debug)]
pub(crate) struct CompileScope {
    /// The scope in which the class or resource was declared, or that of the inherited class.
    pub(crate) parent: Option<CatalogScopeId>,
    pub(crate) kind: ScopeKind,
    pub(crate) source: ResourceSource,
    /// The container of resources that are declared here.
    pub(crate) resource: ResourceId,
    pub(crate) variables: VariableScope,
    /// Resource defaults by type.
    pub(crate) defaults: FastHashMap<Arc<str>, FastIndexMap<Arc<str>, DefaultAttribute>>,
    /// Module of the code; `None` in the top scope.
    pub(crate) module: Option<Arc<str>>,
}

/// An attribute that resources get if they do not set it.
#[derive(Debug, Clone)]
pub(crate) struct DefaultAttribute {
    pub(crate) value: Value,
    pub(crate) source: ResourceSource,
    pub(crate) location: SourceLocation,
}

/// A class, defined type or node block as the owner of attributes.
#[derive(Debug)]
pub(crate) struct SourceRecord {
    /// The class that it inherits.
    pub(crate) parent: Option<ResourceSource>,
    /// True if it may override all attributes, because one of its collectors does.
    pub(crate) overrides_all: bool,
}

impl CompileState {
    pub(crate) fn scope(&self, id: CatalogScopeId) -> &CompileScope {
        &self.scopes[id.0 as usize]
    }

    pub(crate) fn scope_mut(&mut self, id: CatalogScopeId) -> &mut CompileScope {
        &mut self.scopes[id.0 as usize]
    }

    pub(crate) fn add_scope(&mut self, scope: CompileScope) -> CatalogScopeId {
        let id = CatalogScopeId(u32::try_from(self.scopes.len()).unwrap_or(u32::MAX));
        self.scopes.push(scope);
        id
    }

    /// The scope whose variables code declared in `id` sees besides its own: the node block or site
    /// around it, or the top scope.
    pub(crate) fn enclosing_variables(&self, id: CatalogScopeId) -> VariableScope {
        let mut scope = self.scope(id);
        loop {
            match (scope.kind, scope.parent) {
                (ScopeKind::Node | ScopeKind::Site | ScopeKind::Top, _) | (_, None) => {
                    return scope.variables.clone();
                }
                (_, Some(parent)) => scope = self.scope(parent),
            }
        }
    }

    /// Defaults for resources of a type that are declared in a scope. Those of inner scopes replace
    /// those of outer ones.
    pub(crate) fn defaults(
        &self,
        id: CatalogScopeId,
        type_name: &str,
    ) -> FastIndexMap<Arc<str>, DefaultAttribute> {
        let mut found = FastIndexMap::default();
        if !self.has_defaults {
            return found;
        }
        let mut chain = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let scope = self.scope(id);
            chain.extend(scope.defaults.get(type_name));
            next = scope.parent;
        }
        for defaults in chain.into_iter().rev() {
            for (name, default) in defaults {
                found.insert(Arc::clone(name), default.clone());
            }
        }
        found
    }

    /// True if the value of an attribute is the default in a scope.
    pub(crate) fn is_default(
        &self,
        id: CatalogScopeId,
        type_name: &str,
        name: &str,
        value: &Value,
    ) -> bool {
        let mut next = if self.has_defaults { Some(id) } else { None };
        while let Some(id) = next {
            let scope = self.scope(id);
            let defaults = scope.defaults.get(type_name);
            let default = defaults.and_then(|defaults| defaults.get(name));
            if default.is_some_and(|default| default.value == *value) {
                return true;
            }
            next = scope.parent;
        }
        false
    }

    /// True if the code of `child` inherits from `source`, or may override everything.
    pub(crate) fn is_child_of(&self, child: ResourceSource, source: ResourceSource) -> bool {
        let mut next = child;
        loop {
            let record = &self.sources[next.0 as usize];
            match record.parent {
                _ if record.overrides_all => return true,
                None => return false,
                Some(parent) if parent == source => return true,
                Some(parent) => next = parent,
            }
        }
    }
}
