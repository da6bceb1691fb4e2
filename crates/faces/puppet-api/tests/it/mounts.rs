//! Mounts of a `fileserver.conf`, and hostile paths on every route that serves files.

use std::fs;
use std::os::unix::fs::symlink;

use reqwest::StatusCode;
use serde_json::Value;

use crate::site::{Site, SiteOptions};

const QUERY: &str =
    "environment=production&links=manage&checksum_type=sha256&source_permissions=ignore";

async fn site() -> Site {
    let site = Site::with(SiteOptions {
        has_agents: true,
        fileserver_conf: true,
        ..SiteOptions::default()
    })
    .await;
    let root = site.dir.path();
    for directory in ["shared/sub", "own/web1", "own/web2"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("secret"), "the secret").unwrap();
    fs::write(root.join("shared/motd"), "hello\n").unwrap();
    fs::write(root.join("shared/sub/x"), "x\n").unwrap();
    fs::write(root.join("own/web1/key"), "key of web1").unwrap();
    fs::write(root.join("own/web2/key"), "key of web2").unwrap();
    symlink(root.join("secret"), root.join("shared/out")).unwrap();
    symlink("../secret", root.join("shared/relative")).unwrap();
    symlink(root, root.join("shared/sub/dir")).unwrap();
    symlink("motd", root.join("shared/inside")).unwrap();
    fs::write(site.module_file("files/motd"), "of the module").unwrap();
    symlink(root.join("secret"), site.module_file("files/out")).unwrap();
    symlink(root.join("secret"), site.module_file("lib/out.rb")).unwrap();
    symlink(root.join("secret"), site.module_file("tasks/out")).unwrap();
    site
}

#[tokio::test]
async fn a_mount_is_served_as_puppetserver_serves_it() {
    let site = site().await;
    let node = site.node("web1");
    let content = |path: &str| format!("/puppet/v3/file_content/{path}?environment=production");
    assert_eq!(
        node.get(&content("shared/motd")).await,
        (StatusCode::OK, "hello\n".to_owned())
    );
    assert_eq!(node.get(&content("shared/inside")).await.1, "hello\n");
    assert_eq!(node.get(&content("own/key")).await.1, "key of web1");
    assert_eq!(
        site.node("web2").get(&content("own/key")).await.1,
        "key of web2"
    );
    for path in ["shared//motd", "shared//sub//x", "modules/demo//motd"] {
        let (status, body) = node.get(&content(path)).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
    }
    let web3 = site.node("web3").get(&content("own/key")).await;
    assert_eq!(web3.0, StatusCode::NOT_FOUND);

    let url = format!("/puppet/v3/file_metadata/shared/motd?{QUERY}");
    let (_, body) = node.get(&url).await;
    let found: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&found["type"], &found["checksum"]["value"]),
        (
            &"file".into(),
            &"{sha256}5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03".into()
        )
    );
    for root in ["shared", "shared/", "own", "plugins"] {
        let url = format!("/puppet/v3/file_metadata/{root}?{QUERY}");
        let (_, body) = node.get(&url).await;
        let found: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(found["type"], "directory", "{root}: {body}");
    }
    let url = format!("/puppet/v3/file_metadatas/shared?recurse=true&{QUERY}");
    let (_, body) = node.get(&url).await;
    let found: Vec<Value> = serde_json::from_str(&body).expect(&body);
    let listed: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it["relative_path"].as_str().unwrap(),
                it["type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            (".", "directory"),
            ("inside", "link"),
            ("motd", "file"),
            ("out", "link"),
            ("relative", "link"),
            ("sub", "directory"),
            ("sub/dir", "link"),
            ("sub/x", "file"),
        ]
    );
    // links that are followed lead nowhere outside
    let followed = url.replace("links=manage", "links=follow");
    let (_, body) = node.get(&followed).await;
    let found: Vec<Value> = serde_json::from_str(&body).expect(&body);
    let listed: Vec<_> = found
        .iter()
        .map(|it| it["relative_path"].as_str().unwrap())
        .collect();
    assert_eq!(listed, [".", "inside", "motd", "sub", "sub/x"]);
}

#[tokio::test]
async fn no_path_leads_out_of_a_mount_on_any_route() {
    let site = site().await;
    let node = site.node("web1");
    let up = "..%2F..%2F..%2F..%2Fsecret";
    let mut paths = Vec::new();
    for mount in [
        "shared",
        "own",
        "modules/demo",
        "tasks/demo",
        "scripts/demo",
        "plugins",
        "pluginfacts",
        "locales",
    ] {
        for path in [
            up,
            "%2e%2e/secret",
            "%2e%2e%2fsecret",
            "%252e%252e%252fsecret",
            "..%252fsecret",
            "sub/..%2f..%2fsecret",
            "secret%00",
            "%00../secret",
            "motd%00.txt",
            "/etc/passwd",
            "%2fetc%2fpasswd",
            "out",
            "out.rb",
            "relative",
            "sub/dir/secret",
            "sub/dir/own/web2/key",
            "..%5csecret",
            "%c0%ae%c0%ae/secret",
            "%ff",
        ] {
            paths.push(format!("{mount}/{path}"));
        }
    }
    for mount in [
        "..",
        "%2e%2e",
        "%00",
        "shared%2f..",
        "shared%00",
        "own%2f..%2fweb2",
        "SHARED",
        "shared.",
    ] {
        paths.push(format!("{mount}/secret"));
        paths.push(format!("{mount}/key"));
    }
    let root = site.dir.path().to_str().unwrap();
    let mut requests = Vec::new();
    for path in &paths {
        requests.push(format!(
            "/puppet/v3/file_content/{path}?environment=production"
        ));
        for links in ["follow", "manage"] {
            let query = QUERY.replace("manage", links);
            requests.push(format!("/puppet/v3/file_metadata/{path}?{query}"));
            requests.push(format!(
                "/puppet/v3/file_metadatas/{path}?recurse=true&{query}"
            ));
        }
        requests.push(format!(
            "/puppet/v3/static_file_content/{path}?environment=production&code_id=urn:puppet:code-id:1:a;production"
        ));
        requests.push(format!("/puppet/v3/file_bucket_file/{path}"));
        requests.push(format!("/puppet/v3/tasks/{path}?environment=production"));
    }
    for url in requests {
        let (status, body) = node.get(&url).await;
        for secret in ["the secret", "key of web2", "root:"] {
            assert!(!body.contains(secret), "{url}: {status} {body}");
        }
        let is_described = status == StatusCode::OK && url.contains("links=manage");
        assert!(
            status.is_client_error() || is_described,
            "{url}: {status} {body}"
        );
        if is_described {
            // the link itself, and not what it leads to
            assert!(body.contains("\"type\":\"link\""), "{url}: {body}");
        } else {
            assert!(!body.contains(root), "{url}: {body}");
        }
    }
}
