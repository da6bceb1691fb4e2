//! `/file-sync/v1`: other tools publish, other servers follow.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use http::{Request, StatusCode};
use https::{PeerCertificate, VerifiedPeer};
use serde_json::{Value, json};

use crate::world::{Reply, World};

const COMPILER: &str = "compiler.example.com";
const COMMIT: &str = "/file-sync/v1/commit";
const CHECK_IN: &str = "/file-sync/v1/check-in";
const LATEST: &str = "/file-sync/v1/latest-commits";

/// Sends a request with a certificate of this name.
async fn send_as(
    world: &World,
    certname: Option<&str>,
    request: http::request::Builder,
    body: impl Into<Body>,
) -> Reply {
    let mut request = request.body(body.into()).expect("a request");
    let peer = certname.map(|certname| {
        Arc::new(VerifiedPeer {
            der: Vec::new().into(),
            certname: certname.to_owned(),
            extensions: BTreeMap::new(),
        })
    });
    request.extensions_mut().insert(PeerCertificate(peer));
    world.send(request).await
}

async fn get(world: &World, path: &str) -> Reply {
    send_as(world, Some(COMPILER), Request::get(path), Body::empty()).await
}

async fn check_in(world: &World, body: &Value) -> Reply {
    let request = Request::post(CHECK_IN);
    send_as(world, Some(COMPILER), request, body.to_string()).await
}

async fn commit(world: &World, body: &Value) -> Reply {
    world.post(COMMIT, body.to_string()).await
}

fn staging(world: &World, path: &str) -> PathBuf {
    world.dir.path().join("staging/environments").join(path)
}

fn is(reply: &Reply, status: u16, kind: &str) {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
    assert_eq!(reply.kind(), kind);
}

const INVALID: &str = "puppetlabs.orchestrator/validation-error";

/// Path and hash of each entry of a manifest.
fn entries(manifest: &[u8]) -> Vec<(String, String)> {
    let text = manifest.split(|b| *b == 0).skip(1);
    let lines = text.filter(|line| !line.is_empty());
    let read = lines.map(|line| {
        let line = String::from_utf8(line.to_vec()).unwrap();
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        (words[3].to_owned(), words[1].to_owned())
    });
    read.collect()
}

