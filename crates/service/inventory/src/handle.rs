//! The handle that the rest of the server uses: [`Inventory`].
//!
//! Invariant: callers see no difference between the back ends, except for functions that a back end
//! does not have.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use optional_feature::{Feature, FeatureStatus};
use pcp::Certname;
use serde_json::{Value, json};
use store::{RunReportWrite, Store, StoreError};

use crate::defaults::REPORT_WAIT_MAX;
use crate::embedded::{EmbeddedInventory, InventorySnapshot};
use crate::puppetdb::{PuppetDbBackend, PuppetDbCommand, PuppetDbConfig};
use crate::query_permits::QueryOrigin;
use crate::{KnownFacts, NodeQuery, NodeRecord, PuppetReport, QueryError, RecordError};

/// Nodes, facts and reports. Cheap to clone.
#[derive(Clone)]
pub struct Inventory {
    backend: Arc<InventoryBackend>,
}

enum InventoryBackend {
    PuppetDb(Feature<PuppetDbBackend>),
    Embedded(Box<EmbeddedInventory>),
}

/// The state of the inventory's back end.
#[derive(Clone, Debug)]
pub struct InventoryHealth {
    /// Name of the back end: `puppetdb` or `embedded`.
    pub backend: &'static str,
    /// URLs of PuppetDB, or the number of known nodes.
    pub location: String,
    /// The error of the back end; `None` if it answers.
    pub error: Option<QueryError>,
}

impl Inventory {
    /// Creates an inventory that queries a real PuppetDB. No request is sent yet.
    pub fn puppetdb(config: PuppetDbConfig) -> Self {
        let puppetdb = Feature::with_value(PuppetDbBackend::new(config));
        Self::of(InventoryBackend::PuppetDb(puppetdb))
    }

    /// Creates an inventory that queries a real PuppetDB as soon as `read` succeeds in reading its
    /// configuration. Until then every query fails with the error of `read`, which has cause,
    /// place and next step.
    pub async fn puppetdb_when_readable(
        read: impl Fn() -> Result<PuppetDbConfig, String> + Send + 'static,
    ) -> Self {
        let inability = "this server cannot ask PuppetDB";
        let read = move || read().map(PuppetDbBackend::new);
        let puppetdb = Feature::start_by_reading("puppetdb-service", inability, read).await;
        Self::of(InventoryBackend::PuppetDb(puppetdb))
    }

