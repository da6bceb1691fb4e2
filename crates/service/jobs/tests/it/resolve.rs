//! Those who know nodes, as the test tells them.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use jobs::{NodeEnvironment, NodeResolveError, NodeResolver, PuppetReportSummary, PuppetRun};
use pcp::Certname;
use serde_json::Value;

/// Everybody that a test needs to know.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) nodes: Vec<String>,
    pub(crate) environments: HashMap<Certname, NodeEnvironment>,
    /// Each node's Puppet, where it is known.
    pub(crate) versions: HashMap<Certname, String>,
    /// PuppetDB hangs when it is asked for them.
    pub(crate) versions_never_come: bool,
    pub(crate) refuses: Option<NodeResolveError>,
    /// What a report adds; `None`: no report ever comes.
    pub(crate) report: Option<PuppetReportSummary>,
    /// Reports wait for this.
    pub(crate) late: Option<tokio::sync::watch::Receiver<bool>>,
    pub(crate) reported: Mutex<Vec<PuppetRun>>,
    pub(crate) asked: Mutex<Vec<Value>>,
}

impl Oracle {
    fn answer(&self, asked: Value) -> Result<Vec<String>, NodeResolveError> {
        self.asked.lock().unwrap().push(asked);
        match &self.refuses {
            Some(error) => Err(error.clone()),
            None => Ok(self.nodes.clone()),
        }
    }
}

#[async_trait]
impl NodeResolver for Oracle {
    async fn query_certnames(&self, query: &Value) -> Result<Vec<String>, NodeResolveError> {
        self.answer(query.clone())
    }

    async fn nodes_of_group(&self, group: &str) -> Result<Vec<String>, NodeResolveError> {
        self.answer(group.into())
    }

    async fn nodes_of_environment(
        &self,
        environment: &str,
    ) -> Result<Vec<String>, NodeResolveError> {
        self.answer(environment.into())
    }

    async fn classified_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<NodeEnvironment>, NodeResolveError> {
        if let Some(error) = &self.refuses {
            return Err(error.clone());
        }
        let of = |node: &Certname| self.environments.get(node).cloned();
        let or_nowhere = |of: Option<NodeEnvironment>| of.unwrap_or(NodeEnvironment::Nowhere);
        Ok(nodes.iter().map(of).map(or_nowhere).collect())
    }

    async fn puppet_versions(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, NodeResolveError> {
        if self.versions_never_come {
            std::future::pending::<()>().await;
        }
        if let Some(error) = &self.refuses {
            return Err(error.clone());
        }
        let of = |node: &Certname| self.versions.get(node).cloned();
        Ok(nodes.iter().map(of).collect())
    }

    async fn find_report(
        &self,
        run: &PuppetRun,
    ) -> Result<Option<PuppetReportSummary>, NodeResolveError> {
        self.reported.lock().unwrap().push(run.clone());
        if let Some(late) = &self.late {
            // A sender that is gone lets everything go.
            let _ = late.clone().wait_for(|go| *go).await;
        }
        match &self.refuses {
            Some(error) => Err(error.clone()),
            None => Ok(self.report.clone()),
        }
    }
}
