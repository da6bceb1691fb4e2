//! Bootstrap of a new node, and of hostile ones.

use pki::ca::SignOptions;
use reqwest::{Method, StatusCode};

use crate::site::{Site, request};

const CA: &str = "/puppet-ca/v1";

#[tokio::test]
async fn a_new_node_gets_its_certificate() {
    let site = Site::start().await;
    let node = site.connect(pki::ClientTls::first_contact());
    let (status, bundle) = node.get(&format!("{CA}/certificate/ca")).await;
    assert_eq!(
        (status, &bundle),
        (StatusCode::OK, &site.ca.ca_bundle().unwrap())
    );
    let (status, crl) = node
        .get(&format!("{CA}/certificate_revocation_list/ca"))
        .await;
    assert_eq!((status, &crl), (StatusCode::OK, &site.ca.crl().unwrap().0));
    let certificate = format!("{CA}/certificate/web1");
    assert_eq!(node.get(&certificate).await.0, StatusCode::NOT_FOUND);

    let pem = request("web1");
    let url = format!("{CA}/certificate_request/web1");
    assert_eq!(node.get(&url).await.0, StatusCode::NOT_FOUND);
    for _ in 0..2 {
        assert_eq!(node.put(&url, &pem).await, (StatusCode::OK, String::new()));
    }
    assert_eq!(node.get(&url).await, (StatusCode::OK, pem.clone()));
    assert_eq!(node.get(&certificate).await.0, StatusCode::NOT_FOUND);

    let (status, text) = node.put(&url, request("web1")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        text.contains("already has a requested certificate"),
        "{text}"
    );

    let signed = site.ca.sign("web1", &SignOptions::default()).unwrap();
    assert_eq!(node.get(&certificate).await, (StatusCode::OK, signed));
    assert_eq!(node.put(&url, &pem).await.0, StatusCode::OK);
    let (status, text) = node.put(&url, request("web1")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(text.contains("already has a certificate"), "{text}");
}

#[tokio::test]
async fn the_list_is_sent_again_only_when_it_changed() {
    let site = Site::start().await;
    let node = site.nobody();
    let url = format!("{CA}/certificate_revocation_list/ca");
    let first = node.request(Method::GET, &url).send().await.unwrap();
    let modified = first.headers()["last-modified"]
        .to_str()
        .unwrap()
        .to_owned();
    let since = async |date: &str| {
        let request = node
            .request(Method::GET, &url)
            .header("if-modified-since", date);
        request.send().await.unwrap().status()
    };
    assert_eq!(since(&modified).await, StatusCode::NOT_MODIFIED);
    assert_eq!(
        since("Sat, 01 Jan 2028 00:00:00 GMT").await,
        StatusCode::NOT_MODIFIED
    );
    assert_eq!(since("Sat, 01 Jan 2000 00:00:00 GMT").await, StatusCode::OK);
    assert_eq!(since("yesterday").await, StatusCode::OK);
    let other = node
        .get(&format!("{CA}/certificate_revocation_list/web1"))
        .await;
    assert_eq!(other.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn hostile_names_and_bodies_are_refused_and_change_nothing() {
    let site = Site::start().await;
    let node = site.nobody();
    for name in [
        "..%2F..%2Fca_key",
        "%2e%2e",
        "a%00b",
        "a%2Fb",
        "a%0Ab",
        "%FF",
        "*",
        "ca",
    ] {
        let url = format!("{CA}/certificate_request/{name}");
        let (status, _) = node.put(&url, request("x")).await;
        assert!(status.is_client_error(), "{name}: {status}");
        if name != "ca" {
            let (status, text) = node.get(&format!("{CA}/certificate/{name}")).await;
            assert!(
                status.is_client_error() && !text.contains("PRIVATE"),
                "{name}: {status}"
            );
        }
    }
    let url = format!("{CA}/certificate_request/web1");
    let good = request("web1");
    for (body, expected) in [
        (String::new(), StatusCode::BAD_REQUEST),
        (good[..good.len() / 2].to_owned(), StatusCode::BAD_REQUEST),
        ("\0\u{1}binary".to_owned(), StatusCode::BAD_REQUEST),
        (request("web2"), StatusCode::BAD_REQUEST),
        ("x".repeat(65 * 1024), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        assert_eq!(node.put(&url, body).await.0, expected);
    }
    assert!(
        site.ca
            .list()
            .unwrap()
            .iter()
            .all(|entry| entry.certname == "localhost")
    );
    // Names that could be taken for another's, requested in good faith.
    for (path, name) in [("w%C3%A9b", "wéb"), ("Web1", "Web1")] {
        let url = format!("{CA}/certificate_request/{path}");
        let (status, text) = node.put(&url, request(name)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name}");
        assert!(text.contains("lower-case"), "{text}");
    }
}

#[tokio::test]
async fn unknown_paths_and_the_simple_status() {
    let site = Site::start().await;
    let (status, body) = site.nobody().get("/puppet-ca/v1/nothing").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["issue_kind"], "RESOURCE_NOT_FOUND");
    assert_eq!(site.nobody().get("/status/v1/simple").await.1, "running");
}
