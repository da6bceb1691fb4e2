//! The bucket for files that agents replace.

use reqwest::{Method, StatusCode};

use crate::site::{Client, Site};

/// The SHA-256 and MD5 of `hello\n`.
const SHA256: &str = "sha256/5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
const MD5: &str = "md5/b1946ac92492d2347c6235b4d2611184";

async fn put(client: &Client, key: &str, body: impl Into<reqwest::Body>) -> StatusCode {
    let path = format!("/puppet/v3/file_bucket_file/{key}?environment=production");
    let request = client
        .request(Method::PUT, &path)
        .header("content-type", "application/octet-stream")
        .body(body);
    request.send().await.unwrap().status()
}

async fn head(client: &Client, key: &str) -> StatusCode {
    let path = format!("/puppet/v3/file_bucket_file/{key}?environment=production");
    let request = client.request(Method::HEAD, &path);
    request.send().await.unwrap().status()
}

async fn get(client: &Client, key: &str) -> (StatusCode, String) {
    let path = format!("/puppet/v3/file_bucket_file/{key}?environment=production");
    client.get(&path).await
}

#[tokio::test]
async fn a_node_stores_a_file_and_gets_it_back() {
    let site = Site::start().await;
    let node = site.node("web1");
    for key in [SHA256, MD5] {
        let with_path = format!("{key}//etc/motd");
        assert_eq!(head(&node, &with_path).await, StatusCode::NOT_FOUND);
        assert_eq!(put(&node, &with_path, "hello\n").await, StatusCode::OK);
        assert_eq!(head(&node, &with_path).await, StatusCode::OK);
        assert_eq!(
            head(&node, &format!("{key}//etc/issue")).await,
            StatusCode::NOT_FOUND
        );
        assert_eq!(
            get(&node, key).await,
            (StatusCode::OK, "hello\n".to_owned())
        );
    }
    // in chunks, without a length
    let chunks: Vec<Result<_, std::io::Error>> = vec![Ok("hel"), Ok("lo\n")];
    let chunks = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    assert_eq!(
        put(&node, &format!("{SHA256}/C:/x y"), chunks).await,
        StatusCode::OK
    );
}

