//! `/code-manager/v1` and `/tutti/v1/code` over real repositories.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use api::{CodeDeploymentParts, CodeService};
use api_types::Route;
use async_trait::async_trait;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use code_deployments::service::{CodeUser, DeploymentListeners, VersionsInUse};
use code_deployments::{CodeManager, Deployer};
use code_settings::DeploymentSettings;
use code_sources::git::GitProgram;
use code_sources::source::EnvironmentSource;
use code_store::version::VersionSignature;
use environments::EnvironmentName;
use file_sync::{FileSync, FileSyncSettings};
use forges::incoming_webhooks::WebhookSecret;
use http::{Request, StatusCode};
use optional_feature::Feature;
use rbac::{PermissionGrant, RoleSpec, TokenRequest, UserSpec};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::world::{Reply, World};

const DEPLOYS: &str = "/code-manager/v1/deploys";
const STATUS: &str = "/code-manager/v1/deploys/status";
const WEBHOOK: &str = "/code-manager/v1/webhook";
const QUEUE: &str = "/api/v1/queue";
const CODE: &str = "/tutti/v1/code";
const SECRET: &str = "a secret of webhooks";

/// A valid request for each route of this file.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let none = || String::new();
    Some(match route.operation_id {
        "code_deploys" => {
            let body = json!({"environments": ["production"], "dry-run": true});
            (DEPLOYS, body.to_string())
        }
        "code_status" => (STATUS, none()),
        // A tag is not an environment: nothing is deployed, so no permission is needed.
        "code_webhook" => (
            "/code-manager/v1/webhook?type=github",
            json!({"ref": "refs/tags/v1"}).to_string(),
        ),
        "code_webhook_r10k" => (
            "/api/v1/r10k/environment?type=github",
            json!({"ref": "refs/tags/v1"}).to_string(),
        ),
        "code_webhook_module" => (
            "/api/v1/r10k/module?type=github",
            json!({"ref": "refs/tags/v1"}).to_string(),
        ),
        "code_webhook_queue" => (QUEUE, none()),
        "webhook_go_health" => ("/health", none()),
        "code_history" => ("/tutti/v1/code/history", none()),
        "code_versions" => ("/tutti/v1/code/versions", none()),
        "code_diff" => ("/tutti/v1/code/diff?environment=production", none()),
        "code_rollback" => (
            "/tutti/v1/code/rollback",
            json!({"environment": "production"}).to_string(),
        ),
        "code_promote" => (
            "/tutti/v1/code/promote",
            json!({"from": "production", "to": "staging"}).to_string(),
        ),
        "code_pin" => (
            "/tutti/v1/code/pin",
            json!({"environment": "staging"}).to_string(),
        ),
        "code_unpin" => (
            "/tutti/v1/code/unpin",
            json!({"environment": "staging"}).to_string(),
        ),
        "code_gc" => ("/tutti/v1/code/gc", json!({"dry_run": true}).to_string()),
        "code_verify" => ("/tutti/v1/code/verify", json!({}).to_string()),
        "file_sync_commit" => ("/file-sync/v1/commit", staged()),
        "file_sync_publish" => ("/file-sync/v1/publish", staged()),
        "file_sync_force" => ("/file-sync/v1/force-sync", json!({}).to_string()),
        "file_sync_latest" => ("/file-sync/v1/latest-commits", none()),
        "file_sync_check_in" => ("/file-sync/v1/check-in", json!({}).to_string()),
        "file_sync_versions" => ("/file-sync/v1/versions", none()),
        "file_sync_manifest" => ("/file-sync/v1/manifests/production/0", none()),
        "file_sync_blob" => ("/file-sync/v1/blobs/sha256/0", none()),
        _ => return None,
    })
}

fn staged() -> String {
    json!({"repo-id": "puppet-code", "submodule-id": "staged"}).to_string()
}

#[derive(Debug)]
struct Nothing;

#[async_trait]
impl VersionsInUse for Nothing {
    async fn versions(&self) -> Result<HashSet<(EnvironmentName, VersionSignature)>, String> {
        Ok(HashSet::new())
    }

