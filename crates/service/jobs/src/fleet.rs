//! The server's sources of knowledge about nodes: the inventory and the classifier.
//!
//! [`FleetResolver`] is [`NodeResolver`] over both. Invariants: the classifier decides a node's environment only
//! if users have made groups (the shipped ones would put every node into `production`); a rule is
//! evaluated by PuppetDB if there is one, and here over the embedded inventory otherwise; work over
//! every node runs on a thread of its own, a bounded number at once.

use std::sync::Arc;

use async_trait::async_trait;
use classifier::{ClassifiedNode, Classifier, GroupId, NodeFacts};
use futures_util::{StreamExt, TryStreamExt, stream};
use inventory::{
    Inventory, InventorySnapshot, NodeQuery, NodeRecord, PuppetReport, QueryError,
    QueryErrorOrigin, ReportMetric,
};
use partial_debug::partial_debug;
use pcp::Certname;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::defaults::{CLASSIFICATIONS, LOOK_UPS, REPORT_WAIT};
use crate::inventory_subject::InventorySubject;
use crate::resolve::{
    NodeEnvironment, NodeResolveError, NodeResolver, PuppetReportSummary, PuppetRun,
};

/// The fact that Puppet itself adds to Facter's.
const PUPPET_VERSION: &str = "puppetversion";

/// The inventory and the classifier. Cheap to clone.
#[derive(Clone)]
pub struct FleetResolver {
    inventory: Inventory,
    classifier: Classifier,
    /// Permits for work that reads every node.
    classifications: Arc<Semaphore>,
}

// === impl FleetResolver ===

impl FleetResolver {
    /// Combines this inventory and this classifier.
    pub fn new(inventory: Inventory, classifier: Classifier) -> Self {
        Self {
            inventory,
            classifier,
            classifications: Arc::new(Semaphore::new(CLASSIFICATIONS)),
        }
    }

    /// Runs work over every node on a blocking thread: it keeps a core busy for so long that no
    /// thread which serves other requests may run it.
    async fn run_blocking<T: Send + 'static>(
        &self,
        known: InventorySnapshot,
        work: impl FnOnce(&Classifier, &InventorySnapshot) -> T + Send + 'static,
    ) -> Result<T, NodeResolveError> {
        let broken = |what: &dyn std::fmt::Display| NodeResolveError::Broken(what.to_string());
        let place = Arc::clone(&self.classifications).acquire_owned().await;
        let place = place.map_err(|error| broken(&error))?;
        let classifier = self.classifier.clone();
        let working = tokio::task::spawn_blocking(move || {
            let found = work(&classifier, &known);
            drop(place);
            found
        });
        working.await.map_err(|error| broken(&error))
    }

    async fn certnames(&self, query: &NodeQuery) -> Result<Vec<String>, NodeResolveError> {
        Ok(to_names(self.inventory.certnames(query).await?))
    }

    async fn record_run(&self, run: &PuppetRun) {
        let metric = |(name, value): (&String, &Value)| ReportMetric {
            category: "resources".to_owned(),
            name: name.clone(),
            value: value.clone(),
        };
        let now = jiff::Timestamp::now();
        let report = PuppetReport {
            transaction_uuid: run.transaction_uuid.clone(),
            status: Some(run.status.clone()),
            noop: Some(run.noop),
            environment: run.environment.clone(),
            configuration_version: run.configuration_version.clone(),
            code_id: run.code_id.as_ref().map(ToString::to_string),
            job_id: Some(run.job.to_string()),
            start_time: run.time.as_deref().and_then(|time| time.parse().ok()),
            end_time: Some(now),
            receive_time: Some(now),
            metrics: run.metrics.iter().map(metric).collect(),
            ..PuppetReport::default()
        };
        let certname = &run.certname;
        if let Err(error) = self.inventory.record_report(certname, report).await {
            tracing::warn!(%certname, %error, "the report of a Puppet run cannot be kept");
        }
    }
}

