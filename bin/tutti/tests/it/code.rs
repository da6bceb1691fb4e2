//! A server that deploys code: from the push to the task on a node, and plans during deployments.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::installation::Installation;

use crate::world::World;

const NODE: &str = "node0.test";
const SECRET: &str = "a secret of webhooks";

/// All functions by which a plan can read code, in two halves with a prompt between them. The
/// halves read different files, so that no answer comes from a cache.
const PLAN: &str = "
plan site(TargetSpec $node) {
  $first = [run_task('site::first', $node).first['version'], file::read('site/first'), site::first()]
  prompt('go on?')
  $second = [
    run_task('site::second', $node).first['version'], file::read('site/second'), site::second(),
    run_plan('site::sub'), run_script('site/third.sh', $node).first['stdout'],
  ]
  return [$first, $second]
}
";

/// A control repository, and the server's settings for it.
pub(crate) struct Control(PathBuf);

impl Control {
    pub(crate) fn new(installation: &Installation) -> Self {
        let root = installation.root();
        let control = Self(root.join("control"));
        std::fs::create_dir(&control.0).unwrap();
        control.git(&["init", "--quiet", "--initial-branch=production"]);
        let r10k = json!({"sources": {"main": {
            "remote": control.0, "basedir": installation.code_dir().join("environments"),
        }}, "git": {"repositories": [
            {"remote": "ssh://git@git.test/unused.git", "private_key": root.join("keys/ssh/deploy.pem")},
        ]}});
        std::fs::create_dir_all(root.join("keys/ssh")).unwrap();
        std::fs::write(root.join("keys/ssh/deploy.pem"), "a private key\n").unwrap();
        std::fs::write(root.join("r10k.yaml"), r10k.to_string()).unwrap();
        std::fs::write(root.join("webhook-secret"), format!("{SECRET}\n")).unwrap();
        control
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let ran = Command::new("git")
            .current_dir(&self.0)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .status();
        assert!(ran.unwrap().success(), "git {arguments:?}");
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Commits code that contains its version number in every file.
    pub(crate) fn commit(&self, version: u32) {
        let module = |path: &str| format!("modules/site/{path}");
        for name in ["first", "second"] {
            let task = format!("#!/bin/sh\necho '{{\"version\": {version}}}'\n");
            self.write(&module(&format!("tasks/{name}.sh")), &task);
            self.write(&module(&format!("files/{name}")), &version.to_string());
            let function = format!("function site::{name}() {{ {version} }}\n");
            self.write(&module(&format!("functions/{name}.pp")), &function);
        }
        let script = format!("#!/bin/sh\nprintf {version}\n");
        self.write(&module("files/third.sh"), &script);
        let sub = format!("plan site::sub() {{ return {version} }}\n");
        self.write(&module("plans/sub.pp"), &sub);
        self.write(&module("plans/init.pp"), PLAN);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=change"]);
    }
}

async fn start(nodes: &[&str]) -> (World, Control) {
    start_with(nodes, "").await
}

/// Like `start`, with additional settings of code.
pub(crate) async fn start_with(nodes: &[&str], settings: &str) -> (World, Control) {
    start_in(crate::installation(""), nodes, settings).await
}

async fn start_in(installation: Installation, nodes: &[&str], settings: &str) -> (World, Control) {
    // Code comes from the repository only.
    std::fs::remove_dir_all(installation.code_dir()).ok();
    let control = Control::new(&installation);
    control.commit(1);
    let config = installation.root().join("tutti.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let code = format!(
        "[code]\ndirectory = \"versions\"\nr10k_config = \"r10k.yaml\"\n\
         webhook_secret_file = \"webhook-secret\"\n{settings}"
    );
    std::fs::write(config, text.replacen("[code]\n", &code, 1)).unwrap();
    (World::of(installation, nodes).await, control)
}

impl World {
    pub(crate) async fn deploy(&self) -> Value {
        let body = json!({"environments": ["production"], "wait": true});
        let told = self
            .client
            .post("/code-manager/v1/deploys", &body)
            .await
            .unwrap();
        assert_eq!(told[0]["status"], "complete", "{told:#}");
        told[0]["deployment"].clone()
    }

    async fn plan(&self, code: &str) -> u64 {
        let body = json!({"plan_name": "site", "params": {"node": NODE}, "code": code});
        let path = "/orchestrator/v1/command/plan_run";
        let told = self.client.post(path, &body).await.unwrap();
        told["name"].as_str().unwrap().parse().unwrap()
    }

    /// Waits until the plan has a prompt.
    async fn asked(&self, plan: u64) {
        let path = format!("/orchestrator/v1/plan_jobs/{plan}/steps?state=waiting");
        crate::world::until("the plan asks", || async {
            let steps = self.client.get(&path).await.unwrap();
            steps["items"].as_array().is_some_and(|it| !it.is_empty())
        })
        .await;
    }

