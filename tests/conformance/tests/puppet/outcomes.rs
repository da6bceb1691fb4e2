//! How runs end, and what is told of it.

use conformance::site::Site;
use serde_json::{Value, json};

use crate::{CONSOLE, NODE1, NODE2, NODE3, file, for_nodes};

/// Without Tutti: what the other scenarios stand on.
pub(crate) async fn the_site_itself_works(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    let arguments = ["agent", "--test", "--detailed-exitcodes"];
    let output = site.puppet(NODE1).run(&arguments).await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("hello"), "{text}");
}

pub(crate) async fn changed_unchanged_and_failed(site: &mut Site) {
    let (new, there, after) = (
        site.target("new"),
        site.target("there"),
        site.target("after"),
    );
    std::fs::write(&there, "here already").unwrap();
    let failing = format!(
        "exec {{ '/bin/false': before => File['{}'] }}\n",
        after.display()
    );
    let bodies = [
        (NODE1, file(&new, "made")),
        (NODE2, file(&there, "here already")),
        (NODE3, failing + &file(&after, "never")),
    ];
    let bodies = bodies.each_ref().map(|(node, body)| (*node, body.as_str()));
    site.manifest("production", &for_nodes(&bodies));

    let ran = site.run(&[NODE1, NODE2, NODE3], json!({})).await;
    assert_eq!(ran.job["state"], "failed", "{}", ran.job);
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "made");
    assert!(!after.exists());
    for (node, state, status) in [
        (NODE1, "finished", "changed"),
        (NODE2, "finished", "unchanged"),
        (NODE3, "failed", "failed"),
    ] {
        let result = ran.ended(node, state);
        assert_eq!(result["status"], status, "{result:#}");
        assert_eq!(result["environment"], "production");
        is_the_report_of(site, node, &ran.nodes[node], ran.number).await;
        let told = &ran.end(node)["details"]["detail"];
        for key in [
            "hash",
            "status",
            "transaction_uuid",
            "configuration_version",
            "metrics",
        ] {
            assert_eq!(told[key], result[key], "{key}: {told:#}");
        }
    }
    let changed = &ran.result(NODE1)["resources"][0];
    assert_eq!(
        (&changed["type"], &changed["status"]),
        (&json!("File"), &json!("changed"))
    );
    assert_eq!(changed["title"], new.to_str().unwrap());
    let failed = ran.result(NODE3);
    assert_eq!(failed["metrics"]["failed"], 1, "{failed:#}");
    assert_eq!(failed["metrics"]["skipped"], 1, "{failed:#}");
    assert_eq!(ran.nodes[NODE3]["details"]["message"], "1 resource failed");
    ran.said.expect(
        1,
        &[
            "Finished node node1.test - SUCCESS! (changed)",
            "Finished node node2.test - SUCCESS! (unchanged)",
            "Finished node node3.test - FAILURE!: 1 resource failed",
            "Exec[/bin/false]",
            "2 of 3 nodes succeeded",
        ],
    );

    let nodes = format!("{NODE1},{NODE2}");
    let said = site
        .cli(&["job", "run", "-n", &nodes, "-e", "production"])
        .await;
    let words = [
        "Started puppet run on node1.test ...",
        "Finished node node1.test - SUCCESS! (unchanged)",
        "2 of 2 nodes succeeded",
    ];
    said.expect(0, &words);
}

/// The report that PuppetDB has of the run's own transaction id.
async fn is_the_report_of(site: &Site, node: &str, row: &Value, job: u64) {
    let uuid = row["transaction_uuid"].as_str().unwrap();
    assert_eq!(row["result"]["transaction_uuid"], uuid);
    let query = format!("reports[certname, hash, job_id] {{ transaction_uuid = '{uuid}' }}");
    let reports = site.query(&query).await;
    let hash = row["result"]["hash"].as_str().unwrap();
    let known = json!([{"certname": node, "hash": hash, "job_id": job.to_string()}]);
    assert_eq!(reports, known, "{row:#}");
    let url = format!("{CONSOLE}/#/cm/report/{hash}");
    assert_eq!(row["details"]["report-url"], url);
}

pub(crate) async fn a_catalog_that_does_not_compile(site: &mut Site) {
    let fine = "notify { 'fine': }";
    site.manifest("production", &for_nodes(&[(NODE1, fine)]));
    site.run(&[NODE1], json!({})).await.ended(NODE1, "finished");

    let broken = [
        (NODE1, "fail('broken on purpose')"),
        (NODE2, "include nobody::knows"),
        (NODE3, fine),
    ];
    site.manifest("production", &for_nodes(&broken));
    let ran = site.run(&[NODE1, NODE2, NODE3], json!({})).await;
    for (node, why) in [(NODE1, "broken on purpose"), (NODE2, "nobody::knows")] {
        let result = ran.ended(node, "failed");
        assert_eq!(result["status"], "failed", "{result:#}");
        assert_eq!(result["cause"], "catalog_failed", "{result:#}");
        let message = ran.nodes[node]["details"]["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
        ran.said.expect(1, &[why]);
    }
    ran.ended(NODE3, "finished");

    // As Puppet is set out of the box: the last catalog that compiled, and the truth about it.
    let ran = site.run(&[NODE1], json!({"usecacheonfailure": true})).await;
    let result = ran.ended(NODE1, "finished");
    assert_eq!(result["cached_catalog_status"], "on_failure", "{result:#}");
    let errors = result["errors"].to_string();
    assert!(errors.contains("broken on purpose"), "{errors}");
    ran.said.expect(0, &["SUCCESS!", "broken on purpose"]);
}
