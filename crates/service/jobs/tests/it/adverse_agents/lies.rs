//! The subject's agent lies: about its run, about runs of other nodes, and about its lease.

use pxp::action;
use pxp::{PxpMessageBody, PxpResponse, TransactionId};
use serde_json::{Value, json};

use super::{
    DEPENDENT, Expected, NOT_RUN, PRODUCER, Phase, SUBJECT, SUCCESS, Site, UNKNOWN, hasty, kind,
    steady, subject,
};
use crate::deploys::deploy;
use crate::run_orders::node_name;
use crate::sim::{LeaseLie, Manner};
use crate::world::World;

const FAILED: Expected = ("failed", None);

/// The result of a run that succeeded, with these values instead of its own.
fn result(changes: &Value) -> Value {
    let mut result = json!({
        "kind": "changed", "time": "2026-11-24T07:07:19Z", "transaction_uuid": "x", "status": "changed",
        "environment": "production", "metrics": {"total": 3}, "exitcode": 0, "version": 1,
    });
    let fields = result.as_object_mut().unwrap();
    fields.extend(changes.as_object().unwrap().clone());
    result
}

fn report(transaction_id: TransactionId, result: &Value) -> PxpMessageBody {
    PxpMessageBody::NonBlockingResponse(PxpResponse {
        transaction_id,
        results: action::encode(result),
    })
}

// === impl Site ===

impl Site {
    /// Lets the subject report success for a transaction, and waits until the engine has handled that.
    async fn claim(&self, transaction: TransactionId) {
        let success = report(transaction, &result(&json!({})));
        self.world.sim.say(&subject(), success).await;
        self.handled().await;
    }

    /// Waits until the engine has handled everything that the subject has said.
    async fn handled(&self) {
        let metrics = self.world.jobs().metrics();
        let before = metrics.forged_messages.get();
        let other = self.transaction_of(PRODUCER).await;
        let mark = report(other, &result(&json!({"status": "failed"})));
        self.world.sim.say(&subject(), mark).await;
        let is_counted = |_: &World| metrics.forged_messages.get() > before;
        self.world.until("the forgery is counted", is_counted).await;
    }

    async fn has_started(&self, node: usize) -> bool {
        self.run_of(node).await.state != "ready"
    }
}

/// An agent that knows the ids of runs that nobody has requested yet.
#[tokio::test]
async fn success_counts_only_for_a_run_that_was_requested() {
    for phase in [Phase::Draining, Phase::Held] {
        let site = Site::reach(phase, steady()).await;
        for transaction in [
            TransactionId::random(),
            site.transaction_of(SUBJECT).await,
            site.transaction_of(DEPENDENT).await,
        ] {
            site.claim(transaction).await;
            assert!(!site.has_started(SUBJECT).await, "{phase:?}");
            assert!(!site.has_started(DEPENDENT).await, "{phase:?}");
        }
        site.go_on();
        site.ends(SUCCESS).await;
        assert_eq!(site.world.sim.requests_to(&subject()).len(), 1);
    }
}

#[tokio::test]
async fn success_of_another_run_is_none_of_this_one() {
    for phase in [Phase::Running, Phase::Ending] {
        let site = Site::reach(phase, steady()).await;
        site.world.sim.wake(&subject());
        let other = site.world.run(deploy(&[node_name(4)])).await;
        site.world.over(other).await;
        let runs = site.world.runs(other).await;
        for transaction in [
            TransactionId::random(),
            runs[0].transaction_id.parse().unwrap(),
            site.transaction_of(DEPENDENT).await,
        ] {
            site.claim(transaction).await;
        }
        if phase == Phase::Running {
            assert_eq!(site.run_of(SUBJECT).await.state, "running");
            assert!(!site.has_started(DEPENDENT).await);
        }
        site.go_on();
        site.ends(SUCCESS).await;
    }
}

/// The agent reports it again while its run for the next job fails.
#[tokio::test]
async fn success_of_an_earlier_job_is_none_of_this_one() {
    let site = Site::reach(Phase::Done, steady()).await;
    site.go_on();
    site.ends(SUCCESS).await;
    let earlier = site.transaction_of(SUBJECT).await;
    let Site { world, .. } = site;
    let failing = Manner {
        puppet: Some(result(&json!({"status": "failed"}))),
        held: true,
        ..super::leasing()
    };
    world.sim.add(&node_name(PRODUCER), super::leasing());
    world.sim.add(&subject(), failing);
    let nodes: Vec<_> = (0..8).filter(|it| *it != 4).map(node_name).collect();
    let job = world.run(deploy(&nodes)).await;
    let site = Site {
        world,
        job,
        phase: Phase::Running,
    };
    let success = report(earlier, &result(&json!({})));
    site.world.sim.say(&subject(), success).await;
    site.ends(FAILED).await;
}

