//! Webhooks of forges that deploy code, and the queue of webhook-go.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::code_manager::{
    CODE, DEPLOYS, QUEUE, SECRET, STATUS, WEBHOOK, commit, control, git, live, post,
};
use crate::world::{Reply, World};

async fn hook(world: &World, headers: &[(&str, &str)], query: &str, body: &str) -> Reply {
    hook_at(world, &format!("{WEBHOOK}{query}"), headers, body).await
}

async fn hook_at(world: &World, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world
        .send(request.body(body.to_owned().into()).expect("a request"))
        .await
}

fn signature(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    let digits: Vec<String> = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256={}", digits.concat())
}

#[tokio::test]
async fn a_signed_webhook_deploys_what_was_pushed() {
    let world = World::deploying().await;
    commit(&world, "3");
    let body = json!({"ref": "refs/heads/production", "after": "1f"}).to_string();
    let signed = signature(&body);
    let headers = [
        ("x-github-event", "push"),
        ("x-hub-signature-256", signed.as_str()),
        ("x-github-delivery", "72d3162e"),
    ];
    let reply = hook(&world, &headers, "", &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let told = reply.json();
    assert_eq!(told["status"], "OK");
    let id = told["deploys"][0]["id"].as_i64().unwrap();
    over(&world, id).await;
    assert_eq!(live(&world, "production"), "3");
    let history = world.ok(&format!("{CODE}/history?before={}", id + 1)).await;
    assert_eq!(history["items"][0]["owner"], "webhook of GitHub");
    let entries = world.ok("/audit/v1/entries?limit=50").await.to_string();
    assert!(entries.contains("webhook of GitHub"), "{entries}");
    assert!(!entries.contains(SECRET));

    let again = hook(&world, &headers, "", &body).await;
    assert_eq!(again.kind(), "tutti/webhook-replayed");
    let mut forged = headers;
    forged[2].1 = "another";
    let other = json!({"ref": "refs/heads/other"}).to_string();
    let wrong = hook(&world, &forged, "", &other).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.kind(), "tutti/webhook-unsigned");
    // A token does not make up for a wrong signature.
    let token = format!("?token={}", world.token);
    let wrong = hook(&world, &forged, &token, &other).await;
    assert_eq!(wrong.kind(), "tutti/webhook-unsigned");
}

/// The header with the id of a delivery is not signed, so an observer of a message can send it
/// again with another id.
#[tokio::test]
async fn a_webhook_replay_is_detected_by_the_signed_body_too() {
    let world = World::deploying().await;
    commit(&world, "3");
    let pushed = json!({"ref": "refs/heads/production", "after": "1f"}).to_string();
    for (event, signed_by) in [
        ("x-github-event", "x-hub-signature-256"),
        ("x-gitea-event", "x-gitea-signature"),
        ("x-gitea-event", "x-hub-signature-256"),
    ] {
        let body = pushed.replace("1f", &format!("{event} {signed_by}"));
        let signed = signature(&body);
        let id = match event {
            "x-github-event" => "x-github-delivery",
            _ => "x-gitea-delivery",
        };
        let sent = async |delivery: Option<&str>| {
            let mut headers = vec![(event, "push"), (signed_by, signed.as_str())];
            headers.extend(delivery.map(|delivery| (id, delivery)));
            hook(&world, &headers, "", &body).await
        };
        let (one, two) = (
            format!("{event} {signed_by} 1"),
            format!("{event} {signed_by} 2"),
        );
        let first = sent(Some(&one)).await;
        assert_eq!(first.status, StatusCode::OK, "{event}: {}", first.text());
        for delivery in [Some(one.as_str()), Some(two.as_str()), None] {
            let again = sent(delivery).await;
            assert_eq!(
                again.kind(),
                "tutti/webhook-replayed",
                "{event} {delivery:?}"
            );
        }
    }
    // Another push has another body.
    let other = json!({"ref": "refs/heads/production", "after": "2f"}).to_string();
    let other_signed = signature(&other);
    let headers = [
        ("x-github-event", "push"),
        ("x-hub-signature-256", other_signed.as_str()),
    ];
    let reply = hook(&world, &headers, "", &other).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
}

/// Waits for the end of a deployment, by another one of the same environment that is queued behind
/// it.
async fn over(world: &World, id: i64) {
    let wait = json!({"environments": ["production"], "dry-run": true, "wait": true});
    post(world, DEPLOYS, wait).await;
    let status = world.ok(&format!("{STATUS}?id={id}")).await;
    assert_eq!(status["status"], "synced");
}

#[tokio::test]
async fn a_webhook_with_a_token_or_with_nothing() {
    let world = World::deploying().await;
    let body = json!({"ref": "refs/heads/production"}).to_string();
    let token = format!("?type=github&token={}", world.token);
    let reply = hook(&world, &[], &token, &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.json()["deploys"][0]["environment"], "production");
    let nobody = hook(&world, &[], "?type=github", &body).await;
    assert_eq!(nobody.kind(), "puppetlabs.rbac/user-unauthenticated");
    let unknown = hook(&world, &[], "?type=sourceforge", &body).await;
    assert_eq!(
        unknown.kind(),
        "puppetlabs.code-manager/unrecognized-webhook-type"
    );
    let nonsense = hook(&world, &[], &token, "{").await;
    assert_eq!(nonsense.kind(), "tutti/webhook-body");
    let gitlab = [("x-gitlab-event", "Push Hook"), ("x-gitlab-token", SECRET)];
    let gone = json!({"ref": "refs/heads/production", "after": "0".repeat(40)}).to_string();
    let reply = hook(&world, &gitlab, "", &gone).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    over(&world, reply.json()["deploys"][0]["id"].as_i64().unwrap()).await;
    // The message reports a deleted branch, but the repository still has it.
    assert_eq!(live(&world, "production"), "2");
    let prefix = hook(&world, &gitlab, "?prefix=team", &body).await;
    assert_eq!(
        prefix.json()["deploys"],
        json!([]),
        "no source has the prefix"
    );
}

