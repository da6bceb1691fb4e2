//! From a request to a job that can be committed: everything that can be refused is refused here.

use std::sync::Arc;

use environments::{CodeError, EnvironmentName, EnvironmentNameError};
use pcp::Certname;
use pxp::action;
use serde_json::{Value, json};
use store::NewJob;

use super::version::is_too_old;
use super::{ACTION, MODULE, PuppetRunError, PuppetRunRequest};
use crate::defaults::VERSIONS_WAIT;
use crate::engine::{JobDispatch, JobTarget, PreparedJob, to_stored_timeout};
use crate::kind::{DEPLOY, JobAction, JobKind};
use crate::prepare::{JobPreparer, add_rollout_options, check_limits};
use crate::resolve::NodeEnvironment;
use crate::targets::{NodeScope, resolve_targets};
use crate::trace::JobTrace;
use crate::verdict::RunVerdict;

// === impl Preparation ===

impl JobPreparer {
    pub(crate) async fn prepare_puppet_run(
        &self,
        request: PuppetRunRequest,
    ) -> Result<PreparedJob, PuppetRunError> {
        check_limits(request.concurrency, request.timeout, &request.rollout)
            .map_err(PuppetRunError::Limit)?;
        let environment = self.check_environment(&request).await?;
        let name = environment.as_ref().map(EnvironmentName::as_str);
        let words = request
            .flags
            .to_arguments(name, request.enforce_environment)?;
        let scope = match (&request.scope, name) {
            (Some(scope), _) => scope.clone(),
            (None, Some(_)) => NodeScope::WholeEnvironment,
            (None, None) => return Err(PuppetRunError::Nowhere),
        };
        let nodes = match &request.nodes {
            Some(nodes) => {
                resolve_targets(&NodeScope::Nodes(nodes.clone()), "", &*self.resolve).await?
            }
            None => resolve_targets(&scope, name.unwrap_or_default(), &*self.resolve).await?,
        };
        let mut options = shown_options(&request, &scope, &nodes);
        add_rollout_options(&mut options, &request.rollout);
        let trace = JobTrace::begin(&self.tracer, DEPLOY, nodes.len());
        JobTrace::add_trace_id(trace.as_ref(), &mut options);
        let enforced = name.filter(|_| request.enforce_environment);
        let mut targets = self.enforce_environment(nodes, enforced).await?;
        self.refuse_old_puppets(&mut targets).await;
        let params = json!({"env": [], "flags": words, "job": ""});
        let action = JobAction::new(MODULE, ACTION, action::encode(&params));
        let dispatch = JobDispatch {
            action: Some(action),
            timeout_ms: to_stored_timeout(request.timeout.unwrap_or(self.run_timeout)),
            concurrency: request.concurrency,
            noop: request.flags.noop,
            keeps_secrets: false,
            trace,
        };
        let row = NewJob {
            command: DEPLOY.to_owned(),
            kind: DEPLOY.to_owned(),
            task: None,
            environment: request.environment,
            options: options.to_string(),
            sealed: Some(dispatch.seal(&self.seal)),
            owner: request.owner,
            description: request.description,
            userdata: Value::Object(request.userdata).to_string(),
            created_ms: self.clock.now_ms(),
            states: Vec::new(),
            batches: None,
            runs: Vec::new(),
            events: Vec::new(),
            slot: request.slot,
            plan_job: request.plan_job,
            mark: request.mark,
        };
        Ok(PreparedJob {
            row,
            targets,
            kind: JobKind::Puppet,
            dispatch,
            rollout: request.rollout,
            after_restart: false,
        })
    }

