//! Requests as Ruby and OpenSSL create them, and requests that are refused.

use pki::ca::SignOptions;
use pki::csr::{CertificateRequest, CsrError};
use pki::{CaError, KeyType};
use tempfile::TempDir;

use crate::ca::{new_ca, request};
use crate::openssl::openssl;

/// A request created by openssl with these extension lines.
fn openssl_request(key: &[&str], subject: &str, extensions: &str) -> (TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "[req]\ndistinguished_name = dn\nreq_extensions = ext\nattributes = attr\nprompt = no\n\
         string_mask = utf8only\n[dn]\n{subject}\n[attr]\nchallengePassword = secret\n[ext]\n\
         {extensions}\n"
    );
    std::fs::write(dir.path().join("req.cnf"), config).unwrap();
    let genpkey = [&["genpkey", "-out", "key.pem"], key].concat();
    openssl(dir.path(), &genpkey);
    openssl(
        dir.path(),
        &[
            "req", "-new", "-key", "key.pem", "-config", "req.cnf", "-out", "r.pem",
        ],
    );
    let pem = std::fs::read(dir.path().join("r.pem")).unwrap();
    (dir, pem)
}

const EC: &[&str] = &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
const PP_ROLE: &str = "1.3.6.1.4.1.34380.1.1.13 = ASN1:UTF8String:web";
const PP_CLI_AUTH: &str = "1.3.6.1.4.1.34380.1.3.39 = ASN1:UTF8String:true";

#[test]
fn puppet_extensions_come_into_the_certificate() {
    let rsa: &[&str] = &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
    for key in [EC, rsa] {
        let (_dir, pem) = openssl_request(key, "CN = web1", PP_ROLE);
        let (_ca_dir, ca) = new_ca(KeyType::EcP256);
        ca.submit("web1", &pem).unwrap();
        let cert = pem::parse(ca.sign("web1", &SignOptions::default()).unwrap()).unwrap();
        let role = pki::identity::extension_text(cert.contents(), "1.3.6.1.4.1.34380.1.1.13");
        assert_eq!(role.unwrap().as_deref(), Some("web"));
        assert!(!pki::identity::may_administer_ca(cert.contents()));
    }
}

#[test]
fn rights_and_alternative_names_need_consent() {
    let extensions = format!("{PP_CLI_AUTH}\nsubjectAltName = DNS:other, IP:10.1.2.3");
    let (_dir, pem) = openssl_request(EC, "CN = web1", &extensions);
    let (_ca_dir, ca) = new_ca(KeyType::EcP256);
    ca.submit("web1", &pem).unwrap();
    let entry = ca.entry("web1").unwrap().unwrap();
    assert_eq!(entry.alt_names, ["DNS:other", "IP:10.1.2.3"]);
    assert_eq!(entry.authorization_extensions[0].1, "true");
    let sign = |allow_alt_names, allow_authorization| {
        let options = SignOptions {
            allow_alt_names,
            allow_authorization,
            ..SignOptions::default()
        };
        ca.sign("web1", &options)
    };
    assert!(matches!(sign(false, false), Err(CaError::AltNames { .. })));
    assert!(matches!(
        sign(true, false),
        Err(CaError::Authorization { .. })
    ));
    assert!(matches!(sign(false, true), Err(CaError::AltNames { .. })));
    let cert = pem::parse(sign(true, true).unwrap()).unwrap();
    assert!(pki::identity::may_administer_ca(cert.contents()));
    let entry = ca.entry("web1").unwrap().unwrap();
    assert_eq!(entry.alt_names, ["DNS:web1", "DNS:other", "IP:10.1.2.3"]);
}

#[test]
fn extensions_outside_puppets_arc_are_refused() {
    for (extension, oid) in [
        ("basicConstraints = CA:TRUE", "2.5.29.19"),
        ("keyUsage = keyCertSign", "2.5.29.15"),
        ("1.2.3.4 = ASN1:UTF8String:x", "1.2.3.4"),
        (
            "1.3.6.1.4.1.343801.1.1 = ASN1:UTF8String:x",
            "1.3.6.1.4.1.343801.1.1",
        ),
    ] {
        let (_dir, pem) = openssl_request(EC, "CN = web1", extension);
        match CertificateRequest::from_pem(&pem) {
            Err(CsrError::ForbiddenExtension(found)) => assert_eq!(found, oid),
            other => panic!("{extension}: {other:?}"),
        }
    }
}

#[test]
fn a_value_that_is_no_single_der_object_is_refused() {
    let (_dir, pem) = openssl_request(EC, "CN = web1", "1.3.6.1.4.1.34380.1.1.13 = DER:0c0161ffff");
    assert!(matches!(
        CertificateRequest::from_pem(&pem),
        Err(CsrError::ForbiddenExtension(_))
    ));
}

#[test]
fn alternative_names_that_are_no_host_names_are_refused() {
    for name in [
        "DNS:a b",
        "DNS:a\x1b[2Jb",
        "DNS:a/b",
        "URI:http://a",
        "email:a@b",
    ] {
        let extension = format!("subjectAltName = {name}");
        let (_dir, pem) = openssl_request(EC, "CN = web1", &extension);
        let read = CertificateRequest::from_pem(&pem);
        assert!(
            matches!(read, Err(CsrError::UnsupportedAltName)),
            "{name:?}: {read:?}"
        );
    }
}

#[test]
fn subjects_must_have_one_common_name() {
    let (_dir, pem) = openssl_request(EC, "O = Some Org\nCN = web1", PP_ROLE);
    assert_eq!(
        CertificateRequest::from_pem(&pem).unwrap().certname(),
        "web1"
    );
    let (_dir, pem) = openssl_request(EC, "O = Some Org", PP_ROLE);
    assert!(matches!(
        CertificateRequest::from_pem(&pem),
        Err(CsrError::Subject(_))
    ));
    let (_dir, pem) = openssl_request(EC, "0.CN = web1\n1.CN = admin", PP_ROLE);
    assert!(matches!(
        CertificateRequest::from_pem(&pem),
        Err(CsrError::Subject(_))
    ));
}

#[test]
fn weak_keys_broken_signatures_and_other_things_are_refused() {
    let rsa_1024: &[&str] = &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"];
    let (_dir, pem) = openssl_request(rsa_1024, "CN = web1", PP_ROLE);
    assert!(matches!(
        CertificateRequest::from_pem(&pem),
        Err(CsrError::WeakKey(1024))
    ));

    let good = request("web1");
    let mut der = pem::parse(&good).unwrap().into_contents();
    let last = der.len() - 1;
    der[last] ^= 1;
    let forged = pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", der));
    assert!(matches!(
        CertificateRequest::from_pem(forged.as_bytes()),
        Err(CsrError::BadSignature)
    ));

    let truncated = &good.as_bytes()[..good.len() / 2];
    assert!(matches!(
        CertificateRequest::from_pem(truncated),
        Err(CsrError::NotPem)
    ));
    assert!(matches!(
        CertificateRequest::from_pem(b""),
        Err(CsrError::NotPem)
    ));
    assert!(matches!(
        CertificateRequest::from_pem(&[b'x'; 70_000]),
        Err(CsrError::TooLarge)
    ));
    let certificate = pem::encode(&pem::Pem::new("CERTIFICATE", vec![1, 2, 3]));
    assert!(matches!(
        CertificateRequest::from_pem(certificate.as_bytes()),
        Err(CsrError::NotPem)
    ));
}
