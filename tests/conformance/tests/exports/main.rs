//! Exported resources from a real PuppetDB, as Tutti and real Puppet collect them.
#![cfg(test)]

mod site;

use serde_json::json;

use crate::site::ExportSite;

/// One PuppetDB for all of it: it takes half a minute to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exported_resources_are_those_that_puppet_collects() {
    let mut site = ExportSite::start().await;
    store_catalogs(&site).await;
    catalogs_are_equal(&site).await;
    a_shadow_run_collects_what_the_puppetserver_collects(&site).await;
    a_capability_of_another_server_is_consumed(&site).await;
    the_server_of_the_newest_catalog_counts(&site).await;
    an_invalid_query_is_shown_with_its_reason(&site);
    a_certificate_of_another_ca_is_named(&site);
    site.puppetdb.stop().await.unwrap();
    a_puppetdb_that_is_away_is_named(&site);
}

async fn store_catalogs(site: &ExportSite) {
    let file = |title: &str, mode: &str| {
        json!({
            "type": "File", "title": title, "exported": true, "tags": ["file", "web"],
            "parameters": {"ensure": "file", "mode": mode, "tag": "web"},
        })
    };
    let notify = |title: &str, exported: bool, parameters: serde_json::Value| {
        let tag = if title.is_ascii() { "plain" } else { "unicode" };
        json!({
            "type": "Notify", "title": title, "exported": exported, "tags": ["notify", tag],
            "parameters": parameters,
        })
    };
    let backend = |title: &str, port: u16| {
        json!({
            "type": "Backend", "title": title, "exported": true, "tags": ["backend", "shop"],
            "parameters": {"port": port, "options": {"a": [1, null, true], "ü": "ß"}},
        })
    };
    let web1 = [
        file("/srv/web1", "0644"),
        file("/srv/secret", "0600"),
        backend("shop web1", 8080),
        notify("not exported", false, json!({"message": "x"})),
        notify("plain", true, json!({"message": "x"})),
        notify("list", true, json!({"message": ["a", "b"]})),
        notify("part of a list", true, json!({"message": ["x"]})),
        notify("other", true, json!({"message": "X"})),
    ];
    site.store_catalog("web1.test", &web1).await;
    let web2 = [
        file("/srv/web2", "0640"),
        backend("shop web2", 8081),
        notify(
            "ünïcode 𝄞 ]['\"",
            true,
            json!({"message": "\u{202e}\n\t", "withpath": true}),
        ),
    ];
    site.store_catalog("web2.test", &web2).await;
    site.store_catalog("here.test", &[file("/srv/before", "0644")])
        .await;
    let gone = [file("/srv/gone", "0644"), backend("shop gone", 1)];
    site.store_catalog("gone.test", &gone).await;
    site.deactivate("gone.test").await;
}

async fn catalogs_are_equal(site: &ExportSite) {
    let (code, ours, error) = site.compile(&["--format", "json"]);
    assert_eq!(code, 0, "{error}");
    // afterwards, because real Puppet stores the catalog that it compiles
    let real = site.compile_with_puppet().await;
    for (title, is_there) in [
        ("/srv/web1", true),
        ("/srv/secret", true),
        ("/srv/own", true),
        ("list", true),
        ("part of a list", false),
        ("/srv/before", false),
        ("/srv/gone", false),
        ("not exported", false),
    ] {
        let title = format!("\"title\":{}", json!(title));
        assert_eq!(
            ours.replace(": ", ":").contains(&title),
            is_there,
            "{title} {ours}"
        );
    }
    let (code, printed) = site.difference(&real, &ours);
    assert_eq!(code, 0, "{printed}");
}

/// The catalogs are equal with the PuppetDB, and differ by the collected resources without it.
async fn a_shadow_run_collects_what_the_puppetserver_collects(site: &ExportSite) {
    let mut puppetserver = site.start_puppetserver().await;
    let url = site.puppetdb.url();
    let (code, printed) = site.shadow(&puppetserver, &["--puppetdb", &url]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.starts_with("1 of 1 nodes have the same catalog as on "),
        "{printed}"
    );
    site.write_manifest("Backend <<| |>> define backend($port, $options) { notify { $title: } }");
    let (code, printed) = site.shadow(&puppetserver, &["--puppetdb", &url]);
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = site.shadow(&puppetserver, &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("Backend[shop web1]"), "{printed}");
    puppetserver.stop().await.unwrap();
}

async fn a_capability_of_another_server_is_consumed(site: &ExportSite) {
    site.enable_applications();
    site.write_manifest(include_str!("code/application.pp"));
    let (code, _, error) = site.compile(&[]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("Sql[app1]"), "{error}");
    let sql = |tags: serde_json::Value| {
        json!({
            "type": "Sql", "title": "app1", "exported": false, "tags": tags,
            "parameters": {"host": "db.test", "port": 3306, "require": "Db[app1]"},
        })
    };
    // a consumer, and a producer of another environment
    site.store_catalog("web2.test", &[sql(json!(["sql"]))])
        .await;
    let staging = sql(json!(["sql", "producer:staging"]));
    site.store_catalog("web1.test", &[staging]).await;
    let (code, _, error) = site.compile(&[]);
    assert_eq!(code, 1, "{error}");
    let produced = sql(json!(["sql", "producer:production"]));
    site.store_catalog("db.test", &[produced]).await;
    let (code, catalog, error) = site.compile(&["--format", "json"]);
    assert_eq!(code, 0, "{error}");
    assert!(catalog.contains("connects to db.test:3306"), "{catalog}");
}

/// The node of the database moves from the other server to this one.
async fn the_server_of_the_newest_catalog_counts(site: &ExportSite) {
    let server = site.start_server().await;
    let catalog = site.agent_catalog("here.test").await;
    assert!(catalog.contains("connects to db.test:3306"), "{catalog}");
    site.agent_catalog("db.test").await;
    let catalog = site.agent_catalog("here.test").await;
    assert!(catalog.contains("connects to moved.test:1"), "{catalog}");
    site.wait_for_row(
        "resources { type = 'Sql' and certname = 'db.test' and tag = 'producer:production' \
         and parameters.host = 'moved.test' }",
    )
    .await;
    server.stop().await.unwrap();
}

fn an_invalid_query_is_shown_with_its_reason(site: &ExportSite) {
    site.write_manifest("puppetdb_query('nodes { certname = }')");
    let (code, _, error) = site.compile(&[]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("PQL parse error"), "{error}");
    assert!(error.contains(&site.puppetdb.url()), "{error}");
}

fn a_certificate_of_another_ca_is_named(site: &ExportSite) {
    site.write_manifest("Notify <<| |>>");
    let (code, _, error) = site.compile_with_certificate(&site.foreign_certificate());
    assert_eq!(code, 1, "{error}");
    assert!(
        error.contains("Could not retrieve resources from the PuppetDB at"),
        "{error}"
    );
    assert!(error.contains("certificate"), "{error}");
}

fn a_puppetdb_that_is_away_is_named(site: &ExportSite) {
    let (code, _, error) = site.compile(&[]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains(&site.puppetdb.url()), "{error}");
    assert!(error.contains("is PuppetDB running there?"), "{error}");
}
