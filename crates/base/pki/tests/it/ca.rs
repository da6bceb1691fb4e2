//! Sign, revoke, clean, list: results are verified with OpenSSL.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pki::ca::{
    AltName, CertificateState, GenerateOptions, InitOptions, SignOptions, SubmittedRequest,
};
use pki::{CaError, CertificateAuthority, KeyType, csr};
use tempfile::TempDir;

use crate::openssl::{openssl, try_openssl};

pub(crate) fn new_ca(key_type: KeyType) -> (TempDir, CertificateAuthority) {
    let dir = tempfile::tempdir().unwrap();
    let options = InitOptions {
        common_name: "Puppet CA: test".to_owned(),
        key_type,
    };
    let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
    (dir, ca)
}

pub(crate) fn request(certname: &str) -> String {
    csr::generate(certname, KeyType::EcP256)
        .unwrap()
        .request_pem
}

fn verify(dir: &Path, name: &str) -> crate::openssl::Ran {
    let cert = format!("signed/{name}.pem");
    try_openssl(
        dir,
        &[
            "verify",
            "-crl_check",
            "-CAfile",
            "ca_crt.pem",
            "-CRLfile",
            "ca_crl.pem",
            "-x509_strict",
            &cert,
        ],
    )
}

#[test]
fn openssl_accepts_chain_request_and_list_and_sees_the_revocation() {
    for key_type in [KeyType::EcP256, KeyType::Rsa4096] {
        let (_dir, ca) = new_ca(key_type);
        let dir = ca.dir();
        std::fs::write(dir.join("csr.pem"), request("web1.example.com")).unwrap();
        openssl(dir, &["req", "-in", "csr.pem", "-verify", "-noout"]);
        let pem = std::fs::read(dir.join("csr.pem")).unwrap();
        assert_eq!(
            ca.submit("web1.example.com", &pem).unwrap(),
            SubmittedRequest::Stored
        );
        ca.sign("web1.example.com", &SignOptions::default())
            .unwrap();
        ca.generate("puppet", &GenerateOptions::default()).unwrap();

        assert!(
            verify(dir, "web1.example.com").ok,
            "{}",
            verify(dir, "web1.example.com").text
        );
        openssl(
            dir,
            &[
                "crl",
                "-in",
                "ca_crl.pem",
                "-CAfile",
                "ca_crt.pem",
                "-noout",
            ],
        );

        assert_eq!(ca.revoke("web1.example.com").unwrap(), 1);
        assert_eq!(ca.revoke("web1.example.com").unwrap(), 0);
        let revoked = verify(dir, "web1.example.com");
        assert!(
            !revoked.ok && revoked.text.contains("certificate revoked"),
            "{}",
            revoked.text
        );
        assert!(verify(dir, "puppet").ok, "{}", verify(dir, "puppet").text);
        let crl = openssl(dir, &["crl", "-in", "ca_crl.pem", "-noout", "-text"]);
        assert!(crl.contains("Key Compromise"), "{crl}");
        let number = openssl(dir, &["crl", "-in", "ca_crl.pem", "-noout", "-crlnumber"]);
        assert!(number.to_lowercase().contains("02"), "{number}");
    }
}

#[test]
fn a_certificate_says_what_puppetservers_say() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    let options = GenerateOptions {
        alt_names: vec!["puppet".parse().unwrap(), "10.0.0.1".parse().unwrap()],
        ca_administrator: true,
        ..GenerateOptions::default()
    };
    let made = ca.generate("server.example.com", &options).unwrap();
    assert!(made.key_pem.contains("PRIVATE KEY") && !format!("{made:?}").contains("PRIVATE KEY"));
    let text = openssl(
        ca.dir(),
        &[
            "x509",
            "-in",
            "signed/server.example.com.pem",
            "-noout",
            "-text",
        ],
    );
    for expected in [
        "Issuer: CN = Puppet CA: test",
        "Subject: CN = server.example.com",
        "DNS:server.example.com, DNS:puppet, IP Address:10.0.0.1",
        "TLS Web Server Authentication, TLS Web Client Authentication",
        "Puppet Server Internal Certificate",
        "1.3.6.1.4.1.34380.1.3.39",
        "CA:FALSE",
        "Serial Number: 2 (0x2)",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let der = pem::parse(&made.cert_pem).unwrap();
    assert!(pki::identity::may_administer_ca(der.contents()));
    assert_eq!(
        pki::certname_of(der.contents()).unwrap(),
        "server.example.com"
    );
}

