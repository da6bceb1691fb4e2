//! The details of a body and a query that the audit stores: [`add_body_details`],
//! [`add_query_details`].
//!
//! Invariant: a value is stored only under a key of [`KEPT`]; of parameters only the names, since
//! it is unknown here which of them are sensitive; of a URL only the host, since the rest may be a
//! password; and of a query, which may contain a token, only the arguments in [`KEPT_QUERY`].

use std::collections::BTreeMap;

use api_types::routes;
use audit::{AuditObject, AuditedAction};
use axum::extract::Query;
use axum::http::Uri;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Keys whose values describe the request and are never secret.
const KEPT: &[&str] = &[
    "action",
    "all_tasks",
    "allow_alt_names",
    "allow_authorization_extensions",
    "allow_privileged_names",
    "application",
    "base_dn",
    "batch",
    "cert_ttl",
    "certnames",
    "concurrency",
    "deploy-all",
    "desired_state",
    "display_name",
    "dry-run",
    "dry_run",
    "duplicates",
    "enabled",
    "enforce_environment",
    "environment",
    "environments",
    "events",
    "force",
    "from",
    "from_step",
    "group_id",
    "group_ids",
    "hostname",
    "id",
    "identity_provider_id",
    "instance",
    "is_revoked",
    "job",
    "jobs",
    "label",
    "lifetime",
    "login",
    "max_failures",
    "name",
    "no_noop",
    "node_group",
    "node_groups",
    "nodes",
    "noop",
    "object_type",
    "parent",
    "pause_between_batches",
    "permissions",
    "plan",
    "plan_job",
    "plan_name",
    "port",
    "pql_query",
    "query",
    "revoke_tokens_by_ids",
    "revoke_tokens_by_labels",
    "revoke_tokens_by_usernames",
    "role_id",
    "role_ids",
    "rule",
    "scheduled_time",
    "scope",
    "settings",
    "splay",
    "ssl",
    "start_tls",
    "step",
    "task",
    "tasks",
    "timeout",
    "to",
    "type",
    "user_id",
    "user_ids",
    "version",
];

/// Arguments of a query that are stored; lists are separated by commas. Never `token` or
/// `revoke_tokens`.
const KEPT_QUERY: &[&str] = &[
    "nodes",
    "revoke_tokens_by_ids",
    "revoke_tokens_by_labels",
    "revoke_tokens_by_usernames",
];

/// Keys whose value is stored as the names in it only.
const NAMES_ONLY: &[&str] = &["params", "parameters", "vars", "variables", "classes"];

/// Maximum number of stored items of a list, and of names of parameters.
const ITEMS: usize = 20;

/// Maximum depth of values; scopes and permissions are three deep.
const DEPTH: usize = 4;

/// Size limit of a value that is read: a scope of 10,000 nodes.
const VALUE_BYTES: usize = 512 * 1_024;

/// Characters of a text that are stored.
const TEXT_CHARS: usize = 256;

type JsonBodyFields<'a> = BTreeMap<String, &'a RawValue>;

/// Adds details of the body. A body that is not a JSON object adds none: no handler acts on it.
pub(crate) fn add_body_details(act: &mut AuditedAction, bytes: &[u8]) {
    let Ok(body) = serde_json::from_slice::<JsonBodyFields<'_>>(bytes) else {
        return;
    };
    let mut others = 0;
    for (key, raw) in &body {
        match value_details(key, raw) {
            Some(value) => _ = act.details.insert(key.clone(), value),
            None => others += 1,
        }
    }
    if act.action == routes::CREATE_CONNECTION.operation_id
        && let Some(hostname) = body.get("parameters").and_then(|raw| hostname(raw))
    {
        act.details.insert("hostname".to_owned(), json!(hostname));
    }
    if others > 0 {
        act.details
            .insert("keys_left_out".to_owned(), json!(others));
    }
    if act.object.kind.is_empty() {
        act.object = ["task", "plan_name", "plan", "job", "plan_job", "login"]
            .into_iter()
            .find_map(|kind| {
                Some(AuditObject::named(
                    kind.trim_end_matches("_name"),
                    act.details.get(kind)?.as_str()?,
                ))
            })
            .unwrap_or_default();
    }
}

/// Adds details of the query. An invalid query adds none: no handler acts on it.
pub(crate) fn add_query_details(act: &mut AuditedAction, uri: &Uri) {
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else {
        return;
    };
    for (name, text) in pairs {
        if KEPT_QUERY.contains(&name.as_str()) {
            let items = text.split(',').map(|item| json!(item)).collect();
            act.details
                .insert(name, shorten_value(Value::Array(items), DEPTH));
        }
    }
}

