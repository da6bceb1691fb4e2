//! Preparation of Puppet runs. Main function: `JobPreparer::prepare_puppet_run`.
//!
//! Invariant: a node that is known not to run as requested is refused before anything is sent to it.

use std::borrow::Cow;
use std::sync::Arc;

use api_types::defaults::BATCH_SIZES;
use api_types::rollout::{BatchSizes, Portion, RolloutOptions};
use environments::EnvironmentName;
use pcp::Certname;
use pxp::action::{self, REPORTED_RERUNS, lease_variable};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::version::is_too_old;
use super::{ACTION, MODULE};
use crate::applications::{DeferredComponents, NodeOrder, PassLease, StoredNodeOrder};
use crate::defaults::{COMPILERS_WAIT, VERSIONS_WAIT};
use crate::engine::JobTarget;
use crate::kind::JobAction;
use crate::prepare::{JobPreparer, PreparedWork, add_rollout_options};
use crate::refusal::RunJobError;
use crate::resolve::NodeEnvironment;
use crate::spec::{JobSpec, PuppetWork};
use crate::targets::{NodeScope, ScopeError, TargetSources};
use crate::verdict::RunVerdict;

// === impl JobPreparer ===

impl JobPreparer {
    pub(crate) async fn prepare_puppet_run(
        &self,
        spec: &JobSpec,
        run: &PuppetWork,
    ) -> Result<PreparedWork, RunJobError> {
        check_order(spec, run)?;
        let environment = run.environment.as_ref();
        let pinned = run.code.pinned();
        if let Some(environment) = environment {
            let version = pinned.map(ToString::to_string);
            self.check_environment(environment.name.clone(), version)
                .await?;
        }
        let name = environment.map(|environment| environment.name.as_str());
        let enforced = environment.filter(|it| it.is_enforced || pinned.is_some());
        let flags = match pinned {
            Some(_) => Cow::Owned(run.flags.with_new_catalog_only()?),
            None => Cow::Borrowed(&run.flags),
        };
        // wrong flags are refused before nodes are looked up
        flags.to_arguments(name, enforced.is_some())?;
        let code_id = spec.work.known_code_id();
        let sources = self.target_sources(spec, code_id.as_ref());
        let nodes = self.resolve_nodes(spec, &sources).await?;
        let mut options = shown_options(spec, run, &nodes);
        let ordered = order_nodes(spec, run, nodes, &sources).await?;
        let OrderedNodes {
            nodes,
            mut order,
            levels,
        } = ordered;
        match &mut order {
            Some(order) => order.has_quarantine = run.has_quarantine,
            None if run.has_quarantine => {
                let what = "quarantine: no node of this job waits for another one, so none is kept; leave it out";
                return Err(RunJobError::Limit(what.to_owned()));
            }
            None => {}
        }
        let rollout = match run.has_barrier {
            true => RolloutOptions {
                batch: Some(batches_of(&levels)?),
                ..spec.limits.rollout.clone()
            },
            false => spec.limits.rollout.clone(),
        };
        add_rollout_options(&mut options, &rollout);
        if run.has_quarantine {
            options["quarantine"] = Value::Bool(true);
        }
        let flags = match order.is_some() || run.reports_reruns {
            true => Cow::Owned(flags.without_earlier_catalog()?),
            false => flags,
        };
        let words = flags.to_arguments(name, enforced.is_some())?;
        let enforced = enforced.map(|environment| environment.name.as_str());
        let mut targets = self.enforce_environment(nodes, enforced).await?;
        self.refuse_old_puppets(&mut targets).await;
        if let (Some(_), Some(environment)) = (pinned, environment) {
            self.refuse_of_puppetserver(&mut targets, &environment.name)
                .await;
        }
        let reruns = run.reports_reruns.then(|| REPORTED_RERUNS.to_owned());
        let lease = order.as_ref().and_then(|order| order.lease);
        let variables: Vec<String> = reruns
            .into_iter()
            .chain(lease.map(lease_variable))
            .collect();
        let params = json!({"env": variables, "flags": words, "job": ""});
        let action = JobAction::new(MODULE, ACTION, action::encode(&params));
        Ok(PreparedWork {
            targets,
            action,
            options,
            order,
            deferred: self.find_deferred(spec, run).await?,
            rollout,
        })
    }

