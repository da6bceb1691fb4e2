//! Requests for one job and its nodes: [`fetch_job`], [`nodes_in`].

use api_types::{Job, JobNode, JobNodes};

use crate::Result;
use crate::client::ApiClient;

pub(crate) async fn fetch_job(client: &ApiClient, number: &str) -> Result<Job> {
    let path = ["orchestrator", "v1", "jobs", number];
    client.get(&path, &[]).await
}

/// The nodes of the job that are in one state, or all, page by page.
pub(crate) async fn nodes_in(
    client: &ApiClient,
    number: &str,
    state: Option<&str>,
) -> Result<Vec<JobNode>> {
    let path = ["orchestrator", "v1", "jobs", number, "nodes"];
    let items = |page: JobNodes| page.items;
    client.all_pages(&path, state, items).await
}
