//! Programs and forges that are notified of the end of deployments.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, StatusCode, Uri};
use code_deployments::post_hook::PostHook;
use code_deployments::postrun::PostrunCommand;
use code_deployments::service::{
    Deployment, DeploymentAction, DeploymentListeners, DeploymentObserver, DeploymentState,
};
use forges::commit_statuses::{CommitStatusSettings, CommitStatuses};
use forges::incoming_webhooks::ForgeKind;
use optional_feature::Feature;
use serde_json::{Value, json};

use crate::service::{DEPLOY, Service};
use crate::world::World;

/// A server that accepts all requests, after a configured number of failures.
struct Outside {
    address: String,
    state: Arc<Mutex<Taken>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Taken {
    requests: Vec<(String, HeaderMap, Value)>,
    failures: Vec<StatusCode>,
}

impl Outside {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<Taken>> = Arc::default();
        let app = Router::new().fallback(take).with_state(Arc::clone(&state));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            address,
            state,
            task,
        }
    }

    fn fail(&self, statuses: &[StatusCode]) {
        self.state.lock().unwrap().failures = statuses.to_vec();
    }

    /// Returns the requests since the last call.
    fn taken(&self) -> Vec<(String, HeaderMap, Value)> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    /// Returns the states in the requests since the last call.
    fn words(&self) -> Vec<String> {
        let taken = self.taken().into_iter();
        taken
            .map(|(_, _, body)| body["state"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(
    Shared(state): Shared<Arc<Mutex<Taken>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let mut state = state.lock().unwrap();
    let body = serde_json::from_slice(&body).unwrap();
    state.requests.push((uri.to_string(), headers, body));
    match state.failures.is_empty() {
        true => StatusCode::CREATED,
        false => state.failures.remove(0),
    }
}

async fn service(observer: impl DeploymentObserver + 'static) -> Service {
    let others = DeploymentListeners {
        observers: vec![Arc::new(observer)],
        ..DeploymentListeners::default()
    };
    Box::pin(Service::beside(World::new(), others)).await
}

fn notes(deployment: &Deployment) -> &[String] {
    &deployment.outcome.as_ref().unwrap().notes
}

fn statuses(outside: &Outside) -> CommitStatuses {
    let settings = CommitStatusSettings {
        host: ForgeKind::GitHub,
        token: Feature::with_value("secret".to_owned().into()),
        api: Some(outside.address.parse().unwrap()),
        repository: Some("ops/control".to_owned()),
        link: None,
    };
    let remotes = HashMap::from([("main".to_owned(), "/somewhere/control".to_owned())]);
    CommitStatuses::new(HashMap::from([("main".to_owned(), settings)]), &remotes).unwrap()
}

#[tokio::test]
async fn a_hook_gets_what_the_api_answers() {
    let outside = Outside::start().await;
    let hook = PostHook::new(&format!("{}/deployed?key=s3cret", outside.address), None).unwrap();
    let service = service(hook).await;
    let dry = DeploymentAction::Deploy { dry_run: true };
    service.act("production", dry).await;
    assert!(outside.taken().is_empty(), "nothing happened");
    let done = service.act("production", DEPLOY).await;
    let [(uri, _, body)] = &outside.taken()[..] else {
        panic!("one is told")
    };
    assert_eq!(uri, "/deployed?key=s3cret");
    let mut told = body.clone();
    let mut shown = json!(done.clone().into_code_deploy(Vec::new()));
    // a deployment ends after its hook was told
    for document in [&mut told, &mut shown] {
        let end = document["deployment"]["finished_timestamp"].take();
        assert!(end.is_string(), "{document}");
    }
    assert_eq!(told, shown);
    assert_eq!(body["status"], "complete");
    assert_eq!(
        body["file-sync"]["environment-commit"],
        json!(done.signature)
    );

    outside.fail(&[
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::TOO_MANY_REQUESTS,
    ]);
    let failed = service.act("nowhere", DEPLOY).await;
    let told = outside.taken();
    assert_eq!(told.len(), 3, "again, until it is taken");
    assert_eq!(
        told[2].2["error"]["msg"],
        json!(failed.outcome.unwrap().error.unwrap().msg)
    );
}

#[tokio::test]
async fn a_hook_that_takes_nothing_changes_nothing() {
    let outside = Outside::start().await;
    let hook = PostHook::new(&format!("{}/deployed?key=s3cret", outside.address), None).unwrap();
    let service = service(hook).await;
    outside.fail(&[StatusCode::FORBIDDEN]);
    let done = service.act("production", DEPLOY).await;
    assert_eq!(done.state, DeploymentState::Synced);
    let expected = "the hook at 127.0.0.1 was not told: it answers 403 Forbidden";
    assert_eq!(notes(&done), [expected]);
    assert_eq!(outside.taken().len(), 1, "it would say the same again");
    drop(outside);
    let done = service.act("production", DEPLOY).await;
    assert_eq!(done.state, DeploymentState::Synced);
    let [note] = notes(&done) else { panic!() };
    assert!(note.contains("was not told"), "{note}");
    assert!(!note.contains("s3cret"), "{note}");
}

#[tokio::test]
async fn a_forge_shows_how_the_deployment_of_a_commit_went() {
    let outside = Outside::start().await;
    let service = service(statuses(&outside)).await;
    let done = service.act("production", DEPLOY).await;
    let commit = done.outcome.unwrap().control_commit.unwrap();
    let told = outside.taken();
    let uris: Vec<&str> = told.iter().map(|(uri, ..)| uri.as_str()).collect();
    let uri = format!("/repos/ops/control/statuses/{commit}");
    assert_eq!(uris, [&uri, &uri]);
    assert_eq!(told[0].1["authorization"], "Bearer secret");
    assert_eq!(told[0].2["state"], "pending");
    assert_eq!(told[1].2["state"], "success");
    assert_eq!(told[1].2["context"], "tutti/production");

    service.act("production", DEPLOY).await;
    assert!(outside.taken().is_empty(), "it is known");
    let control = service.world.control();
    control
        .write("Puppetfile", "mod 'apt', git: '/nowhere/apt', ref: 'x'\n")
        .commit();
    let failed = service.act("production", DEPLOY).await;
    assert_eq!(failed.state, DeploymentState::Failed);
    assert_eq!(outside.words(), ["pending", "failure"]);
    control.git(&["revert", "--no-edit", "HEAD"]);
    service
        .act("production", DeploymentAction::Deploy { dry_run: true })
        .await;
    assert!(outside.taken().is_empty(), "a dry run deploys nothing");
}

#[tokio::test]
async fn a_forge_that_refuses_is_in_the_record_and_told_the_next_time() {
    let outside = Outside::start().await;
    let service = service(statuses(&outside)).await;
    outside.fail(&[StatusCode::UNAUTHORIZED; 2]);
    let done = service.act("production", DEPLOY).await;
    assert_eq!(done.state, DeploymentState::Synced);
    let [note] = notes(&done) else { panic!() };
    assert!(
        note.contains("401 Unauthorized; look at the token"),
        "{note}"
    );
    assert_eq!(outside.words(), ["pending", "success"]);
    let done = service.act("production", DEPLOY).await;
    assert_eq!(notes(&done), [""; 0]);
    assert_eq!(outside.words(), ["pending", "success"]);
}

#[tokio::test]
async fn postrun_runs_after_what_changed_something() {
    let directory = tempfile::tempdir().unwrap();
    let told = directory.path().join("told");
    let script = format!("echo $0 >> {0}; [ $(wc -l < {0}) = 1 ]", told.display());
    let command = ["sh", "-c", &script, "$modifiedenvs"].map(str::to_owned);
    let service = service(PostrunCommand::new(&command).unwrap()).await;
    service
        .act("production", DeploymentAction::Deploy { dry_run: true })
        .await;
    service.act("nowhere", DEPLOY).await;
    assert!(!told.exists(), "nothing is live");
    let done = service.act("production", DEPLOY).await;
    assert_eq!(notes(&done), [""; 0]);
    service.act("production", DEPLOY).await;
    let said = || std::fs::read_to_string(&told).unwrap();
    assert_eq!(said(), "production\n", "nothing changed");
    service.commit("2");
    let done = service.act("production", DEPLOY).await;
    assert_eq!(said(), "production\nproduction\n");
    assert_eq!(done.state, DeploymentState::Synced);
    let [note] = notes(&done) else { panic!() };
    assert!(note.contains("postrun (sh): exit status: 1"), "{note}");
}
