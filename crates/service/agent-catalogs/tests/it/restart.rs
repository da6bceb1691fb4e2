//! Catalogs that survive a restart of the server.

use std::io::Read as _;

use agent_catalogs::AgentIdentity;
use serde_json::json;

use crate::site::{NODE, NodeState, Site};

const MANIFEST: &str = "file { '/a': source => 'puppet:///modules/m/a', content => undef }
notify { \"${facts['role']} s3cret-of-catalog\": }";

fn deploy(site: &Site, digit: char, content: &str) {
    site.deploy(
        digit,
        &[
            ("manifests/site.pp", MANIFEST),
            ("modules/m/files/a", content),
        ],
    );
}

fn node() -> NodeState {
    NodeState::with_facts(json!({"role": "web-s3cret-of-fact", "uptime": 1}))
}

async fn settled_site() -> Site {
    let site = Site::start().await;
    // files that have just changed outside of the version are read again each time
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    site
}

async fn content(site: &Site, text: &str) -> Option<String> {
    let agent = AgentIdentity::new(NODE.parse().unwrap(), std::collections::BTreeMap::new());
    let sha256 = environments_sha256(text);
    let mut file = site.agents.content(&agent, sha256).await.unwrap()?;
    let mut text = String::new();
    file.content.read_to_string(&mut text).unwrap();
    Some(text)
}

fn environments_sha256(text: &str) -> environments::Sha256 {
    use sha2::Digest as _;
    let digest: [u8; 32] = sha2::Sha256::digest(text).into();
    digest.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_is_given_again_after_a_restart_while_nothing_has_changed() {
    let mut site = settled_site().await;
    deploy(&site, 'a', "old");
    let mut node = node();
    let first = node.catalog(&site.agents).await.unwrap();
    assert!(first.compile_time.is_some());
    site.restart("build").await;
    node.facts["uptime"] = json!(2);
    let again = node.catalog(&site.agents).await.unwrap();
    assert!(again.compile_time.is_none());
    assert_eq!(again.body, first.body);
    for change in ["role", "build", "outside", "code"] {
        site.restart("build").await;
        match change {
            "role" => node.facts["role"] = json!("db"),
            "build" => site.restart("another build").await,
            "outside" => site.write("hiera.yaml", "version: 5"),
            _ => deploy(&site, 'b', "new"),
        }
        let other = node.catalog(&site.agents).await.unwrap();
        assert!(other.compile_time.is_some(), "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_of_the_last_catalogs_are_served_after_a_restart_and_their_versions_stay() {
    let mut site = settled_site().await;
    let node = node();
    for (digit, text) in [('a', "1"), ('b', "2"), ('c', "3"), ('d', "4")] {
        deploy(&site, digit, text);
        node.catalog(&site.agents).await.unwrap();
    }
    site.restart("build").await;
    let versions = site.agents.versions_in_use().await.unwrap();
    assert_eq!(versions.len(), 3, "{versions:?}");
    for text in ["2", "3", "4"] {
        assert_eq!(content(&site, text).await.as_deref(), Some(text));
    }
    assert_eq!(content(&site, "1").await, None);
    site.delete_node().await;
    site.restart("build").await;
    let versions = site.agents.versions_in_use().await.unwrap();
    assert!(versions.is_empty(), "{versions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_deleted_is_compiled_again_after_a_restart() {
    let mut site = settled_site().await;
    deploy(&site, 'a', "old");
    node().catalog(&site.agents).await.unwrap();
    site.delete_node().await;
    // the node asks before the server ends, and its former catalog is deleted
    let after = node().catalog(&site.agents).await.unwrap();
    assert!(after.compile_time.is_some());
    site.delete_node().await;
    site.restart("build").await;
    let after = node().catalog(&site.agents).await.unwrap();
    assert!(after.compile_time.is_some());
    site.restart("build").await;
    let again = node().catalog(&site.agents).await.unwrap();
    assert!(again.compile_time.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_catalog_or_fact_is_legible_in_the_database() {
    let mut site = settled_site().await;
    deploy(&site, 'a', "old");
    node().catalog(&site.agents).await.unwrap();
    site.restart("build").await;
    let rows = site.store.agent_catalogs(NODE, 9).await.unwrap();
    let body = rows[0].body.clone().unwrap();
    for part in [&body, &rows[0].contents] {
        assert!(part.starts_with(b"TS1"), "sealed");
    }
    // a row that another one replaced, and one that was altered, are not used
    let history = site.store.catalog_compilations(NODE, 9).await.unwrap();
    assert!(!history[0].summary.contains("s3cret"), "{history:?}");
    let mut altered = rows[0].clone();
    altered.sequence += 1;
    let changes = [store::AgentCatalogChange::Catalog(altered)];
    let bounds = store::AgentCatalogBounds {
        catalogs: 4,
        compilations: 1,
        known_nodes_only: true,
    };
    let changing = site.store.change_agent_catalogs(&changes, bounds);
    changing.await.unwrap();
    site.restart("build").await;
    let after = node().catalog(&site.agents).await.unwrap();
    assert!(after.compile_time.is_some());
}