    async fn went_on(&self, plan: u64) -> Value {
        self.answer(plan, "yes").await.unwrap();
        let job = self.plan_over(plan).await;
        assert_eq!(job["state"], "success", "{job:#}");
        job
    }
}

/// An unwritable code directory stops deployments and nothing else, and they start without a
/// restart once it can be used. The tests run as root, for whom permissions do not apply; so a file
/// takes the directory's place.
#[tokio::test]
async fn an_unwritable_code_directory_stops_neither_orchestrator_nor_broker() {
    let installation = crate::installation("");
    let blocked = installation.root().join("versions");
    std::fs::write(&blocked, "").unwrap();
    let (world, _control) = start_in(installation, &[NODE], "").await;
    // The orchestrator and the broker work.
    world.shell("hello", &[], "echo '{}'");
    let row = world.run("hello", NODE, json!({})).await;
    assert_eq!(row["state"], "finished", "{row:#}");

    let path = blocked.display().to_string();
    let body = json!({"environments": ["production"], "wait": true});
    let deploys = "/code-manager/v1/deploys";
    let refused = world.client.post(deploys, &body).await.unwrap_err();
    let refused = format!("{refused:#}");
    for part in [
        "tutti/code-unavailable",
        &path,
        "is a file and must be a directory",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    let status = "/code-manager/v1/deploys/status";
    let told = format!("{:#}", world.client.get(status).await.unwrap_err());
    assert!(told.contains(&path), "{told}");
    let service = "/status/v1/services/code-manager-service";
    let told = format!("{:#}", world.client.get(service).await.unwrap_err());
    assert!(told.contains("503"), "{told}");
    let orchestrator = world.client.get("/orchestrator/v1/status").await.unwrap();
    assert_eq!(orchestrator["state"], "running", "{orchestrator:#}");

    std::fs::remove_file(&blocked).unwrap();
    crate::world::until("deployments start", || async {
        world.client.get(status).await.is_ok()
    })
    .await;
    world.deploy().await;
    let service = world.client.get(service).await.unwrap();
    assert_eq!(service["state"], "running", "{service:#}");
}

fn all(first: u32, second: u32) -> Value {
    let text = second.to_string();
    json!([
        [first, first.to_string(), first],
        [second, text, second, second, text]
    ])
}

#[tokio::test]
async fn a_plan_stays_with_its_version_and_deployments_do_not_wait_for_it() {
    let (mut world, control) = start(&[NODE]).await;
    let first = world.deploy().await;
    let pinned = world.plan("pinned").await;
    let latest = world.plan("latest").await;
    world.asked(pinned).await;
    world.asked(latest).await;
    control.commit(2);
    let second = world.deploy().await;
    assert_eq!(second["version_before"], first["version"]);
    // Neither a restart nor a deployment changes anything while it is unreachable.
    world.kill_server().await;
    world.start_server().await;
    world.client.connected(1).await.unwrap();
    let job = world.went_on(pinned).await;
    assert_eq!(job["result"], all(1, 1), "{job:#}");
    let code_id = format!(
        "urn:puppet:code-id:1:{};production",
        first["version"].as_str().unwrap()
    );
    assert_eq!(job["options"]["code_id"], code_id);
    let job = world.went_on(latest).await;
    assert_eq!(job["result"], all(1, 2), "{job:#}");
    assert_eq!(job["options"]["code_id"], Value::Null);
}

#[tokio::test]
async fn a_plan_that_locks_keeps_deployments_waiting_also_over_a_kill() {
    let (mut world, control) = start(&[NODE]).await;
    let first = world.deploy().await;
    let plan = world.plan("lock").await;
    world.asked(plan).await;
    control.commit(2);
    let body = json!({"environments": ["production"]});
    let path = "/code-manager/v1/deploys";
    let told = world.client.post(path, &body).await.unwrap();
    let id = told[0]["id"].as_i64().unwrap();
    let status = format!("/code-manager/v1/deploys/status?id={id}");
    let waits = async |world: &World| {
        crate::world::until("the deployment waits for the plan", || async {
            let status = world.client.get(&status).await.unwrap();
            assert_ne!(status["status"], "synced", "{status:#}");
            status["waiting-for"]["plans"] == json!([plan])
        })
        .await;
    };
    waits(&world).await;
    world.kill_server().await;
    world.start_server().await;
    world.client.connected(1).await.unwrap();
    waits(&world).await;
    let job = world.went_on(plan).await;
    assert_eq!(job["result"], all(1, 1), "{job:#}");
    assert_eq!(job["options"]["code"], "lock");
    let code_id = job["options"]["code_id"].as_str().unwrap();
    assert!(code_id.contains(first["version"].as_str().unwrap()));
    crate::world::until("the deployment is done", || async {
        world.client.get(&status).await.unwrap()["status"] == "synced"
    })
    .await;
}

/// Plans run in all ways while deployments follow each other, and each reports the version that it
/// saw. `TUTTI_CODE_PLANS` sets another number of plans.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_beside_a_loop_of_deployments_see_what_they_are_promised() {
    const PLANS: usize = 12;
    let plans = std::env::var("TUTTI_CODE_PLANS");
    let plans: usize = plans.map_or(PLANS, |text| text.parse().unwrap());
    let plan = "
plan site::look(TargetSpec $node) {
  $before = run_task('site::first', $node).first['version']
  $function = site::first()
  ctrl::sleep(0.05)
  $after = run_task('site::second', $node).first['version']
  return [$before, $function, $after, site::second(), run_plan('site::sub')]
}
";
    let (world, control) = start(&[NODE]).await;
    control.write("modules/site/plans/look.pp", plan);
    control.commit(2);
    world.deploy().await;
    let run = async |code: &str| {
        let body = json!({"plan_name": "site::look", "params": {"node": NODE}, "code": code});
        let path = "/orchestrator/v1/command/plan_run";
        let told = world.client.post(path, &body).await.unwrap();
        let number = told["name"].as_str().unwrap().parse().unwrap();
        let job = world.plan_over(number).await;
        assert_eq!(job["state"], "success", "{job:#}");
        let seen = job["result"].as_array().unwrap().iter();
        let seen: Vec<u64> = seen.map(|it| it.as_u64().unwrap()).collect();
        (job["options"]["code_id"].as_str().map(str::to_owned), seen)
    };
    let over = std::cell::Cell::new(0);
    let deploys = async {
        let mut versions = std::collections::BTreeMap::new();
        for version in 3.. {
            if over.get() == 3 {
                break;
            }
            control.commit(version);
            let told = world.deploy().await;
            let signature = told["version"].as_str().unwrap().to_owned();
            versions.insert(signature, u64::from(version));
        }
        versions
    };
    let lane = async |code: &'static str| {
        let mut lane = Vec::new();
        for _ in 0..plans / 3 {
            lane.push((code, run(code).await));
        }
        over.set(over.get() + 1);
        lane
    };
    let (versions, pinned, lock, latest) =
        tokio::join!(deploys, lane("pinned"), lane("lock"), lane("latest"));
    // A third of them locks, and leaves time for deployments in between.
    assert!(versions.len() >= plans / 6, "{versions:?}");
    eprintln!("{} deployments beside {plans} plans", versions.len());
    for (code, (code_id, seen)) in pinned.into_iter().chain(lock).chain(latest) {
        assert!(seen.is_sorted(), "{code}: {seen:?}");
        if code == "latest" {
            continue;
        }
        assert!(seen.iter().all(|it| *it == seen[0]), "{code}: {seen:?}");
        let id = code_id.unwrap();
        let signature = id.rsplit(':').next().unwrap().split(';').next().unwrap();
        // The one from before the loop is not listed.
        let expected = versions.get(signature).copied().unwrap_or(2);
        assert_eq!(seen[0], expected, "{code}");
    }
}

