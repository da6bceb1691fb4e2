//! Pings through the broker.

use jobs::NodeRequestError;

use crate::sim::Manner;
use crate::world::{World, quick};

#[tokio::test]
async fn pings_tell_who_answers_who_is_silent_and_who_is_away() {
    let world = World::with(quick()).await;
    let mut nodes = world.agents(2, &Manner::default());
    world.sim.change(&nodes[1], |manner| manner.mute = true);
    nodes.push("away.example.com".parse().unwrap());
    let pings = world.jobs().ping(&nodes).await;
    assert!(
        pings.iter().map(|ping| &ping.certname).eq(&nodes),
        "in the order asked"
    );
    assert!(pings[0].result.is_ok());
    assert!(matches!(pings[1].result, Err(NodeRequestError::Timeout(_))));
    assert!(matches!(pings[2].result, Err(NodeRequestError::NotSent(_))));
}