    async fn code_users(&self) -> Result<Vec<(CodeUser, EnvironmentName)>, String> {
        Ok(Vec::new())
    }

    async fn wait_for_finished_user(&self) {
        std::future::pending().await
    }
}

/// A service over a repository with the branch `production`. Two versions of `production` are on
/// the server, and one of `staging`. These environments are separate from those of the tasks.
pub(crate) async fn start(world: &World) -> CodeService {
    let root = world.dir.path();
    git(
        root,
        &["init", "--quiet", "--initial-branch=production", "control"],
    );
    let mut settings = DeploymentSettings::new(root.join("deploys"), root.join("live"));
    let remote = control(world).display().to_string();
    settings.sources = vec![Arc::new(EnvironmentSource::new("main", remote))];
    settings.staging = Some(root.join("staging"));
    let staged = root.join("staging/environments/staged/manifests");
    std::fs::create_dir_all(&staged).expect("made");
    std::fs::write(staged.join("site.pp"), "notify { 'hello': }\n").expect("written");
    let deployer = Deployer::open(settings, GitProgram::default()).expect("opened");
    let (store, versions) = (world.store.clone(), deployer.versions().clone());
    let followed = FileSyncSettings {
        lease: Duration::from_secs(60),
        timeout: Duration::from_secs(2),
    };
    let file_sync = FileSync::start(followed, store.clone(), versions).await;
    let others = DeploymentListeners {
        file_sync: Some(file_sync.expect("started")),
        ..DeploymentListeners::default()
    };
    let manager = CodeManager::start(deployer, store, Arc::new(Nothing), others);
    let manager = manager.await.expect("started");
    for version in ["1", "2"] {
        commit(world, version);
        deploy(&manager).await;
    }
    let production: EnvironmentName = "production".parse().expect("a name");
    let signature = manager.versions().live_version(&production).expect("live");
    let from = production;
    let promote = code_deployments::service::DeploymentAction::Promote { from, signature };
    let wanted = vec![("staging".parse().expect("a name"), promote)];
    ended(&manager, wanted).await;
    let started = CodeDeploymentParts {
        manager,
        features: Vec::new(),
    };
    let secret = WebhookSecret::new(SECRET).expect("long enough");
    CodeService::new(
        Feature::with_value(started),
        Some(Feature::with_value(secret)),
    )
}

async fn deploy(manager: &CodeManager) {
    let action = code_deployments::service::DeploymentAction::Deploy { dry_run: false };
    ended(
        manager,
        vec![("production".parse().expect("a name"), action)],
    )
    .await;
}

async fn ended(
    manager: &CodeManager,
    wanted: Vec<(EnvironmentName, code_deployments::service::DeploymentAction)>,
) {
    let submitted = manager
        .submit(wanted, Default::default())
        .await
        .expect("taken");
    for end in submitted.ends {
        end.await.expect("it ends");
    }
}

fn control(world: &World) -> PathBuf {
    world.dir.path().join("control")
}

