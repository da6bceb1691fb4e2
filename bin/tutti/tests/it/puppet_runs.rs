//! Puppet runs on demand, on real agents with a `puppet` that plays.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::World;

/// Answers questions, writes its arguments down, and leaves a report.
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

/// Shell text that leaves a report and ends as Puppet does then.
fn reports(status: &str, exit_code: u8) -> String {
    format!(
        "cat >$report <<'END'\n--- !ruby/object:Puppet::Transaction::Report\n\
         time: '2026-11-21T12:34:56.7+00:00'\ntransaction_uuid: {UUID}\nenvironment: production\n\
         configuration_version: 17\nstatus: {status}\nnoop: false\nEND\nexit {exit_code}\n"
    )
}

/// A `puppet` for the node, in a directory that is answered.
fn puppet(world: &World, node: &str, agent: &str) -> PathBuf {
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
    let body = json!({"environment": "production", "scope": {"nodes": nodes}, "tags": "web"});
    let path = "/orchestrator/v1/command/deploy";
    let made = world.client.post(path, &body).await.unwrap();
    made["job"]["name"].as_str().unwrap().parse().unwrap()
}

async fn with_agents(nodes: &[(&str, String)]) -> (World, Vec<PathBuf>) {
    let mut world = World::start(&[]).await;
    let mut homes = Vec::new();
    for (node, agent) in nodes {
        homes.push(puppet(&world, node, agent));
        world.start_agent(node, "").await;
    }
    world.client.connected(nodes.len()).await.unwrap();
    (world, homes)
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
    let waits = "touch $home/begun\nwhile [ ! -e $home/end ] && cd $home; do sleep 0.05; done\n";
    let agent = format!("{waits}{}", reports("changed", 2));
    let (mut world, homes) = with_agents(&[("node.test", agent)]).await;
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
