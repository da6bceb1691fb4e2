//! Nodes that are named by what is known of them.

use conformance::site::Site;
use serde_json::{Value, json};

use crate::{NODE2, NODE3};

/// The fact that some nodes have.
const FACT: &str = "tutti_role";

/// A run of `scope`; the nodes that ran are answered.
async fn ran_on(site: &Site, scope: Value) -> Vec<String> {
    let ran = site.run(&[], json!({"scope": scope})).await;
    assert_eq!(ran.job["state"], "finished", "{}", ran.job);
    assert_eq!(ran.job["options"]["scope"], scope);
    ran.nodes.into_keys().collect()
}

pub(crate) async fn a_query_names_the_nodes(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    site.give_fact(NODE2, FACT, "web").await;
    site.give_fact(NODE3, FACT, "db").await;
    let pql = format!("inventory[certname] {{ facts.{FACT} = 'web' }}");
    assert_eq!(ran_on(site, json!({ "query": pql })).await, [NODE2]);
    let ast = json!(["from", "inventory", ["=", format!("facts.{FACT}"), "db"]]);
    assert_eq!(ran_on(site, json!({ "query": ast })).await, [NODE3]);

    for (query, kind) in [
        (
            "inventory[certname] { facts.tutti_role = 'none' }",
            "empty-target",
        ),
        ("inventory[certname] {", "query-error"),
    ] {
        let body = json!({"environment": "production", "scope": {"query": query}});
        let refused = site
            .client
            .post("/orchestrator/v1/command/deploy", &body)
            .await;
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("HTTP 400") && refused.contains(kind),
            "{refused}"
        );
    }
}

pub(crate) async fn a_node_group_names_the_nodes(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    site.give_fact(NODE2, FACT, "web").await;
    site.give_fact(NODE3, FACT, "db").await;
    let rule = json!([
        "and",
        ["=", ["fact", FACT], "web"],
        ["~", ["fact", "os", "family"], "Deb"]
    ]);
    let group = site
        .group("All Nodes", json!({"name": "Web", "rule": rule}))
        .await;
    let ran = ran_on(site, json!({ "node_group": group })).await;
    site.drop_group(&group).await;
    assert_eq!(ran, [NODE2]);
}
