//! One compilation, step by step: [`compile`].
//!
//! The order is Puppet's: top-level code, the node block, classes of the classifier, then collectors
//! and defined types in turn until nothing changes, then relationships, overrides and checks.
//!
//! Invariant: nothing of the state is borrowed while a program runs, since the program calls back.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evaluator::{
    CatalogRelationship, CatalogScopeId, EvalError, EvalResult, EvalUnwind, EvaluationLimits,
    Evaluator, LogLevel, RelationshipOperand, SourceLocation, VariableScope,
};
use indexmap::IndexMap;
use lookup::{Lookup, LookupSettings};
use pcore::Value;

use crate::catalog::{
    Catalog, CatalogDocument, CatalogIdentity, CatalogResource, ResourceId, ResourceKind,
    ResourceSource,
};
use crate::collectors::Collector;
use crate::defaults;
use crate::environment::{ClassDefinition, CompilerEnvironment, DefinedType, ManifestDefinitions};
use crate::error::CompileError;
use crate::overrides::PendingOverride;
use crate::request::{CompileLog, CompileRequest, CompiledCatalog};
use crate::ruby::RubyCode;
use crate::scope::{CompileScope, ScopeKind, SourceRecord};

/// Compiles the catalog of a node. The work runs on a thread of its own, which has the stack that
/// nested classes need.
pub fn compile(
    environment: &CompilerEnvironment,
    request: &CompileRequest,
) -> Result<CompiledCatalog, Box<CompileError>> {
    let run = || run(environment, request);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("catalog-compiler".to_owned())
            .stack_size(defaults::STACK_BYTES)
            .spawn_scoped(scope, run);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                let text = format!("cannot start a thread for the compilation: {error}");
                let error = EvalError::without_location(text);
                Err(CompileError::boxed(&error, &request.certname, Vec::new()))
            }
        }
    })
}

fn run(
    environment: &CompilerEnvironment,
    request: &CompileRequest,
) -> Result<CompiledCatalog, Box<CompileError>> {
    let compilation = Compilation::new(environment, request);
    let limits = EvaluationLimits {
        steps_max: defaults::STEPS_MAX,
        bytes_max: defaults::VALUE_BYTES_TOTAL_MAX,
        calls_max: defaults::CALLS_MAX,
        ..EvaluationLimits::for_stack(defaults::STACK_BYTES)
    };
    let mut evaluator = Evaluator::new(&compilation, limits, Arc::clone(&environment.parsed));
    let outcome = compilation.run(&mut evaluator);
    drop(evaluator);
    let mut state = compilation.state.into_inner();
    let others = std::mem::take(&mut state.further_errors);
    let failed = |error: &EvalError| CompileError::boxed(error, &request.certname, others);
    match outcome {
        Ok(()) => {}
        Err(unwind) => match unwind.into_error() {
            Ok(error) => return Err(failed(&error)),
            Err(_) => {
                let error = EvalError::without_location("the compilation was interrupted");
                return Err(failed(&error));
            }
        },
    }
    let identity = CatalogIdentity::of(environment, request);
    Ok(CompiledCatalog {
        document: CatalogDocument::new(identity, state.catalog),
        logs: state.logs,
    })
}

/// The host of one compilation.
pub(crate) struct Compilation<'e> {
    pub(crate) environment: &'e CompilerEnvironment,
    pub(crate) request: &'e CompileRequest,
    pub(crate) lookup: Lookup,
    state: RefCell<CompileState>,
    /// Ruby, started at its first use.
    pub(crate) ruby: OnceCell<Box<dyn RubyCode>>,
    /// Call of the manifest that runs code in Ruby now, whose own calls have no place.
    pub(crate) ruby_call_site: RefCell<Option<SourceLocation>>,
    /// Classes and defined resources that are being evaluated inside each other.
    pub(crate) depth: Cell<u32>,
}

