//! Refresh of a node's revocation list from its CA.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::bootstrap::CertificateBootstrap;
use agent::crl::{CrlConfig, CrlError, CrlRefresh, CrlSource};
use agent::crl_file::ReplaceCrlError;
use pki::RevokedCertificates;
use pki::ca::GenerateOptions;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::fake_ca::FakeCa;

const BROKER: &str = "broker.example";
const LIST: &str = "GET certificate_revocation_list/ca";
/// Nothing on loopback takes this long; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node with a certificate, and a CA that knows a broker.
async fn node() -> (FakeCa, CrlConfig) {
    let ca = FakeCa::start().await;
    ca.ca
        .generate(BROKER, &GenerateOptions::default())
        .expect("a certificate");
    let config = ca.autosign().config();
    let bootstrap = CertificateBootstrap::new(config.clone());
    let tls = bootstrap.run().await.expect("a certificate");
    ca.seen();
    let path = config.ssl_dir.crl();
    let mut config = CrlConfig::new(config.server, tls, path);
    config.first_within = Duration::ZERO;
    config.interval = Duration::from_millis(20);
    (ca, config)
}

fn revoked(config: &CrlConfig) -> usize {
    RevokedCertificates::read(&config.tls.ca, &config.path)
        .expect("a list of our CA")
        .len()
}

fn files_beside(config: &CrlConfig) -> Vec<PathBuf> {
    let directory = config.path.parent().expect("a directory");
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect()
}

#[tokio::test]
async fn a_revocation_reaches_the_node() {
    let (ca, config) = node().await;
    let changed = watch::Sender::new(());
    let mut changes = changed.subscribe();
    let refresh = CrlRefresh::start(CrlSource::new(config.clone()), changed);
    ca.ca.revoke(BROKER).expect("a certificate to revoke");
    let told = timeout(PATIENCE, changes.changed()).await;
    told.expect("in time").expect("the task lives");
    assert_eq!(revoked(&config), 1);
    refresh.shutdown(PATIENCE).await;
    changes
        .changed()
        .await
        .expect_err("the task has ended and told of no other change");
}

#[tokio::test]
async fn a_list_is_sent_once() {
    let (ca, config) = node().await;
    let mut source = CrlSource::new(config.clone());
    let before = std::fs::metadata(&config.path).expect("the list");
    assert!(!source.refresh().await.expect("the same list"));
    assert!(!source.refresh().await.expect("the same list"));
    assert_eq!(ca.seen(), [LIST.to_owned(), format!("{LIST} if modified")]);
    let after = std::fs::metadata(&config.path).expect("the list");
    assert_eq!(
        after.modified().expect("a time"),
        before.modified().expect("a time")
    );
    ca.ca.revoke(BROKER).expect("a certificate to revoke");
    assert!(source.refresh().await.expect("another list"));
    assert_eq!(revoked(&config), 1);
    assert_eq!(files_beside(&config), [config.path]);
}

#[tokio::test]
async fn what_is_no_list_of_our_ca_changes_nothing() {
    let (ca, config) = node().await;
    let mut source = CrlSource::new(config.clone());
    let good = ca.ca.crl().expect("a list").0;
    let other = FakeCa::start().await;
    // One letter of the signature is changed; the base64 stays valid.
    let mut damaged: Vec<char> = good.chars().collect();
    let place = good.find("\n-----END").expect("PEM") - 6;
    damaged[place] = if damaged[place] == 'A' { 'B' } else { 'A' };
    for bad in [
        String::new(),
        "<html>Sign in to the network</html>".to_owned(),
        good[..good.len() / 2].to_owned(),
        damaged.into_iter().collect(),
        // A list of a CA with the same name and another key.
        other.ca.crl().expect("a list").0,
    ] {
        *ca.policy.list.lock().expect("no panic") = Some(bad.clone());
        let error = source.refresh().await.expect_err("no list of our CA");
        assert!(
            matches!(
                error,
                CrlError::Keep(ReplaceCrlError::Load(_) | ReplaceCrlError::Foreign { .. })
            ),
            "{bad}: {error}"
        );
        let kept = std::fs::read_to_string(&config.path).expect("the list");
        assert_eq!(kept, good, "{bad}");
        assert_eq!(files_beside(&config), std::slice::from_ref(&config.path));
    }
    *ca.policy.list.lock().expect("no panic") = None;
    ca.policy.outage.store(1, Ordering::Relaxed);
    let error = source.refresh().await.expect_err("an outage");
    assert!(matches!(error, CrlError::Fetch(_)), "{error}");
    ca.ca.revoke(BROKER).expect("a certificate to revoke");
    assert!(source.refresh().await.expect("the CA is back"));
}

#[tokio::test]
async fn a_lost_or_damaged_list_is_fetched_again() {
    let (ca, config) = node().await;
    let mut source = CrlSource::new(config.clone());
    source.refresh().await.expect("the same list");
    std::fs::remove_file(&config.path).expect("the list");
    assert!(source.refresh().await.expect("a list"));
    std::fs::write(&config.path, "garbage").expect("a file");
    ca.ca.revoke(BROKER).expect("a certificate to revoke");
    assert!(source.refresh().await.expect("a list"));
    assert_eq!(revoked(&config), 1);
}
