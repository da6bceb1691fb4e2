//! [`Inventory`]: the handle that the rest of the server holds.
//!
//! The rule: whoever asks does not see which back end answers, but in what it cannot do.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use optional_feature::{Feature, FeatureStatus};
use pcp::Certname;
use serde_json::{Value, json};
use store::{Store, StoreError};

use crate::defaults::REPORT_WAIT_MAX;
use crate::embedded::{Embedded, Snapshot};
use crate::places::Asker;
use crate::puppetdb::{PuppetDb, PuppetDbConfig};
use crate::{NodeRecord, Query, QueryError, RecordError, Report};

/// Nodes, facts and reports. Cheap to clone.
#[derive(Clone)]
pub struct Inventory {
    backend: Arc<Backend>,
}

enum Backend {
    PuppetDb(Feature<PuppetDb>),
    Embedded(Box<Embedded>),
}

/// How the inventory is.
#[derive(Clone, Debug)]
pub struct Health {
    /// `puppetdb` or `embedded`.
    pub backend: &'static str,
    /// The URLs, or how many nodes are known.
    pub place: String,
    /// Why it does not answer.
    pub error: Option<QueryError>,
}

impl Inventory {
    /// Asks a real PuppetDB. Nothing is asked yet.
    pub fn puppetdb(config: PuppetDbConfig) -> Self {
        let puppetdb = Feature::started(PuppetDb::new(config));
        Self::of(Backend::PuppetDb(puppetdb))
    }

    /// Asks a real PuppetDB as soon as `read` can read where it is. Its error names cause, place and next step, and
    /// answers every question until then.
    pub async fn puppetdb_when_readable(
        read: impl Fn() -> Result<PuppetDbConfig, String> + Send + 'static,
    ) -> Self {
        let inability = "this server cannot ask PuppetDB";
        let read = move || read().map(PuppetDb::new);
        let puppetdb = Feature::read("puppetdb-service", inability, read).await;
        Self::of(Backend::PuppetDb(puppetdb))
    }

