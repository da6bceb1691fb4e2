//! Catalogs for services, and what they leave behind: nothing unless it is requested.

use agent_catalogs::{AgentCatalogError, ServiceCatalogRequest};
use serde_json::{Value as Json, json};

use crate::site::{NODE, NodeState, Site};

const MANIFEST: &str = "notify { \"${facts['role']} ${trusted['certname']} ${trusted['extensions']['a']}\": } \
                        @@notify { 'exported': }";

fn request() -> ServiceCatalogRequest {
    ServiceCatalogRequest {
        service: "console.test".to_owned(),
        certname: NODE.parse().unwrap(),
        environment: "production".parse().unwrap(),
        prefers_environment: false,
        facts: None,
        trusted: None,
        transaction_uuid: None,
        job_id: None,
        persists_facts: false,
        persists_catalog: false,
    }
}

fn object(value: Json) -> Option<serde_json::Map<String, Json>> {
    value.as_object().cloned()
}

/// The title of the first `notify`.
async fn title(site: &Site, request: ServiceCatalogRequest) -> String {
    let compiled = site.agents.service_catalog(request).await.unwrap();
    let resources = compiled.document["resources"].as_array().unwrap();
    let found = resources.iter().find(|it| it["type"] == "Notify");
    found.unwrap()["title"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_and_trusted_data_are_those_of_the_request_or_of_the_node() {
    let site = Site::start().await;
    site.deploy('a', &[("manifests/site.pp", MANIFEST)]);
    assert_eq!(
        title(&site, request()).await,
        format!(" {NODE} "),
        "nothing is known"
    );
    site.record_facts(json!({"role": "known"})).await;
    assert_eq!(title(&site, request()).await, format!("known {NODE} "));
    let given = ServiceCatalogRequest {
        facts: object(
            json!({"role": "given", "trusted": {"certname": "fact", "extensions": {"a": "1"}}}),
        ),
        ..request()
    };
    assert_eq!(title(&site, given.clone()).await, "given fact 1");
    let given = ServiceCatalogRequest {
        trusted: object(json!({"certname": "trusted", "extensions": {"a": "2"}})),
        ..given
    };
    assert_eq!(title(&site, given).await, "given trusted 2");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_recorded_or_exported_unless_it_is_requested() {
    let mut site = Site::start().await;
    // files that have just changed outside of the version are read again each time
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    site.deploy('a', &[("manifests/site.pp", MANIFEST)]);
    let certname = NODE.parse().unwrap();
    let given = ServiceCatalogRequest {
        facts: object(json!({"role": "given"})),
        ..request()
    };
    site.agents.service_catalog(given.clone()).await.unwrap();
    site.restart("build").await;
    assert!(!site.has_facts());
    assert!(site.store.exporting_node(NODE).await.unwrap().is_none());
    assert!(
        site.agents
            .compilations(&certname)
            .await
            .unwrap()
            .is_empty()
    );

    // the agent's own catalog stays its last one
    let node = NodeState::with_facts(json!({"role": "own"}));
    let own = node.catalog(&site.agents).await.unwrap();
    site.agents.service_catalog(given.clone()).await.unwrap();
    let again = node.catalog(&site.agents).await.unwrap();
    assert!(again.compile_time.is_none());
    assert_eq!(own.body.text(), again.body.text());
    assert_eq!(title(&site, request()).await, format!("own {NODE} "));

    let recorded = ServiceCatalogRequest {
        persists_facts: true,
        ..given
    };
    site.agents.service_catalog(recorded).await.unwrap();
    assert_eq!(title(&site, request()).await, format!("given {NODE} "));
    // a shutdown writes the records that wait
    site.restart("build").await;
    assert_eq!(site.agents.compilations(&certname).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn node_groups_assign_the_environment_unless_the_requested_one_is_preferred() {
    let site = Site::start().await;
    site.deploy('a', &[("manifests/site.pp", "notify { $environment: }")]);
    site.write(
        "environments/other/manifests/site.pp",
        "notify { $environment: }",
    );
    site.assign_environment("production").await;
    let other = ServiceCatalogRequest {
        environment: "other".parse().unwrap(),
        ..request()
    };
    assert_eq!(title(&site, other.clone()).await, "production");
    let preferred = ServiceCatalogRequest {
        prefers_environment: true,
        ..other.clone()
    };
    assert_eq!(title(&site, preferred).await, "other");
    let unknown = ServiceCatalogRequest {
        environment: "none".parse().unwrap(),
        prefers_environment: true,
        ..other
    };
    let error = site.agents.service_catalog(unknown).await.unwrap_err();
    assert!(matches!(error, AgentCatalogError::Catalog(_)), "{error}");
}