#[tokio::test]
async fn who_follows_shows_a_certificate_that_is_on_the_list() {
    let world = World::deploying().await;
    let ask = async |certname| {
        let reply = send_as(&world, certname, Request::get(LATEST), Body::empty()).await;
        (reply.status.as_u16(), reply.kind())
    };
    let unknown = "puppetlabs.rbac/user-unauthenticated".to_owned();
    assert_eq!(ask(None).await, (401, unknown));
    let refused = "puppetlabs.orchestrator/not-permitted".to_owned();
    for other in [
        "node.example.com",
        "xcompiler.example.com",
        "Compiler.example.com",
    ] {
        assert_eq!(ask(Some(other)).await, (403, refused.clone()), "{other}");
    }
    let reply = get(&world, LATEST).await;
    assert_eq!(reply.status, StatusCode::OK);
    // A follower may neither publish nor do anything else.
    let body = json!({"commit-all": true}).to_string();
    let reply = send_as(&world, Some(COMPILER), Request::post(COMMIT), body).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_staged_environment_is_published_as_file_sync_answers_it() {
    let world = World::deploying().await;
    let body = json!({
        "repo-id": "puppet-code", "submodule-id": "staged", "message": "by a tool",
        "author": {"name": "Anna", "email": "anna@example.com"},
    });
    let reply = commit(&world, &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let told = reply.json();
    let version = told["puppet-code"]["submodules"]["staged"]["commit"].clone();
    assert_eq!(
        told["puppet-code"]["submodules"].as_object().unwrap().len(),
        1
    );
    let latest = get(&world, LATEST).await.json();
    assert_eq!(
        latest["puppet-code"]["submodules"]["staged"]["commit"],
        version
    );
    assert_eq!(
        latest["puppet-code"]["commit"],
        told["puppet-code"]["commit"]
    );
    assert_eq!(
        latest["puppet-code"]["submodules"]
            .as_object()
            .unwrap()
            .len(),
        3
    );
    let live = world.dir.path().join("live/staged/manifests/site.pp");
    assert!(std::fs::read_to_string(live).unwrap().contains("hello"));
    let history = world
        .ok("/tutti/v1/code/history?environment=staged&limit=1")
        .await;
    let newest = &history["items"][0];
    assert_eq!(newest["action"], "publish", "{history:#}");
    assert_eq!(newest["reason"], "by a tool (Anna <anna@example.com>)");
    assert_eq!(newest["version"], version);

    // The same content is the same version; commit-all removes only the environment whose directory
    // is gone.
    let again = commit(&world, &body).await.json();
    assert_eq!(
        again["puppet-code"]["submodules"]["staged"]["commit"],
        version
    );
    std::fs::remove_dir_all(staging(&world, "staged")).unwrap();
    std::fs::create_dir_all(staging(&world, "other")).unwrap();
    std::fs::write(staging(&world, "other/environment.conf"), "").unwrap();
    let all = commit(&world, &json!({"commit-all": true})).await;
    assert_eq!(all.status, StatusCode::OK, "{}", all.text());
    let all = all.json();
    assert_eq!(
        all["puppet-code"]["submodules"]["staged"]["commit"],
        Value::Null
    );
    assert!(all["puppet-code"]["submodules"]["other"]["commit"].is_string());
    assert!(!world.dir.path().join("live/staged").exists());
    assert!(world.dir.path().join("live/production").exists());
    // A deployment of all environments does not remove those that another tool published.
    let body = json!({"deploy-all": true, "wait": true}).to_string();
    world.post("/code-manager/v1/deploys", body).await;
    assert!(world.dir.path().join("live/other").exists());
}

#[tokio::test]
async fn what_cannot_be_published_is_refused_and_nothing_is_changed() {
    let world = World::deploying().await;
    for (body, place) in [
        (json!({}), "repo-id"),
        (json!({"repo-id": "ca-data"}), "repo-id"),
        (
            json!({"commit-all": true, "repo-id": "puppet-code"}),
            "commit-all",
        ),
        (
            json!({"repo-id": "puppet-code", "submodule-id": "../x"}),
            "submodule-id",
        ),
        (
            json!({"repo-id": "puppet-code", "submodule-id": "a\u{0}b"}),
            "submodule-id",
        ),
        (
            json!({"repo-id": "puppet-code", "submodule-id": "b\u{fc}"}),
            "submodule-id",
        ),
    ] {
        let reply = commit(&world, &body).await;
        is(&reply, 400, INVALID);
        assert_eq!(reply.json()["details"]["path"], place, "{}", reply.text());
    }
    is(&commit(&world, &json!({"what": 1})).await, 400, INVALID);
    let huge = json!({"commit-all": true, "message": "x".repeat(2 << 20)});
    is(
        &commit(&world, &huge).await,
        413,
        "puppetlabs.orchestrator/request-too-large",
    );

    let meant = json!({"repo-id": "puppet-code", "submodule-id": "staged"});
    assert_eq!(commit(&world, &meant).await.status, StatusCode::OK);
    let before = get(&world, LATEST).await.json();
    std::os::unix::fs::symlink("/etc", staging(&world, "staged/out")).unwrap();
    let reply = commit(&world, &meant).await;
    is(&reply, 409, "puppetlabs.code-manager/deploy-failure");
    let told = &reply.json()["details"]["environments"][0];
    assert!(
        told["msg"].as_str().unwrap().contains("leaves its tree"),
        "{told:#}"
    );
    std::fs::remove_file(staging(&world, "staged/out")).unwrap();
    std::fs::write(staging(&world, "staged/manifests/site.pp"), "class {").unwrap();
    let reply = commit(&world, &meant).await;
    let told = reply.json()["details"]["environments"][0]["msg"].to_string();
    assert!(told.contains("site.pp:1"), "{told}");
    let missing = json!({"repo-id": "puppet-code", "submodule-id": "nowhere"});
    is(
        &commit(&world, &missing).await,
        409,
        "puppetlabs.code-manager/deploy-failure",
    );
    assert_eq!(get(&world, LATEST).await.json(), before);
}

#[tokio::test]
async fn versions_are_handed_out_by_their_hashes_and_nothing_else_is() {
    let world = World::deploying().await;
    let latest = get(&world, LATEST).await.json();
    let version = latest["puppet-code"]["submodules"]["production"]["commit"]
        .as_str()
        .unwrap();
    let path = format!("/file-sync/v1/manifests/production/{version}");
    let manifest = get(&world, &path).await;
    assert_eq!(manifest.status, StatusCode::OK);
    let etag = manifest.headers["etag"].to_str().unwrap().to_owned();
    let known = Request::get(&path).header("If-None-Match", &etag);
    let known = send_as(&world, Some(COMPILER), known, Body::empty()).await;
    assert_eq!(
        (known.status, known.body.len()),
        (StatusCode::NOT_MODIFIED, 0)
    );
    let entries = entries(&manifest.body);
    let names: Vec<&str> = entries.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        names,
        [".r10k-deploy.json", ".tutti-version.json", "VERSION"]
    );
    for (name, hash) in &entries {
        let blob = get(&world, &format!("/file-sync/v1/blobs/sha256/{hash}")).await;
        let live = world.dir.path().join("live/production").join(name);
        assert_eq!(blob.body, std::fs::read(live).unwrap(), "{name}");
        assert_eq!(blob.headers["etag"], format!("\"{hash}\""));
        assert_eq!(
            blob.headers["cache-control"],
            "private, max-age=31536000, immutable"
        );
    }
    let lock = format!("/file-sync/v1/blobs/sha256/{}", entries[1].1);
    let whole = get(&world, &lock).await.body;
    let part = Request::get(&lock).header("Range", "bytes=3-9");
    let part = send_as(&world, Some(COMPILER), part, Body::empty()).await;
    assert_eq!(part.status, StatusCode::PARTIAL_CONTENT);
    assert_eq!(part.body, whole[3..10]);
    assert_eq!(
        part.headers["content-range"],
        format!("bytes 3-9/{}", whole.len())
    );
    let beyond = Request::get(&lock).header("Range", "bytes=999999-");
    let beyond = send_as(&world, Some(COMPILER), beyond, Body::empty()).await;
    is(&beyond, 416, "tutti/range-not-satisfiable");
    let size = format!("bytes */{}", whole.len());
    assert_eq!(beyond.headers["content-range"], size);
    // A transfer that was interrupted continues only with the same content.
    let hash = &entries[1].1;
    for (etag, status) in [
        (format!("\"{hash}\""), StatusCode::PARTIAL_CONTENT),
        (format!("W/\"{hash}\""), StatusCode::OK),
        ("\"another\"".to_owned(), StatusCode::OK),
    ] {
        let rest = Request::get(&lock).header("Range", "bytes=3-");
        let rest = rest.header("If-Range", etag);
        let rest = send_as(&world, Some(COMPILER), rest, Body::empty()).await;
        assert_eq!(rest.status, status);
        let first = if status == StatusCode::OK { 0 } else { 3 };
        assert_eq!(rest.body, whole[first..]);
    }
    let known = Request::get(&lock).header("If-None-Match", format!("\"{hash}\""));
    let known = send_as(&world, Some(COMPILER), known, Body::empty()).await;
    assert_eq!(known.status, StatusCode::NOT_MODIFIED);
    assert!(
        known.headers["cache-control"]
            .to_str()
            .unwrap()
            .ends_with("immutable")
    );

    for bad in [
        "..%2F..%2Fetc%2Fpasswd",
        "%00",
        "b%C3%BC",
        "0",
        &"A".repeat(64),
        &"a".repeat(65),
    ] {
        let blob = get(&world, &format!("/file-sync/v1/blobs/sha256/{bad}")).await;
        is(&blob, 400, INVALID);
        let manifest = get(&world, &format!("/file-sync/v1/manifests/{bad}/{version}")).await;
        assert!(
            [400, 404].contains(&manifest.status.as_u16()),
            "{bad}: {}",
            manifest.text()
        );
        let manifest = get(&world, &format!("/file-sync/v1/manifests/production/{bad}")).await;
        is(&manifest, 400, INVALID);
    }
    let unknown = get(
        &world,
        &format!("/file-sync/v1/blobs/sha256/{}", "a".repeat(64)),
    )
    .await;
    is(&unknown, 404, "tutti/unknown-content");
    // The previous version is on the server, but neither live nor about to be.
    let history = world
        .ok("/tutti/v1/code/history?environment=production&limit=1")
        .await;
    let before = history["items"][0]["version_before"].as_str().unwrap();
    let old = get(
        &world,
        &format!("/file-sync/v1/manifests/production/{before}"),
    )
    .await;
    is(&old, 404, "tutti/unknown-version");
    let content = world.dir.path().join("deploys/content/objects");
    let first = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
    assert!(
        content.join(&first[..2]).join(first).exists(),
        "the file of version 1 is in the store"
    );
    let old = get(&world, &format!("/file-sync/v1/blobs/sha256/{first}")).await;
    is(&old, 404, "tutti/unknown-content");
}

#[tokio::test]
async fn a_follower_tells_what_it_has_and_is_told_what_is_new() {
    let world = World::deploying().await;
    let first = check_in(&world, &json!({})).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text());
    let first = first.json();
    let production = &first["environments"]["production"];
    assert!(production["generation"].as_i64().unwrap() > 0 && first["lease_s"] == 60);
    let has = json!({"production": {
        "generation": production["generation"], "version": production["commit"],
    }});
    // This check-in waits for the next switch. No other follower is waited for, and this one never
    // reports that it is ready.
    let body = json!({"cursor": first["cursor"], "environments": has});
    let deploys = async {
        let body = json!({"repo-id": "puppet-code", "submodule-id": "staged"});
        commit(&world, &body).await
    };
    let (told, published) = tokio::join!(check_in(&world, &body), deploys);
    assert_eq!(published.status, StatusCode::OK, "{}", published.text());
    let told = told.json();
    assert_ne!(told["cursor"], first["cursor"]);
    assert!(told["staging"]["staged"].is_string(), "{told:#}");

    let status = world.ok("/code-manager/v1/deploys/status").await;
    let client = &status["file-sync-client-status"];
    assert_eq!(client["all-synced"], false);
    let compiler = &client["file-sync-clients"][COMPILER];
    assert_eq!(compiler["synced-with-file-sync-storage"], false);
    assert_eq!(compiler["deployed"][0]["version"], production["commit"]);
    // The deployment that waited for the follower names it.
    let history = world
        .ok("/tutti/v1/code/history?environment=staged&limit=1")
        .await;
    let notes = history["items"][0]["notes"].to_string();
    assert!(
        notes.contains("compiler.example.com was not ready"),
        "{notes}"
    );
    let id = history["items"][0]["id"].as_i64().unwrap();
    let one = world
        .ok(&format!("/code-manager/v1/deploys/status?id={id}"))
        .await;
    assert_eq!(one["status"], "syncing");
    assert_eq!(
        one["error"]["kind"],
        "puppetlabs.code-manager/timeout-exceeded"
    );
    assert!(
        one["error"]["msg"].as_str().unwrap().contains(COMPILER),
        "{one:#}"
    );

    let synced = |it: &Value| json!({"generation": it["generation"], "version": it["commit"]});
    let now = check_in(&world, &json!({})).await.json();
    let all = now["environments"].as_object().unwrap().iter();
    let all: serde_json::Map<_, _> = all.map(|(name, it)| (name.clone(), synced(it))).collect();
    check_in(&world, &json!({"environments": all})).await;
    let one = world
        .ok(&format!("/code-manager/v1/deploys/status?id={id}"))
        .await;
    assert_eq!(
        (&one["status"], &one["error"]),
        (&json!("synced"), &Value::Null)
    );
    let forced = world.post("/file-sync/v1/force-sync", "{}").await.json();
    assert_eq!(forced["all-synced"], true, "{forced:#}");

    for bad in [
        json!({"environments": {"../x": {}}}),
        json!({"environments": {"production": {"version": "../x"}}}),
        json!({"environments": {"production": {"staged": "a\u{0}"}}}),
        json!({"environments": {"production": {"generation": -1}}}),
        json!({"environments": {"production": {"generation": i64::MAX}}}),
        json!({"environments": []}),
        json!({"else": 1}),
    ] {
        is(&check_in(&world, &bad).await, 400, INVALID);
    }
}

