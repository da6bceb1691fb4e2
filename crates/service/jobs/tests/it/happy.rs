//! What an operator sees when nothing goes wrong, and when a node is not there.

use std::collections::BTreeMap;

use pxp::action::ActionResult;
use serde_json::json;

use crate::sim::Manner;
use crate::world::{World, names, params, request, with_task};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_nodes_run_a_task_once_each() {
    let world = World::new().await;
    let nodes = world.agents(1_000, &Manner::default());
    let job = world.run(request(&nodes)).await;
    let events = world.over(job).await;

    assert_eq!(world.state(job).await, "finished");
    let runs = world.runs(job).await;
    assert!(runs.iter().all(|run| run.state == "finished"));
    assert!(
        runs.iter()
            .all(|run| run.result.as_deref() == Some(r#"{"_output":"done\n"}"#))
    );
    let executions = world.sim.executions();
    assert_eq!(executions.len(), 1_000);
    assert!(executions.values().all(|count| *count == 1));

    let mut kinds = BTreeMap::new();
    for event in &events {
        *kinds.entry(event.kind.as_str()).or_insert(0) += 1;
    }
    let expected = [
        ("job_finished", 1),
        ("node_finished", 1_000),
        ("node_running", 1_000),
    ];
    assert_eq!(kinds, BTreeMap::from(expected));
    assert_eq!(events.last().unwrap().kind, "job_finished");
    assert!(events.is_sorted_by(|a, b| a.id < b.id));
    let states = world.store.job_states(job).await.unwrap();
    let states: Vec<&str> = states.iter().map(|row| row.state.as_str()).collect();
    assert_eq!(states, ["ready", "running", "finished"]);

    world
        .until("all is acknowledged", |world| {
            nodes.iter().all(|node| world.sim.all_acknowledged(node))
        })
        .await;
}

#[tokio::test]
async fn nodes_that_are_not_connected_are_errored_at_once_with_the_reason() {
    let world = World::new().await;
    let mut nodes = world.agents(1, &Manner::default());
    nodes.extend(["away.example.com".parse().unwrap()]);
    let job = world.run(request(&nodes)).await;
    world.over(job).await;

    assert_eq!(world.state(job).await, "failed");
    let runs = world.runs(job).await;
    assert_eq!(runs[0].state, "errored");
    let result = runs[0].result.as_deref().unwrap();
    assert!(
        result.contains("away.example.com is not connected"),
        "{result}"
    );
    assert!(
        result.contains("puppetlabs.orchestrator/execution-failure"),
        "{result}"
    );
    assert_eq!(runs[1].state, "finished");
}

#[tokio::test]
async fn a_job_of_which_no_node_is_there_is_over_in_the_transaction_that_makes_it() {
    let world = World::new().await;
    let job = world.run(request(&names(3))).await;
    assert_eq!(world.state(job).await, "failed");
    let kinds: Vec<String> = world
        .over(job)
        .await
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            "node_errored",
            "node_errored",
            "node_errored",
            "job_finished"
        ]
    );
}

#[tokio::test]
async fn a_failed_task_fails_its_run_and_its_job() {
    let world = World::new().await;
    let result = ActionResult {
        exitcode: 2,
        stderr: Some("disk full".to_owned()),
        ..ActionResult::default()
    };
    let nodes = world.agents(
        1,
        &Manner {
            result: Some(result),
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let events = world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "failed");
    assert_eq!(result["_error"]["details"], json!({"exit_code": 2}));
    assert_eq!(world.state(job).await, "failed");
    assert!(events[1].message.contains("disk full"), "{:?}", events[1]);
}

#[tokio::test]
async fn agents_get_the_files_the_defaults_and_the_orchestrators_own_parameters() {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    let job = world
        .run(with_task(request(&nodes), |task| {
            task.name = "test::typed".parse().unwrap();
            task.params = params(json!({"name": "x"}));
            task.noop = true;
        }))
        .await;
    world.over(job).await;
    let sent = world.sim.seen_params().pop().unwrap();
    let input = json!({"name": "x", "count": 3, "_task": "test::typed", "_noop": true});
    assert_eq!(serde_json::Value::Object(sent.input), input);
    let file = &sent.files[0];
    assert_eq!(file.uri.path, "/puppet/v3/file_content/tasks/test/typed.sh");
    assert_eq!(file.uri.params["environment"], "production");
    assert_eq!(file.uri.params["sha256"], file.sha256.to_string());
}

#[tokio::test]
async fn a_node_named_twice_runs_once() {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    let twice = [nodes[0].clone(), nodes[0].clone()];
    let job = world.run(request(&twice)).await;
    world.over(job).await;
    assert_eq!(world.runs(job).await.len(), 1);
    assert_eq!(world.sim.executions().len(), 1);
}

#[tokio::test]
async fn a_finished_job_can_still_be_followed() {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    let job = world.run(request(&nodes)).await;
    let first = world.over(job).await;
    assert_eq!(world.over(job).await, first);
    let mut live = world.jobs().subscribe_live(job, first[1].id).await;
    let mut again = Vec::new();
    while let Some(jobs::LiveEvent::Event(event)) = live.next().await.unwrap() {
        again.push(event);
    }
    assert_eq!(again, first[1..]);
}
