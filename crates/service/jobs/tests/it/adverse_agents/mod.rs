//! Agents in trouble, in each phase of a node in an ordered job. Main type: [`Site`].
//!
//! The tests move a job into a [`Phase`] of one node, the subject, let something happen to its agent, and compare the end of
//! the job with the required one:
//!
//! | phase | agent dies and comes back | machine dies and comes back | never comes back | loses its lease |
//! |---|---|---|---|---|
//! | lease requested | success | success | `execution-failure` | |
//! | draining | success | success | `execution-failure` | |
//! | held | success | success | `execution-failure` | success |
//! | run requested | success, requested again | `outcome-unknown` | `outcome-unknown` | success |
//! | running | success | `outcome-unknown` | `outcome-unknown` | success |
//! | ending | success | `outcome-unknown` | `outcome-unknown` | success |
//! | done | success | success | success | success |
//! | releasing | success | success | success | success |
//!
//! An agent that sleeps is one that dies and comes back, if it wakes before the engine gives it up. After that its run is
//! `outcome-unknown`; what it reports of it is an event, and changes no state. An agent that lies changes nothing but its own
//! run, and not before that is requested.
//!
//! In every cell: the subject succeeds only by the report of its own run; no run happens twice; the nodes that depend on the
//! subject run if it succeeded, and are `skipped` with `tutti/dependency-failed` otherwise; all other nodes run; the job ends;
//! and no connected node keeps a lease of the job. With a quarantine, those that did not succeed keep it, and the job names
//! only nodes that have confirmed that.
//!
//! Cells that other files test: nodes that are away at the start or at the end, renewals, and crashes of the server
//! (`leases.rs`); between two passes (`pass_leases.rs`, `between_passes.rs` here); capabilities that were not produced
//! (`run_orders.rs`); versions of code (`pinned.rs`); other agents with the same certname (`namesakes.rs`). The real agent's
//! side is in `actions/tests/it/leases.rs`, and with stopped and killed processes in `bin/tutti/tests/it/adverse_agents.rs`.

mod between_passes;
mod dies;
mod lies;
mod loses_lease;
mod quarantines;
mod sleeps;

use std::time::Duration;

use jobs::{JobWork, JobsConfig, KIND_DEPENDENCY, LeaseTimes, PuppetWork};
use pcp::Certname;
use pxp::TransactionId;
use pxp::types::{BLOCKING_REQUEST, NON_BLOCKING_REQUEST};
use serde_json::Value;
use store::{JobNumber, RunRow};

use crate::deploys::deploy;
use crate::run_orders::{Applications, config, instance, lamp, node_name};
use crate::sim::Manner;
use crate::world::{World, patient, quick};

/// Produces what the subject consumes.
const PRODUCER: usize = 3;
const SUBJECT: usize = 1;
/// Consumes what the subject produces.
const DEPENDENT: usize = 2;
/// Nodes that do not depend on the subject: beside it, without order, and of another application.
const OTHERS: [usize; 5] = [0, PRODUCER, 5, 6, 7];
const NODES: usize = 8;

/// How far the subject is in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The agent has not answered the request for its lease.
    LeaseRequested,
    /// A run of its own is in progress, after which the lease is held.
    Draining,
    /// The lease is held, and the producer runs.
    Held,
    /// The agent has not confirmed the request to run.
    RunRequested,
    Running,
    /// The run has ended, and the engine does not know that.
    Ending,
    /// The run has succeeded, and others are in progress.
    Done,
    /// The job is over, and the agent has not answered the request to release its lease.
    Releasing,
}

/// A job on agents, one of which is the subject.
struct Site {
    world: World,
    job: JobNumber,
    phase: Phase,
}

/// The required end of the subject: its state, and the kind of its error.
type Expected = (&'static str, Option<&'static str>);

const SUCCESS: Expected = ("finished", None);
/// The run did not begin, and that is known.
const NOT_RUN: Expected = ("errored", Some(jobs::KIND_EXECUTION));
const UNKNOWN: Expected = ("errored", Some(jobs::KIND_UNKNOWN));

/// An agent that knows leases.
fn leasing() -> Manner {
    Manner {
        leases: true,
        ..Manner::default()
    }
}

