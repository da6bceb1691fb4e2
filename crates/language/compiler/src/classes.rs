//! Evaluation of classes and of resources of defined types: parameters, data, defaults, body.

use std::rc::Rc;
use std::sync::Arc;

use evaluator::{
    BuiltInVariables, CatalogBody, CatalogScopeId, EvalError, EvalResult, EvalUnwind, Evaluator,
    VariableScope, raise,
};
use lookup::{LookupRequest, LookupTrail};
use pcore::{FastHashMap, Hash, Value};
use resource_types::Metaparameter;

use crate::catalog::{
    CatalogResource, ResourceId, ResourceKind, ResourceParameter, ResourceSource,
};
use crate::compilation::Compilation;
use crate::defaults::CONTAINMENT_DEPTH_MAX;
use crate::environment::{ClassDefinition, DefinedTypeRole};
use crate::error::{error_at, fail_at};
use crate::names::{definition_name, reference_name};
use crate::scope::{CompileScope, ScopeKind, SourceRecord};

/// Definition of a class or defined type, as far as the evaluation of its resource needs it.
struct ResourceCode {
    name: Arc<str>,
    code: CatalogBody,
    module: Arc<str>,
    parent: Option<Arc<str>>,
    kind: ScopeKind,
}

impl Compilation<'_> {
    /// Declares classes that are not declared yet, and evaluates them, as `include` does. Returns
    /// their resources: first those that were evaluated before.
    pub(crate) fn include_classes(
        &self,
        evaluator: &mut Evaluator<'_>,
        scope: CatalogScopeId,
        names: &[Arc<str>],
    ) -> EvalResult<Vec<ResourceId>> {
        let mut classes: Vec<Arc<ClassDefinition>> = Vec::with_capacity(names.len());
        for name in names {
            match self.find_class(evaluator, name)? {
                Some(class) => classes.push(class),
                None => {
                    let certname = &self.request.certname;
                    return raise(format!("Could not find class {name} for {certname}"));
                }
            }
        }
        let is_deferred = self.is_class_deferred(scope);
        if is_deferred && !self.is_graph {
            classes.retain(|class| self.is_mapped_class(class));
        }
        let (mut known, mut new) = (Vec::new(), Vec::new());
        for class in &classes {
            let evaluated = self.state().class_scopes.get(&class.name).copied();
            match evaluated {
                Some(evaluated) => known.push(self.state().scope(evaluated).resource),
                None => new.push(self.ensure_class(evaluator, scope, class)?),
            }
        }
        for id in new.iter().filter(|_| !is_deferred) {
            self.evaluate_resource(evaluator, *id)?;
        }
        known.extend(new);
        Ok(known)
    }

    /// Evaluates a class whose resource was just added.
    pub(crate) fn evaluate_class_named(
        &self,
        evaluator: &mut Evaluator<'_>,
        scope: CatalogScopeId,
        name: &Arc<str>,
    ) -> EvalResult<()> {
        self.include_classes(evaluator, scope, std::slice::from_ref(name))
            .map(drop)
    }

    /// The resource of a class without parameters of its own; it is added if it is not there.
    pub(crate) fn ensure_class(
        &self,
        evaluator: &mut Evaluator<'_>,
        scope: CatalogScopeId,
        class: &Arc<ClassDefinition>,
    ) -> EvalResult<ResourceId> {
        let title = reference_name(&class.name);
        if let Some(id) = self.state().catalog.find_exact("Class", &title) {
            return Ok(id);
        }
        let resource = self.new_class(scope, class, Vec::new())?;
        self.add_class_resource(evaluator, scope, class, resource)
    }

    /// The resource of a class, with parameters that come from outside of manifests.
    pub(crate) fn new_class(
        &self,
        scope: CatalogScopeId,
        class: &Arc<ClassDefinition>,
        attributes: Vec<evaluator::ResourceAttribute>,
    ) -> EvalResult<CatalogResource> {
        let source = self.class_source(class);
        let kind = ResourceKind::Class(Some(Arc::clone(class)));
        let title = reference_name(&class.name);
        let mut resource = CatalogResource::new("Class".into(), title, kind, (scope, source));
        self.set_attributes(&mut resource, attributes)?;
        Ok(resource)
    }

    /// Adds the resource of a class, after that of the class that it inherits.
    pub(crate) fn add_class_resource(
        &self,
        evaluator: &mut Evaluator<'_>,
        scope: CatalogScopeId,
        class: &Arc<ClassDefinition>,
        resource: CatalogResource,
    ) -> EvalResult<ResourceId> {
        if let Some(parent) = &class.parent {
            self.check_inheritance(evaluator, class)?;
            let parent = self.parent_class(evaluator, class, parent)?;
            self.enter_nested()?;
            let added = self.ensure_class(evaluator, scope, &parent);
            self.leave_nested();
            added?;
        }
        self.state().catalog.tags.merge(&resource.tags);
        self.add_resource(scope, resource)
    }

    /// Refuses a class that inherits itself, directly or through others.
    fn check_inheritance(
        &self,
        evaluator: &mut Evaluator<'_>,
        class: &ClassDefinition,
    ) -> EvalResult<()> {
        let mut names = vec![Arc::clone(&class.name)];
        let mut next = class.parent.clone();
        while let Some(name) = next {
            if names.contains(&name) {
                names.push(name);
                return fail_at(
                    format!(
                        "class {} inherits itself: {}",
                        class.name,
                        names.join(" inherits ")
                    ),
                    &class.code.location(),
                );
            }
            next = match self.find_class(evaluator, &name)? {
                Some(parent) => parent.parent.clone(),
                None => None,
            };
            names.push(name);
        }
        Ok(())
    }

    fn parent_class(
        &self,
        evaluator: &mut Evaluator<'_>,
        class: &ClassDefinition,
        parent: &str,
    ) -> EvalResult<Arc<ClassDefinition>> {
        match self.find_class(evaluator, parent)? {
            Some(parent) => Ok(parent),
            None => Err(error_at(
                format!(
                    "Could not find parent resource type '::{}' of type hostclass in {}",
                    class.written_parent.trim_start_matches("::"),
                    self.environment.name()
                ),
                &class.code.location(),
            )
            .into()),
        }
    }

    /// The owner of attributes that the code of a class sets.
    fn class_source(&self, class: &ClassDefinition) -> ResourceSource {
        let parent = class.parent.as_ref().map(|parent| {
            let mut state = self.state();
            state.source_named(&format!("class {}", definition_name(parent)), None)
        });
        self.state()
            .source_named(&format!("class {}", class.name), parent)
    }

    /// Evaluates the classes and defined resources that are declared and not virtual. Returns false
    /// if there were none.
    pub(crate) fn evaluate_definitions(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<bool> {
        let mut ready = Vec::new();
        {
            let mut guard = self.state();
            let state = &mut *guard;
            let catalog = &state.catalog;
            state.unevaluated.retain(|id| {
                let resource = catalog.resource(*id);
                let is_ready = !resource.is_evaluated && !resource.is_virtual;
                if is_ready {
                    ready.push(*id);
                }
                !is_ready && !resource.is_evaluated
            });
        }
        for id in &ready {
            if let Err(unwind) = self.evaluate_resource(evaluator, *id) {
                return Err(self.wrapped(*id, unwind));
            }
        }
        Ok(!ready.is_empty())
    }

    /// Adds the place of the resource whose evaluation failed to the error.
    fn wrapped(&self, id: ResourceId, unwind: Box<EvalUnwind>) -> Box<EvalUnwind> {
        let EvalUnwind::Error(inner) = *unwind else {
            return unwind;
        };
        let location = self.state().catalog.resource(id).location.clone();
        let text =
            format!("Evaluation Error: Error while evaluating a Resource Statement, {inner}");
        let mut error = error_at(text, &location);
        error.hints = inner.hints;
        error.payload = inner.payload;
        error.into()
    }

    /// Evaluates the code behind a class or a resource of a defined type, once.
    pub(crate) fn evaluate_resource(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<()> {
        let code = {
            let mut state = self.state();
            if state.catalog.resource(id).is_evaluated {
                return Ok(());
            }
            state.catalog.resource_mut(id).is_evaluated = true;
            state.add_scope_tags(id)?;
            match &state.catalog.resource(id).kind {
                ResourceKind::Class(Some(class)) => ResourceCode {
                    name: Arc::clone(&class.name),
                    code: class.code.clone(),
                    module: Arc::clone(&class.module),
                    parent: class.parent.clone(),
                    kind: ScopeKind::Class,
                },
                ResourceKind::DefinedType(defined) => ResourceCode {
                    kind: match defined.role {
                        DefinedTypeRole::Application => ScopeKind::Application,
                        DefinedTypeRole::Resource | DefinedTypeRole::Capability => {
                            ScopeKind::DefinedType
                        }
                    },
                    name: Arc::clone(&defined.name),
                    code: defined.code.clone(),
                    module: Arc::clone(&defined.module),
                    parent: None,
                },
                _ => return Ok(()),
            }
        };
        self.enter_nested()?;
        let result = self.evaluate_code(evaluator, id, &code);
        self.leave_nested();
        result
    }

    pub(crate) fn enter_nested(&self) -> EvalResult<()> {
        let depth = self.depth.get();
        if depth >= CONTAINMENT_DEPTH_MAX {
            return raise(format!(
                "classes and resources are more than {CONTAINMENT_DEPTH_MAX} deep inside each other"
            ));
        }
        self.depth.set(depth + 1);
        Ok(())
    }

    pub(crate) fn leave_nested(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    fn evaluate_code(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        code: &ResourceCode,
    ) -> EvalResult<()> {
        self.consume_capabilities(evaluator, id)?;
        let inherited = self.evaluate_parent(evaluator, id, code)?;
        let scope = self.open_scope(evaluator, id, code, inherited)?;
        if code.kind == ScopeKind::Class {
            let mut state = self.state();
            // names of classes are valid tags
            let _ = state.catalog.add_class(&code.name);
            state.class_scopes.insert(Arc::clone(&code.name), scope);
        }
        let variables = self.set_parameters(evaluator, id, scope, code)?;
        if code.kind == ScopeKind::Class {
            self.add_edge_from_stage(id)?;
        }
        self.check_reserved_parameters(&code.code)?;
        self.produce_capabilities(evaluator, id, &variables)?;
        evaluator.run_catalog_code(&code.code, &variables, None)
    }

    /// Evaluates the inherited class, and returns its scope.
    fn evaluate_parent(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        code: &ResourceCode,
    ) -> EvalResult<Option<CatalogScopeId>> {
        let Some(parent) = &code.parent else {
            return Ok(None);
        };
        let title = reference_name(parent);
        let parent_id = self.state().catalog.find_exact("Class", &title);
        let Some(parent_id) = parent_id else {
            return Ok(None);
        };
        if parent_id == id {
            return raise(format!("class {parent} inherits itself"));
        }
        self.evaluate_resource(evaluator, parent_id)?;
        let scope = self.state().class_scopes.get(parent).copied();
        match scope {
            Some(scope) => Ok(Some(scope)),
            None => raise(format!("Could not find scope for {parent}")),
        }
    }

    fn open_scope(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        code: &ResourceCode,
        inherited: Option<CatalogScopeId>,
    ) -> EvalResult<CatalogScopeId> {
        let (source, declared_in, enclosing) = {
            let mut state = self.state();
            let declared_in = state.catalog.resource(id).scope;
            let source = match (&state.catalog.resource(id).kind, code.kind) {
                (ResourceKind::Class(Some(class)), _) => {
                    let class = Arc::clone(class);
                    drop(state);
                    let source = self.class_source(&class);
                    state = self.state();
                    source
                }
                _ => state.source_named(&format!("type {}", code.name), None),
            };
            let enclosing = match inherited {
                Some(parent) => state.scope(parent).variables.clone(),
                None => state.enclosing_variables(declared_in),
            };
            (source, declared_in, enclosing)
        };
        let parent = inherited.unwrap_or(declared_in);
        let around = self.metaparameter_variables(id, &code.code, &enclosing);
        let built_in = self.built_in_variables(id, code, parent);
        let mut state = self.state();
        let scope = state.add_scope(CompileScope {
            parent: Some(parent),
            kind: code.kind,
            source,
            resource: id,
            variables: VariableScope::top(),
            defaults: FastHashMap::default(),
            module: Some(Arc::clone(&code.module)),
        });
        drop(state);
        let variables = evaluator.open_scope(&code.code, &around, scope, built_in, false);
        self.state().scope_mut(scope).variables = variables;
        Ok(scope)
    }

    /// Metaparameters of a resource are variables of its code.
    fn metaparameter_variables(
        &self,
        id: ResourceId,
        code: &CatalogBody,
        enclosing: &VariableScope,
    ) -> VariableScope {
        let state = self.state();
        let parameters = state.catalog.resource(id).parameters.iter();
        let mut extra = parameters
            .filter(|(name, _)| code.parameter(name).is_none())
            .filter(|(name, _)| !matches!(&***name, "name" | "title"))
            .peekable();
        if extra.peek().is_none() {
            return enclosing.clone();
        }
        let around = enclosing.growable_inside();
        for (name, parameter) in extra {
            around.define(name, parameter.value.clone());
        }
        around
    }

    fn built_in_variables(
        &self,
        id: ResourceId,
        code: &ResourceCode,
        parent: CatalogScopeId,
    ) -> BuiltInVariables {
        let state = self.state();
        let resource = state.catalog.resource(id);
        let (title, name) = match code.kind {
            ScopeKind::Class => (
                Value::from(resource.title.to_lowercase()),
                Value::from(resource.name().to_string().to_lowercase()),
            ),
            _ => (Value::Str(Arc::clone(&resource.title)), resource.name()),
        };
        let caller = state.scope(parent).module.clone();
        BuiltInVariables {
            title,
            name,
            module_name: Some(Value::Str(Arc::clone(&code.module))),
            caller_module_name: caller.map(Value::Str),
        }
    }

    /// Sets the parameters: those of the declaration, then data, then defaults.
    fn set_parameters(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        scope: CatalogScopeId,
        code: &ResourceCode,
    ) -> EvalResult<VariableScope> {
        let variables = self.state().scope(scope).variables.clone();
        if code.kind == ScopeKind::Class {
            self.bind_data(evaluator, id, &variables, code)?;
        }
        for (index, (name, _)) in code.code.parameters().enumerate() {
            let state = self.state();
            if let Some(parameter) = state.catalog.resource(id).parameters.get(name) {
                variables.set_parameter(index, parameter.value.clone());
            }
        }
        let label = || self.state().catalog.resource(id).to_string();
        for (index, (name, has_default)) in code.code.parameters().enumerate() {
            let is_given = variables
                .parameter(index)
                .is_some_and(|value| !value.is_undef());
            if is_given || !has_default {
                continue;
            }
            variables.clear_parameter(index);
            let value = evaluator.parameter_default(&code.code, &variables, index, &label)?;
            variables.set_parameter(index, value.clone());
            self.set_own_parameter(id, name, value)?;
        }
        self.check_parameters(evaluator, id, &variables, &code.code)?;
        Ok(variables)
    }

    /// Automatic parameter lookup: data for the parameters of a class that are not given.
    fn bind_data(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        variables: &VariableScope,
        code: &ResourceCode,
    ) -> EvalResult<()> {
        for (name, has_default) in code.code.parameters() {
            let is_given = {
                let state = self.state();
                let parameter = state.catalog.resource(id).parameters.get(name);
                parameter.is_some_and(|it| !it.value.is_undef())
            };
            if is_given {
                continue;
            }
            let key = [format!("{}::{name}", code.name)];
            let request = LookupRequest {
                names: &key,
                ..LookupRequest::default()
            };
            let trail = Rc::new(LookupTrail::new());
            let files = self.environment.code.as_files();
            let found = self
                .lookup
                .find(files, evaluator, variables, (&request, &trail))?;
            match found {
                Some(value) if !(value.is_undef() && has_default) => {
                    self.set_own_parameter(id, name, value)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets a parameter that the declaration does not give.
    pub(crate) fn set_own_parameter(
        &self,
        id: ResourceId,
        name: &Arc<str>,
        value: Value,
    ) -> EvalResult<()> {
        let mut state = self.state();
        state.charge_value(&value)?;
        let resource = state.catalog.resource_mut(id);
        let parameter = ResourceParameter {
            value,
            source: resource.source,
            location: evaluator::SourceLocation::default(),
        };
        match resource.set(Arc::clone(name), parameter) {
            Ok(()) => Ok(()),
            Err(error) => raise(error.to_string()),
        }
    }

    /// Checks names and types of the parameters.
    fn check_parameters(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        variables: &VariableScope,
        code: &CatalogBody,
    ) -> EvalResult<()> {
        let types = evaluator.parameter_types(code)?;
        let mut is_valid = true;
        for (index, (_, has_default)) in code.parameters().enumerate() {
            is_valid &= match variables.parameter(index) {
                Some(value) => types[index].is_instance(&value) || is_deferred(&value),
                None => has_default,
            };
        }
        let mut given = Hash::new();
        {
            let state = self.state();
            for (name, parameter) in &state.catalog.resource(id).parameters {
                let is_free = Metaparameter::find(name).is_some() || **name == *"name";
                match code.parameter(name) {
                    None if is_free => {}
                    None => {
                        is_valid = false;
                        given.insert(&**name, parameter.value.clone());
                    }
                    Some(_) => {}
                }
            }
        }
        if is_valid {
            return Ok(());
        }
        for (index, (name, _)) in code.parameters().enumerate() {
            if let Some(value) = variables.parameter(index) {
                given.insert(&**name, value);
            }
        }
        let label = self.state().catalog.resource(id).to_string();
        evaluator.parameter_mismatch(code, &label, &given)
    }

    /// Refuses parameters with the names of variables that only the server sets.
    fn check_reserved_parameters(&self, code: &CatalogBody) -> EvalResult<()> {
        let reserved = ["trusted", "facts", "server_facts"];
        match reserved.iter().find(|name| code.parameter(name).is_some()) {
            None => Ok(()),
            Some(name) => {
                let text = format!("Attempt to assign to a reserved variable name: '{name}'");
                fail_at(text, &code.location())
            }
        }
    }

    fn add_edge_from_stage(&self, id: ResourceId) -> EvalResult<()> {
        let mut state = self.state();
        let resource = state.catalog.resource(id);
        let own = resource.value("stage").filter(|it| !it.is_undef());
        let inherited = || {
            let container = state.scope(resource.scope).resource;
            let stage = state.catalog.resource(container).value("stage");
            stage.filter(|it| !it.is_undef())
        };
        let is_own = own.is_some();
        let wanted = own.or_else(inherited);
        let title = wanted.map_or_else(|| "main".to_owned(), |it| it.to_string());
        let Some(stage) = state.catalog.find_exact("Stage", &title) else {
            return raise(format!(
                "Could not find stage {title} specified by {resource}"
            ));
        };
        if !is_own && title != "main" {
            let parameter = ResourceParameter {
                value: Value::from(title.as_str()),
                source: resource.source,
                location: evaluator::SourceLocation::default(),
            };
            // the attribute `stage` sets no tags
            let _ = state
                .catalog
                .resource_mut(id)
                .set("stage".into(), parameter);
        }
        if !state.catalog.add_edge(stage, id) {
            return raise("the catalog has too many containment edges");
        }
        Ok(())
    }
}

/// True for a value that the node computes, whose type is not known here.
pub(crate) fn is_deferred(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|object| object.object_type() == pcore::Type::deferred())
}

impl crate::state::CompileState {
    /// The owner with a name. `parent` replaces the known one if it is given.
    pub(crate) fn source_named(
        &mut self,
        name: &str,
        parent: Option<ResourceSource>,
    ) -> ResourceSource {
        if let Some(known) = self.sources_by_name.get(name) {
            if parent.is_some() {
                self.sources[known.0 as usize].parent = parent;
            }
            return *known;
        }
        let id = ResourceSource(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        self.sources.push(SourceRecord {
            parent,
            overrides_all: false,
        });
        self.sources_by_name.insert(name.to_owned(), id);
        id
    }

    /// Adds the tags of the container to a resource, once.
    pub(crate) fn add_scope_tags(&mut self, id: ResourceId) -> EvalResult<()> {
        let resource = self.catalog.resource(id);
        if resource.has_scope_tags {
            return Ok(());
        }
        let container = self.scope(resource.scope).resource;
        if container != id {
            self.charge(self.catalog.resource(container).tags.len() as u64)?;
            self.catalog.merge_tags(container, id);
        }
        self.catalog.resource_mut(id).has_scope_tags = true;
        Ok(())
    }
}

/// Error for a class that the classifier assigns and the environment does not have.
pub(crate) fn unknown_class(name: &str, certname: &str) -> EvalError {
    EvalError::without_location(format!("Could not find class {name} for {certname}"))
}
