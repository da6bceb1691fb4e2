//! Capabilities of a catalog for PuppetDB: [`forwarded_capabilities`].
//!
//! Invariant: sensitive values stay marked, so that they are redacted when the catalog is forwarded.

use compiler::ProducedCapability;
use pcore::Value;
use run_reports::ForwardedCapability;
use serde_json::{Map, Value as Json};

pub(crate) fn forwarded_capabilities(produced: &[ProducedCapability]) -> Vec<ForwardedCapability> {
    let forwarded = produced.iter().map(|it| ForwardedCapability {
        type_name: it.type_name.to_string(),
        title: it.title.to_string(),
        attributes: rich_attributes(it),
    });
    forwarded.collect()
}

/// All of them can be written, or the capability could not have been kept.
fn rich_attributes(capability: &ProducedCapability) -> Map<String, Json> {
    match Value::hash(capability.attributes.clone()).to_rich_json() {
        Ok(Json::Object(attributes)) => attributes,
        _ => Map::new(),
    }
}
