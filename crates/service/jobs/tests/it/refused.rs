//! A store that refuses: one change for good, or everything.

use jobs::EngineLost;
use store::{JobNumber, StoreError};

use crate::sim::Manner;
use crate::world::{World, patient, request};

/// Makes the database refuse a state of one node's runs.
fn refuse(world: &World, node: &str, state: &str) {
    let database = rusqlite::Connection::open(world.dir.path().join("tutti.db")).unwrap();
    database
        .busy_timeout(std::time::Duration::from_secs(30))
        .unwrap();
    let trigger = format!(
        "CREATE TRIGGER refuse_{state} BEFORE UPDATE ON runs \
         WHEN NEW.certname = '{node}' AND NEW.state = '{state}' \
         BEGIN SELECT RAISE(ABORT, 'not this one'); END"
    );
    database.execute_batch(&trigger).unwrap();
}

fn count_of_refused(world: &World) -> u64 {
    world.jobs().metrics().refused_changes.get()
}

async fn late_outcomes(world: &World, job: JobNumber) -> usize {
    let events = world.store.events(job, 0, 1_000).await.unwrap();
    events
        .iter()
        .filter(|event| event.kind == jobs::NODE_LATE_OUTCOME)
        .count()
}

#[tokio::test]
async fn an_outcome_that_the_store_refuses_errors_its_run_and_holds_up_nothing() {
    let world = World::with(patient()).await;
    let nodes = world.agents(40, &Manner::default());
    refuse(&world, nodes[7].as_str(), "finished");
    let job = world.run(request(&nodes)).await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    assert_eq!(events.last().unwrap().kind, "job_finished");
    for run in world.runs(job).await {
        if run.certname == nodes[7].as_str() {
            assert_eq!(run.state, "errored");
            assert!(run.result.unwrap().contains(jobs::KIND_UNKNOWN));
        } else {
            assert_eq!(run.state, "finished");
        }
    }
    assert_eq!(count_of_refused(&world), 1);
    // A slow engine asks for the status before the outcome comes: then the agent's answer tells it a
    // second time, after the run has ended. It is safe in the log before the agent may forget it.
    if world.sim.all_acknowledged(&nodes[7]) {
        assert_eq!(late_outcomes(&world, job).await, 1);
    }
    world.sim.disconnect(&nodes[7]);
    world.sim.connect(&nodes[7]);
    world
        .until("the outcome is safe", |world| {
            world.sim.all_acknowledged(&nodes[7])
        })
        .await;
    assert_eq!(late_outcomes(&world, job).await, 1);
}

#[tokio::test]
async fn a_mark_that_the_store_refuses_is_a_request_that_is_never_sent() {
    let mut config = patient();
    config.task_concurrency = 1;
    let world = World::with(config).await;
    let nodes = world.agents(3, &Manner::default());
    refuse(&world, nodes[1].as_str(), "running");
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let states: Vec<_> = world
        .runs(job)
        .await
        .into_iter()
        .map(|run| run.state)
        .collect();
    assert_eq!(states, ["finished", "errored", "finished"]);
    assert_eq!(world.sim.executions().len(), 2);
    assert_eq!(count_of_refused(&world), 1);
}

#[tokio::test]
async fn a_run_whose_every_end_is_refused_does_not_keep_its_job_from_ending() {
    let world = World::with(patient()).await;
    let nodes = world.agents(2, &Manner::default());
    refuse(&world, nodes[0].as_str(), "finished");
    refuse(&world, nodes[0].as_str(), "errored");
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    assert_eq!(count_of_refused(&world), 2);
    // The next job is not held up.
    let next = world.run(request(&nodes[1..])).await;
    world.over(next).await;
    assert_eq!(world.state(next).await, "finished");
}

#[tokio::test]
async fn a_store_that_takes_nothing_any_more_ends_the_engine() {
    let world = World::with(patient()).await;
    let nodes = world.agents(1, &Manner::held());
    world.run(request(&nodes)).await;
    world.executing(1).await;
    world.store.close().await;
    world.sim.let_go();
    let error = world.jobs().wait_until_lost().await;
    assert!(
        matches!(error, EngineLost::Store(StoreError::Closed)),
        "{error}"
    );
    let refused = world.jobs().run(request(&nodes)).await;
    assert!(
        matches!(
            refused,
            Err(jobs::RunJobError::Submit(
                jobs::JobSubmitError::ShuttingDown
            ))
        ),
        "{refused:?}"
    );
    world.jobs().shutdown().await;
}
