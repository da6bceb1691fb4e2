//! The subject's agent sleeps: its connection stays open, and nothing is answered.

use jobs::NODE_LATE_OUTCOME;

use super::{Phase, SUCCESS, Site, UNKNOWN, hasty, steady, subject};

#[tokio::test]
async fn an_agent_that_wakes_before_its_lease_is_over_costs_nothing() {
    for phase in Phase::ALL {
        let site = Site::reach(phase, steady()).await;
        site.sleep();
        site.go_on();
        site.world.sim.wake(&subject());
        site.ends(SUCCESS).await;
        site.is_freed().await;
    }
}

/// Its lease has ended by itself, and the broker has ended the session.
#[tokio::test]
async fn an_agent_that_wakes_after_its_lease_is_over_gets_it_again() {
    for phase in Phase::ALL {
        let site = Site::reach(phase, steady()).await;
        site.world.sim.cut_asleep(&subject());
        site.world.sim.end_lease(&subject());
        site.go_on();
        site.world.sim.wake(&subject());
        site.world.sim.connect(&subject());
        site.ends(SUCCESS).await;
        site.is_freed().await;
    }
}

/// The verdict stays, whatever the agent says when it wakes; and what it did not begin before, it does not begin.
#[tokio::test]
async fn an_agent_that_sleeps_for_too_long_changes_nothing_when_it_wakes() {
    for phase in Phase::ALL {
        let site = Site::reach(phase, hasty()).await;
        site.sleep();
        site.go_on();
        let expected = match phase {
            Phase::Done | Phase::Releasing => SUCCESS,
            _ => UNKNOWN,
        };
        site.ends(expected).await;
        let executions = site.world.sim.executions();
        site.world.sim.cut_asleep(&subject());
        site.world.sim.end_lease(&subject());
        site.world.sim.wake(&subject());
        site.world.sim.connect(&subject());
        if matches!(phase, Phase::Running | Phase::Ending) {
            site.world.event(site.job, NODE_LATE_OUTCOME).await;
        }
        let told = |world: &crate::world::World| world.sim.all_acknowledged(&subject());
        site.world.until("its outcome is acknowledged", told).await;
        site.check_states(expected).await;
        assert_eq!(site.world.sim.executions(), executions, "{phase:?}");
        assert_eq!(site.world.sim.lease(&subject()), None, "{phase:?}");
    }
}

// === impl Site ===

impl Site {
    /// Puts the subject to sleep, unless it sleeps in this phase.
    pub(super) fn sleep(&self) {
        match self.phase {
            Phase::LeaseRequested | Phase::RunRequested | Phase::Ending | Phase::Releasing => {}
            Phase::Draining | Phase::Held | Phase::Running | Phase::Done => {
                self.world.sim.put_to_sleep(&subject());
            }
        }
    }
}
