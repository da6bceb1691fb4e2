//! What is signed without anybody's consent.

use puppet_api::Autosign;
use reqwest::StatusCode;

use crate::site::{Site, request};

async fn submitted(site: &Site, certname: &str, pem: String) -> bool {
    let node = site.nobody();
    let url = format!("/puppet-ca/v1/certificate_request/{certname}");
    assert_eq!(node.put(&url, pem).await.0, StatusCode::OK);
    let signed = node
        .get(&format!("/puppet-ca/v1/certificate/{certname}"))
        .await;
    signed.0 == StatusCode::OK
}

#[tokio::test]
async fn only_the_names_that_are_configured() {
    let patterns = ["*.lab.example".to_owned(), "db1".to_owned()];
    let site = Site::with_autosign(Autosign::from_patterns(&patterns).unwrap()).await;
    assert!(submitted(&site, "a.lab.example", request("a.lab.example")).await);
    assert!(submitted(&site, "db1", request("db1")).await);
    assert!(!submitted(&site, "db2", request("db2")).await);
}

#[tokio::test]
async fn a_request_for_rights_waits_for_a_person() {
    let site = Site::with_autosign(Autosign::All).await;
    let dir = tempfile::tempdir().unwrap();
    for (name, extension) in [
        ("rights", "1.3.6.1.4.1.34380.1.3.39=ASN1:UTF8String:true"),
        ("names", "subjectAltName=DNS:puppet"),
    ] {
        let ran = std::process::Command::new("openssl")
            .args([
                "req",
                "-new",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
            ])
            .args(["-nodes", "-keyout", "key.pem", "-out", "r.pem"])
            .args(["-subj", &format!("/CN={name}"), "-addext", extension])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let pem = std::fs::read_to_string(dir.path().join("r.pem")).unwrap();
        assert!(!submitted(&site, name, pem).await, "{name}");
        assert!(site.ca.request(name).unwrap().is_some());
    }
    assert!(submitted(&site, "plain", request("plain")).await);
}

#[tokio::test]
async fn names_with_rights_wait_for_a_person() {
    let site = Site::with_autosign(Autosign::All).await;
    for name in ["broker2", "listed"] {
        assert!(!submitted(&site, name, request(name)).await, "{name}");
        assert!(site.ca.request(name).unwrap().is_some(), "{name}");
    }
    // In another case it is no name to ask for.
    let node = site.nobody();
    let path = "/puppet-ca/v1/certificate_request/LocalHost";
    let (status, text) = node.put(path, request("LocalHost")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(text.contains("lower-case"), "{text}");
}
