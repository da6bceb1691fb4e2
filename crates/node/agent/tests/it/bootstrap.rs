//! Bootstrap of a new node with a CA: every step, every interruption, every refusal.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::bootstrap::{
    BootstrapConfig, BootstrapError, CertificateBootstrap, Sha256Fingerprint, UnusableCertificate,
};
use pki::ca::{GenerateOptions, SignOptions};
use pki::{ClientTls, TlsFiles};

use crate::fake_ca::{FakeCa, NODE};

#[tokio::test]
async fn a_new_node_gets_a_certificate_in_puppets_layout() {
    let ca = FakeCa::start().await;
    let config = BootstrapConfig {
        fingerprint: Some(ca.fingerprint()),
        ..ca.autosign().config()
    };
    let bootstrap = CertificateBootstrap::new(config);
    assert!(bootstrap.is_needed());
    let files = bootstrap.run().await.expect("a certificate");
    assert!(!bootstrap.is_needed());
    let ssl = ca.ssl();
    assert_eq!(files.cert, ssl.join("certs/new.example.pem"));
    assert_eq!(files.key, ssl.join("private_keys/new.example.pem"));
    assert_eq!(files.ca, ssl.join("certs/ca.pem"));
    // A revoked broker is recognised even in the process that fetched the list.
    assert_eq!(files.crl, Some(ssl.join("crl.pem")));
    let mode = std::fs::metadata(&files.key)
        .expect("the key")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    ClientTls::load(&files).expect("files that fit each other");
    assert!(!ssl.join("certificate_requests/new.example.pem").exists());
}

const LIST: &str = "GET certificate_revocation_list/ca";

/// A node that has its certificate, and its CA, which has received no request since.
async fn node() -> (FakeCa, BootstrapConfig, TlsFiles) {
    let ca = FakeCa::start().await;
    let config = ca.autosign().config();
    let files = CertificateBootstrap::new(config.clone()).run().await;
    let files = files.expect("a certificate");
    ca.seen();
    (ca, config, files)
}

fn contents(files: &TlsFiles) -> [Vec<u8>; 2] {
    [&files.cert, &files.key].map(|path| std::fs::read(path).expect("a file"))
}

#[tokio::test]
async fn doing_it_again_asks_for_revocations_alone_and_changes_nothing() {
    let (ca, config, files) = node().await;
    let before = contents(&files);
    for renew in [false, true] {
        let again = CertificateBootstrap::new(config.clone()).with_renewal(renew);
        again.run().await.expect("nothing to do");
        assert_eq!(ca.seen(), [LIST]);
        assert_eq!(contents(&files), before);
    }
}

#[tokio::test]
async fn a_ca_that_does_not_answer_or_sends_no_list_leaves_a_good_certificate_good() {
    let (ca, config, files) = node().await;
    let before = contents(&files);
    let known = std::fs::read(ca.ssl().join("crl.pem")).expect("the list");
    // Not even with a wait: the node has everything it needs.
    let config = BootstrapConfig {
        wait_for_cert: Duration::from_secs(120),
        ..config
    };
    ca.policy.outage.store(1, Ordering::Relaxed);
    CertificateBootstrap::new(config.clone())
        .run()
        .await
        .expect("an outage");
    *ca.policy.list.lock().expect("no panic") = Some("sign in to the network".into());
    CertificateBootstrap::new(config.clone())
        .run()
        .await
        .expect("no list");
    // No process listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("a bound socket").port();
    drop(listener);
    let server = format!("localhost:{port}").parse().expect("an address");
    let config = BootstrapConfig { server, ..config };
    CertificateBootstrap::new(config)
        .run()
        .await
        .expect("no CA");
    assert_eq!(contents(&files), before);
    let list = std::fs::read(ca.ssl().join("crl.pem")).expect("the list");
    assert_eq!(list, known);
}

#[tokio::test]
async fn a_revoked_certificate_is_refused_and_renewed_when_asked() {
    let (ca, config, files) = node().await;
    let before = contents(&files);
    ca.ca.clean(NODE).expect("a certificate to revoke");
    for outage in [0, 1] {
        // Once known it stays known, even if the CA is unreachable.
        ca.policy.outage.store(outage, Ordering::Relaxed);
        let error = CertificateBootstrap::new(config.clone())
            .run()
            .await
            .expect_err("revoked");
        let is_revoked = matches!(
            error,
            BootstrapError::OwnCertificate(UnusableCertificate::Revoked { .. })
        );
        assert!(is_revoked, "{error}");
        let cert = files.cert.display().to_string();
        for part in [
            NODE,
            "revoked",
            &cert,
            "tutti ca clean new.example",
            "--renew",
        ] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        assert_eq!(contents(&files), before);
    }
    let renewed = CertificateBootstrap::new(config.clone())
        .with_renewal(true)
        .run()
        .await;
    assert_eq!(renewed.expect("another certificate"), files);
    let after = contents(&files);
    assert!(after[0] != before[0] && after[1] != before[1]);
    CertificateBootstrap::new(config)
        .run()
        .await
        .expect("a good one");
}

