//! Catalogs are compiled in advance, and change nothing before their agents get them.

use agent_catalogs::{AgentIdentity, AheadSummary, CatalogState, FactsPolicy};
use catalogs::defaults::OUTSIDE_FILE_SETTLED;
use serde_json::json;

use crate::site::{NODE, NodeState, Site, document};

const FIRST: &str = "@@notify { 'first': message => \"${facts['role']}\" }";
const SECOND: &str = "@@notify { 'second': message => \"${facts['role']} ${of_group}\" }";
const PLAIN: &str = "notify { \"${facts['role']}\": }";

const COMPILED: AheadSummary = AheadSummary {
    compiled: 1,
    current: 0,
    left: 0,
    failed: 0,
};
const LEFT: AheadSummary = AheadSummary {
    compiled: 0,
    current: 0,
    left: 1,
    failed: 0,
};

/// A node whose catalog was compiled from the first version.
async fn start(manifest: &str) -> (Site, NodeState) {
    let site = Site::start().await;
    site.classify("0").await;
    // files that have just changed outside of the version are read again each time
    tokio::time::sleep(2 * OUTSIDE_FILE_SETTLED).await;
    deploy(&site, 'a', manifest);
    let node = NodeState::with_facts(json!({"role": "web", "uptime": 1}));
    node.catalog(&site.agents).await.unwrap();
    (site, node)
}

fn deploy(site: &Site, version: char, manifest: &str) {
    site.deploy(version, &[("manifests/site.pp", manifest)]);
}