#[tokio::test]
async fn the_status_services_name_repositories_and_followers_at_debug() {
    let world = World::deploying().await;
    check_in(&world, &json!({})).await;
    let storage = "/status/v1/services/file-sync-storage-service";
    let brief = world.ok(storage).await;
    assert_eq!(
        brief["status"],
        json!({"clients": 1, "synced": 0, "away": 0})
    );
    let all = world.ok(&format!("{storage}?level=debug")).await;
    let status = &all["status"];
    assert!(
        status["clients"][COMPILER]["last_check_in_time"].is_string(),
        "{all:#}"
    );
    let latest = get(&world, LATEST).await.json();
    let repository = &status["repos"]["puppet-code"];
    assert_eq!(
        repository["latest_commit"]["commit"],
        latest["puppet-code"]["commit"]
    );
    let client = world
        .ok("/status/v1/services/file-sync-client-service?level=debug")
        .await;
    let production = &client["status"]["repos"]["puppet-code"]["submodules"]["production"];
    let live = &latest["puppet-code"]["submodules"]["production"]["commit"];
    assert_eq!(&production["latest_commit"]["commit"], live);
    assert_eq!(production["status"], "ok");
    // A server that deploys no code has neither of the services.
    let none = World::new().await;
    let reply = none.get(storage).await;
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/unknown-service");
}