/// Everything that a compilation changes.
#[derive(Debug)]
pub(crate) struct CompileState {
    pub(crate) catalog: Catalog,
    pub(crate) scopes: Vec<CompileScope>,
    pub(crate) sources: Vec<SourceRecord>,
    pub(crate) sources_by_name: HashMap<String, ResourceSource>,
    /// Scopes of evaluated classes by name.
    pub(crate) class_scopes: HashMap<Arc<str>, CatalogScopeId>,
    /// Scope of the node block; the top scope without one.
    pub(crate) node_scope: CatalogScopeId,
    /// Remaining size of the catalog.
    pub(crate) units_left: u64,
    /// True once a scope has resource defaults, so that most compilations need not look for any.
    pub(crate) has_defaults: bool,
    /// Classes and defined resources that are not evaluated yet.
    pub(crate) unevaluated: Vec<ResourceId>,
    pub(crate) collectors: Vec<Collector>,
    /// Indices of the collectors that still run in every round.
    pub(crate) active_collectors: Vec<u32>,
    pub(crate) alternatives: HashMap<u32, Vec<RelationshipOperand>>,
    /// Overrides of resources that are not declared yet, by type and title.
    pub(crate) pending_overrides: IndexMap<(Arc<str>, Arc<str>), Vec<PendingOverride>>,
    pub(crate) relationships: Vec<CatalogRelationship>,
    /// Certnames of the nodes that export the collected resources.
    pub(crate) collected_exports: HashMap<ResourceId, String>,
    pub(crate) known_classes: HashMap<String, Option<Arc<ClassDefinition>>>,
    pub(crate) known_defined_types: HashMap<String, Option<Arc<DefinedType>>>,
    /// Manifests of modules whose functions and types are known, by their keys.
    pub(crate) registered_manifests: HashSet<usize>,
    pub(crate) site: Arc<[Arc<ManifestDefinitions>]>,
    pub(crate) logs: Vec<CompileLog>,
    pub(crate) further_errors: Vec<String>,
}

/// Class[main], the first resource that manifests may add to. Stage[main] and Class[Settings] come
/// before it; neither is collected or finished.
pub(crate) const MAIN: ResourceId = ResourceId(2);