#[async_trait]
impl NodeResolver for FleetResolver {
    async fn query_certnames(&self, query: &Value) -> Result<Vec<String>, NodeResolveError> {
        let query = NodeQuery::from_json(query.clone());
        let query = query.map_err(|error| NodeResolveError::Query(error.to_string()))?;
        self.certnames(&query).await
    }

    async fn nodes_of_group(&self, group: &str) -> Result<Vec<String>, NodeResolveError> {
        let unknown = || NodeResolveError::UnknownGroup(group.to_owned());
        let id: GroupId = group.parse().map_err(|_| unknown())?;
        let rule = self.classifier.inherited_rule(id).map_err(|_| unknown())?;
        if rule.own.is_none() {
            return Err(NodeResolveError::NoRules(group.to_owned()));
        }
        if let Some(known) = self.inventory.snapshot() {
            let pinned = rule.pinned;
            let matching = move |classifier: &Classifier, known: &InventorySnapshot| {
                let silent = pinned.iter().filter(|name| known.get(name).is_none());
                let silent = silent.map(|name| InventorySubject::new(name, None));
                let nodes = known
                    .iter()
                    .map(|(name, node)| InventorySubject::new(name, Some(node)));
                classifier
                    .matching_groups(id, nodes.chain(silent))
                    .map(to_names)
            };
            return self
                .run_blocking(known, matching)
                .await?
                .map_err(|_| unknown());
        }
        let query = match (rule.nodes_query, rule.inventory_query) {
            (Some(Ok(query)), _) => json!(["from", "nodes", ["extract", ["certname"], query]]),
            (_, Some(Ok(query))) => json!(["from", "inventory", ["extract", ["certname"], query]]),
            (Some(Err(error)), _) | (_, Some(Err(error))) => {
                return Err(NodeResolveError::Query(error.to_string()));
            }
            (None, None) => return Err(NodeResolveError::NoRules(group.to_owned())),
        };
        self.certnames(&NodeQuery::from_ast(query)).await
    }

    /// The nodes whose last catalog was of this environment; and, as long as most nodes had no
    /// catalog from here (an embedded inventory), those that are classified into it.
    async fn nodes_of_environment(
        &self,
        environment: &str,
    ) -> Result<Vec<String>, NodeResolveError> {
        let mut found = to_names(self.inventory.environment_nodes(environment).await?);
        if let Some(known) = self.inventory.snapshot() {
            let environment = environment.to_owned();
            let of_it = move |classifier: &Classifier, known: &InventorySnapshot| {
                let nodes = known.iter();
                let nodes = nodes.filter(|(certname, node)| {
                    match classify_node(classifier, &InventorySubject::new(certname, Some(node))) {
                        NodeEnvironment::Into(own) => own == environment,
                        NodeEnvironment::Nowhere => false,
                        NodeEnvironment::Conflict(what) => {
                            tracing::info!(what, "a node is in no environment");
                            false
                        }
                    }
                });
                nodes.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
            };
            found.extend(self.run_blocking(known, of_it).await?);
        }
        Ok(found)
    }

    async fn classified_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<NodeEnvironment>, NodeResolveError> {
        if self.classifier.has_default_groups() {
            return Ok(vec![NodeEnvironment::Nowhere; nodes.len()]);
        }
        if let Some(known) = self.inventory.snapshot() {
            let nodes = nodes.to_vec();
            let each = move |classifier: &Classifier, known: &InventorySnapshot| {
                let each = nodes.iter();
                let each = each.map(|name| InventorySubject::new(name, known.get(name)));
                each.map(|node| classify_node(classifier, &node)).collect()
            };
            return self.run_blocking(known, each).await;
        }
        let look = |node: Certname| async move {
            let record = self.inventory.facts(&node).await?;
            Ok(classify_node(
                &self.classifier,
                &to_node_facts(&node, record.as_ref()),
            ))
        };
        stream::iter(nodes.to_vec())
            .map(look)
            .buffered(LOOK_UPS)
            .try_collect()
            .await
    }

