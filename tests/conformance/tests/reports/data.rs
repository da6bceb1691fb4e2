//! What a node and its compiler bring in one run.

use inventory::NodeRecord;
use jiff::Timestamp;
use run_reports::{ForwardedCapability, ForwardedCatalog};
use serde_json::{Map, Value, json};

pub(crate) const NODE: &str = "web1.test";
pub(crate) const CODE_ID: &str = "urn:puppet:code-id:1:0123;production";

/// A UUID for each kind and run.
pub(crate) fn uuid(kind: &str, run: u32) -> String {
    format!("{}-0000-4000-8000-{run:012}", kind.repeat(8))
}

pub(crate) fn facts(run: u32) -> NodeRecord {
    let map = |value: Value| -> Map<String, Value> { value.as_object().unwrap().clone() };
    NodeRecord {
        facts: map(json!({
            "run": run, "os": {"family": "Debian", "ünïcode": "ß\0"}, "trusted": "forged",
            "_puppet_inventory_1": {"packages": [["bash", "5.2", "apt"], ["broken"]]},
        }))
        .into(),
        trusted: map(json!({"certname": NODE, "authenticated": "remote", "extensions": {}})).into(),
        environment: Some("production".to_owned()),
        timestamp: Timestamp::now(),
    }
}

pub(crate) fn catalog(run: u32) -> ForwardedCatalog {
    let file = json!({
        "type": "File", "title": "/etc/motd", "exported": false, "tags": ["file"], "file": "/site.pp",
        "line": 3, "kind": "compilable_type", "sensitive_parameters": ["content"],
        "parameters": {"content": "secret", "mode": "0644", "notify": "Service[web]",
            "count": 1, "options": {"a": [1, null, true]}},
    });
    let service = json!({
        "type": "Service", "title": "web", "exported": false, "tags": ["service"],
        "kind": "compilable_type",
        "parameters": {"ensure": "running",
            "flags": [{"__ptype": "Sensitive", "__pvalue": "secret"}]},
    });
    let notify = json!({
        "type": "Notify", "title": "nul\0", "exported": false, "tags": ["notify"],
        "kind": "compilable_type", "parameters": {"message": "nul\0"},
    });
    let class = |title: &str| {
        json!({"type": "Class", "title": title, "exported": false, "tags": ["class"], "kind": "class",
            "parameters": {}})
    };
    ForwardedCatalog {
        certname: NODE.parse().unwrap(),
        document: json!({
            "name": NODE, "version": 17, "code_id": CODE_ID, "catalog_uuid": uuid("c", run),
            "catalog_format": 2, "environment": "production", "tags": [], "classes": ["settings"],
            "resources": [class("settings"), class("main"), file, service, notify],
            "edges": [{"source": "Class[main]", "target": "File[/etc/motd]"},
                      {"source": "Class[main]", "target": "Service[web]"},
                      {"source": "Class[main]", "target": "Notify[nul\0]"}],
        }),
        capabilities: vec![
            ForwardedCapability {
                title: "nul\0".to_owned(),
                ..capability("Demo::Http", json!({}))
            },
            capability("Demo::Http", json!({"host": NODE, "port": 80, "run": run})),
            capability(
                "Sql",
                json!({"password": {"__ptype": "Sensitive", "__pvalue": "secret"}}),
            ),
        ],
        transaction_uuid: Some(uuid("a", run)),
        job_id: Some("42".to_owned()),
    }
}

fn capability(type_name: &str, attributes: Value) -> ForwardedCapability {
    ForwardedCapability {
        type_name: type_name.to_owned(),
        title: "app1".to_owned(),
        attributes: attributes.as_object().unwrap().clone(),
    }
}

pub(crate) fn report(run: u32, time: Timestamp) -> Value {
    let event = |property: &str, status: &str, from: Value, to: Value| {
        json!([{"property": property, "status": status, "previous_value": from, "desired_value": to,
            "message": format!("{property} {status}"), "name": format!("{property}_changed"),
            "time": time.to_string(), "corrective_change": true}])
    };
    json!({
        "host": NODE, "time": time.to_string(), "configuration_version": 17, "status": "failed",
        "transaction_uuid": uuid("a", run), "report_format": 12, "puppet_version": "8.10.0",
        "noop": false, "noop_pending": false, "environment": "production", "corrective_change": true,
        "catalog_uuid": uuid("c", run), "code_id": CODE_ID, "job_id": "42",
        "cached_catalog_status": "not_used",
        "logs": [
            {"level": "notice", "message": "mode changed\0", "source": "File[/etc/motd]",
             "tags": ["notice"], "time": time.to_string(), "file": "/site.pp", "line": 3},
            {"level": "err", "message": "no such unit", "source": "Puppet", "time": time.to_string()},
        ],
        "metrics": {
            "resources": {"values": [["total", "Total", 4], ["failed", "Failed", 1]]},
            "time": {"values": [["total", "Total", 0.5]]},
        },
        "resource_statuses": {
            "File[/etc/motd]": {"resource_type": "File", "title": "/etc/motd", "changed": true,
                "file": "/site.pp", "line": 3, "time": time.to_string(),
                "containment_path": ["Stage[main]", "Main", "File[/etc/motd]"],
                "events": event("mode", "success", json!("0600"), json!("0644"))},
            "Service[web]": {"resource_type": "Service", "title": "web", "failed": true,
                "events": event("ensure", "failure", json!(null), json!(["running", 1]))},
            "Exec[reload]": {"resource_type": "Exec", "title": "reload", "skipped": true},
            "File[/etc/hosts]": {"resource_type": "File", "title": "/etc/hosts"},
        },
    })
}
