//! Node groups choose the facts whose changes cause a compilation.

use agent_catalogs::{FactsPolicies, FactsPolicy};
use serde_json::json;

use crate::site::{NodeState, Site};

async fn start(default: FactsPolicy, of_group: Option<FactsPolicy>) -> (Site, NodeState) {
    let mut site = Site::start().await;
    let by_group = of_group.map(|policy| ("all".to_owned(), policy));
    site.facts_policies = FactsPolicies {
        default,
        by_group: by_group.into_iter().collect(),
    };
    site.restart("build").await;
    // files that have just changed outside of the version are read again each time
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    let manifest = "notify { \"${facts['role']} ${of_group}\": }";
    site.classify("0").await;
    site.deploy('a', &[("manifests/site.pp", manifest)]);
    let node = NodeState::with_facts(json!({"role": "web", "uptime": 1}));
    (site, node)
}

/// True if the catalog is compiled.
async fn is_compiled(site: &Site, node: &NodeState) -> bool {
    let catalog = node.catalog(&site.agents).await.unwrap();
    catalog.compile_time.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn ignored_facts_compile_nothing_but_all_else_does() {
    let (mut site, mut node) = start(FactsPolicy::Read, Some(FactsPolicy::Ignore)).await;
    assert!(is_compiled(&site, &node).await);
    node.facts["role"] = json!("db");
    assert!(!is_compiled(&site, &node).await);
    site.restart("build").await;
    assert!(!is_compiled(&site, &node).await, "after a restart");
    site.classify("other").await;
    assert!(is_compiled(&site, &node).await, "a variable of its group");
    site.deploy('b', &[("manifests/site.pp", "notify { $facts['role']: }")]);
    assert!(is_compiled(&site, &node).await, "another version");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_counts_all_facts() {
    let (site, mut node) = start(FactsPolicy::Ignore, Some(FactsPolicy::All)).await;
    assert!(is_compiled(&site, &node).await);
    assert!(!is_compiled(&site, &node).await);
    node.facts["uptime"] = json!(2);
    assert!(is_compiled(&site, &node).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_counts_where_no_group_has_a_policy() {
    let (site, mut node) = start(FactsPolicy::Ignore, None).await;
    assert!(is_compiled(&site, &node).await);
    node.facts["role"] = json!("db");
    assert!(!is_compiled(&site, &node).await);
}