    /// The components of a pass that wait for a later one.
    async fn find_deferred(
        &self,
        spec: &JobSpec,
        run: &PuppetWork,
    ) -> Result<Option<DeferredComponents>, RunJobError> {
        let (Some(environment), Some(pass)) = (spec.work.environment(), &run.pass) else {
            return Ok(None);
        };
        let finding = DeferredComponents::find(&*self.applications, environment, pass);
        Ok(finding.await.map_err(ScopeError::from)?)
    }

    /// Checks that the environment exists, and its version with this code id.
    async fn check_environment(
        &self,
        environment: EnvironmentName,
        code_id: Option<String>,
    ) -> Result<(), RunJobError> {
        let code = Arc::clone(&self.code);
        // Reading code blocks.
        let looked = tokio::task::spawn_blocking(move || {
            let version = code.version_of(&environment, code_id.as_deref());
            version.map(drop)
        });
        Ok(looked
            .await
            .expect("reading code does not panic, and blocking tasks are not aborted")?)
    }

    /// Refuses nodes that are not classified into the enforced environment.
    async fn enforce_environment(
        &self,
        nodes: Vec<Certname>,
        enforced: Option<&str>,
    ) -> Result<Vec<JobTarget>, RunJobError> {
        let Some(enforced) = enforced else {
            return Ok(nodes.into_iter().map(JobTarget::from).collect());
        };
        let found = self.resolve.classified_environments(&nodes).await;
        let found = found.map_err(RunJobError::Classify)?;
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

    /// Refuses nodes whose catalogs a puppetserver compiles: they would not run with the version that the job names.
    /// If the compilers are not known in time, all nodes are asked; the run of such a node fails then.
    async fn refuse_of_puppetserver(
        &self,
        targets: &mut [JobTarget],
        environment: &EnvironmentName,
    ) {
        let nodes: Vec<Certname> = targets.iter().map(|one| one.certname.clone()).collect();
        let choosing = self.compilers.puppetservers(&nodes, environment);
        let Ok(chosen) = tokio::time::timeout(COMPILERS_WAIT, choosing).await else {
            tracing::warn!(
                waited = ?COMPILERS_WAIT,
                "the compilers of the nodes' catalogs are not known in time; all nodes are asked"
            );
            return;
        };
        for (target, chosen) in targets.iter_mut().zip(chosen) {
            let refusal = chosen.map(|choice| RunVerdict::OfPuppetserver {
                reason: choice.reason,
            });
            target.refusal = target.refusal.take().or(refusal);
        }
    }
}

/// The nodes of a job in the order in which they can run.
struct OrderedNodes {
    nodes: Vec<Certname>,
    /// `None` if none waits for another.
    order: Option<StoredNodeOrder>,
    /// Number of nodes in each level; empty without a barrier.
    levels: Vec<usize>,
}

/// Orders the nodes of a job by its pass, or else by the applications of its environment, if it has some. With a barrier
/// they come level by level. Splayed jobs have an order of their own: a database that does not run must not take the
/// regular runs of its web nodes away.
async fn order_nodes(
    spec: &JobSpec,
    run: &PuppetWork,
    nodes: Vec<Certname>,
    sources: &TargetSources<'_>,
) -> Result<OrderedNodes, RunJobError> {
    if let (Some(environment), Some(pass)) = (spec.work.environment(), &run.pass) {
        let order = NodeOrder::of_pass(pass);
        let mut ordered = OrderedNodes::new(&order, environment, run.has_barrier);
        if let Some(lease) = &run.pass_lease {
            ordered.share_lease(environment, lease);
        }
        return Ok(ordered);
    }
    let applications = match spec.work.environment() {
        _ if spec.limits.rollout.splay.is_some() => None,
        None => None,
        Some(environment) => {
            let applications = sources.environment_applications(environment).await;
            let applications = applications.map_err(ScopeError::from)?;
            applications.map(|applications| (environment, applications))
        }
    };
    let Some((environment, applications)) = applications else {
        let levels = vec![nodes.len()];
        let nodes = match spec.limits.rollout.splay {
            Some(_) => splay_order(nodes),
            None => nodes,
        };
        return Ok(OrderedNodes {
            nodes,
            order: None,
            levels,
        });
    };
    let order = NodeOrder::new(&applications, nodes)?;
    Ok(OrderedNodes::new(&order, environment, run.has_barrier))
}

// === impl OrderedNodes ===

impl OrderedNodes {
    fn new(order: &NodeOrder, environment: &EnvironmentName, has_barrier: bool) -> Self {
        let stored = order.to_stored(environment);
        if !has_barrier {
            return Self {
                nodes: order.nodes().to_vec(),
                order: stored,
                levels: Vec::new(),
            };
        }
        let mut by_level: Vec<(usize, &Certname)> =
            order.levels().into_iter().zip(order.nodes()).collect();
        // Stable: within a level the nodes keep their order.
        by_level.sort_by_key(|(level, _)| *level);
        let levels = by_level.chunk_by(|one, next| one.0 == next.0);
        Self {
            levels: levels.map(<[_]>::len).collect(),
            nodes: by_level.into_iter().map(|(_, node)| node.clone()).collect(),
            order: stored,
        }
    }