/// The first digit of the code id of the resources that the node exports; `None` if it exports none.
async fn exported_version(site: &Site) -> Option<char> {
    let row = site.store.exporting_node(NODE).await.unwrap()?;
    row.digest?;
    let code_id = row.code_id.unwrap();
    code_id.rsplit(':').next()?.chars().next()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_after_a_deployment_compiles_nothing() {
    let (mut site, mut node) = start(PLAIN).await;
    deploy(&site, 'b', SECOND);
    assert_eq!(site.compile_ahead().await, COMPILED);
    let again = site.compile_ahead().await;
    let expected = AheadSummary {
        compiled: 0,
        current: 1,
        ..COMPILED
    };
    assert_eq!(again, expected);
    node.facts["uptime"] = json!(2);
    let given = node.catalog(&site.agents).await.unwrap();
    assert!(given.compile_time.is_none());
    assert!(given.code_id.as_ref().unwrap().contains("bbbb"));
    let compiled = node.catalog(&site.fresh_engine().await).await.unwrap();
    assert_eq!(document(&given), document(&compiled));
    site.restart("build").await;
    let compilations = site.agents.compilations(&NODE.parse().unwrap()).await;
    let compilations = compilations.unwrap();
    assert_eq!(compilations.len(), 2);
    assert!(compilations[0].compilation.ahead);
    assert_eq!(compilations[0].compilation.causes[0].kind(), "code");
    assert!(!compilations[1].compilation.ahead);
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_resources_change_when_the_agent_gets_its_catalog() {
    for restarts in [false, true] {
        let (mut site, node) = start(FIRST).await;
        assert_eq!(exported_version(&site).await, Some('a'));
        deploy(&site, 'b', SECOND);
        assert_eq!(site.compile_ahead().await, COMPILED);
        if restarts {
            site.restart("build").await;
        }
        assert_eq!(exported_version(&site).await, Some('a'));
        let given = node.catalog(&site.agents).await.unwrap();
        assert!(given.compile_time.is_none());
        assert_eq!(exported_version(&site).await, Some('b'));
        deploy(&site, 'c', PLAIN);
        assert_eq!(site.compile_ahead().await, COMPILED);
        assert_eq!(exported_version(&site).await, Some('b'));
        node.catalog(&site.agents).await.unwrap();
        assert_eq!(exported_version(&site).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_whether_a_catalog_is_current_gives_none() {
    let (site, node) = start(FIRST).await;
    let first = node.catalog(&site.agents).await.unwrap();
    let uuid = |catalog: &agent_catalogs::AgentCatalog| {
        let document: serde_json::Value = serde_json::from_slice(&catalog.body.text()).unwrap();
        document["catalog_uuid"].as_str().unwrap().to_owned()
    };
    let check = async |uuid: &str| {
        let agent = AgentIdentity::new(NODE.parse().unwrap(), node.extensions.clone());
        let environment = "production".parse().unwrap();
        let checked = site.agents.check_catalog(agent, environment, uuid).await;
        checked.unwrap()
    };
    assert_eq!(check(&uuid(&first)).await, CatalogState::Current);
    deploy(&site, 'b', SECOND);
    assert_eq!(site.compile_ahead().await, COMPILED);
    let expected = CatalogState::Outdated {
        reason: "there is a new catalog".to_owned(),
    };
    assert_eq!(check(&uuid(&first)).await, expected);
    assert_eq!(exported_version(&site).await, Some('a'));
    let second = node.catalog(&site.agents).await.unwrap();
    assert_eq!(check(&uuid(&second)).await, CatalogState::Current);
    assert_eq!(exported_version(&site).await, Some('b'));
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_another_program_are_not_compiled() {
    let (site, node) = start(PLAIN).await;
    deploy(&site, 'b', SECOND);
    site.record_facts(json!({"uptime": 5})).await;
    assert_eq!(site.compile_ahead().await, LEFT);
    let given = node.catalog(&site.agents).await.unwrap();
    assert!(given.compile_time.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_that_only_the_new_version_reads_is_compared() {
    let (site, mut node) = start(PLAIN).await;
    deploy(&site, 'b', "notify { \"up ${facts['uptime']}\": }");
    assert_eq!(site.compile_ahead().await, COMPILED);
    node.facts["uptime"] = json!(7);
    let given = node.catalog(&site.agents).await.unwrap();
    assert!(given.compile_time.is_some());
    let compiled = node.catalog(&site.fresh_engine().await).await.unwrap();
    assert_eq!(document(&given), document(&compiled));
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_whose_facts_are_ignored_are_left() {
    let (mut site, node) = start(PLAIN).await;
    site.facts_policies.default = FactsPolicy::Ignore;
    site.restart("build").await;
    node.catalog(&site.agents).await.unwrap();
    deploy(&site, 'b', SECOND);
    assert_eq!(site.compile_ahead().await, LEFT);
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_that_depend_on_the_time_are_left() {
    let (site, _) = start("notify { String(Timestamp()): }").await;
    deploy(&site, 'b', SECOND);
    assert_eq!(site.compile_ahead().await, LEFT);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_fails_is_reported_and_the_node_keeps_its_catalog() {
    let (site, node) = start(FIRST).await;
    deploy(&site, 'b', "fail('broken')");
    let summary = site.compile_ahead().await;
    let expected = AheadSummary {
        compiled: 0,
        failed: 1,
        ..COMPILED
    };
    assert_eq!(summary, expected);
    let error = node.catalog(&site.agents).await.unwrap_err();
    assert!(format!("{error:?}").contains("broken"));
    assert_eq!(exported_version(&site).await, Some('a'));
    deploy(&site, 'a', FIRST);
    let given = node.catalog(&site.agents).await.unwrap();
    assert!(given.compile_time.is_none(), "a failure replaces nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_live_again_is_given_from_what_was_kept_or_compiled() {
    let (site, node) = start(FIRST).await;
    deploy(&site, 'b', SECOND);
    assert_eq!(site.compile_ahead().await, COMPILED);
    deploy(&site, 'a', FIRST);
    assert_eq!(site.compile_ahead().await, COMPILED);
    let given = node.catalog(&site.agents).await.unwrap();
    assert!(given.compile_time.is_none());
    let compiled = node.catalog(&site.fresh_engine().await).await.unwrap();
    assert_eq!(document(&given), document(&compiled));
    assert_eq!(exported_version(&site).await, Some('a'));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_server_ends_compilations_in_advance() {
    let (mut site, node) = start(PLAIN).await;
    deploy(&site, 'b', "Integer[1, 100000000].each |$it| { $it * $it }");
    site.agents.compile_ahead(&"production".parse().unwrap());
    // returns when no task runs any more
    site.restart("build").await;
    deploy(&site, 'c', SECOND);
    site.agents.compile_ahead(&"production".parse().unwrap());
    site.agents.shutdown().await;
    site.restart("build").await;
    node.catalog(&site.agents).await.unwrap();
}

/// The catalog of the second version cannot be given, since a source of it does not exist.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_no_agent_gets_changes_no_exported_resources() {
    let (site, node) = start(FIRST).await;
    let missing = "file { '/a': source => 'puppet:///modules/m/missing' }";
    deploy(&site, 'b', &format!("{SECOND}\n{missing}"));
    node.catalog(&site.agents).await.unwrap_err();
    assert_eq!(exported_version(&site).await, Some('a'));
    deploy(&site, 'a', FIRST);
    let given = node.catalog(&site.agents).await.unwrap();
    assert!(
        given.compile_time.is_none(),
        "it is the first catalog again"
    );
    assert_eq!(exported_version(&site).await, Some('a'));
}