#[test]
fn the_directory_is_puppetservers() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    ca.submit("a", request("a").as_bytes()).unwrap();
    ca.submit("b", request("b").as_bytes()).unwrap();
    ca.sign("b", &SignOptions::default()).unwrap();
    let dir = ca.dir();
    for (file, mode) in [
        ("ca_crt.pem", 0o640),
        ("ca_key.pem", 0o600),
        ("ca_pub.pem", 0o640),
        ("ca_crl.pem", 0o640),
        ("inventory.txt", 0o640),
        ("serial", 0o640),
        ("signed/b.pem", 0o640),
        ("requests/a.pem", 0o640),
    ] {
        let meta = std::fs::metadata(dir.join(file)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, mode, "{file}");
    }
    assert!(!dir.join("requests/b.pem").exists());
    assert_eq!(std::fs::read_to_string(dir.join("serial")).unwrap(), "0003");
    let inventory = std::fs::read_to_string(dir.join("inventory.txt")).unwrap();
    let fields: Vec<&str> = inventory.trim_end().split(' ').collect();
    assert_eq!((fields[0], fields[3]), ("0x0002", "/CN=b"), "{inventory}");
    assert!(
        fields[1].ends_with("UTC") && fields[1].len() == 22,
        "{inventory}"
    );
}

#[test]
fn requests_are_kept_apart_by_key() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    let (one, other) = (request("n"), request("n"));
    assert_eq!(
        ca.submit("n", one.as_bytes()).unwrap(),
        SubmittedRequest::Stored
    );
    assert_eq!(
        ca.submit("n", one.as_bytes()).unwrap(),
        SubmittedRequest::AlreadyWaiting
    );
    let error = ca.submit("n", other.as_bytes()).unwrap_err();
    assert!(matches!(error, CaError::RequestExists { .. }), "{error}");
    ca.sign("n", &SignOptions::default()).unwrap();
    assert_eq!(
        ca.submit("n", one.as_bytes()).unwrap(),
        SubmittedRequest::AlreadySigned
    );
    let error = ca.submit("n", other.as_bytes()).unwrap_err();
    assert!(
        matches!(error, CaError::CertificateExists { .. }),
        "{error}"
    );
    assert!(ca.clean("n").unwrap());
    assert_eq!(
        ca.submit("n", other.as_bytes()).unwrap(),
        SubmittedRequest::Stored
    );
    assert!(matches!(
        ca.submit("m", one.as_bytes()),
        Err(CaError::NameMismatch { .. })
    ));
}

#[test]
fn a_name_that_was_cleaned_is_revoked_for_ever() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    let first = ca.generate("n", &GenerateOptions::default()).unwrap();
    assert!(matches!(
        ca.generate("n", &GenerateOptions::default()),
        Err(CaError::CertificateExists { .. })
    ));
    assert!(ca.clean("n").unwrap());
    assert!(!ca.clean("never").unwrap());
    ca.generate("n", &GenerateOptions::default()).unwrap();
    std::fs::write(ca.dir().join("signed/old.pem"), first.cert_pem).unwrap();
    assert!(!verify(ca.dir(), "old").ok);
    assert!(verify(ca.dir(), "n").ok);
    // Revoking by name includes the certificate whose file is missing.
    std::fs::remove_file(ca.dir().join("signed/n.pem")).unwrap();
    assert_eq!(ca.revoke("n").unwrap(), 1);
    assert!(matches!(
        ca.revoke("never"),
        Err(CaError::NoCertificate { .. })
    ));
}

#[test]
fn the_list_shows_states_and_fingerprints() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    ca.submit("asked", request("asked").as_bytes()).unwrap();
    ca.generate("valid", &GenerateOptions::default()).unwrap();
    ca.generate("gone", &GenerateOptions::default()).unwrap();
    ca.revoke("gone").unwrap();
    std::fs::write(ca.dir().join("requests/damaged.pem"), "nonsense").unwrap();
    let list = ca.list().unwrap();
    let states: Vec<_> = list
        .iter()
        .map(|e| (e.certname.as_str(), e.state))
        .collect();
    assert_eq!(
        states,
        [
            ("asked", CertificateState::Requested),
            ("gone", CertificateState::Revoked),
            ("valid", CertificateState::Signed)
        ]
    );
    let text = openssl(
        ca.dir(),
        &[
            "x509",
            "-in",
            "signed/valid.pem",
            "-noout",
            "-fingerprint",
            "-sha256",
        ],
    );
    assert!(text.contains(&list[2].fingerprints.sha256), "{text}");
    assert_eq!(list[2].certificate.as_ref().unwrap().serial, "0002");
    assert!(list[0].certificate.is_none());
    assert_eq!(ca.entry("valid").unwrap().as_ref(), Some(&list[2]));
    assert_eq!(ca.entry("nobody").unwrap(), None);
}