    /// Lets the job have the lease of its passes, also on nodes that run in a later one.
    fn share_lease(&mut self, environment: &EnvironmentName, lease: &PassLease) {
        let order = self.order.get_or_insert_with(|| StoredNodeOrder {
            environment: environment.to_string(),
            ..StoredNodeOrder::default()
        });
        order.lease = Some(lease.id);
        order.later = lease.later.clone();
    }
}

/// Nodes in an order that depends on their names alone, so that a node has about the same place in each job, and nodes
/// with similar names, which often share a machine, do not follow one another.
fn splay_order(mut nodes: Vec<Certname>) -> Vec<Certname> {
    nodes.sort_by_cached_key(|node| {
        let hash: [u8; 32] = Sha256::digest(node.as_str()).into();
        hash
    });
    nodes
}

/// Refuses a barrier that would have no levels, or would replace batches, a quarantine without an order, and a splay of an
/// application's nodes.
fn check_order(spec: &JobSpec, run: &PuppetWork) -> Result<(), RunJobError> {
    let rollout = &spec.limits.rollout;
    let is_of_application = matches!(spec.scope, NodeScope::Application(_));
    let what = match &run.environment {
        _ if rollout.splay.is_some() && is_of_application => {
            "splay: contradicts application, whose nodes run in order; leave it out"
        }
        _ if run.has_quarantine && rollout.splay.is_some() => {
            "quarantine: contradicts splay; set one of them"
        }
        None if run.has_quarantine => {
            "quarantine: needs an environment, whose applications order the nodes"
        }
        _ if !run.has_barrier => return Ok(()),
        _ if rollout.batch.is_some() => "barrier: contradicts batch; set one of them",
        _ if rollout.splay.is_some() => "barrier: contradicts splay; set one of them",
        None => "barrier: needs an environment, whose applications have the levels",
        Some(_) => return Ok(()),
    };
    Err(RunJobError::Limit(what.to_owned()))
}

/// The batches of a job that runs level by level.
fn batches_of(levels: &[usize]) -> Result<BatchSizes, RunJobError> {
    if levels.len() > BATCH_SIZES {
        return Err(RunJobError::Limit(format!(
            "barrier: the applications have {} levels, and a job has at most {BATCH_SIZES} sizes of batches; run it \
             without barrier",
            levels.len()
        )));
    }
    let sizes = levels.iter().map(|nodes| u32::try_from(*nodes));
    let sizes: Result<Vec<u32>, _> = sizes.collect();
    let sizes = sizes.expect("a job has far fewer nodes");
    let portions = sizes.into_iter().map(Portion::Nodes).collect();
    Ok(BatchSizes::new(portions))
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
fn shown_options(spec: &JobSpec, run: &PuppetWork, nodes: &[Certname]) -> Value {
    let (flags, limits) = (&run.flags, &spec.limits);
    let is_pinned = run.code.pinned().is_some();
    let environment = run.environment.as_ref();
    let is_enforced = environment.is_some_and(|it| it.is_enforced || is_pinned);
    let (code, code_id) = run.code.to_shown_mode();
    json!({
        "environment": spec.work.environment_text(),
        "enforce_environment": is_enforced,
        "scope": spec.scope.to_shown_value(nodes),
        "target": null,
        "noop": flags.noop,
        "no_noop": flags.no_noop,
        "debug": flags.debug,
        "trace": flags.trace,
        "evaltrace": flags.evaltrace,
        "use_cached_catalog": flags.use_cached_catalog == Some(true),
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
        "concurrency": limits.concurrency,
        "timeout": limits.timeout.map(|timeout| timeout.as_secs()),
        "description": spec.description,
        "scheduled-job-id": spec.slot.map(|slot| slot.schedule),
    })
}
