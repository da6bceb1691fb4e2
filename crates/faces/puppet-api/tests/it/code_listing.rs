//! Classes and transports of environments.

use std::fs;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::site::{Client, Site, SiteOptions};

/// A rule for all clients with a certificate.
const OPEN: &str = r#"
authorization: {
    version: 1
    rules: [{ match-request: { path: "/puppet", type: path }, allow: "*", sort-order: 500, name: "all" }]
}
"#;

const CLASSES: &str = "/puppet/v3/environment_classes";
const TRANSPORTS: &str = "/puppet/v3/environment_transports";

async fn site() -> Site {
    Site::with(SiteOptions {
        auth_conf: Some(OPEN.to_owned()),
        ..SiteOptions::default()
    })
    .await
}

/// Status, `ETag` and body of an answer.
async fn fetch(client: &Client, url: &str, tag: Option<&str>) -> (u16, String, String) {
    let mut request = client.request(Method::GET, url);
    if let Some(tag) = tag {
        request = request.header("if-none-match", tag);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let etag = response.headers().get("etag");
    let etag = etag.map(|it| it.to_str().unwrap().to_owned());
    (
        status,
        etag.unwrap_or_default(),
        response.text().await.unwrap(),
    )
}

#[tokio::test]
async fn classes_are_listed_in_the_form_of_puppetserver() {
    let site = site().await;
    fs::create_dir_all(site.module_file("manifests")).unwrap();
    let manifest = "class demo(Integer $size = 3, $other) { }\n";
    fs::write(site.module_file("manifests/init.pp"), manifest).unwrap();
    fs::write(
        site.module_file("manifests/bad.pp"),
        "class demo::bad( { \n",
    )
    .unwrap();
    let url = format!("{CLASSES}?environment=production");
    let node = site.node("web1");
    let (status, etag, body) = fetch(&node, &url, None).await;
    assert_eq!(status, 200, "{body}");
    let place = site.module_file("manifests");
    let place = place.display();
    let expected = format!(
        concat!(
            r#"{{"files":[{{"error":"Syntax error at '{{' (file: {}/bad.pp, line: 1, column: 18)","path":"{}/bad.pp"}},"#,
            r#"{{"classes":[{{"name":"demo","params":[{{"default_literal":3,"default_source":"3","name":"size","#,
            r#""type":"Integer"}},{{"name":"other"}}]}}],"path":"{}/init.pp"}}],"name":"production"}}"#
        ),
        place, place, place
    );
    assert_eq!(body, expected);
    assert_eq!(etag.len(), 64, "{etag}");
    for tag in [
        etag.clone(),
        format!("\"{etag}\""),
        format!("{etag}--gzip"),
        format!("W/\"{etag}\""),
        format!("other, {etag}"),
    ] {
        let (status, again, body) = fetch(&node, &url, Some(&tag)).await;
        assert_eq!((status, &again, body.as_str()), (304, &etag, ""), "{tag}");
    }
    // without versions each change is seen at once
    fs::remove_file(site.module_file("manifests/bad.pp")).unwrap();
    let (status, other, body) = fetch(&node, &url, Some(&etag)).await;
    assert_eq!(status, 200);
    assert_ne!(other, etag);
    assert!(!body.contains("bad.pp"), "{body}");
}

#[tokio::test]
async fn each_version_is_read_once_and_has_its_own_tag() {
    let site = site().await;
    let node = site.node("web1");
    let url = format!("{CLASSES}?environment=production");
    let manifest = "modules/demo/manifests/init.pp";
    site.deploy_version('a', &[(manifest, "class demo { }")]);
    let (_, first, _) = fetch(&node, &url, None).await;
    assert_eq!(fetch(&node, &url, Some(&first)).await.0, 304);
    // a version does not change, so its files are not read again
    let path = site
        .dir
        .path()
        .join("code/environments/production")
        .join(manifest);
    fs::write(&path, "class demo($changed) { }").unwrap();
    assert_eq!(fetch(&node, &url, Some(&first)).await.0, 304);
    site.deploy_version('b', &[(manifest, "class demo($new) { }")]);
    let (status, second, body) = fetch(&node, &url, Some(&first)).await;
    assert_eq!(status, 200);
    assert!(body.contains(r#"{"name":"new"}"#), "{body}");
    assert_ne!(first, second);
}

#[tokio::test]
async fn transports_are_listed_in_the_form_of_puppetserver() {
    let site = site().await;
    let schemas = site.module_file("lib/puppet/transport/schema");
    fs::create_dir_all(&schemas).unwrap();
    let schema = "require 'puppet/resource_api'\n\nPuppet::ResourceApi.register_transport(\n  name: 'thing', desc: \
                  'Connects', features: [],\n  connection_info: { host: { type: 'String', desc: 'The host' } },\n)\n";
    fs::write(schemas.join("thing.rb"), schema).unwrap();
    let node = site.node("web1");
    let url = format!("{TRANSPORTS}?environment=production");
    let (status, etag, body) = fetch(&node, &url, None).await;
    assert_eq!(status, 200, "{body}");
    let expected = concat!(
        r#"{"name":"production","transports":[{"connection_info":{"host":{"desc":"The host","type":"String"}},"#,
        r#""connection_info_order":["host"],"desc":"Connects","features":[],"name":"thing"}]}"#
    );
    assert_eq!(body, expected);
    assert_eq!(fetch(&node, &url, Some(&etag)).await.0, 304);
    fs::write(schemas.join("thing.rb"), "exit\n").unwrap();
    let (status, _, body) = fetch(&node, &url, None).await;
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &error["issue_kind"]),
        (500, &json!("RUNTIME_ERROR"))
    );
    assert!(body.contains("thing.rb, line 1"), "{body}");
}

#[tokio::test]
async fn unknown_and_invalid_environments_have_puppetservers_texts() {
    let site = site().await;
    let node = site.node("web1");
    for route in [CLASSES, TRANSPORTS, "/puppet/v3/tasks", "/puppet/v3/plans"] {
        for (query, status, text) in [
            ("", 400, "An environment parameter must be specified"),
            (
                "?environment=a-b",
                400,
                "The environment must be purely alphanumeric, not 'a-b'",
            ),
            (
                "?environment=..%2Fproduction",
                400,
                "The environment must be purely alphanumeric, not '../production'",
            ),
            (
                "?environment=none",
                404,
                "Could not find environment 'none'",
            ),
        ] {
            let (found, body) = node.get(&format!("{route}{query}")).await;
            assert_eq!(
                (found.as_u16(), body.as_str()),
                (status, text),
                "{route}{query}"
            );
        }
        let (status, _) = site
            .nobody()
            .get(&format!("{route}?environment=production"))
            .await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
}
