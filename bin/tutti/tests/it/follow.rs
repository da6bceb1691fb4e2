//! Servers that follow another one's deployments, as separate programs.

mod cuts;
mod local;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use testkit::service::{Service, ServiceSpec};

use crate::code::{Control, start_with};
use crate::world::{World, logged, until};

const NAMES: [&str; 2] = ["one.follow.test", "two.follow.test"];
const SETTINGS: &str =
    "staging_directory = \"staging\"\nfollowers = [\"*.follow.test\"]\nfollowers_timeout_s = 5\n";

/// The code directory of a follower.
fn home(world: &World, name: &str) -> PathBuf {
    world.root().join("followers").join(name)
}

fn environment(world: &World, name: &str, environment: &str) -> PathBuf {
    home(world, name)
        .join("code/environments")
        .join(environment)
}

fn spec(world: &World, name: &str) -> ServiceSpec {
    spec_of(world, name, world.installation.api_port())
}

/// A follower of a server at this port.
fn spec_of(world: &World, name: &str, port: u16) -> ServiceSpec {
    spec_with(world, name, port, "")
}

/// A follower with additional settings.
fn spec_with(world: &World, name: &str, port: u16, more: &str) -> ServiceSpec {
    let home = home(world, name);
    std::fs::create_dir_all(&home).unwrap();
    let (cert, key) = world.installation.certificate(name).unwrap();
    let ca = world.installation.ca_dir();
    let text = format!(
        "certname = {name:?}\n\n[tls]\ncert = {cert:?}\nkey = {key:?}\nca = {:?}\ncrl = {:?}\n\n\
         [code]\ncodedir = \"code\"\ndirectory = \"versions\"\n\n[follow]\nserver = \
         \"https://localhost:{port}\"\n{more}",
        ca.join("ca_crt.pem"),
        ca.join("ca_crl.pem"),
    );
    let config = home.join("follow.toml");
    std::fs::write(&config, text).unwrap();
    let arguments = ["follow".into(), "--config".into(), config.into_os_string()];
    let program = world.installation.tutti();
    ServiceSpec::new(name, program, arguments, &home.join("log"))
}

async fn follow(world: &World, name: &str) -> Service {
    spec(world, name).start().await.unwrap()
}

/// The live version, read from its files.
fn version(environment: &Path) -> Option<String> {
    std::fs::read_to_string(environment.join("modules/site/files/first")).ok()
}

async fn until_version(world: &World, name: &str, wanted: u32) {
    let live = environment(world, name, "production");
    until(&format!("{name} has {wanted}"), || async {
        version(&live) == Some(wanted.to_string())
    })
    .await;
}

/// Reads an environment repeatedly, as a compiler that has opened it does: all files are of one
/// version.
fn reader(environment: PathBuf, stop: &Arc<AtomicBool>) -> JoinHandle<u64> {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let mut looks = 0;
        while !stop.load(Ordering::Relaxed) {
            let Ok(root) = std::fs::read_link(&environment) else {
                assert_eq!(looks, 0, "{} is gone", environment.display());
                continue;
            };
            let read = |path: &str| {
                let path = root.join("modules/site").join(path);
                std::fs::read_to_string(&path)
                    .unwrap_or_else(|it| panic!("{}: {it}", path.display()))
            };
            let version = read("files/first");
            assert_eq!(read("files/second"), version);
            assert_eq!(
                read("files/third.sh"),
                format!("#!/bin/sh\nprintf {version}\n")
            );
            let function = format!("function site::first() {{ {version} }}\n");
            assert_eq!(read("functions/first.pp"), function);
            looks += 1;
        }
        looks
    })
}

async fn deploy(world: &World, body: &Value) -> Value {
    world
        .client
        .post("/code-manager/v1/deploys", body)
        .await
        .unwrap()
}

async fn clients(world: &World) -> Value {
    let status = world
        .client
        .get("/code-manager/v1/deploys/status")
        .await
        .unwrap();
    status["file-sync-client-status"].clone()
}

