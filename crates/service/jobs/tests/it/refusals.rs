//! Requests that are refused, with everything that is wrong, and change nothing.

use std::time::Duration;

use environments::CodeError;
use jobs::{JobSpec, RunJobError, TaskWork};
use serde_json::json;

use crate::sim::Manner;
use crate::world::{World, params, request};

async fn refused(change: impl FnOnce(&mut JobSpec)) -> RunJobError {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    let mut asked = request(&nodes);
    change(&mut asked);
    let error = world.jobs().run(asked).await.unwrap_err();
    assert!(world.store.unfinished_jobs().await.unwrap().is_empty());
    assert_eq!(world.store.last_event_id().await.unwrap(), 0);
    assert!(world.sim.requests().is_empty());
    error
}

async fn refused_task(change: impl FnOnce(&mut TaskWork)) -> RunJobError {
    refused(|asked| change(asked.work.task_mut().unwrap())).await
}

#[tokio::test]
async fn a_scope_without_nodes() {
    let error = refused(|asked| asked.scope = jobs::NodeScope::Nodes(Vec::new())).await;
    assert!(matches!(
        error,
        RunJobError::Scope(jobs::ScopeError::EmptyTarget)
    ));
}

#[tokio::test]
async fn names_of_what_is_not_there() {
    let error = refused_task(|task| task.name = "test::nothing".parse().unwrap()).await;
    let unknown = matches!(error, RunJobError::Code(CodeError::UnknownTask { .. }));
    assert!(unknown, "{error}");
    let error = refused_task(|task| task.environment = "nowhere".parse().unwrap()).await;
    let unknown = matches!(
        error,
        RunJobError::Code(CodeError::UnknownEnvironment { .. })
    );
    assert!(unknown, "{error}");
}

#[tokio::test]
async fn all_wrong_parameters_at_once_and_never_their_values() {
    let error = refused_task(|task| {
        task.name = "test::typed".parse().unwrap();
        task.params = params(json!({
            "count": 10, "mode": "hunter2", "what": "hunter2", "_noop": true, "password": 5,
        }));
    })
    .await;
    let RunJobError::Parameters { problems, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 6, "{problems:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test]
async fn noop_where_the_task_cannot() {
    let error = refused_task(|task| task.noop = true).await;
    assert!(matches!(error, RunJobError::NoopUnsupported(_)));
}

#[tokio::test]
async fn limits_that_make_no_sense() {
    let error = refused(|asked| asked.limits.concurrency = Some(0)).await;
    assert!(matches!(error, RunJobError::Limit(_)));
    for timeout in [Duration::ZERO, Duration::from_secs(u64::MAX)] {
        let error = refused(|asked| asked.limits.timeout = Some(timeout)).await;
        assert!(matches!(error, RunJobError::Limit(_)));
    }
}
