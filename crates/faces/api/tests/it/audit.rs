//! The audit of requests: requests that write an entry, commands that are refused without one, and
//! the absence of secrets.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use store::{AuditRow, NewUserRow};

use crate::agents::Manner;
use crate::world::{Reply, World};

const TASK: &str = "/orchestrator/v1/command/task";

async fn entries(world: &World) -> Vec<AuditRow> {
    world.store.audit_entries(1, 10_000).await.unwrap()
}

/// Waits until the results of all commands are written.
async fn settled(world: &World) -> Vec<AuditRow> {
    world.state.audit.shutdown().await;
    entries(world).await
}

fn phases(rows: &[AuditRow]) -> Vec<&str> {
    rows.iter().map(|row| row.entry.phase.as_str()).collect()
}

async fn login(world: &World, login: &str, password: &str) -> Reply {
    let body = json!({"login": login, "password": password}).to_string();
    let mut request = Request::post("/rbac-api/v1/auth/token")
        .body(body.into())
        .unwrap();
    let peer: SocketAddr = "192.0.2.7:4711".parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(peer));
    world.send(request).await
}

/// Creates a user without any role; returns the user's token.
async fn nobody(world: &World) -> String {
    let user = NewUserRow {
        id: "5f1c9f3e-0000-4000-8000-000000000001".to_owned(),
        login: "ann".to_owned(),
        display_name: "Ann".to_owned(),
        email: String::new(),
        password_hash: None,
        is_superuser: false,
        is_remote: false,
        created_ms: 0,
    };
    world.store.insert_user(user).await.unwrap();
    use sha2::{Digest as _, Sha256};
    let token = store::NewTokenRow {
        hash: Sha256::digest("anns-token").into(),
        id: "t-1".to_owned(),
        user_id: "5f1c9f3e-0000-4000-8000-000000000001".to_owned(),
        ..store::NewTokenRow::default()
    };
    world.store.insert_token(token).await.unwrap();
    "anns-token".to_owned()
}

#[tokio::test]
async fn a_command_has_an_entry_before_it_acts_and_one_with_its_job() {
    let world = World::new().await;
    let nodes = world.nodes(2, &Manner::default());
    let job = world.run(&nodes).await;
    let rows = settled(&world).await;
    assert_eq!(phases(&rows), ["intent", "result"]);
    let (intent, result) = (&rows[0].entry, &rows[1].entry);
    assert_eq!(intent.actor_name, "admin");
    assert_eq!(
        (intent.service.as_str(), intent.action.as_str()),
        ("orchestrator", "command_task")
    );
    assert_eq!(
        (intent.object_type.as_str(), intent.object_id.as_str()),
        ("task", "test")
    );
    assert_eq!(intent.route, "POST /orchestrator/v1/command/task");
    assert_eq!(intent.permission.as_deref(), Some("tasks:run"));
    let details: Value = serde_json::from_str(&intent.details).unwrap();
    assert_eq!(details["scope"]["nodes"], json!(nodes));
    assert_eq!(result.intent, Some(rows[0].seq));
    assert_eq!(result.status, Some(202));
    assert_eq!(
        (result.object_type.as_str(), result.object_id.as_str()),
        ("job", job.as_str())
    );
}

#[tokio::test]
async fn a_command_that_is_wrong_has_its_result_too() {
    let world = World::new().await;
    let body = json!({"task": "none", "scope": {"nodes": ["a"]}}).to_string();
    assert_eq!(world.post(TASK, body).await.status, StatusCode::NOT_FOUND);
    let rows = settled(&world).await;
    assert_eq!(phases(&rows), ["intent", "result"]);
    assert_eq!(rows[1].entry.status, Some(404));
    assert!(rows[1].entry.details.contains("unknown-task"));
}

