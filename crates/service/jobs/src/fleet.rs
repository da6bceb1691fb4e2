//! The server's sources of knowledge about nodes: the inventory and the classifier.
//!
//! [`Fleet`] is [`Resolve`] over both. Invariants: the classifier decides a node's environment only
//! if users have made groups (the shipped ones would put every node into `production`); a rule is
//! evaluated by PuppetDB if there is one, and here over the embedded inventory otherwise; work over
//! every node runs on a thread of its own, a bounded number at once.

use std::sync::Arc;

use async_trait::async_trait;
use classifier::{Classifier, GroupId, NodeFacts, Subject};
use futures_util::{StreamExt, TryStreamExt, stream};
use inventory::{Fault, Inventory, Metric, NodeRecord, Query, QueryError, Report, Snapshot};
use pcp::Certname;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::defaults::{CLASSIFICATIONS, LOOK_UPS, REPORT_WAIT};
use crate::known::Known;
use crate::resolve::{Classified, PuppetRun, Resolve, ResolveError, RunReport};

/// The fact that Puppet itself adds to Facter's.
const PUPPET_VERSION: &str = "puppetversion";

/// The inventory and the classifier. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    inventory: Inventory,
    classifier: Classifier,
    /// Permits for work that reads every node.
    classifications: Arc<Semaphore>,
}

// === impl Fleet ===

impl Fleet {
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
    async fn apart<T: Send + 'static>(
        &self,
        known: Snapshot,
        work: impl FnOnce(&Classifier, &Snapshot) -> T + Send + 'static,
    ) -> Result<T, ResolveError> {
        let broken = |what: &dyn std::fmt::Display| ResolveError::Broken(what.to_string());
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

    async fn certnames(&self, query: &Query) -> Result<Vec<String>, ResolveError> {
        Ok(names(self.inventory.certnames(query).await?))
    }

    async fn record(&self, run: &PuppetRun) {
        let metric = |(name, value): (&String, &Value)| Metric {
            category: "resources".to_owned(),
            name: name.clone(),
            value: value.clone(),
        };
        let now = jiff::Timestamp::now();
        let report = Report {
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
            ..Report::default()
        };
        let certname = &run.certname;
        if let Err(error) = self.inventory.record_report(certname, report).await {
            tracing::warn!(%certname, %error, "the report of a Puppet run cannot be kept");
        }
    }
}

#[async_trait]
impl Resolve for Fleet {
    async fn query(&self, query: &Value) -> Result<Vec<String>, ResolveError> {
        let query = Query::from_json(query.clone());
        let query = query.map_err(|error| ResolveError::Query(error.to_string()))?;
        self.certnames(&query).await
    }

    async fn node_group(&self, group: &str) -> Result<Vec<String>, ResolveError> {
        let unknown = || ResolveError::UnknownGroup(group.to_owned());
        let id: GroupId = group.parse().map_err(|_| unknown())?;
        let rule = self.classifier.rule_of(id).map_err(|_| unknown())?;
        if rule.own.is_none() {
            return Err(ResolveError::NoRules(group.to_owned()));
        }
        if let Some(known) = self.inventory.all_facts() {
            let pinned = rule.pinned;
            let matching = move |classifier: &Classifier, known: &Snapshot| {
                let silent = pinned.iter().filter(|name| known.get(name).is_none());
                let silent = silent.map(|name| Known::new(name, None));
                let nodes = known
                    .iter()
                    .map(|(name, node)| Known::new(name, Some(node)));
                classifier.matching(id, nodes.chain(silent)).map(names)
            };
            return self.apart(known, matching).await?.map_err(|_| unknown());
        }
        let query = match (rule.nodes_query, rule.inventory_query) {
            (Some(Ok(query)), _) => json!(["from", "nodes", ["extract", ["certname"], query]]),
            (_, Some(Ok(query))) => json!(["from", "inventory", ["extract", ["certname"], query]]),
            (Some(Err(error)), _) | (_, Some(Err(error))) => {
                return Err(ResolveError::Query(error.to_string()));
            }
            (None, None) => return Err(ResolveError::NoRules(group.to_owned())),
        };
        self.certnames(&Query::ast(query)).await
    }

