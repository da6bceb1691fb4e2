//! Types and routes of the HTTP API on port 8143: requests, replies and [`routes`].
//!
//! The server encodes and the client decodes the same types, so both directions are derived.
//! [`routes`] is the only list of routes, each with its [`Policy`]; the router, the `OpenAPI`
//! document and the tests are made from it.
//!
//! Invariant: input is strict (an unknown key or a wrong type is a [`validation error`](kinds) that
//! names its path, see [`strict`]), and output is lenient to read (a client ignores keys that a
//! newer server adds).

mod action;
pub mod activity;
pub mod audit;
pub mod auth;
pub mod catalogs;
pub mod certificates;
pub mod classifier;
pub mod code;
pub mod code_manager;
pub mod connections;
pub mod converge;
pub mod decimal;
pub mod defaults;
pub mod deploy;
pub mod doctor;
pub mod environments;
mod error;
pub mod events;
pub mod file_sync;
pub mod inventory;
pub mod jobs;
pub mod kinds;
mod leases;
mod limits;
pub mod multi_pass;
pub mod node_catalogs;
mod node_purge;
pub mod nodes;
pub mod openapi;
mod order;
pub mod paging;
pub mod parameters;
pub mod ping;
pub mod plan_jobs;
pub mod plan_noop;
pub mod plans;
pub mod puppetdb;
pub mod rbac;
pub mod reports;
pub mod rollout;
pub mod root;
pub mod route;
pub mod routes;
pub mod schedules;
pub mod scope;
pub mod status;
pub mod stop;
pub mod strict;
pub mod task;
pub mod tasks;
mod time;
mod trail;
pub mod usage;
pub mod webhook_queue;
pub mod webhooks;

pub use action::{ActionCommand, ActionType};
pub use auth::{LoginRequest, RevokeTokens, TokenReply, User};
pub use catalogs::{
    CatalogCompileCommand, CatalogCompilerChoice, CodeImpactCommand, CodeImpactGroup,
    CodeImpactReply, CompileMessage, CompiledCatalogReply, RubyCallCount,
};
pub use certificates::{
    CertificateChange, CertificateChanged, CertificateStatus, CertificateStatuses,
    CertificatesQuery, DesiredState, RevocationInForce,
};
pub use code::{
    CodeChange, CodeChanges, CodeCollected, CodeDeployment, CodeDiff, CodeDiffQuery,
    CodeFileChange, CodeGcCommand, CodeGone, CodeHistory, CodeHistoryQuery, CodeModuleChange,
    CodePin, CodePinCommand, CodePinned, CodePromoteCommand, CodeRollbackCommand, CodeUnpinCommand,
    CodeVerified, CodeVerifiedVersion, CodeVerifyCommand, CodeVersion, CodeVersions,
};
pub use code_manager::{
    CodeBlockers, CodeClientStatus, CodeDeploy, CodeDeployStatus, CodeDeployed, CodeDeploysCommand,
    CodeDeploysStatus, CodeDeploysUnderWay, CodeDiskUse, CodeModuleWebhookQuery, CodeStatusQuery,
    CodeStorageStatus, CodeWebhookQuery, CodeWebhookReply, FileSyncCommits,
};
pub use connections::{
    ConnectionCreated, ConnectionItem, ConnectionList, ConnectionsQuery, CreateConnection,
    DeleteConnection,
};
pub use converge::{ConvergeCommand, ConvergenceLimits};
pub use deploy::{DeployCommand, RunCode};
pub use doctor::{
    AgentVersions, CodeObstacle, ConnectedBroker, PuppetDbQueue, ServerDiagnosis, ServiceFault,
};
pub use error::{ApiError, ErrorBody};
pub use events::{Event, Events, EventsQuery, LiveOutput, NextEvents, StreamQuery};
pub use file_sync::{
    CheckInCommand, CheckedIn, FileSyncAuthor, FileSyncCommitCommand, FileSyncCommitsReply,
    FileSyncRepository, FileSyncSubmodule, FileSyncVersions, FollowedEnvironment, ForceSyncCommand,
    LateFollower,
};
pub use inventory::{
    InventoryItem, InventoryList, InventoryQuery, NodeAbsence, NodeSelection, NodeSelectionQuery,
};
pub use jobs::{EnvironmentRef, Job, JobList, JobRollout, JobStatus, JobsOrder, JobsQuery, Owner};
pub use leases::{
    LeaseDetails, LeaseItem, LeaseList, LeaseQuery, ReleaseLeasesCommand, ReleaseLeasesReply,
    ReleasedLease,
};
pub use multi_pass::MultiPassCommand;
pub use node_catalogs::{
    CatalogCompilationItem, CatalogHistory, CompileCauseItem, KeptCatalogItem, NodeCatalogDocument,
};
pub use node_purge::{NodePurged, PurgeNode};
pub use nodes::{JobNode, JobNodes, NodesOrder, NodesQuery, Report, ReportItem};
pub use order::Order;
pub use paging::{Page, Pagination};
pub use ping::{PingCommand, PingItem, PingReply};
pub use plan_jobs::{
    PlanEvent, PlanEvents, PlanJob, PlanJobList, PlanJobsQuery, PlanQuestion, PlanStep, PlanSteps,
    PlanStepsQuery,
};
pub use plan_noop::PlanNoop;
pub use plans::{
    EnvironmentPlanRunCommand, PlanAnswerCommand, PlanCode, PlanDetail, PlanFinishCommand,
    PlanFunctionReplaced, PlanList, PlanName, PlanParam, PlanParamKind, PlanResumeCommand,
    PlanResumed, PlanRunCommand, PlanStartCommand, PlanStatus, StopPlanCommand,
};
pub use puppetdb::PuppetDbQuery;
pub use reports::{
    RunReportDocument, RunReportEvent, RunReportItem, RunReportList, RunReportLog, RunReportMetric,
    RunReportResource, RunReportsQuery,
};
pub use root::{Link, NamedLink, Root};
pub use route::{Method, Policy, Route};
pub use scope::{Scope, ScopeKind};
pub use status::{ServiceState, ServiceStatus, Services};
pub use stop::{NodeCounts, StopCommand, StopReply, StoppedJob};
pub use task::{JobCreated, JobRef, TaskCommand};
pub use tasks::{
    EnvironmentCode, TaskDetail, TaskFile, TaskFileUri, TaskList, TaskListItem, TaskPermitted,
};
pub use time::{PreciseTimestamp, Timestamp};
pub use trail::Trail;
pub use webhook_queue::{WebhookGoHealth, WebhookQueueItem, WebhookQueueTime};
pub use webhooks::{NewWebhook, Webhook, WebhookEdit, WebhookList, WebhookTest, WebhookWithSecret};

/// A JSON object whose keys are not fixed.
pub type Object = serde_json::Map<String, serde_json::Value>;