fn commit(world: &World, version: &str) -> String {
    let control = control(world);
    std::fs::write(control.join("VERSION"), version).expect("written");
    git(&control, &["add", "--all"]);
    git(&control, &["commit", "--quiet", "--message=change"]);
    git(&control, &["rev-parse", "HEAD"])
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .output()
        .expect("git runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn live(world: &World, environment: &str) -> String {
    let path = world
        .dir
        .path()
        .join("live")
        .join(environment)
        .join("VERSION");
    std::fs::read_to_string(path).expect("it is there")
}

async fn post(world: &World, path: &str, body: Value) -> Reply {
    world.post(path, body.to_string()).await
}

/// Creates a user who may only deploy `production`; returns the user's token.
async fn deployer(world: &World) -> String {
    let access = &world.state.access;
    let by = access.api_user();
    let role = RoleSpec {
        display_name: "deploys production".to_owned(),
        permissions: vec![PermissionGrant {
            object_type: "environment".to_owned(),
            action: "deploy_code".to_owned(),
            instance: "production".to_owned(),
        }],
        ..RoleSpec::default()
    };
    let role = access.create_role(&by, role).await.expect("a role");
    let user = UserSpec {
        login: "dora".to_owned(),
        display_name: "Dora".to_owned(),
        password: Some("a good password".into()),
        role_ids: vec![role],
        ..UserSpec::default()
    };
    access.create_user(&by, user).await.expect("a user");
    let token = access.login(
        "dora",
        "a good password".into(),
        TokenRequest::default(),
        None,
    );
    Box::pin(token)
        .await
        .expect("a token")
        .expose_secret()
        .to_owned()
}

async fn as_deployer(world: &World, token: &str, path: &str, body: Value) -> Reply {
    let request = Request::post(path).header("X-Authentication", token);
    world
        .send(request.body(body.to_string().into()).expect("a request"))
        .await
}

#[tokio::test]
async fn parts_of_an_environment() {
    let world = World::deploying().await;
    let both = json!({"environments": ["production"], "modules": ["apt"], "deploy-modules": false});
    assert_eq!(
        post(&world, DEPLOYS, both).await.status,
        StatusCode::BAD_REQUEST
    );
    let long = json!({"environments": ["production"], "modules": ["m".repeat(1_000)]});
    assert_eq!(
        post(&world, DEPLOYS, long).await.status,
        StatusCode::BAD_REQUEST
    );
    let nowhere = json!({"deploy-all": true, "modules": ["nginx"]});
    assert_eq!(
        post(&world, DEPLOYS, nowhere).await.status,
        StatusCode::BAD_REQUEST
    );
    let unknown = json!({"environments": ["production"], "modules": ["nginx"], "wait": true});
    let whole = json!({"environments": ["production"], "wait": true});
    assert_eq!(
        post(&world, DEPLOYS, whole).await.json()[0]["status"],
        "complete"
    );
    let reply = post(&world, DEPLOYS, unknown).await.json();
    assert_eq!(reply[0]["status"], "failed", "{reply:#}");
    let msg = reply[0]["error"]["msg"].as_str().unwrap_or_default();
    assert_eq!(msg, "production has no module nginx; it has none");
    let commit = commit(&world, "control");
    let alone = json!({"environments": ["production"], "deploy-modules": false, "wait": true});
    let reply = post(&world, DEPLOYS, alone).await.json();
    assert_eq!(reply[0]["deploy-signature"], json!(commit), "{reply:#}");
    assert_eq!(reply[0]["deployment"]["action"], "control");
}

#[tokio::test]
async fn a_deployment_is_answered_as_code_manager_does() {
    let world = World::deploying().await;
    let commit = commit(&world, "3");
    let asked = json!({"environments": ["production"], "wait": true, "reason": "for a test"});
    let reply = post(&world, DEPLOYS, asked).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let [told] = &*reply.json().as_array().unwrap().clone() else {
        panic!("{}", reply.text());
    };
    assert_eq!(told["environment"], "production");
    assert_eq!(told["status"], "complete");
    assert_eq!(told["deploy-signature"], commit);
    let version = told["file-sync"]["environment-commit"].as_str().unwrap();
    assert_eq!(version, told["deployment"]["version"]);
    assert_eq!(told["deployment"]["reason"], "for a test");
    assert_eq!(told["deployment"]["changes"]["control"]["to"], commit);
    assert_eq!(live(&world, "production"), "3");

    // Without waiting, the deployment is queued, and its id is returned.
    let reply = post(&world, DEPLOYS, json!({"environments": ["production"]}))
        .await
        .json();
    assert_eq!(reply[0]["status"], "queued");
    let id = reply[0]["id"].as_i64().unwrap();
    let status = world.ok(&format!("{STATUS}?id={id}")).await;
    assert_eq!(
        (&status["id"], &status["environment"]),
        (&json!(id), &json!("production"))
    );
    let unknown = world.get(&format!("{STATUS}?id=777")).await;
    assert_eq!(unknown.kind(), "puppetlabs.code-manager/unknown-deploy");
    let status = world.ok(STATUS).await;
    let deployed = &status["file-sync-storage-status"]["deployed"];
    assert_eq!(deployed[0]["environment"], "production");
    assert_eq!(deployed[0]["deploy-signature"], commit);
    assert_eq!(status["file-sync-client-status"]["all-synced"], true);
}

#[tokio::test]
async fn what_fails_is_told_inside_the_list_beside_what_does_not() {
    let world = World::deploying().await;
    git(&control(&world), &["branch", "feature_x"]);
    let asked = json!({"environments": ["production", "nowhere", "../../x"], "wait": true});
    let told = post(&world, DEPLOYS, asked).await.json();
    assert_eq!(told[0]["status"], "complete");
    assert_eq!(told[1]["status"], "failed");
    assert_eq!(
        told[1]["error"]["kind"],
        "puppetlabs.code-manager/deploy-failure"
    );
    assert_eq!(told[2]["status"], "failed");
    assert_eq!(told[2]["id"], Value::Null);
    let status = world.ok(STATUS).await;
    assert_eq!(
        status["deploys-status"]["failed"][0]["environment"],
        "nowhere"
    );
    // For the name of a branch, the error contains the name of its environment.
    let told = post(&world, DEPLOYS, json!({"environments": ["feature/y"]}))
        .await
        .json();
    assert_eq!(
        told[0]["error"]["details"]["corrected-env-name"],
        "feature_y"
    );
    for wrong in [
        json!({}),
        json!({"environments": []}),
        json!({"environments": ["production"], "deploy-all": true}),
        json!({"environments": "production"}),
        json!({"surprise": 1}),
    ] {
        let reply = post(&world, DEPLOYS, wrong).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text());
    }
}

