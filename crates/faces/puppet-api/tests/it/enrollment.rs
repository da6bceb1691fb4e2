//! Certificate requests that ask for more than a node may have, and nodes that enroll twice, with real agents.

use std::path::Path;
use std::process::Command;

use puppet_api::AutosignPolicy;
use reqwest::{Method, StatusCode};

use crate::site::Site;

const CA: &str = "/puppet-ca/v1";

/// A request with this extension, made by `openssl`; `None` if it is not installed.
fn crafted(directory: &Path, certname: &str, extension: Option<&str>) -> Option<String> {
    let mut command = Command::new("openssl");
    command.args([
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]);
    command.arg("-keyout").arg(directory.join("crafted.key"));
    command.args(["-subj", &format!("/CN={certname}")]);
    if let Some(extension) = extension {
        command.args(["-addext", extension]);
    }
    let made = command.output().ok()?;
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    Some(String::from_utf8(made.stdout).unwrap())
}

async fn sign(site: &Site, certname: &str) -> (StatusCode, String) {
    let url = format!("{CA}/certificate_status/{certname}");
    let request = site.administrator().request(Method::PUT, &url);
    let request = request.header("content-type", "application/json");
    let response = request
        .body(r#"{"desired_state":"signed"}"#)
        .send()
        .await
        .unwrap();
    (response.status(), response.text().await.unwrap())
}

#[tokio::test]
async fn a_request_for_more_than_a_node_may_have_is_never_signed_unasked() {
    let policy = AutosignPolicy::from_patterns(&["*.test".to_owned()]).unwrap();
    let site = Site::with_autosign(policy).await;
    let node = site.nobody();
    for (certname, extension, submitted, signed, cause) in [
        ("plain.test", None, 200, None, ""),
        (
            "zone.test",
            Some("1.3.6.1.4.1.34380.1.1.12=ASN1:UTF8String:b"),
            200,
            None,
            "",
        ),
        (
            "names.test",
            Some("subjectAltName=DNS:puppet.test"),
            200,
            Some(409),
            "alternative names",
        ),
        (
            "rights.test",
            Some("1.3.6.1.4.1.34380.1.3.39=ASN1:UTF8String:true"),
            200,
            Some(409),
            "authorization",
        ),
        (
            "ca.test",
            Some("basicConstraints=critical,CA:TRUE"),
            400,
            Some(404),
            "2.5.29.19, which is not permitted",
        ),
        (
            "usage.test",
            Some("keyUsage=keyCertSign"),
            400,
            Some(404),
            "2.5.29.15, which is not permitted",
        ),
        (
            "unknown.test",
            Some("1.2.3.4=ASN1:UTF8String:x"),
            400,
            Some(404),
            "1.2.3.4, which is not permitted",
        ),
    ] {
        let Some(pem) = crafted(site.dir.path(), certname, extension) else {
            eprintln!("SKIPPED: openssl is not installed");
            return;
        };
        let url = format!("{CA}/certificate_request/{certname}");
        let (status, refusal) = node.put(&url, pem).await;
        assert_eq!(status, submitted, "{certname}: {refusal}");
        let (status, certificate) = node.get(&format!("{CA}/certificate/{certname}")).await;
        let Some(signed) = signed else {
            assert!(certificate.contains("BEGIN CERTIFICATE"), "{certname}");
            continue;
        };
        assert_eq!(status, StatusCode::NOT_FOUND, "{certname}");
        // nor by an administrator who does not consent to it
        let (status, body) = sign(&site, certname).await;
        assert_eq!(status, signed, "{certname}: {body}");
        let told = if submitted == 200 { body } else { refusal };
        assert!(told.contains(cause), "{certname}: {told}");
    }
}

/// Output and exit code of a `puppet` command of a node with its own directory.
fn puppet(site: &Site, home: &Path, command: &[&str]) -> Option<(String, i32)> {
    let port = site.address.port().to_string();
    let mut puppet = Command::new("puppet");
    puppet
        .args(command)
        .args(["--server", "localhost", "--serverport", &port]);
    puppet.args(["--certname", "web1.test", "--color", "false"]);
    for (name, below) in [
        ("confdir", ""),
        ("vardir", "var"),
        ("publicdir", "public"),
        ("ssldir", "ssl"),
    ] {
        puppet.arg(format!("--{name}")).arg(home.join(below));
    }
    let ran = puppet.output().ok()?;
    let printed = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    Some((printed.into_owned(), ran.status.code().unwrap_or(-1)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_enrolls_twice_needs_its_key_or_an_administrator() {
    let policy = AutosignPolicy::from_patterns(&["*.test".to_owned()]).unwrap();
    let site = Site::with_autosign(policy).await;
    let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let bootstrap = |home: &Path| {
        tokio::task::block_in_place(|| {
            puppet(&site, home, &["ssl", "bootstrap", "--waitforcert", "0"])
        })
    };
    let Some((printed, code)) = bootstrap(homes[0].path()) else {
        eprintln!("SKIPPED: puppet is not installed");
        return;
    };
    assert_eq!(code, 0, "{printed}");
    // the same key, after the certificate was lost
    std::fs::remove_file(homes[0].path().join("ssl/certs/web1.test.pem")).unwrap();
    let (printed, code) = bootstrap(homes[0].path()).unwrap();
    assert_eq!(code, 0, "{printed}");
    // another key: a node that was installed anew
    let (printed, code) = bootstrap(homes[1].path()).unwrap();
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("does not match its private key"),
        "{printed}"
    );
    // a revoked certificate does not free the name
    let url = format!("{CA}/certificate_status/web1.test");
    let revoke = site.administrator().request(Method::PUT, &url);
    let revoke = revoke.header("content-type", "application/json");
    let revoked = revoke
        .body(r#"{"desired_state":"revoked"}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    let (printed, code) = bootstrap(homes[1].path()).unwrap();
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("does not match its private key"),
        "{printed}"
    );
    // an administrator cleans it
    let (status, _) = site.administrator().delete(&url).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (printed, code) = bootstrap(homes[1].path()).unwrap();
    assert_eq!(code, 0, "{printed}");
}
