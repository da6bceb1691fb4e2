//! `GET /tutti/v1/doctor`: the server's own part of a diagnosis.

use std::collections::BTreeMap;

use api_types::{
    AgentVersions, CodeObstacle, ConnectedBroker, PreciseTimestamp, PuppetDbQueue, ServerDiagnosis,
    ServiceFault,
};
use axum::Json;
use axum::extract::State;
use error_causes::chain;
use fabric::NodePresence;
use pcp::PcpUri;

use crate::SharedApiContext;
use crate::defaults::DIAGNOSIS_DATABASE_WAIT;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

pub(crate) async fn diagnose(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ServerDiagnosis>, ApiFailure> {
    given.finish()?;
    let connected = api.fabric.connected_nodes();
    let presences: Vec<&NodePresence> = connected.iter().map(|(_, presence)| presence).collect();
    let faults = crate::status::features(&api)
        .into_iter()
        .filter_map(|feature| {
            Some(ServiceFault {
                service: feature.service().to_owned(),
                fault: feature.fault()?.to_string(),
            })
        });
    Ok(Json(ServerDiagnosis {
        version: api.info.version.clone(),
        time: PreciseTimestamp(jiff::Timestamp::now()),
        agents: agent_versions(&presences),
        brokers: brokers(&api.fabric.brokers(), &presences),
        faults: faults.collect(),
        code_obstacles: code_obstacles(&api).await,
        database_fault: database_fault(&api).await,
        puppetdb_queue: puppetdb_queue(&api).await,
    }))
}

fn agent_versions(presences: &[&NodePresence]) -> AgentVersions {
    let mut versions = AgentVersions::default();
    for presence in presences {
        match &presence.capabilities {
            Some(told) => *versions.tutti.entry(told.version.clone()).or_default() += 1,
            None => versions.stock += 1,
        }
    }
    versions
}

fn brokers(attached: &[PcpUri], presences: &[&NodePresence]) -> Vec<ConnectedBroker> {
    let mut nodes: BTreeMap<String, u64> = BTreeMap::new();
    for broker in attached {
        nodes.insert(broker.to_string(), 0);
    }
    for presence in presences {
        *nodes.entry(presence.broker.to_string()).or_default() += 1;
    }
    let brokers = nodes.into_iter();
    brokers
        .map(|(uri, nodes)| ConnectedBroker { uri, nodes })
        .collect()
}

async fn code_obstacles(api: &SharedApiContext) -> Vec<CodeObstacle> {
    // Absent if the server deploys no code. Deployments that have not started are reported among
    // the faults.
    let Ok(manager) = crate::code_manager::manager(api) else {
        return Vec::new();
    };
    let obstacles = manager.write_obstacles().await.into_iter();
    let shown = obstacles.map(|it| CodeObstacle {
        path: it.path.display().to_string(),
        cause: it.cause,
        remedy: it.remedy,
    });
    shown.collect()
}

/// `None` if nothing is forwarded, or if the database cannot be read, which is a fault of its own.
async fn puppetdb_queue(api: &SharedApiContext) -> Option<PuppetDbQueue> {
    let read = tokio::time::timeout(DIAGNOSIS_DATABASE_WAIT, api.run_reports.forwarding()).await;
    let state = read.ok()?.ok()??;
    Some(PuppetDbQueue {
        commands: state.queued,
        oldest_seconds: state.oldest.map(|age| age.as_secs()),
        last_error: state.last_error,
    })
}

async fn database_fault(api: &SharedApiContext) -> Option<String> {
    let read = tokio::time::timeout(DIAGNOSIS_DATABASE_WAIT, api.store.last_event_id()).await;
    match read {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(chain(&error).to_string()),
        Err(_) => Some(format!(
            "it gave no answer within {} s",
            DIAGNOSIS_DATABASE_WAIT.as_secs()
        )),
    }
}
