//! The environment of each node, to which the right to run code on it is bound: [`find_outside_environment`].
//!
//! Invariant: the classifier decides; if it sets no environment, the node's last Puppet run does,
//! and before the first run the node is in [`UNKNOWN_ENVIRONMENT`]. A node whose groups do not
//! agree is in no environment.

use pcp::Certname;

use crate::defaults::UNKNOWN_ENVIRONMENT;
use crate::resolve::{NodeEnvironment, NodeResolveError, NodeResolver};

/// The nodes among `nodes` that are not in `environment`.
pub(crate) async fn find_outside_environment(
    nodes: &[Certname],
    environment: &str,
    resolve: &dyn NodeResolver,
) -> Result<Vec<Certname>, NodeResolveError> {
    let classified = resolve.classified_environments(nodes).await?;
    let pairs = || nodes.iter().zip(&classified);
    let unclassified: Vec<Certname> = pairs()
        .filter(|(_, own)| **own == NodeEnvironment::Nowhere)
        .map(|(node, _)| node.clone())
        .collect();
    let last = match unclassified.is_empty() {
        true => Vec::new(),
        false => resolve.last_environments(&unclassified).await?,
    };
    let mut last = last.into_iter();
    let is_outside = |own: &NodeEnvironment| match own {
        NodeEnvironment::Into(own) => own != environment,
        NodeEnvironment::Conflict(_) => true,
        NodeEnvironment::Nowhere => {
            let own = last.next().flatten();
            own.as_deref().unwrap_or(UNKNOWN_ENVIRONMENT) != environment
        }
    };
    let outside: Vec<bool> = classified.iter().map(is_outside).collect();
    let pairs = nodes.iter().zip(outside);
    let outside = pairs.filter(|(_, is_outside)| *is_outside);
    Ok(outside.map(|(node, _)| node.clone()).collect())
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::Value;

    use super::*;
    use crate::resolve::{EmptyResolver, PuppetReportSummary, PuppetRun};

    /// Knows `classified` and `torn` by the classifier, and `ran` by its last run.
    #[derive(Debug)]
    struct NamedNodes;

    #[async_trait]
    impl NodeResolver for NamedNodes {
        async fn query_certnames(&self, query: &Value) -> Result<Vec<String>, NodeResolveError> {
            EmptyResolver.query_certnames(query).await
        }

        async fn nodes_of_group(&self, group: &str) -> Result<Vec<String>, NodeResolveError> {
            EmptyResolver.nodes_of_group(group).await
        }

        async fn nodes_of_environment(&self, name: &str) -> Result<Vec<String>, NodeResolveError> {
            EmptyResolver.nodes_of_environment(name).await
        }

        async fn classified_environments(
            &self,
            nodes: &[Certname],
        ) -> Result<Vec<NodeEnvironment>, NodeResolveError> {
            let of = |node: &Certname| match node.as_str() {
                "classified" => NodeEnvironment::Into("staging".to_owned()),
                "torn" => NodeEnvironment::Conflict("two groups".to_owned()),
                _ => NodeEnvironment::Nowhere,
            };
            Ok(nodes.iter().map(of).collect())
        }

        async fn last_environments(
            &self,
            nodes: &[Certname],
        ) -> Result<Vec<Option<String>>, NodeResolveError> {
            let of = |node: &Certname| match node.as_str() {
                // The classifier takes precedence.
                "classified" => panic!("it is classified"),
                "ran" => Some("testing".to_owned()),
                _ => None,
            };
            Ok(nodes.iter().map(of).collect())
        }

        async fn find_report(
            &self,
            run: &PuppetRun,
        ) -> Result<Option<PuppetReportSummary>, NodeResolveError> {
            EmptyResolver.find_report(run).await
        }
    }

    #[tokio::test]
    async fn the_classifier_decides_then_the_last_run_then_the_default() {
        let nodes: Vec<Certname> = ["new", "torn", "ran", "classified"]
            .iter()
            .map(|name| name.parse().unwrap())
            .collect();
        for (environment, inside) in [
            ("production", vec!["new"]),
            ("staging", vec!["classified"]),
            ("testing", vec!["ran"]),
            ("evil", vec![]),
        ] {
            let outside = find_outside_environment(&nodes, environment, &NamedNodes)
                .await
                .unwrap();
            let left = nodes.iter().filter(|node| !outside.contains(node));
            let left: Vec<&str> = left.map(Certname::as_str).collect();
            assert_eq!(left, inside, "{environment}");
        }
    }
}
