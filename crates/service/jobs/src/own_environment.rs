//! The environment of each node, to which the right to run code on it is bound: [`outside`].
//!
//! Invariant: the classifier decides; if it sets no environment, the node's last Puppet run does,
//! and before the first run the node is in [`UNKNOWN_ENVIRONMENT`]. A node whose groups do not
//! agree is in no environment.

use pcp::Certname;

use crate::defaults::UNKNOWN_ENVIRONMENT;
use crate::resolve::{Classified, Resolve, ResolveError};

/// The nodes among `nodes` that are not in `environment`.
pub(crate) async fn outside(
    nodes: &[Certname],
    environment: &str,
    resolve: &dyn Resolve,
) -> Result<Vec<Certname>, ResolveError> {
    let classified = resolve.environments(nodes).await?;
    let pairs = || nodes.iter().zip(&classified);
    let unclassified: Vec<Certname> = pairs()
        .filter(|(_, own)| **own == Classified::Nowhere)
        .map(|(node, _)| node.clone())
        .collect();
    let last = match unclassified.is_empty() {
        true => Vec::new(),
        false => resolve.last_environments(&unclassified).await?,
    };
    let mut last = last.into_iter();
    let is_outside = |own: &Classified| match own {
        Classified::Into(own) => own != environment,
        Classified::Conflict(_) => true,
        Classified::Nowhere => {
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
    use crate::resolve::{Nobody, PuppetRun, RunReport};

    /// Knows `classified` and `torn` by the classifier, and `ran` by its last run.
    #[derive(Debug)]
    struct NamedNodes;

    #[async_trait]
    impl Resolve for NamedNodes {
        async fn query(&self, query: &Value) -> Result<Vec<String>, ResolveError> {
            Nobody.query(query).await
        }

        async fn node_group(&self, group: &str) -> Result<Vec<String>, ResolveError> {
            Nobody.node_group(group).await
        }

        async fn whole_environment(&self, name: &str) -> Result<Vec<String>, ResolveError> {
            Nobody.whole_environment(name).await
        }

        async fn environments(&self, nodes: &[Certname]) -> Result<Vec<Classified>, ResolveError> {
            let of = |node: &Certname| match node.as_str() {
                "classified" => Classified::Into("staging".to_owned()),
                "torn" => Classified::Conflict("two groups".to_owned()),
                _ => Classified::Nowhere,
            };
            Ok(nodes.iter().map(of).collect())
        }

        async fn last_environments(
            &self,
            nodes: &[Certname],
        ) -> Result<Vec<Option<String>>, ResolveError> {
            let of = |node: &Certname| match node.as_str() {
                // The classifier takes precedence.
                "classified" => panic!("it is classified"),
                "ran" => Some("testing".to_owned()),
                _ => None,
            };
            Ok(nodes.iter().map(of).collect())
        }

        async fn report(&self, run: &PuppetRun) -> Result<Option<RunReport>, ResolveError> {
            Nobody.report(run).await
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
            let outside = outside(&nodes, environment, &NamedNodes).await.unwrap();
            let left = nodes.iter().filter(|node| !outside.contains(node));
            let left: Vec<&str> = left.map(Certname::as_str).collect();
            assert_eq!(left, inside, "{environment}");
        }
    }
}
