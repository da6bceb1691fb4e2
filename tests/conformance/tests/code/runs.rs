//! Runs on demand beside deployments: which code each node got, and how a job tells it.

use conformance::cli;
use serde_json::json;
use testkit::peers::PuppetAgent;

use crate::world::{NODE, World};

const OTHER: &str = "node2.test";

/// Two nodes, one after the other: while the first applies its catalog, the next release becomes live.
pub(crate) async fn a_job_says_which_code_its_runs_used(world: &World) {
    let installation = &world.installation;
    cli::keep_token(installation, &world.client).unwrap();
    let mut agents = Vec::new();
    for node in [NODE, OTHER] {
        let puppet = PuppetAgent::new(installation, node, world.puppetserver.port()).unwrap();
        installation
            .puppet_program(node, &puppet.program())
            .unwrap();
        let agent = installation.agent(node, installation.broker_port(), "");
        agents.push(agent.unwrap().start().await.unwrap());
    }
    world.client.connected(agents.len()).await.unwrap();

    world.deploy(1003).await;
    world.shut_gate();
    let body = json!({"environment": "production", "scope": {"nodes": [NODE, OTHER]},
        "concurrency": 1});
    let path = "/orchestrator/v1/command/deploy";
    let made = world.client.post(path, &body).await.unwrap();
    let name = made["job"]["name"].as_str().unwrap();
    let watch = ["job", "show", name, "--follow"];
    let watching = cli::run(installation, &watch);
    let switching = async {
        world.agent_at_gate().await;
        world.deploy(1004).await;
        world.open_gate();
    };
    let (watched, ()) = tokio::join!(watching, switching);
    let mixed = "mixed: 2 versions of production";
    watched.unwrap().expect(0, &[mixed, "  1 node\n"]);
    let shown = cli::run(installation, &["job", "show", name]).await;
    shown.unwrap().expect(0, &[mixed, "  1 node\n"]);

    let nodes = world.client.nodes(name.parse().unwrap()).await.unwrap();
    let release = |node: &serde_json::Value| {
        let code_id = node["result"]["code_id"].as_str();
        world.release_of(code_id.unwrap_or_else(|| panic!("no code id: {node:#}")))
    };
    let mut releases: Vec<_> = nodes.iter().filter_map(release).collect();
    releases.sort();
    assert_eq!(releases, ["1003", "1004"], "{nodes:#?}");
    for agent in agents {
        agent.stop().await.unwrap();
    }
}
