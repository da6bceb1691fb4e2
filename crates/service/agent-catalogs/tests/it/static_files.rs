//! Files that catalogs describe, and their contents.

use std::collections::BTreeMap;
use std::io::Read as _;

use agent_catalogs::{AgentCatalogs, AgentIdentity};
use environments::Sha256;
use serde_json::json;

use crate::site::{NODE, NodeState, Site, document};

const MANIFEST: &str = r"
file { '/a': source => 'puppet:///modules/m/a' }
file { '/first': source => ['puppet:///modules/m/none', 'puppet:///modules/m/a'] }
file { '/tree':
  source  => 'puppet:///modules/m/tree',
  recurse => true,
  ignore  => '*.swp',
}
file { '/md5': source => 'puppet:///modules/m/a', checksum => md5 }
file { '/slashes': source => 'puppet:///modules/m//a' }
file { '/slash':
  source  => 'puppet:///modules/m/tree/',
  recurse => true,
}
file { '/gone': ensure => absent, source => 'puppet:///modules/m/none' }
file { '/other': source => 'puppet://elsewhere/modules/m/a' }
file { '/content': content => 'x' }
";

fn node() -> NodeState {
    NodeState::with_facts(json!({"kernel": "Linux"}))
}

fn deploy(site: &Site, digit: char, content: &str) {
    site.deploy(
        digit,
        &[
            ("manifests/site.pp", MANIFEST),
            ("modules/m/files/a", content),
            ("modules/m/files/tree/b", "b"),
            ("modules/m/files/tree/b.swp", "b"),
            ("modules/m/files/tree/sub/c", "c"),
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_modules_are_described_with_their_contents_by_hash() {
    let site = Site::start().await;
    deploy(&site, 'a', "hello\n");
    let catalog = node().catalog(&site.agents).await.unwrap();
    let document = document(&catalog);
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let a = &document["metadata"]["/a"];
    assert_eq!(a["type"], "file");
    assert_eq!(a["checksum"]["value"], format!("{{sha256}}{hash}"));
    assert_eq!(a["content_uri"], format!("puppet:///by-hash/sha256/{hash}"));
    assert_eq!(a["source"], "puppet:///modules/m/a");
    assert_eq!(a["owner"], 0);
    assert_eq!(
        document["metadata"]["/first"]["source"],
        "puppet:///modules/m/a"
    );
    let slashes = &document["metadata"]["/slashes"];
    assert_eq!(slashes["source"], "puppet:///modules/m//a");
    assert_eq!(slashes["content_uri"], a["content_uri"]);
    // agents leave out the last slash of a source
    let slash = &document["recursive_metadata"]["/slash"]["puppet:///modules/m/tree"];
    assert!(slash.is_array(), "{document}");
    let md5 = &document["metadata"]["/md5"]["checksum"];
    assert_eq!(md5["value"], "{md5}b1946ac92492d2347c6235b4d2611184");
    for title in ["/gone", "/other", "/content"] {
        assert!(document["metadata"].get(title).is_none(), "{title}");
    }
    let tree = document["recursive_metadata"]["/tree"]["puppet:///modules/m/tree"].as_array();
    let paths: Vec<_> = tree
        .unwrap()
        .iter()
        .map(|file| file["relative_path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, [".", "b", "sub", "sub/c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_those_of_the_nodes_own_catalogs_even_after_deployments() {
    let site = Site::start().await;
    deploy(&site, 'a', "old");
    let catalog = document(&node().catalog(&site.agents).await.unwrap());
    let uri = catalog["metadata"]["/a"]["content_uri"].as_str().unwrap();
    let sha256 = uri.rsplit('/').next().unwrap().parse().unwrap();
    deploy(&site, 'b', "new");
    node().catalog(&site.agents).await.unwrap();

    let node = agent(NODE);
    assert_eq!(
        read(&site.agents, &node, sha256).await.as_deref(),
        Some("old")
    );
    let other = agent("node2.test");
    assert_eq!(read(&site.agents, &other, sha256).await, None);
    assert_eq!(site.agents.versions_in_use().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_found_after_a_restart_of_the_server() {
    let site = Site::start().await;
    deploy(&site, 'a', "hello\n");
    node().catalog(&site.agents).await.unwrap();
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let sha256 = hash.parse().unwrap();
    // nothing of the catalog is stored
    let restarted = site.fresh_engine().await;
    let found = read(&restarted, &agent(NODE), sha256).await;
    assert_eq!(found.as_deref(), Some("hello\n"));
    // of this node nothing is known
    assert_eq!(read(&restarted, &agent("node2.test"), sha256).await, None);
}

fn agent(certname: &str) -> AgentIdentity {
    AgentIdentity::new(certname.parse().unwrap(), BTreeMap::new())
}

/// The text of a content; `None` if the node may not read it.
async fn read(agents: &AgentCatalogs, node: &AgentIdentity, sha256: Sha256) -> Option<String> {
    let mut file = agents.content(node, sha256).await.unwrap()?;
    let mut text = String::new();
    file.content.read_to_string(&mut text).unwrap();
    Some(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_does_not_exist_is_an_error_of_the_catalog() {
    let site = Site::start().await;
    let manifest = "file { '/x': source => 'puppet:///modules/m/none' }";
    site.deploy(
        'a',
        &[("manifests/site.pp", manifest), ("modules/m/files/a", "")],
    );
    let error = node().catalog(&site.agents).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Could not find any of the sources puppet:///modules/m/none of File[/x]"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn links_out_of_a_module_and_hostile_paths_lead_nowhere() {
    let site = Site::start().await;
    site.write("secret", "secret");
    for path in [
        "..",
        "../../secret",
        "a/../../../secret",
        "link",
        "deep/link",
    ] {
        let manifest =
            format!("file {{ '/x': source => 'puppet:///modules/m/{path}', links => follow }}");
        let digit = char::from_digit(u32::try_from(path.len() % 16).unwrap(), 16).unwrap();
        site.deploy(
            digit,
            &[
                ("manifests/site.pp", &manifest),
                ("modules/m/files/deep/a", ""),
            ],
        );
        let files = site.path("environments/production/modules/m/files");
        for link in ["link", "deep/link"] {
            let _ = std::os::unix::fs::symlink(site.path("secret"), files.join(link));
        }
        let refused = node().catalog(&site.agents).await;
        assert!(refused.is_err(), "{path}");
    }
}
