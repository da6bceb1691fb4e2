//! Files of tasks and modules.

use std::fs;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::site::Site;

const TASK: &str = "/puppet/v3/file_content/tasks/demo/run.sh";

fn kind(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    assert!(body["message"].is_string(), "{body}");
    body["issue_kind"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn known_nodes_read_task_and_module_files() {
    let site = Site::start().await;
    fs::write(site.module_file("tasks/run.sh"), "echo hi\n").unwrap();
    fs::create_dir_all(site.module_file("files/a b")).unwrap();
    fs::write(site.module_file("files/a b/é"), b"\0\xff").unwrap();
    let node = site.node("web1");
    let (status, body) = node.get(&format!("{TASK}?environment=production")).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "echo hi\n"));
    let url = "/puppet/v3/file_content/modules/demo/a%20b/%C3%A9?environment=production";
    let response = node.request(Method::GET, url).send().await.unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "application/octet-stream"
    );
    assert_eq!(response.bytes().await.unwrap().as_ref(), b"\0\xff");
    let head = node.request(Method::HEAD, &format!("{TASK}?environment=production"));
    assert_eq!(head.send().await.unwrap().headers()["content-length"], "8");
}

#[tokio::test]
async fn nobody_else_reads_anything() {
    let site = Site::start().await;
    fs::write(site.module_file("tasks/run.sh"), "echo hi\n").unwrap();
    let (status, body) = site
        .nobody()
        .get(&format!("{TASK}?environment=production"))
        .await;
    assert_eq!(
        (status, kind(&body).as_str()),
        (StatusCode::FORBIDDEN, "FAILED_AUTHORIZATION")
    );
}

#[tokio::test]
async fn content_of_a_hash_stays_what_it_was() {
    let site = Site::start().await;
    let sha256 = site
        .blobs
        .store_stream(&mut b"old content".as_slice(), "test")
        .unwrap();
    fs::write(site.module_file("tasks/run.sh"), "new content").unwrap();
    let node = site.node("web1");
    let url = format!("{TASK}?environment=production&sha256={sha256}");
    assert_eq!(
        node.get(&url).await,
        (StatusCode::OK, "old content".to_owned())
    );
    let unknown = format!("{TASK}?sha256={}", "0".repeat(64));
    assert_eq!(node.get(&unknown).await.0, StatusCode::NOT_FOUND);
    let (status, body) = node.get(&format!("{TASK}?sha256=../../etc/passwd")).await;
    assert_eq!(
        (status, kind(&body).as_str()),
        (StatusCode::BAD_REQUEST, "INVALID_REQUEST")
    );
}

#[tokio::test]
async fn known_content_is_not_sent_again() {
    let site = Site::start().await;
    fs::write(site.module_file("tasks/run.sh"), "echo hi\n").unwrap();
    let node = site.node("web1");
    let url = format!("{TASK}?environment=production");
    let first = node.request(Method::GET, &url).send().await.unwrap();
    let etag = first.headers()["etag"].to_str().unwrap().to_owned();
    let status = async |tag: &str| {
        let request = node.request(Method::GET, &url).header("if-none-match", tag);
        request.send().await.unwrap().status()
    };
    assert_eq!(status(&etag).await, StatusCode::NOT_MODIFIED);
    assert_eq!(
        status(&format!("\"x\", W/{etag}")).await,
        StatusCode::NOT_MODIFIED
    );
    assert_eq!(status("\"x\"").await, StatusCode::OK);
    fs::write(site.module_file("tasks/run.sh"), "echo ho, longer\n").unwrap();
    assert_eq!(status(&etag).await, StatusCode::OK);
}

#[tokio::test]
async fn nothing_outside_a_module_is_served() {
    let site = Site::start().await;
    fs::write(site.dir.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(
        site.dir.path().join("secret"),
        site.module_file("files/link"),
    )
    .unwrap();
    let node = site.node("web1");
    for path in [
        "tasks/demo/..%2F..%2Fsecret",
        "modules/demo/%2e%2e/%2e%2e/secret",
        "modules/demo/link",
        "modules/demo/a%00b",
        "modules/demo//etc/passwd",
        "modules/..%2Fdemo/x",
        "modules/demo/",
        "modules/demo",
        "modules/demo/missing",
        "manifests/demo/init.pp",
        "tasks/none/x",
    ] {
        let url = format!("/puppet/v3/file_content/{path}?environment=production");
        let (status, body) = node.get(&url).await;
        let refused = [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND].contains(&status);
        assert!(refused && body != "secret", "{path}: {status} {body}");
        kind(&body);
        assert!(!body.contains(site.dir.path().to_str().unwrap()), "{body}");
    }
    for query in [
        "",
        "?environment=none",
        "?environment=..%2Fx",
        "?environment=a&environment=b",
    ] {
        let (status, body) = node.get(&format!("{TASK}{query}")).await;
        assert!(status.is_client_error(), "{query}: {status}");
        assert!(!body.contains(site.dir.path().to_str().unwrap()), "{body}");
    }
}
