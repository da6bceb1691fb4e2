//! A node is removed while the server is killed. Afterwards the request is repeated, and nothing of the node is
//! left, whatever the first one had done.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use reqwest::Method;
use serde_json::json;
use testkit::agent_requests;
use testkit::https_connection::HttpsConnection;
use testkit::installation::Installation;

use crate::world::World;

const PURGE: &str = "/inventory/v1/command/purge-node";

/// A removal takes some 20 ms, so the kills hit all its stages.
const NODES: u32 = 10;
const KILL_STEP: Duration = Duration::from_millis(3);

/// Requests a catalog as the node, which records its facts.
async fn request_catalog(installation: &Installation, certname: &str) -> Result<()> {
    let tls = installation.client_tls(certname)?;
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    let server = SocketAddr::new(loopback, installation.puppet_api_port());
    let mut connection = HttpsConnection::open(server, loopback, tls).await?;
    let facts = json!({"kernel": "Linux"});
    let request = agent_requests::catalog(certname, "production", &facts);
    connection.ask(request.as_bytes()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_a_kill_interrupted_is_completed_by_the_next_one() {
    let installation = crate::installation("");
    let manifests = installation
        .code_dir()
        .join("environments/production/manifests");
    std::fs::create_dir_all(&manifests).unwrap();
    std::fs::write(manifests.join("site.pp"), "notify { 'x': }\n").unwrap();
    let mut world = World::of(installation, &[]).await;
    let other = "stays.test";
    request_catalog(&world.installation, other).await.unwrap();

    let mut interrupted = 0;
    for number in 0..NODES {
        let node = format!("node{number}.test");
        request_catalog(&world.installation, &node).await.unwrap();
        assert_eq!(known(&world, &node).await, 1);

        let purge = json!({"certname": node});
        let request = world.client.request(Method::POST, PURGE).json(&purge);
        let removing = tokio::spawn(request.send());
        tokio::time::sleep(number * KILL_STEP).await;
        world.kill_server().await;
        interrupted += u32::from(removing.await.unwrap().is_err());
        world.start_server().await;

        world.client.post(PURGE, &purge).await.unwrap();
        assert_eq!(known(&world, &node).await, 0, "{node}");
        let refused = request_catalog(&world.installation, &node).await;
        assert!(refused.is_err(), "{node} is revoked");
    }
    assert!(interrupted > 0, "no removal was interrupted");
    assert_eq!(known(&world, other).await, 1);
    request_catalog(&world.installation, other).await.unwrap();
    world.stop().await;
}

/// Number of nodes with this certname in the inventory.
async fn known(world: &World, certname: &str) -> usize {
    let query = json!({"query": format!("inventory[certname] {{ certname = '{certname}' }}")});
    let rows = world.client.post("/pdb/query/v4", &query).await.unwrap();
    rows.as_array().map_or(0, Vec::len)
}
