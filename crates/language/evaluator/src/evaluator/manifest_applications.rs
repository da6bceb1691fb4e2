//! Applications, capabilities, sites and mappings of a manifest.

use std::sync::Arc;

use pcore::{Hash, Value};
use syntax::ast::CapabilityRole;

use super::closure::catch_return;
use super::{CatalogBody, EvalContext, Evaluator, Manifest, ManifestDefinedType};
use crate::catalog_code::MappedComponent;
use crate::code::DefinitionCode;
use crate::error::{EvalResult, SourceLocation};
use crate::frame::VariableFrame;
use crate::variable_scope::VariableScope;

/// A mapping of a manifest: `Component produces Capability { … }`.
#[derive(Debug, Clone)]
pub struct ManifestMapping {
    pub role: CapabilityRole,
    pub component: MappedComponent,
    /// Type name of the capability as written.
    pub capability: Arc<str>,
    /// Names of the attributes of the capability, or of the parameters of the component, that the
    /// mapping sets.
    pub names: Box<[Arc<str>]>,
    code: CatalogBody,
}

impl ManifestMapping {
    /// Position of the mapping.
    #[must_use]
    pub fn location(&self) -> SourceLocation {
        self.code.location()
    }
}

impl Manifest {
    /// The applications, in the order of the text.
    #[must_use]
    pub fn applications(&self) -> Vec<ManifestDefinedType> {
        self.types_by(|what| match what {
            DefinitionCode::Application { code } => Some(code),
            _ => None,
        })
    }

    /// The capabilities, which have parameters and no statements.
    #[must_use]
    pub fn capabilities(&self) -> Vec<ManifestDefinedType> {
        self.types_by(|what| match what {
            DefinitionCode::Capability { code } => Some(code),
            _ => None,
        })
    }

    fn types_by(&self, code: impl Fn(DefinitionCode) -> Option<u32>) -> Vec<ManifestDefinedType> {
        let definitions = self.unit.definitions.iter();
        definitions
            .filter_map(|definition| {
                Some(ManifestDefinedType {
                    name: definition.name.to_lowercase().into(),
                    code: self.code(code(definition.what)?, definition.index),
                })
            })
            .collect()
    }

    /// The bodies of the sites, in the order of the text.
    #[must_use]
    pub fn sites(&self) -> Vec<CatalogBody> {
        let sites = self.unit.sites.iter();
        sites.map(|site| self.body(site.code, site.at)).collect()
    }

    /// The mappings of capabilities, in the order of the text.
    #[must_use]
    pub fn mappings(&self) -> Vec<ManifestMapping> {
        let mappings = self.unit.mappings.iter();
        mappings
            .map(|mapping| ManifestMapping {
                role: mapping.role,
                component: mapping.component.clone(),
                capability: Arc::clone(&mapping.capability),
                names: mapping.names.clone(),
                code: self.body(mapping.code, mapping.at),
            })
            .collect()
    }

    fn body(&self, code: u32, at: u32) -> CatalogBody {
        CatalogBody {
            unit: Arc::clone(&self.unit),
            code,
            at,
        }
    }
}

impl Evaluator<'_> {
    /// The values that a mapping sets, by name. Its expressions read the variables of `scope`.
    pub fn evaluate_mapping(
        &mut self,
        mapping: &ManifestMapping,
        scope: &VariableScope,
    ) -> EvalResult<Hash> {
        let CatalogBody { unit, code, .. } = &mapping.code;
        self.enter_call()?;
        let frame = VariableFrame::new(unit, *code, scope.frame.as_ref());
        let cx = EvalContext {
            unit,
            frame: Some(&frame),
        };
        let around = self.enter_region();
        let result = catch_return(self.eval(cx, unit.code(*code).body), true);
        let result = self.leave_region(around, result);
        self.calls -= 1;
        match result? {
            Value::Hash(values) => Ok(Hash::clone(&values)),
            _ => Ok(Hash::new()),
        }
    }
}
