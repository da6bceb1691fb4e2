//! `GET /tutti/v1/doctor`: health data that only a running server has. Main type:
//! [`ServerDiagnosis`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::PreciseTimestamp;

/// State of a running server, for `tutti doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerDiagnosis {
    /// Version of Tutti that is running.
    pub version: String,
    /// Time of the server's clock.
    pub time: PreciseTimestamp,
    /// Versions of the agents that are connected.
    pub agents: AgentVersions,
    /// Brokers that are connected, the server's own among them.
    pub brokers: Vec<ConnectedBroker>,
    /// Configured parts of the server that have not started, with the reason.
    pub faults: Vec<ServiceFault>,
    /// Obstacles that keep every deployment of code from going live, by a probe made for this
    /// answer.
    pub code_obstacles: Vec<CodeObstacle>,
    /// Reason for which the database cannot be read; null if it can.
    pub database_fault: Option<String>,
    /// Data of nodes that waits for PuppetDB; null if the server forwards none.
    #[serde(default)]
    pub puppetdb_queue: Option<PuppetDbQueue>,
}

/// Data of nodes that waits for PuppetDB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PuppetDbQueue {
    /// Number of commands in the queue.
    pub commands: u64,
    /// Age of the oldest command in seconds; null if there is no command.
    pub oldest_seconds: Option<u64>,
    /// Error of the last attempt to send a command; null if PuppetDB answered.
    pub last_error: Option<String>,
}

/// Versions of connected agents with their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentVersions {
    /// Number of stock pxp-agents, which do not report a version.
    pub stock: u64,
    /// Number of Tutti's agents, by version.
    pub tutti: BTreeMap<String, u64>,
}

/// A broker with the number of nodes on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectedBroker {
    /// PCP URI of the broker.
    #[schema(example = "pcp://broker.example.com/server")]
    pub uri: String,
    /// Number of nodes that are connected to the broker.
    pub nodes: u64,
}

/// A directory or file that stops deployments of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeObstacle {
    /// Path of the directory or file.
    pub path: String,
    /// Cause, without the path.
    pub cause: String,
    /// Next step, with a command where there is one.
    pub remedy: String,
}

/// A part of the server that has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServiceFault {
    /// Name among the services of `/status/v1/services`.
    #[schema(example = "puppetdb-service")]
    pub service: String,
    /// Error message with cause, place and next step.
    pub fault: String,
}
