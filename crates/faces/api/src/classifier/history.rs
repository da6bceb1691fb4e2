//! Recent check-ins of nodes: `GET nodes`.

use api_types::PreciseTimestamp;
use api_types::classifier::{CheckIn, CheckInList, CheckIns};
use axum::Json;
use axum::extract::State;
use classifier::{GroupId, NodeGroupRight};

use super::body::{certname, count};
use super::caller::demand_on_group;
use super::refusal::not_found;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

/// Default and maximum length of the list: with five check-ins of some kilobytes each, some ten
/// megabytes.
const NODES: u32 = 1_000;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    QueryParameters(mut given): QueryParameters,
) -> Result<Json<CheckInList>, ApiFailure> {
    let limit = count(&mut given, "limit")?.unwrap_or(NODES).min(NODES);
    let offset = count(&mut given, "offset")?.unwrap_or(0);
    given.finish()?;
    demand_on_group(&api, &caller, NodeGroupRight::View, GroupId::ROOT)?;
    let mut all: Vec<CheckIns> = Vec::new();
    for one in api.classifier.check_ins(limit, offset).await? {
        match all.last_mut().filter(|last| last.name == one.certname) {
            Some(last) => last.check_ins.push(check_in_reply(one)),
            None => all.push(CheckIns {
                name: one.certname.clone(),
                transaction_uuid: one.transaction_uuid.clone(),
                check_ins: vec![check_in_reply(one)],
            }),
        }
    }
    Ok(Json(CheckInList(all)))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(node): PathVariables<String>,
) -> Result<Json<CheckIns>, ApiFailure> {
    demand_on_group(&api, &caller, NodeGroupRight::View, GroupId::ROOT)?;
    let name = certname(&node)?;
    let check_ins = api.classifier.node_check_ins(&name).await?;
    let Some(newest) = check_ins.first() else {
        return Err(not_found("node", &node));
    };
    Ok(Json(CheckIns {
        name: node,
        transaction_uuid: newest.transaction_uuid.clone(),
        check_ins: check_ins.into_iter().map(check_in_reply).collect(),
    }))
}

fn check_in_reply(one: classifier::RecordedCheckIn) -> CheckIn {
    CheckIn {
        time: PreciseTimestamp::from_ms(one.at_ms),
        explanation: one.explanation,
        transaction_uuid: one.transaction_uuid,
    }
}
