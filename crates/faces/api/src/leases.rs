//! `POST leases` and `POST command/release_leases`: the leases of nodes, as their agents say.

use api_types::{
    ApiError, LeaseDetails, LeaseItem, LeaseList, LeaseQuery, ReleaseLeasesCommand,
    ReleaseLeasesReply, ReleasedLease,
};
use axum::Json;
use axum::extract::State;
use jobs::{NodeAnswer, ShownLease};
use pcp::Certname;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::defaults::LEASE_NODES;
use crate::failure::ApiFailure;
use crate::scope::certnames;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    StrictBody(asked): StrictBody<LeaseQuery>,
) -> Result<Json<LeaseList>, ApiFailure> {
    let nodes = check_nodes(&asked.nodes)?;
    let items = api.jobs.leases(&nodes).await.into_iter().map(item);
    Ok(Json(LeaseList {
        items: items.collect(),
    }))
}

pub(crate) async fn release(
    State(api): State<SharedApiContext>,
    StrictBody(asked): StrictBody<ReleaseLeasesCommand>,
) -> Result<Json<ReleaseLeasesReply>, ApiFailure> {
    let nodes = check_nodes(&asked.nodes)?;
    let answers = api.jobs.release_leases(&nodes).await.into_iter();
    let items = answers.map(|NodeAnswer { certname, result }| {
        let error = result.as_ref().err().map(ToString::to_string);
        ReleasedLease {
            name: certname.to_string(),
            released: result.unwrap_or(false),
            error,
        }
    });
    Ok(Json(ReleaseLeasesReply {
        items: items.collect(),
    }))
}

fn check_nodes(names: &[String]) -> Result<Vec<Certname>, ApiFailure> {
    if names.len() > LEASE_NODES {
        let what = format!("at most {LEASE_NODES} nodes can be asked at once");
        return Err(ApiError::invalid("nodes", what).into());
    }
    Ok(certnames("nodes", names)?)
}

fn item(answer: NodeAnswer<Option<ShownLease>>) -> LeaseItem {
    let NodeAnswer { certname, result } = answer;
    let error = result.as_ref().err().map(ToString::to_string);
    let lease = result.unwrap_or(None).map(|lease| LeaseDetails {
        job: lease.job,
        reason: lease.reason,
        state: lease.held.state.name().to_owned(),
        ends_in_s: lease.ends_in_s,
    });
    LeaseItem {
        name: certname.to_string(),
        lease,
        error,
    }
}
