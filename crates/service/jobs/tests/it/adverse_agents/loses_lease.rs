//! The subject loses its lease: its files are gone, another job has it, an administrator ended it, or the server was away.

use std::time::Duration;

use jobs::{JobsConfig, LeaseTimes};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{NOT_RUN, Phase, SUCCESS, Site, hasty, steady, subject};
use crate::sim::Manner;
use crate::world::World;

const WITH_LEASE: [Phase; 6] = [
    Phase::Held,
    Phase::RunRequested,
    Phase::Running,
    Phase::Ending,
    Phase::Done,
    Phase::Releasing,
];

/// Renewals come so often that the test need not wait for them.
fn renewing() -> JobsConfig {
    let leases = LeaseTimes {
        renewal: Duration::from_millis(20),
        ..steady().leases
    };
    JobsConfig { leases, ..steady() }
}

/// The result of a run that gave way to the lease of another job.
fn hindered() -> Value {
    json!({
        "kind": "unknown", "time": "unknown", "transaction_uuid": "unknown", "environment": "unknown",
        "status": "unknown", "metrics": {}, "exitcode": -1, "version": 1, "error_type": "agent_already_running",
        "error": {"msg": "the lease of job 7 keeps other runs of Puppet from starting"},
    })
}

#[tokio::test]
async fn a_lease_that_got_lost_is_held_again_by_a_renewal() {
    for phase in WITH_LEASE {
        let site = Site::reach(phase, renewing()).await;
        site.world.sim.end_lease(&subject());
        site.world.sim.wake(&subject());
        // in the other phases nothing keeps the job from ending, with the lease, as soon as the agent is awake
        if matches!(phase, Phase::Held | Phase::Running | Phase::Done) {
            let held = |world: &World| world.sim.lease(&subject()).is_some();
            let what = format!("the lease is held again in the phase {phase:?}");
            site.world.until(&what, held).await;
        }
        site.go_on();
        site.ends(SUCCESS).await;
        site.is_freed().await;
    }
}

/// The server was away for longer than the lease lasts.
#[tokio::test]
async fn a_server_that_comes_back_after_the_end_of_the_lease_holds_it_again() {
    for phase in WITH_LEASE {
        let mut site = Site::reach(phase, hasty()).await;
        site.world.kill().await;
        site.world.sim.wake(&subject());
        site.world.sim.end_lease(&subject());
        site.world.start().await;
        site.go_on();
        site.ends(SUCCESS).await;
        site.is_freed().await;
    }
}

/// The job goes on without the lease, as on nodes that never had one.
#[tokio::test]
async fn a_lease_that_an_administrator_ends_does_not_end_the_job() {
    for phase in WITH_LEASE {
        let site = Site::reach(phase, renewing()).await;
        let refuse = |manner: &mut Manner| {
            manner.refuses_leases = Some("an administrator released the lease on the node");
        };
        site.world.sim.change(&subject(), refuse);
        site.world.sim.end_lease(&subject());
        site.world.sim.wake(&subject());
        site.go_on();
        site.ends(SUCCESS).await;
        assert_eq!(site.world.sim.lease(&subject()), None, "{phase:?}");
    }
}

/// The lease of another server's job has the node. Puppet does not run there for this job, and its renewals and its release
/// leave that lease alone.
#[tokio::test]
async fn a_node_that_another_job_has_fails_and_stays_with_that_job() {
    let other = Uuid::from_u128(7);
    for phase in WITH_LEASE {
        let site = Site::reach(phase, renewing()).await;
        let was_begun = !matches!(phase, Phase::Held | Phase::RunRequested);
        site.world.sim.supersede(&subject(), other);
        if !was_begun {
            let change = |manner: &mut Manner| manner.puppet = Some(hindered());
            site.world.sim.change(&subject(), change);
        }
        site.world.sim.wake(&subject());
        site.go_on();
        site.ends(if was_begun { SUCCESS } else { NOT_RUN }).await;
        let is_left = |world: &World| world.sim.lease(&subject()) == Some(other);
        assert!(is_left(&site.world), "{phase:?}");
    }
}
