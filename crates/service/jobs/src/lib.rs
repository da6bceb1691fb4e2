//! Jobs: tasks and Puppet runs on many nodes, at most once each, with every outcome known or
//! recorded as unknown.
//!
//! [`Jobs`] is the handle; behind it one actor owns every job that is not over. Invariants of the
//! whole crate:
//! - an answer that a caller has received is durable;
//! - a request is sent only after the commit that records it, and a second time only when the agent
//!   has proved that it never got the first;
//! - a run's terminal state is never left, and a job's last event is its last.

mod applications;
mod blocking_requests;
mod boot_clock;
mod catalog_compilers;
mod config;
pub mod defaults;
mod download;
mod engine;
mod events;
mod file_server;
mod fleet;
mod follow;
mod handle;
mod in_flight;
mod inventory_subject;
mod keys;
mod kind;
mod leases;
mod live;
mod metrics;
mod native;
mod node_environments;
mod node_params;
mod node_params_budget;
mod outcome;
mod over_ssh;
mod ping;
mod plan_jobs;
mod plugin_files;
mod prepare;
mod presence_log;
mod program;
mod prune;
mod puppet;
mod refusal;
mod resolve;
mod returning_nodes;
mod rollout;
mod running_jobs;
mod scheduler;
mod secrets;
mod selectors;
mod spec;
mod state;
mod stock_limits;
mod submit;
mod tally;
mod targets;
mod trace;
mod verdict;
mod withdrawals;

pub use applications::{
    ApplicationComponent, ApplicationGraphError, ApplicationGraphs, ApplicationInstance,
    ApplicationSelector, DependencyCycle, EarlierRun, EnvironmentApplications,
    InvalidApplicationSelector, InvalidPasses, NoApplications, NodeOrder, NodeProduct, PassLease,
    PassNode, PlannedNodes, PlannedPasses, RunPass, RunPasses, WaitingComponent,
};
pub use blocking_requests::NodeRequestError;
pub use boot_clock::BootClock;
pub use catalog_compilers::{CatalogCompilers, OwnCompiler, PuppetserverChoice};
pub use config::{JobsConfig, LeaseTimes};
pub use events::NODE_LATE_OUTCOME;
pub use file_server::{FileServer, FileServerError};
pub use fleet::FleetResolver;
pub use follow::FollowError;
pub use handle::{EngineLost, Jobs, JobsStartError, StopError};
pub use kind::DEPLOY;
pub use leases::NodeAnswer;
pub use live::{LiveEvent, LiveSubscription};
pub use metrics::JobMetrics;
pub use native::{FileContent, NativeAction, TreeItem};
pub use node_params::{NodeParamTexts, NodeParamsSource, OpenNodeParams};
pub use outcome::{KIND_TASK, REDACTED, SENSITIVE};
pub use over_ssh::OverSsh;
pub use ping::PingResult;
pub use plan_jobs::{PlanEnd, PlanJobError, PlanJobs, PlanStart};
pub use puppet::{CatalogCode, PuppetFlagError, PuppetFlags};
pub use pxp::action::ShownLease;
pub use refusal::RunJobError;
pub use resolve::{
    EmptyResolver, NodeEnvironment, NodeResolveError, NodeResolver, PuppetReportSummary, PuppetRun,
};
pub use rollout::{BatchCount, Rollout, RolloutHalt, RolloutStep};
pub use secrets::ReturnedSecret;
pub use selectors::{NodeSelectors, SelectorError};
pub use spec::{
    JobLimits, JobPlanStep, JobSpec, JobWork, PuppetEnvironment, PuppetWork, TaskPlugins,
    TaskPurpose, TaskWork,
};
pub use state::{JobState, RunState};
pub use submit::JobSubmitError;
pub use targets::{NodeScope, ScopeError};
pub use verdict::{
    KIND_CONFLICT, KIND_DEPENDENCY, KIND_EXECUTION, KIND_MAX_FAILURES, KIND_OLD_PUPPET,
    KIND_PUPPETSERVER, KIND_RESULT_LOST, KIND_STOPPED, KIND_TIMEOUT, KIND_UNKNOWN,
};
