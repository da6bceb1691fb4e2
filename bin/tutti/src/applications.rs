//! The order that applications give to the Puppet runs of jobs: [`CompiledApplications`].
//!
//! Invariant: the graph is that of the compiler, within the limits of all compilations of the server.

use ::catalogs::{
    CatalogError, Catalogs, CompileCaller, CompileOrigin, CompilePriority, ReadCapabilitiesError,
};
use async_trait::async_trait;
use compiler::{ApplicationComponent, ApplicationGraph};
use environments::EnvironmentName;
use jobs::{ApplicationGraphError, ApplicationGraphs, EnvironmentApplications};
use pcp::Certname;
use pxp::action::CodeId;

/// Applications as the engine of catalogs compiles them.
#[derive(Debug)]
pub(crate) struct CompiledApplications(pub(crate) Catalogs);

#[async_trait]
impl ApplicationGraphs for CompiledApplications {
    async fn applications(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&CodeId>,
        owner: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError> {
        let origin = CompileOrigin {
            caller: CompileCaller::Client(owner.to_owned()),
            priority: CompilePriority::Foreground,
        };
        let code_id = code_id.map(CodeId::as_str);
        let compiling = self
            .0
            .enabled_application_graph(environment, code_id, &origin);
        match Box::pin(compiling).await {
            Ok(graph) => graph
                .map(|graph| environment_applications(&graph))
                .transpose(),
            Err(error) => Err(graph_error(error)),
        }
    }

    async fn missing_capabilities(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        capabilities: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError> {
        let looking = self
            .0
            .missing_capabilities(environment, producer, capabilities);
        looking.await.map_err(capabilities_error)
    }

    async fn missing_capabilities_after_run(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        wanted: (&[String], &str),
    ) -> Result<Vec<String>, ApplicationGraphError> {
        let looking = self
            .0
            .missing_capabilities_after_run(environment, producer, wanted);
        looking.await.map_err(capabilities_error)
    }
}

fn capabilities_error(error: ReadCapabilitiesError) -> ApplicationGraphError {
    ApplicationGraphError::Broken(error_causes::chain(&error).to_string())
}

fn graph_error(error: CatalogError) -> ApplicationGraphError {
    let text = error.to_string();
    match error {
        CatalogError::Graph(_) | CatalogError::VersionRemoved { .. } => {
            ApplicationGraphError::Compile(text)
        }
        CatalogError::Code(error) => ApplicationGraphError::Code(error),
        CatalogError::Environment { .. } => ApplicationGraphError::Environment(text),
        CatalogError::QueueFull(_)
        | CatalogError::WaitedTooLong { .. }
        | CatalogError::Stopping => ApplicationGraphError::Unavailable(text),
        error => ApplicationGraphError::Broken(error_causes::chain(&error).to_string()),
    }
}

fn environment_applications(
    graph: &ApplicationGraph,
) -> Result<EnvironmentApplications, ApplicationGraphError> {
    let instances = graph.applications.iter().map(|instance| {
        let components = instance.components.iter().map(to_component);
        Ok::<_, ApplicationGraphError>(jobs::ApplicationInstance {
            reference: instance.reference.clone(),
            components: components.collect::<Result<_, ApplicationGraphError>>()?,
        })
    });
    Ok(EnvironmentApplications {
        instances: instances.collect::<Result<_, _>>()?,
    })
}

fn to_component(
    component: &ApplicationComponent,
) -> Result<jobs::ApplicationComponent, ApplicationGraphError> {
    let node = component.node.parse().map_err(|error| {
        ApplicationGraphError::Compile(format!(
            "{} is mapped to Node[{:?}], which is no certname: {error}",
            component.reference, component.node
        ))
    })?;
    Ok(jobs::ApplicationComponent {
        reference: component.reference.clone(),
        node,
        produces: component.produces.clone(),
        consumes: component.consumes.clone(),
    })
}

#[cfg(test)]
mod tests {
    use catalogs::CompileQueueFull;
    use compiler::ApplicationInstance;

    use super::*;

    fn graph(node: &str) -> ApplicationGraph {
        let component = ApplicationComponent {
            reference: "Db[a]".to_owned(),
            produces: vec!["Sql[a]".to_owned()],
            consumes: Vec::new(),
            node: node.to_owned(),
        };
        ApplicationGraph {
            environment: "production".to_owned(),
            code_id: None,
            applications: vec![ApplicationInstance {
                reference: "App[one]".to_owned(),
                components: vec![component],
            }],
            logs: Vec::new(),
        }
    }

    #[test]
    fn a_component_on_a_node_that_has_no_certname_is_named() {
        let read = environment_applications(&graph("db.example.net")).unwrap();
        assert_eq!(read.components().count(), 1);
        let error = environment_applications(&graph("../db"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(r#"Db[a] is mapped to Node["../db"]"#),
            "{error}"
        );
    }

    #[test]
    fn errors_keep_their_meaning() {
        let busy = CatalogError::QueueFull(CompileQueueFull::All { waiting: 1 });
        assert!(matches!(
            graph_error(busy),
            ApplicationGraphError::Unavailable(_)
        ));
        let late = CatalogError::WaitedTooLong { seconds: 1 };
        assert!(matches!(
            graph_error(late),
            ApplicationGraphError::Unavailable(_)
        ));
        let unknown = environments::CodeError::UnknownEnvironment {
            environment: "x".parse().unwrap(),
            path: "/code/x".into(),
        };
        let unknown = CatalogError::Code(unknown);
        assert!(matches!(
            graph_error(unknown),
            ApplicationGraphError::Code(_)
        ));
    }
}
