//! From a requested job to one that can be committed: everything that can be refused is refused here.
//!
//! [`JobPreparer`] checks the limits, resolves the nodes and makes the job's row; [`task`] and
//! `puppet::prepare` have what differs. Invariant: past this point a secret exists only in the
//! sealed part of the job and in memory.

mod task;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::{BlobStore, CodeReader};
use pcp::Certname;
use pki::seal::SealKey;
use pxp::action::CodeId;
use serde_json::Value;
use store::{Clock, NewJob};
use telemetry::Tracer;

use crate::applications::{ApplicationGraphs, DeferredComponents, StoredNodeOrder};
use crate::catalog_compilers::CatalogCompilers;
use crate::defaults::RUN_TIMEOUT_MAX;
use crate::engine::{JobDispatch, JobTarget, PreparedJob, to_stored_timeout};
use crate::kind::JobAction;
use crate::node_params_budget::NodeParamsBudget;
use crate::refusal::RunJobError;
use crate::resolve::NodeResolver;
use crate::spec::{JobLimits, JobSpec, JobWork};
use crate::targets::{NodeScope, ScopeError, TargetSources, resolve_targets};
use crate::trace::JobTrace;

pub(crate) struct JobPreparer {
    pub(crate) code: Arc<dyn CodeReader>,
    pub(crate) blobs: BlobStore,
    pub(crate) seal: Arc<SealKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) resolve: Arc<dyn NodeResolver>,
    pub(crate) applications: Arc<dyn ApplicationGraphs>,
    pub(crate) compilers: Arc<dyn CatalogCompilers>,
    pub(crate) run_timeout: Duration,
    /// As in [`JobsConfig`](crate::JobsConfig).
    pub(crate) downloads: Option<PathBuf>,
    pub(crate) tracer: Tracer,
    /// Memory for the parameters of single nodes.
    pub(crate) node_params: NodeParamsBudget,
}

/// The part of a job that depends on its work.
pub(crate) struct PreparedWork {
    /// The nodes, in the order in which they can run.
    pub(crate) targets: Vec<JobTarget>,
    pub(crate) action: JobAction,
    /// The options as stored and shown.
    pub(crate) options: Value,
    /// The order of the nodes; `None` if none waits for another.
    pub(crate) order: Option<StoredNodeOrder>,
    /// The components that wait for later runs of their nodes; `None`: each catalog has all of them.
    pub(crate) deferred: Option<DeferredComponents>,
    pub(crate) rollout: RolloutOptions,
}

// === impl JobPreparer ===

impl JobPreparer {
    pub(crate) async fn prepare(&self, spec: JobSpec) -> Result<PreparedJob, RunJobError> {
        check_limits(&spec.limits).map_err(RunJobError::Limit)?;
        let PreparedWork {
            targets,
            action,
            mut options,
            order,
            deferred,
            rollout,
        } = match &spec.work {
            JobWork::Task(task) => self.prepare_task(&spec, task, None).await?,
            JobWork::Native { action, task } => {
                self.prepare_task(&spec, task, Some(action)).await?
            }
            JobWork::Puppet(run) => self.prepare_puppet_run(&spec, run).await?,
        };
        let kind = spec.work.kind();
        let (command, step) = kind.names();
        let name_of_kind = spec.plan_step.as_ref().map_or(command, |_| step);
        let trace = JobTrace::begin(&self.tracer, name_of_kind, targets.len());
        JobTrace::add_trace_id(trace.as_ref(), &mut options);
        let (plan_job, mark, after_restart) = match spec.plan_step {
            Some(step) => (Some(step.plan_job), step.mark, step.after_restart),
            None => (None, None, false),
        };
        let dispatch = JobDispatch {
            action: Some(action),
            timeout_ms: to_stored_timeout(spec.limits.timeout.unwrap_or(self.run_timeout)),
            concurrency: spec.limits.concurrency,
            noop: spec.work.is_noop(),
            keeps_secrets: mark.is_some(),
            pinned: spec.work.pinned_code(),
            enforced_environment: spec.work.enforced_environment().map(ToString::to_string),
            deferred,
            order,
            trace,
        };
        let row = NewJob {
            command: command.to_owned(),
            kind: name_of_kind.to_owned(),
            task: spec.work.task().map(|task| task.name.to_string()),
            environment: spec.work.environment_text().to_owned(),
            options: options.to_string(),
            sealed: Some(dispatch.seal(&self.seal)),
            owner: spec.owner,
            description: spec.description,
            userdata: Value::Object(spec.userdata).to_string(),
            created_ms: self.clock.now_ms(),
            states: Vec::new(),
            batches: None,
            runs: Vec::new(),
            events: Vec::new(),
            slot: spec.slot,
            plan_job,
            mark,
        };
        Ok(PreparedJob {
            row,
            targets,
            kind,
            dispatch,
            rollout,
            after_restart,
        })
    }

    /// The nodes that the job runs on.
    pub(crate) async fn resolve_nodes(
        &self,
        spec: &JobSpec,
        sources: &TargetSources<'_>,
    ) -> Result<Vec<Certname>, ScopeError> {
        let given = spec.nodes.clone().map(NodeScope::Nodes);
        let scope = given.as_ref().unwrap_or(&spec.scope);
        resolve_targets(scope, spec.work.environment(), sources).await
    }

    pub(crate) fn target_sources<'a>(
        &'a self,
        spec: &'a JobSpec,
        code_id: Option<&'a CodeId>,
    ) -> TargetSources<'a> {
        TargetSources::new(&*self.resolve, &*self.applications, code_id, &spec.owner_id)
    }
}

fn check_limits(limits: &JobLimits) -> Result<(), String> {
    if limits.concurrency == Some(0) {
        return Err("a concurrency of 0 would never start anything".to_owned());
    }
    let rollout = limits.rollout.check();
    rollout.map_err(|problem| problem.to_string())?;
    match limits.timeout {
        Some(Duration::ZERO) => Err("a timeout of 0 would end every run at once".to_owned()),
        Some(timeout) if timeout > RUN_TIMEOUT_MAX => {
            Err("a timeout of more than 30 days is no limit".to_owned())
        }
        _ => Ok(()),
    }
}

/// Adds the options of a rollout, which an engine reads from there after a restart.
pub(crate) fn add_rollout_options(options: &mut Value, rollout: &RolloutOptions) {
    let shown = serde_json::to_value(rollout).expect("numbers and texts always serialise");
    let (Value::Object(options), Value::Object(shown)) = (options, shown) else {
        return;
    };
    options.extend(shown);
}