#[tokio::test]
async fn all_environments_and_a_source_that_is_away() {
    let world = World::deploying().await;
    git(&control(&world), &["branch", "feature_x"]);
    let told = post(&world, DEPLOYS, json!({"deploy-all": true, "wait": true}))
        .await
        .json();
    let names: Vec<_> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["environment"])
        .collect();
    // No source has the branch staging.
    assert_eq!(names, ["feature_x", "production", "staging"]);
    assert_eq!(told[2]["deployment"]["action"], "remove");
    assert!(!world.dir.path().join("live/staging").exists());
    std::fs::rename(control(&world), world.dir.path().join("hidden")).unwrap();
    let reply = post(&world, DEPLOYS, json!({"deploy-all": true})).await;
    assert_eq!(reply.status, StatusCode::BAD_GATEWAY, "{}", reply.text());
    assert_eq!(reply.kind(), "tutti/code-source");
    assert_eq!(live(&world, "production"), "2");
}

#[tokio::test]
async fn who_may_deploy_one_environment_may_not_deploy_another() {
    let world = World::deploying().await;
    let token = deployer(&world).await;
    let production = json!({"environments": ["production"], "wait": true});
    let reply = as_deployer(&world, &token, DEPLOYS, production).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    for (path, body) in [
        (
            DEPLOYS.to_owned(),
            json!({"environments": ["production", "staging"]}),
        ),
        (DEPLOYS.to_owned(), json!({"deploy-all": true})),
        (
            format!("{CODE}/rollback"),
            json!({"environment": "staging"}),
        ),
        (
            format!("{CODE}/promote"),
            json!({"from": "production", "to": "staging"}),
        ),
        (format!("{CODE}/pin"), json!({"environment": "staging"})),
        (format!("{CODE}/unpin"), json!({"environment": "staging"})),
        (format!("{CODE}/gc"), json!({})),
    ] {
        let reply = as_deployer(&world, &token, &path, body).await;
        assert_eq!(
            reply.status,
            StatusCode::FORBIDDEN,
            "{path}: {}",
            reply.text()
        );
    }
    let hook = json!({"ref": "refs/heads/staging"});
    let hook = as_deployer(&world, &token, &format!("{WEBHOOK}?type=github"), hook).await;
    assert_eq!(hook.status, StatusCode::FORBIDDEN, "{}", hook.text());
}

