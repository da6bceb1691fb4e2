//! Components that wait for a later pass, by node: [`DeferredComponents`].
//!
//! What they need is looked up when the job of a pass is made: a value that a node of the same pass produces is not that
//! of a run that succeeded. Invariant: a restarted server leaves the same components for later.

use std::collections::{BTreeMap, BTreeSet};

use environments::{EnvironmentName, WaitingComponents};
use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use pcp::Certname;
use serde::{Deserialize, Serialize};

use super::{ApplicationGraphError, ApplicationGraphs, RunPass, WaitingComponent};
use crate::defaults::CAPABILITY_QUERIES;

/// The waiting components of a job's nodes, as they are sealed in the job's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeferredComponents {
    /// Name of the environment of the components.
    pub(crate) environment: String,
    of_node: BTreeMap<Certname, WaitingComponents>,
}

/// A node with a capability that it did not produce.
type MissingProducts = BTreeSet<(Certname, String)>;

// === impl DeferredComponents ===

impl DeferredComponents {
    /// Those of a pass; `None` if there are none.
    ///
    /// # Errors
    /// The capabilities cannot be read.
    pub(crate) async fn find(
        source: &dyn ApplicationGraphs,
        environment: &EnvironmentName,
        pass: &RunPass,
    ) -> Result<Option<Self>, ApplicationGraphError> {
        let missing = find_missing(source, environment, pass).await?;
        let partial = pass.nodes.iter().filter(|run| !run.left_out.is_empty());
        let components = partial.map(|run| {
            let missing = absent(&run.left_out, &missing);
            let references = run.left_out.iter().map(|it| it.reference.clone());
            let present = references.filter(|it| !missing.contains(it)).collect();
            (run.node.clone(), WaitingComponents { missing, present })
        });
        let of_node: BTreeMap<Certname, WaitingComponents> = components.collect();
        Ok((!of_node.is_empty()).then(|| Self {
            environment: environment.to_string(),
            of_node,
        }))
    }

    /// Those of a node; `None` if it has all of its components.
    pub(crate) fn of_node(&self, certname: &Certname) -> Option<&WaitingComponents> {
        self.of_node.get(certname)
    }
}

/// The capabilities that waiting components of a pass need, and that are not there.
async fn find_missing(
    source: &dyn ApplicationGraphs,
    environment: &EnvironmentName,
    pass: &RunPass,
) -> Result<MissingProducts, ApplicationGraphError> {
    let mut needed: BTreeMap<Certname, BTreeSet<String>> = BTreeMap::new();
    let waiting = pass.nodes.iter().flat_map(|run| &run.left_out);
    for need in waiting.flat_map(|component| &component.needs) {
        let of_node = needed.entry(need.node.clone()).or_default();
        of_node.insert(need.capability.clone());
    }
    let queries: Vec<_> = needed
        .into_iter()
        .map(|(producer, capabilities)| {
            query_missing(source, environment, producer, capabilities).boxed()
        })
        .collect();
    let missing: Vec<MissingProducts> = stream::iter(queries)
        .buffer_unordered(CAPABILITY_QUERIES)
        .try_collect()
        .await?;
    Ok(missing.into_iter().flatten().collect())
}

async fn query_missing(
    source: &dyn ApplicationGraphs,
    environment: &EnvironmentName,
    producer: Certname,
    capabilities: BTreeSet<String>,
) -> Result<MissingProducts, ApplicationGraphError> {
    let capabilities: Vec<String> = capabilities.into_iter().collect();
    let looking = source.missing_capabilities(environment, &producer, &capabilities);
    let missing = looking.await?.into_iter();
    Ok(missing.map(|it| (producer.clone(), it)).collect())
}

/// The components of a node that need something that is missing, directly or through others of these.
fn absent(waiting: &[WaitingComponent], missing: &MissingProducts) -> BTreeSet<String> {
    let mut absent: BTreeSet<String> = BTreeSet::new();
    loop {
        let lacks = |component: &&WaitingComponent| {
            let mut needs = component.needs.iter();
            !absent.contains(&component.reference)
                && (needs.any(|it| missing.contains(&(it.node.clone(), it.capability.clone())))
                    || component.behind.iter().any(|it| absent.contains(it)))
        };
        let found = waiting.iter().filter(lacks);
        let found: Vec<String> = found.map(|it| it.reference.clone()).collect();
        if found.is_empty() {
            return absent;
        }
        absent.extend(found);
    }
}
