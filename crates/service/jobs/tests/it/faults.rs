//! Nodes that are silent, lie, stutter, come late or refuse.

use pxp::action::{self, ActionResult};
use pxp::{PxpMessageBody, PxpResponse};

use crate::sim::Manner;
use crate::world::{World, patient, quick, request};

#[tokio::test]
async fn a_silent_node_is_asked_and_then_given_up_as_unknown() {
    let world = World::with(quick()).await;
    let nodes = world.agents(
        1,
        &Manner {
            mute: true,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    let kind = &result["_error"]["kind"];
    assert_eq!(
        (state.as_str(), kind),
        ("errored", &"tutti/outcome-unknown".into())
    );
    let asked = world.jobs().metrics().status_queries.get();
    assert_eq!(asked, 10);
}

#[tokio::test]
async fn a_late_outcome_is_logged_once_and_the_state_stays() {
    let world = World::with(quick()).await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.sim.disconnect(&nodes[0]);
    let events = world.over(job).await;
    world.sim.let_go();
    world.sim.connect(&nodes[0]);
    world
        .until("the outcome is safe", |world| {
            world.sim.all_acknowledged(&nodes[0])
        })
        .await;
    world.sim.repeat_outcomes(&nodes[0]).await;

    assert_eq!(world.only_run(job).await.0, "errored");
    let all = world.store.events(job, 0, 100).await.unwrap();
    assert_eq!(all[..events.len()], events);
    let late: Vec<_> = all[events.len()..]
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(late, [jobs::NODE_LATE_OUTCOME]);
    assert!(all.last().unwrap().details.contains("done"));
}

#[tokio::test]
async fn an_agent_that_lost_track_of_a_run_is_believed_and_acknowledged() {
    let world = World::with(patient()).await;
    let nodes = world.agents(
        1,
        &Manner {
            loses_track: true,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["_error"]["kind"]),
        ("errored", &jobs::KIND_UNKNOWN.into())
    );
    world
        .until("its error is acknowledged", |world| {
            world.sim.all_acknowledged(&nodes[0])
        })
        .await;
}

#[tokio::test]
async fn what_tells_nothing_new_of_an_ended_or_unknown_run_is_acknowledged_all_the_same() {
    let world = World::with(quick()).await;
    let nodes = world.agents(
        1,
        &Manner {
            held: true,
            loses_track: true,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.sim.disconnect(&nodes[0]);
    let events = world.over(job).await;
    world.sim.let_go();
    world.sim.leave_outcome(&nodes[0]);
    world.sim.connect(&nodes[0]);
    world
        .until("both are acknowledged", |world| {
            world.sim.all_acknowledged(&nodes[0])
        })
        .await;
    assert_eq!(world.store.events(job, 0, 100).await.unwrap(), events);
}

#[tokio::test]
async fn a_node_cannot_speak_for_another() {
    let world = World::with(patient()).await;
    let nodes = world.agents(2, &Manner::held());
    let job = world.run(request(&nodes[..1])).await;
    world.executing(1).await;
    let transaction_id = world.sim.requests()[0].1.clone();
    let lie = ActionResult {
        stdout: Some("owned".to_owned()),
        ..ActionResult::default()
    };
    let results = action::encode(&lie);
    let forged = PxpMessageBody::NonBlockingResponse(PxpResponse {
        transaction_id,
        results,
    });
    world.sim.say(&nodes[1], forged).await;
    let forged = &world.jobs().metrics().forged_messages;
    world.until("it is seen", |_| forged.get() == 1).await;
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.only_run(job).await.1["_output"], "done\n");
}

#[tokio::test]
async fn outcomes_that_come_twice_count_once() {
    let world = World::new().await;
    let nodes = world.agents(
        20,
        &Manner {
            doubles: 100,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let events = world.over(job).await;
    for node in &nodes {
        world.sim.repeat_outcomes(node).await;
    }
    world
        .until("all is acknowledged", |world| {
            nodes.iter().all(|node| world.sim.all_acknowledged(node))
        })
        .await;
    assert_eq!(world.store.events(job, 0, 1_000).await.unwrap(), events);
    assert_eq!(events.len(), 41);
}

#[tokio::test]
async fn a_lost_request_is_sent_again_only_to_an_agent_that_proves_it() {
    let world = World::with(quick()).await;
    let nodes = world.agents(
        2,
        &Manner {
            loses_requests: 100,
            ..Manner::default()
        },
    );
    world.sim.change(&nodes[1], |manner| manner.stock = true);
    // Announced anew, as what they are.
    nodes.iter().for_each(|node| world.sim.connect(node));
    let job = world.run(request(&nodes)).await;
    world
        .until("both were lost", |world| world.sim.requests().len() >= 2)
        .await;
    nodes
        .iter()
        .for_each(|node| world.sim.change(node, |manner| manner.loses_requests = 0));
    world.over(job).await;
    let runs = world.runs(job).await;
    assert_eq!(runs[0].state, "finished");
    assert_eq!(runs[1].state, "errored");
    assert!(
        runs[1]
            .result
            .as_deref()
            .unwrap()
            .contains("tutti/outcome-unknown")
    );
    let sent: Vec<_> = world
        .sim
        .requests()
        .into_iter()
        .filter(|(node, _)| *node == nodes[0])
        .collect();
    assert!(
        sent.windows(2).all(|pair| pair[0].1 == pair[1].1),
        "the same transaction"
    );
}

#[tokio::test]
async fn the_outcome_that_a_stock_agent_lost_is_found_by_asking() {
    let world = World::with(quick()).await;
    let manner = Manner {
        stock: true,
        loses_outcomes: 100,
        ..Manner::default()
    };
    let nodes = world.agents(3, &manner);
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
}

#[tokio::test]
async fn a_full_queue_is_tried_again() {
    let world = World::with(quick()).await;
    let nodes = world.agents(
        1,
        &Manner {
            busy: 3,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(world.sim.executions().len(), 1);
}

#[tokio::test]
async fn a_refusal_and_a_broker_that_lost_the_node_are_told_as_such() {
    let world = World::with(patient()).await;
    let nodes = world.agents(2, &Manner::default());
    world.sim.change(&nodes[0], |manner| manner.refuses = true);
    world
        .sim
        .change(&nodes[1], |manner| manner.not_connected_message = true);
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let runs = world.runs(job).await;
    let result = |index: usize| runs[index].result.clone().unwrap();
    assert!(result(0).contains("unknown module: task"), "{}", result(0));
    assert!(result(1).contains("is not connected"), "{}", result(1));
    assert!(runs.iter().all(|run| run.state == "errored"));
    assert!(world.sim.executions().is_empty());
}

#[tokio::test]
async fn a_large_result_arrives_whole() {
    let world = World::new().await;
    let text = "x".repeat(3_000_000);
    let result = ActionResult {
        stdout: Some(text.clone()),
        ..ActionResult::default()
    };
    let nodes = world.agents(
        2,
        &Manner {
            result: Some(result),
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    for run in world.runs(job).await {
        let result: serde_json::Value = serde_json::from_str(&run.result.unwrap()).unwrap();
        assert!(result["_output"] == text.as_str());
    }
}