/// Intervals with which a run is given up only for a reason that a message gives. Requests for leases are answered in time.
fn steady() -> JobsConfig {
    JobsConfig {
        leases: LeaseTimes {
            answer: Duration::from_millis(200),
            renewal: Duration::from_millis(50),
            ..LeaseTimes::default()
        },
        ..patient()
    }
}

/// Intervals with which agents that do not answer are given up.
fn hasty() -> JobsConfig {
    JobsConfig {
        poll_limit: 25,
        leases: LeaseTimes {
            patience: Duration::from_millis(400),
            ..steady().leases
        },
        ..quick()
    }
}

// === impl Phase ===

impl Phase {
    const ALL: [Self; 8] = [
        Self::LeaseRequested,
        Self::Draining,
        Self::Held,
        Self::RunRequested,
        Self::Running,
        Self::Ending,
        Self::Done,
        Self::Releasing,
    ];

    /// The node whose run is in progress in this phase, and until [`Site::go_on`].
    fn gate(self) -> Option<usize> {
        match self {
            Self::LeaseRequested | Self::Draining => None,
            Self::Held | Self::RunRequested => Some(PRODUCER),
            Self::Running | Self::Ending => Some(SUBJECT),
            Self::Done | Self::Releasing => Some(DEPENDENT),
        }
    }

    /// True if the agent had its run when it got into trouble, and the engine does not know the end.
    fn is_in_flight(self) -> bool {
        matches!(self, Self::RunRequested | Self::Running | Self::Ending)
    }
}

// === impl Site ===

impl Site {
    /// Moves a job into the phase.
    async fn reach(phase: Phase, jobs: JobsConfig) -> Self {
        Self::reach_with(phase, jobs, |_| {}).await
    }

    /// Moves a job with these options into the phase.
    async fn reach_with(
        phase: Phase,
        jobs: JobsConfig,
        change: impl FnOnce(&mut PuppetWork),
    ) -> Self {
        let mut instances = lamp();
        let mail = instance("Mail[x]", &[(6, &["mail"], &[]), (7, &[], &["mail"])]);
        instances.push(mail);
        let applications = Applications {
            instances,
            ..Applications::default()
        };
        let world = World::with(config(applications, jobs)).await;
        let mut nodes = world.agents(NODES, &leasing());
        // In an application of its own; its place is node 5's.
        nodes.remove(4);
        if let Some(gate) = phase.gate() {
            let hold = |manner: &mut Manner| manner.held = true;
            world.sim.change(&node_name(gate), hold);
        }
        match phase {
            Phase::LeaseRequested => world.sim.put_to_sleep(&subject()),
            Phase::Draining => {
                let runs = |manner: &mut Manner| manner.runs_puppet = true;
                world.sim.change(&subject(), runs);
            }
            _ => {}
        }
        let mut spec = deploy(&nodes);
        let JobWork::Puppet(work) = &mut spec.work else {
            panic!("{:?}", spec.work)
        };
        change(work);
        let job = world.run(spec).await;
        let mut site = Self { world, job, phase };
        site.enter(phase).await;
        site
    }

    async fn enter(&mut self, phase: Phase) {
        let sim = &self.world.sim;
        match phase {
            Phase::LeaseRequested => self.unread(BLOCKING_REQUEST).await,
            Phase::Draining => self.asked_for_lease(2).await,
            Phase::Held => self.requested(PRODUCER).await,
            Phase::RunRequested => {
                self.requested(PRODUCER).await;
                sim.put_to_sleep(&subject());
                sim.let_go();
                self.unread(NON_BLOCKING_REQUEST).await;
            }
            Phase::Running => {
                self.requested(SUBJECT).await;
                self.world.until_state(self.job, 1, "running").await;
            }
            Phase::Ending => {
                self.requested(SUBJECT).await;
                sim.put_to_sleep(&subject());
                sim.let_go();
                let ended = |world: &World| world.sim.has_outcome(&subject());
                self.world.until("the run has ended", ended).await;
            }
            Phase::Done => self.requested(DEPENDENT).await,
            Phase::Releasing => {
                self.requested(DEPENDENT).await;
                sim.put_to_sleep(&subject());
                sim.let_go();
                self.world.over(self.job).await;
                self.unread(BLOCKING_REQUEST).await;
            }
        }
    }

