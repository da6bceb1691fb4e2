//! The back end without a PuppetDB: [`EmbeddedInventory`], with the data that agents sent to this
//! server.
//!
//! Invariants: data is recorded in the store before it is in memory; a query sees one snapshot;
//! queries are evaluated on separate threads, a bounded number at once, and users' queries do not
//! count towards the engine's limit.

mod condition_test;
mod load;
mod node_table;
mod row;
mod select;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::Value;
use store::{
    InventoryFacts, InventoryReportRow, InventoryReportWrite, RunReportWrite, Store, StoreError,
};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

pub use node_table::{InventoryNode, InventorySnapshot};

use crate::defaults::{
    ENGINE_EVALUATIONS, EVALUATIONS, MAX_FACTS_BYTES, MAX_NODES, MAX_REPORT_BYTES, PLACE_WAIT,
    REPORT_LOCKS, REPORTS_PER_NODE,
};
use crate::lang::{self, QueryEntity, SelectQuery, UnsupportedQuery};
use crate::query::QueryForm;
use crate::query_permits::{QueryOrigin, QueryPermits};
use crate::{CompactNodeRecord, NodeQuery, NodeRecord, PuppetReport, QueryError, RecordError};
use node_table::NodeTable;

/// Nodes, facts and reports in memory, over the store.
#[derive(Debug)]
pub(crate) struct EmbeddedInventory {
    store: Store,
    node_table: NodeTable,
    permits: QueryPermits,
    /// Number of received reports, watched by callers that wait for one.
    reports: watch::Sender<u64>,
    /// Locks of the reports of nodes, by hash of the certname.
    report_locks: [Mutex<()>; REPORT_LOCKS],
}

impl EmbeddedInventory {
    /// Loads the recorded data from the store.
    pub(crate) async fn open(store: Store) -> Result<Self, StoreError> {
        let fleet = NodeTable::default();
        load::load(&store, &fleet).await?;
        Ok(Self {
            store,
            node_table: fleet,
            permits: QueryPermits::new(EVALUATIONS, ENGINE_EVALUATIONS),
            reports: watch::Sender::new(0),
            report_locks: [const { Mutex::const_new(()) }; REPORT_LOCKS],
        })
    }

    pub(crate) fn snapshot(&self) -> InventorySnapshot {
        self.node_table.snapshot()
    }

    /// The rows of an answer, for users.
    pub(crate) async fn query(&self, query: NodeQuery) -> Result<Vec<Value>, QueryError> {
        self.evaluate(QueryOrigin::User, move |snapshot| {
            select::evaluate_select(&snapshot, &parse_query(&query)?)
        })
        .await
    }