#[tokio::test]
async fn addresses_of_webhook_go_deploy_environments_and_modules() {
    let world = World::deploying().await;
    let basic = format!("Basic {}", STANDARD.encode(format!("puppet:{SECRET}")));
    let push = [
        ("x-github-event", "push"),
        ("authorization", basic.as_str()),
    ];
    let environment = "/api/v1/r10k/environment";
    commit(&world, "3");
    let body = json!({"ref": "refs/heads/production"}).to_string();
    let reply = hook_at(&world, environment, &push, &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    over(&world, reply.json()["deploys"][0]["id"].as_i64().unwrap()).await;
    assert_eq!(live(&world, "production"), "3");

    let module = world.dir.path().join("puppet-apt");
    let module_version = |version: &str| {
        std::fs::write(module.join("VERSION"), version).expect("written");
        git(&module, &["add", "--all"]);
        git(&module, &["commit", "--quiet", "--message=change"]);
    };
    git(
        world.dir.path(),
        &["init", "--quiet", "--initial-branch=main", "puppet-apt"],
    );
    module_version("1");
    let address = module.display().to_string();
    let puppetfile = format!("mod 'puppetlabs/apt', git: '{address}', branch: 'main'\n");
    std::fs::write(control(&world).join("Puppetfile"), puppetfile).expect("written");
    commit(&world, "4");
    hook_at(&world, environment, &push, &body).await;
    over(&world, 1).await;
    module_version("2");
    let path = "/api/v1/r10k/module";
    let deployed = async |query: &str, body: Value| {
        let reply = hook_at(&world, &format!("{path}{query}"), &push, &body.to_string()).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        reply.json()["deploys"].clone()
    };
    let of = |name: &str, address: &str| json!({"ref": "refs/heads/main", "repository": {"name": name, "clone_url": address}});
    let deploys = deployed("", of("another-name", &address)).await;
    assert_eq!(deploys.as_array().unwrap().len(), 1, "staging has none");
    over(&world, deploys[0]["id"].as_i64().unwrap()).await;
    let version = world.dir.path().join("live/production/modules/apt/VERSION");
    assert_eq!(std::fs::read_to_string(version).expect("it is there"), "2");
    let by_name = deployed("", of("puppetlabs-apt", "https://git.example.com/x")).await;
    assert_eq!(by_name[0]["environment"], "production");
    let named = deployed("?module_name=apt", of("x", "y")).await;
    assert_eq!(named[0]["environment"], "production");
    for (query, body) in [
        ("?branch_only=1", of("apt", &address)),
        ("?module_name=..%2f..", of("apt", &address)),
        ("", of("stdlib", "https://git.example.com/stdlib")),
        ("", json!({"ref": "refs/heads/main"})),
        (
            "",
            json!({"ref": "refs/tags/v1", "repository": {"name": "apt"}}),
        ),
    ] {
        assert_eq!(deployed(query, body).await, json!([]));
    }
    let wrong = [("x-github-event", "push")];
    let nobody = hook_at(&world, path, &wrong, &body).await;
    assert_eq!(nobody.kind(), "puppetlabs.rbac/user-unauthenticated");
}

#[tokio::test]
async fn the_queue_of_webhook_go_is_shown_with_the_secret_or_a_token() {
    let world = World::deploying().await;
    let basic = |password: &str| {
        let encoded = STANDARD.encode(format!("puppet:{password}"));
        [("authorization", format!("Basic {encoded}"))]
    };
    let push = json!({"ref": "refs/heads/production"}).to_string();
    let headers = basic(SECRET);
    let headers = [
        ("x-github-event", "push"),
        (headers[0].0, headers[0].1.as_str()),
    ];
    let reply = hook_at(&world, "/api/v1/r10k/environment", &headers, &push).await;
    let id = reply.json()["deploys"][0]["id"].as_i64().unwrap();
    over(&world, id).await;
    let look = async |authorization: Option<&str>| {
        let request = http::Request::builder().method("GET").uri(QUEUE);
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        world
            .send(request.body("".into()).expect("a request"))
            .await
    };
    let items = look(Some(&basic(SECRET)[0].1)).await.json();
    let mut all = items.as_array().unwrap().iter();
    let number = id.to_string();
    let last = all.find(|item| item["Id"] == number.as_str()).unwrap();
    assert_eq!(
        (&last["Name"], &last["State"]),
        (&json!("production"), &json!("success"))
    );
    assert_eq!(last["CommandType"], "environment");
    assert_eq!(
        last["Command"],
        json!(["tutti", "code", "deploy", "production"])
    );
    for key in ["AddedAt", "StartedAt", "FinishedAt"] {
        assert!(last[key].as_str().unwrap().starts_with("20"), "{last}");
    }
    assert_eq!(world.ok(QUEUE).await, items, "with a token");
    let wrong = look(Some(&basic("another secret")[0].1)).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.kind(), "tutti/webhook-unsigned");
    let nobody = look(None).await;
    assert_eq!(nobody.kind(), "puppetlabs.rbac/user-unauthenticated");
    assert_eq!(world.ok("/health").await, json!({"message": "running"}));
}
