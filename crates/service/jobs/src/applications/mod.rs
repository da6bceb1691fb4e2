//! Applications whose components run on several nodes, and the order that they give to Puppet runs.
//!
//! [`ApplicationGraphs`] is the source, [`NodeOrder`] the order of a job's nodes, and [`RunOrder`] the same order
//! while the job runs. Invariant: a node starts only when all nodes that produce what it consumes have succeeded.

mod deferred_components;
mod node_order;
mod passes;
mod run_order;
mod selector;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use environments::{CodeError, EnvironmentName};
use pcp::Certname;
use pxp::action::CodeId;

pub(crate) use self::deferred_components::DeferredComponents;
pub(crate) use self::node_order::StoredNodeOrder;
pub use self::node_order::{DependencyCycle, NodeOrder, NodeProduct};
pub use self::passes::{
    EarlierRun, InvalidPasses, PassLease, PassNode, RunPass, RunPasses, WaitingComponent,
};
pub(crate) use self::run_order::{BlockedRun, BlockingNodes, RunOrder};
pub use self::selector::{ApplicationSelector, InvalidApplicationSelector};

/// Source of the applications of environments.
#[async_trait]
pub trait ApplicationGraphs: fmt::Debug + Send + Sync {
    /// The applications of a version of an environment, or of the live one; `None` if the environment has not
    /// enabled applications. `owner` is the id of the user for whom they are compiled.
    async fn applications(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&CodeId>,
        owner: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError>;

    /// Those of the capabilities that the node has not produced in its last catalog of this environment.
    async fn missing_capabilities(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        capabilities: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError>;

    /// The same after the run of the node with this `transaction_uuid`: a source that learns later of the run's catalog
    /// waits for that.
    async fn missing_capabilities_after_run(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        (capabilities, _transaction_uuid): (&[String], &str),
    ) -> Result<Vec<String>, ApplicationGraphError> {
        let looking = self.missing_capabilities(environment, producer, capabilities);
        looking.await
    }
}

/// The instances of applications in an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentApplications {
    /// Instances in the order of their declarations.
    pub instances: Vec<ApplicationInstance>,
}

/// An application of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationInstance {
    /// Reference such as `Lamp[app1]`.
    pub reference: String,
    /// Components in the order of their declarations.
    pub components: Vec<ApplicationComponent>,
}

/// A component of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationComponent {
    /// Reference such as `Lamp::Mysql[app1]`.
    pub reference: String,
    /// The node to which the component is mapped.
    pub node: Certname,
    /// References of the capabilities that it exports.
    pub produces: Vec<String>,
    /// References of the capabilities that it requires or consumes.
    pub consumes: Vec<String>,
}

/// The nodes of a job that is not made yet, with the applications that order them. With passes a node may run more than
/// once.
#[derive(Clone, Debug)]
pub struct PlannedPasses {
    /// All applications of the environment.
    pub applications: Arc<EnvironmentApplications>,
    /// The runs of the nodes.
    pub passes: RunPasses,
}

/// The nodes of a job that is not made yet, with the applications that order them.
#[derive(Clone, Debug)]
pub struct PlannedNodes {
    /// All applications of the environment.
    pub applications: Arc<EnvironmentApplications>,
    /// The nodes in their order.
    pub order: NodeOrder,
}

/// Reason that the applications of an environment are not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplicationGraphError {
    /// The code of the environment has an error.
    #[error("the applications cannot be ordered: {0}")]
    Compile(String),
    /// The environment cannot be read.
    #[error("{0}")]
    Environment(String),
    /// The environment does not exist, or its code cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The compiler is busy or stops; temporary.
    #[error("the applications cannot be ordered now: {0}; try again")]
    Unavailable(String),
    /// Internal error of the server.
    #[error("the applications cannot be read: {0}")]
    Broken(String),
}

/// A server without a compiler: no environment has applications.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApplications;

#[async_trait]
impl ApplicationGraphs for NoApplications {
    async fn applications(
        &self,
        _: &EnvironmentName,
        _: Option<&CodeId>,
        _: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError> {
        Ok(None)
    }

    async fn missing_capabilities(
        &self,
        _: &EnvironmentName,
        _: &Certname,
        _: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError> {
        Ok(Vec::new())
    }
}

// === impl EnvironmentApplications ===

impl EnvironmentApplications {
    /// The nodes of the instances that match, in the order of the declarations; a node may occur several times.
    pub fn nodes_of<'a>(
        &'a self,
        selector: &'a ApplicationSelector,
    ) -> impl Iterator<Item = &'a Certname> + 'a {
        let instances = self.instances.iter();
        let selected = instances.filter(|it| selector.matches(&it.reference));
        selected.flat_map(|it| it.components.iter().map(|component| &component.node))
    }

    /// All components.
    pub fn components(&self) -> impl Iterator<Item = &ApplicationComponent> {
        self.instances.iter().flat_map(|it| &it.components)
    }
}
