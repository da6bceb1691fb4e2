//! A catalog that is given again is the one that a compilation would give.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use crate::site::{NodeState, Site, document};

/// A change of something on which catalogs may depend, or may not.
#[derive(Debug, Clone)]
enum Change {
    Fact(usize, usize),
    Deployment(usize),
    Classification(usize),
    Extension(usize),
    /// Data in a directory outside of all versions.
    GlobalData(usize),
    /// A class in a module that all environments share.
    SharedModule(usize),
    /// Resources that another node exports.
    Exports(usize),
    /// A fact of another node.
    OtherNode(usize),
    /// The server ends and starts again.
    Restart,
    /// Catalogs are compiled in advance.
    Ahead,
    Nothing,
}

/// Facts that change, and their values. An absent fact is null.
const FACTS: [(&str, &[&str]); 7] = [
    (
        "os",
        &[
            r#"{"family": "Debian", "release": {"major": "12"}}"#,
            r#"{"family": "RedHat", "release": {"major": "9"}}"#,
            r#"{"family": "Debian"}"#,
            r#""old""#,
        ],
    ),
    ("role", &[r#""web""#, r#""db""#, "null"]),
    ("uptime", &["1", "2", "3"]),
    ("disks", &[r#"["a"]"#, r#"["a", "b"]"#, "{}"]),
    ("late", &["null", r#""now""#]),
    ("with-dash", &["null", "1", "2"]),
    (
        "networking",
        &[r#"{"fqdn": "a.test"}"#, r#"{"fqdn": "b.test"}"#, "null"],
    ),
];

/// Manifests that read facts in every way that code has.
const MANIFESTS: [&str; 12] = [
    "notify { \"${facts['os']['family']}\": }",
    "notify { \"${facts.get('os.family', 'none')} ${facts['role']}\": }",
    "$role_name = getvar('facts.role', 'none') notify { \"${role_name} ${facts.dig('os', 'family')}\": }",
    "if defined('$late') { notify { \"late ${::late}\": } } else { notify { 'early': } }",
    "$facts['disks'].each |$disk| { notify { \"$disk\": } }",
    "notify { \"${fqdn_rand(1000)} ${trusted['extensions']['pp_role']} ${of_group}\": }",
    "notify { \"${lookup('of_data', {'default_value' => 'none'})} ${lookup('outside', {'default_value' => 'none'})}\": }",
    "include shared notify { \"${facts.length} ${inline_template('<%= @with_dash %> <%= @role %>')}\": }",
    "Notify <<| tag == 'web' |>>",
    "Notify <<| title != \"of ${facts['role']}\" and tag != 'none' |>> @@notify { 'own': message => $facts['role'] }",
    "notify { String(puppetdb_query('inventory[certname] { facts.role = \"web\" }')): }",
    "$rows = puppetdb_query(\"facts[value] { name = 'role' and certname = 'other.test' }\") \
     notify { \"${rows} ${facts['role']}\": }",
];

const HIERA: &str = r#"
version: 5
hierarchy:
  - name: by fact
    paths: ["%{facts.os.family}.yaml", "%{facts.role}.yaml", "%{late}.yaml"]
"#;

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..FACTS.len(), 0..4_usize).prop_map(|(fact, value)| Change::Fact(fact, value)),
        3 => (0..MANIFESTS.len()).prop_map(Change::Deployment),
        1 => (0..3_usize).prop_map(Change::Classification),
        1 => (0..3_usize).prop_map(Change::Extension),
        1 => (0..3_usize).prop_map(Change::GlobalData),
        1 => (0..3_usize).prop_map(Change::SharedModule),
        2 => (0..3_usize).prop_map(Change::Exports),
        2 => (0..3_usize).prop_map(Change::OtherNode),
        2 => Just(Change::Restart),
        3 => Just(Change::Ahead),
        2 => Just(Change::Nothing),
    ]
}

fn deploy(site: &Site, number: usize) {
    let digit = char::from_digit(u32::try_from(number).unwrap(), 16).unwrap();
    site.deploy(
        digit,
        &[
            ("manifests/site.pp", MANIFESTS[number]),
            ("hiera.yaml", HIERA),
            (
                "modules/stdlib/metadata.json",
                r#"{"name": "puppetlabs-stdlib"}"#,
            ),
            ("data/Debian.yaml", "of_data: debian"),
            ("data/RedHat.yaml", "of_data: redhat"),
            ("data/db.yaml", "of_data: db"),
            ("data/now.yaml", "of_data: now"),
        ],
    );
}

async fn apply(site: &mut Site, node: &mut NodeState, change: &Change) {
    match *change {
        Change::Fact(fact, value) => {
            let (name, values) = FACTS[fact];
            let value: Json = serde_json::from_str(values[value % values.len()]).unwrap();
            match value {
                Json::Null => drop(node.facts.as_object_mut().unwrap().remove(name)),
                value => node.facts[name] = value,
            }
        }
        Change::Deployment(number) => deploy(site, number),
        Change::Classification(value) => site.classify(&value.to_string()).await,
        Change::Extension(value) => {
            let extensions = &mut node.extensions;
            extensions.insert("pp_role".to_owned(), value.to_string());
        }
        Change::GlobalData(value) => {
            site.write("data/common.yaml", &format!("outside: '{value}'"));
        }
        Change::SharedModule(value) => {
            let class = format!("class shared {{ notify {{ 'shared {value}': }} }}");
            site.write("modules/shared/manifests/init.pp", &class);
        }
        Change::Exports(value) => site.export(&value.to_string()).await,
        Change::OtherNode(value) => site.other_node(["web", "db", "mail"][value]).await,
        Change::Restart => site.restart("build").await,
        Change::Ahead => drop(site.compile_ahead().await),
        Change::Nothing => {}
    }
}

async fn start() -> (Site, NodeState) {
    let site = Site::start().await;
    let hiera = "version: 5\nhierarchy: [{name: all, path: common.yaml}]";
    site.write("hiera.yaml", hiera);
    site.write("modules/shared/manifests/init.pp", "class shared {}");
    site.classify("0").await;
    deploy(&site, 0);
    let node = NodeState::with_facts(json!({
        "os": {"family": "Debian", "release": {"major": "12"}}, "role": "web", "uptime": 1,
        "disks": ["a"], "networking": {"fqdn": "a.test"},
    }));
    (site, node)
}

/// The document, or the message of the error, which must be the same too.
async fn outcome(node: &NodeState, agents: &agent_catalogs::AgentCatalogs) -> Result<Json, String> {
    match node.catalog(agents).await {
        Ok(catalog) => Ok(document(&catalog)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn no_catalog_is_stale_whatever_changes() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let changes = prop::collection::vec(change(), 1..25);
    let result = TestRunner::new(config).run(&changes, |changes| {
        runtime.block_on(async {
            let (mut site, mut node) = start().await;
            for (step, change) in changes.iter().enumerate() {
                apply(&mut site, &mut node, change).await;
                let given = outcome(&node, &site.agents).await;
                let compiled = outcome(&node, &site.fresh_engine().await).await;
                prop_assert_eq!(given, compiled, "after step {}: {:?}", step, change);
            }
            Ok(())
        })
    });
    result.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_that_are_not_read_compile_nothing() {
    let (site, mut node) = start().await;
    // files that have just changed outside of the version are read again each time
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    for manifest in [0, 1, 2, 3, 6, 8, 9, 11] {
        deploy(&site, manifest);
        let first = node.catalog(&site.agents).await.unwrap();
        assert!(first.compile_time.is_some(), "{manifest}");
        for uptime in 10..13 {
            node.facts["uptime"] = json!(uptime);
            let again = node.catalog(&site.agents).await.unwrap();
            assert!(again.compile_time.is_none(), "{}", MANIFESTS[manifest]);
            assert_eq!(again.body, first.body);
        }
    }
    // all facts were read
    deploy(&site, 7);
    node.catalog(&site.agents).await.unwrap();
    node.facts["uptime"] = json!(20);
    let again = node.catalog(&site.agents).await.unwrap();
    assert!(again.compile_time.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_compiles_only_if_its_result_has_changed() {
    let (site, node) = start().await;
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    let is_compiled = async || {
        let catalog = node.catalog(&site.agents).await.unwrap();
        catalog.compile_time.is_some()
    };
    site.export("1").await;
    deploy(&site, 8);
    assert!(is_compiled().await);
    assert!(!is_compiled().await);
    site.export("2").await;
    assert!(is_compiled().await, "an exported secret has changed");
    assert!(!is_compiled().await);
    deploy(&site, 11);
    assert!(is_compiled().await);
    site.export("1").await;
    assert!(!is_compiled().await, "it collects nothing");
    site.other_node("db").await;
    assert!(is_compiled().await);
    assert!(!is_compiled().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_and_other_volatile_data_are_read_each_time() {
    let (site, node) = start().await;
    site.deploy(
        'e',
        &[("manifests/site.pp", "notify { String(Timestamp()): }")],
    );
    for _ in 0..2 {
        let catalog = node.catalog(&site.agents).await.unwrap();
        assert!(catalog.compile_time.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_deleted_is_compiled_again() {
    let (site, node) = start().await;
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    node.catalog(&site.agents).await.unwrap();
    let again = node.catalog(&site.agents).await.unwrap();
    assert!(again.compile_time.is_none());
    site.delete_node().await;
    let after = node.catalog(&site.agents).await.unwrap();
    assert!(after.compile_time.is_some());
}