#[tokio::test]
async fn what_only_asks_leaves_nothing() {
    let world = World::new().await;
    world.ok("/orchestrator/v1/jobs").await;
    world.get("/orchestrator/v1/jobs/7").await;
    let ask = world.post("/orchestrator/v1/inventory", r#"{"nodes":["a"]}"#);
    assert_eq!(ask.await.status, StatusCode::OK);
    assert_eq!(phases(&settled(&world).await), [""; 0]);
}

#[tokio::test]
async fn a19_no_entry_no_action() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let path = world.dir.path().join("tutti.db");
    let database = rusqlite::Connection::open(path).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END",
        )
        .unwrap();
    let body = json!({"task": "test", "params": {}, "scope": {"nodes": nodes}}).to_string();
    let reply = world.post(TASK, body.clone()).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/service-unavailable");
    assert!(reply.text().contains("audit"), "{}", reply.text());
    let jobs = world.ok("/orchestrator/v1/jobs").await;
    assert_eq!(jobs["items"], json!([]), "nothing was done");
    // No token is issued either.
    let password = world.password();
    let reply = login(&world, "admin", &password).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!reply.text().contains("token\""), "{}", reply.text());
    // Commands and logins work again when entries can be written again.
    database.execute_batch("DROP TRIGGER full").unwrap();
    assert_eq!(world.post(TASK, body).await.status, StatusCode::ACCEPTED);
    assert_eq!(
        login(&world, "admin", &password).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn refusals_leave_one_entry_however_many_there_are() {
    let world = World::new().await;
    let token = nobody(&world).await;
    let body = json!({"task": "test", "scope": {"nodes": ["a"]}}).to_string();
    for _ in 0..50 {
        let mut request = world.request("POST", TASK, body.clone());
        let header = token.parse().unwrap();
        request.headers_mut().insert("X-Authentication", header);
        assert_eq!(world.send(request).await.status, StatusCode::FORBIDDEN);
    }
    let rows = entries(&world).await;
    assert_eq!(phases(&rows), ["denied"]);
    let entry = &rows[0].entry;
    assert_eq!(
        (entry.actor_name.as_str(), entry.decision.as_str()),
        ("ann", "denied")
    );
    assert_eq!(
        (entry.permission.as_deref(), entry.status),
        (Some("tasks:run"), Some(403))
    );
    let rows = settled(&world).await;
    assert_eq!(phases(&rows), ["denied", "denied"]);
    assert_eq!(rows[1].entry.times, 49);
}

#[tokio::test]
async fn logins_leave_one_entry_each() {
    let world = World::new().await;
    let right = login(&world, "admin", &world.password()).await;
    assert_eq!(right.status, StatusCode::OK);
    for _ in 0..3 {
        let wrong = login(&world, "eve", "wrong").await;
        assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    }
    let rows = settled(&world).await;
    assert_eq!(phases(&rows), ["login", "denied", "denied"]);
    let (good, bad) = (&rows[0].entry, &rows[1].entry);
    assert_eq!(
        (good.actor_type.as_str(), good.actor_name.as_str()),
        ("users", "admin")
    );
    assert!(!good.actor_id.is_empty());
    assert_eq!(good.address.as_deref(), Some("192.0.2.7"));
    assert_eq!(
        (bad.actor_type.as_str(), bad.actor_name.as_str()),
        ("anonymous", "eve")
    );
    assert_eq!(rows[2].entry.times, 2);
}

#[tokio::test]
async fn a13_no_secret_is_in_an_entry() {
    const CANARY: &str = "CANARY-7f3a";
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let task = json!({
        "task": "test::typed", "scope": {"nodes": nodes}, "description": CANARY,
        "params": {"name": CANARY, "password": CANARY}, "userdata": {"x": CANARY},
    });
    assert_eq!(
        world.post(TASK, task.to_string()).await.status,
        StatusCode::ACCEPTED
    );
    login(&world, "admin", CANARY).await;
    let made = login(&world, "admin", &world.password()).await.json();
    let token = made["token"].as_str().unwrap().to_owned();
    let path = format!("/rbac-api/v2/tokens/{token}?token={CANARY}");
    let request = world.request("DELETE", &path, "");
    world.send(request).await;
    let put = json!({"current_password": CANARY, "password": CANARY, "reset": CANARY});
    let path = "/rbac-api/v1/users/current/password";
    world
        .send(world.request("PUT", path, put.to_string()))
        .await;
    let rows = settled(&world).await;
    assert!(rows.len() >= 6, "{rows:?}");
    let all = format!("{rows:?}");
    assert!(!all.contains(CANARY), "{all}");
    assert!(!all.contains(&token), "{all}");
    assert!(!all.contains(&world.password()), "{all}");
}

#[tokio::test]
async fn a_request_that_breaks_off_leaves_a_result() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let body = json!({"task": "test", "params": {}, "scope": {"nodes": nodes}}).to_string();
    let mut request = Box::pin(world.post(TASK, body));
    // Polled until the entry of the intent is written, then dropped, as by a server whose client
    // disconnects.
    loop {
        tokio::select! {
            biased;
            _ = &mut request => break,
            () = tokio::task::yield_now() => {}
        }
        if !entries(&world).await.is_empty() {
            break;
        }
    }
    drop(request);
    let rows = settled(&world).await;
    assert_eq!(phases(&rows), ["intent", "result"]);
}