/// The login of an attempt to log in.
pub(crate) fn login(bytes: &[u8]) -> Option<String> {
    let body: JsonBodyFields<'_> = serde_json::from_slice(bytes).ok()?;
    serde_json::from_str(body.get("login")?.get()).ok()
}

fn value_details(key: &str, raw: &RawValue) -> Option<Value> {
    let text = raw.get();
    let names_only = NAMES_ONLY.contains(&key);
    if key == "url" {
        let url: String = serde_json::from_str(text).ok()?;
        return Some(json!(clip_text(host_and_port(&url)?)));
    }
    if !names_only && !KEPT.contains(&key) {
        return None;
    }
    if text.len() > VALUE_BYTES {
        return Some(json!({ "bytes": text.len() }));
    }
    let value = serde_json::from_str(text).ok()?;
    Some(if names_only {
        key_names(&value)
    } else {
        shorten_value(value, DEPTH)
    })
}

/// The host and port of a URL: `hooks.example:8080`, without user name, password and path.
fn host_and_port(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    Some(
        authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host),
    )
}

/// The host of a connection, from its parameters.
fn hostname(parameters: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Parameters {
        hostname: Option<String>,
    }
    if parameters.get().len() > VALUE_BYTES {
        return None;
    }
    let read: Parameters = serde_json::from_str(parameters.get()).ok()?;
    read.hostname.map(|name| clip_text(&name).to_owned())
}

fn key_names(value: &Value) -> Value {
    let names = value.as_object().into_iter().flat_map(Map::keys);
    names
        .take(ITEMS)
        .map(|name| json!(clip_text(name)))
        .collect()
}

fn shorten_value(value: Value, depth: usize) -> Value {
    match value {
        Value::String(text) => json!(clip_text(&text)),
        Value::Array(_) | Value::Object(_) if depth == 0 => json!("…"),
        Value::Array(items) => {
            let count = items.len();
            let kept = items.into_iter().take(ITEMS);
            let mut kept: Vec<_> = kept.map(|item| shorten_value(item, depth - 1)).collect();
            if count > ITEMS {
                kept.push(json!(format!("… {count} in all")));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(key, value)| {
                let value = match key.as_str() {
                    key if NAMES_ONLY.contains(&key) => key_names(&value),
                    key if KEPT.contains(&key) => shorten_value(value, depth - 1),
                    _ => return None,
                };
                Some((key, value))
            });
            Value::Object(kept.collect())
        }
        plain => plain,
    }
}

