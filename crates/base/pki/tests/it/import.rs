//! Import of a CA that another tool created.

use pki::ca::{CertificateState, GenerateOptions, ImportFiles};
use pki::{CertificateAuthority, KeyType, csr};

use crate::openssl::{openssl, puppetserver_like_ca, try_openssl};

#[test]
fn a_puppetserver_ca_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("theirs");
    std::fs::create_dir_all(theirs.join("signed")).unwrap();
    std::fs::create_dir_all(theirs.join("requests")).unwrap();
    puppetserver_like_ca(&theirs);
    std::fs::write(theirs.join("serial"), "0030").unwrap();
    let old = csr::generate("old", KeyType::EcP256).unwrap();
    std::fs::write(theirs.join("old.csr"), old.request_pem).unwrap();
    openssl(
        &theirs,
        &[
            "ca",
            "-config",
            "ca.cnf",
            "-batch",
            "-notext",
            "-in",
            "old.csr",
            "-out",
            "signed/old.pem",
        ],
    );
    std::fs::write(theirs.join("inventory.txt"), "0x0041 a b /CN=lost\n").unwrap();
    let waiting = csr::generate("waiting", KeyType::EcP256).unwrap();
    std::fs::write(theirs.join("requests/waiting.pem"), waiting.request_pem).unwrap();

    let files = ImportFiles {
        cert_bundle: theirs.join("ca_crt.pem"),
        key: theirs.join("ca_key.pem"),
        crl_chain: Some(theirs.join("ca_crl.pem")),
        ca_dir: Some(theirs.clone()),
    };
    let ca = CertificateAuthority::import(&dir.path().join("ours"), &files).unwrap();
    assert_eq!(ca.revoke("old").unwrap(), 1);
    ca.sign("waiting", &Default::default()).unwrap();
    let entry = ca.entry("waiting").unwrap().unwrap();
    // Above the serial file, the inventory and the certificates.
    assert_eq!(entry.certificate.unwrap().serial, "0042");
    assert_eq!(
        ca.entry("old").unwrap().unwrap().state,
        CertificateState::Revoked
    );

    let verify = |name: &str| {
        let cert = format!("signed/{name}.pem");
        try_openssl(
            ca.dir(),
            &[
                "verify",
                "-crl_check",
                "-CAfile",
                "ca_crt.pem",
                "-CRLfile",
                "ca_crl.pem",
                &cert,
            ],
        )
    };
    assert!(verify("waiting").ok, "{}", verify("waiting").text);
    assert!(verify("old").text.contains("certificate revoked"));
    // The list identifies the CA's key as the CA itself does.
    let key_id = |text: &str, after: &str| {
        let rest = &text[text
            .find(after)
            .unwrap_or_else(|| panic!("{after}\n{text}"))..];
        rest.lines()
            .nth(1)
            .unwrap()
            .trim()
            .trim_start_matches("keyid:")
            .to_owned()
    };
    let cert = openssl(ca.dir(), &["x509", "-in", "ca_crt.pem", "-noout", "-text"]);
    let crl = openssl(ca.dir(), &["crl", "-in", "ca_crl.pem", "-noout", "-text"]);
    let authority = key_id(&crl, "Authority Key Identifier");
    assert_eq!(key_id(&cert, "Subject Key Identifier"), authority);
    assert!(
        crl.contains("X509v3 CRL Number: \n                6"),
        "{crl}"
    );
}

#[test]
fn puppetservers_own_directory_opens_in_place() {
    let dir = tempfile::tempdir().unwrap();
    puppetserver_like_ca(dir.path());
    for sub in ["signed", "requests"] {
        std::fs::create_dir(dir.path().join(sub)).unwrap();
    }
    std::fs::write(dir.path().join("serial"), "000A").unwrap();
    let ca = CertificateAuthority::open(dir.path()).unwrap();
    ca.generate("n", &GenerateOptions::default()).unwrap();
    assert_eq!(
        ca.entry("n").unwrap().unwrap().certificate.unwrap().serial,
        "000A"
    );
}

