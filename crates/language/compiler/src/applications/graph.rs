//! Compilation of an environment: [`application_graph`].
//!
//! Top-level code, the site and the applications are evaluated, without facts and node blocks.
//! Components and classes are declared and never evaluated.

use std::sync::Arc;

use evaluator::{EvalError, EvalResult, Evaluator, LogLevel, SourceLocation};
use pcore::{FastHashMap, FastHashSet};

use super::graph_checks::GraphComponent;
use super::graph_document::{
    ApplicationComponent, ApplicationGraph, ApplicationGraphError, ApplicationGraphRequest,
    ApplicationInstance,
};
use crate::catalog::ResourceId;
use crate::compilation::Compilation;
use crate::compile::{compiler_limits, on_compiler_thread};
use crate::environment::CompilerEnvironment;
use crate::error::{CompileError, fail_at};
use crate::reference::CatalogReference;
use crate::request::CompileRequest;

/// Compiles the graph of an environment's applications. The work runs on a thread of its own, which
/// has the stack that nested classes need. An environment without applications has an empty graph.
pub fn application_graph(
    environment: &CompilerEnvironment,
    request: &ApplicationGraphRequest,
) -> Result<ApplicationGraph, Box<ApplicationGraphError>> {
    if !environment.has_applications() {
        return Ok(ApplicationGraph::empty(environment.name(), request));
    }
    match on_compiler_thread(|| run(environment, request)) {
        Ok(result) => result,
        Err(error) => Err(graph_error(environment, &error, Vec::new())),
    }
}

fn run(
    environment: &CompilerEnvironment,
    request: &ApplicationGraphRequest,
) -> Result<ApplicationGraph, Box<ApplicationGraphError>> {
    let compile_request = CompileRequest {
        code_id: request.code_id.clone(),
        interrupt: request.interrupt.clone(),
        ..CompileRequest::default()
    };
    let compilation = Compilation::of_environment(environment, &compile_request);
    let parsed = Arc::clone(&environment.parsed);
    let mut evaluator = Evaluator::new(&compilation, compiler_limits(), parsed);
    let outcome = compilation.run_graph(&mut evaluator);
    drop(evaluator);
    let mut state = compilation.state.into_inner();
    let others = std::mem::take(&mut state.further_errors);
    let applications = match outcome {
        Ok(applications) => applications,
        Err(unwind) => {
            let interrupted = || EvalError::without_location("the compilation was interrupted");
            let error = unwind.into_error().unwrap_or_else(|_| interrupted());
            return Err(graph_error(environment, &error, others));
        }
    };
    let mut graph = ApplicationGraph {
        applications,
        logs: state.logs,
        ..ApplicationGraph::empty(environment.name(), request)
    };
    if let Some(path) = graph.component_cycle() {
        let text = format!(
            "components wait for each other, so no run order exists: {}",
            path.join(" -> ")
        );
        graph.logs.push(crate::request::CompileLog {
            level: LogLevel::Warning,
            message: text,
            location: SourceLocation::default(),
        });
    }
    Ok(graph)
}

fn graph_error(
    environment: &CompilerEnvironment,
    error: &EvalError,
    others: Vec<String>,
) -> Box<ApplicationGraphError> {
    let error = CompileError::boxed(error, "", others);
    Box::new(ApplicationGraphError {
        message: error.message,
        environment: environment.name().to_owned(),
        location: error.location,
        hints: error.hints,
        others: error.others,
    })
}

impl Compilation<'_> {
    fn run_graph(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<Vec<ApplicationInstance>> {
        self.set_top_variables(evaluator)?;
        self.load_site(evaluator)?;
        self.add_first_resources()?;
        self.evaluate_main(evaluator)?;
        self.evaluate_site(evaluator)?;
        let instances = self.state().applications.instances.clone();
        for id in &instances {
            self.check_interrupt()?;
            self.evaluate_application(evaluator, *id)?;
        }
        let components = self.checked_components(evaluator)?;
        self.check_mappings(evaluator)?;
        self.check_interrupt()?;
        let mut by_application: FastHashMap<ResourceId, Vec<GraphComponent>> =
            FastHashMap::default();
        for component in components {
            let of_application = by_application.entry(component.application).or_default();
            of_application.push(component);
        }
        let mut applications = Vec::with_capacity(instances.len());
        for id in instances {
            let components = by_application.remove(&id).unwrap_or_default();
            applications.push(self.application_instance(id, &components)?);
        }
        Ok(applications)
    }

    fn application_instance(
        &self,
        id: ResourceId,
        components: &[GraphComponent],
    ) -> EvalResult<ApplicationInstance> {
        let label = self.label(id);
        let mapped = self.mapped_components(id)?;
        let location = self.resource_location(id);
        let declared: FastHashSet<&CatalogReference> =
            components.iter().map(|it| &it.reference).collect();
        let unknown = mapped.iter().filter(|(it, _)| !declared.contains(it));
        let unknown: Vec<String> = unknown.map(|(it, _)| it.to_string()).collect();
        if !unknown.is_empty() {
            let text = format!(
                "Application {label} assigns nodes to non-existent components: {}",
                unknown.join(", ")
            );
            return fail_at(text, &location);
        }
        let known: FastHashSet<&CatalogReference> = mapped.iter().map(|(it, _)| it).collect();
        let missing = components
            .iter()
            .filter(|it| !known.contains(&it.reference));
        let missing: Vec<String> = missing.map(|it| it.reference.to_string()).collect();
        if !missing.is_empty() {
            let text = format!(
                "Application {label} has components without assigned nodes: {}",
                missing.join(", ")
            );
            return fail_at(text, &location);
        }
        let mut nodes: FastHashMap<&CatalogReference, &Arc<str>> = FastHashMap::default();
        for (reference, node) in &mapped {
            if nodes.insert(reference, node).is_some() {
                let text =
                    format!("Application {label} assigns multiple nodes to component {reference}");
                return fail_at(text, &location);
            }
        }
        let texts = |references: &mut dyn Iterator<Item = &CatalogReference>| {
            references.map(ToString::to_string).collect::<Vec<_>>()
        };
        let components = components.iter().map(|component| ApplicationComponent {
            reference: component.reference.to_string(),
            produces: texts(&mut component.capabilities.exports.iter()),
            consumes: texts(&mut component.capabilities.needs()),
            node: nodes
                .get(&component.reference)
                .map_or_else(String::new, |node| node.to_string()),
        });
        Ok(ApplicationInstance {
            reference: label,
            components: components.collect(),
        })
    }
}