pub(super) fn clip_text(text: &str) -> &str {
    let end = text.char_indices().nth(TEXT_CHARS);
    end.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(body: &Value) -> AuditedAction {
        let mut act = AuditedAction::default();
        add_body_details(&mut act, body.to_string().as_bytes());
        act
    }

    #[test]
    fn a_command_is_told_by_its_task_and_scope_and_never_by_its_values() {
        let act = kept(&json!({
            "task": "package", "environment": "production", "noop": true,
            "params": {"name": "openssl", "password": "CANARY"},
            "scope": {"nodes": ["a.example", "b.example"], "CANARY": "CANARY"},
            "targets": [{"hostnames": ["c"], "password": "CANARY", "private-key-content": "CANARY"}],
            "description": "CANARY", "userdata": {"x": "CANARY"},
            "input": {"params": {"x": "CANARY"}},
        }));
        assert_eq!(act.object, AuditObject::named("task", "package"));
        assert_eq!(act.details["params"], json!(["name", "password"]));
        assert_eq!(
            act.details["scope"],
            json!({"nodes": ["a.example", "b.example"]})
        );
        assert_eq!(act.details["keys_left_out"], json!(4));
        assert!(!Value::Object(act.details).to_string().contains("CANARY"));
    }

    #[test]
    fn passwords_and_tokens_are_not_kept() {
        let act = kept(
            &json!({"login": "ann", "password": "CANARY", "token": "CANARY",
            "current_password": "CANARY", "reset_token": "CANARY", "revoke_tokens": ["CANARY"]}),
        );
        assert_eq!(act.object, AuditObject::named("login", "ann"));
        assert!(!format!("{act:?}").contains("CANARY"));
    }

    #[test]
    fn what_was_changed_is_told_and_no_secret_with_it() {
        let body = json!({
            "certnames": ["a"], "type": "ssh", "duplicates": "replace",
            "parameters": {"hostname": "a.example", "user": "CANARY", "password": "CANARY"},
            "sensitive_parameters": {"password": "CANARY"},
        });
        let mut act = AuditedAction {
            action: "create_connection".to_owned(),
            ..AuditedAction::default()
        };
        add_body_details(&mut act, body.to_string().as_bytes());
        assert_eq!(act.details["certnames"], json!(["a"]));
        assert_eq!(act.details["duplicates"], "replace");
        assert_eq!(act.details["hostname"], "a.example");
        assert!(!format!("{act:?}").contains("CANARY"));
        // In a task, a parameter of that name is not stored.
        let act = kept(&json!({"task": "x", "parameters": {"hostname": "CANARY"}}));
        assert!(!format!("{act:?}").contains("CANARY"));
        let act = kept(&json!({
            "url": "https://CANARY:CANARY@hooks.example:8443/CANARY?token=CANARY#CANARY",
            "events": ["job_finished"], "enabled": false, "secret": "CANARY",
            "is_revoked": true, "rule": ["or", ["=", "name", "a"]],
            "tasks": ["package"], "all_tasks": false, "node_groups": ["g"],
            "pql_query": "nodes {}",
        }));
        assert_eq!(act.details["url"], "hooks.example:8443");
        assert_eq!(act.details["events"], json!(["job_finished"]));
        assert_eq!(act.details["rule"], json!(["or", ["=", "name", "a"]]));
        assert_eq!(act.details["enabled"], false);
        assert_eq!(act.details["is_revoked"], true);
        assert_eq!(act.details["all_tasks"], false);
        assert_eq!(act.details["node_groups"], json!(["g"]));
        assert_eq!(act.details["pql_query"], "nodes {}");
        assert!(!format!("{act:?}").contains("CANARY"));
        for url in ["CANARY", "", "mailto:CANARY@x", "https:CANARY"] {
            let act = kept(&json!({ "url": url }));
            assert!(!format!("{act:?}").contains("CANARY"), "{url}");
        }
    }

    #[test]
    fn a_change_of_a_directory_tells_its_host_and_no_password() {
        let settings = json!({"hostname": "ldap.example", "port": 636, "ssl": true,
            "base_dn": "dc=example", "login": "cn=lookup", "password": "CANARY"});
        let act = kept(&settings);
        assert_eq!(act.details["hostname"], "ldap.example");
        assert_eq!(act.details["port"], 636);
        assert!(!format!("{act:?}").contains("CANARY"));
        let act = kept(&json!({ "settings": settings }));
        assert_eq!(act.details["settings"]["hostname"], "ldap.example");
        assert!(!format!("{act:?}").contains("CANARY"));
    }

    #[test]
    fn of_a_query_only_names_are_kept() {
        let mut act = AuditedAction::default();
        let uri = "/x?revoke_tokens_by_usernames=ann,bob&revoke_tokens=CANARY&token=CANARY\
                   &nodes=a%2Cb&revoke_tokens_by_labels=ci&revoke_tokens_by_ids=1&x=CANARY";
        add_query_details(&mut act, &uri.parse().unwrap());
        assert_eq!(
            act.details["revoke_tokens_by_usernames"],
            json!(["ann", "bob"])
        );
        assert_eq!(act.details["nodes"], json!(["a", "b"]));
        assert_eq!(act.details["revoke_tokens_by_labels"], json!(["ci"]));
        assert_eq!(act.details["revoke_tokens_by_ids"], json!(["1"]));
        assert!(!format!("{act:?}").contains("CANARY"));
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let nodes: Vec<_> = (0..10_000).map(|i| i.to_string()).collect();
        let act = kept(&json!({"scope": {"nodes": nodes}}));
        let shown = act.details["scope"]["nodes"].as_array().unwrap();
        assert_eq!(shown.len(), ITEMS + 1);
        assert_eq!(shown[ITEMS], "… 10000 in all");
    }

    #[test]
    fn hostile_bodies_say_nothing() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for bad in [
            "",
            "null",
            "[]",
            "{",
            "\u{0}",
            &deep,
            &format!("{{\"scope\":{deep}}}"),
        ] {
            let mut act = AuditedAction::default();
            add_body_details(&mut act, bad.as_bytes());
            assert_eq!(act.object, AuditObject::default());
        }
    }
}