#[tokio::test]
async fn files_are_those_of_the_caller() {
    let site = Site::start().await;
    let (web1, web2) = (site.node("web1"), site.node("web2"));
    assert_eq!(
        put(&web1, &format!("{SHA256}//a"), "hello\n").await,
        StatusCode::OK
    );
    for key in [SHA256.to_owned(), format!("{SHA256}//a")] {
        assert_eq!(get(&web2, &key).await.0, StatusCode::NOT_FOUND);
        assert_eq!(head(&web2, &key).await, StatusCode::NOT_FOUND);
    }
    assert_eq!(get(&site.nobody(), SHA256).await.0, StatusCode::FORBIDDEN);
    assert_eq!(
        put(&site.nobody(), SHA256, "hello\n").await,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn hostile_keys_and_bodies_are_refused() {
    let site = Site::start().await;
    let node = site.node("web1");
    for key in [
        "sha256",
        "sha256/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "sha512/00",
        "md5/B1946AC92492D2347C6235B4D2611184",
        "md5/b1946ac92492d2347c6235b4d261118%00",
        &format!("{SHA256}/a%00b"),
        &format!("{SHA256}/a%0ab"),
        &format!("{SHA256}/{}", "a".repeat(5_000)),
        &format!("{}/x", SHA256.replace('5', "%35%2F")),
    ] {
        let (status, body) = get(&node, key).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{key}: {body}");
        assert_eq!(
            put(&node, key, "hello\n").await,
            StatusCode::BAD_REQUEST,
            "{key}"
        );
    }
    // paths are kept, and never opened
    let outside = format!("{SHA256}/../../../../etc/passwd%2e");
    let outside = outside.replace("..", "%252e%252e");
    assert_eq!(put(&node, &outside, "hello\n").await, StatusCode::OK);
    assert_eq!(get(&node, &outside).await.1, "hello\n");
    // another content than announced
    assert_eq!(put(&node, MD5, "hallo\n").await, StatusCode::BAD_REQUEST);
    assert_eq!(head(&node, MD5).await, StatusCode::NOT_FOUND);
    for query in ["list_all=true", "diff_with=0"] {
        let path = format!("/puppet/v3/file_bucket_file/{SHA256}?environment=x&{query}");
        assert_eq!(node.get(&path).await.0, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_before_it_is_sent() {
    let site = Site::start().await;
    let node = site.node("web1");
    let request = node
        .request(
            Method::PUT,
            &format!("/puppet/v3/file_bucket_file/{SHA256}?environment=x"),
        )
        .header("content-length", (300 * 1024 * 1024).to_string())
        .body(reqwest::Body::wrap_stream(futures_util::stream::pending::<
            Result<&str, std::io::Error>,
        >()));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn two_files_of_the_caller_are_compared() {
    let site = Site::start().await;
    let node = site.node("web1");
    let stored = async |client: &Client, content: &str| {
        let sum = sha256(content);
        assert_eq!(
            put(client, &format!("sha256/{sum}"), content.to_owned()).await,
            StatusCode::OK
        );
        sum
    };
    let old = stored(&node, "a\nb\nc\nd\ne\nf\ng\nh\ni\n").await;
    let new = stored(&node, "a\nb\nX\nd\ne\nf\ng\nh\ni\nj").await;
    let diff = async |client: &Client, old: &str, new: &str| {
        client
            .get(&format!(
                "/puppet/v3/file_bucket_file/sha256/{old}?diff_with={new}"
            ))
            .await
    };
    let (status, body) = diff(&node, &old, &new).await;
    let expected = format!(
        "--- {{sha256}}{old}\n+++ {{sha256}}{new}\n@@ -1,9 +1,10 @@\n a\n b\n-c\n+X\n d\n e\n f\n g\n h\n i\n+j\n\\ No \
         newline at end of file\n"
    );
    assert_eq!((status, body), (StatusCode::OK, expected));
    assert_eq!(
        diff(&node, &old, &old).await,
        (StatusCode::OK, String::new())
    );
    let binary = stored(&node, "a\0b").await;
    assert!(
        diff(&node, &old, &binary)
            .await
            .1
            .starts_with("Binary files")
    );
    let large = stored(&node, &"x".repeat((1 << 20) + 1)).await;
    let (status, body) = diff(&node, &old, &large).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(body.contains("compare them on the node"), "{body}");
    // nothing of others
    let other = site.node("web2");
    let own = stored(&other, "own\n").await;
    for (old, new) in [(&old, &own), (&own, &old), (&old, &new)] {
        assert_eq!(diff(&other, old, new).await.0, StatusCode::NOT_FOUND);
    }
    for hostile in ["", "..%2F..%2Fx", "zz", "%00"] {
        let (status, _) = diff(&node, &old, hostile).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{hostile}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn puppet_shows_the_difference_of_two_files() {
    let site = Site::start().await;
    let node = site.node("web1");
    let (old, new) = (sha256("old\n"), sha256("new\n"));
    for (sum, text) in [(&old, "old\n"), (&new, "new\n")] {
        assert_eq!(
            put(&node, &format!("sha256/{sum}"), text).await,
            StatusCode::OK
        );
    }
    let home = tempfile::tempdir().unwrap();
    let arguments = site.agent_arguments("web1", home.path());
    let mut puppet = std::process::Command::new("puppet");
    puppet.args(["filebucket", "diff", &old, &new, "--remote"]);
    puppet.args(&arguments[1..]);
    let Ok(ran) = tokio::task::block_in_place(|| puppet.output()) else {
        eprintln!("SKIPPED: puppet is not installed");
        return;
    };
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(
        printed.contains("-old\n+new\n"),
        "{printed} {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
