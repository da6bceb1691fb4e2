//! Resolves the names in a request to scopes, and checks the permissions that this needs.

use api_types::{ApiError, ScopeKind, kinds};
use pcp::Certname;
use rbac::{PermissionInstance, RequestedPermission};
use serde_json::json;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;

/// The scope for the engine. A query reads data of PuppetDB, and a node group its members, so both
/// need the permission for that.
pub(crate) fn engine_scope(
    api: &SharedApiContext,
    caller: &ApiCaller,
    scope: ScopeKind,
) -> Result<jobs::NodeScope, ApiFailure> {
    match scope {
        ScopeKind::Nodes(names) => Ok(jobs::NodeScope::Nodes(certnames("scope.nodes", &names)?)),
        ScopeKind::Query(query) => {
            require_query_permission(api, caller)?;
            if !(query.is_string() || query.is_array()) {
                let what = "must be a PQL string or an AST array";
                return Err(ApiError::invalid("scope.query", what).into());
            }
            Ok(jobs::NodeScope::Query(query))
        }
        ScopeKind::NodeGroup(group) => {
            if !is_uuid(&group) {
                let what = "must be the UUID of a node group";
                return Err(ApiError::invalid("scope.node_group", what).into());
            }
            caller.demand(api, "node_groups", "view", &group)?;
            Ok(jobs::NodeScope::NodeGroup(group.to_ascii_lowercase()))
        }
        ScopeKind::Application(text) => {
            // The names of an application's nodes are those that the list of instances shows.
            let permission = RequestedPermission::any("orchestrator", "view");
            api.access.authorize(&caller.0, permission)?;
            let selector = text.parse();
            let selector = selector.map_err(|what| ApiError::invalid("scope.application", what))?;
            Ok(jobs::NodeScope::Application(selector))
        }
        ScopeKind::WholeEnvironment => Ok(jobs::NodeScope::WholeEnvironment),
    }
}

/// Requires the permission for queries. As in Puppet Enterprise, its absence is an error of the
/// query.
fn require_query_permission(api: &SharedApiContext, caller: &ApiCaller) -> Result<(), ApiFailure> {
    let permission = RequestedPermission {
        object_type: "nodes",
        action: "view_data",
        instance: PermissionInstance::Any,
    };
    let allowed = api.access.authorize(&caller.0, permission);
    allowed.map_err(|denied| {
        let msg = format!("scope.query: {denied}");
        let missing = json!({"object_type": "nodes", "action": "view_data"});
        ApiFailure(ApiError::new(kinds::QUERY, msg).with("permission", missing))
    })
}

fn is_uuid(text: &str) -> bool {
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, u8)| match byte {
        b'-' => dash(at),
        byte => !dash(at) && byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// Parses the certnames at `place`, in their order.
pub(crate) fn certnames(place: &str, names: &[String]) -> Result<Vec<Certname>, ApiError> {
    let names = names.iter().enumerate();
    names
        .map(|(i, name)| certname(&format!("{place}[{i}]"), name))
        .collect()
}

/// Parses the certname at `place`.
pub(crate) fn certname(place: &str, name: &str) -> Result<Certname, ApiError> {
    name.parse()
        .map_err(|error| ApiError::invalid(place, format!("not a certname: {error}")))
}
