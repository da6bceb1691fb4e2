//! Facts in PuppetDB's format, version 5: [`facts_payload`].

use inventory::NodeRecord;
use pcp::Certname;
use serde_json::{Map, Value, json};

use super::values::{to_plain_map, to_plain_value};
use super::{PayloadProducer, to_wire_time};

/// The fact in which agents send the list of packages.
const PACKAGES: &str = "_puppet_inventory_1";

/// The environment if none is known.
const DEFAULT_ENVIRONMENT: &str = "production";

/// Facts and trusted data of a node.
pub(crate) fn facts_payload(
    certname: &Certname,
    record: &NodeRecord,
    producer: PayloadProducer<'_>,
) -> Value {
    let mut values = to_plain_map(Map::clone(&record.facts));
    let packages = values.shift_remove(PACKAGES);
    // Not a fact of this name that the node made up.
    let trusted = to_plain_map(Map::clone(&record.trusted));
    values.insert("trusted".to_owned(), Value::Object(trusted));
    let environment = record.environment.as_deref().unwrap_or(DEFAULT_ENVIRONMENT);
    let mut payload = json!({
        "certname": certname.as_str(),
        "environment": environment,
        "values": values,
        "producer_timestamp": to_wire_time(producer.at),
        "producer": producer.certname,
    });
    if let Some(packages) = packages.as_ref().and_then(package_tuples) {
        payload["package_inventory"] = packages;
    }
    payload
}

/// The packages that have name, version and provider; `None` if there is no list.
fn package_tuples(fact: &Value) -> Option<Value> {
    let packages = fact.get("packages")?.as_array()?;
    let is_tuple = |package: &&Value| {
        let texts = package.as_array();
        texts.is_some_and(|texts| texts.len() == 3 && texts.iter().all(Value::is_string))
    };
    let tuples = packages.iter().filter(is_tuple);
    Some(tuples.cloned().map(to_plain_value).collect())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn facts_have_trusted_data_and_packages_apart() {
        let record = NodeRecord {
            facts: map(json!({
                "kernel": "Linux", "trusted": "forged", "nul": "a\0",
                "_puppet_inventory_1": {"packages": [["a", "1", "apt"], ["b", 2], "c"]},
            }))
            .into(),
            trusted: map(json!({"certname": "web"})).into(),
            environment: None,
            timestamp: Timestamp::UNIX_EPOCH,
        };
        let producer = PayloadProducer {
            certname: "puppet",
            at: Timestamp::UNIX_EPOCH,
        };
        let payload = facts_payload(&"web".parse().unwrap(), &record, producer);
        let expected = json!({
            "certname": "web", "environment": "production",
            "values": {"kernel": "Linux", "nul": "a\u{fffd}", "trusted": {"certname": "web"}},
            "producer_timestamp": "1970-01-01T00:00:00.000Z", "producer": "puppet",
            "package_inventory": [["a", "1", "apt"]],
        });
        assert_eq!(payload, expected);
    }
}