async fn start() -> (World, Control, Vec<Service>) {
    let (world, control) = start_with(&[], SETTINGS).await;
    world.deploy().await;
    let mut followers = Vec::new();
    for name in NAMES {
        followers.push(follow(&world, name).await);
        until_version(&world, name, 1).await;
    }
    until("both are known to have it", || async {
        let clients = clients(&world).await;
        let all = clients["file-sync-clients"].as_object().unwrap().len();
        all == NAMES.len() && clients["all-synced"] == true
    })
    .await;
    (world, control, followers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_have_a_deployment_when_it_is_over_and_never_show_a_mixture() {
    let (world, control, followers) = start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = NAMES
        .iter()
        .map(|name| reader(environment(&world, name, "production"), &stop))
        .collect();
    for number in 2..22 {
        control.commit(number);
        let told = deploy(
            &world,
            &json!({"environments": ["production"], "wait": true}),
        )
        .await;
        assert_eq!(told[0]["status"], "complete", "{told:#}");
        assert!(told[0]["file-sync"]["code-commit"].is_string(), "{told:#}");
        for name in NAMES {
            let live = environment(&world, name, "production");
            assert_eq!(
                version(&live),
                Some(number.to_string()),
                "{name}: the answer is true"
            );
            let commit = told[0]["file-sync"]["environment-commit"].as_str().unwrap();
            let link = std::fs::read_link(&live).unwrap();
            assert!(
                link.ends_with(format!("production_{commit}")),
                "{}",
                link.display()
            );
        }
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().unwrap() > 100);
    }
    // Another environment is created and removed, and another tool publishes one, too.
    control.git(&["branch", "feature_x"]);
    deploy(&world, &json!({"deploy-all": true, "wait": true})).await;
    let staged = world.root().join("staging/environments/staged/manifests");
    std::fs::create_dir_all(&staged).unwrap();
    std::fs::write(staged.join("site.pp"), "notify { 'hello': }\n").unwrap();
    let body = json!({"repo-id": "puppet-code", "submodule-id": "staged"});
    world
        .client
        .post("/file-sync/v1/commit", &body)
        .await
        .unwrap();
    for name in NAMES {
        assert!(environment(&world, name, "feature_x").exists());
        assert!(
            environment(&world, name, "staged")
                .join("manifests/site.pp")
                .exists()
        );
    }
    control.git(&["branch", "--delete", "--force", "feature_x"]);
    deploy(&world, &json!({"deploy-all": true, "wait": true})).await;
    for name in NAMES {
        assert!(std::fs::symlink_metadata(environment(&world, name, "feature_x")).is_err());
        assert!(
            environment(&world, name, "staged").exists(),
            "another tool's stays"
        );
    }
    for follower in followers {
        assert!(follower.stop().await.unwrap().success());
    }
    world.stop().await;
}

#[tokio::test]
async fn a_follower_that_is_away_is_named_and_catches_up_and_so_is_a_server() {
    let (mut world, control, mut followers) = start().await;
    followers.pop().unwrap().kill().await.unwrap();
    control.commit(2);
    let told = deploy(
        &world,
        &json!({"environments": ["production"], "wait": true}),
    )
    .await;
    assert_eq!(told[0]["status"], "syncing", "{told:#}");
    assert_eq!(told[0]["late-followers"][0]["name"], NAMES[1], "{told:#}");
    assert_eq!(
        told[0]["late-followers"].as_array().unwrap().len(),
        1,
        "{told:#}"
    );
    let kind = &told[0]["error"]["kind"];
    assert_eq!(kind, "puppetlabs.code-manager/timeout-exceeded");
    until_version(&world, NAMES[0], 2).await;
    let away = environment(&world, NAMES[1], "production");
    assert_eq!(version(&away).as_deref(), Some("1"), "what it had, whole");
    followers.push(follow(&world, NAMES[1]).await);
    until_version(&world, NAMES[1], 2).await;
    let id = told[0]["id"].as_i64().unwrap();
    let status = format!("/code-manager/v1/deploys/status?id={id}");
    until("the deployment is everywhere", || async {
        world.client.get(&status).await.unwrap()["status"] == "synced"
    })
    .await;

    // The server is killed, also in the middle of a deployment; no follower loses anything, and all
    // go on.
    for number in 3..6 {
        control.commit(number);
        deploy(&world, &json!({"environments": ["production"]})).await;
        world.kill_server().await;
        for name in NAMES {
            assert!(version(&environment(&world, name, "production")).is_some());
        }
        world.start_server().await;
        for name in NAMES {
            until_version(&world, name, number).await;
        }
    }
    // Followers are killed at any moment and have the version in the end.
    for number in 6..10 {
        let victim = usize::from(number % 2 == 0);
        control.commit(number);
        deploy(&world, &json!({"environments": ["production"]})).await;
        followers.remove(victim).kill().await.unwrap();
        followers.insert(victim, follow(&world, NAMES[victim]).await);
        for name in NAMES {
            until_version(&world, name, number).await;
        }
    }
}

/// Changes the version's timestamps as if it had not been live for a month.
fn age(versions: &Path, signature: &str) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(30 * 86_400);
    let version = versions.join(format!("versions/production_{signature}"));
    let directory = std::fs::File::open(version).unwrap();
    directory.set_modified(long_ago).unwrap();
}

