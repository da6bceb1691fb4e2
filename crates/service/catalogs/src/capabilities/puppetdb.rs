//! Capabilities in the catalogs that other servers gave to PuppetDB: [`PuppetdbCapabilities`].
//!
//! Invariant: catalogs of this server do not count, since its own database has their capabilities earlier.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use compiler::{CapabilitySearch, CompileInterrupt};
use environments::EnvironmentName;
use inventory::{Inventory, NodeQuery, QueryError, QueryPaging};
use jiff::Timestamp;
use pcore::{Hash, Value};
use pcp::Certname;
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;

use crate::blocking_inventory::BlockingInventory;
use crate::defaults::{CAPABILITIES_OF_NODE_MAX, CAPABILITY_PRODUCERS_MAX};

/// What PuppetDB has instead of a sensitive value.
const REDACTED: &str = "Sensitive [value redacted]";

/// The capabilities of nodes whose catalogs other servers compile.
#[derive(Debug, Clone)]
pub struct PuppetdbCapabilities {
    inventory: Inventory,
    runtime: Handle,
    /// Certname of this server, whose catalogs do not count; `None` to count all catalogs.
    server: Option<String>,
}

/// What other servers gave to PuppetDB for one search.
#[derive(Debug, Default)]
pub(super) struct ForeignCapabilities {
    /// The newest catalogs of nodes, by certname.
    pub catalogs: BTreeMap<String, ForeignCatalog>,
    /// Attributes of the capability, by the certname of the producer.
    pub attributes: BTreeMap<String, Hash>,
}

/// A catalog of another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ForeignCatalog {
    pub code_id: Option<String>,
    /// Milliseconds since 1970 at which that server gave it to PuppetDB.
    pub produced_ms: i64,
    /// Id of the run for which it was compiled.
    pub transaction_uuid: Option<String>,
}

impl PuppetdbCapabilities {
    /// The capabilities in the PuppetDB of `inventory`, whose requests run in `runtime`, except those in catalogs of
    /// `server`.
    #[must_use]
    pub fn new(inventory: Inventory, runtime: Handle, server: Option<&Certname>) -> Self {
        Self {
            inventory,
            runtime,
            server: server.map(Certname::to_string),
        }
    }

    /// The URLs of the servers, for messages.
    pub(super) fn location(&self) -> String {
        self.inventory.location()
    }

    /// The capability that a search finds, and the newest catalogs of its producers and of the nodes `own`.
    pub(super) fn find(
        &self,
        search: &CapabilitySearch<'_>,
        own: &[String],
    ) -> Result<ForeignCapabilities, String> {
        let query = self.capability_query(search);
        let attributes = self.rows(query, search.interrupt)?.into_iter();
        let attributes = attributes.map(|row| capability(row, search));
        let attributes: BTreeMap<String, Hash> = attributes.collect::<Result<_, _>>()?;
        let certnames: Vec<&str> = attributes.keys().chain(own).map(String::as_str).collect();
        if certnames.is_empty() {
            return Ok(ForeignCapabilities::default());
        }
        // afterwards, so that a catalog that replaced one meanwhile is seen
        let rows = self.rows(self.catalog_query(&certnames), search.interrupt)?;
        let catalogs = rows.iter().map(catalog).collect::<Result<_, _>>()?;
        Ok(ForeignCapabilities {
            catalogs,
            attributes,
        })
    }

    /// The catalog of a node; `None` if PuppetDB has none of another server.
    pub(super) async fn catalog_of(
        &self,
        certname: &Certname,
    ) -> Result<Option<ForeignCatalog>, QueryError> {
        let query = self.catalog_query(&[certname.as_str()]);
        let rows = self.inventory.query(&query).await?;
        // A row that is none is as good as no catalog: then the values of this server count.
        let catalogs = rows.iter().filter_map(|row| catalog(row).ok());
        Ok(catalogs.map(|(_, catalog)| catalog).next())
    }

    /// References such as `Sql[app1]` of the capabilities that a node produces in an environment.
    pub(super) async fn produced_by(
        &self,
        producer: &Certname,
        environment: &EnvironmentName,
    ) -> Result<HashSet<String>, QueryError> {
        let conditions = json!([
            "and",
            ["=", "certname", producer.as_str()],
            ["=", "tag", producer_tag(environment.as_str())],
            self.of_others()
        ]);
        let columns = json!(["type", "title"]);
        let query = limited(
            json!(["from", "resources", ["extract", columns, conditions]]),
            CAPABILITIES_OF_NODE_MAX as u64,
        );
        let rows = self.inventory.query(&query).await?;
        let reference = |row: &Json| {
            let text = |column: &str| row[column].as_str().map(str::to_owned);
            Some(format!("{}[{}]", text("type")?, text("title")?))
        };
        Ok(rows.iter().filter_map(reference).collect())
    }

