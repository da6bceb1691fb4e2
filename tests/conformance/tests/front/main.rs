//! A real agent that is moved from a real puppetserver to this server in front of it, and back.
#![cfg(test)]

mod site;

use testkit::peers::puppet_agent::PUPPET;

use crate::site::{FrontSite, NATIVE, PUPPETSERVER};

/// One puppetserver for all of it: it takes most of a minute to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_moved_to_this_server_and_back() {
    if !std::path::Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let mut site = FrontSite::start().await;
    let node = site.agent("node1.test");

    // with the puppetserver's catalog and files, as if the agent were connected to it
    let (status, printed) = site.run(&node).await;
    assert_eq!(status, Some(2), "{printed}");
    let of_puppetserver = "role 'web' of node1.test by Puppet 7.";
    assert!(printed.contains(of_puppetserver), "{printed}");
    assert!(
        printed.contains("plugin fact: of the puppetserver"),
        "{printed}"
    );
    assert_eq!(site.read("sourced"), "first\n", "{printed}");
    assert_eq!(site.reports("node1.test").await, 1);
    let (status, printed) = site.run(&node).await;
    assert_eq!(status, Some(2), "a notify is a change: {printed}");

    // an environment that only the puppetserver has
    let arguments = ["agent", "--test", "--environment", "legacy"];
    let (status, printed) = site.run_with(&node, &arguments).await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("legacy of node1.test"), "{printed}");

    site.restart(&[("node1.test", NATIVE)]).await;
    let (status, printed) = site.run(&node).await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(
        printed.contains("role 'web' of node1.test by Puppet 8.10."),
        "{printed}"
    );
    assert!(site.log_text().contains("catalog compiled"));

    // back
    site.restart(&[("node1.test", PUPPETSERVER)]).await;
    let (status, printed) = site.run(&node).await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains(of_puppetserver), "{printed}");

    the_identity_is_that_of_the_certificate(&site).await;
    catalogs_can_still_be_compared(&site).await;

    // a puppetserver that is away concerns its own nodes
    site.stop_puppetserver().await;
    let (status, printed) = site.run(&node).await;
    assert_eq!(status, Some(1), "{printed}");
    assert!(printed.contains("cannot be reached"), "{printed}");
    site.restart(&[("node1.test", NATIVE)]).await;
    let (status, printed) = site.run(&node).await;
    assert_eq!(status, Some(2), "{printed}");
    site.stop().await;
}

/// The puppetserver knows the client of a comparison by headers, and the doctor finds no fault.
async fn catalogs_can_still_be_compared(site: &FrontSite) {
    let (status, printed) = site.shadow("node2.test", &[]).await;
    assert_eq!(status, Some(2), "{printed}");
    let (status, printed) = site.shadow("node2.test", &["--client-from-headers"]).await;
    assert_eq!(
        status,
        Some(1),
        "only the title with the version differs: {printed}"
    );
    assert!(printed.contains("by Puppet 7."), "{printed}");
    let (_, printed) = site
        .tutti(&["doctor", "--config", "tutti.toml", "--format", "json"])
        .await;
    let report: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let of_peer = findings.iter().find(|it| it["check"] == "puppetserver");
    assert_eq!(of_peer.unwrap()["severity"], "ok", "{printed}");
}

/// What the puppetserver itself decides about clients of the server in front of it.
async fn the_identity_is_that_of_the_certificate(site: &FrontSite) {
    let node = "node2.test";
    for (certname, path, forged, expected) in [
        (Some(node), "/puppet/v3/environments", false, 200),
        (
            Some(node),
            "/puppet/v3/node/node2.test?environment=production",
            false,
            200,
        ),
        (
            Some(node),
            "/puppet/v3/node/node1.test?environment=production",
            true,
            403,
        ),
        (
            Some(node),
            "/puppet/v3/environment_classes?environment=production",
            true,
            403,
        ),
        (None, "/puppet/v3/environments", true, 403),
    ] {
        let status = site.get(certname, path, forged).await;
        assert_eq!(status, expected, "{certname:?} {path}");
    }
    // a client that reaches the puppetserver itself has no identity there
    assert_eq!(
        site.get_directly(node, "/puppet/v3/environments").await,
        403
    );
}
