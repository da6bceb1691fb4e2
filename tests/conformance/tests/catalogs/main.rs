//! `tutti catalog shadow` against real puppetservers of two releases: 20 nodes with made-up facts.
#![cfg(test)]

mod site;

use serde_json::json;
use testkit::peers::PuppetserverRelease;

use crate::site::ShadowSite;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalogs_are_those_of_puppetserver_7() {
    catalogs_are_those_of(PuppetserverRelease::Installed, "7.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalogs_are_those_of_puppetserver_8() {
    catalogs_are_those_of(PuppetserverRelease::Debian13, "8.7.").await;
}

/// One puppetserver for all of it: it takes most of a minute to start.
async fn catalogs_are_those_of(release: PuppetserverRelease, version: &str) {
    if let Some(obstacle) = release.obstacle() {
        eprintln!("SKIPPED: no puppetserver {version}x: {obstacle}");
        return;
    }
    let mut site = ShadowSite::start(release).await;
    let reported = site.version().await;
    eprintln!("puppetserver {reported}");
    assert!(reported.starts_with(version), "{reported}");
    site.classes_are_equal().await;
    all_nodes_are_equal(&site);
    errors_are_equal(&site);
    differences_are_grouped(&site);
    a_certificate_without_a_rule_is_named(&site);
    site.stop().await;
    a_server_that_is_away_ends_the_comparison(&site);
}

fn all_nodes_are_equal(site: &ShadowSite) {
    let (code, printed) = site.shadow("nodes", &site.production(), &[]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.starts_with("20 of 20 nodes have the same catalog"));
}

/// A node whose compilation fails on both sides, with the same message.
fn errors_are_equal(site: &ShadowSite) {
    let (code, printed) = site.shadow("broken", &site.production(), &[]);
    assert_eq!(code, 0, "{printed}");
}

fn differences_are_grouped(site: &ShadowSite) {
    let changed = site.changed_code();
    let (code, printed) = site.shadow("nodes", &changed, &[]);
    assert_eq!(code, 1, "{printed}");
    for line in [
        "1 node: File content (puppetserver => Tutti)",
        "1 node: Package only from Tutti",
        "19 of 20 nodes have the same catalog",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let (code, printed) = site.shadow("nodes", &changed, &["--format", "json"]);
    assert_eq!(code, 1, "{printed}");
    let report: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["equal"], json!(19), "{printed}");
    assert_eq!(report["groups"][0]["nodes"], json!(1), "{printed}");
    let (code, printed) = site.shadow("broken", &changed, &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("only the puppetserver reports an error"));
}

fn a_certificate_without_a_rule_is_named(site: &ShadowSite) {
    let (code, printed) = site.shadow_as("other.test", "nodes", &site.production());
    assert_eq!(code, 2, "{printed}");
    assert!(
        printed.contains("refuses the certificate other.test; auth.conf"),
        "{printed}"
    );
}

fn a_server_that_is_away_ends_the_comparison(site: &ShadowSite) {
    let (code, printed) = site.shadow("nodes", &site.production(), &[]);
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains("onnection refused"), "{printed}");
    assert!(printed.contains("20 nodes not compared"), "{printed}");
}