#[tokio::test]
async fn back_by_one_to_another_and_not_where_it_is_pinned() {
    let world = World::deploying().await;
    let back = post(
        &world,
        &format!("{CODE}/rollback"),
        json!({"environment": "production"}),
    )
    .await;
    assert_eq!(back.status, StatusCode::OK, "{}", back.text());
    assert_eq!(back.json()["action"], "rollback");
    assert_eq!(live(&world, "production"), "1");
    let versions = world
        .ok(&format!("{CODE}/versions?environment=production"))
        .await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
    let [first, second] = ["1", "2"].map(|wanted| {
        let live = wanted == "1";
        let items = versions["items"].as_array().unwrap().iter();
        let mut found = items.filter(|it| it["live"] == live);
        found.next().unwrap()["version"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let pinned = post(
        &world,
        &format!("{CODE}/pin"),
        json!({"environment": "production", "reason": "the audit is on"}),
    )
    .await;
    assert_eq!(pinned.json()["version"], first);
    let forward = json!({"environment": "production", "version": &second[..8]});
    let refused = post(&world, &format!("{CODE}/rollback"), forward.clone()).await;
    assert_eq!(refused.kind(), "tutti/environment-pinned");
    assert!(
        refused.text().contains("the audit is on"),
        "{}",
        refused.text()
    );
    let versions = world.ok(&format!("{CODE}/versions")).await;
    let items = versions["items"].as_array().unwrap();
    let live = items
        .iter()
        .find(|it| it["environment"] == "production" && it["live"] == true);
    assert_eq!(live.unwrap()["pinned"]["owner"], "admin");
    let unpinned = post(
        &world,
        &format!("{CODE}/unpin"),
        json!({"environment": "production"}),
    )
    .await;
    assert_eq!(unpinned.json()["version"], Value::Null);
    let done = post(&world, &format!("{CODE}/rollback"), forward).await;
    assert_eq!(done.status, StatusCode::OK);
    assert_eq!(crate::code_manager::live(&world, "production"), "2");
    let diff = format!("{CODE}/diff?environment=production&from={}", &first[..8]);
    let diff = world.ok(&diff).await;
    assert_eq!(diff["to"], second);
    assert_eq!(
        diff["files"],
        json!([{"path": "VERSION", "change": "changed"}])
    );
    let unknown = json!({"environment": "production", "version": "ffff"});
    let unknown = post(&world, &format!("{CODE}/rollback"), unknown).await;
    assert_eq!(unknown.kind(), "tutti/unknown-version");

    let history = world
        .ok(&format!("{CODE}/history?environment=production&limit=3"))
        .await;
    let told = history["items"].as_array().unwrap().iter();
    let told: Vec<_> = told.map(|it| (&it["action"], &it["state"])).collect();
    let told: Vec<String> = told
        .iter()
        .map(|(what, how)| format!("{what} {how}"))
        .collect();
    assert_eq!(
        told,
        [
            r#""rollback" "synced""#,
            r#""rollback" "failed""#,
            r#""rollback" "synced""#
        ]
    );
    let before = history["items"][2]["id"].as_i64().unwrap();
    let older = world
        .ok(&format!("{CODE}/history?before={before}&limit=1"))
        .await;
    assert!(older["items"][0]["id"].as_i64().unwrap() < before);
}

async fn hook(world: &World, headers: &[(&str, &str)], query: &str, body: &str) -> Reply {
    hook_at(world, &format!("{WEBHOOK}{query}"), headers, body).await
}

async fn hook_at(world: &World, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world
        .send(request.body(body.to_owned().into()).expect("a request"))
        .await
}

fn signature(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    let digits: Vec<String> = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256={}", digits.concat())
}

#[tokio::test]
async fn a_signed_webhook_deploys_what_was_pushed() {
    let world = World::deploying().await;
    commit(&world, "3");
    let body = json!({"ref": "refs/heads/production", "after": "1f"}).to_string();
    let signed = signature(&body);
    let headers = [
        ("x-github-event", "push"),
        ("x-hub-signature-256", signed.as_str()),
        ("x-github-delivery", "72d3162e"),
    ];
    let reply = hook(&world, &headers, "", &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let told = reply.json();
    assert_eq!(told["status"], "OK");
    let id = told["deploys"][0]["id"].as_i64().unwrap();
    over(&world, id).await;
    assert_eq!(live(&world, "production"), "3");
    let history = world.ok(&format!("{CODE}/history?before={}", id + 1)).await;
    assert_eq!(history["items"][0]["owner"], "webhook of GitHub");
    let entries = world.ok("/audit/v1/entries?limit=50").await.to_string();
    assert!(entries.contains("webhook of GitHub"), "{entries}");
    assert!(!entries.contains(SECRET));

    let again = hook(&world, &headers, "", &body).await;
    assert_eq!(again.kind(), "tutti/webhook-replayed");
    let mut forged = headers;
    forged[2].1 = "another";
    let other = json!({"ref": "refs/heads/other"}).to_string();
    let wrong = hook(&world, &forged, "", &other).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.kind(), "tutti/webhook-unsigned");
    // A token does not make up for a wrong signature.
    let token = format!("?token={}", world.token);
    let wrong = hook(&world, &forged, &token, &other).await;
    assert_eq!(wrong.kind(), "tutti/webhook-unsigned");
}

/// The header with the id of a delivery is not signed, so an observer of a message can send it
/// again with another id.
#[tokio::test]
async fn a_webhook_replay_is_detected_by_the_signed_body_too() {
    let world = World::deploying().await;
    commit(&world, "3");
    let pushed = json!({"ref": "refs/heads/production", "after": "1f"}).to_string();
    for (event, signed_by) in [
        ("x-github-event", "x-hub-signature-256"),
        ("x-gitea-event", "x-gitea-signature"),
        ("x-gitea-event", "x-hub-signature-256"),
    ] {
        let body = pushed.replace("1f", &format!("{event} {signed_by}"));
        let signed = signature(&body);
        let id = match event {
            "x-github-event" => "x-github-delivery",
            _ => "x-gitea-delivery",
        };
        let sent = async |delivery: Option<&str>| {
            let mut headers = vec![(event, "push"), (signed_by, signed.as_str())];
            headers.extend(delivery.map(|delivery| (id, delivery)));
            hook(&world, &headers, "", &body).await
        };
        let (one, two) = (
            format!("{event} {signed_by} 1"),
            format!("{event} {signed_by} 2"),
        );
        let first = sent(Some(&one)).await;
        assert_eq!(first.status, StatusCode::OK, "{event}: {}", first.text());
        for delivery in [Some(one.as_str()), Some(two.as_str()), None] {
            let again = sent(delivery).await;
            assert_eq!(
                again.kind(),
                "tutti/webhook-replayed",
                "{event} {delivery:?}"
            );
        }
    }
    // Another push has another body.
    let other = json!({"ref": "refs/heads/production", "after": "2f"}).to_string();
    let other_signed = signature(&other);
    let headers = [
        ("x-github-event", "push"),
        ("x-hub-signature-256", other_signed.as_str()),
    ];
    let reply = hook(&world, &headers, "", &other).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
}

/// Waits for the end of a deployment, by another one of the same environment that is queued behind
/// it.
async fn over(world: &World, id: i64) {
    let wait = json!({"environments": ["production"], "dry-run": true, "wait": true});
    post(world, DEPLOYS, wait).await;
    let status = world.ok(&format!("{STATUS}?id={id}")).await;
    assert_eq!(status["status"], "synced");
}

#[tokio::test]
async fn a_webhook_with_a_token_or_with_nothing() {
    let world = World::deploying().await;
    let body = json!({"ref": "refs/heads/production"}).to_string();
    let token = format!("?type=github&token={}", world.token);
    let reply = hook(&world, &[], &token, &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.json()["deploys"][0]["environment"], "production");
    let nobody = hook(&world, &[], "?type=github", &body).await;
    assert_eq!(nobody.kind(), "puppetlabs.rbac/user-unauthenticated");
    let unknown = hook(&world, &[], "?type=sourceforge", &body).await;
    assert_eq!(
        unknown.kind(),
        "puppetlabs.code-manager/unrecognized-webhook-type"
    );
    let nonsense = hook(&world, &[], &token, "{").await;
    assert_eq!(nonsense.kind(), "tutti/webhook-body");
    let gitlab = [("x-gitlab-event", "Push Hook"), ("x-gitlab-token", SECRET)];
    let gone = json!({"ref": "refs/heads/production", "after": "0".repeat(40)}).to_string();
    let reply = hook(&world, &gitlab, "", &gone).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    over(&world, reply.json()["deploys"][0]["id"].as_i64().unwrap()).await;
    // The message reports a deleted branch, but the repository still has it.
    assert_eq!(live(&world, "production"), "2");
    let prefix = hook(&world, &gitlab, "?prefix=team", &body).await;
    assert_eq!(
        prefix.json()["deploys"],
        json!([]),
        "no source has the prefix"
    );
}

#[tokio::test]
async fn addresses_of_webhook_go_deploy_environments_and_modules() {
    let world = World::deploying().await;
    let basic = format!("Basic {}", STANDARD.encode(format!("puppet:{SECRET}")));
    let push = [
        ("x-github-event", "push"),
        ("authorization", basic.as_str()),
    ];
    let environment = "/api/v1/r10k/environment";
    commit(&world, "3");
    let body = json!({"ref": "refs/heads/production"}).to_string();
    let reply = hook_at(&world, environment, &push, &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    over(&world, reply.json()["deploys"][0]["id"].as_i64().unwrap()).await;
    assert_eq!(live(&world, "production"), "3");

    let module = world.dir.path().join("puppet-apt");
    let module_version = |version: &str| {
        std::fs::write(module.join("VERSION"), version).expect("written");
        git(&module, &["add", "--all"]);
        git(&module, &["commit", "--quiet", "--message=change"]);
    };
    git(
        world.dir.path(),
        &["init", "--quiet", "--initial-branch=main", "puppet-apt"],
    );
    module_version("1");
    let address = module.display().to_string();
    let puppetfile = format!("mod 'puppetlabs/apt', git: '{address}', branch: 'main'\n");
    std::fs::write(control(&world).join("Puppetfile"), puppetfile).expect("written");
    commit(&world, "4");
    hook_at(&world, environment, &push, &body).await;
    over(&world, 1).await;
    module_version("2");
    let path = "/api/v1/r10k/module";
    let deployed = async |query: &str, body: Value| {
        let reply = hook_at(&world, &format!("{path}{query}"), &push, &body.to_string()).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        reply.json()["deploys"].clone()
    };
    let of = |name: &str, address: &str| json!({"ref": "refs/heads/main", "repository": {"name": name, "clone_url": address}});
    let deploys = deployed("", of("another-name", &address)).await;
    assert_eq!(deploys.as_array().unwrap().len(), 1, "staging has none");
    over(&world, deploys[0]["id"].as_i64().unwrap()).await;
    let version = world.dir.path().join("live/production/modules/apt/VERSION");
    assert_eq!(std::fs::read_to_string(version).expect("it is there"), "2");
    let by_name = deployed("", of("puppetlabs-apt", "https://git.example.com/x")).await;
    assert_eq!(by_name[0]["environment"], "production");
    let named = deployed("?module_name=apt", of("x", "y")).await;
    assert_eq!(named[0]["environment"], "production");
    for (query, body) in [
        ("?branch_only=1", of("apt", &address)),
        ("?module_name=..%2f..", of("apt", &address)),
        ("", of("stdlib", "https://git.example.com/stdlib")),
        ("", json!({"ref": "refs/heads/main"})),
        (
            "",
            json!({"ref": "refs/tags/v1", "repository": {"name": "apt"}}),
        ),
    ] {
        assert_eq!(deployed(query, body).await, json!([]));
    }
    let wrong = [("x-github-event", "push")];
    let nobody = hook_at(&world, path, &wrong, &body).await;
    assert_eq!(nobody.kind(), "puppetlabs.rbac/user-unauthenticated");
}

#[tokio::test]
async fn a_server_that_deploys_no_code_says_so() {
    let world = World::new().await;
    for path in [STATUS, "/tutti/v1/code/history", "/tutti/v1/code/versions"] {
        let reply = world.get(path).await;
        assert_eq!(reply.kind(), "tutti/no-code-manager");
        assert!(
            reply.text().contains("code.r10k_config"),
            "{}",
            reply.text()
        );
    }
    let reply = post(&world, DEPLOYS, json!({"deploy-all": true})).await;
    assert_eq!(reply.kind(), "tutti/no-code-manager");
    let locked = json!({"environment": "production", "scope": {"nodes": ["a"]}, "code": "lock"});
    let reply = post(&world, "/orchestrator/v1/command/deploy", locked).await;
    assert_eq!(reply.kind(), "tutti/no-code-manager");
    let jobs = world.ok("/orchestrator/v1/jobs").await;
    assert_eq!(jobs["items"], json!([]));
}

#[tokio::test]
async fn verification_reports_and_repairs_damaged_code_for_those_who_may_deploy_everything() {
    const VERIFY: &str = "/tutti/v1/code/verify";
    let world = World::deploying().await;
    let whole = post(&world, VERIFY, json!({})).await.json();
    assert_eq!(whole["damaged_contents"], 0);
    let states = |answer: &Value| {
        let versions = answer["versions"].as_array().expect("a list").iter();
        let states = versions.map(|it| it["state"].as_str().expect("a state").to_owned());
        states.collect::<HashSet<String>>()
    };
    assert_eq!(states(&whole), HashSet::from(["whole".to_owned()]));
    let file = world.dir.path().join("live/production/VERSION");
    std::fs::remove_file(&file).expect("removed");
    let damaged = post(&world, VERIFY, json!({"repair": null})).await.json();
    let versions = damaged["versions"].as_array().expect("a list");
    let live = versions
        .iter()
        .find(|it| it["environment"] == "production" && it["live"] == true);
    let live = live.expect("it is live");
    assert_eq!(live["state"], "damaged");
    assert_eq!(live["damaged"], json!(["VERSION"]));
    assert!(!file.exists(), "nothing was asked to be repaired");
    let token = deployer(&world).await;
    for body in [json!({}), json!({"repair": true})] {
        let refused = as_deployer(&world, &token, VERIFY, body).await;
        assert_eq!(
            refused.status,
            StatusCode::FORBIDDEN,
            "of one environment only"
        );
    }
    let repaired = post(&world, VERIFY, json!({"repair": true})).await.json();
    assert!(states(&repaired).contains("repaired"), "{repaired:#}");
    assert!(!states(&repaired).contains("damaged"), "{repaired:#}");
    assert_eq!(self::live(&world, "production"), "2");
    let unknown = post(&world, VERIFY, json!({"everything": true})).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_queue_of_webhook_go_is_shown_with_the_secret_or_a_token() {
    let world = World::deploying().await;
    let basic = |password: &str| {
        let encoded = STANDARD.encode(format!("puppet:{password}"));
        [("authorization", format!("Basic {encoded}"))]
    };
    let push = json!({"ref": "refs/heads/production"}).to_string();
    let headers = basic(SECRET);
    let headers = [
        ("x-github-event", "push"),
        (headers[0].0, headers[0].1.as_str()),
    ];
    let reply = hook_at(&world, "/api/v1/r10k/environment", &headers, &push).await;
    let id = reply.json()["deploys"][0]["id"].as_i64().unwrap();
    over(&world, id).await;
    let look = async |authorization: Option<&str>| {
        let request = http::Request::builder().method("GET").uri(QUEUE);
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        world
            .send(request.body("".into()).expect("a request"))
            .await
    };
    let items = look(Some(&basic(SECRET)[0].1)).await.json();
    let mut all = items.as_array().unwrap().iter();
    let number = id.to_string();
    let last = all.find(|item| item["Id"] == number.as_str()).unwrap();
    assert_eq!(
        (&last["Name"], &last["State"]),
        (&json!("production"), &json!("success"))
    );
    assert_eq!(last["CommandType"], "environment");
    assert_eq!(
        last["Command"],
        json!(["tutti", "code", "deploy", "production"])
    );
    for key in ["AddedAt", "StartedAt", "FinishedAt"] {
        assert!(last[key].as_str().unwrap().starts_with("20"), "{last}");
    }
    assert_eq!(world.ok(QUEUE).await, items, "with a token");
    let wrong = look(Some(&basic("another secret")[0].1)).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.kind(), "tutti/webhook-unsigned");
    let nobody = look(None).await;
    assert_eq!(nobody.kind(), "puppetlabs.rbac/user-unauthenticated");
    assert_eq!(world.ok("/health").await, json!({"message": "running"}));
}
