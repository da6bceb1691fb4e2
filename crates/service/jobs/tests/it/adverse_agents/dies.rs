//! The subject's agent or machine dies, and comes back or does not.

use super::{NOT_RUN, Phase, SUCCESS, Site, UNKNOWN, hasty, steady, subject};

/// Its actions are processes of their own, and its spool is on the disk.
#[tokio::test]
async fn an_agent_that_is_killed_and_started_again_costs_nothing() {
    for phase in Phase::ALL {
        let site = Site::reach(phase, steady()).await;
        site.world.sim.kill_agent(&subject());
        site.world.sim.connect(&subject());
        site.go_on();
        site.ends(SUCCESS).await;
        // Nothing was released if the request got lost; the lease ends by itself.
        if phase != Phase::Releasing {
            site.is_freed().await;
        }
    }
}

/// Without its spool the agent cannot prove that it did not run what was requested.
#[tokio::test]
async fn a_machine_that_loses_its_disk_is_believed_only_before_its_run() {
    for phase in Phase::ALL {
        let site = Site::reach(phase, hasty()).await;
        site.world.sim.lose_machine(&subject());
        site.world.sim.connect(&subject());
        site.go_on();
        let expected = match phase.is_in_flight() {
            true => UNKNOWN,
            false => SUCCESS,
        };
        site.ends(expected).await;
        site.is_freed().await;
    }
}

#[tokio::test]
async fn an_agent_that_does_not_come_back_is_given_up() {
    for phase in Phase::ALL {
        let site = Site::reach(phase, hasty()).await;
        site.world.sim.kill_agent(&subject());
        site.go_on();
        let expected = match phase {
            Phase::Done | Phase::Releasing => SUCCESS,
            _ if phase.is_in_flight() => UNKNOWN,
            _ => NOT_RUN,
        };
        site.ends(expected).await;
    }
}
