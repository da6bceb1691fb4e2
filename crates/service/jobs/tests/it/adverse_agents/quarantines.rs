//! The subject is to stay in quarantine, and its agent is away, asleep, or cannot store that.

use jobs::{JobsConfig, LeaseTimes};
use serde_json::Value;

use super::{DEPENDENT, NODES, Phase, SUBJECT, Site, hasty, steady, subject};
use crate::run_orders::{failing, node_name};
use crate::sim::{LeaseLie, Manner};
use crate::world::World;

impl Site {
    async fn reach_quarantining(phase: Phase, jobs: JobsConfig) -> Self {
        Self::reach_with(phase, jobs, |work| work.has_quarantine = true).await
    }

    /// The nodes that the job says to be in quarantine, and the number of those that could not be kept.
    async fn quarantined(&self) -> Option<(Value, u64)> {
        let events = self.world.over(self.job).await;
        let told = events
            .iter()
            .find(|event| event.kind == "nodes_quarantined")?;
        let details: Value = serde_json::from_str(&told.details).unwrap();
        Some((
            details["nodes"].clone(),
            details["not_kept"].as_u64().unwrap(),
        ))
    }

    async fn is_kept(&self, node: usize) {
        let is_kept = |world: &World| world.sim.quarantine(&node_name(node)).is_some();
        let what = format!("node {node} is in quarantine after {:?}", self.phase);
        self.world.until(&what, is_kept).await;
    }
}

fn names(nodes: &[usize]) -> Value {
    nodes
        .iter()
        .map(|node| node_name(*node).to_string())
        .collect()
}

#[tokio::test]
async fn a_node_that_stays_away_or_asleep_is_not_said_to_be_kept() {
    for is_asleep in [false, true] {
        for phase in Phase::ALL {
            let site = Site::reach_quarantining(phase, hasty()).await;
            match is_asleep {
                true => site.sleep(),
                false => site.world.sim.kill_agent(&subject()),
            }
            site.go_on();
            let expected = match phase {
                Phase::Done | Phase::Releasing => None,
                _ => Some((names(&[DEPENDENT]), 1)),
            };
            assert_eq!(site.quarantined().await, expected, "{phase:?}, {is_asleep}");
            if expected.is_some() {
                site.is_kept(DEPENDENT).await;
            }
        }
    }
}

/// Its run is the last one of the job, and its disk is full.
#[tokio::test]
async fn a_node_that_cannot_store_its_quarantine_is_not_said_to_be_kept() {
    for (lie, expected) in [
        (None, (names(&[SUBJECT, DEPENDENT]), 0)),
        (Some(LeaseLie::NotKept), (names(&[DEPENDENT]), 1)),
    ] {
        let site = Site::reach_quarantining(Phase::Running, steady()).await;
        site.world.until_state(site.job, 5, "finished").await;
        let fails = |manner: &mut Manner| {
            *manner = Manner {
                leases: true,
                held: true,
                lease_lie: lie,
                ..failing()
            };
        };
        site.world.sim.change(&subject(), fails);
        site.go_on();
        assert_eq!(site.quarantined().await, Some(expected));
    }
}

/// Its run failed and it was kept at once, before it died.
#[tokio::test]
async fn a_node_that_was_kept_before_it_died_is_in_quarantine() {
    let site = Site::reach_quarantining(Phase::Held, steady()).await;
    let fails = |manner: &mut Manner| {
        *manner = Manner {
            leases: true,
            ..failing()
        };
    };
    site.world.sim.change(&subject(), fails);
    site.go_on();
    let told = site.quarantined().await;
    assert_eq!(told, Some((names(&[SUBJECT, DEPENDENT]), 0)));
    site.world.sim.kill_agent(&subject());
    site.world.sim.connect(&subject());
    for node in [SUBJECT, DEPENDENT] {
        site.is_kept(node).await;
    }
}

/// The server is killed when all runs have ended, and a node that is to be kept has not answered yet.
#[tokio::test]
async fn a_crash_before_the_answers_leaves_the_quarantine_and_its_event() {
    let patient = steady();
    let leases = LeaseTimes {
        answer: LeaseTimes::default().answer,
        ..patient.leases
    };
    let config = JobsConfig { leases, ..patient };
    let mut site = Site::reach_quarantining(Phase::Running, config).await;
    site.world.until_state(site.job, 5, "finished").await;
    site.world.sim.put_to_sleep(&node_name(DEPENDENT));
    let fails = |manner: &mut Manner| {
        *manner = Manner {
            leases: true,
            held: true,
            ..failing()
        };
    };
    site.world.sim.change(&subject(), fails);
    site.go_on();
    site.world.until_state(site.job, 1, "skipped").await;
    site.is_kept(SUBJECT).await;
    assert_eq!(site.world.state(site.job).await, "running");
    site.world.logged(NODES).await;
    site.world.kill().await;
    site.world.sim.wake(&node_name(DEPENDENT));
    site.world.start().await;
    let told = site.quarantined().await;
    assert_eq!(told, Some((names(&[SUBJECT, DEPENDENT]), 0)));
    for node in [SUBJECT, DEPENDENT] {
        site.is_kept(node).await;
    }
}
