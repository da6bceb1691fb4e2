//! The server dies and comes back.

use std::time::Duration;

use jobs::JobsConfig;
use store::JobRunChange;

use crate::sim::Manner;
use crate::world::{World, at_once, patient, quick, request};

#[tokio::test]
async fn runs_that_were_in_flight_are_asked_about_and_not_run_again() {
    let mut world = World::with(quick()).await;
    let nodes = world.agents(5, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(5).await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert!(world.sim.executions().values().all(|count| *count == 1));
    assert_eq!(world.sim.requests().len(), 5);
}

#[tokio::test]
async fn runs_that_waited_are_sent_after_the_restart_with_their_parameters() {
    let mut world = World::with(quick()).await;
    let nodes = world.agents(4, &Manner::held());
    let job = world.run(at_once(1, &nodes)).await;
    world.executing(1).await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    let sent = world.sim.seen_params();
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|params| *params == sent[0]));
}

/// The mark was committed and the server died before it sent the request.
async fn marked_but_not_sent(manner: Manner, lose_spool: bool) -> (World, String, usize) {
    let mut world = World::with(patient()).await;
    let nodes = world.agents(
        2,
        &Manner {
            held: true,
            ..manner
        },
    );
    let job = world.run(at_once(1, &nodes)).await;
    world.executing(1).await;
    world.kill().await;
    let mut runs = world.runs(job).await;
    let other = runs
        .pop()
        .filter(|run| run.state == "ready")
        .or(runs.pop())
        .unwrap();
    let mark = store::RunChange {
        job,
        certname: other.certname.clone(),
        to_state: "running".to_owned(),
        at_ms: jiff::Timestamp::now().as_millisecond(),
        duration_ms: None,
        result: None,
        details: world.sim.mark_of(&other.certname.parse().unwrap()),
        sealed: None,
        event: None,
    };
    world
        .store
        .commit(vec![JobRunChange::Run(mark)])
        .await
        .unwrap();
    if lose_spool {
        world.sim.lose_spool(&other.certname.parse().unwrap());
    }
    world.sim.let_go();
    world.config = quick();
    world.start().await;
    world.over(job).await;
    let runs = world.runs(job).await;
    let run = runs
        .into_iter()
        .find(|run| run.certname == other.certname)
        .unwrap();
    let executed = world.sim.executions().len();
    (
        world,
        format!("{} {}", run.state, run.result.unwrap()),
        executed,
    )
}

#[tokio::test]
async fn a_tutti_agent_proves_that_it_never_got_the_request_and_gets_it() {
    let (_world, run, executed) = marked_but_not_sent(Manner::default(), false).await;
    assert!(run.starts_with("finished"), "{run}");
    assert_eq!(executed, 2);
}

#[tokio::test]
async fn an_agent_with_a_new_spool_proves_nothing() {
    let (_world, run, executed) = marked_but_not_sent(Manner::default(), true).await;
    assert!(
        run.starts_with("errored") && run.contains("tutti/outcome-unknown"),
        "{run}"
    );
    assert_eq!(executed, 1);
}

#[tokio::test]
async fn a_stock_agent_proves_nothing() {
    let stock = Manner {
        stock: true,
        ..Manner::default()
    };
    let (_world, run, executed) = marked_but_not_sent(stock, false).await;
    assert!(
        run.starts_with("errored") && run.contains("tutti/outcome-unknown"),
        "{run}"
    );
    assert_eq!(executed, 1);
}

#[tokio::test]
async fn a_node_that_never_comes_back_is_given_up() {
    let mut world = World::with(quick()).await;
    let nodes = world.agents(2, &Manner::held());
    let job = world.run(at_once(1, &nodes)).await;
    world.executing(1).await;
    world.kill().await;
    world.boot().await;
    world.over(job).await;
    let mut results: Vec<String> = world
        .runs(job)
        .await
        .into_iter()
        .map(|run| run.result.unwrap())
        .collect();
    results.sort();
    assert!(
        results
            .iter()
            .any(|result| result.contains("tutti/outcome-unknown")),
        "{results:?}"
    );
    assert!(
        results
            .iter()
            .any(|result| result.contains("is not connected")),
        "{results:?}"
    );
    assert_eq!(world.sim.executions().len(), 1);
}

#[tokio::test]
async fn a_job_that_was_stopping_goes_on_stopping() {
    let mut world = World::with(patient()).await;
    let nodes = world.agents(3, &Manner::held());
    let job = world.run(at_once(1, &nodes)).await;
    world.executing(1).await;
    world.jobs().stop(job, false).await.unwrap();
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "stopped");
    assert_eq!(events.last().unwrap().kind, "job_finished");
    assert_eq!(world.sim.executions().len(), 1);
}

#[tokio::test]
async fn shutdown_leaves_runs_in_flight_to_the_next_start() {
    let mut world = World::with(JobsConfig {
        run_timeout: Duration::from_secs(60),
        ..quick()
    })
    .await;
    let nodes = world.agents(2, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(2).await;
    world.jobs().shutdown().await;
    let refused = world.jobs().run(request(&nodes)).await;
    assert!(matches!(
        refused,
        Err(jobs::RunJobError::Submit(
            jobs::JobSubmitError::ShuttingDown
        ))
    ));
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(world.sim.executions().len(), 2);
}
