//! Certificates that are signed automatically.

use puppet_api::{AutosignPolicy, CaService};
use reqwest::StatusCode;

use crate::site::{PP_ROLE, Site, request};

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
    let site = Site::with_autosign(AutosignPolicy::from_patterns(&patterns).unwrap()).await;
    assert!(submitted(&site, "a.lab.example", request("a.lab.example")).await);
    assert!(submitted(&site, "db1", request("db1")).await);
    assert!(!submitted(&site, "db2", request("db2")).await);
}

#[tokio::test]
async fn a_request_for_rights_waits_for_a_person() {
    let site = Site::with_autosign(AutosignPolicy::All).await;
    let dir = tempfile::tempdir().unwrap();
    for (name, extension) in [
        ("rights", "1.3.6.1.4.1.34380.1.3.39=ASN1:UTF8String:true"),
        ("names", "subjectAltName=DNS:puppet"),
        // A rule of the broker lets holders of this extension give orders.
        ("role", &format!("{PP_ROLE}=ASN1:UTF8String:orchestrator")),
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
async fn a_certificate_that_was_signed_unasked_is_a_clients_and_has_its_own_name_only() {
    let site = Site::with_autosign(AutosignPolicy::All).await;
    assert!(submitted(&site, "web1.example", request("web1.example")).await);
    let pem = site.ca.certificate("web1.example").unwrap().unwrap();
    std::fs::write(site.dir.path().join("web1.pem"), pem).unwrap();
    let ran = std::process::Command::new("openssl")
        .args(["x509", "-in", "web1.pem", "-noout", "-ext"])
        .arg("extendedKeyUsage,subjectAltName")
        .current_dir(site.dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert!(lines.contains(&"TLS Web Client Authentication"), "{text}");
    assert!(lines.contains(&"DNS:web1.example"), "{text}");
    // A certificate signed by an administrator is like puppetserver's.
    site.ca.submit("web2", request("web2").as_bytes()).unwrap();
    let by_hand = site.ca.sign("web2", &pki::ca::SignOptions::default());
    let by_hand = pem::parse(by_hand.unwrap()).unwrap();
    assert_eq!(
        pki::identity::names_of(by_hand.contents()).unwrap(),
        ["web2", "web2"]
    );
}

#[tokio::test]
async fn a_request_that_waits_is_signed_once_its_name_is_permitted_and_never_with_rights() {
    let site = Site::with_autosign(AutosignPolicy::All).await;
    // Requests that arrived before the setting.
    let waiting = |name: &str| {
        let pem = request(name);
        site.ca.submit(name, pem.as_bytes()).unwrap();
        pem
    };
    let (web, ops) = (waiting("web1"), waiting("ops"));
    assert!(submitted(&site, "web1", web).await);
    assert!(!submitted(&site, "ops", ops).await);
}

#[tokio::test]
async fn a_policy_that_overlaps_a_name_with_rights_makes_no_service() {
    let site = Site::start().await;
    for (pattern, name, key) in [
        ("ops", "ops", "access.certificate_allowlist"),
        (
            "*.compilers.example",
            "*.compilers.example",
            "code.followers",
        ),
        ("*.example", "*.compilers.example", "code.followers"),
        ("localhost", "localhost", "certname"),
        ("broker2", "Broker2", "broker.remote_brokers"),
        ("listed", "listed", "ca.administrators"),
        ("orch", "orch", "broker.authorization"),
    ] {
        let autosign = AutosignPolicy::from_patterns(&[pattern.to_owned()]).unwrap();
        let refused = CaService::new(site.ca.clone(), autosign, site.audit.clone());
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("ca.autosign"), "{message}");
        assert!(message.contains(&format!("{name} ({key})")), "{message}");
    }
}

#[tokio::test]
async fn names_with_rights_wait_for_a_person() {
    let site = Site::with_autosign(AutosignPolicy::All).await;
    for name in ["broker2", "listed", "ops", "orch", "a.compilers.example"] {
        assert!(!submitted(&site, name, request(name)).await, "{name}");
        assert!(site.ca.request(name).unwrap().is_some(), "{name}");
    }
    // With upper-case letters it is not a valid new certname.
    let node = site.nobody();
    let path = "/puppet-ca/v1/certificate_request/LocalHost";
    let (status, text) = node.put(path, request("LocalHost")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(text.contains("lower-case"), "{text}");
}

fn policy(dir: &std::path::Path, script: &str) -> AutosignPolicy {
    let path = dir.join("policy");
    let text = dir.join("policy.text");
    std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // Another process writes the program: a child that another test forks at this moment would keep
    // it open for writing, and it could not be executed.
    let mut install = std::process::Command::new("install");
    install.args(["-m", "755"]).arg(&text).arg(&path);
    assert!(install.status().unwrap().success());
    AutosignPolicy::from_patterns(&[path.display().to_string()]).unwrap()
}

#[tokio::test]
async fn an_autosign_conf_is_read_for_each_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("autosign.conf");
    let autosign = AutosignPolicy::from_patterns(&[path.display().to_string()]).unwrap();
    let site = Site::with_autosign(autosign).await;
    assert!(!submitted(&site, "a.lab.example", request("a.lab.example")).await);
    std::fs::write(&path, "# the lab\n*.lab.example\nlocalhost\n").unwrap();
    assert!(submitted(&site, "b.lab.example", request("b.lab.example")).await);
    assert!(!submitted(&site, "web1", request("web1")).await);
    std::fs::write(&path, "").unwrap();
    assert!(!submitted(&site, "c.lab.example", request("c.lab.example")).await);
}

#[tokio::test]
async fn a_policy_executable_decides_by_name_and_request_but_not_about_rights() {
    let dir = tempfile::tempdir().unwrap();
    let asked = dir.path().join("asked");
    let script = format!(
        "echo \"$1\" >> {0}; grep -q 'BEGIN CERTIFICATE REQUEST' && [ \"$1\" != refused ]",
        asked.display()
    );
    let site = Site::with_autosign(policy(dir.path(), &script)).await;
    assert!(submitted(&site, "web1", request("web1")).await);
    assert!(!submitted(&site, "refused", request("refused")).await);
    // The program is not even called for names with rights.
    let privileged = site.ca.privileged_names();
    let name = privileged
        .named_holders(pki::CertnamePrivilege::CaAdministrator)
        .next();
    let name = name.unwrap().to_owned();
    assert!(!submitted(&site, &name, request(&name)).await);
    let asked = std::fs::read_to_string(asked).unwrap();
    assert_eq!(asked, "web1\nrefused\n");
}

#[tokio::test]
async fn a_request_that_replaces_the_approved_one_is_not_signed() {
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other.pem");
    let script = format!(
        "cp {} \"$(cat {})\"",
        other.display(),
        dir.path().join("place").display()
    );
    let site = Site::with_autosign(policy(dir.path(), &script)).await;
    let place = site.dir.path().join("ca/requests/web1.pem");
    std::fs::write(dir.path().join("place"), place.display().to_string()).unwrap();
    let replacing = request("web1");
    std::fs::write(&other, &replacing).unwrap();
    let url = "/puppet-ca/v1/certificate_request/web1";
    let (status, text) = site.nobody().put(url, request("web1")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
    assert!(text.contains("another certificate request"), "{text}");
    assert_eq!(site.ca.certificate("web1").unwrap(), None);
    assert_eq!(site.ca.request("web1").unwrap().unwrap().pem(), replacing);
    // the next request of the node is decided about as usual
    assert!(submitted(&site, "web1", replacing).await);
}
