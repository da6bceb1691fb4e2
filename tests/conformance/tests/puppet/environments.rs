//! Environments, and who decides on a node's.

use conformance::site::Site;
use serde_json::json;

use crate::{NODE1, NODE2, NODE3, file};

/// The environment group that every node is in: one beside it would contradict it, one below it wins.
const EVERYBODY: &str = "All Environments";

pub(crate) async fn nodes_of_another_environment_do_not_run(site: &mut Site) {
    site.manifest("production", "notify { 'production': }");
    site.manifest("staging", "notify { 'staging': }");
    let group = json!({"name": "Staging", "environment": "staging", "environment_trumps": true,
                       "rule": ["=", "name", NODE2]});
    let group = site.group(EVERYBODY, group).await;
    let enforced = site.run(&[NODE1, NODE2], json!({})).await;
    let free = site
        .run(&[NODE2], json!({"enforce_environment": false}))
        .await;
    let right = site.run(&[NODE2], json!({"environment": "staging"})).await;
    site.drop_group(&group).await;

    assert_eq!(
        enforced.ended(NODE1, "finished")["environment"],
        "production"
    );
    enforced.ended(NODE2, "errored");
    assert_eq!(
        enforced.nodes[NODE2]["transaction_uuid"],
        json!(null),
        "it did not run"
    );
    enforced
        .said
        .expect(1, &["node2.test is in the environment `staging`"]);
    assert_eq!(free.ended(NODE2, "finished")["environment"], "production");
    assert_eq!(right.ended(NODE2, "finished")["environment"], "staging");
}

pub(crate) async fn the_node_terminus_sends_another_environment(site: &mut Site) {
    site.manifest("production", "notify { 'production': }");
    site.manifest("staging", "notify { 'staging': }");
    site.enc.say("classes: {}\nenvironment: staging\n");
    let enforced = site.run(&[NODE1], json!({})).await;
    let free = site
        .run(&[NODE1], json!({"enforce_environment": false}))
        .await;
    let own = site
        .run(
            &[NODE1],
            json!({"environment": "", "enforce_environment": false}),
        )
        .await;
    site.enc.reset();

    let result = enforced.ended(NODE1, "failed");
    assert_eq!(result["cause"], "environment_mismatch", "{result:#}");
    enforced.said.expect(1, &["FAILURE!", "staging"]);
    for ran in [free, own] {
        assert_eq!(ran.ended(NODE1, "finished")["environment"], "staging");
    }
}

/// Classes, their parameters and the environment come from Tutti's node groups.
pub(crate) async fn tutti_is_the_node_terminus(site: &mut Site) {
    let path = site.target("greeting");
    let class = format!(
        "class role::web(String $greeting) {{\n{}}}\n",
        file(&path, "X").replace("'X'", "$greeting")
    );
    let manifests = "environments/production/modules/role/manifests";
    let manifests = site.installation.code_dir().join(manifests);
    std::fs::create_dir_all(&manifests).unwrap();
    std::fs::write(manifests.join("web.pp"), class).unwrap();
    site.manifest("production", "notify { \"variable ${site_name}\": }");
    site.manifest("staging", "notify { 'staging': }");
    // A fact of this scenario alone: nodes keep the facts that others gave them.
    site.give_fact(NODE3, "terminus_role", "web").await;
    let web = json!({"name": "Web", "rule": ["=", ["fact", "terminus_role"], "web"],
        "classes": {"role::web": {"greeting": "from the classifier"}},
        "variables": {"site_name": "zurich"}});
    let web = site.group("All Nodes", web).await;
    let staging = json!({"name": "Staging", "environment": "staging", "environment_trumps": true,
                         "rule": ["=", "name", NODE2]});
    let staging = site.group(EVERYBODY, staging).await;
    site.enc.ask_tutti();
    let ran = site.run(&[NODE3], json!({})).await;
    let own = site
        .run(
            &[NODE2],
            json!({"environment": "", "enforce_environment": false}),
        )
        .await;
    site.enc.reset();
    site.drop_group(&web).await;
    site.drop_group(&staging).await;

    let result = ran.ended(NODE3, "finished");
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        "from the classifier"
    );
    assert!(
        result["resources"].to_string().contains("variable zurich"),
        "{result:#}"
    );
    assert_eq!(own.ended(NODE2, "finished")["environment"], "staging");
}
