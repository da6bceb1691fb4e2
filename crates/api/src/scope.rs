//! From the names in a request to nodes.

use api_types::{ApiError, Scope, ScopeKind, kinds};
use pcp::Certname;

/// What the engine is given for a scope.
pub(crate) fn engine_scope(scope: Scope) -> Result<jobs::Scope, ApiError> {
    match scope.into_kind()? {
        ScopeKind::Nodes(names) => Ok(jobs::Scope::Nodes(certnames("scope.nodes", &names)?)),
        ScopeKind::Query(_) => Err(ApiError::new(
            kinds::QUERY,
            "scope.query needs PuppetDB, which this server does not ask yet; name the nodes in \
             scope.nodes",
        )),
        ScopeKind::NodeGroup(_) => Err(not_yet("scope.node_group", "node groups")),
        ScopeKind::Application(_) => Err(not_yet("scope.application", "applications")),
        ScopeKind::WholeEnvironment => Err(not_yet(
            "scope.whole_environment",
            "the nodes of an environment",
        )),
    }
}

/// The certnames at `place`, in the order given.
pub(crate) fn certnames(place: &str, names: &[String]) -> Result<Vec<Certname>, ApiError> {
    let names = names.iter().enumerate();
    names
        .map(|(i, name)| certname(&format!("{place}[{i}]"), name))
        .collect()
}

/// The certname at `place`.
pub(crate) fn certname(place: &str, name: &str) -> Result<Certname, ApiError> {
    name.parse()
        .map_err(|error| ApiError::invalid(place, format!("not a certname: {error}")))
}

fn not_yet(place: &str, what: &str) -> ApiError {
    let told = format!("this server does not know {what} yet; name the nodes in scope.nodes");
    ApiError::invalid(place, told)
}