    /// State of the connection to PuppetDB; `None` for the embedded inventory.
    pub fn feature(&self) -> Option<FeatureStatus> {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => Some(puppetdb.status()),
            InventoryBackend::Embedded(_) => None,
        }
    }

    /// Creates an embedded inventory: the data that agents send to this server, kept in `store`.
    pub async fn embedded(store: Store) -> Result<Self, StoreError> {
        let embedded = EmbeddedInventory::open(store).await?;
        Ok(Self::of(InventoryBackend::Embedded(Box::new(embedded))))
    }

    fn of(backend: InventoryBackend) -> Self {
        Self {
            backend: Arc::new(backend),
        }
    }

    /// Returns `true` if there is no PuppetDB, so that facts must be requested from agents.
    pub fn is_embedded(&self) -> bool {
        matches!(&*self.backend, InventoryBackend::Embedded(_))
    }

    /// The URLs of PuppetDB, or `embedded`, for messages.
    pub fn location(&self) -> String {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => match puppetdb.get() {
                Ok(puppetdb) => puppetdb.server_list(),
                Err(fault) => fault.to_string(),
            },
            InventoryBackend::Embedded(_) => "embedded".to_owned(),
        }
    }

    /// The rows of an answer, on behalf of a user. The number of these queries does not limit the
    /// engine's own queries (all methods below).
    pub async fn query(&self, query: &NodeQuery) -> Result<Vec<Value>, QueryError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                puppetdb.get()?.query(QueryOrigin::User, query).await
            }
            InventoryBackend::Embedded(embedded) => embedded.query(query.clone()).await,
        }
    }

    /// The distinct values of `certname` at the top level of the rows, in the order of the answer.
    pub async fn certnames(&self, query: &NodeQuery) -> Result<Vec<Certname>, QueryError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                to_certnames(puppetdb.get()?.query(QueryOrigin::Engine, query).await?)
            }
            InventoryBackend::Embedded(embedded) => embedded.certnames(query.clone()).await,
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
        self.certnames(&NodeQuery::from_ast(query)).await
    }

    /// The distinct code ids of the catalogs that nodes had in their last runs. Nodes that a
    /// PuppetDB counts as deactivated or expired are left out.
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
        let query = NodeQuery::from_ast(json!([
            "from",
            "reports",
            ["extract", ["code_id"], of_last, ["group_by", "code_id"]]
        ]));
        let rows = match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                puppetdb.get()?.query(QueryOrigin::Engine, &query).await?
            }
            InventoryBackend::Embedded(embedded) => embedded.query(query).await?,
        };
        let code_id = |row: &Value| Some(row.get("code_id")?.as_str()?.to_owned());
        Ok(rows.iter().filter_map(code_id).collect())
    }

    /// Facts and trusted facts of a node; `None` if the node has not sent any yet.
    pub async fn facts(&self, certname: &Certname) -> Result<Option<NodeRecord>, QueryError> {
        let known = self.known_facts(certname).await?;
        Ok(known.map(KnownFacts::into_record))
    }

    /// The same as the back end has them, without a copy.
    pub async fn known_facts(&self, certname: &Certname) -> Result<Option<KnownFacts>, QueryError> {
        Ok(match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                let record = puppetdb.get()?.facts(certname).await?;
                record.map(KnownFacts::OfPuppetDb)
            }
            InventoryBackend::Embedded(embedded) => {
                embedded.facts(certname).map(KnownFacts::Embedded)
            }
        })
    }

    /// True if facts of the node are recorded here. With a PuppetDB always true, because it is not asked.
    #[must_use]
    pub fn has_facts(&self, certname: &Certname) -> bool {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => true,
            InventoryBackend::Embedded(embedded) => embedded.has_facts(certname),
        }
    }

    /// One fact of each of these nodes, in the given order; `None` if the node never sent it. A
    /// PuppetDB gets requests for [`FACT_NODES`](crate::defaults::FACT_NODES) nodes each.
    pub async fn fact_of_each(
        &self,
        fact: &str,
        certnames: &[Certname],
    ) -> Result<Vec<Option<Value>>, QueryError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                puppetdb.get()?.fact_of_each(fact, certnames).await
            }
            InventoryBackend::Embedded(embedded) => Ok(embedded.fact_of_each(fact, certnames)),
        }
    }

    /// The environment of the last catalog of each of these nodes, in the given order; before the
    /// first catalog, the environment that the node requested, if known. `None` if nothing is
    /// known of the node. A PuppetDB gets requests for [`FACT_NODES`](crate::defaults::FACT_NODES)
    /// nodes each.
    pub async fn environment_of_each(
        &self,
        certnames: &[Certname],
    ) -> Result<Vec<Option<String>>, QueryError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                puppetdb.get()?.environment_of_each(certnames).await
            }
            InventoryBackend::Embedded(embedded) => Ok(embedded.environment_of_each(certnames)),
        }
    }

    /// A snapshot of all nodes; `None` with a PuppetDB, which must be queried instead.
    pub fn snapshot(&self) -> Option<InventorySnapshot> {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => None,
            InventoryBackend::Embedded(embedded) => Some(embedded.snapshot()),
        }
    }

    /// The report of one run, after waiting for it at most `wait` (and never more than
    /// [`REPORT_WAIT_MAX`]). `None` if it has not arrived.
    pub async fn wait_for_report(
        &self,
        certname: &Certname,
        transaction_uuid: &str,
        wait: Duration,
    ) -> Result<Option<PuppetReport>, QueryError> {
        let wait = wait.min(REPORT_WAIT_MAX);
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                puppetdb
                    .get()?
                    .wait_for_report(certname, transaction_uuid, wait)
                    .await
            }
            InventoryBackend::Embedded(embedded) => {
                embedded
                    .wait_for_report(certname, transaction_uuid, wait)
                    .await
            }
        }
    }

    /// Records the facts of a node. Does nothing with a PuppetDB, which gets them from the Puppet
    /// server.
    pub async fn record_facts(
        &self,
        certname: &Certname,
        record: NodeRecord,
    ) -> Result<(), RecordError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => Ok(()),
            InventoryBackend::Embedded(embedded) => embedded.record_facts(certname, record).await,
        }
    }

    /// Submits a command to PuppetDB. Does nothing in the embedded inventory.
    pub async fn submit_command(&self, command: &PuppetDbCommand) -> Result<(), QueryError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => puppetdb.get()?.submit(command).await,
            InventoryBackend::Embedded(_) => Ok(()),
        }
    }

    /// Records the report of a run. Does nothing with a PuppetDB, as for facts. Several reports of
    /// one run (from the agent, and from the job that started it) become one: see
    /// [`PuppetReport::merge`].
    pub async fn record_report(
        &self,
        certname: &Certname,
        report: PuppetReport,
    ) -> Result<(), RecordError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => Ok(()),
            InventoryBackend::Embedded(embedded) => {
                embedded.record_report(certname, report, None).await
            }
        }
    }

    /// Writes the report that an agent sent to this server, and records its summary as
    /// [`record_report`](Self::record_report) does, in one transaction.
    pub async fn record_run_report(
        &self,
        store: &Store,
        certname: &Certname,
        (run_report, summary): (&RunReportWrite, PuppetReport),
    ) -> Result<(), RecordError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => Ok(store.put_run_report(run_report, None).await?),
            InventoryBackend::Embedded(embedded) => {
                let recording = embedded.record_report(certname, summary, Some(run_report));
                recording.await
            }
        }
    }

    /// Marks agents as connected.
    pub async fn record_connected(&self, certnames: &[Certname]) -> Result<(), StoreError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => Ok(()),
            InventoryBackend::Embedded(embedded) => embedded.record_connected(certnames).await,
        }
    }

    /// Marks an agent as disconnected.
    pub fn record_disconnected(&self, certname: &Certname) {
        if let InventoryBackend::Embedded(embedded) = &*self.backend {
            embedded.record_disconnected(certname);
        }
    }

    /// Removes a node. `false` if it was not known here.
    pub async fn forget(&self, certname: &Certname) -> Result<bool, StoreError> {
        match &*self.backend {
            InventoryBackend::PuppetDb(_) => Ok(false),
            InventoryBackend::Embedded(embedded) => embedded.forget(certname).await,
        }
    }

    /// Checks that the back end answers.
    pub async fn health(&self) -> InventoryHealth {
        match &*self.backend {
            InventoryBackend::PuppetDb(puppetdb) => {
                let (place, error) = match puppetdb.get() {
                    Ok(puppetdb) => (puppetdb.server_list(), puppetdb.health().await.err()),
                    Err(fault) => (String::new(), Some(fault.into())),
                };
                InventoryHealth {
                    backend: "puppetdb",
                    location: place,
                    error,
                }
            }
            InventoryBackend::Embedded(embedded) => InventoryHealth {
                backend: "embedded",
                location: format!("{} nodes", embedded.snapshot().len()),
                error: None,
            },
        }
    }
}

fn to_certnames(rows: Vec<Value>) -> Result<Vec<Certname>, QueryError> {
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
        f.debug_struct("Inventory")
            .field("backend", &self.location())
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
        let names = to_certnames(rows).unwrap();
        assert_eq!(names, ["b".parse().unwrap(), "a".parse().unwrap()]);
        assert_eq!(to_certnames(Vec::new()).unwrap(), []);
    }

    #[test]
    fn rows_that_name_no_node_are_an_error_and_not_nothing() {
        let error = to_certnames(vec![json!({"count": 3})]).unwrap_err();
        assert!(matches!(error, QueryError::NoCertname), "{error}");
        let error = to_certnames(vec![json!({"certname": "../x"})]).unwrap_err();
        assert!(matches!(error, QueryError::BadCertname(_)), "{error}");
    }
}
