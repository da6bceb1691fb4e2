//! Catalogs in PuppetDB's format, version 9: [`catalog_payload`].

use partial_debug::partial_debug;
use pcp::Certname;
use serde_json::{Map, Value, json};

use super::edges::CatalogEdges;
use super::values::{to_plain_map, to_plain_value, without_nul};
use super::{PayloadProducer, to_wire_time};
use crate::read::to_uuid;

/// A catalog to forward.
#[derive(Clone, Debug)]
pub struct ForwardedCatalog {
    /// Certname of the node that gets the catalog.
    pub certname: Certname,
    /// The document, as the agent gets it.
    pub document: Value,
    /// Capabilities that the node produces, which agents from Puppet 7 do not get.
    pub capabilities: Vec<ForwardedCapability>,
    /// Id of the run for which it was compiled.
    pub transaction_uuid: Option<String>,
    /// The job that started the run.
    pub job_id: Option<String>,
}

/// A capability of an application that a catalog produces.
#[derive(Clone)]
pub struct ForwardedCapability {
    /// Type of the capability: `Sql`, `Foo::Bar`.
    pub type_name: String,
    pub title: String,
    /// Attributes as rich data.
    pub attributes: Map<String, Value>,
}

// Leaves out the values, which may be secret.
partial_debug!(ForwardedCapability { type_name, title });

/// Parameters whose lists have no order.
const UNORDERED: [&str; 8] = [
    "alias",
    "audit",
    "before",
    "check",
    "notify",
    "require",
    "subscribe",
    "tag",
];

/// The catalog without sensitive parameters.
pub(crate) fn catalog_payload(catalog: ForwardedCatalog, producer: PayloadProducer<'_>) -> Value {
    // titles and the edges between them alike
    let mut document = to_plain_value(catalog.document);
    let resources = document.get_mut("resources").map(Value::take);
    let mut resources: Vec<Value> = match resources {
        Some(Value::Array(resources)) => resources.into_iter().filter_map(resource).collect(),
        _ => Vec::new(),
    };
    let environment = document.get("environment").and_then(Value::as_str);
    let environment = environment.unwrap_or("production").to_owned();
    for capability in catalog.capabilities {
        add_capability(&mut resources, capability, &environment);
    }
    let mut edges = CatalogEdges::new(&resources);
    let containment = document.get("edges").and_then(Value::as_array);
    for edge in containment.into_iter().flatten() {
        edges.add_containment(edge);
    }
    for resource in &resources {
        edges.add_relationships(resource);
    }
    let text = |key: &str| document.get(key).and_then(Value::as_str);
    let version = match document.get("version") {
        Some(Value::String(version)) => version.clone(),
        Some(version @ Value::Number(_)) => version.to_string(),
        _ => String::new(),
    };
    // what a node says about its run
    let transaction_uuid = catalog.transaction_uuid.as_deref().and_then(to_uuid);
    json!({
        "certname": catalog.certname.as_str(),
        "version": version,
        "environment": environment,
        "transaction_uuid": transaction_uuid,
        "catalog_uuid": text("catalog_uuid").or(transaction_uuid.as_deref()),
        "code_id": text("code_id"),
        "job_id": catalog.job_id.map(without_nul),
        "producer_timestamp": to_wire_time(producer.at),
        "producer": producer.certname,
        "edges": edges.into_edges(),
        "resources": resources,
    })
}

/// Adds a capability as Puppet 6 has it in the catalog of its producer. One that the agent gets too is replaced, so that
/// sensitive values are redacted, and not absent.
fn add_capability(resources: &mut Vec<Value>, capability: ForwardedCapability, environment: &str) {
    let ForwardedCapability {
        type_name,
        title,
        attributes,
    } = capability;
    let title = without_nul(title);
    resources.retain(|it| it["type"] != *type_name || it["title"] != *title);
    let mut parameters = to_plain_map(attributes);
    parameters.retain(|_, value| !value.is_null());
    resources.push(json!({
        "type": type_name,
        "title": title,
        "exported": false,
        "file": null,
        "line": null,
        "tags": [type_name.to_lowercase(), format!("producer:{environment}")],
        "parameters": parameters,
    }));
}

