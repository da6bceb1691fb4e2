//! Requests that are refused, with everything that is wrong, and change nothing.

use std::time::Duration;

use jobs::{RunTaskError, TaskRequest};
use serde_json::json;

use crate::sim::Manner;
use crate::world::{World, params, request};

async fn refused(change: impl FnOnce(&mut TaskRequest)) -> RunTaskError {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    let mut asked = request(&nodes);
    change(&mut asked);
    let error = world.jobs().run_task(asked).await.unwrap_err();
    assert!(world.store.unfinished_jobs().await.unwrap().is_empty());
    assert_eq!(world.store.last_event_id().await.unwrap(), 0);
    assert!(world.sim.requests().is_empty());
    error
}

#[tokio::test]
async fn a_scope_without_nodes() {
    let error = refused(|asked| asked.scope = jobs::NodeScope::Nodes(Vec::new())).await;
    assert!(matches!(
        error,
        RunTaskError::Scope(jobs::ScopeError::EmptyTarget)
    ));
}

#[tokio::test]
async fn names_of_what_is_not_there() {
    let error = refused(|asked| asked.task = "test::nothing".to_owned()).await;
    assert!(matches!(error, RunTaskError::UnknownTask(_)), "{error}");
    let error = refused(|asked| asked.environment = "nowhere".to_owned()).await;
    assert!(
        matches!(error, RunTaskError::UnknownEnvironment(_)),
        "{error}"
    );
}

#[tokio::test]
async fn names_that_are_none() {
    for name in ["../../etc/passwd", "", "a::b::c", "Test", "a\0b"] {
        let error = refused(|asked| asked.task = name.to_owned()).await;
        assert!(
            matches!(error, RunTaskError::TaskName { .. }),
            "{name:?}: {error}"
        );
        let error = refused(|asked| asked.environment = format!("../{name}")).await;
        assert!(
            matches!(error, RunTaskError::EnvironmentName { .. }),
            "{name:?}: {error}"
        );
    }
}

#[tokio::test]
async fn all_wrong_parameters_at_once_and_never_their_values() {
    let error = refused(|asked| {
        asked.task = "test::typed".to_owned();
        asked.params = params(json!({
            "count": 10, "mode": "hunter2", "what": "hunter2", "_noop": true, "password": 5,
        }));
    })
    .await;
    let RunTaskError::Parameters { problems, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 6, "{problems:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test]
async fn noop_where_the_task_cannot() {
    let error = refused(|asked| asked.noop = true).await;
    assert!(matches!(error, RunTaskError::NoopUnsupported(_)));
}

#[tokio::test]
async fn limits_that_make_no_sense() {
    let error = refused(|asked| asked.concurrency = Some(0)).await;
    assert!(matches!(error, RunTaskError::Limit(_)));
    for timeout in [Duration::ZERO, Duration::from_secs(u64::MAX)] {
        let error = refused(|asked| asked.timeout = Some(timeout)).await;
        assert!(matches!(error, RunTaskError::Limit(_)));
    }
}
