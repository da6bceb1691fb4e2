//! Runs that have to wait, and runs that nobody may make.

use conformance::gate::Gate;
use conformance::site::Site;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{NODE1, NODE2, for_nodes};

/// A run that nobody asked Tutti for, and that stands before the gate.
async fn bare_run(site: &Site, gate: &Gate) -> JoinHandle<Option<i32>> {
    site.manifest("production", &for_nodes(&[(NODE1, &gate.resource())]));
    let puppet = site.puppet(NODE1).clone();
    let run = tokio::spawn(async move {
        let arguments = ["agent", "--test", "--detailed-exitcodes"];
        puppet.run(&arguments).await.unwrap().status.code()
    });
    gate.reached().await;
    run
}

pub(crate) async fn a_run_in_progress_is_waited_for(site: &mut Site) {
    let gate = Gate::new(site, "in-progress");
    let other = bare_run(site, &gate).await;
    let job = site.deploy(&[NODE1], json!({})).await;
    let words = "another run of Puppet is in progress";
    site.client.stream_until(job, words).await.unwrap();
    let rows = site.client.nodes(job).await.unwrap();
    assert_eq!(rows[0]["state"], "running", "{}", rows[0]);
    assert_eq!(gate.count(), 1, "only one runs at a time");

    gate.open();
    assert_eq!(other.await.unwrap(), Some(2));
    let ran = site.ended(job).await;
    let result = ran.ended(NODE1, "finished");
    assert_eq!(result["status"], "changed");
    assert!(result["waited_ms"].as_u64().unwrap() > 0, "{result:#}");
    assert_eq!(gate.count(), 2, "then the other");
    ran.said.expect(0, &["SUCCESS! (changed)"]);
}

pub(crate) async fn the_wait_has_an_end(site: &mut Site) {
    let gate = Gate::new(site, "bounded");
    let other = bare_run(site, &gate).await;
    let program = site.puppet(NODE1).program();
    let impatient = json!({"puppet_bin": program, "lock_wait_s": 2});
    site.installation
        .puppet_settings(NODE1, &impatient)
        .unwrap();
    let ran = site.run(&[NODE1], json!({})).await;
    site.installation.puppet_program(NODE1, &program).unwrap();
    gate.open();
    assert_eq!(other.await.unwrap(), Some(2), "it was not disturbed");

    ran.ended(NODE1, "errored");
    let error = ran.error(NODE1);
    assert_eq!(error["kind"], "puppetlabs.orchestrator/execution-failure");
    assert_eq!(error["details"]["error_type"], "agent_already_running");
    assert_eq!(error["details"]["cause"], "already_running");
    assert_eq!(gate.count(), 1);
    let words = [
        "Error running puppet on node1.test",
        "did not end within 2 seconds",
    ];
    ran.said.expect(1, &words);
}

pub(crate) async fn a_disabled_agent_says_why(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    let puppet = site.puppet(NODE1).clone();
    let disabled = puppet
        .run(&["agent", "--disable", "moving day"])
        .await
        .unwrap();
    assert!(disabled.status.success());
    let ran = site.run(&[NODE1, NODE2], json!({})).await;
    let enabled = puppet.run(&["agent", "--enable"]).await.unwrap();
    assert!(enabled.status.success());

    ran.ended(NODE1, "errored");
    let details = &ran.error(NODE1)["details"];
    assert_eq!(details["error_type"], "agent_disabled", "{details:#}");
    assert_eq!(details["cause"], "disabled");
    assert_eq!(ran.nodes[NODE1]["transaction_uuid"], json!(null));
    ran.ended(NODE2, "finished");
    let words = [
        "Error running puppet on node1.test",
        "reason: moving day",
        "puppet agent --enable",
    ];
    ran.said.expect(1, &words);
    site.run(&[NODE1], json!({})).await.ended(NODE1, "finished");
}
