//! A report as an agent sends it.

use serde_json::{Value, json};

pub(crate) const NODE: &str = "web1.example";
pub(crate) const UUID: &str = "0d6f5ae3-6f5b-4b52-8f0a-2f0d3a1c9b11";

/// A run that changed a file, would have changed another, failed at a service, and skipped what
/// needs it.
pub(crate) fn report() -> Value {
    json!({
        "host": NODE,
        "time": "2026-11-28T03:08:29.299383440+00:00",
        "configuration_version": 1_795_835_309,
        "transaction_uuid": UUID,
        "report_format": 12,
        "puppet_version": "8.10.0",
        "status": "failed",
        "transaction_completed": true,
        "noop": false,
        "noop_pending": true,
        "environment": "production",
        "corrective_change": true,
        "catalog_uuid": "7b4d1f3e-6f5b-4b52-8f0a-2f0d3a1c9b22",
        "code_id": "urn:puppet:code-id:1:0123456789012345678901234567890123456789;production",
        "job_id": "42",
        "cached_catalog_status": "not_used",
        "server_used": "puppet.example:8140",
        "logs": [
            {"level": "notice", "message": "defined content", "source": "/Stage[main]/Main/File[/etc/motd]/ensure",
             "tags": ["notice", "file"], "time": "2026-11-28T03:08:30+00:00", "file": "/site.pp", "line": 2},
            {"level": "err", "message": "Could not start", "source": "Puppet", "tags": ["err"],
             "time": "2026-11-28T03:08:31.5+00:00", "file": null, "line": null},
        ],
        "metrics": {
            "resources": {"name": "resources", "label": "Resources",
                "values": [["total", "Total", 12], ["failed", "Failed", 1], ["changed", "Changed", 1]]},
            "time": {"name": "time", "label": "Time",
                "values": [["file", "File", 0.009], ["total", "Total", 2.5]]},
            "changes": {"name": "changes", "label": "Changes", "values": [["total", "Total", 1]]},
            "events": {"name": "events", "label": "Events", "values": [["failure", "Failure", 1]]},
        },
        "resource_statuses": {
            "File[/etc/motd]": resource("File", "/etc/motd", json!({
                "changed": true, "out_of_sync": true, "corrective_change": true,
                "events": [event("content", "success", json!("{sha256}aa"), json!("{sha256}bb"))],
            })),
            "File[/etc/issue]": resource("File", "/etc/issue", json!({
                "out_of_sync": true, "events": [event("mode", "noop", json!("0600"), json!("0644"))],
            })),
            "Service[web]": resource("Service", "web", json!({
                "failed": true, "out_of_sync": true,
                "events": [event("ensure", "failure", json!(null), json!(["running", 1]))],
            })),
            "Exec[reload]": resource("Exec", "reload", json!({"skipped": true})),
            "File[/etc/hosts]": resource("File", "/etc/hosts", json!({})),
        },
    })
}

fn resource(kind: &str, title: &str, more: Value) -> Value {
    let mut resource = json!({
        "title": title, "file": "/site.pp", "line": 2, "resource": format!("{kind}[{title}]"),
        "resource_type": kind, "provider_used": "posix",
        "containment_path": ["Stage[main]", "Main", format!("{kind}[{title}]")],
        "evaluation_time": 0.0085, "tags": ["class"], "time": "2026-11-28T03:08:29.303089125+00:00",
        "failed": false, "failed_to_restart": false, "changed": false, "out_of_sync": false,
        "skipped": false, "change_count": 0, "out_of_sync_count": 0, "events": [],
        "corrective_change": false,
    });
    for (key, value) in more.as_object().unwrap() {
        resource[key] = value.clone();
    }
    resource
}

fn event(property: &str, status: &str, previous: Value, desired: Value) -> Value {
    json!({
        "audited": false, "property": property, "previous_value": previous,
        "desired_value": desired, "historical_value": null, "message": format!("{property} {status}"),
        "name": format!("{property}_changed"), "status": status,
        "time": "2026-11-28T03:08:29.303288329+00:00", "redacted": null, "corrective_change": false,
    })
}
