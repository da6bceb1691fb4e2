//! The last steps of a compilation: relationships, overrides, checks, inherited metaparameters.
//!
//! Invariant: a catalog leaves this step only if every reference in it is resolved.

use std::collections::VecDeque;
use std::sync::Arc;

use evaluator::{EvalError, EvalResult, Evaluator, raise};
use pcore::{FastHashMap, FastHashSet, FastIndexMap, Hash, Value};
use resource_types::{METAPARAMETERS, Metaparameter};

use crate::catalog::{ResourceId, ResourceKind, ResourceParameter, flat_texts};
use crate::compilation::Compilation;
use crate::defaults::ERRORS_MAX;
use crate::error::{error_at, location_text};
use crate::reference::{CatalogReference, flat_values};
use crate::state::{CompileState, MAIN};

impl Compilation<'_> {
    pub(crate) fn finish(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        self.evaluate_relationships()?;
        let ids: Vec<ResourceId> = self
            .state()
            .catalog
            .ids()
            .filter(|id| *id >= MAIN)
            .collect();
        let ids = self.without_pruned(ids);
        for id in &ids {
            self.apply_pending_overrides(*id)?;
        }
        // when all relationships are known, and before sensitive values are unwrapped
        self.finish_capabilities()?;
        let ids = self.without_pruned(ids);
        let mut errors = Vec::new();
        for id in &ids {
            self.state().finish_resource(*id)?;
            if let Err(unwind) = self.check_resource(evaluator, *id) {
                match unwind.into_error() {
                    Ok(error) => errors.push(error),
                    Err(_) => return raise("the compilation was interrupted"),
                }
            }
        }
        self.fail_with(errors)?;
        let aliased = self.state().inherit_metaparameters()?;
        self.add_inherited_aliases(&aliased)?;
        self.check_overrides_used()?;
        self.check_realized()?;
        self.check_references(&ids)
    }

    /// The resources that a document may show.
    fn without_pruned(&self, mut ids: Vec<ResourceId>) -> Vec<ResourceId> {
        let state = self.state();
        ids.retain(|id| !state.catalog.resource(*id).is_pruned);
        ids
    }

    /// Fails with the first error, and keeps the others for the report.
    pub(crate) fn fail_with(&self, errors: Vec<EvalError>) -> EvalResult<()> {
        let mut errors = errors.into_iter();
        let Some(first) = errors.next() else {
            return Ok(());
        };
        self.state().further_errors = errors
            .take(ERRORS_MAX)
            .map(|error| error.to_string())
            .collect();
        Err(first.into())
    }

    /// Adds the aliases that resources got from their containers.
    fn add_inherited_aliases(&self, ids: &[ResourceId]) -> EvalResult<()> {
        let mut state = self.state();
        for id in ids {
            let mut names = Vec::new();
            if let Some(alias) = state.catalog.resource(*id).value("alias") {
                flat_texts(&alias, &mut names);
            }
            for name in names {
                if let Err(error) = state.catalog.add_alias(*id, &[Some(name)]) {
                    return raise(error.to_string());
                }
            }
        }
        Ok(())
    }

    fn apply_pending_overrides(&self, id: ResourceId) -> EvalResult<()> {
        let changes = {
            let mut state = self.state();
            if state.pending_overrides.is_empty() {
                return Ok(());
            }
            let resource = state.catalog.resource(id);
            let key = (Arc::clone(&resource.type_name), Arc::clone(&resource.title));
            // the entry stays, since removal from the middle moves all later ones
            let changes = state.pending_overrides.get_mut(&key);
            changes.map(std::mem::take).unwrap_or_default()
        };
        for change in changes {
            self.merge_override(id, change)?;
        }
        Ok(())
    }

    /// Checks the names of a native resource's attributes, and the parameters of a defined resource
    /// that was not evaluated.
    pub(crate) fn check_resource(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<()> {
        let (code, given, label) = {
            let state = self.state();
            let resource = state.catalog.resource(id);
            let defined = match &resource.kind {
                ResourceKind::Native(ty) => {
                    let unknown = resource.parameters.keys().find(|it| !ty.has_attribute(it));
                    let Some(name) = unknown else {
                        return Ok(());
                    };
                    let place = location_text(&resource.location);
                    let text = format!("no parameter named '{name}' {place} on {resource}");
                    return Err(error_at(text, &resource.location).into());
                }
                ResourceKind::DefinedType(defined) if !resource.is_evaluated => defined,
                _ => return Ok(()),
            };
            let parameters = resource.parameters.iter();
            let given: Hash = parameters
                .filter(|(name, _)| Metaparameter::find(name).is_none() && ***name != *"name")
                .map(|(name, parameter)| (&**name, parameter.value.clone()))
                .collect();
            (defined.code.clone(), given, resource.to_string())
        };
        evaluator.parameter_mismatch(&code, &label, &given)
    }

    fn check_overrides_used(&self) -> EvalResult<()> {
        let state = self.state();
        let changes = state.pending_overrides.iter();
        // those of components of other nodes have no effect here
        let changes = changes.filter(|((type_name, title), _)| {
            let reference = CatalogReference {
                type_name: Arc::clone(type_name),
                title: Arc::clone(title),
            };
            !state.applications.left_out.contains(&reference)
        });
        let missing: Vec<String> = changes
            .flat_map(|((type_name, title), changes)| {
                std::iter::repeat_n(format!("{type_name}[{title}]"), changes.len())
            })
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => raise(format!(
                "Could not find resource(s) {} for overriding",
                missing.join(", ")
            )),
        }
    }

    fn check_realized(&self) -> EvalResult<()> {
        match self.missing_realized() {
            missing if missing.is_empty() => Ok(()),
            missing => raise(format!(
                "Failed to realize virtual resources {}",
                missing.join(", ")
            )),
        }
    }

    /// Checks that the resources in relationship attributes exist.
    fn check_references(&self, ids: &[ResourceId]) -> EvalResult<()> {
        let mut errors = Vec::new();
        for id in ids {
            let parameters: Vec<(Arc<str>, ResourceParameter)> = {
                let state = self.state();
                let resource = state.catalog.resource(*id);
                if resource.is_virtual {
                    continue;
                }
                let parameters = resource.parameters.iter();
                parameters
                    .filter(|(name, _)| {
                        Metaparameter::find(name).is_some_and(|it| it.is_relationship)
                    })
                    .map(|(name, parameter)| (Arc::clone(name), parameter.clone()))
                    .collect()
            };
            for (name, parameter) in &parameters {
                for value in flat_values(&parameter.value) {
                    if let Some(message) = self.missing_reference(name, value)? {
                        errors.push(error_at(message, &parameter.location));
                    }
                }
            }
        }
        self.fail_with(errors)
    }

    /// The message about a value of a relationship that is no resource of the catalog; `None` if it is one.
    fn missing_reference(&self, name: &str, value: &Value) -> EvalResult<Option<String>> {
        let text = match value {
            Value::Type(ty) => match CatalogReference::of(ty) {
                Some(reference) => reference.to_string(),
                None => format!("{ty}[]"),
            },
            other => other.to_string(),
        };
        let Some(reference) = CatalogReference::of_text(&text) else {
            let message =
                format!("No title provided and {text:?} is not a valid resource reference");
            return Ok(Some(message));
        };
        let found = self.find_resource(&reference.type_name, &reference.title)?;
        if found.is_some_and(|id| !self.state().catalog.resource(id).is_pruned) {
            return Ok(None);
        }
        let message = format!("Could not find resource '{text}' in parameter '{name}'");
        Ok(Some(message))
    }
}