    fn rows(
        &self,
        query: NodeQuery,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Vec<Json>, String> {
        let inventory = BlockingInventory::new(self.inventory.clone(), self.runtime.clone());
        inventory.rows(query, interrupt)
    }

    fn capability_query(&self, search: &CapabilitySearch<'_>) -> NodeQuery {
        let conditions = json!([
            "and",
            ["=", "type", search.type_name],
            ["=", "title", search.title],
            ["=", "tag", producer_tag(search.environment)],
            self.of_others()
        ]);
        let columns = json!(["certname", "parameters"]);
        limited(
            json!(["from", "resources", ["extract", columns, conditions]]),
            CAPABILITY_PRODUCERS_MAX,
        )
    }

    fn catalog_query(&self, certnames: &[&str]) -> NodeQuery {
        let columns = json!([
            "certname",
            "code_id",
            "producer_timestamp",
            "transaction_uuid"
        ]);
        let conditions = json!([
            "and",
            ["in", "certname", ["array", certnames]],
            self.of_others()
        ]);
        NodeQuery::from_ast(json!([
            "from",
            "catalogs",
            ["extract", columns, conditions]
        ]))
    }

    /// True for nodes whose newest catalog another server compiled.
    fn of_others(&self) -> Json {
        let is_active = json!(["=", "node_state", "active"]);
        let Some(server) = &self.server else {
            return is_active;
        };
        // servers before PuppetDB 4 named no producer
        let others = json!([
            "or",
            ["null?", "producer", true],
            ["not", ["=", "producer", server]]
        ]);
        let certnames = json!(["extract", "certname", ["select_catalogs", others]]);
        json!(["and", is_active, ["in", "certname", certnames]])
    }
}

/// The tag that a produced capability has in a catalog, and a consumed one has not.
fn producer_tag(environment: &str) -> String {
    format!("producer:{environment}")
}

fn limited(query: Json, rows: u64) -> NodeQuery {
    NodeQuery::from_ast(query).with_paging(QueryPaging {
        limit: Some(rows),
        order_by: Some(json!([{"field": "certname"}])),
        ..QueryPaging::default()
    })
}

/// Certname and attributes of a row of `resources`.
fn capability(row: Json, search: &CapabilitySearch<'_>) -> Result<(String, Hash), String> {
    let certname = text(&row, "certname")?.to_owned();
    let attributes = match row.get("parameters") {
        None | Some(Json::Null) => return Ok((certname, Hash::new())),
        Some(Json::Object(attributes)) => attributes,
        Some(_) => return Err("the parameters of a resource are not an object".to_owned()),
    };
    let (type_name, title) = (search.type_name, search.title);
    if let Some((name, _)) = attributes.iter().find(|(_, value)| is_redacted(value)) {
        return Err(format!(
            "the attribute {name} of {type_name}[{title}] of {certname} is sensitive, so the server that compiles \
             {certname} did not give its value to PuppetDB; let this server compile both nodes"
        ));
    }
    // the relationship to the component on the other node
    let attributes = attributes.iter().filter(|(name, _)| *name != "require");
    let attributes = attributes.map(|(name, value)| (name.as_str(), Value::from_json(value)));
    Ok((certname, attributes.collect()))
}

fn is_redacted(value: &Json) -> bool {
    match value {
        Json::String(text) => text == REDACTED,
        Json::Array(items) => items.iter().any(is_redacted),
        Json::Object(map) => map.values().any(is_redacted),
        _ => false,
    }
}

/// Certname and catalog of a row of `catalogs`.
fn catalog(row: &Json) -> Result<(String, ForeignCatalog), String> {
    let at = text(row, "producer_timestamp")?;
    let at: Timestamp = at
        .parse()
        .map_err(|error| format!("the time of a catalog, {at:?}, cannot be read: {error}"))?;
    let optional = |column: &str| row[column].as_str().map(str::to_owned);
    let catalog = ForeignCatalog {
        code_id: optional("code_id"),
        produced_ms: at.as_millisecond(),
        transaction_uuid: optional("transaction_uuid"),
    };
    Ok((text(row, "certname")?.to_owned(), catalog))
}

fn text<'r>(row: &'r Json, column: &str) -> Result<&'r str, String> {
    let text = row.get(column).and_then(Json::as_str);
    text.ok_or_else(|| format!("a row has no text in the column `{column}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: CapabilitySearch<'static> = CapabilitySearch {
        environment: "production",
        type_name: "Sql",
        title: "app1",
        interrupt: None,
    };

    #[test]
    fn a_redacted_value_is_named() {
        for value in [json!(REDACTED), json!([{"a": REDACTED}])] {
            let row =
                json!({"certname": "db.test", "parameters": {"host": "h", "password": value}});
            let error = capability(row, &SEARCH).unwrap_err();
            let start = "the attribute password of Sql[app1] of db.test is sensitive";
            assert!(error.starts_with(start), "{error}");
        }
    }

    #[test]
    fn the_component_that_exports_is_no_attribute() {
        let row = json!({"certname": "db.test",
            "parameters": {"host": "h", "port": 1, "require": "Db[app1]"}});
        let (certname, attributes) = capability(row, &SEARCH).unwrap();
        assert_eq!(certname, "db.test");
        let names: Vec<String> = attributes.keys().map(ToString::to_string).collect();
        assert_eq!(names, ["host", "port"]);
    }

    #[test]
    fn rows_of_other_shapes_are_refused() {
        let good = json!({"certname": "a", "producer_timestamp": "2026-01-01T00:00:00.001Z"});
        assert_eq!(catalog(&good).unwrap().1.produced_ms % 1_000, 1);
        for (column, value) in [
            ("certname", json!(1)),
            ("producer_timestamp", json!(null)),
            ("producer_timestamp", json!("yesterday")),
        ] {
            let mut bad = good.clone();
            bad[column] = value;
            assert!(catalog(&bad).is_err(), "{bad}");
        }
        for bad in [json!("text"), json!({"certname": "a", "parameters": []})] {
            assert!(capability(bad, &SEARCH).is_err());
        }
    }
}