#[tokio::test]
async fn what_a_plan_works_with_is_not_removed() {
    let (world, control) = start(&[NODE]).await;
    let first = world.deploy().await;
    let plan = world.plan("pinned").await;
    world.asked(plan).await;
    for version in 2..10 {
        control.commit(version);
        world.deploy().await;
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(30 * 86_400);
    let versions = world.root().join("versions/versions");
    let all_versions = || {
        let entries = std::fs::read_dir(&versions).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("production_"))
            .collect::<Vec<_>>()
    };
    for version in all_versions() {
        // Garbage collection runs after deployments, too: the version may be gone.
        if let Ok(directory) = std::fs::File::open(versions.join(version)) {
            directory.set_modified(long_ago).unwrap();
        }
    }
    let gone = world.client.post("/tutti/v1/code/gc", &json!({})).await;
    gone.unwrap();
    let left = all_versions();
    // Nine versions were deployed; the live one, five more and the plan's are kept, which may be
    // one of the five.
    assert!((6..=7).contains(&left.len()), "{left:?}");
    let kept = first["version"].as_str().unwrap();
    assert!(left.contains(&format!("production_{kept}")), "{left:?}");
    let job = world.went_on(plan).await;
    assert_eq!(job["result"], all(1, 1), "{job:#}");
}

#[tokio::test]
async fn a_deployment_under_way_goes_on_after_a_kill() {
    let (mut world, control) = start(&[]).await;
    for version in 2..12 {
        control.commit(version);
        let body = json!({"environments": ["production"]});
        let told = world
            .client
            .post("/code-manager/v1/deploys", &body)
            .await
            .unwrap();
        let id = told[0]["id"].as_i64().unwrap();
        world.kill_server().await;
        world.start_server().await;
        let path = format!("/code-manager/v1/deploys/status?id={id}");
        crate::world::until("the deployment is over", || async {
            let status = world.client.get(&path).await.unwrap();
            assert_ne!(status["status"], "failed", "{status:#}");
            status["status"] == "synced"
        })
        .await;
        let live = world
            .installation
            .code_dir()
            .join("environments/production");
        let told = std::fs::read_to_string(live.join("modules/site/files/first")).unwrap();
        assert_eq!(told, version.to_string());
    }
}
