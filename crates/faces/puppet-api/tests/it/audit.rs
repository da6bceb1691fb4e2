//! Audit entries of the CA, and the refusal of actions that cannot be recorded.

use puppet_api::AutosignPolicy;
use reqwest::{Method, StatusCode};
use store::AuditRow;

use crate::site::{Client, Site, request};

const CA: &str = "/puppet-ca/v1";

/// All entries, once every result is written.
async fn settled(site: &Site) -> Vec<AuditRow> {
    site.audit.shutdown().await;
    site.store.audit_entries(1, 10_000).await.unwrap()
}

/// Phase, actor, action, certname, and the HTTP status of an error.
fn shown(rows: &[AuditRow]) -> Vec<String> {
    let line = |row: &AuditRow| {
        let entry = &row.entry;
        let status = entry
            .status
            .map_or_else(String::new, |status| format!(" {status}"));
        let (actor, action, object) = (&entry.actor_name, &entry.action, &entry.object_name);
        format!("{} {actor} {action} {object}{status}", entry.phase)
    };
    rows.iter().map(line).collect()
}

async fn submit(site: &Site, certname: &str) -> StatusCode {
    let path = format!("{CA}/certificate_request/{certname}");
    site.nobody().put(&path, request(certname)).await.0
}

async fn desire(client: &Client, certname: &str, state: &str) -> StatusCode {
    let body = format!(r#"{{"desired_state":"{state}"}}"#);
    let path = format!("{CA}/certificate_status/{certname}");
    client.put(&path, body).await.0
}

#[tokio::test]
async fn who_signed_revoked_cleaned_and_deleted_is_known() {
    let site = Site::start().await;
    let admin = site.administrator();
    for name in ["web1", "web2"] {
        assert_eq!(submit(&site, name).await, StatusCode::OK);
    }
    assert_eq!(
        desire(&admin, "web1", "signed").await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        desire(&admin, "web1", "revoked").await,
        StatusCode::NO_CONTENT
    );
    let clean = admin.delete(&format!("{CA}/certificate_status/web1")).await;
    assert_eq!(clean.0, StatusCode::NO_CONTENT);
    let delete = format!("{CA}/certificate_request/web2");
    assert_eq!(admin.delete(&delete).await.0, StatusCode::NO_CONTENT);
    let rows = settled(&site).await;
    let mut intents = shown(&rows);
    intents.retain(|line| line.starts_with("intent"));
    assert_eq!(
        intents,
        [
            "intent admin sign_certificate web1",
            "intent admin revoke_certificate web1",
            "intent admin clean_certificate web1",
            "intent admin delete_certificate_request web2",
        ]
    );
    let results = rows
        .iter()
        .filter(|row| row.entry.phase == "result")
        .count();
    assert_eq!(results, 4, "a result of each");
    assert!(
        rows.iter()
            .all(|row| row.entry.actor_type == "certificates")
    );
    assert!(
        rows.iter()
            .all(|row| row.entry.address.as_deref() == Some("127.0.0.1"))
    );
    assert!(!format!("{rows:?}").contains("BEGIN CERT"));
}

#[tokio::test]
async fn many_names_have_an_entry_each_and_failures_are_told() {
    let site = Site::start().await;
    let admin = site.administrator();
    assert_eq!(submit(&site, "web1").await, StatusCode::OK);
    // "admin" has a certificate already.
    let body = r#"{"certnames":["web1","admin"]}"#;
    let answer = admin
        .request(Method::POST, &format!("{CA}/sign"))
        .body(body);
    assert_eq!(answer.send().await.unwrap().status(), StatusCode::OK);
    let rows = settled(&site).await;
    let mut shown = shown(&rows);
    shown.sort();
    assert_eq!(
        shown,
        [
            "intent admin sign_certificate admin",
            "intent admin sign_certificate web1",
            "result admin sign_certificate admin 400",
            "result admin sign_certificate web1",
        ]
    );
}

#[tokio::test]
async fn whoever_is_refused_is_written_down() {
    let site = Site::start().await;
    let node = site.node("web7");
    assert_eq!(desire(&node, "web1", "signed").await, StatusCode::FORBIDDEN);
    let body = r#"{"desired_state":"signed"}"#;
    let path = format!("{CA}/certificate_status/web1");
    assert_eq!(
        site.nobody().put(&path, body).await.0,
        StatusCode::FORBIDDEN
    );
    let rows = settled(&site).await;
    assert_eq!(
        shown(&rows),
        [
            "denied web7 change_certificate_status  403",
            "denied  change_certificate_status  403"
        ]
    );
    assert!(rows.iter().all(|row| row.entry.decision == "denied"));
}

#[tokio::test]
async fn what_is_signed_unasked_is_the_servers_own_act() {
    let site = Site::with_autosign(AutosignPolicy::All).await;
    let (path, pem) = (format!("{CA}/certificate_request/web1"), request("web1"));
    let node = site.nobody();
    assert_eq!(node.put(&path, pem.clone()).await.0, StatusCode::OK);
    // Already signed: nothing is done.
    assert_eq!(node.put(&path, pem).await.0, StatusCode::OK);
    let rows = settled(&site).await;
    assert_eq!(
        shown(&rows),
        [
            "intent tutti sign_certificate web1",
            "result tutti sign_certificate web1"
        ]
    );
    assert_eq!(rows[0].entry.actor_type, "server");
    assert!(rows[0].entry.details.contains("autosign"));
}

#[tokio::test]
async fn no_entry_no_action() {
    let site = Site::start().await;
    let unasked = Site::with_autosign(AutosignPolicy::All).await;
    let admin = site.administrator();
    for name in ["web1", "web2"] {
        assert_eq!(submit(&site, name).await, StatusCode::OK);
    }
    assert_eq!(
        desire(&admin, "web2", "signed").await,
        StatusCode::NO_CONTENT
    );
    site.store.close().await;
    unasked.store.close().await;
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    assert_eq!(desire(&admin, "web1", "signed").await, unavailable);
    assert_eq!(desire(&admin, "web2", "revoked").await, unavailable);
    let web2 = format!("{CA}/certificate_status/web2");
    assert_eq!(admin.delete(&web2).await.0, unavailable);
    let web1 = format!("{CA}/certificate_request/web1");
    assert_eq!(admin.delete(&web1).await.0, unavailable);
    assert_eq!(submit(&unasked, "web1").await, unavailable);

    assert!(site.ca.certificate("web1").unwrap().is_none());
    assert!(site.ca.request("web1").unwrap().is_some());
    let state = site.ca.entry("web2").unwrap().unwrap().state;
    assert_eq!(state, pki::ca::CertificateState::Signed);
    // The request waits: the node repeats it, or an administrator signs it.
    assert!(unasked.ca.certificate("web1").unwrap().is_none());
    assert!(unasked.ca.request("web1").unwrap().is_some());
}
