//! The identity of a request's peer.

use https::Config;

use crate::site::{LONG, Site};

#[tokio::test]
async fn a_request_knows_its_peer() {
    let site = Site::start(Config::default()).await;
    for (certname, expected) in [
        (Some("node1"), "node1 127.0.0.1"),
        (None, "nobody 127.0.0.1"),
    ] {
        let answer = site
            .client(certname)
            .get(site.url("/who"))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.text().await.unwrap(), expected);
    }
    let stranger = Site::start(Config::default()).await;
    // Its CA is not ours: each side refuses the other.
    assert!(
        stranger
            .client(Some("node1"))
            .get(site.url("/who"))
            .send()
            .await
            .is_err()
    );
}

#[tokio::test]
async fn revocation_cuts_open_connections_of_the_revoked_only() {
    let site = Site::start(Config::default()).await;
    let (bad, good) = (site.client(Some("bad")), site.client(Some("good")));
    let waits = |client: &reqwest::Client| tokio::spawn(client.get(site.url("/wait")).send());
    let bad_answer = waits(&bad);
    site.waiting.entered.notified().await;
    let good_answer = waits(&good);
    site.waiting.entered.notified().await;

    site.revoke("bad");
    let cut = tokio::time::timeout(LONG, bad_answer)
        .await
        .unwrap()
        .unwrap();
    assert!(cut.is_err());
    site.waiting.go.notify_waiters();
    let answer = tokio::time::timeout(LONG, good_answer)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(answer.text().await.unwrap(), "done");
    assert!(bad.get(site.url("/who")).send().await.is_err());
}
