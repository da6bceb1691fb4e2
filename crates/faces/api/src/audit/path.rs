//! Details from the path of a request: [`variables`], [`object`], [`service_of_route`].
//!
//! Invariant: a path segment that is a secret is never stored.

use audit::AuditObject;
use serde_json::{Value, json};

use super::request_details::clip_text;

/// Variables of paths that are secrets.
const SECRET_VARIABLES: &[&str] = &["token"];

/// The variables of a path by their names, unparsed.
pub(crate) fn variables(template: &str, path: &str) -> Vec<(String, Value)> {
    let parts = template.split('/').zip(path.split('/'));
    let named = parts.filter_map(|(name, part)| {
        let name = name.strip_prefix('{')?.strip_suffix('}')?;
        let shown = if SECRET_VARIABLES.contains(&name) {
            "…"
        } else {
            part
        };
        Some((name.to_owned(), json!(clip_text(shown))))
    });
    named.collect()
}

/// The object of a request: the last variable of its path.
pub(crate) fn object(variables: &[(String, Value)]) -> AuditObject {
    let last = variables.last();
    last.map_or_else(AuditObject::default, |(name, value)| {
        AuditObject::named(name, value.as_str().unwrap_or_default())
    })
}

/// The service of a route, named as in Puppet Enterprise.
pub(crate) fn service_of_route(path: &str) -> &str {
    let first = path.trim_start_matches('/').split('/').next();
    match first.unwrap_or_default() {
        "rbac-api" => "rbac",
        "classifier-api" => "classifier",
        "activity-api" => "activity",
        "pdb" => "puppetdb",
        "inventory" => "orchestrator",
        // As in the entries of port 8140.
        "puppet-ca" => "ca",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_a_path_is_not_kept() {
        let path = "/rbac-api/v2/tokens/CANARY";
        let variables = variables("/rbac-api/v2/tokens/{token}", path);
        assert_eq!(variables, [("token".to_owned(), json!("…"))]);
    }

    #[test]
    fn a_path_tells_its_variables_and_its_service() {
        let path = "/orchestrator/v1/tasks/package/init";
        let variables = variables("/orchestrator/v1/tasks/{module}/{task}", path);
        assert_eq!(object(&variables), AuditObject::named("task", "init"));
        assert_eq!(service_of_route(path), "orchestrator");
        assert_eq!(service_of_route("/rbac-api/v1/roles"), "rbac");
    }
}