    /// The nodes of an answer, for the engine.
    pub(crate) async fn certnames(&self, query: NodeQuery) -> Result<Vec<Certname>, QueryError> {
        self.evaluate(QueryOrigin::Engine, move |snapshot| {
            let names = select::certnames(&snapshot, &parse_query(&query)?)?;
            let names = names.ok_or(QueryError::NoCertname)?;
            Ok(names
                .into_iter()
                .map(str::parse)
                .collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn evaluate<T: Send + 'static>(
        &self,
        asker: QueryOrigin,
        work: impl FnOnce(InventorySnapshot) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let place = self.permits.acquire(asker, PLACE_WAIT).await?;
        let snapshot = self.snapshot();
        let working = tokio::task::spawn_blocking(move || {
            let answer = work(snapshot);
            drop(place);
            answer
        });
        working.await.map_err(|_| QueryError::ShuttingDown)?
    }

    pub(crate) fn facts(&self, certname: &Certname) -> Option<Arc<CompactNodeRecord>> {
        let record = |node: &InventoryNode| node.record.clone();
        self.node_table.read_node(certname, record).flatten()
    }

    pub(crate) fn has_facts(&self, certname: &Certname) -> bool {
        let has_facts = |node: &InventoryNode| node.record.is_some();
        self.node_table
            .read_node(certname, has_facts)
            .unwrap_or(false)
    }

    pub(crate) fn fact_of_each(&self, fact: &str, certnames: &[Certname]) -> Vec<Option<Value>> {
        let snapshot = self.snapshot();
        let of = |certname: &Certname| {
            let record = snapshot.get(certname)?.record.as_deref()?;
            Some(record.facts().get(fact)?.to_json())
        };
        certnames.iter().map(of).collect()
    }

    pub(crate) fn environment_of_each(&self, certnames: &[Certname]) -> Vec<Option<String>> {
        let snapshot = self.snapshot();
        let of = |certname: &Certname| {
            let node = snapshot.get(certname)?;
            let report = node.reports.first();
            let of_report = report.and_then(|report| report.environment.as_deref());
            let of_record = || node.record.as_deref()?.environment();
            of_report.or_else(of_record).map(str::to_owned)
        };
        certnames.iter().map(of).collect()
    }

    /// The report of a run, with its metrics, after waiting for it at most the given time.
    pub(crate) async fn wait_for_report(
        &self,
        certname: &Certname,
        transaction_uuid: &str,
        wait: Duration,
    ) -> Result<Option<PuppetReport>, QueryError> {
        let deadline = Instant::now() + wait;
        let mut news = self.reports.subscribe();
        loop {
            news.mark_unchanged();
            let row = self
                .store
                .inventory_report(certname.as_str(), transaction_uuid);
            if let Some(row) = row.await? {
                return Ok(load::parse_report(&row));
            }
            match tokio::time::timeout_at(deadline, news.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Ok(None),
            }
        }
    }

    /// Records the facts of a node. Facts older than the known ones change nothing, unless those are of a time that is
    /// still to come, because the server's clock was ahead.
    pub(crate) async fn record_facts(
        &self,
        certname: &Certname,
        record: NodeRecord,
    ) -> Result<(), RecordError> {
        let row = InventoryFacts {
            facts: to_json_text(&*record.facts)?,
            trusted: to_json_text(&*record.trusted)?,
            environment: record.environment.clone(),
            at_ms: record.timestamp.as_millisecond(),
        };
        let bytes = row.facts.len() + row.trusted.len();
        check_size(bytes, MAX_FACTS_BYTES)?;
        self.check_capacity(certname)?;
        let now = Timestamp::now();
        let now_ms = now.as_millisecond();
        let put = self
            .store
            .put_inventory_facts(certname.as_str(), &row, now_ms);
        if put.await? {
            let record = Arc::new(self.node_table.to_compact(&record));
            self.node_table.update_node(certname, MAX_NODES, |node| {
                let newer = node.record.as_ref();
                let gives_way = |known: Timestamp| known <= record.timestamp || known > now;
                if newer.is_none_or(|known| gives_way(known.timestamp)) {
                    node.record = Some(record);
                }
            });
        }
        Ok(())
    }

    /// Records a report, and drops the node's oldest one if there are too many. If a report of the
    /// run is known, they become one. `run_report` is what else is written in the same transaction, if the agent
    /// sent the report to this server.
    pub(crate) async fn record_report(
        &self,
        certname: &Certname,
        mut report: PuppetReport,
        run_report: Option<&RunReportWrite>,
    ) -> Result<(), RecordError> {
        self.check_capacity(certname)?;
        let _writing = self.lock_reports_of(certname).await;
        if let Some(known) = self
            .known_report(certname, &report.transaction_uuid)
            .await?
        {
            report = PuppetReport::merge(report, known);
        }
        let received = *report.receive_time.get_or_insert_with(Timestamp::now);
        let write = InventoryReportWrite {
            row: InventoryReportRow {
                certname: certname.to_string(),
                transaction_uuid: report.transaction_uuid.clone(),
                received_ms: received.as_millisecond(),
                report: to_json_text(&report)?,
            },
            job_id: report.job_id.clone(),
            keep: REPORTS_PER_NODE as u64,
        };
        check_size(write.row.report.len(), MAX_REPORT_BYTES)?;
        match run_report {
            Some(run_report) => self.store.put_run_report(run_report, Some(&write)).await?,
            None => self.store.put_inventory_report(&write).await?,
        }
        self.node_table
            .update_node(certname, MAX_NODES, |node| node.add_report(report));
        self.reports
            .send_modify(|count| *count = count.wrapping_add(1));
        Ok(())
    }

    /// The known report of a run, with its metrics, which only the store has. Without a report of the run in memory
    /// there is none, as for most runs.
    async fn known_report(
        &self,
        certname: &Certname,
        transaction_uuid: &str,
    ) -> Result<Option<PuppetReport>, StoreError> {
        let is_of_run = |report: &Arc<PuppetReport>| report.transaction_uuid == transaction_uuid;
        let has_report = |node: &InventoryNode| node.reports.iter().any(is_of_run);
        if !self
            .node_table
            .read_node(certname, has_report)
            .unwrap_or(false)
        {
            return Ok(None);
        }
        let known = self
            .store
            .inventory_report(certname.as_str(), transaction_uuid);
        Ok(known.await?.as_ref().and_then(load::parse_report))
    }

    /// Held while a report of a node is read, merged and written: the agent and the job that started
    /// the run send theirs at about the same time.
    async fn lock_reports_of(&self, certname: &Certname) -> tokio::sync::MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        certname.as_str().hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % REPORT_LOCKS as u64).unwrap_or(0);
        self.report_locks[index].lock().await
    }

    /// Marks agents as connected. New nodes are stored, so that they are known while disconnected.
    pub(crate) async fn record_connected(&self, certnames: &[Certname]) -> Result<(), StoreError> {
        let known = self.snapshot();
        let new = certnames.iter().filter(|name| known.get(name).is_none());
        let new: Vec<String> = new.map(ToString::to_string).collect();
        drop(known);
        for certname in certnames {
            let room = self
                .node_table
                .update_node(certname, MAX_NODES, |node| node.connected = true);
            if room.is_none() {
                tracing::warn!(%certname, "the inventory is full and does not take this node");
            }
        }
        self.store.record_inventory_nodes(&new).await
    }

    /// Marks an agent as disconnected.
    pub(crate) fn record_disconnected(&self, certname: &Certname) {
        // A disconnect does not add an unknown node.
        self.node_table
            .update_node(certname, 0, |node| node.connected = false);
    }

    pub(crate) async fn forget(&self, certname: &Certname) -> Result<bool, StoreError> {
        let found = self.store.delete_inventory_node(certname.as_str()).await?;
        self.node_table.remove(certname);
        Ok(found)
    }

    fn check_capacity(&self, certname: &Certname) -> Result<(), RecordError> {
        match self.node_table.has_room(certname, MAX_NODES) {
            true => Ok(()),
            false => Err(RecordError::TooManyNodes(MAX_NODES)),
        }
    }
}

/// Parses a query for the evaluator.
fn parse_query(query: &NodeQuery) -> Result<SelectQuery, UnsupportedQuery> {
    let named = |name: &String| {
        QueryEntity::from_name(name).map_err(|what| lang::invalid("the address", what))
    };
    let entity = query.entity.as_ref().map(named).transpose()?;
    let mut select = match &query.form {
        QueryForm::Pql(text) => lang::parse_pql(text)?,
        QueryForm::Ast(ast) => lang::parse_ast(ast, entity)?,
        QueryForm::Everything => SelectQuery::of(entity.unwrap_or(QueryEntity::Nodes)),
    };
    let paging = &query.paging;
    if let Some(order_by) = &paging.order_by {
        select.order_by = lang::parse_ast_order(order_by, select.entity)?;
    }
    // Paging of the request narrows the paging in the query.
    if let Some(offset) = paging.offset {
        select.offset = select.offset.saturating_add(offset);
        select.limit = select.limit.map(|limit| limit.saturating_sub(offset));
    }
    if let Some(limit) = paging.limit {
        select.limit = Some(select.limit.map_or(limit, |inner| inner.min(limit)));
    }
    Ok(select)
}

fn to_json_text(value: &impl serde::Serialize) -> Result<String, RecordError> {
    serde_json::to_string(value).map_err(|_| RecordError::NotAnObject)
}

fn check_size(bytes: usize, limit: usize) -> Result<(), RecordError> {
    match bytes > limit {
        true => Err(RecordError::TooLarge { bytes, limit }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use store::StoreConfig;

    use super::*;

    #[tokio::test]
    async fn jobs_find_their_nodes_while_people_keep_all_their_places() {
        let directory = tempfile::tempdir().unwrap();
        let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
        let store = Store::open(&config).await.unwrap();
        let embedded = EmbeddedInventory::open(store).await.unwrap();
        let node: Certname = "web".parse().unwrap();
        let nodes = std::slice::from_ref(&node);
        embedded.record_connected(nodes).await.unwrap();
        let mut slow = Vec::new();
        for _ in 0..EVALUATIONS {
            slow.push(
                embedded
                    .permits
                    .acquire(QueryOrigin::User, PLACE_WAIT)
                    .await,
            );
        }

        // The code below does not wait for the disk.
        tokio::time::pause();
        let all = NodeQuery::from_text("nodes[certname] { }");
        assert_eq!(embedded.certnames(all.clone()).await.unwrap(), nodes);
        let refused = embedded.query(all.clone()).await.unwrap_err();
        assert!(matches!(refused, QueryError::Busy(PLACE_WAIT)), "{refused}");
        drop(slow);
        assert_eq!(embedded.query(all).await.unwrap().len(), 1);
    }
}
