//! Checks of the mappings `produces` and `consumes`.

use evaluator::{EvalResult, Evaluator, LogLevel, ManifestMapping, MappedComponent};
use syntax::ast::CapabilityRole;

use crate::catalog::ResourceKind;
use crate::compilation::Compilation;
use crate::error::fail_at;
use crate::names::reference_name;

impl Compilation<'_> {
    /// Checks that the components of all mappings exist. In a graph, names that a mapping sets in
    /// vain are logged too.
    pub(super) fn check_mappings(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let mut next = 0;
        loop {
            // a definition that is loaded here may bring more mappings
            let mapping = self.state().applications.mappings.get(next).cloned();
            let Some(mapping) = mapping else {
                return Ok(());
            };
            next += 1;
            let component = self.mapped_kind(evaluator, &mapping)?;
            if self.is_graph {
                self.warn_of_unknown_names(evaluator, &mapping, &component)?;
            }
        }
    }

    fn mapped_kind(
        &self,
        evaluator: &mut Evaluator<'_>,
        mapping: &ManifestMapping,
    ) -> EvalResult<ResourceKind> {
        let (what, name, found) = match &mapping.component {
            MappedComponent::Type(name) => {
                let found = self.find_type(evaluator, name)?;
                ("type", reference_name(name), found)
            }
            MappedComponent::Class(name) => {
                let found = self.find_class(evaluator, name)?;
                let found = found.map(|class| ResourceKind::Class(Some(class)));
                ("class", name.clone(), found)
            }
        };
        match found {
            Some(kind) => Ok(kind),
            None => {
                let text = format!(
                    "Capability mapping error: {} clause references nonexistent {what} {name}",
                    mapping.role.text()
                );
                fail_at(text, &mapping.location())
            }
        }
    }

    fn warn_of_unknown_names(
        &self,
        evaluator: &mut Evaluator<'_>,
        mapping: &ManifestMapping,
        component: &ResourceKind,
    ) -> EvalResult<()> {
        let (kind, what) = match mapping.role {
            CapabilityRole::Consumes => (Some(component.clone()), "parameter of the component"),
            CapabilityRole::Produces => {
                let capability = self.find_type(evaluator, &mapping.capability)?;
                (capability, "attribute of the capability")
            }
        };
        let Some(kind) = kind else {
            let text = format!(
                "the type '{}' of this {} clause does not exist",
                mapping.capability,
                mapping.role.text()
            );
            self.add_log(LogLevel::Warning, &text, &mapping.location());
            return Ok(());
        };
        for name in mapping.names.iter().filter(|name| !kind.accepts(name)) {
            let text = format!(
                "the {} clause sets '{name}', which is no {what}",
                mapping.role.text()
            );
            self.add_log(LogLevel::Warning, &text, &mapping.location());
        }
        Ok(())
    }
}