#[tokio::test]
async fn of_two_outcomes_the_first_one_counts() {
    let failed = json!({"status": "failed"});
    for (first, second, expected) in [
        (json!({}), failed.clone(), SUCCESS),
        (failed, json!({}), FAILED),
    ] {
        let site = Site::reach(Phase::Running, steady()).await;
        let transaction = site.transaction_of(SUBJECT).await;
        for told in [first, second] {
            let told = report(transaction.clone(), &result(&told));
            site.world.sim.say(&subject(), told).await;
        }
        site.ends(expected).await;
        // its real outcome is the third one
        site.go_on();
        let told = |world: &World| world.sim.all_acknowledged(&subject());
        site.world.until("it is acknowledged", told).await;
        site.check_states(expected).await;
    }
}

/// What the agent says is no success if it contradicts itself, or what was requested.
#[tokio::test]
async fn a_success_that_is_none_fails_and_skips_the_dependents() {
    for (lie, words) in [
        (
            json!({"metrics": {"total": 3, "failed": 1}}),
            "1 resource failed",
        ),
        (
            json!({"metrics": {"failed_to_restart": 2}}),
            "2 resources failed",
        ),
        (json!({"exitcode": 4}), "report"),
        (json!({"environment": "staging"}), "environment staging"),
        (json!({"status": "failed"}), "report"),
    ] {
        let site = Site::reach(Phase::Held, steady()).await;
        let told = result(&lie);
        site.world
            .sim
            .change(&subject(), |manner| manner.puppet = Some(told));
        site.go_on();
        site.ends(FAILED).await;
        let details = site.run_of(SUBJECT).await.details.unwrap();
        assert!(details.contains(words), "{lie}: {details}");
    }
}

/// A result without a status of Puppet is no run.
#[tokio::test]
async fn a_result_without_a_report_is_no_run() {
    for lie in [
        json!({"status": "unknown"}),
        json!({"status": "success"}),
        json!({"status": true}),
        json!({"status": null}),
    ] {
        let site = Site::reach(Phase::Held, steady()).await;
        let told = result(&lie);
        site.world
            .sim
            .change(&subject(), |manner| manner.puppet = Some(told));
        site.go_on();
        site.ends(NOT_RUN).await;
    }
}

/// An agent that speaks in the name of another node is not heard, so it is silent about its own run.
#[tokio::test]
async fn an_outcome_in_the_name_of_another_node_is_none() {
    let site = Site::reach(Phase::Held, hasty()).await;
    let mute = |manner: &mut Manner| manner.mute = true;
    site.world.sim.change(&subject(), mute);
    site.go_on();
    site.requested(SUBJECT).await;
    let transaction = site.transaction_of(SUBJECT).await;
    let outcome = report(transaction, &result(&json!({})));
    site.world.sim.say(&node_name(7), outcome).await;
    site.ends(UNKNOWN).await;
    assert!(site.world.jobs().metrics().forged_messages.get() > 0);
}

/// The job believes that the lease is held, or knows that it is not. In both cases it goes on, and Puppet's own lock decides.
#[tokio::test]
async fn lies_about_the_lease_do_not_decide_the_run() {
    for lie in [
        LeaseLie::Held,
        LeaseLie::OtherNode,
        LeaseLie::Garbage,
        LeaseLie::TooLong,
    ] {
        let site = Site::reach(Phase::LeaseRequested, hasty()).await;
        site.world
            .sim
            .change(&subject(), |manner| manner.lease_lie = Some(lie));
        site.world.sim.wake(&subject());
        site.go_on();
        site.ends(SUCCESS).await;
        assert_eq!(site.world.sim.lease(&subject()), None, "{lie:?}");
    }
}

/// It says that no run is in progress, and Puppet finds one.
#[tokio::test]
async fn a_node_that_has_not_drained_does_not_run_and_skips_its_dependents() {
    let site = Site::reach(Phase::Draining, steady()).await;
    let busy = json!({
        "kind": "unknown", "time": "unknown", "transaction_uuid": "unknown", "environment": "unknown",
        "status": "unknown", "metrics": {}, "exitcode": -1, "version": 1, "error_type": "agent_already_running",
        "error": {"msg": "another run of Puppet did not end within 600 seconds"},
    });
    site.world.sim.change(&subject(), |manner| {
        manner.lease_lie = Some(LeaseLie::Held);
        manner.puppet = Some(busy);
    });
    site.ends_with_words(NOT_RUN, "another run of Puppet").await;
}

impl Site {
    async fn ends_with_words(&self, expected: Expected, words: &str) {
        self.ends(expected).await;
        let run = self.run_of(SUBJECT).await;
        let result = run.result.clone().unwrap();
        assert!(result.contains(words), "{:?}: {result}", kind(&run));
    }
}