#[tokio::test]
async fn a_follower_keeps_the_versions_that_the_server_keeps() {
    let (world, control) = start_with(&[], SETTINGS).await;
    let first = world.deploy().await["version"].as_str().unwrap().to_owned();
    let follower = follow(&world, NAMES[0]).await;
    until_version(&world, NAMES[0], 1).await;
    let (here, there) = (
        world.root().join("versions"),
        home(&world, NAMES[0]).join("versions"),
    );
    let kept = there.join(format!("versions/production_{first}"));
    for number in 2..5 {
        control.commit(number);
        world.deploy().await;
        until_version(&world, NAMES[0], number).await;
        age(&there, &first);
    }
    assert!(kept.exists(), "the server has it");
    // The server keeps five versions besides the live one, and this is the sixth.
    for number in 5..8 {
        control.commit(number);
        world.deploy().await;
        until_version(&world, NAMES[0], number).await;
    }
    age(&here, &first);
    world
        .client
        .post("/tutti/v1/code/gc", &json!({}))
        .await
        .unwrap();
    assert!(!here.join(format!("versions/production_{first}")).exists());
    control.commit(8);
    world.deploy().await;
    until("the follower does without it, too", || async {
        !kept.exists()
    })
    .await;
    follower.stop().await.unwrap();
}

#[tokio::test]
async fn damaged_files_of_a_follower_are_put_right_after_its_start() {
    let (world, control, mut followers) = start().await;
    let follower = followers.pop().unwrap();
    until_version(&world, NAMES[1], 1).await;
    follower.stop().await.unwrap();
    // A disk that loses a write changes the stored content, too: both are names of one file.
    let live = environment(&world, NAMES[1], "production");
    let version = std::fs::read_link(&live).unwrap();
    std::fs::write(live.join("modules/site/files/first"), "X").unwrap();
    std::fs::remove_file(live.join("modules/site/files/second")).unwrap();
    let follower = follow(&world, NAMES[1]).await;
    until_version(&world, NAMES[1], 1).await;
    logged(&follower, "damaged files were put right").await;
    let second = std::fs::read_to_string(live.join("modules/site/files/second"));
    assert_eq!(second.unwrap(), "1");
    assert_eq!(std::fs::read_link(&live).unwrap(), version);
    // It goes on following, and a damaged version is repaired when it is live again.
    control.commit(2);
    world.deploy().await;
    until_version(&world, NAMES[1], 2).await;
    follower.stop().await.unwrap();
    std::fs::write(version.join("modules/site/files/first"), "X").unwrap();
    let follower = follow(&world, NAMES[1]).await;
    let rollback = json!({"environment": "production"});
    let rolled = world
        .client
        .post("/tutti/v1/code/rollback", &rollback)
        .await;
    rolled.unwrap();
    until_version(&world, NAMES[1], 1).await;
    follower.stop().await.unwrap();
}

