//! HTTP/1.1 requests of Puppet agents, as bytes for a [minimal client](crate::https_connection).

use std::fmt::Write as _;

use serde_json::Value;

/// A GET request for a path with its query.
#[must_use]
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n")
}

/// A request for the static catalog of a node. The answer may be compressed.
#[must_use]
pub fn catalog(certname: &str, environment: &str, facts: &Value) -> String {
    let form = catalog_form(certname, environment, facts);
    catalog_request(certname, environment, "Accept-Encoding: gzip\r\n", &form)
}

/// The same for an answer that is not compressed.
#[must_use]
pub fn catalog_as_text(certname: &str, environment: &str, facts: &Value) -> String {
    let form = catalog_form(certname, environment, facts);
    catalog_request(certname, environment, "", &form)
}

fn catalog_request(certname: &str, environment: &str, headers: &str, form: &str) -> String {
    format!(
        "POST /puppet/v3/catalog/{certname}?environment={environment} HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n{headers}\
         Accept: application/vnd.puppet.rich+json, application/json\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    )
}

/// The question whether a catalog of a node is still current.
#[must_use]
pub fn catalog_check(certname: &str, environment: &str, catalog_uuid: &str) -> String {
    let question = serde_json::json!({"environment": environment, "catalog_uuid": catalog_uuid});
    let question = question.to_string();
    format!(
        "POST /tutti/v1/catalogs/{certname}/check HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{question}",
        question.len()
    )
}

/// The report of a run in which nothing changed, without single resources, as Puppet 8 sends it.
#[must_use]
pub fn unchanged_report(certname: &str, environment: &str, catalog_uuid: &str) -> String {
    let metric = |name: &str, values: &[(&str, f64)]| {
        let values = values.iter();
        let values = values.map(|(key, value)| serde_json::json!([key, key, value]));
        serde_json::json!({"name": name, "label": name, "values": values.collect::<Vec<_>>()})
    };
    let report = serde_json::json!({
        "host": certname, "time": jiff::Timestamp::now().to_string(), "configuration_version": 1,
        "transaction_uuid": uuid::Uuid::new_v4().to_string(), "report_format": 12,
        "puppet_version": "8.10.0", "status": "unchanged", "transaction_completed": true, "noop": false,
        "noop_pending": false, "environment": environment, "corrective_change": false,
        "catalog_uuid": catalog_uuid, "cached_catalog_status": "not_used", "server_used": "localhost:8140",
        "logs": [], "resource_statuses": {},
        "metrics": {
            "resources": metric("resources", &[("total", 500.0), ("failed", 0.0), ("changed", 0.0)]),
            "time": metric("time", &[("config_retrieval", 0.4), ("file", 0.2), ("total", 1.1)]),
            "changes": metric("changes", &[("total", 0.0)]),
            "events": metric("events", &[("total", 0.0), ("failure", 0.0), ("success", 0.0)]),
        },
    });
    let report = report.to_string();
    format!(
        "PUT /puppet/v3/report/{certname}?environment={environment} HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: {}\r\n\r\n{report}",
        report.len()
    )
}

/// The form of the request, in which agents escape the facts twice.
fn catalog_form(certname: &str, environment: &str, facts: &Value) -> String {
    let facts = serde_json::json!({"name": certname, "values": facts}).to_string();
    let facts = escape(&escape(&facts));
    format!(
        "environment={environment}&facts_format=application%2Fjson&facts={facts}&static_catalog=true\
         &checksum_type=sha256"
    )
}

/// Percent-encodes all but letters and digits.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => escaped.push(char::from(byte)),
            false => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    escaped
}
