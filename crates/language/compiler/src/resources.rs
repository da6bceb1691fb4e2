//! Declaration of resources: `type { title: … }`, and functions that declare resources.

use std::sync::Arc;

use evaluator::{
    CatalogScopeId, EvalResult, EvaluatedResourceBody, Evaluator, ResourceAttribute,
    ResourceDeclaration, SourceLocation, raise,
};
use pcore::{Type, Value};
use syntax::ast::ResourceForm;

use crate::catalog::{CatalogResource, InvalidTag, ResourceId, ResourceKind, ResourceParameter};
use crate::compilation::Compilation;
use crate::defaults::RESOURCES_MAX;
use crate::error::{fail_at, location_text};
use crate::names::reference_name;

impl Compilation<'_> {
    /// Declares the resources of a resource expression.
    pub(crate) fn declare_resources(
        &self,
        evaluator: &mut Evaluator<'_>,
        declaration: ResourceDeclaration,
    ) -> EvalResult<Vec<Value>> {
        let site = DeclarationSite {
            form: declaration.form,
            scope: declaration.scope,
            location: declaration.location,
        };
        let is_class = declaration.type_name.eq_ignore_ascii_case("class");
        let kind = match is_class || declaration.bodies.is_empty() {
            true => None,
            false => match self.find_declared_type(evaluator, &declaration.type_name)? {
                Some(kind) => Some(kind),
                None => {
                    return raise(format!(
                        "Unknown resource type: '{}'",
                        declaration.type_name
                    ));
                }
            },
        };
        let mut references = Vec::new();
        for body in declaration.bodies {
            let EvaluatedResourceBody {
                titles,
                are_converted,
                attributes,
            } = body;
            let copies = std::iter::repeat_n(attributes, titles.len());
            for (title, attributes) in titles.into_iter().zip(copies) {
                references.push(match &kind {
                    Some((type_name, kind)) => {
                        let type_name = Arc::clone(type_name);
                        let reference =
                            Type::resource_of(Arc::clone(&type_name), Some(Arc::clone(&title)));
                        let described = (type_name, title, kind.clone());
                        self.declare_resource(&site, described, are_converted, attributes)?;
                        Value::Type(reference)
                    }
                    None => self.declare_class(evaluator, &site, &title, attributes)?,
                });
            }
        }
        Ok(references)
    }

    /// Declares one resource of a native or defined type, unless it is for other nodes.
    pub(crate) fn declare_resource(
        &self,
        site: &DeclarationSite,
        (type_name, title, kind): (Arc<str>, Arc<str>, ResourceKind),
        has_converted_title: bool,
        attributes: Vec<ResourceAttribute>,
    ) -> EvalResult<()> {
        let source = self.state().scope(site.scope).source;
        let mut resource = CatalogResource::new(type_name, title, kind, (site.scope, source));
        resource.location = site.location.clone();
        resource.is_virtual = site.form != ResourceForm::Regular;
        resource.is_exported = site.form == ResourceForm::Exported;
        resource.has_converted_title = has_converted_title;
        self.set_attributes(&mut resource, attributes)?;
        if self.is_left_out(&resource) {
            self.note_left_out(&resource);
            return Ok(());
        }
        self.add_resource(site.scope, resource).map(drop)
    }

    /// Declares a class like a resource, and evaluates it.
    fn declare_class(
        &self,
        evaluator: &mut Evaluator<'_>,
        site: &DeclarationSite,
        title: &str,
        attributes: Vec<ResourceAttribute>,
    ) -> EvalResult<Value> {
        let Some(class) = self.find_class(evaluator, title)? else {
            return raise(format!(
                "Could not find declared class {}",
                title.strip_prefix("::").unwrap_or(title)
            ));
        };
        let source = self.state().scope(site.scope).source;
        let name = Arc::clone(&class.name);
        let kind = ResourceKind::Class(Some(Arc::clone(&class)));
        let owner = (site.scope, source);
        let mut resource = CatalogResource::new("Class".into(), reference_name(&name), kind, owner);
        resource.location = site.location.clone();
        resource.is_declared_class = true;
        self.set_attributes(&mut resource, attributes)?;
        if self.is_left_out(&resource) {
            self.note_left_out(&resource);
        } else {
            self.add_class_resource(evaluator, site.scope, &class, resource)?;
            if !self.is_class_deferred(site.scope) {
                self.evaluate_class_named(evaluator, site.scope, &name)?;
            }
        }
        Ok(Value::Type(Type::class_of(name)))
    }

    /// Sets the attributes of a new resource, adds its tags and the defaults of its scope.
    pub(crate) fn set_attributes(
        &self,
        resource: &mut CatalogResource,
        attributes: Vec<ResourceAttribute>,
    ) -> EvalResult<()> {
        for attribute in attributes {
            if self.is_attribute_set(resource, &attribute.name) {
                let text = format!("Duplicate parameter '{}' for on {resource}", attribute.name);
                return fail_at(text, &resource.location);
            }
            self.state().charge_value(&attribute.value)?;
            let parameter = ResourceParameter {
                value: attribute.value,
                source: resource.source,
                location: attribute.location,
            };
            if let Err(error) = self.set_attribute(resource, attribute.name, parameter) {
                return fail_at(error.to_string(), &resource.location);
            }
        }
        resource.add_own_tags();
        let defaults = self.state().defaults(resource.scope, &resource.type_name);
        for (name, default) in defaults {
            if self.is_attribute_set(resource, &name) {
                continue;
            }
            self.state().charge_value(&default.value)?;
            let parameter = ResourceParameter {
                value: default.value,
                source: default.source,
                location: default.location,
            };
            if let Err(error) = self.set_attribute(resource, name, parameter) {
                return raise(error.to_string());
            }
        }
        Ok(())
    }

    fn is_attribute_set(&self, resource: &CatalogResource, name: &str) -> bool {
        match self.is_link(resource, name) {
            true => resource.has_link(name),
            false => resource.parameters.contains_key(name),
        }
    }

    fn set_attribute(
        &self,
        resource: &mut CatalogResource,
        name: Arc<str>,
        parameter: ResourceParameter,
    ) -> Result<(), InvalidTag> {
        if self.is_link(resource, &name) {
            resource.set_link(&name, parameter);
            return Ok(());
        }
        resource.set(name, parameter)
    }

    /// Adds a resource to the catalog and to its container.
    pub(crate) fn add_resource(
        &self,
        scope: CatalogScopeId,
        resource: CatalogResource,
    ) -> EvalResult<ResourceId> {
        let is_contained = !resource.is_stage() && !resource.is_class();
        let id = self.add_resource_uncontained(resource)?;
        if self.environment.settings.applications {
            self.note_declared(id)?;
        }
        let mut state = self.state();
        if is_contained {
            let container = state.scope(scope).resource;
            if !state.catalog.add_edge(container, id) {
                return raise("the catalog has too many containment edges");
            }
        }
        Ok(id)
    }

    /// Adds a resource to the catalog that nothing contains.
    pub(crate) fn add_resource_uncontained(
        &self,
        resource: CatalogResource,
    ) -> EvalResult<ResourceId> {
        let mut state = self.state();
        if state.catalog.len() >= RESOURCES_MAX {
            return raise(format!(
                "a catalog may have {RESOURCES_MAX} resources at most"
            ));
        }
        if let Some(known) = state
            .catalog
            .find_exact(&resource.type_name, &resource.title)
        {
            let known = &state.catalog.resource(known).location;
            let at = match location_text(known) {
                place if place.is_empty() => String::new(),
                place => format!(" at {place}"),
            };
            let place = location_text(&resource.location);
            let text = format!(
                "Duplicate declaration: {resource} is already declared{at}; cannot redeclare {place}"
            );
            return raise(text.trim_end().to_owned());
        }
        let is_class = resource.is_class();
        let is_application = resource.kind.is_application();
        let is_native = resource.is_native();
        let misplaced_stage = !is_class && resource.parameters.contains_key("stage");
        let reference = misplaced_stage.then(|| resource.to_string());
        let id = state.catalog.push(resource);
        if let Err(error) = state.catalog.add_aliases(id) {
            return raise(error.to_string());
        }
        if let Some(reference) = reference {
            return raise(format!(
                "Only classes can set 'stage'; normal resources like {reference} cannot change run stage"
            ));
        }
        if !is_native && !is_application {
            state.unevaluated.push(id);
        }
        Ok(id)
    }
}

/// Place and form of a declaration.
#[derive(Debug, Clone)]
pub(crate) struct DeclarationSite {
    pub(crate) form: ResourceForm,
    pub(crate) scope: CatalogScopeId,
    pub(crate) location: SourceLocation,
}
