//! Operations that only administrators may perform.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::site::{Client, Site, SiteOptions, request};

const CA: &str = "/puppet-ca/v1";

#[tokio::test]
async fn nobody_else_may_administer() {
    let site = Site::start().await;
    site.ca
        .submit("waiting", request("waiting").as_bytes())
        .unwrap();
    for client in [site.nobody(), site.node("web1")] {
        for (method, path, body) in [
            (Method::GET, "certificate_statuses/all", ""),
            (Method::GET, "certificate_status/waiting", ""),
            (
                Method::PUT,
                "certificate_status/waiting",
                r#"{"desired_state":"signed"}"#,
            ),
            (
                Method::PUT,
                "certificate_status/web1",
                r#"{"desired_state":"revoked"}"#,
            ),
            (Method::DELETE, "certificate_status/waiting", ""),
            (Method::DELETE, "certificate_request/waiting", ""),
            (Method::POST, "sign", r#"{"certnames":["waiting"]}"#),
            (Method::PUT, "clean", r#"{"certnames":["waiting"]}"#),
        ] {
            let request = client
                .request(method.clone(), &format!("{CA}/{path}"))
                .body(body);
            let status = request.send().await.unwrap().status();
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
        }
    }
    assert!(site.ca.request("waiting").unwrap().is_some());
}

#[tokio::test]
async fn an_administrator_lists_signs_revokes_and_cleans() {
    let site = Site::start().await;
    site.ca.submit("web1", request("web1").as_bytes()).unwrap();
    let admin = site.administrator();
    let url = format!("{CA}/certificate_status/web1");
    let state = async || {
        let status: Value = serde_json::from_str(&admin.get(&url).await.1).unwrap();
        status
    };
    assert_eq!(state().await["state"], "requested");
    let signed = admin.put(&url, r#"{"desired_state":"signed"}"#).await;
    assert_eq!(signed, (StatusCode::NO_CONTENT, String::new()));
    let status = state().await;
    assert_eq!(status["state"], "signed");
    assert_eq!(status["name"], "web1");
    assert_eq!(status["dns_alt_names"][0], "DNS:web1");
    assert_eq!(status["fingerprint"], status["fingerprints"]["SHA256"]);
    assert!(
        status["serial_number"].is_u64() && status["not_after"].is_string(),
        "{status}"
    );

    let again = admin.put(&url, r#"{"desired_state":"signed"}"#).await;
    assert!(again.0.is_client_error(), "{again:?}");
    assert_eq!(
        admin.put(&url, r#"{"desired_state":"revoked"}"#).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(state().await["state"], "revoked");
    let all = admin
        .get(&format!("{CA}/certificate_statuses/all?state=revoked"))
        .await
        .1;
    let all: Vec<Value> = serde_json::from_str(&all).unwrap();
    assert_eq!(
        all.iter().map(|entry| &entry["name"]).collect::<Vec<_>>(),
        ["web1"]
    );
    assert_eq!(admin.delete(&url).await.0, StatusCode::NO_CONTENT);
    assert_eq!(admin.delete(&url).await.0, StatusCode::NOT_FOUND);
    assert_eq!(admin.get(&url).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn names_with_rights_are_signed_at_the_server_only() {
    let site = Site::start().await;
    for name in ["ops", "a.compilers.example"] {
        site.ca.submit(name, request(name).as_bytes()).unwrap();
    }
    let admin = site.administrator();
    let signed = r#"{"desired_state":"signed"}"#;
    let url = format!("{CA}/certificate_status/ops");
    let (status, text) = admin.put(&url, signed).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text.contains("access.certificate_allowlist"), "{text}");
    assert!(text.contains("--allow-privileged-names"), "{text}");
    let names = r#"{"certnames":["a.compilers.example"]}"#;
    let bulk = admin
        .request(Method::POST, &format!("{CA}/sign"))
        .body(names);
    let bulk: Value = bulk.send().await.unwrap().json().await.unwrap();
    assert_eq!(
        bulk["signing-errors"],
        serde_json::json!(["a.compilers.example"])
    );
    let asked_for = pki::ca::SignOptions {
        allow_privileged_names: true,
        ..pki::ca::SignOptions::default()
    };
    site.ca.sign("ops", &asked_for).unwrap();
}

/// One address has its share of the list of waiting requests; others still have space.
#[tokio::test]
async fn one_source_cannot_fill_the_list_of_waiting_requests() {
    let site = Site::start().await;
    let pem = request("flood");
    for number in 0..pki::defaults::MAX_PENDING_PER_SOURCE {
        let path = site.ca.dir().join(format!("requests/flood{number}.pem"));
        std::fs::write(path, format!("# submitted from 127.0.0.1\n{pem}")).unwrap();
    }
    let path = format!("{CA}/certificate_request/web1");
    let submit = site
        .nobody()
        .request(Method::PUT, &path)
        .body(request("web1"));
    let refused = submit.send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "120");
    let text = refused.text().await.unwrap();
    assert!(
        text.contains("127.0.0.1") && text.contains("sign or delete"),
        "{text}"
    );
    let other = pki::ca::RequestSource::new(Some("10.0.0.1".parse().unwrap()));
    let pem = request("web2");
    site.ca.submit_from("web2", pem.as_bytes(), other).unwrap();
    // Freed space counts at once.
    assert!(site.ca.delete_request("flood0").unwrap());
    let (status, _) = site.nobody().put(&path, request("web1")).await;
    assert_eq!(status, StatusCode::OK);
    // The source is stored in the file, and is not shown to any client.
    let stored = std::fs::read_to_string(site.ca.dir().join("requests/web1.pem")).unwrap();
    assert!(stored.starts_with("# submitted from 127.0.0.1\n-----BEGIN"));
    let (_, shown) = site.nobody().get(&path).await;
    assert!(shown.starts_with("-----BEGIN"), "{shown}");
}

#[tokio::test]
async fn a_listed_certname_is_an_administrator_until_it_is_revoked() {
    let site = Site::start().await;
    let listed = site.node("listed");
    let url = format!("{CA}/certificate_statuses/all");
    assert_eq!(listed.get(&url).await.0, StatusCode::OK);
    site.ca.revoke("listed").unwrap();
    let crl = site.ca.crl().unwrap().0;
    std::fs::write(site.dir.path().join("crl.pem"), crl).unwrap();
    site.tls.reload().unwrap();
    assert!(listed.request(Method::GET, &url).send().await.is_err());
}

#[tokio::test]
async fn many_names_at_once() {
    let site = Site::start().await;
    for name in ["a", "b"] {
        site.ca.submit(name, request(name).as_bytes()).unwrap();
    }
    let admin = site.administrator();
    let names = r#"{"certnames":["a","b","none"]}"#;
    let signed = admin
        .request(Method::POST, &format!("{CA}/sign"))
        .body(names);
    let signed: Value = signed.send().await.unwrap().json().await.unwrap();
    assert_eq!(signed["signed"], serde_json::json!(["a", "b"]));
    assert_eq!(signed["no-csr"], serde_json::json!(["none"]));
    let (status, text) = admin.put(&format!("{CA}/clean"), names).await;
    assert_eq!(status, StatusCode::OK);
    assert!(text.contains("none"));
    assert!(site.ca.certificate("a").unwrap().is_none());
    let bad = admin
        .put(&format!("{CA}/clean"), r#"{"certnames":["../x"]}"#)
        .await;
    assert_eq!(bad.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn bodies_that_make_no_sense_are_refused() {
    let site = Site::start().await;
    site.ca.submit("web1", request("web1").as_bytes()).unwrap();
    let admin = site.administrator();
    for body in [
        "",
        "nonsense",
        "[]",
        "{}",
        r#"{"desired_state":"gone"}"#,
        r#"{"desired_state":"signed","cert_ttl":0}"#,
        r#"{"desired_state":"signed","cert_ttl":99999999999}"#,
        r#"{"desired_state":"signed","cert_ttl":-1}"#,
    ] {
        let (status, _) = admin
            .put(&format!("{CA}/certificate_status/web1"), body)
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    }
    let url = format!("{CA}/certificate_status/web1");
    let revoke = admin.put(&url, r#"{"desired_state":"revoked"}"#).await;
    assert_eq!(revoke.0, StatusCode::CONFLICT);
    assert!(site.ca.request("web1").unwrap().is_some());
}

#[tokio::test]
async fn the_holder_of_a_certificate_renews_it() {
    let site = Site::with(SiteOptions {
        renewal: Some(std::time::Duration::from_secs(10 * 365 * 24 * 3600)),
        ..SiteOptions::default()
    })
    .await;
    let path = "/puppet-ca/v1/certificate_renewal";
    let node = site.node("web1");
    let before = site.ca.certificate("web1").unwrap().unwrap();
    let renew = async |client: &Client| {
        let request = client.request(Method::POST, path).body("");
        let response = request.send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    };
    let (status, renewed) = renew(&node).await;
    assert_eq!(status, StatusCode::OK, "{renewed}");
    assert_ne!(renewed, before);
    assert_eq!(site.ca.certificate("web1").unwrap(), Some(renewed.clone()));
    assert_eq!(
        renew(&node).await,
        (StatusCode::OK, renewed),
        "the same again"
    );
    assert_eq!(renew(&site.nobody()).await.0, StatusCode::BAD_REQUEST);
    // a name that was cleaned belongs to nobody
    site.ca.clean("web1").unwrap();
    assert_eq!(renew(&node).await.0, StatusCode::CONFLICT);

    let without = Site::start().await;
    assert_eq!(renew(&without.node("web1")).await.0, StatusCode::NOT_FOUND);
}