#[tokio::test]
async fn a_content_with_another_hash_is_refused_and_what_is_live_stays() {
    let (world, control, mut followers) = start().await;
    followers.pop().unwrap().kill().await.unwrap();
    control.commit(77);
    deploy(
        &world,
        &json!({"environments": ["production"], "wait": true}),
    )
    .await;
    // The first follower has fetched the list of files, so the server knows its former hash.
    let objects = world.root().join("versions/content/objects");
    let object = crate::world::files_with(&objects, "printf 77").remove(0);
    let text = std::fs::read(&object).unwrap();
    let forged = String::from_utf8(text.clone())
        .unwrap()
        .replace("printf 77", "printf 66");
    let overwrite = |text: &[u8]| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&object, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(&object, text).unwrap();
    };
    overwrite(forged.as_bytes());
    let follower = follow(&world, NAMES[1]).await;
    logged(&follower, "came with the hash").await;
    let live = environment(&world, NAMES[1], "production");
    assert_eq!(version(&live).as_deref(), Some("1"));
    until("the server knows why", || async {
        let clients = clients(&world).await;
        let error = clients["file-sync-clients"][NAMES[1]]["errors"]["production"].to_string();
        error.contains("came with the hash")
    })
    .await;
    overwrite(&text);
    until_version(&world, NAMES[1], 77).await;
}

#[tokio::test]
async fn a_load_balancer_is_told_whether_a_follower_has_what_is_live() {
    let (mut world, control) = start_with(&[], SETTINGS).await;
    world.deploy().await;
    let more = "status_listen = \"127.0.0.1:0\"\n";
    let spec = spec_with(&world, NAMES[0], world.installation.api_port(), more);
    let follower = spec.start().await.unwrap();
    until_version(&world, NAMES[0], 1).await;
    let ca = world.installation.ca_dir().join("ca_crt.pem");
    let tls = pki::ClientTls::without_certificate(&ca, None).unwrap();
    let client = reqwest::Client::builder().no_proxy();
    let client = client.tls_backend_preconfigured((*tls).clone());
    let client = client.build().unwrap();
    let ask = async |follower: &Service, path: &str| {
        let log = follower.log_text();
        let port = log.rsplit("status on 127.0.0.1:").next().unwrap();
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        let url = format!("https://localhost:{port}/status/v1/{path}");
        let reply = client.get(url).send().await.unwrap();
        (reply.status().as_u16(), reply.text().await.unwrap())
    };
    let running = (200, "running".to_owned());
    until("it runs", || async {
        ask(&follower, "simple").await == running
    })
    .await;
    control.commit(2);
    let body = json!({"environments": ["production"], "wait": true});
    let told = deploy(&world, &body).await;
    let shown = ask(&follower, "services/file-sync-client-service?level=debug")
        .await
        .1;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let repository = &shown["status"]["repos"]["puppet-code"];
    let production = &repository["submodules"]["production"];
    let commits = &told[0]["file-sync"];
    assert_eq!(
        repository["latest_commit"]["commit"],
        commits["code-commit"]
    );
    assert_eq!(
        production["latest_commit"]["commit"],
        commits["environment-commit"]
    );
    assert_eq!(
        (&production["status"], &shown["state"]),
        (&json!("ok"), &json!("running"))
    );
    // A follower that is started while its server is down does not know the live version.
    world.kill_server().await;
    assert!(follower.stop().await.unwrap().success());
    let follower = spec.start().await.unwrap();
    let unknown = (503, "unknown".to_owned());
    assert_eq!(
        ask(&follower, "simple/file-sync-client-service").await,
        unknown
    );
    assert!(follower.stop().await.unwrap().success());
}

#[tokio::test]
async fn who_is_not_on_the_list_gets_nothing_and_is_told_why() {
    let (world, _control) = start_with(&[], SETTINGS).await;
    world.deploy().await;
    let stranger = follow(&world, "stranger.test").await;
    logged(&stranger, "not on this server's list of followers").await;
    assert!(!environment(&world, "stranger.test", "production").exists());
    assert!(stranger.stop().await.unwrap().success());
}