#[test]
fn an_intermediate_keeps_the_lists_of_the_cas_above() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    puppetserver_like_ca(root);
    openssl(
        root,
        &[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-384",
            "-out",
            "sub_key.pem",
        ],
    );
    openssl(
        root,
        &[
            "req",
            "-new",
            "-key",
            "sub_key.pem",
            "-subj",
            "/O=Example/CN=Sub CA",
            "-out",
            "sub.csr",
        ],
    );
    std::fs::write(
        root.join("sub.ext"),
        "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n\
         subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n",
    )
    .unwrap();
    openssl(
        root,
        &[
            "x509",
            "-req",
            "-in",
            "sub.csr",
            "-CA",
            "ca_crt.pem",
            "-CAkey",
            "ca_key.pem",
            "-set_serial",
            "7",
            "-days",
            "50",
            "-extfile",
            "sub.ext",
            "-out",
            "sub_crt.pem",
        ],
    );
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    std::fs::write(
        root.join("bundle.pem"),
        read("sub_crt.pem") + &read("ca_crt.pem"),
    )
    .unwrap();

    let files = ImportFiles {
        cert_bundle: root.join("bundle.pem"),
        key: root.join("sub_key.pem"),
        crl_chain: None,
        ca_dir: None,
    };
    let ca = CertificateAuthority::import(&root.join("ours"), &files).unwrap();
    // The root's list is added to the CA's own, as puppetserver keeps them in one file.
    let ours = std::fs::read_to_string(ca.dir().join("ca_crl.pem")).unwrap();
    std::fs::write(ca.dir().join("ca_crl.pem"), read("ca_crl.pem") + &ours).unwrap();
    ca.generate("n", &GenerateOptions::default()).unwrap();
    let verify = || {
        try_openssl(
            ca.dir(),
            &[
                "verify",
                "-crl_check_all",
                "-CAfile",
                "ca_crt.pem",
                "-CRLfile",
                "ca_crl.pem",
                "signed/n.pem",
            ],
        )
    };
    assert!(verify().ok, "{}", verify().text);
    ca.revoke("n").unwrap();
    assert!(
        verify().text.contains("certificate revoked"),
        "{}",
        verify().text
    );
    let lists = std::fs::read_to_string(ca.dir().join("ca_crl.pem")).unwrap();
    assert_eq!(lists.matches("BEGIN X509 CRL").count(), 2);
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    puppetserver_like_ca(root);
    openssl(
        root,
        &[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-out",
            "other.pem",
        ],
    );
    openssl(
        root,
        &[
            "rsa",
            "-in",
            "ca_key.pem",
            "-aes128",
            "-passout",
            "pass:x",
            "-out",
            "locked.pem",
        ],
    );
    openssl(
        root,
        &[
            "req",
            "-x509",
            "-new",
            "-key",
            "other.pem",
            "-subj",
            "/CN=leaf",
            "-out",
            "leaf.pem",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ],
    );
    openssl(
        root,
        &[
            "req",
            "-x509",
            "-new",
            "-key",
            "other.pem",
            "-subj",
            "/O=a+CN=multi",
            "-out",
            "multi.pem",
        ],
    );
    for (cert, key, expected) in [
        ("ca_crt.pem", "other.pem", "belongs to the key"),
        ("ca_crt.pem", "locked.pem", "encrypted"),
        ("ca_crt.pem", "ca_crt.pem", "holds no private key"),
        ("other.pem", "other.pem", "holds no certificate"),
        ("leaf.pem", "other.pem", "not a CA certificate"),
        ("multi.pem", "other.pem", "cannot be used"),
        ("missing.pem", "other.pem", "cannot read"),
    ] {
        let files = ImportFiles {
            cert_bundle: root.join(cert),
            key: root.join(key),
            crl_chain: None,
            ca_dir: None,
        };
        let error = CertificateAuthority::import(&root.join("ours"), &files).unwrap_err();
        assert!(
            error.to_string().contains(expected),
            "{cert} {key}: {error}"
        );
    }
    assert!(!root.join("ours").exists());
}
