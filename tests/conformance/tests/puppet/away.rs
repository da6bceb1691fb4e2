//! Servers that are not there: their ports are closed, because a start takes a minute.

use conformance::site::Site;
use serde_json::json;

use crate::{NODE1, NODE2};

/// What the server's log says of a run whose report it gave up on because PuppetDB does not
/// answer; a report that it waited for as long as it may has other words.
const GIVEN_UP: &str = "the report of a Puppet run cannot be looked up";

pub(crate) async fn a_puppetdb_that_is_down(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    site.puppetdb_port.close().await.unwrap();
    let body = json!({"environment": "production", "scope": {"query": "nodes[certname] {}"}});
    let refused = site
        .client
        .post("/orchestrator/v1/command/deploy", &body)
        .await;
    let ran = site.run(&[NODE1, NODE2], json!({})).await;
    site.puppetdb_port.open().await.unwrap();

    let refused = refused.unwrap_err().to_string();
    let is_told = refused.contains("HTTP 400") && refused.contains("puppetdb-error");
    assert!(is_told, "{refused}");
    for node in [NODE1, NODE2] {
        let result = ran.ended(node, "finished");
        assert_eq!(result["status"], "changed", "{result:#}");
        assert_eq!(result["hash"], json!(null), "{result:#}");
        let uuid = ran.nodes[node]["transaction_uuid"].as_str().unwrap();
        let log = site.server.as_ref().unwrap().log_text();
        let line = log.lines().rfind(|line| line.contains(uuid));
        assert!(line.unwrap_or_default().contains(GIVEN_UP), "{line:?}");
    }
    ran.said.expect(0, &["2 of 2 nodes succeeded"]);
}

pub(crate) async fn a_puppetserver_that_is_down(site: &mut Site) {
    site.puppetserver_port.close().await.unwrap();
    let ran = site.run(&[NODE1, NODE2], json!({})).await;
    site.puppetserver_port.open().await.unwrap();
    for node in [NODE1, NODE2] {
        let result = ran.ended(node, "failed");
        assert_eq!(result["status"], "failed", "{result:#}");
        assert_eq!(result["cause"], "server_unreachable", "{result:#}");
        let message = ran.nodes[node]["details"]["message"].as_str().unwrap();
        assert!(message.contains("localhost"), "{message}");
    }
    ran.said.expect(1, &["FAILURE!", "0 of 2 nodes succeeded"]);
    site.manifest("production", "notify { 'hello': }");
    site.run(&[NODE1], json!({})).await.ended(NODE1, "finished");
}
