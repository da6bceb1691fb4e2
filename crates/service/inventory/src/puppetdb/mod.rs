//! The back end that queries a real PuppetDB: [`PuppetDbBackend`].
//!
//! Every query is one `POST /pdb/query/v4`, in PuppetDB's own languages; nothing is translated.
//! Data of nodes is submitted as commands.
//! Invariant: PuppetDB's error texts are returned truncated but otherwise unchanged, and every
//! other failure has an error variant of its own.

mod client;
mod command;
mod conf;
mod failure;

use std::collections::HashMap;
use std::time::Duration;

use pcp::Certname;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

pub use command::PuppetDbCommand;
pub use conf::{ConfError, PuppetDbConfig};

use crate::defaults::{FACT_NODES, REPORT_AWAY, REPORT_POLL_FIRST, REPORT_POLL_LAST};
use crate::query::QueryForm;
use crate::query_permits::QueryOrigin;
use crate::{NodeQuery, NodeRecord, PuppetReport, QueryError};
use client::PuppetDbClient;

/// A client of PuppetDB.
#[derive(Debug)]
pub(crate) struct PuppetDbBackend {
    client: PuppetDbClient,
}

impl PuppetDbBackend {
    pub(crate) fn new(config: PuppetDbConfig) -> Self {
        Self {
            client: PuppetDbClient::new(config),
        }
    }

    /// The URLs of PuppetDB, for messages.
    pub(crate) fn server_list(&self) -> String {
        self.client.server_list()
    }

    pub(crate) async fn query(
        &self,
        asker: QueryOrigin,
        query: &NodeQuery,
    ) -> Result<Vec<Value>, QueryError> {
        self.client.send_query(asker, &to_request_body(query)).await
    }

    /// Submits a command.
    pub(crate) async fn submit(&self, command: &PuppetDbCommand) -> Result<(), QueryError> {
        self.client.submit(command).await
    }

    pub(crate) async fn facts(
        &self,
        certname: &Certname,
    ) -> Result<Option<NodeRecord>, QueryError> {
        let ast = json!(["from", "inventory", ["=", "certname", certname.as_str()]]);
        let rows = self.query_for_engine(&json!({ "query": ast })).await?;
        let Some(row) = rows.into_iter().next() else {
            return Ok(None);
        };
        let row: InventoryRow = self.parse_row(row)?;
        Ok(Some(NodeRecord {
            facts: row.facts.unwrap_or_default().into(),
            trusted: row.trusted.unwrap_or_default().into(),
            environment: row.environment,
            timestamp: row.timestamp,
        }))
    }

    /// One fact of each of these nodes, in the given order.
    pub(crate) async fn fact_of_each(
        &self,
        fact: &str,
        certnames: &[Certname],
    ) -> Result<Vec<Option<Value>>, QueryError> {
        let mut told = HashMap::new();
        for some in certnames.chunks(FACT_NODES) {
            let names: Vec<&str> = some.iter().map(Certname::as_str).collect();
            let of_them = json!([
                "and",
                ["=", "name", fact],
                ["in", "certname", ["array", names]]
            ]);
            let ast = json!(["from", "facts", ["extract", ["certname", "value"], of_them]]);
            for row in self.query_for_engine(&json!({ "query": ast })).await? {
                let row: FactRow = self.parse_row(row)?;
                told.insert(row.certname, row.value);
            }
        }
        let of = |certname: &Certname| told.remove(certname.as_str());
        Ok(certnames.iter().map(of).collect())
    }

    /// Queries PuppetDB for
    /// [`Inventory::environment_of_each`](crate::Inventory::environment_of_each).
    pub(crate) async fn environment_of_each(
        &self,
        certnames: &[Certname],
    ) -> Result<Vec<Option<String>>, QueryError> {
        let mut told = HashMap::new();
        for some in certnames.chunks(FACT_NODES) {
            let names: Vec<&str> = some.iter().map(Certname::as_str).collect();
            let columns = json!(["certname", "catalog_environment", "facts_environment"]);
            let of_them = json!(["in", "certname", ["array", names]]);
            let ast = json!(["from", "nodes", ["extract", columns, of_them]]);
            for row in self.query_for_engine(&json!({ "query": ast })).await? {
                let row: EnvironmentRow = self.parse_row(row)?;
                told.insert(
                    row.certname,
                    row.catalog_environment.or(row.facts_environment),
                );
            }
        }
        let of = |certname: &Certname| told.remove(certname.as_str()).flatten();
        Ok(certnames.iter().map(of).collect())
    }