impl CompileState {
    /// Adds the tags of the container, and unwraps sensitive values.
    fn finish_resource(&mut self, id: ResourceId) -> EvalResult<()> {
        self.add_scope_tags(id)?;
        let resource = self.catalog.resource_mut(id);
        for (name, parameter) in &mut resource.parameters {
            if let Value::Sensitive(inner) = &parameter.value {
                parameter.value = Value::clone(inner);
                resource.sensitive_parameters.push(Arc::clone(name));
            }
        }
        Ok(())
    }

    /// Metaparameters and tags of containers reach what they contain, from Class[main] down, as far
    /// as the edges of containment lead. Returns the resources that got an alias.
    fn inherit_metaparameters(&mut self) -> EvalResult<Vec<ResourceId>> {
        let mut aliased = Vec::new();
        let mut values: FastHashMap<ResourceId, FastIndexMap<&'static str, Value>> =
            FastHashMap::default();
        let mut queue = VecDeque::from([MAIN]);
        let mut seen = FastHashSet::default();
        while let Some(source) = queue.pop_front() {
            if self.catalog.contents(source).is_empty() || !seen.insert(source) {
                continue;
            }
            let inherited = match values.get(&source) {
                Some(known) => known.clone(),
                None => self.metaparameters(source),
            };
            for target in self.catalog.contents(source).to_vec() {
                if !inherited.is_empty() {
                    let had_alias = self
                        .catalog
                        .resource(target)
                        .parameters
                        .contains_key("alias");
                    if !had_alias && inherited.contains_key("alias") {
                        aliased.push(target);
                    }
                    let merged = self.inherit(target, &inherited)?;
                    values.insert(target, merged);
                }
                self.charge(self.catalog.resource(source).tags.len() as u64)?;
                self.catalog.merge_tags(source, target);
                queue.push_back(target);
            }
        }
        Ok(aliased)
    }

    fn metaparameters(&self, id: ResourceId) -> FastIndexMap<&'static str, Value> {
        let resource = self.catalog.resource(id);
        METAPARAMETERS
            .iter()
            .filter(|it| !it.is_relationship)
            .filter_map(|it| {
                let value = resource.value(it.name)?;
                (!value.is_undef()).then_some((it.name, value))
            })
            .collect()
    }

    /// Sets the metaparameters that a resource does not set itself; returns all that it has then.
    fn inherit(
        &mut self,
        id: ResourceId,
        inherited: &FastIndexMap<&'static str, Value>,
    ) -> EvalResult<FastIndexMap<&'static str, Value>> {
        let mut merged = inherited.clone();
        for (name, value) in inherited {
            let resource = self.catalog.resource(id);
            let is_set = resource
                .parameters
                .get(*name)
                .is_some_and(|it| !it.value.is_undef());
            if is_set {
                continue;
            }
            let parameter = ResourceParameter {
                value: value.clone(),
                source: resource.source,
                location: evaluator::SourceLocation::default(),
            };
            self.charge_value(value)?;
            // the tags were valid on the container
            let _ = self.catalog.resource_mut(id).set((*name).into(), parameter);
        }
        merged.extend(self.metaparameters(id));
        Ok(merged)
    }
}