    /// State of the connection to PuppetDB; `None`: there is none.
    pub fn feature(&self) -> Option<FeatureStatus> {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => Some(puppetdb.status()),
            Backend::Embedded(_) => None,
        }
    }

    /// What agents tell this server, kept in `store`.
    pub async fn embedded(store: Store) -> Result<Self, StoreError> {
        let embedded = Embedded::open(store).await?;
        Ok(Self::of(Backend::Embedded(Box::new(embedded))))
    }

    fn of(backend: Backend) -> Self {
        Self {
            backend: Arc::new(backend),
        }
    }

    /// Whether agents are to be asked for facts: there is no PuppetDB.
    pub fn is_embedded(&self) -> bool {
        matches!(&*self.backend, Backend::Embedded(_))
    }

    /// The rows of an answer, for somebody who wants to see them. However many are asked for, the
    /// engine's own questions (all below) have places of their own.
    pub async fn query(&self, query: &Query) -> Result<Vec<Value>, QueryError> {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => puppetdb.get()?.query(Asker::Person, query).await,
            Backend::Embedded(embedded) => embedded.query(query.clone()).await,
        }
    }

    /// Every top-level `certname` of the rows, each once, in the order of the answer.
    pub async fn certnames(&self, query: &Query) -> Result<Vec<Certname>, QueryError> {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => {
                certnames_of(puppetdb.get()?.query(Asker::Engine, query).await?)
            }
            Backend::Embedded(embedded) => embedded.certnames(query.clone()).await,
        }
    }

    /// The nodes whose last catalog was of this environment.
    pub async fn environment_nodes(&self, environment: &str) -> Result<Vec<Certname>, QueryError> {
        let of_environment = json!(["=", "catalog_environment", environment]);
        let query = json!([
            "from",
            "nodes",
            ["extract", ["certname"], of_environment],
            ["order_by", ["certname"]]
        ]);
        self.certnames(&Query::ast(query)).await
    }

    /// The code ids of the catalogs that nodes had in their last runs, each once. Nodes that a PuppetDB
    /// counts as gone do not count.
    pub async fn code_ids(&self) -> Result<Vec<String>, QueryError> {
        let of_last = json!([
            "and",
            ["=", "latest_report?", true],
            ["null?", "code_id", false],
            [
                "subquery",
                "nodes",
                [
                    "and",
                    ["null?", "deactivated", true],
                    ["null?", "expired", true]
                ]
            ],
        ]);
        let query = Query::ast(json!([
            "from",
            "reports",
            ["extract", ["code_id"], of_last, ["group_by", "code_id"]]
        ]));
        let rows = match &*self.backend {
            Backend::PuppetDb(puppetdb) => puppetdb.get()?.query(Asker::Engine, &query).await?,
            Backend::Embedded(embedded) => embedded.query(query).await?,
        };
        let code_id = |row: &Value| Some(row.get("code_id")?.as_str()?.to_owned());
        Ok(rows.iter().filter_map(code_id).collect())
    }

    /// What is known of a node; `None`: it told nothing yet.
    pub async fn facts(&self, certname: &Certname) -> Result<Option<NodeRecord>, QueryError> {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => puppetdb.get()?.facts(certname).await,
            Backend::Embedded(embedded) => Ok(embedded.facts(certname)),
        }
    }

    /// One fact of each of these nodes, in the order asked; `None`: the node never told it. With a
    /// PuppetDB in questions of [`FACT_NODES`](crate::defaults::FACT_NODES) nodes each.
    pub async fn fact_of_each(
        &self,
        fact: &str,
        certnames: &[Certname],
    ) -> Result<Vec<Option<Value>>, QueryError> {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => puppetdb.get()?.fact_of_each(fact, certnames).await,
            Backend::Embedded(embedded) => Ok(embedded.fact_of_each(fact, certnames)),
        }
    }

    /// The environment of the last catalog of each of these nodes, in the order asked; before its
    /// first one, the environment that the node asked for, where that is known. `None`: nothing is
    /// known of the node. With a PuppetDB in questions of
    /// [`FACT_NODES`](crate::defaults::FACT_NODES) nodes each.
    pub async fn environment_of_each(
        &self,
        certnames: &[Certname],
    ) -> Result<Vec<Option<String>>, QueryError> {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => puppetdb.get()?.environment_of_each(certnames).await,
            Backend::Embedded(embedded) => Ok(embedded.environment_of_each(certnames)),
        }
    }

    /// Every node at this moment. `None`: a PuppetDB has them; ask it a query.
    pub fn all_facts(&self) -> Option<Snapshot> {
        match &*self.backend {
            Backend::PuppetDb(_) => None,
            Backend::Embedded(embedded) => Some(embedded.snapshot()),
        }
    }

    /// The report of one run, waiting for it at most `wait` (and never more than
    /// [`REPORT_WAIT_MAX`]). `None`: it is not there.
    pub async fn report(
        &self,
        certname: &Certname,
        transaction_uuid: &str,
        wait: Duration,
    ) -> Result<Option<Report>, QueryError> {
        let wait = wait.min(REPORT_WAIT_MAX);
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => {
                puppetdb
                    .get()?
                    .report(certname, transaction_uuid, wait)
                    .await
            }
            Backend::Embedded(embedded) => embedded.report(certname, transaction_uuid, wait).await,
        }
    }

    /// Keeps what a node told. With a PuppetDB nothing is done: the Puppet server tells that one.
    pub async fn record_facts(
        &self,
        certname: &Certname,
        record: NodeRecord,
    ) -> Result<(), RecordError> {
        match &*self.backend {
            Backend::PuppetDb(_) => Ok(()),
            Backend::Embedded(embedded) => embedded.record_facts(certname, record).await,
        }
    }

    /// Keeps the report of a run. With a PuppetDB nothing is done, as for facts.
    pub async fn record_report(
        &self,
        certname: &Certname,
        report: Report,
    ) -> Result<(), RecordError> {
        match &*self.backend {
            Backend::PuppetDb(_) => Ok(()),
            Backend::Embedded(embedded) => embedded.record_report(certname, report).await,
        }
    }

    /// Agents are connected now.
    pub async fn connected(&self, certnames: &[Certname]) -> Result<(), StoreError> {
        match &*self.backend {
            Backend::PuppetDb(_) => Ok(()),
            Backend::Embedded(embedded) => embedded.connected(certnames).await,
        }
    }

    /// An agent's session ended.
    pub fn disconnected(&self, certname: &Certname) {
        if let Backend::Embedded(embedded) = &*self.backend {
            embedded.disconnected(certname);
        }
    }

    /// Forgets a node that is gone. `false`: it was not known here.
    pub async fn forget(&self, certname: &Certname) -> Result<bool, StoreError> {
        match &*self.backend {
            Backend::PuppetDb(_) => Ok(false),
            Backend::Embedded(embedded) => embedded.forget(certname).await,
        }
    }

    /// Whether it answers.
    pub async fn health(&self) -> Health {
        match &*self.backend {
            Backend::PuppetDb(puppetdb) => {
                let (place, error) = match puppetdb.get() {
                    Ok(puppetdb) => (puppetdb.place(), puppetdb.health().await.err()),
                    Err(fault) => (String::new(), Some(fault.into())),
                };
                Health {
                    backend: "puppetdb",
                    place,
                    error,
                }
            }
            Backend::Embedded(embedded) => Health {
                backend: "embedded",
                place: format!("{} nodes", embedded.snapshot().len()),
                error: None,
            },
        }
    }
}

fn certnames_of(rows: Vec<Value>) -> Result<Vec<Certname>, QueryError> {
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    let mut any = rows.is_empty();
    for row in &rows {
        let Some(name) = row.get("certname").and_then(Value::as_str) else {
            continue;
        };
        any = true;
        if seen.insert(name) {
            names.push(name.parse()?);
        }
    }
    match any {
        true => Ok(names),
        false => Err(QueryError::NoCertname),
    }
}

impl fmt::Debug for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backend = match &*self.backend {
            Backend::PuppetDb(puppetdb) => match puppetdb.get() {
                Ok(puppetdb) => puppetdb.place(),
                Err(fault) => fault.to_string(),
            },
            Backend::Embedded(_) => "embedded".to_owned(),
        };
        f.debug_struct("Inventory")
            .field("backend", &backend)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certnames_are_taken_once_in_their_order() {
        let rows = vec![
            json!({"certname": "b", "x": {"certname": "z"}}),
            json!({"x": 1}),
            json!({"certname": "a"}),
            json!({"certname": "b"}),
        ];
        let names = certnames_of(rows).unwrap();
        assert_eq!(names, ["b".parse().unwrap(), "a".parse().unwrap()]);
        assert_eq!(certnames_of(Vec::new()).unwrap(), []);
    }

    #[test]
    fn rows_that_name_no_node_are_an_error_and_not_nothing() {
        let error = certnames_of(vec![json!({"count": 3})]).unwrap_err();
        assert!(matches!(error, QueryError::NoCertname), "{error}");
        let error = certnames_of(vec![json!({"certname": "../x"})]).unwrap_err();
        assert!(matches!(error, QueryError::BadCertname(_)), "{error}");
    }
}