    /// Polls for the report of a run until it exists or `wait` has passed.
    pub(crate) async fn wait_for_report(
        &self,
        certname: &Certname,
        transaction_uuid: &str,
        wait: Duration,
    ) -> Result<Option<PuppetReport>, QueryError> {
        let of_run = json!([
            "and",
            ["=", "certname", certname.as_str()],
            ["=", "transaction_uuid", transaction_uuid]
        ]);
        let columns = PuppetReport::COLUMNS.into_iter().chain(["metrics"]);
        let ast = json!([
            "from",
            "reports",
            ["extract", columns.collect::<Vec<_>>(), of_run],
            ["limit", 1]
        ]);
        let question = json!({ "query": ast });
        let deadline = Instant::now() + wait;
        let mut pause = REPORT_POLL_FIRST;
        let mut away_since = None;
        loop {
            match self.query_for_engine(&question).await {
                Ok(rows) => {
                    away_since = None;
                    if let Some(row) = rows.into_iter().next() {
                        return self.parse_row(row).map(Some);
                    }
                }
                // A PuppetDB that is briefly unavailable may have the report in its queue.
                Err(error)
                    if error.is_passing()
                        && Instant::now() + pause < deadline
                        && away_since.get_or_insert_with(Instant::now).elapsed() < REPORT_AWAY =>
                {
                    tracing::debug!(%error, "cannot look for a report; trying again");
                }
                Err(error) => return Err(error),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(REPORT_POLL_LAST);
        }
    }

    /// Checks that PuppetDB answers.
    pub(crate) async fn health(&self) -> Result<(), QueryError> {
        let ast = json!(["from", "nodes", ["extract", ["certname"]], ["limit", 1]]);
        self.query_for_engine(&json!({ "query": ast }))
            .await
            .map(drop)
    }

    async fn query_for_engine(&self, question: &Value) -> Result<Vec<Value>, QueryError> {
        self.client.send_query(QueryOrigin::Engine, question).await
    }

    fn parse_row<T: DeserializeOwned>(&self, row: Value) -> Result<T, QueryError> {
        decode_errors::json::from_value(row).map_err(|error| QueryError::Garbage {
            url: self.server_list(),
            what: format!("a row is not as documented: {error}"),
        })
    }
}

impl QueryError {
    /// Returns `true` if a retry may succeed.
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Busy(_) => true,
            Self::Refused { status, .. } => *status >= 500,
            Self::AllFailed(errors) => errors.iter().any(Self::is_passing),
            _ => false,
        }
    }
}

#[derive(serde::Deserialize)]
struct InventoryRow {
    facts: Option<Map<String, Value>>,
    trusted: Option<Map<String, Value>>,
    environment: Option<String>,
    timestamp: jiff::Timestamp,
}

/// A row of `nodes`.
#[derive(serde::Deserialize)]
struct EnvironmentRow {
    certname: String,
    catalog_environment: Option<String>,
    facts_environment: Option<String>,
}

#[derive(serde::Deserialize)]
struct FactRow {
    certname: String,
    value: Value,
}

/// The body of the request.
fn to_request_body(query: &NodeQuery) -> Value {
    let mut body = Map::new();
    let ast = match (&query.form, &query.entity) {
        (QueryForm::Pql(text), _) => Value::from(text.as_str()),
        (QueryForm::Everything, entity) => json!(["from", entity.as_deref().unwrap_or("nodes")]),
        (QueryForm::Ast(ast), Some(entity)) if ast.get(0).is_none_or(|first| first != "from") => {
            json!(["from", entity, ast])
        }
        (QueryForm::Ast(ast), _) => ast.clone(),
    };
    body.insert("query".to_owned(), ast);
    let paging = &query.paging;
    let parts = [
        ("limit", paging.limit.map(Value::from)),
        ("offset", paging.offset.map(Value::from)),
        ("order_by", paging.order_by.clone()),
    ];
    for (name, part) in parts {
        if let Some(part) = part {
            body.insert(name.to_owned(), part);
        }
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueryPaging;

    #[test]
    fn a_query_without_from_gets_the_entity_of_its_address() {
        let plain = json!(["=", "certname", "a"]);
        let asked = |query: NodeQuery| to_request_body(&query)["query"].clone();
        assert_eq!(
            asked(NodeQuery::from_ast(plain.clone()).with_entity("nodes")),
            json!(["from", "nodes", plain])
        );
        let whole = json!(["from", "facts"]);
        assert_eq!(
            asked(NodeQuery::from_ast(whole.clone()).with_entity("nodes")),
            whole
        );
        assert_eq!(asked(NodeQuery::from_text(whole.to_string())), whole);
        assert_eq!(asked(NodeQuery::from_text("nodes { }")), json!("nodes { }"));
        assert_eq!(
            asked(NodeQuery::all_rows("facts")),
            json!(["from", "facts"])
        );
    }

    #[test]
    fn paging_stands_beside_the_query() {
        let paging = QueryPaging {
            limit: Some(3),
            offset: None,
            order_by: Some(json!([{"field": "certname"}])),
        };
        let body = to_request_body(&NodeQuery::from_text("nodes {}").with_paging(paging));
        assert_eq!(
            body,
            json!({"query": "nodes {}", "limit": 3, "order_by": [{"field": "certname"}]})
        );
    }
}