    /// Checks the environment, which must exist; `None`: each node's own.
    async fn check_environment(
        &self,
        request: &PuppetRunRequest,
    ) -> Result<Option<EnvironmentName>, PuppetRunError> {
        let name = request.environment.clone();
        if name.is_empty() {
            if request.enforce_environment {
                return Err(PuppetRunError::NothingToEnforce);
            }
            return Ok(None);
        }
        let parsed = name.parse();
        let environment: EnvironmentName = parsed.map_err(|error: EnvironmentNameError| {
            let reason = error.to_string();
            PuppetRunError::EnvironmentName { name, reason }
        })?;
        let code = Arc::clone(&self.code);
        // Reading code blocks.
        let looked = tokio::task::spawn_blocking(move || {
            code.version(&environment)?;
            Ok::<_, CodeError>(environment)
        });
        let found = looked
            .await
            .expect("reading code does not panic, and blocking tasks are not aborted");
        Ok(Some(found?))
    }

    /// Refuses nodes that are not classified into the enforced environment.
    async fn enforce_environment(
        &self,
        nodes: Vec<Certname>,
        enforced: Option<&str>,
    ) -> Result<Vec<JobTarget>, PuppetRunError> {
        let Some(enforced) = enforced else {
            return Ok(nodes.into_iter().map(JobTarget::from).collect());
        };
        let found = self.resolve.classified_environments(&nodes).await;
        let found = found.map_err(PuppetRunError::Classify)?;
        let target = |(certname, own)| JobTarget {
            certname,
            refusal: environment_refusal(own, enforced),
        };
        Ok(nodes.into_iter().zip(found).map(target).collect())
    }

    /// Refuses nodes whose Puppet is known to be too old. A lookup without an answer in time delays
    /// no node: all are asked then.
    async fn refuse_old_puppets(&self, targets: &mut [JobTarget]) {
        let nodes: Vec<Certname> = targets.iter().map(|one| one.certname.clone()).collect();
        let asking = self.resolve.puppet_versions(&nodes);
        let versions = match tokio::time::timeout(VERSIONS_WAIT, asking).await {
            Ok(Ok(versions)) => versions,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the nodes' versions of Puppet are not known; all are asked");
                return;
            }
            Err(_) => {
                tracing::warn!(
                    waited = ?VERSIONS_WAIT,
                    "the nodes' versions of Puppet did not come in time; all are asked"
                );
                return;
            }
        };
        for (target, version) in targets.iter_mut().zip(versions) {
            let old = version.filter(|version| is_too_old(version));
            let refusal = old.map(|version| RunVerdict::OldPuppet { version });
            target.refusal = target.refusal.take().or(refusal);
        }
    }
}

/// Reason that a node is not asked to run in the enforced environment.
fn environment_refusal(own: NodeEnvironment, enforced: &str) -> Option<RunVerdict> {
    let asked = enforced.to_owned();
    match own {
        NodeEnvironment::Nowhere => None,
        NodeEnvironment::Into(own) if own == enforced => None,
        NodeEnvironment::Into(own) => Some(RunVerdict::OtherEnvironment { own, asked }),
        NodeEnvironment::Conflict(what) => Some(RunVerdict::Conflict { what, asked }),
    }
}

/// The options as submitted, with defaults.
fn shown_options(request: &PuppetRunRequest, scope: &NodeScope, nodes: &[Certname]) -> Value {
    let flags = &request.flags;
    let (code, code_id) = request.code.to_shown_mode();
    json!({
        "environment": request.environment,
        "enforce_environment": request.enforce_environment,
        "scope": scope.to_shown_value(nodes),
        "target": null,
        "noop": flags.noop,
        "no_noop": flags.no_noop,
        "debug": flags.debug,
        "trace": flags.trace,
        "evaltrace": flags.evaltrace,
        "use_cached_catalog": flags.use_cached_catalog,
        "usecacheonfailure": flags.usecacheonfailure,
        "filetimeout": flags.filetimeout,
        "http_connect_timeout": flags.http_connect_timeout,
        "http_keepalive_timeout": flags.http_keepalive_timeout,
        "http_read_timeout": flags.http_read_timeout,
        "ordering": flags.ordering,
        "tags": flags.tags,
        "skip_tags": flags.skip_tags,
        "code": code,
        "code_id": code_id,
        "concurrency": request.concurrency,
        "timeout": request.timeout.map(|timeout| timeout.as_secs()),
        "description": request.description,
        "scheduled-job-id": request.slot.map(|slot| slot.schedule),
    })
}
