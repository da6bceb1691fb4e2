//! The facts of a node as agents write them: [`FactsDocument`].
//!
//! Invariants: the facts are of the node that sends them; data of its certificate are not among them. Their time is
//! that of this server, as in PuppetDB: a node whose clock was set back would otherwise send older facts than the
//! known ones, which change nothing.

use agent_catalogs::AgentFacts;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::PuppetApiFailure;

/// The document, in a request for a catalog and on its own.
#[derive(Deserialize)]
struct FactsDocument {
    name: Option<String>,
    #[serde(default)]
    values: Map<String, Value>,
}

/// Reads the facts that the node `certname` sent as JSON.
pub(crate) fn read_facts(certname: &str, json: &str) -> Result<AgentFacts, PuppetApiFailure> {
    let document: Result<FactsDocument, _> = decode_errors::json::from_str(json);
    let mut document = document.map_err(|error| {
        PuppetApiFailure::bad_request(format!("the facts cannot be read: {error}"))
    })?;
    if document.name.as_deref() != Some(certname) {
        return Err(PuppetApiFailure::bad_request(format!(
            "the facts must name {certname} as their node, which sends them"
        )));
    }
    // the order of facts is that of `$facts` in manifests
    document.values.shift_remove("trusted");
    Ok(AgentFacts {
        values: document.values,
        timestamp: Timestamp::now(),
    })
}
