//! `/code-manager/v1` and `/tutti/v1/code` over real repositories.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use api::{CodeDeploymentParts, CodeService};
use api_types::Route;
use async_trait::async_trait;
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

pub(crate) const DEPLOYS: &str = "/code-manager/v1/deploys";
pub(crate) const STATUS: &str = "/code-manager/v1/deploys/status";
pub(crate) const WEBHOOK: &str = "/code-manager/v1/webhook";
pub(crate) const QUEUE: &str = "/api/v1/queue";
pub(crate) const CODE: &str = "/tutti/v1/code";
pub(crate) const SECRET: &str = "a secret of webhooks";

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

pub(crate) async fn deploy(manager: &CodeManager) {
    let action = code_deployments::service::DeploymentAction::Deploy { dry_run: false };
    ended(
        manager,
        vec![("production".parse().expect("a name"), action)],
    )
    .await;
}

pub(crate) async fn ended(
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

pub(crate) fn control(world: &World) -> PathBuf {
    world.dir.path().join("control")
}

pub(crate) fn commit(world: &World, version: &str) -> String {
    let control = control(world);
    std::fs::write(control.join("VERSION"), version).expect("written");
    git(&control, &["add", "--all"]);
    git(&control, &["commit", "--quiet", "--message=change"]);
    git(&control, &["rev-parse", "HEAD"])
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
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

pub(crate) fn live(world: &World, environment: &str) -> String {
    let path = world
        .dir
        .path()
        .join("live")
        .join(environment)
        .join("VERSION");
    std::fs::read_to_string(path).expect("it is there")
}

pub(crate) async fn post(world: &World, path: &str, body: Value) -> Reply {
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

#[tokio::test]
async fn a_puppet_run_names_a_version_by_its_first_digits_or_its_code_id() {
    const DEPLOY: &str = "/orchestrator/v1/command/deploy";
    let world = World::deploying().await;
    let versions = world
        .ok("/tutti/v1/code/versions?environment=production")
        .await;
    let version = versions["items"][0]["version"].as_str().unwrap();
    let code_id = format!("urn:puppet:code-id:1:{version};production");
    let command = |named: &str| json!({"environment": "production", "scope": {"nodes": ["a"]}, "code_id": named});
    for named in [&version[..6], version, &code_id] {
        let reply = post(&world, DEPLOY, command(named)).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        let name = reply.json()["job"]["name"].as_str().unwrap().to_owned();
        let job = world.ok(&format!("/orchestrator/v1/jobs/{name}")).await;
        let options = &job["options"];
        assert_eq!(options["code"], "pinned");
        assert_eq!(options["code_id"], code_id.as_str());
        assert_eq!(options["enforce_environment"], true);
    }
    let unknown = format!("urn:puppet:code-id:1:{};production", "0".repeat(40));
    for named in ["0000000", &unknown, &code_id.replace("production", "test")] {
        let reply = post(&world, DEPLOY, command(named)).await;
        assert_eq!(reply.kind(), "tutti/unknown-version", "{}", reply.text());
    }
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