    async fn last_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, NodeResolveError> {
        Ok(self.inventory.environment_of_each(nodes).await?)
    }

    async fn puppet_versions(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, NodeResolveError> {
        let told = self.inventory.fact_of_each(PUPPET_VERSION, nodes).await?;
        let text = |fact: Value| fact.as_str().map(str::to_owned);
        Ok(told.into_iter().map(|fact| fact.and_then(text)).collect())
    }

    async fn find_report(
        &self,
        run: &PuppetRun,
    ) -> Result<Option<PuppetReportSummary>, NodeResolveError> {
        if self.inventory.is_embedded() {
            self.record_run(run).await;
            return Ok(None);
        }
        let (certname, uuid) = (&run.certname, &run.transaction_uuid);
        let report = self
            .inventory
            .wait_for_report(certname, uuid, REPORT_WAIT)
            .await?;
        Ok(report.map(PuppetReportSummary::from))
    }
}

impl From<PuppetReport> for PuppetReportSummary {
    fn from(report: PuppetReport) -> Self {
        Self {
            hash: Some(report.hash).filter(|hash| !hash.is_empty()),
            configuration_version: report.configuration_version,
            // Reports come from agents, and PuppetDB stores their content unchecked.
            code_id: report.code_id.and_then(|id| id.parse().ok()),
            environment: report.environment,
            noop: None,
        }
    }
}

fn classify_node(classifier: &Classifier, node: &impl ClassifiedNode) -> NodeEnvironment {
    match classifier.classify(node) {
        Ok(given) => given
            .environment
            .map_or(NodeEnvironment::Nowhere, NodeEnvironment::Into),
        Err(conflict) => NodeEnvironment::Conflict(conflict.describe_without_values()),
    }
}

fn to_names(certnames: Vec<Certname>) -> Vec<String> {
    certnames.iter().map(ToString::to_string).collect()
}

/// A node in the form that rules are evaluated on.
fn to_node_facts(certname: &Certname, record: Option<&NodeRecord>) -> NodeFacts {
    let named = NodeFacts::without_facts(certname.clone());
    let Some(record) = record else { return named };
    NodeFacts {
        fact: Value::Object((*record.facts).clone()),
        trusted: match record.trusted.is_empty() {
            true => named.trusted,
            false => Value::Object((*record.trusted).clone()),
        },
        requested_environment: record.environment.clone(),
        certname: named.certname,
    }
}

impl From<QueryError> for NodeResolveError {
    fn from(error: QueryError) -> Self {
        match error.origin() {
            QueryErrorOrigin::Query => Self::Query(error.to_string()),
            QueryErrorOrigin::PuppetDb => Self::Unreachable(error.to_string()),
            QueryErrorOrigin::Busy => Self::Busy(error.to_string()),
            QueryErrorOrigin::Server => Self::Broken(error.to_string()),
        }
    }
}

partial_debug!(FleetResolver {});

#[cfg(test)]
mod tests {
    use super::*;

    /// As PuppetDB answers.
    #[test]
    fn a_report_says_which_code_its_catalog_was_of() {
        const ID: &str = "urn:puppet:code-id:1:f4c774be169489626f325c359c9e4dc2be13fce8;production";
        let read = |code_id: Value| {
            let row = json!({"hash": "abc", "transaction_uuid": "x", "code_id": code_id});
            let report: PuppetReport = serde_json::from_value(row).unwrap();
            let report = PuppetReportSummary::from(report);
            assert_eq!(report.hash.as_deref(), Some("abc"));
            report.code_id.map(|id| id.to_string())
        };
        assert_eq!(read(ID.into()).as_deref(), Some(ID));
        for none in [Value::Null, "".into(), "\u{1b}[2J".into(), "../x".into()] {
            assert_eq!(read(none), None);
        }
    }
}