    /// The nodes whose last catalog was of this environment; and, as long as most nodes had no
    /// catalog from here (an embedded inventory), those that are classified into it.
    async fn whole_environment(&self, environment: &str) -> Result<Vec<String>, ResolveError> {
        let mut found = names(self.inventory.environment_nodes(environment).await?);
        if let Some(known) = self.inventory.all_facts() {
            let environment = environment.to_owned();
            let of_it = move |classifier: &Classifier, known: &Snapshot| {
                let nodes = known.iter();
                let nodes = nodes.filter(|(certname, node)| {
                    match classified(classifier, &Known::new(certname, Some(node))) {
                        Classified::Into(own) => own == environment,
                        Classified::Nowhere => false,
                        Classified::Conflict(what) => {
                            tracing::info!(what, "a node is in no environment");
                            false
                        }
                    }
                });
                nodes.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
            };
            found.extend(self.apart(known, of_it).await?);
        }
        Ok(found)
    }

    async fn environments(&self, nodes: &[Certname]) -> Result<Vec<Classified>, ResolveError> {
        if self.classifier.is_as_shipped() {
            return Ok(vec![Classified::Nowhere; nodes.len()]);
        }
        if let Some(known) = self.inventory.all_facts() {
            let nodes = nodes.to_vec();
            let each = move |classifier: &Classifier, known: &Snapshot| {
                let each = nodes.iter();
                let each = each.map(|name| Known::new(name, known.get(name)));
                each.map(|node| classified(classifier, &node)).collect()
            };
            return self.apart(known, each).await;
        }
        let look = |node: Certname| async move {
            let record = self.inventory.facts(&node).await?;
            Ok(classified(&self.classifier, &facts(&node, record.as_ref())))
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
    ) -> Result<Vec<Option<String>>, ResolveError> {
        Ok(self.inventory.environment_of_each(nodes).await?)
    }

    async fn puppet_versions(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, ResolveError> {
        let told = self.inventory.fact_of_each(PUPPET_VERSION, nodes).await?;
        let text = |fact: Value| fact.as_str().map(str::to_owned);
        Ok(told.into_iter().map(|fact| fact.and_then(text)).collect())
    }

    async fn report(&self, run: &PuppetRun) -> Result<Option<RunReport>, ResolveError> {
        if self.inventory.is_embedded() {
            self.record(run).await;
            return Ok(None);
        }
        let (certname, uuid) = (&run.certname, &run.transaction_uuid);
        let report = self.inventory.report(certname, uuid, REPORT_WAIT).await?;
        Ok(report.map(RunReport::from))
    }
}

impl From<Report> for RunReport {
    fn from(report: Report) -> Self {
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

fn classified(classifier: &Classifier, node: &impl Subject) -> Classified {
    match classifier.classify(node) {
        Ok(given) => given
            .environment
            .map_or(Classified::Nowhere, Classified::Into),
        Err(conflict) => Classified::Conflict(conflict.without_values()),
    }
}

fn names(certnames: Vec<Certname>) -> Vec<String> {
    certnames.iter().map(ToString::to_string).collect()
}

/// A node in the form that rules are evaluated on.
fn facts(certname: &Certname, record: Option<&NodeRecord>) -> NodeFacts {
    let named = NodeFacts::named(certname.clone());
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

impl From<QueryError> for ResolveError {
    fn from(error: QueryError) -> Self {
        match error.fault() {
            Fault::Query => Self::Query(error.to_string()),
            Fault::PuppetDb => Self::Unreachable(error.to_string()),
            Fault::Busy => Self::Busy(error.to_string()),
            Fault::Server => Self::Broken(error.to_string()),
        }
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PuppetDB answers.
    #[test]
    fn a_report_says_which_code_its_catalog_was_of() {
        const ID: &str = "urn:puppet:code-id:1:f4c774be169489626f325c359c9e4dc2be13fce8;production";
        let read = |code_id: Value| {
            let row = json!({"hash": "abc", "transaction_uuid": "x", "code_id": code_id});
            let report: Report = serde_json::from_value(row).unwrap();
            let report = RunReport::from(report);
            assert_eq!(report.hash.as_deref(), Some("abc"));
            report.code_id.map(|id| id.to_string())
        };
        assert_eq!(read(ID.into()).as_deref(), Some(ID));
        for none in [Value::Null, "".into(), "\u{1b}[2J".into(), "../x".into()] {
            assert_eq!(read(none), None);
        }
    }
}
