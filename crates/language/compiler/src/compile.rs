//! The steps of a compilation: [`compile`].
//!
//! The order is Puppet's: top-level code, the node block, classes of the classifier, then collectors
//! and defined types in turn until nothing changes, then relationships, overrides and checks.
//!
//! Invariant: nothing of the state is borrowed while a program runs, since the program calls back.

use std::sync::Arc;

use evaluator::{EvalError, EvalResult, EvalUnwind, EvaluationLimits, Evaluator, Manifest};
use pcore::Value;

use crate::catalog::{CatalogDocument, CatalogIdentity, ResourceId, ResourceKind};
use crate::catalog_reads::{CatalogReads, VolatileCause};
use crate::compilation::Compilation;
use crate::defaults;
use crate::environment::{CompilerEnvironment, ManifestDefinitions};
use crate::error::CompileError;
use crate::request::{ApplyProgram, CompileRequest, CompiledCatalog};
use crate::state::MAIN;

/// Compiles the catalog of a node. The work runs on a thread of its own, which has the stack that
/// nested classes need.
pub fn compile(
    environment: &CompilerEnvironment,
    request: &CompileRequest,
) -> Result<CompiledCatalog, Box<CompileError>> {
    match on_compiler_thread(|| run(environment, request)) {
        Ok(result) => result,
        Err(error) => Err(CompileError::boxed(&error, &request.certname, Vec::new())),
    }
}

/// Runs a compilation on a thread of its own.
pub(crate) fn on_compiler_thread<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T, EvalError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("catalog-compiler".to_owned())
            .stack_size(defaults::STACK_BYTES)
            .spawn_scoped(scope, run);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                let text = format!("cannot start a thread for the compilation: {error}");
                Err(EvalError::without_location(text))
            }
        }
    })
}

/// Limits of the evaluation of a compilation.
pub(crate) fn compiler_limits() -> EvaluationLimits {
    EvaluationLimits {
        steps_max: defaults::STEPS_MAX,
        bytes_max: defaults::VALUE_BYTES_TOTAL_MAX,
        calls_max: defaults::CALLS_MAX,
        ..EvaluationLimits::for_stack(defaults::STACK_BYTES)
    }
}

fn run(
    environment: &CompilerEnvironment,
    request: &CompileRequest,
) -> Result<CompiledCatalog, Box<CompileError>> {
    let compilation = Compilation::new(environment, request);
    let parsed = Arc::clone(&environment.parsed);
    let mut evaluator = Evaluator::new(&compilation, compiler_limits(), parsed);
    evaluator.record_fact_reads();
    let outcome = compilation.run(&mut evaluator);
    let facts = evaluator.fact_reads();
    drop(evaluator);
    let hiera_keys = compilation.lookup.found_keys();
    let mut state = compilation.state.into_inner();
    let mut queries = std::mem::take(&mut state.data_queries);
    queries.append(&mut state.applications.taken);
    if let Err(unwind) = outcome {
        let interrupted = |_| EvalError::without_location("the compilation was interrupted");
        let error = unwind.into_error().unwrap_or_else(interrupted);
        let others = std::mem::take(&mut state.further_errors);
        let mut failed = CompileError::boxed(&error, &request.certname, others);
        failed.queries = queries;
        return Err(failed);
    }
    let identity = CatalogIdentity {
        name: request.certname.clone(),
        environment: environment.name().to_owned(),
        version: request.version.clone(),
        code_id: request.code_id.clone(),
        catalog_uuid: request.catalog_uuid.clone(),
    };
    let of_ruby = state.ruby_calls.has_any().then_some(VolatileCause::Ruby);
    let reads = CatalogReads {
        facts,
        hiera_keys,
        queries,
        volatile: state.volatile.or(of_ruby),
    };
    Ok(CompiledCatalog {
        reads,
        document: CatalogDocument::new(identity, state.catalog),
        logs: state.logs,
        left_out: state.applications.deferred,
        capabilities: state.applications.produced,
        ruby_calls: state.ruby_calls,
    })
}

