//! `node purge`: what is asked, what is printed, how it ends.

use insta::assert_snapshot;
use serde_json::json;

use super::fake::Fake;

const PURGE: &str = "POST /inventory/v1/command/purge-node";

#[tokio::test]
async fn a_node_is_removed_and_each_part_is_told() {
    let reply = json!({"certname": "web1.example.com", "certificate": "cleaned", "was_known": true,
        "revocation": {"newly_revoked": 1, "still_connected": [], "not_asked": []},
        "puppetdb": "queued"});
    let fake = Fake::start(vec![(PURGE, 200, reply)]).await;
    let ran = fake
        .run(&["tutti", "node", "purge", "web1.example.com", "--yes"])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
    let body = json!({"certname": "web1.example.com", "only_deactivate": false});
    assert_eq!(fake.asked()[0].body, body);
}

#[tokio::test]
async fn a_certificate_that_is_still_accepted_is_told() {
    let reply = json!({"certname": "web1", "certificate": "cleaned", "was_known": false,
        "revocation": {"newly_revoked": 1, "still_connected": ["pcp://b2/server"], "not_asked": [],
            "problem": "the list is unreadable"},
        "puppetdb": "none"});
    let fake = Fake::start(vec![(PURGE, 200, reply)]).await;
    let ran = fake.run(&["tutti", "node", "purge", "web1", "-y"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (1, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
}

#[tokio::test]
async fn nothing_is_removed_without_a_confirmation() {
    let fake = Fake::start(Vec::new()).await;
    let ran = fake
        .run(&["tutti", "node", "purge", "web1.example.com"])
        .await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.error.contains("add --yes"), "{ran:?}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn a_node_can_be_deactivated_only() {
    let reply = json!({"certname": "web1", "certificate": "kept", "was_known": false,
        "puppetdb": "deactivated"});
    let fake = Fake::start(vec![(PURGE, 200, reply)]).await;
    let ran = fake
        .run(&[
            "tutti",
            "node",
            "purge",
            "web1",
            "--only-deactivate",
            "--yes",
        ])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
    assert_eq!(fake.asked()[0].body["only_deactivate"], json!(true));
}