#[tokio::test]
async fn activity_has_the_shape_that_clients_read() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let job = world.run(&nodes).await;
    login(&world, "=cmd|' /C calc'!A0", "wrong").await;
    world.state.audit.shutdown().await;
    let v2 = world
        .ok("/activity-api/v2/events?service_id=orchestrator")
        .await;
    assert_eq!(
        v2["pagination"],
        json!({"total": 1, "limit": 1000, "offset": 0})
    );
    let commit = &v2["commits"][0];
    assert_eq!(
        commit["objects"],
        json!([{"id": job, "name": job, "type": "job"}])
    );
    assert_eq!(commit["subject"]["name"], "admin");
    assert_eq!(commit["ip_address"], Value::Null);
    let event = &commit["events"][0];
    assert_eq!(
        (&event["type"], &event["what"]),
        (&json!("command_task"), &json!("job"))
    );
    assert_eq!(
        event["message"],
        format!("Run a task on nodes: task \"test\" through job {job}")
    );
    let v1 = world.ok("/activity-api/v1/events?limit=1&order=asc").await;
    assert_eq!((&v1["total-rows"], &v1["limit"]), (&json!(2), &json!(1)));
    assert_eq!(v1["commits"][0]["object"]["id"], job);
    assert!(
        v1["commits"][0]["timestamp"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    let table = world.get("/activity-api/v2/events.csv").await;
    assert_eq!(table.headers["content-type"], "text/csv; charset=utf-8");
    let text = table.text();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("Submit Time,Subject Type") && lines[0].ends_with(",Ip Address"));
    assert!(
        lines[1].contains(",'=cmd|") && lines[1].ends_with(",192.0.2.7"),
        "{text}"
    );
    assert_eq!(lines.len(), 3);
}

#[tokio::test]
async fn activity_is_filtered_and_its_mistakes_are_named() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let job = world.run(&nodes).await;
    world.state.audit.shutdown().await;
    let count = async |query: Value| {
        let query = query.to_string();
        let query: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let found = world
            .ok(&format!("/activity-api/v2/events?query={query}"))
            .await;
        found["pagination"]["total"].as_u64().unwrap()
    };
    assert_eq!(
        count(json!([{"object_type": "job", "object_id": job}])).await,
        1
    );
    assert_eq!(
        count(json!([{"object_type": "job"}, {"object_id": "x,1,y"}])).await,
        0
    );
    assert_eq!(
        count(json!([{"object_id": "9"}, {"object_id": 1}])).await,
        1
    );
    assert_eq!(count(json!([{"subject_type": "user"}])).await, 1);
    assert_eq!(
        count(json!([{"start": "2000-01-01T00:00:00Z", "end": "2001-01-01T00:00:00Z"}])).await,
        0
    );
    assert_eq!(count(json!([{"ip_address": "192.0.2.7"}])).await, 0);
    assert_eq!(count(json!([{"object_id": "' OR 1=1 --"}])).await, 0);
    let v1 = "/activity-api/v1/events?object_type=job&object_id=7,1";
    assert_eq!(world.ok(v1).await["total-rows"], 1);
    for (path, place) in [
        ("v1/events?object_id=1", "object_type"),
        ("v1/events?limit=10001", "limit"),
        ("v1/events?order=up", "order"),
        ("v2/events?query=x", "query"),
        ("v2/events?query=[{%22x%22:1}]", "query"),
        ("v2/events?x=1", "x"),
    ] {
        let reply = world.get(&format!("/activity-api/{path}")).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(reply.json()["details"]["path"], place, "{path}");
    }
}

#[tokio::test]
async fn the_entries_of_the_api_can_be_verified_by_whoever_reads_them() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    world.run(&nodes).await;
    world.state.audit.shutdown().await;
    let reply = world.get("/audit/v1/entries?start=1&limit=100").await;
    let page: api_types::audit::AuditEntries = serde_json::from_slice(&reply.body).unwrap();
    let mut verifier = audit::ChainVerifier::new(audit::ExpectedChain::default());
    for entry in page.items {
        verifier.feed(&audit::wire::to_row(entry).unwrap()).unwrap();
    }
    let head = audit::wire::to_head(&page.head).unwrap();
    let report = verifier.finish(head).unwrap();
    assert_eq!((report.entries, report.without_result), (2, 0));
}