    /// Waits until a message of this type waits for the subject, which sleeps.
    async fn unread(&self, message_type: &str) {
        let is_unread = |world: &World| world.sim.has_unread(&subject(), message_type);
        let what = format!("the agent has unread messages of {message_type}");
        self.world.until(&what, is_unread).await;
    }

    async fn asked_for_lease(&self, times: usize) {
        let is_asked = |world: &World| {
            let asked = world.sim.leases_asked();
            asked.iter().filter(|it| it.0 == subject()).count() >= times
        };
        self.world.until("the lease was requested", is_asked).await;
    }

    /// Waits until a run was requested from a node.
    async fn requested(&self, node: usize) {
        let is_requested = |world: &World| !world.sim.requests_to(&node_name(node)).is_empty();
        let what = format!("a run was requested from node {node}");
        self.world.until(&what, is_requested).await;
    }

    /// Lets everything end that this phase waits for.
    fn go_on(&self) {
        let idle = |manner: &mut Manner| manner.runs_puppet = false;
        self.world.sim.change(&subject(), idle);
        self.world.sim.let_go();
    }

    async fn run_of(&self, node: usize) -> RunRow {
        let runs = self.world.runs(self.job).await;
        let name = node_name(node);
        let mut runs = runs.into_iter();
        runs.find(|run| run.certname == name.as_str()).unwrap()
    }

    async fn transaction_of(&self, node: usize) -> TransactionId {
        self.run_of(node).await.transaction_id.parse().unwrap()
    }

    /// Waits for the end of the job and compares it with the required one.
    async fn ends(&self, expected: Expected) {
        let (world, phase) = (&self.world, self.phase);
        world.over(self.job).await;
        self.check_states(expected).await;
        let executions = world.sim.executions();
        assert!(
            executions.values().all(|count| *count == 1),
            "{phase:?}: {executions:?}"
        );
        let subject = self.transaction_of(SUBJECT).await;
        let dependent = self.transaction_of(DEPENDENT).await;
        if expected == SUCCESS {
            assert!(
                executions.contains_key(&subject),
                "{phase:?}: success without a run"
            );
        } else {
            assert!(!executions.contains_key(&dependent), "{phase:?}: it ran");
        }
        let others = (0..NODES).filter(|node| *node != SUBJECT);
        let others: Vec<Certname> = others.map(node_name).collect();
        let are_free = |world: &World| others.iter().all(|it| world.sim.lease(it).is_none());
        world.until("the other nodes are free", are_free).await;
    }

    async fn check_states(&self, expected: Expected) {
        let phase = self.phase;
        let run = self.run_of(SUBJECT).await;
        let found = (run.state.as_str(), kind(&run));
        let wanted = (expected.0, expected.1.map(str::to_owned));
        assert_eq!(found, wanted, "{phase:?}: {:?}", run.result);
        for node in OTHERS {
            let run = self.run_of(node).await;
            assert_eq!(
                run.state, "finished",
                "{phase:?}: node {node}: {:?}",
                run.result
            );
        }
        let run = self.run_of(DEPENDENT).await;
        let (state, reason, job) = match expected == SUCCESS {
            true => ("finished", None, "finished"),
            false => ("skipped", Some(KIND_DEPENDENCY.to_owned()), "failed"),
        };
        assert_eq!(
            (run.state.as_str(), kind(&run)),
            (state, reason),
            "{phase:?}"
        );
        assert_eq!(self.world.state(self.job).await, job, "{phase:?}");
    }

    /// Waits until the subject holds no lease.
    async fn is_freed(&self) {
        let is_free = |world: &World| world.sim.lease(&subject()).is_none();
        let what = format!("the lease is released after {:?}", self.phase);
        self.world.until(&what, is_free).await;
    }
}

fn subject() -> Certname {
    node_name(SUBJECT)
}

/// The kind of a run's error, if it has one.
fn kind(run: &RunRow) -> Option<String> {
    let result: Value = serde_json::from_str(run.result.as_deref()?).unwrap();
    Some(result["_error"]["kind"].as_str()?.to_owned())
}