impl Compilation<'_> {
    fn run(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        self.set_top_variables(evaluator)?;
        self.load_site(evaluator)?;
        self.add_first_resources()?;
        self.evaluate_main(evaluator)?;
        // the block of a plan has no site
        let has_applications = self.has_applications();
        if has_applications {
            self.evaluate_site(evaluator)?;
        }
        self.evaluate_node_block(evaluator)?;
        self.add_classified_classes(evaluator)?;
        if has_applications {
            self.evaluate_node_applications(evaluator)?;
        }
        self.evaluate_generators(evaluator)?;
        if has_applications {
            self.link_native_components(evaluator)?;
        }
        self.finish(evaluator)?;
        self.write_links();
        self.check_interrupt()
    }

    fn has_applications(&self) -> bool {
        self.environment.settings.applications && self.request.block.is_none()
    }

    pub(crate) fn set_top_variables(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let request = self.request;
        if let Some(block) = &request.block {
            self.set_block_variables(evaluator, block);
            return Ok(());
        }
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
        for (name, value) in self.top_variables() {
            evaluator.set_global(name, value);
        }
        Ok(())
    }

    fn top_variables(&self) -> [(&'static str, Value); 7] {
        let request = self.request;
        [
            ("environment", Value::from(self.environment.name())),
            ("trusted", Value::hash(request.trusted.clone())),
            ("server_facts", Value::hash(request.server_facts.clone())),
            ("facts", Value::hash(request.facts.clone())),
            ("title", Value::from("main")),
            ("name", Value::from("main")),
            ("module_name", Value::from("")),
        ]
    }

    /// The variables of a block: facts replace those of the plan, and those of the plan replace
    /// built-in ones except `$facts`, `$trusted` and `$server_facts`.
    fn set_block_variables(&self, evaluator: &Evaluator<'_>, block: &ApplyProgram) {
        let is_reserved = |name: &str| matches!(name, "facts" | "trusted" | "server_facts");
        let is_of_main = |name: &str| matches!(name, "title" | "name" | "module_name");
        for (name, value) in self.top_variables() {
            evaluator.set_global(name, value);
        }
        let named = |(name, value): (&'_ Value, &Value)| -> Option<(String, Value)> {
            let name = name.as_str().filter(|name| !is_reserved(name))?;
            Some((name.to_owned(), value.clone()))
        };
        for (name, value) in block.variables.iter().filter_map(named) {
            evaluator.set_global(&name, value);
        }
        let facts = self.request.facts.iter().filter_map(named);
        for (name, value) in facts.filter(|(name, _)| !is_of_main(name)) {
            evaluator.set_global(&name, value);
        }
    }

    pub(crate) fn load_site(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        if let Some(block) = &self.request.block {
            return self.load_block(evaluator, &block.statements);
        }
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
        {
            let mut state = self.state();
            state.site = Arc::clone(&site);
            for manifest in site.iter() {
                state.applications.add_mappings(&manifest.mappings);
            }
        }
        self.check_one_site()?;
        self.check_definitions_unique(&site)
    }

    /// Makes the definitions and node blocks of a block known, as those of a site manifest.
    fn load_block(&self, evaluator: &mut Evaluator<'_>, statements: &Manifest) -> EvalResult<()> {
        let definitions = ManifestDefinitions::new(statements.clone(), None);
        let site: Arc<[Arc<ManifestDefinitions>]> = Arc::new([Arc::new(definitions)]);
        if statements.has_definitions() {
            evaluator.register_manifest(statements, None)?;
        }
        self.check_definitions_unique(&site)?;
        self.state().site = site;
        Ok(())
    }

    /// Adds Stage[main], Class[Settings] and Class[main].
    pub(crate) fn add_first_resources(&self) -> EvalResult<()> {
        let stage_type = self.native_type("stage")?;
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

    pub(crate) fn evaluate_main(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        if let Some(block) = &self.request.block {
            return evaluator.run_statements(&block.statements).map(drop);
        }
        let site = Arc::clone(&self.state().site);
        for manifest in site.iter() {
            evaluator.run_statements(&manifest.manifest)?;
        }
        Ok(())
    }

    /// Collectors and defined types in turn, until a round changes nothing.
    fn evaluate_generators(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        for _ in 0..defaults::GENERATOR_ROUNDS_MAX {
            self.check_interrupt()?;
            let collected = self.evaluate_collectors(evaluator)?;
            let evaluated = self.evaluate_definitions(evaluator)?;
            if !collected && !evaluated {
                return Ok(());
            }
        }
        evaluator::raise("Somehow looped more than 1000 times while evaluating host catalog")
    }
}
