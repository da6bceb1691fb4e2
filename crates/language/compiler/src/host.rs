//! The compilation as host of the evaluator.

use std::sync::Arc;

use evaluator::function::{CallArguments, NativeFunction};
use evaluator::{
    AttributeLookup, CatalogHost, CatalogRelationship, CodeBlock, CodeSource, CollectorDeclaration,
    EvalError, EvalResult, EvalUnwind, EvaluationHost, Evaluator, ForeignBlock, ForeignDataCall,
    LogLevel, RelationshipOperand, ResourceChange, ResourceDeclaration, SourceLocation,
    VariableScope,
};
use lookup::{LOOKUP_ERROR, context_type};
use pcore::{Hash, PuppetTimestamp, Type, TypeKind, Value};
use resource_types::Metaparameter;

use crate::catalog::{CatalogResource, ResourceKind};
use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;
use crate::functions;
use crate::names::{definition_name, reference_name, split_reference};
use crate::reference::CatalogReference;

impl EvaluationHost for Compilation<'_> {
    fn code(&self) -> &dyn CodeSource {
        self.environment
    }

    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        if name == functions::PUPPETDB_QUERY.name() && self.request.puppetdb_queries.is_some() {
            return Some(&functions::PUPPETDB_QUERY);
        }
        let found = stdlib::function(name)?;
        self.environment.uses_builtin(name).then_some(found)
    }

    fn stands_in_for(&self, name: &str) -> bool {
        name.contains("::") && stdlib::function(name).is_some()
    }

    fn unknown_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &mut CallArguments<'_>,
    ) -> Option<EvalResult> {
        functions::run(self, evaluator, call)
            .or_else(|| self.call_ruby(evaluator, call))
            .or_else(|| {
                let is_query = call.name == functions::PUPPETDB_QUERY.name();
                is_query.then(|| Err(functions::unknown_function(call)))
            })
    }

    fn run(
        &self,
        name: &'static str,
        evaluator: &mut Evaluator<'_>,
        call: CallArguments<'_>,
    ) -> EvalResult {
        if name == functions::PUPPETDB_QUERY.name() {
            return functions::puppetdb_query(self, evaluator, &call);
        }
        evaluator::raise(format!("the function '{name}' cannot be carried out here"))
    }

    fn classifier_data(&self) -> Arc<Hash> {
        Arc::clone(&self.request.config_data)
    }

    fn call_foreign_block(
        &self,
        evaluator: &mut Evaluator<'_>,
        block: &ForeignBlock,
        arguments: Vec<Value>,
    ) -> EvalResult {
        self.call_ruby_block(evaluator, block, &arguments)
    }

    fn foreign_data_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &ForeignDataCall<'_>,
    ) -> Option<EvalResult<Option<Value>>> {
        self.call_ruby_data(evaluator, call)
    }

    fn method(
        &self,
        evaluator: &mut Evaluator<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> Option<EvalResult> {
        let files = self.environment.code.as_files();
        self.lookup
            .method(files, evaluator, (receiver, name), arguments, block)
    }

    fn breathe(&self) -> EvalResult<()> {
        self.check_interrupt()
    }

    fn variable(&self, name: &str) -> Option<EvalResult> {
        let (class, variable) = name.rsplit_once("::")?;
        if class == "settings" {
            match variable {
                "environment" => return Some(Ok(Value::from(self.environment.name()))),
                "strict" => return Some(Ok(Value::from("error"))),
                "strict_variables" => return Some(Ok(Value::Bool(true))),
                "storeconfigs" => {
                    return Some(Ok(Value::Bool(self.environment.settings.storeconfigs)));
                }
                _ => {}
            }
            let settings = self.environment.settings.settings.iter();
            let mut found = settings.filter(|(known, _)| known == variable);
            return found.next().map(|(_, value)| Ok(value.clone()));
        }
        self.class_variable(class, variable).map(Ok)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        context_type(name)
    }

    fn log(&self, level: LogLevel, message: &str, place: &SourceLocation) {
        self.add_log(level, message, place);
    }

    fn now(&self) -> EvalResult<PuppetTimestamp> {
        self.state().add_volatile(VolatileCause::Clock);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = i128::try_from(now.unwrap_or_default().as_nanos()).unwrap_or_default();
        match PuppetTimestamp::from_nanos(nanoseconds) {
            Some(now) => Ok(now),
            None => evaluator::raise("the clock is far from any time"),
        }
    }

    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> EvalResult {
        let files = self.environment.code.as_files();
        let found = self.lookup.call(files, evaluator, call);
        found.map_err(|unwind| match *unwind {
            EvalUnwind::Error(error) if error.code == LOOKUP_ERROR => without_place(error).into(),
            other => Box::new(other),
        })
    }

    fn catalog(&self) -> Option<&dyn CatalogHost> {
        Some(self)
    }
}

