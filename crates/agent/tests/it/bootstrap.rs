//! A new node and a CA: every step, every interruption, every refusal.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::bootstrap::{Bootstrap, BootstrapConfig, BootstrapError, Fingerprint};
use pki::ClientTls;
use pki::ca::{GenerateOptions, SignOptions};

use crate::fake_ca::{FakeCa, NODE};

#[tokio::test]
async fn a_new_node_gets_a_certificate_in_puppets_layout() {
    let ca = FakeCa::start().await;
    let config = BootstrapConfig {
        fingerprint: Some(ca.fingerprint()),
        ..ca.autosign().config()
    };
    let bootstrap = Bootstrap::new(config);
    assert!(bootstrap.is_needed());
    let files = bootstrap.run().await.expect("a certificate");
    assert!(!bootstrap.is_needed());
    let ssl = ca.ssl();
    assert_eq!(files.cert, ssl.join("certs/new.example.pem"));
    assert_eq!(files.key, ssl.join("private_keys/new.example.pem"));
    assert_eq!(files.ca, ssl.join("certs/ca.pem"));
    // Also in the process that fetched it, a revoked broker is recognised.
    assert_eq!(files.crl, Some(ssl.join("crl.pem")));
    let mode = std::fs::metadata(&files.key)
        .expect("the key")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    ClientTls::load(&files).expect("files that fit each other");
    assert!(!ssl.join("certificate_requests/new.example.pem").exists());
}

#[tokio::test]
async fn doing_it_again_asks_nobody_and_changes_nothing() {
    let ca = FakeCa::start().await;
    let config = ca.autosign().config();
    let files = Bootstrap::new(config.clone())
        .run()
        .await
        .expect("a certificate");
    let before = std::fs::read(&files.cert).expect("the certificate");
    ca.seen();
    Bootstrap::new(config).run().await.expect("nothing to do");
    assert_eq!(ca.seen(), Vec::<String>::new());
    assert_eq!(std::fs::read(&files.cert).expect("the certificate"), before);
}

#[tokio::test]
async fn it_goes_on_wherever_it_was_interrupted() {
    // Each set of missing files is what a kill between two steps leaves.
    let steps = ["certs/ca.pem", "crl.pem", "private_keys/new.example.pem"];
    for kept in 0..=steps.len() {
        let ca = FakeCa::start().await;
        let config = ca.config();
        let error = Bootstrap::new(config.clone())
            .run()
            .await
            .expect_err("nobody has signed");
        assert!(matches!(error, BootstrapError::NotSigned { .. }), "{error}");
        // Killed before the request was made: the CA has heard nothing.
        ca.ca.delete_request(NODE).expect("a CA");
        let request = ca.ssl().join("certificate_requests/new.example.pem");
        std::fs::remove_file(request).expect("the request");
        for missing in &steps[kept..] {
            std::fs::remove_file(ca.ssl().join(missing)).expect("a file of an earlier step");
        }
        let files = Bootstrap::new(ca.autosign().config())
            .run()
            .await
            .expect("a certificate");
        ClientTls::load(&files).expect("files that fit each other");
    }
}

#[tokio::test]
async fn a_request_that_waits_is_sent_again_as_it_was() {
    let ca = FakeCa::start().await;
    let config = ca.config();
    let request = ca.ssl().join("certificate_requests/new.example.pem");
    Bootstrap::new(config.clone())
        .run()
        .await
        .expect_err("nobody has signed");
    let first = std::fs::read(&request).expect("the request");
    let error = Bootstrap::new(config.clone())
        .run()
        .await
        .expect_err("nobody has signed");
    assert!(
        error.to_string().contains("tutti ca sign new.example"),
        "{error}"
    );
    assert_eq!(std::fs::read(&request).expect("the request"), first);
    ca.ca
        .sign(NODE, &SignOptions::default())
        .expect("a signature");
    Bootstrap::new(config).run().await.expect("a certificate");
}

#[tokio::test]
async fn it_waits_for_the_ca_and_for_the_signature() {
    let ca = FakeCa::start().await;
    ca.policy.outage.store(3, Ordering::Relaxed);
    ca.policy.sign_at_look.store(4, Ordering::Relaxed);
    let config = BootstrapConfig {
        wait_for_cert: Duration::from_millis(10),
        ..ca.config()
    };
    let files = Bootstrap::new(config).run().await.expect("a certificate");
    ClientTls::load(&files).expect("files that fit each other");
    let looks = ca
        .seen()
        .iter()
        .filter(|seen| *seen == "GET certificate/new.example")
        .count();
    assert_eq!(looks, 4);
}

#[tokio::test]
async fn a_ca_with_another_fingerprint_is_not_trusted_and_leaves_nothing() {
    let ca = FakeCa::start().await;
    let config = BootstrapConfig {
        fingerprint: Some(Fingerprint::of(b"something else")),
        ..ca.autosign().config()
    };
    let error = Bootstrap::new(config).run().await.expect_err("a stranger");
    assert!(
        matches!(error, BootstrapError::Fingerprint { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains(&ca.fingerprint().to_string()),
        "{error}"
    );
    assert!(!ca.ssl().join("certs/ca.pem").exists());
    assert_eq!(ca.seen(), ["GET certificate/ca"]);
}

#[tokio::test]
async fn a_ca_that_is_not_the_one_on_disk_is_not_asked() {
    let (ca, other) = (FakeCa::start().await, FakeCa::start().await);
    let certs = ca.ssl().join("certs");
    std::fs::create_dir_all(&certs).expect("a directory");
    std::fs::write(
        certs.join("ca.pem"),
        other.ca.ca_bundle().expect("a CA certificate"),
    )
    .expect("a file");
    let config = BootstrapConfig {
        wait_for_cert: Duration::from_secs(120),
        ..ca.autosign().config()
    };
    let error = Bootstrap::new(config).run().await.expect_err("a stranger");
    assert!(matches!(error, BootstrapError::Fetch { .. }), "{error}");
    assert_eq!(ca.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_for_another_key_is_named_as_such_and_not_kept() {
    let ca = FakeCa::start().await;
    ca.ca
        .generate(NODE, &GenerateOptions::default())
        .expect("a certificate");
    let error = Bootstrap::new(ca.config())
        .run()
        .await
        .expect_err("not our key");
    assert!(
        matches!(error, BootstrapError::ForeignCertificate { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("tutti ca clean new.example"),
        "{error}"
    );
    let left = std::fs::read_dir(ca.ssl().join("certs"))
        .expect("a directory")
        .count();
    assert_eq!(left, 1, "only the CA's");
}

#[tokio::test]
async fn a_refusal_is_told_in_the_cas_words() {
    let ca = FakeCa::start().await;
    ca.policy.refuse.store(true, Ordering::Relaxed);
    let error = Bootstrap::new(ca.config())
        .run()
        .await
        .expect_err("refused");
    assert!(matches!(error, BootstrapError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("not permitted"), "{error}");
}
