//! Requests about applications: [`fetch_run_order`].

use api_types::Scope;
use api_types::environments::{RunOrder, RunOrderQuery};

use crate::Result;
use crate::client::ApiClient;

/// The order in which the nodes of a scope would run in an environment, or their passes.
pub(crate) async fn fetch_run_order(
    client: &ApiClient,
    environment: &str,
    scope: &Scope,
    multi_pass: bool,
) -> Result<RunOrder> {
    let query = RunOrderQuery {
        scope: scope.clone(),
        multi_pass,
    };
    let path = [
        "orchestrator",
        "v1",
        "environments",
        environment,
        "run_order",
    ];
    client.post(&path, &query).await
}