impl CatalogHost for Compilation<'_> {
    fn declare(
        &self,
        evaluator: &mut Evaluator<'_>,
        declaration: ResourceDeclaration,
    ) -> EvalResult<Vec<Value>> {
        self.declare_resources(evaluator, declaration)
    }

    fn set_defaults(&self, _: &mut Evaluator<'_>, defaults: ResourceChange) -> EvalResult<()> {
        self.add_defaults(defaults)
    }

    fn override_attributes(
        &self,
        _: &mut Evaluator<'_>,
        title: &str,
        change: ResourceChange,
    ) -> EvalResult<()> {
        let ResourceChange {
            type_name,
            attributes,
            scope,
            location,
        } = change;
        self.add_override((&type_name, title), scope, attributes, location)
    }

    fn collect(
        &self,
        evaluator: &mut Evaluator<'_>,
        collector: CollectorDeclaration,
    ) -> EvalResult<u32> {
        self.add_collector(evaluator, collector)
    }

    fn relate(&self, relationship: CatalogRelationship) -> EvalResult<()> {
        self.state().relationships.push(relationship);
        Ok(())
    }

    fn set_alternative(&self, collector: u32, operands: &[RelationshipOperand]) {
        let mut state = self.state();
        state.alternatives.insert(collector, operands.to_vec());
    }

    fn attribute(
        &self,
        _: &mut Evaluator<'_>,
        type_name: &str,
        title: &str,
        name: &str,
    ) -> EvalResult<AttributeLookup> {
        let type_name = reference_name(type_name);
        let title: Arc<str> = match *type_name == *"Class" {
            true => reference_name(title),
            false => title.into(),
        };
        let Some(id) = self.find_resource(&type_name, &title)? else {
            return Ok(AttributeLookup::UnknownResource);
        };
        let state = self.state();
        let resource = state.catalog.resource(id);
        if !accepts_attribute(resource, name) {
            return Ok(AttributeLookup::UnknownAttribute);
        }
        let value = match resource.value(name) {
            Some(value) if !value.is_undef() => value,
            _ => {
                let defaults = state.defaults(resource.scope, &resource.type_name);
                let default = defaults.get(name);
                default
                    .map(|default| default.value.clone())
                    .unwrap_or_default()
            }
        };
        Ok(AttributeLookup::Value(value))
    }

    fn class_variables(&self, name: &str) -> Option<VariableScope> {
        let state = self.state();
        let scope = *state.class_scopes.get(definition_name(name).as_str())?;
        Some(state.scope(scope).variables.clone())
    }

    fn resource_type(&self, evaluator: &mut Evaluator<'_>, name: &str) -> EvalResult<Option<Type>> {
        let found = self.find_type(evaluator, name)?;
        // applications are declared, and not referred to
        let found = found.filter(|kind| !kind.is_application());
        Ok(found.map(|_| Type::resource_of(reference_name(name), None)))
    }

    fn is_defined(&self, evaluator: &mut Evaluator<'_>, what: &Value) -> EvalResult<bool> {
        match what {
            Value::Str(text) => self.is_name_defined(evaluator, text),
            Value::Type(ty) => match ty.kind() {
                TypeKind::Type(Some(inner)) => match inner.kind() {
                    TypeKind::Class(Some(name)) => Ok(self.find_class(evaluator, name)?.is_some()),
                    TypeKind::Resource {
                        type_name: Some(name),
                        ..
                    } => Ok(self.find_type(evaluator, name)?.is_some()),
                    _ => Ok(false),
                },
                TypeKind::Resource {
                    type_name: Some(name),
                    title: None,
                } => Ok(self.find_type(evaluator, name)?.is_some()),
                _ => match CatalogReference::of(ty) {
                    Some(it) => Ok(self.find_resource(&it.type_name, &it.title)?.is_some()),
                    None => Ok(false),
                },
            },
            _ => Ok(false),
        }
    }
}

impl Compilation<'_> {
    /// Value of a variable of an evaluated class, or of a class that it inherits.
    fn class_variable(&self, class: &str, variable: &str) -> Option<Value> {
        let state = self.state();
        let mut class: Arc<str> = definition_name(class).into();
        loop {
            let scope = *state.class_scopes.get(&class)?;
            let scope = state.scope(scope);
            if let Some(value) = scope.variables.own(variable) {
                return Some(value);
            }
            match &state.catalog.resource(scope.resource).kind {
                ResourceKind::Class(Some(definition)) => class = definition.parent.clone()?,
                _ => return None,
            }
        }
    }

    /// True if a type or class has this name. `File[/x]` is a resource.
    fn is_name_defined(&self, evaluator: &mut Evaluator<'_>, name: &str) -> EvalResult<bool> {
        match name {
            "" => return Ok(false),
            "main" => return Ok(true),
            _ => {}
        }
        if let Some((type_name, title)) = split_reference(name) {
            return Ok(self
                .find_resource(&reference_name(type_name), title)?
                .is_some());
        }
        Ok(self.find_type(evaluator, name)?.is_some()
            || self.find_class(evaluator, name)?.is_some())
    }
}

/// Moves the place of an error of a lookup, which has none in Puppet, to its hints.
fn without_place(mut error: EvalError) -> EvalError {
    if let Some(place) = error.location.replace(SourceLocation::default())
        && place.line > 0
    {
        error
            .hints
            .push(format!("the key was looked up at {place}"));
    }
    error
}

/// True if a resource may have an attribute.
pub(crate) fn accepts_attribute(resource: &CatalogResource, name: &str) -> bool {
    resource.kind.accepts(name)
}

impl ResourceKind {
    /// True if resources of this kind may have an attribute.
    pub(crate) fn accepts(&self, name: &str) -> bool {
        let code = match self {
            Self::Native(ty) => return ty.has_attribute(name),
            Self::DefinedType(defined) => Some(&defined.code),
            Self::Class(class) => class.as_ref().map(|class| &class.code),
            Self::Node(node) => Some(&node.code),
        };
        name == "name"
            || Metaparameter::find(name).is_some()
            || code.is_some_and(|code| code.parameter(name).is_some())
    }
}