/// A resource of plain values with the keys that Puppet sends; `None` without type or title. PuppetDB takes the key
/// `aliases` too, but then cannot store another catalog in which the resource has changed.
fn resource(resource: Value) -> Option<Value> {
    let Value::Object(mut resource) = resource else {
        return None;
    };
    let title = match resource.shift_remove("title")? {
        Value::String(title) => title,
        other => other.to_string(),
    };
    let kind = resource.get("type")?.as_str()?.to_owned();
    let mut parameters = match resource.shift_remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    let sensitive = resource
        .get("sensitive_parameters")
        .and_then(Value::as_array);
    for name in sensitive.into_iter().flatten().filter_map(Value::as_str) {
        parameters.shift_remove(name);
    }
    parameters.retain(|_, value| !value.is_null());
    for key in UNORDERED {
        if let Some(Value::Array(values)) = parameters.get_mut(key) {
            values.sort_by_cached_key(ToString::to_string);
        }
    }
    let tags = resource.get("tags").and_then(Value::as_array);
    let tags = tags.into_iter().flatten().filter(|tag| tag.is_string());
    Some(json!({
        "type": kind,
        "title": title,
        "exported": resource.get("exported").and_then(Value::as_bool).unwrap_or(false),
        "file": resource.get("file").and_then(Value::as_str),
        "line": resource.get("line").and_then(Value::as_i64).filter(|line| *line > 0),
        "tags": tags.collect::<Vec<_>>(),
        "parameters": parameters,
    }))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    const RUN: &str = "00000000-0000-4000-8000-000000000001";

    fn payload(document: Value) -> Value {
        let catalog = ForwardedCatalog {
            certname: "web".parse().unwrap(),
            document,
            capabilities: Vec::new(),
            transaction_uuid: Some(RUN.to_owned()),
            job_id: None,
        };
        let producer = PayloadProducer {
            certname: "puppet",
            at: Timestamp::UNIX_EPOCH,
        };
        catalog_payload(catalog, producer)
    }

    #[test]
    fn a_catalog_has_its_relationships_and_no_secrets() {
        let payload = payload(json!({
            "name": "web", "version": 17, "code_id": "c", "catalog_uuid": "u", "catalog_format": 2,
            "environment": "test", "tags": ["x"], "classes": ["a"],
            "resources": [
                {"type": "Class", "title": "main", "tags": ["class"], "exported": false},
                {"type": "File", "title": "motd", "file": "/site.pp", "line": 2, "exported": false,
                 "parameters": {"path": "/etc/motd", "content": "secret", "tag": ["b", "a"],
                    "notify": ["Exec[reload]", "Exec[reload]", "Exec[gone]"], "x": null},
                 "sensitive_parameters": ["content"]},
                {"type": "Exec", "title": "reload", "exported": false,
                 "parameters": {"require": "File[/etc/motd/]",
                    "environment": [{"__ptype": "Sensitive", "__pvalue": "secret"}]}},
                {"type": "Broken"},
            ],
            "edges": [{"source": "Class[main]", "target": "File[motd]"},
                      {"source": "Class[main]", "target": "File[gone]"}],
            "metadata": {},
        }));
        assert!(!payload.to_string().contains("secret"), "{payload}");
        let ends = |kind: &str, title: &str| json!({"type": kind, "title": title});
        let edge = |source: Value, target: Value, relationship: &str| json!({"source": source, "target": target, "relationship": relationship});
        let (main, file) = (ends("Class", "main"), ends("File", "motd"));
        let exec = ends("Exec", "reload");
        let edges = json!([
            edge(main, file.clone(), "contains"),
            edge(file.clone(), exec.clone(), "notifies"),
            edge(file, exec, "required-by"),
        ]);
        assert_eq!(payload["edges"], edges);
        assert_eq!(payload["version"], "17");
        let resources = payload["resources"].as_array().unwrap();
        assert_eq!(resources.len(), 3);
        assert_eq!(resources[1]["parameters"]["tag"], json!(["a", "b"]));
        assert_eq!(resources[0]["line"], Value::Null);
        let keys: Vec<&String> = payload.as_object().unwrap().keys().collect();
        let expected = "certname version environment transaction_uuid catalog_uuid code_id job_id \
             producer_timestamp producer edges resources";
        assert_eq!(keys, expected.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn produced_capabilities_are_in_the_catalog_without_secrets() {
        let attributes = json!({"host": "db", "port": 3306, "x": null,
            "password": {"__ptype": "Sensitive", "__pvalue": "secret"}});
        let capability = ForwardedCapability {
            type_name: "Demo::Sql".to_owned(),
            title: "app1".to_owned(),
            attributes: attributes.as_object().unwrap().clone(),
        };
        assert!(!format!("{capability:?}").contains("secret"));
        let catalog = ForwardedCatalog {
            certname: "db".parse().unwrap(),
            document: json!({"environment": "test", "resources": [
                {"type": "Demo::Sql", "title": "app1", "parameters": {"host": "db"}},
                {"type": "Demo::Sql", "title": "app2"}]}),
            capabilities: vec![capability],
            transaction_uuid: None,
            job_id: None,
        };
        let producer = PayloadProducer {
            certname: "puppet",
            at: Timestamp::UNIX_EPOCH,
        };
        let payload = catalog_payload(catalog, producer);
        let resources = payload["resources"].as_array().unwrap();
        let titles: Vec<&Value> = resources.iter().map(|it| &it["title"]).collect();
        assert_eq!(titles, ["app2", "app1"]);
        assert_eq!(resources[1]["tags"], json!(["demo::sql", "producer:test"]));
        let expected =
            json!({"host": "db", "port": 3306, "password": "Sensitive [value redacted]"});
        assert_eq!(resources[1]["parameters"], expected);
    }

    #[test]
    fn a_catalog_has_only_texts_that_puppetdb_takes() {
        let attributes = json!({"a\0": "b\0"});
        let capability = ForwardedCapability {
            type_name: "Sql".to_owned(),
            title: "app\0".to_owned(),
            attributes: attributes.as_object().unwrap().clone(),
        };
        let catalog = ForwardedCatalog {
            certname: "web".parse().unwrap(),
            document: json!({
                "version": "1\0", "code_id": "c\0", "environment": "test\0",
                "resources": [
                    {"type": "Class", "title": "main"},
                    {"type": "Sql", "title": "app\0"},
                    {"type": "Notify", "title": "a\0", "tags": ["t\0"], "file": "/f\0",
                     "parameters": {"before": "Notify[b\0]", "message": "m\0"}},
                    {"type": "Notify", "title": "b\0"},
                ],
                "edges": [{"source": "Class[main]", "target": "Notify[a\0]"},
                          {"source": "Class[main]", "target": "Notify[b\0]"}],
            }),
            capabilities: vec![capability],
            transaction_uuid: Some("no uuid\0".to_owned()),
            job_id: Some("7\0".to_owned()),
        };
        let producer = PayloadProducer {
            certname: "puppet",
            at: Timestamp::UNIX_EPOCH,
        };
        let payload = catalog_payload(catalog, producer);
        // PuppetDB takes UUIDs only
        assert_eq!(payload["transaction_uuid"], Value::Null);
        assert!(!payload.to_string().contains("\\u0000"), "{payload}");
        let resources = payload["resources"].as_array().unwrap();
        let titles: Vec<&Value> = resources.iter().map(|it| &it["title"]).collect();
        assert_eq!(titles, ["main", "a\u{fffd}", "b\u{fffd}", "app\u{fffd}"]);
        let edges = payload["edges"].as_array().unwrap();
        let edges: Vec<_> = edges
            .iter()
            .map(|it| (&it["source"]["title"], &it["target"]["title"]))
            .collect();
        let title = |index: usize| &resources[index]["title"];
        let expected = [
            (title(0), title(1)),
            (title(0), title(2)),
            (title(1), title(2)),
        ];
        assert_eq!(edges, expected);
    }

    #[test]
    fn a_document_that_is_none_is_an_empty_catalog() {
        for document in [
            json!(null),
            json!([]),
            json!({"resources": 1, "edges": "x"}),
        ] {
            let payload = payload(document);
            assert_eq!(payload["resources"], json!([]));
            assert_eq!(payload["catalog_uuid"], RUN);
        }
    }
}
