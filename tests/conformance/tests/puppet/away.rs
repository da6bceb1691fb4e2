//! Servers that are not there.

use std::time::{Duration, Instant};

use conformance::site::Site;
use serde_json::json;

use crate::{NODE1, NODE2};

/// A run that waited for a report as long as it may takes longer.
const SOON: Duration = Duration::from_secs(25);

pub(crate) async fn a_puppetdb_that_is_down(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    site.puppetdb.stop().await.unwrap();
    let body = json!({"environment": "production", "scope": {"query": "nodes[certname] {}"}});
    let refused = site
        .client
        .post("/orchestrator/v1/command/deploy", &body)
        .await;
    let began = Instant::now();
    let ran = site.run(&[NODE1, NODE2], json!({})).await;
    let took = began.elapsed();
    site.puppetdb.resume().await.unwrap();

    let refused = refused.unwrap_err().to_string();
    let is_told = refused.contains("HTTP 400") && refused.contains("puppetdb-error");
    assert!(is_told, "{refused}");
    for node in [NODE1, NODE2] {
        let result = ran.ended(node, "finished");
        assert_eq!(result["status"], "changed", "{result:#}");
        assert_eq!(result["hash"], json!(null), "{result:#}");
    }
    assert!(took < SOON, "{took:?}");
    ran.said.expect(0, &["2 of 2 nodes succeeded"]);
}

pub(crate) async fn a_puppetserver_that_is_down(site: &mut Site) {
    site.puppetserver.stop().await.unwrap();
    let ran = site.run(&[NODE1, NODE2], json!({})).await;
    site.puppetserver.resume().await.unwrap();
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
