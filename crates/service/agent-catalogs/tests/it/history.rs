//! The recorded compilations of a node: each with the reason that the kept catalog was not given again.

use serde_json::json;

use crate::site::{NODE, NodeState, Site};

fn deploy(site: &Site, digit: char, manifest: &str) {
    site.deploy(digit, &[("manifests/site.pp", manifest)]);
}

/// Kinds and names of the causes of the last compilation, and the number of recorded ones.
async fn last_causes(site: &mut Site) -> (Vec<String>, usize) {
    // what waits to be written is in the database then
    site.restart("build").await;
    let compilations = site.agents.compilations(&NODE.parse().unwrap()).await;
    let compilations = compilations.unwrap();
    let causes = compilations[0].compilation.causes.iter();
    let causes = causes.map(|cause| {
        let names = cause.names().names.join(" ");
        format!("{} {names}", cause.kind()).trim_end().to_owned()
    });
    (causes.collect(), compilations.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cause_of_each_compilation_is_recorded() {
    let mut site = Site::start().await;
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    let mut node = NodeState::with_facts(json!({"os": {"family": "Debian"}, "uptime": 1}));
    site.export("1").await;
    let manifest = "notify { \"${facts['os']['family']} ${trusted['extensions']['a']}\": } Notify <<| tag == 'web' |>>";
    deploy(&site, 'a', manifest);
    let mut expected = 0;
    for (change, causes) in [
        ("nothing", vec!["no_catalog"]),
        ("code", vec!["code"]),
        ("facts", vec!["facts os.family"]),
        ("group", vec!["variables"]),
        ("certificate", vec!["trusted"]),
        ("exports", vec![r#"queries Notify <<| tag == "web" |>>"#]),
        ("several", vec!["code", "variables", "facts os.family"]),
        ("file", vec!["outside_files"]),
    ] {
        match change {
            "code" => deploy(&site, 'b', manifest),
            "facts" => node.facts["os"]["family"] = json!("RedHat"),
            "group" => site.classify("1").await,
            "certificate" => {
                node.extensions.insert("a".to_owned(), "b".to_owned());
            }
            "exports" => site.export("2").await,
            "several" => {
                deploy(&site, 'a', manifest);
                site.classify("2").await;
                node.facts["os"]["family"] = json!("Debian");
            }
            "file" => site.write("hiera.yaml", "version: 5"),
            _ => {}
        }
        let catalog = node.catalog(&site.agents).await.unwrap();
        assert!(catalog.compile_time.is_some(), "{change}");
        expected += 1;
        let (mut found, number) = last_causes(&mut site).await;
        for cause in &mut found {
            if cause.starts_with("outside_files ") {
                assert!(cause.ends_with("/hiera.yaml"), "{cause}");
                "outside_files".clone_into(cause);
            }
        }
        assert_eq!(found, causes, "{change}");
        assert_eq!(number, expected);
    }
    let record = site.agents.node_catalog(&NODE.parse().unwrap()).await;
    let record = record.unwrap().unwrap();
    let kept = record.kept.unwrap();
    assert!(kept.facts.contains(&"os.family".to_owned()), "{kept:?}");
    assert_eq!(kept.queries, [r#"Notify <<| tag == "web" |>>"#]);
    assert!(kept.used_ms.is_some() && kept.compressed_bytes > 0);
    let unknown = "other.test".parse().unwrap();
    assert!(site.agents.node_catalog(&unknown).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recorded_compilations_of_a_node_are_bounded() {
    let mut site = Site::start().await;
    let node = NodeState::with_facts(json!({"role": "web"}));
    deploy(&site, 'a', "notify { String(Timestamp()): }");
    let most = usize::try_from(agent_catalogs::defaults::COMPILATIONS_EACH_MAX).unwrap();
    for _ in 0..most + 3 {
        node.catalog(&site.agents).await.unwrap();
    }
    let (causes, number) = last_causes(&mut site).await;
    assert_eq!((causes, number), (vec!["volatile".to_owned()], most));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_catalog_depends_on_is_told_by_name() {
    let mut site = Site::start().await;
    let manifest = "
        class web(Integer $port = 80, String $user = 'root') { notify { \"${port} ${facts['role']}\": } }
        include web
        $all = lookup('all')
        $none = lookup('none', {'default_value' => ''})
        Notify <<| tag == 'web' |>>";
    let data = "web::port: 8080\nall: '%{lookup(\"inner\")}'\ninner: 1\nunused: 2";
    site.deploy(
        'a',
        &[
            ("manifests/site.pp", manifest),
            (
                "hiera.yaml",
                "version: 5\nhierarchy: [{name: all, path: all.yaml}]",
            ),
            ("data/all.yaml", data),
        ],
    );
    let node = NodeState::with_facts(json!({"role": "web"}));
    node.catalog(&site.agents).await.unwrap();
    for _ in 0..2 {
        site.restart("build").await;
        let record = site.agents.node_catalog(&NODE.parse().unwrap()).await;
        let kept = record.unwrap().unwrap().kept.unwrap();
        assert_eq!(kept.facts, ["role"]);
        assert_eq!(kept.hiera_keys, ["all", "inner", "web::port"]);
        assert_eq!(kept.queries, [r#"Notify <<| tag == "web" |>>"#]);
    }
}