#[test]
fn many_at_once_never_share_a_serial_number() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            // Opened again, as another process would.
            let ca = CertificateAuthority::open(ca.dir()).unwrap();
            scope.spawn(move || {
                for n in 0..5 {
                    ca.generate(&format!("n{thread}-{n}"), &GenerateOptions::default())
                        .unwrap();
                    if n % 2 == 0 {
                        ca.revoke(&format!("n{thread}-{n}")).unwrap();
                    }
                }
            });
        }
    });
    let list = ca.list().unwrap();
    let serials: HashSet<_> = list
        .iter()
        .map(|e| e.certificate.as_ref().unwrap().serial.clone())
        .collect();
    assert_eq!((list.len(), serials.len()), (20, 20));
    assert_eq!(
        list.iter()
            .filter(|e| e.state == CertificateState::Revoked)
            .count(),
        12
    );
    let inventory = std::fs::read_to_string(ca.dir().join("inventory.txt")).unwrap();
    assert_eq!(inventory.lines().count(), 20);
}

#[test]
fn hostile_names_change_nothing() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    for name in ["../x", "a/b", "..", "", "a\0b", "ca", "*", &"n".repeat(300)] {
        let pem = request("x");
        assert!(
            matches!(
                ca.submit(name, pem.as_bytes()),
                Err(CaError::Certname { .. })
            ),
            "{name:?}"
        );
        assert!(ca.sign(name, &SignOptions::default()).is_err());
        assert!(ca.generate(name, &GenerateOptions::default()).is_err());
        assert!(ca.revoke(name).is_err() && ca.clean(name).is_err());
        assert!(ca.certificate(name).is_err() && ca.delete_request(name).is_err());
    }
    assert!(ca.list().unwrap().is_empty());
    assert_eq!(
        std::fs::read_to_string(ca.dir().join("serial")).unwrap(),
        "0002"
    );
}

#[test]
fn a_person_may_give_names_beyond_lower_case_ascii_but_nobody_may_ask_for_them() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    for name in ["wéb-ñ", "Server.Example"] {
        let asked = ca.submit(name, request(name).as_bytes());
        assert!(matches!(asked, Err(CaError::Certname { .. })), "{name}");
        assert!(ca.request(name).unwrap().is_none());
        let made = ca.generate(name, &GenerateOptions::default()).unwrap();
        let der = pem::parse(made.cert_pem).unwrap();
        assert_eq!(pki::certname_of(der.contents()).unwrap(), name);
        assert!(verify(ca.dir(), name).ok);
        // A key that already has its certificate gets that result, whatever its name.
        let key = rcgen::KeyPair::from_pem(&made.key_pem).unwrap();
        let again = pki::csr::create_request(name, &key).unwrap();
        assert_eq!(
            ca.submit(name, again.as_bytes()).unwrap(),
            SubmittedRequest::AlreadySigned
        );
    }
}

#[test]
fn damage_is_named_and_not_repaired_by_guessing() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    let serial = ca.dir().join("serial");
    std::fs::write(&serial, "garbage").unwrap();
    let error = ca.generate("n", &GenerateOptions::default()).unwrap_err();
    assert!(error.to_string().contains("serial"), "{error}");
    assert!(CertificateAuthority::open(ca.dir()).is_err());
    std::fs::write(&serial, "0002").unwrap();
    std::fs::write(ca.dir().join("ca_crl.pem"), "").unwrap();
    assert!(CertificateAuthority::open(ca.dir()).is_err());
    assert!(CertificateAuthority::open(&ca.dir().join("none")).is_err());
}

#[test]
fn alt_names_are_parsed_strictly() {
    assert_eq!(
        "DNS:a.b".parse::<AltName>().unwrap(),
        AltName::Dns("a.b".to_owned())
    );
    assert_eq!(
        "IP:::1".parse::<AltName>().unwrap(),
        AltName::Ip("::1".parse().unwrap())
    );
    for bad in ["", "DNS:", "IP:web", "a b", "ü.example", "URI:x", "a\0b"] {
        assert!(bad.parse::<AltName>().is_err(), "{bad:?}");
    }
}

#[test]
fn init_never_replaces_an_authority() {
    let (_dir, ca) = new_ca(KeyType::EcP256);
    let before = std::fs::read(ca.dir().join("ca_key.pem")).unwrap();
    let options = InitOptions {
        common_name: "another".to_owned(),
        key_type: KeyType::EcP256,
    };
    assert!(CertificateAuthority::init(ca.dir(), &options).is_err());
    assert_eq!(std::fs::read(ca.dir().join("ca_key.pem")).unwrap(), before);
}