impl<'e> Compilation<'e> {
    fn new(environment: &'e CompilerEnvironment, request: &'e CompileRequest) -> Self {
        let settings = LookupSettings {
            settings: environment.settings.hiera.clone(),
            environment: environment.settings.name.clone(),
            strict_variables: true,
        };
        Self {
            environment,
            request,
            lookup: Lookup::new(settings, Arc::clone(&environment.data)),
            state: RefCell::new(CompileState::new()),
            ruby: OnceCell::new(),
            ruby_call_site: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// The state, until the end of the statement or block. It must not be held while a program runs.
    pub(crate) fn state(&self) -> RefMut<'_, CompileState> {
        self.state.borrow_mut()
    }

    fn run(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        self.set_top_variables(evaluator)?;
        self.load_site(evaluator)?;
        self.add_first_resources()?;
        self.evaluate_main(evaluator)?;
        self.evaluate_node_block(evaluator)?;
        self.add_classified_classes(evaluator)?;
        self.evaluate_generators(evaluator)?;
        self.finish(evaluator)
    }

    fn set_top_variables(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let request = self.request;
        for (name, value) in request.facts.iter().chain(request.parameters.iter()) {
            match name.as_str() {
                // trusted data replace a fact of that name
                Some("trusted") => {}
                Some(name @ ("facts" | "server_facts")) => {
                    return evaluator::raise(format!(
                        "Attempt to assign to a reserved variable name: '{name}'"
                    ));
                }
                Some(name @ ("title" | "name" | "module_name")) => {
                    return evaluator::raise(format!("Cannot reassign variable '${name}'"));
                }
                Some(name) => evaluator.set_global(name, value.clone()),
                None => {}
            }
        }
        let environment = Value::from(self.environment.name());
        for (name, value) in [
            ("environment", environment),
            ("trusted", Value::hash(request.trusted.clone())),
            ("server_facts", Value::hash(request.server_facts.clone())),
            ("facts", Value::hash(request.facts.clone())),
            ("title", Value::from("main")),
            ("name", Value::from("main")),
            ("module_name", Value::from("")),
        ] {
            evaluator.set_global(name, value);
        }
        Ok(())
    }

    fn load_site(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let name = self.environment.name();
        let site = self
            .environment
            .site(evaluator)
            .map_err(|unwind| match *unwind {
                EvalUnwind::Error(mut error) => {
                    error.message =
                        format!("Could not parse for environment {name}: {}", error.message);
                    Box::new(EvalUnwind::Error(error))
                }
                other => Box::new(other),
            })?;
        for manifest in site.iter() {
            evaluator.register_manifest(&manifest.manifest, None)?;
        }
        self.state().site = Arc::clone(&site);
        self.check_definitions_unique(&site)
    }

    /// Adds Stage[main], Class[Settings] and Class[main].
    fn add_first_resources(&self) -> EvalResult<()> {
        let stage_type = self.environment.native_type("stage")?;
        let mut state = self.state();
        if let Some(stage_type) = stage_type {
            state.add_first("Stage", "main", ResourceKind::Native(stage_type));
        }
        for class in &self.request.classes {
            if let Err(error) = state.catalog.add_class(&class.name.as_str().into()) {
                return evaluator::raise(error.to_string());
            }
        }
        let settings = state.add_first("Class", "Settings", ResourceKind::Class(None));
        // a name without special characters is a valid tag
        let _ = state.catalog.add_class(&"settings".into());
        state.catalog.add_edge(ResourceId(0), settings);
        let main = state.add_first("Class", "main", ResourceKind::Class(None));
        state.catalog.add_edge(ResourceId(0), main);
        debug_assert_eq!(main, MAIN);
        Ok(())
    }

    fn evaluate_main(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let site = Arc::clone(&self.state().site);
        for manifest in site.iter() {
            evaluator.run_statements(&manifest.manifest)?;
        }
        Ok(())
    }

    /// Collectors and defined types in turn, until a round changes nothing.
    fn evaluate_generators(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        for _ in 0..defaults::GENERATOR_ROUNDS_MAX {
            let collected = self.evaluate_collectors(evaluator)?;
            let evaluated = self.evaluate_definitions(evaluator)?;
            if !collected && !evaluated {
                return Ok(());
            }
        }
        evaluator::raise("Somehow looped more than 1000 times while evaluating host catalog")
    }

    /// Place of a call in a manifest: its own, or that of the Ruby code that makes it.
    pub(crate) fn call_site(&self, own: SourceLocation) -> SourceLocation {
        match &*self.ruby_call_site.borrow() {
            Some(site) if own.file.is_none() => site.clone(),
            _ => own,
        }
    }

    /// Logs a message of the compiler or of a manifest.
    pub(crate) fn add_log(&self, level: LogLevel, message: &str, location: &SourceLocation) {
        let mut state = self.state();
        if state.logs.len() < defaults::LOGS_MAX {
            state.logs.push(CompileLog {
                level,
                message: message.to_owned(),
                location: location.clone(),
            });
        }
    }
}

impl CompileState {
    fn new() -> Self {
        let top = CompileScope {
            parent: None,
            kind: ScopeKind::Top,
            source: ResourceSource(0),
            resource: MAIN,
            variables: VariableScope::top(),
            defaults: HashMap::new(),
            module: None,
        };
        let main = SourceRecord {
            parent: None,
            overrides_all: false,
        };
        Self {
            catalog: Catalog::default(),
            scopes: vec![top],
            sources: vec![main],
            sources_by_name: HashMap::new(),
            class_scopes: HashMap::new(),
            node_scope: CatalogScopeId::TOP,
            units_left: defaults::CATALOG_UNITS_MAX,
            has_defaults: false,
            unevaluated: Vec::new(),
            collectors: Vec::new(),
            active_collectors: Vec::new(),
            alternatives: HashMap::new(),
            pending_overrides: IndexMap::new(),
            relationships: Vec::new(),
            collected_exports: HashMap::new(),
            known_classes: HashMap::new(),
            known_defined_types: HashMap::new(),
            registered_manifests: HashSet::new(),
            site: Arc::new([]),
            logs: Vec::new(),
            further_errors: Vec::new(),
        }
    }

    fn add_first(&mut self, type_name: &str, title: &str, kind: ResourceKind) -> ResourceId {
        let owner = (CatalogScopeId::TOP, ResourceSource(0));
        let mut resource = CatalogResource::new(type_name.into(), title.into(), kind, owner);
        resource.add_own_tags();
        resource.is_evaluated = true;
        self.catalog.push(resource)
    }
}