#[tokio::test]
async fn a_revoked_certificate_that_the_ca_still_hands_out_is_not_kept() {
    let (ca, config, files) = node().await;
    // Revoked, but not cleaned; and the node has lost it.
    ca.ca.revoke(NODE).expect("a certificate to revoke");
    std::fs::remove_file(&files.cert).expect("the certificate");
    let error = CertificateBootstrap::new(config.clone())
        .run()
        .await
        .expect_err("revoked");
    assert!(error.to_string().contains("tutti ca clean"), "{error}");
    assert!(!files.cert.exists());
    ca.ca.clean(NODE).expect("a certificate to remove");
    CertificateBootstrap::new(config)
        .run()
        .await
        .expect("another");
}

#[tokio::test]
async fn a_certificate_for_another_key_or_of_another_ca_is_named_as_such() {
    let (ca, config, files) = node().await;
    let good = contents(&files);
    let other = FakeCa::start().await;
    for (by, is_right) in [
        (
            &ca.ca,
            (|refusal| matches!(refusal, UnusableCertificate::OtherKey { .. }))
                as fn(&UnusableCertificate) -> bool,
        ),
        (&other.ca, |refusal| {
            matches!(refusal, UnusableCertificate::Foreign { .. })
        }),
    ] {
        let made = by
            .generate("other.example", &GenerateOptions::default())
            .expect("a certificate");
        std::fs::write(&files.cert, &made.cert_pem).expect("a file");
        if by.ca_bundle().expect("a bundle") != ca.ca.ca_bundle().expect("a bundle") {
            std::fs::write(&files.key, &made.key_pem).expect("a file");
        }
        let error = CertificateBootstrap::new(config.clone()).run().await;
        let Err(BootstrapError::OwnCertificate(refusal)) = error else {
            panic!("{error:?}");
        };
        assert!(is_right(&refusal), "{refusal}");
        assert!(refusal.to_string().contains("--renew"), "{refusal}");
    }
    std::fs::write(&files.cert, &good[0]).expect("a file");
    std::fs::write(&files.key, &good[1]).expect("a file");
    CertificateBootstrap::new(config)
        .run()
        .await
        .expect("a good one");
}

#[tokio::test]
async fn another_ca_under_the_old_address_is_an_error_also_for_a_node_with_a_certificate() {
    let (_ca, config, _files) = node().await;
    let other = FakeCa::start().await;
    let config = BootstrapConfig {
        server: other.config().server,
        ..config
    };
    let error = CertificateBootstrap::new(config)
        .run()
        .await
        .expect_err("a stranger");
    assert!(matches!(error, BootstrapError::Fetch { .. }), "{error}");
}

#[tokio::test]
async fn it_goes_on_wherever_it_was_interrupted() {
    // Each set of missing files is the state after a kill between two steps.
    let steps = ["certs/ca.pem", "crl.pem", "private_keys/new.example.pem"];
    for kept in 0..=steps.len() {
        let ca = FakeCa::start().await;
        let config = ca.config();
        let error = CertificateBootstrap::new(config.clone())
            .run()
            .await
            .expect_err("nobody has signed");
        assert!(matches!(error, BootstrapError::NotSigned { .. }), "{error}");
        // Killed before the request was made: the CA has received nothing.
        ca.ca.delete_request(NODE).expect("a CA");
        let request = ca.ssl().join("certificate_requests/new.example.pem");
        std::fs::remove_file(request).expect("the request");
        for missing in &steps[kept..] {
            std::fs::remove_file(ca.ssl().join(missing)).expect("a file of an earlier step");
        }
        let files = CertificateBootstrap::new(ca.autosign().config())
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
    CertificateBootstrap::new(config.clone())
        .run()
        .await
        .expect_err("nobody has signed");
    let first = std::fs::read(&request).expect("the request");
    let error = CertificateBootstrap::new(config.clone())
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
    CertificateBootstrap::new(config)
        .run()
        .await
        .expect("a certificate");
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
    let files = CertificateBootstrap::new(config)
        .run()
        .await
        .expect("a certificate");
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
        fingerprint: Some(Sha256Fingerprint::of(b"something else")),
        ..ca.autosign().config()
    };
    let error = CertificateBootstrap::new(config)
        .run()
        .await
        .expect_err("a stranger");
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
    let error = CertificateBootstrap::new(config)
        .run()
        .await
        .expect_err("a stranger");
    assert!(matches!(error, BootstrapError::Fetch { .. }), "{error}");
    assert_eq!(ca.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_for_another_key_is_named_as_such_and_not_kept() {
    let ca = FakeCa::start().await;
    ca.ca
        .generate(NODE, &GenerateOptions::default())
        .expect("a certificate");
    let error = CertificateBootstrap::new(ca.config())
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
    let error = CertificateBootstrap::new(ca.config())
        .run()
        .await
        .expect_err("refused");
    assert!(matches!(error, BootstrapError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("not permitted"), "{error}");
}
