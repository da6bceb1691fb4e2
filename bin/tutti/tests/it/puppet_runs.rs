//! Puppet runs on demand, on real agents with a scripted `puppet`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::World;

/// Answers queries, records its arguments, and leaves a report.
const PUPPET: &str = r#"#!/bin/sh
home=@HOME@
if [ "$1" = config ]; then
    echo "config = $home/puppet.conf"
    echo "lastrunreport = $home/last_run_report.yaml"
    echo "agent_disabled_lockfile = $home/disabled.lock"
    echo "agent_catalog_run_lockfile = $home/run.lock"
    exit 0
fi
echo "$@" >>$home/runs
while [ $# -gt 0 ]; do [ "$1" = --lastrunreport ] && report=$2; shift; done
. $home/agent.sh
"#;

const UUID: &str = "0b2f6d70-2f3c-4c5c-8f0a-4ac5c3f3b9d1";

/// Shell text that leaves a report and exits as Puppet does in that case.
pub(crate) fn reports(status: &str, exit_code: u8) -> String {
    format!(
        "cat >$report <<'END'\n--- !ruby/object:Puppet::Transaction::Report\n\
         time: '2026-11-21T12:34:56.7+00:00'\ntransaction_uuid: {UUID}\nenvironment: production\n\
         configuration_version: 17\nstatus: {status}\nnoop: false\nEND\nexit {exit_code}\n"
    )
}

/// Installs a `puppet` for the node; returns its directory.
pub(crate) fn puppet(world: &World, node: &str, agent: &str) -> PathBuf {
    let home = world.root().join(format!("puppet-{node}"));
    std::fs::create_dir(&home).unwrap();
    let program = home.join("puppet");
    let text = PUPPET.replace("@HOME@", home.to_str().unwrap());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(home.join("agent.sh"), agent).unwrap();
    let installation = &world.installation;
    installation.puppet_program(node, &program).unwrap();
    home
}

async fn deploy(world: &World, nodes: &[&str]) -> u64 {
    let scope = json!({"nodes": nodes});
    deploy_as(
        world,
        json!({"environment": "production", "scope": scope, "tags": "web"}),
    )
    .await
}

async fn deploy_as(world: &World, body: Value) -> u64 {
    let path = "/orchestrator/v1/command/deploy";
    let made = world.client.post(path, &body).await.unwrap();
    made["job"]["name"].as_str().unwrap().parse().unwrap()
}

async fn with_agents(nodes: &[(&str, String)]) -> (World, Vec<PathBuf>) {
    let mut world = World::start(&[]).await;
    let homes = agents(&mut world, nodes).await;
    (world, homes)
}

async fn agents(world: &mut World, nodes: &[(&str, String)]) -> Vec<PathBuf> {
    let mut homes = Vec::new();
    for (node, agent) in nodes {
        homes.push(puppet(world, node, agent));
        world.start_agent(node, "").await;
    }
    world.client.connected(nodes.len()).await.unwrap();
    homes
}

/// Script of a run that waits until the file `end` exists.
fn waits() -> String {
    let waits = "touch $home/begun\nwhile [ ! -e $home/end ] && cd $home; do sleep 0.05; done\n";
    format!("{waits}{}", reports("changed", 2))
}

#[tokio::test]
async fn puppet_runs_where_it_was_asked_for_and_tells_how_it_went() {
    let (world, homes) = with_agents(&[
        ("changed.test", reports("changed", 2)),
        ("failed.test", reports("failed", 4)),
        (
            "broken.test",
            "echo 'Error: no server' >&2; exit 1".to_owned(),
        ),
    ])
    .await;
    let job = deploy(&world, &["changed.test", "failed.test", "broken.test"]).await;
    let rows = world.ended(job).await;
    let row = |name: &str| -> &Value { rows.iter().find(|row| row["name"] == name).unwrap() };
    let changed = row("changed.test");
    assert_eq!(changed["state"], "finished", "{changed}");
    assert_eq!(changed["transaction_uuid"], UUID);
    assert_eq!(changed["result"]["status"], "changed");
    assert_eq!(changed["result"]["configuration_version"], "17");
    assert_eq!(
        row("failed.test")["state"],
        "failed",
        "{}",
        row("failed.test")
    );
    assert_eq!(
        row("broken.test")["state"],
        "errored",
        "{}",
        row("broken.test")
    );
    let runs = std::fs::read_to_string(homes[0].join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 1, "{runs}");
    for words in [
        "agent --environment production --strict_environment_mode --tags web",
        &format!("--job-id {job}"),
    ] {
        assert!(runs.contains(words), "{words}: {runs}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_run_goes_on_without_the_server_and_its_outcome_is_known_afterwards() {
    let (mut world, homes) = with_agents(&[("node.test", waits())]).await;
    let job = deploy(&world, &["node.test"]).await;
    crate::world::file(&homes[0].join("begun")).await;
    world.kill_server().await;
    std::fs::write(homes[0].join("end"), "").unwrap();
    world.start_server().await;
    let rows = world.ended(job).await;
    assert_eq!(rows[0]["state"], "finished", "{}", rows[0]);
    assert_eq!(rows[0]["result"]["status"], "changed");
    let runs = std::fs::read_to_string(homes[0].join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 1, "once: {runs}");
    world.stop().await;
}

/// Starts a command that locks the environment, deploys another version, and kills the server while the run goes on.
/// `blockers` is the kind of user that the deployment waits for, whose number is 1. Returns the world and the version that was live at first.
async fn locks_over_a_kill(path: &str, body: Value, blockers: &str) -> (World, String) {
    let (mut world, control) = crate::code::start_with(&[], "").await;
    let homes = agents(&mut world, &[("node.test", waits())]).await;
    let first = world.deploy().await;
    world.client.post(path, &body).await.unwrap();
    crate::world::file(&homes[0].join("begun")).await;
    control.commit(2);
    let path = "/code-manager/v1/deploys";
    let told = world
        .client
        .post(path, &json!({"environments": ["production"]}))
        .await;
    let status = format!("{path}/status?id={}", told.unwrap()[0]["id"]);
    let held = async |world: &World| {
        crate::world::until("the deployment waits for the runs", || async {
            let status = world.client.get(&status).await.unwrap();
            assert_ne!(status["status"], "synced", "{status:#}");
            status["waiting-for"][blockers] == json!([1])
        })
        .await;
    };
    held(&world).await;
    world.kill_server().await;
    world.start_server().await;
    held(&world).await;
    std::fs::write(homes[0].join("end"), "").unwrap();
    let rows = world.ended(1).await;
    assert_eq!(rows[0]["state"], "finished", "{}", rows[0]);
    crate::world::until("the deployment is done", || async {
        world.client.get(&status).await.unwrap()["status"] == "synced"
    })
    .await;
    (world, first["version"].as_str().unwrap().to_owned())
}

/// A run on one node that locks its environment.
fn locking() -> Value {
    let scope = json!({"nodes": ["node.test"]});
    json!({"environment": "production", "enforce_environment": false, "scope": scope, "code": "lock"})
}

#[tokio::test]
async fn a_job_that_locks_keeps_deployments_waiting_also_over_a_kill() {
    let path = "/orchestrator/v1/command/deploy";
    let (world, version) = locks_over_a_kill(path, locking(), "jobs").await;
    let job = world.client.get("/orchestrator/v1/jobs/1").await.unwrap();
    assert_eq!(job["options"]["code"], "lock");
    let code_id = job["options"]["code_id"].as_str().unwrap();
    assert!(code_id.contains(&version));
    world.stop().await;
}

#[tokio::test]
async fn waves_that_lock_keep_deployments_waiting_also_over_a_kill() {
    let path = "/orchestrator/v1/command/converge";
    let body = json!({"deploy": locking()});
    let (world, _) = locks_over_a_kill(path, body, "plans").await;
    world.stop().await;
}

/// Script of runs that each wait until the file `end-N` exists. Those before the last change something else each and
/// request another one, if the orchestrator wants to know that.
fn needs(runs: u32) -> String {
    let before = reports("changed", 2).replace(
        "noop: false\n",
        "noop: false\nresource_statuses:\n  Exec[x]:\n    resource_type: Exec\n    title: x\n    changed: true\n    \
         failed: false\n    events:\n    - property: returns\n      message: step $number\n      status: success\n",
    );
    format!(
        "number=$(wc -l <$home/runs)\ntouch $home/begun-$number\n\
         while [ ! -e $home/end-$number ] && cd $home; do sleep 0.05; done\n\
         if [ $number -lt {runs} ]; then\n\
         [ -n \"$TUTTI_RERUN_REQUESTS\" ] && echo '{{\"key\":\"again\",\"delta_s\":0}}' >>$TUTTI_RERUN_REQUESTS\n\
         {}\nfi\n{}",
        before.replace("<<'END'", "<<END"),
        reports("unchanged", 0)
    )
}

#[tokio::test]
async fn waves_go_on_after_the_server_was_killed_in_each_of_them() {
    let (mut world, homes) = with_agents(&[("one.test", needs(1)), ("three.test", needs(3))]).await;
    let deploy = json!({"environment": "production", "enforce_environment": false,
        "scope": {"nodes": ["one.test", "three.test"]}});
    let path = "/orchestrator/v1/command/converge";
    let started = world.client.post(path, &json!({"deploy": deploy})).await;
    assert_eq!(started.unwrap()["name"], "1");
    let end = |home: &PathBuf, number: u32| {
        std::fs::write(home.join(format!("end-{number}")), "").unwrap();
    };
    end(&homes[0], 1);
    for number in 1..=3 {
        crate::world::file(&homes[1].join(format!("begun-{number}"))).await;
        world.kill_server().await;
        end(&homes[1], number);
        world.start_server().await;
    }
    let plan = "/orchestrator/v1/plan_jobs/1";
    crate::world::until("the waves are over", || async {
        world.client.get(plan).await.unwrap()["state"] != "running"
    })
    .await;
    let plan = world.client.get(plan).await.unwrap();
    assert_eq!(plan["state"], "success", "{plan:#}");
    assert_eq!(plan["result"]["waves"], 3);
    let runs = homes.iter().map(|home| {
        let runs = std::fs::read_to_string(home.join("runs")).unwrap();
        runs.lines().count()
    });
    assert_eq!(runs.collect::<Vec<_>>(), [1, 3], "each wave once");
    world.stop().await;
}

/// Messages of a plan job's events of one kind.
async fn told(world: &World, plan: &str, kind: &str) -> Vec<String> {
    let path = format!("/orchestrator/v1/plan_jobs/{plan}/events");
    let events = world.client.get(&path).await.unwrap();
    let events = events["items"].as_array().unwrap().iter();
    let of_kind = events.filter(|event| event["type"] == kind);
    let messages = of_kind.map(|event| event["message"].as_str().unwrap().to_owned());
    messages.collect()
}

/// The plan job of waves on `node.test`, with this longest wait.
async fn start_waves(world: &World, max_delay: u32) -> String {
    let deploy = json!({"environment": "production", "enforce_environment": false,
        "scope": {"nodes": ["node.test"]}});
    let body = json!({"deploy": deploy, "limits": {"max_delay": max_delay}});
    let path = "/orchestrator/v1/command/converge";
    let started = world.client.post(path, &body).await.unwrap();
    started["name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn jobs_share_the_reruns_of_a_node_and_wait_for_them_over_a_kill() {
    let limits = "[jobs]\nnode_reruns_burst = 1\nnode_reruns_per_hour = 1\n";
    let mut world = World::of(crate::installation(limits), &[]).await;
    let homes = agents(&mut world, &[("node.test", needs(9))]).await;
    for number in 1..=9 {
        std::fs::write(homes[0].join(format!("end-{number}")), "").unwrap();
    }
    let patient = start_waves(&world, 86_400).await;
    crate::world::until("the third wave waits for an hour", || async {
        !told(&world, &patient, "reruns_delayed").await.is_empty()
    })
    .await;
    let hasty = start_waves(&world, 0).await;
    let plan = |number: &str| format!("/orchestrator/v1/plan_jobs/{number}");
    let ended = async |world: &World, number: &str| {
        crate::world::until("the plan job is over", || async {
            world.client.get(&plan(number)).await.unwrap()["state"] != "running"
        })
        .await;
        world.client.get(&plan(number)).await.unwrap()
    };
    let error = ended(&world, &hasty).await["result"].clone();
    assert_eq!(error["kind"], "tutti/not-converged", "{error:#}");
    assert_eq!(
        error["details"]["unsettled"]["node.test"]["state"],
        "throttled"
    );
    let figures = world
        .client
        .request(reqwest::Method::GET, "/metrics")
        .send()
        .await;
    let figures = figures.unwrap().text().await.unwrap();
    for figure in [
        "tutti_reruns_total 1",
        "tutti_rerun_waits_total 1",
        "tutti_reruns_left_out_total 1",
    ] {
        assert!(
            figures.lines().any(|line| line == figure),
            "{figure} in {figures}"
        );
    }

    world.kill_server().await;
    world.start_server().await;
    // a plan job that is stopped had been taken up
    assert_eq!(
        world.client.get(&plan(&patient)).await.unwrap()["state"],
        "running"
    );
    let stop = json!({"plan_job": patient});
    world
        .client
        .post("/orchestrator/v1/command/stop_plan", &stop)
        .await
        .unwrap();
    ended(&world, &patient).await;
    assert_eq!(
        told(&world, &patient, "reruns_delayed").await.len(),
        1,
        "it asked once"
    );
    let runs = std::fs::read_to_string(homes[0].join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 3, "two first runs and a rerun");
    world.stop().await;
}
