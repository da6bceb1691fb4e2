//! The response of each route, key by key.

use api_types::routes;
use http::StatusCode;
use pxp::action::ActionResult;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::World;

const URL: &str = "https://tutti.example.com:8143/orchestrator/v1";

/// Replaces values that differ from run to run by a placeholder such as `<time>`.
pub(crate) fn plain(mut value: Value) -> Value {
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match key.as_str() {
                    "duration" | "duration_ms" if value.is_number() => *value = "<number>".into(),
                    "duration" if value.is_string() => *value = "<text>".into(),
                    _ => strip(value),
                }
            }
        }
        Value::String(text) => {
            let shape: String = text
                .chars()
                .map(|c| if c.is_ascii_digit() { '0' } else { c })
                .collect();
            let hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            match shape.as_str() {
                "0000-00-00T00:00:00Z" => *text = "<time>".to_owned(),
                "0000-00-00T00:00:00.000Z" => *text = "<time.ms>".to_owned(),
                _ if hex => *text = "<sha256>".to_owned(),
                _ if text.len() == 36 && text.matches('-').count() == 4 => {
                    *text = "<uuid>".to_owned();
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn owner() -> Value {
    json!({
        "id": "<uuid>", "login": "admin", "email": "", "display_name": "Administrator",
        "last_login": "<time.ms>", "is_revoked": false, "is_remote": false,
        "is_superuser": true, "is_group": false, "role_ids": [], "inherited_role_ids": [],
        "group_ids": []
    })
}

fn job(number: &str, nodes: &[String]) -> Value {
    json!({
        "id": format!("{URL}/jobs/{number}"), "name": number, "state": "finished",
        "command": "task", "type": "task",
        "options": {
            "task": "test", "params": {}, "sensitive": [], "scope": {"nodes": nodes},
            "noop": false, "environment": "production", "description": "", "transport": "pxp",
            "concurrency": null, "timeout": null, "scheduled-job-id": null, "plan_job": null
        },
        "owner": owner(), "description": "", "environment": {"name": "production"},
        "timestamp": "<time>", "created_timestamp": "<time>", "started_timestamp": "<time>",
        "finished_timestamp": "<time>", "duration": "<text>", "node_count": nodes.len(),
        "node_states": {"finished": nodes.len()},
        "nodes": {"id": format!("{URL}/jobs/{number}/nodes")},
        "report": {"id": format!("{URL}/jobs/{number}/report")},
        "events": {"id": format!("{URL}/jobs/{number}/events")},
        "userdata": {}
    })
}

async fn world_with_a_job() -> (World, Vec<String>) {
    let world = World::new().await;
    let result = ActionResult {
        stdout: Some("done\n".to_owned()),
        ..ActionResult::default()
    };
    let nodes = world.nodes(
        1,
        &Manner {
            result,
            ..Manner::default()
        },
    );
    let number = world.run(&nodes).await;
    assert_eq!(number, "1");
    world.over(&number).await;
    (world, nodes)
}

#[tokio::test]
async fn the_document_is_the_one_of_the_types() {
    let world = World::new().await;
    let reply = world.get("/orchestrator/v1/swagger.json").await;
    assert_eq!(reply.text(), api_types::openapi::document_json());
    let document = reply.json();
    assert_eq!(document["paths"].as_object().unwrap().len(), {
        let paths: std::collections::BTreeSet<_> =
            routes::ALL.iter().map(|route| route.path).collect();
        paths.len()
    });
}

#[tokio::test]
async fn command_task_answers_the_job() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let body = json!({"environment": "production", "task": "test", "params": {}, "noop": null,
        "scope": {"nodes": nodes}, "userdata": {"ticket": "T-1"}, "description": "why",
        "timeout": 0, "concurrency": 5, "targets": []});
    let reply = world
        .post("/orchestrator/v1/command/task", body.to_string())
        .await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    assert_eq!(
        reply.json(),
        json!({"job": {"id": format!("{URL}/jobs/1"), "name": "1"}})
    );
    let job = world.ok("/orchestrator/v1/jobs/1").await;
    assert_eq!(job["userdata"], json!({"ticket": "T-1"}));
    assert_eq!(job["description"], "why");
    assert_eq!(job["options"]["concurrency"], 5);
}

#[tokio::test]
async fn a_rollout_is_shown_with_its_batch_its_options_and_the_batch_of_each_node() {
    let world = World::new().await;
    let nodes = world.nodes(3, &Manner::default());
    let body = json!({"task": "test", "scope": {"nodes": nodes}, "batch": "1,100%",
        "pause_between_batches": 3_600, "max_failures": "50%"});
    let reply = world
        .post("/orchestrator/v1/command/task", body.to_string())
        .await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let job = loop {
        let job = world.ok("/orchestrator/v1/jobs/1").await;
        if job["rollout"]["next_batch_timestamp"].is_string() {
            break job;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(
        (&job["rollout"]["batch"], &job["rollout"]["batches"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(job["options"]["batch"], json!([1, "100%"]));
    assert_eq!(job["options"]["pause_between_batches"], 3_600);
    assert_eq!(job["options"]["max_failures"], "50%");
    let shown = world.ok("/orchestrator/v1/jobs/1/nodes").await;
    let batches: Vec<_> = shown["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["batch"])
        .collect();
    assert_eq!(batches, [1, 2, 2]);
    let events = world.ok("/orchestrator/v1/jobs/1/events").await;
    let told = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["type"].as_str().unwrap());
    let told: Vec<_> = told.filter(|kind| kind.starts_with("batch")).collect();
    assert_eq!(told, ["batch_started", "batch_finished"]);
    world
        .post(
            "/orchestrator/v1/command/stop",
            json!({"job": "1"}).to_string(),
        )
        .await;
    world.over("1").await;
    let job = world.ok("/orchestrator/v1/jobs/1").await;
    assert_eq!(job["rollout"], json!({"batch": 1, "batches": 2}));
}

#[tokio::test]
async fn command_stop_counts_nodes_and_may_be_repeated() {
    let world = World::new().await;
    let nodes = world.nodes(
        2,
        &Manner {
            held: true,
            ..Manner::default()
        },
    );
    let number = world.run(&nodes).await;
    let stop = || {
        world.post(
            "/orchestrator/v1/command/stop",
            json!({"job": number}).to_string(),
        )
    };
    let mut last = Value::Null;
    for _ in 0..2 {
        let reply = stop().await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        last = reply.json();
        assert_eq!(last["job"]["id"], format!("{URL}/jobs/1"));
    }
    let counts = last["job"]["nodes"].as_object().unwrap();
    let keys: Vec<_> = counts.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["new", "running", "failed", "errored", "skipped", "finished"]
    );
    assert_eq!(counts.values().filter_map(Value::as_u64).sum::<u64>(), 2);
    world.agents.let_go();
    world.over(&number).await;
    assert_eq!(
        world.ok("/orchestrator/v1/jobs/1").await["state"],
        "stopped"
    );
    assert_eq!(stop().await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn command_ping_tells_who_answers() {
    let world = World::new().await;
    world.nodes(1, &Manner::default());
    let body = json!({"nodes": ["a", "away"]}).to_string();
    let reply = world.post("/orchestrator/v1/command/ping", body).await;
    assert_eq!(reply.status, StatusCode::OK);
    let items = plain(reply.json());
    assert_eq!(
        items["items"][0],
        json!({"name": "a", "replied": true, "duration_ms": "<number>"})
    );
    assert_eq!(items["items"][1]["replied"], false);
    let error = items["items"][1]["error"].as_str().unwrap();
    assert!(error.contains("away is not connected"), "{error}");
}

#[tokio::test]
async fn a_job_alone_and_in_the_list() {
    let (world, nodes) = world_with_a_job().await;
    let mut expected = job("1", &nodes);
    let list = plain(world.ok("/orchestrator/v1/jobs").await);
    assert_eq!(
        list,
        json!({
            "items": [expected],
            "pagination": {"limit": null, "offset": 0, "order_by": "name", "order": "asc",
                "total": 1, "type": ""}
        })
    );
    let single = plain(world.ok("/orchestrator/v1/jobs/1").await);
    let states = single["status"].as_array().unwrap();
    let names: Vec<_> = states
        .iter()
        .map(|state| state["state"].as_str().unwrap())
        .collect();
    assert_eq!(names.first(), Some(&"ready"), "tasks start with ready");
    assert_eq!(names.last(), Some(&"finished"));
    assert_eq!(states[0]["exit_time"], "<time>");
    assert_eq!(states.last().unwrap()["exit_time"], Value::Null);
    expected["status"] = single["status"].clone();
    assert_eq!(single, expected);
}

#[tokio::test]
async fn jobs_are_ordered_by_number_filtered_and_paged() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    for _ in 0..11 {
        let number = world.run(&nodes).await;
        world.over(&number).await;
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let newest = world
        .ok("/orchestrator/v1/jobs?order_by=name&order=desc&limit=3")
        .await;
    assert_eq!(names(&newest), ["11", "10", "9"]);
    assert_eq!(
        newest["pagination"],
        json!({"limit": 3, "offset": 0, "order_by": "name",
        "order": "desc", "total": 11, "type": ""})
    );
    let page = world.ok("/orchestrator/v1/jobs?limit=2&offset=9").await;
    assert_eq!(names(&page), ["10", "11"]);
    for (query, total) in [
        ("type=task", 11),
        ("type=deploy", 0),
        ("task=es", 11),
        ("task=package", 0),
        ("min_finish_timestamp=2020-01-01T00:00:00Z", 11),
        ("max_finish_timestamp=2020-01-01T00:00:00Z", 0),
        ("limit=0", 11),
    ] {
        let list = world.ok(&format!("/orchestrator/v1/jobs?{query}")).await;
        assert_eq!(list["pagination"]["total"], total, "{query}");
    }
    // The time is shown without milliseconds, and a filter with that text still matches the job.
    let shown = world.ok("/orchestrator/v1/jobs/11").await["finished_timestamp"].clone();
    let query = format!("max_finish_timestamp={}", shown.as_str().unwrap());
    let list = world.ok(&format!("/orchestrator/v1/jobs?{query}")).await;
    assert!(names(&list).contains(&"11".to_owned()));
}

#[tokio::test]
async fn the_nodes_of_a_job() {
    let (world, _) = world_with_a_job().await;
    let reply = plain(world.ok("/orchestrator/v1/jobs/1/nodes").await);
    let next = reply["next-events"]["event"].as_str().unwrap().to_owned();
    let latest = next.parse::<i64>().unwrap() - 1;
    let latest_of_node = reply["items"][0]["latest-event-id"].as_i64().unwrap();
    assert!(0 < latest_of_node && latest_of_node <= latest);
    assert_eq!(
        reply,
        json!({
            "next-events": {"id": format!("{URL}/jobs/1/events?start={next}"), "event": next},
            "items": [{
                "name": "a", "state": "finished", "transport": "pcp", "start_timestamp": "<time>",
                "finish_timestamp": "<time>", "duration": "<number>", "timestamp": "<time>",
                "transaction_uuid": null, "latest-event-id": latest_of_node, "details": {},
                "result": {"_output": "done\n"}
            }]
        })
    );
}

#[tokio::test]
async fn nodes_are_filtered_and_say_why_they_could_not_run() {
    let world = World::new().await;
    let mut nodes = world.nodes(2, &Manner::default());
    nodes.push("away".to_owned());
    let number = world.run(&nodes).await;
    world.over(&number).await;
    let errored = world
        .ok("/orchestrator/v1/jobs/1/nodes?state=errored")
        .await;
    assert_eq!(errored["items"].as_array().unwrap().len(), 1);
    let node = &errored["items"][0];
    assert_eq!(node["name"], "away");
    assert!(
        node["details"]["message"]
            .as_str()
            .unwrap()
            .contains("not connected"),
        "{node}"
    );
    assert_eq!(node["start_timestamp"], Value::Null);
    assert_eq!(node["duration"], Value::Null);
    assert!(node["result"]["_error"]["kind"].is_string(), "{node}");
    let page = world
        .ok("/orchestrator/v1/jobs/1/nodes?limit=1&offset=1&order=desc")
        .await;
    assert_eq!(page["items"][0]["name"], "away", "of b, away, a");
    // A job fails if one of its nodes could not run.
    assert_eq!(world.ok("/orchestrator/v1/jobs/1").await["state"], "failed");
}

#[tokio::test]
async fn more_nodes_than_are_read_at_a_time_are_listed_in_their_order() {
    let world = World::new().await;
    let count = 20;
    assert!(usize::from(count) > store::defaults::RUNS_TOGETHER);
    let nodes = world.nodes(count, &Manner::default());
    let number = world.run(&nodes).await;
    world.over(&number).await;
    for (query, expected) in [
        ("", "abcdefghijklmnopqrst"),
        ("?order=desc", "tsrqponmlkjihgfedcba"),
        ("?limit=17&offset=2", "cdefghijklmnopqrs"),
        ("?state=errored", ""),
    ] {
        let list = world
            .ok(&format!("/orchestrator/v1/jobs/1/nodes{query}"))
            .await;
        let names = list["items"].as_array().unwrap().iter();
        let names: String = names.map(|item| item["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{query}");
    }
    let report = world.ok("/orchestrator/v1/jobs/1/report").await;
    assert_eq!(report["items"].as_array().unwrap().len(), nodes.len());
}

#[tokio::test]
async fn the_report_of_a_job() {
    let (world, _) = world_with_a_job().await;
    let reply = plain(world.ok("/orchestrator/v1/jobs/1/report").await);
    assert_eq!(
        reply,
        json!({"items": [{
            "node": "a", "state": "finished", "timestamp": "<time>", "start_timestamp": "<time>",
            "finish_timestamp": "<time>", "events": []
        }]})
    );
}

#[tokio::test]
async fn the_events_of_a_job_and_where_they_go_on() {
    let (world, _) = world_with_a_job().await;
    let reply = plain(world.ok("/orchestrator/v1/jobs/1/events").await);
    let items = reply["items"].as_array().unwrap().clone();
    let kinds: Vec<_> = items
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["node_running", "node_finished", "job_finished"]);
    let id = items[0]["id"].as_str().unwrap();
    assert_eq!(
        items[0],
        json!({
            "id": id, "type": "node_running", "timestamp": "<time>",
            "details": {"node": "a", "detail": {"noop": false}}, "message": "Started on a ..."
        })
    );
    // `start` is inclusive, and `next-events` is the first event that was not returned.
    let start = items[1]["id"].as_str().unwrap();
    let rest = plain(
        world
            .ok(&format!("/orchestrator/v1/jobs/1/events?start={start}"))
            .await,
    );
    assert_eq!(rest["items"].as_array().unwrap().as_slice(), &items[1..]);
    let next = rest["next-events"]["event"].as_str().unwrap();
    assert_eq!(
        rest["next-events"]["id"],
        format!("{URL}/jobs/1/events?start={next}")
    );
    let none = world
        .ok(&format!("/orchestrator/v1/jobs/1/events?start={next}"))
        .await;
    assert_eq!(none["items"], json!([]));
    assert_eq!(none["next-events"]["event"], next);
}

#[tokio::test]
async fn tasks_of_an_environment() {
    let world = World::new().await;
    let list = world
        .ok("/orchestrator/v1/tasks?environment=production")
        .await;
    let item = |name: &str, path: &str| json!({"id": format!("{URL}/tasks/{path}"), "name": name, "permitted": true});
    let mut described = item("test", "test/init");
    described["description"] = json!("does nothing");
    assert_eq!(
        list,
        json!({
            "environment": {"name": "production", "code_id": null},
            "items": [described, item("test::typed", "test/typed")]
        })
    );
    assert_eq!(world.ok("/orchestrator/v1/tasks").await, list);
    let task = plain(world.ok("/orchestrator/v1/tasks/test/init").await);
    assert_eq!(
        task,
        json!({
            "id": format!("{URL}/tasks/test/init"), "name": "test",
            "environment": {"name": "production", "code_id": null},
            "metadata": {"description": "does nothing", "supports_noop": false, "private": false,
                "remote": false},
            "files": [{
                "filename": "init.sh", "sha256": "<sha256>", "size_bytes": 10,
                "uri": {"path": "/puppet/v3/file_content/tasks/test/init.sh",
                    "params": {"environment": "production"}}
            }],
            "permitted": true
        })
    );
    // A private task is not listed, but can be shown.
    assert_eq!(
        world.ok("/orchestrator/v1/tasks/test/hidden").await["name"],
        "test::hidden"
    );
    let permitted = world
        .ok("/orchestrator/v1/tasks/test/typed/permitted")
        .await;
    assert_eq!(permitted, json!({"permitted": true}));
}

#[tokio::test]
async fn sensitive_parameters_are_never_shown() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let params = json!({"name": "vim", "password": "canary-in-a-mine"});
    let body = json!({"task": "test::typed", "params": params, "scope": {"nodes": nodes}});
    world
        .post("/orchestrator/v1/command/task", body.to_string())
        .await;
    world.over("1").await;
    for path in [
        "jobs",
        "jobs/1",
        "jobs/1/nodes",
        "jobs/1/events",
        "jobs/1/report",
        "events/stream?job=1",
    ] {
        let text = world.get(&format!("/orchestrator/v1/{path}")).await.text();
        assert!(!text.contains("canary"), "{path}: {text}");
    }
    let job = world.ok("/orchestrator/v1/jobs/1").await;
    assert_eq!(job["options"]["sensitive"], json!(["password"]));
}

#[tokio::test]
async fn the_inventory() {
    let world = World::new().await;
    world.nodes(2, &Manner::default());
    let node = |name: &str| {
        json!({"name": name, "connected": true,
        "broker": "pcp://broker.example.com/server", "timestamp": "<time.ms>"})
    };
    let all = plain(world.ok("/orchestrator/v1/inventory").await);
    assert_eq!(all, json!({"items": [node("a"), node("b")]}));
    assert_eq!(
        plain(world.ok("/orchestrator/v1/inventory/a").await)["agent_version"],
        json!("1")
    );
    let one = async |name: &str| {
        world
            .ok(&format!("/orchestrator/v1/inventory/{name}"))
            .await
    };
    let away = json!({"name": "away", "connected": false, "absence": "never-connected"});
    assert_eq!(one("away").await, away);
    let seen = world.store.record_agents(vec!["away".to_owned()]).await;
    seen.expect("written");
    assert_eq!(one("away").await["absence"], "away");
    let body = json!({"nodes": ["b", "away", "a"]}).to_string();
    let asked = world.post("/orchestrator/v1/inventory", body).await;
    assert_eq!(asked.status, StatusCode::OK);
    assert_eq!(
        plain(asked.json()),
        json!({"items": [node("b"), {"name": "away", "connected": false}, node("a")]})
    );
}

#[tokio::test]
async fn tokens_are_made_used_and_revoked() {
    let world = World::new().await;
    let login = |label: &str| {
        let body = json!({"login": "admin", "password": world.password(), "lifetime": "4h",
            "label": label});
        let request = http::Request::post("/rbac-api/v1/auth/token").body(body.to_string().into());
        world.send(request.unwrap())
    };
    let reply = login("one").await;
    assert_eq!(reply.status, StatusCode::OK);
    let token = reply.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(reply.json(), json!({"token": token}));
    assert_eq!(token.len(), 44);
    assert_eq!(login("one").await.status, StatusCode::BAD_REQUEST);
    login("two").await;
    let user = plain(world.ok("/rbac-api/v1/users/current").await);
    assert_eq!(
        user,
        json!({"id": "<uuid>", "login": "admin", "email": "",
        "display_name": "Administrator", "role_ids": [], "inherited_role_ids": [], "group_ids": [], "is_group": false, "is_remote": false,
        "is_superuser": true, "is_revoked": false, "last_login": "<time.ms>"})
    );
    let delete = |path: String, body: Value| {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        world.send(world.request("DELETE", &path, body))
    };
    let by_query = delete(
        format!("/rbac-api/v2/tokens?revoke_tokens={token}"),
        Value::Null,
    )
    .await;
    assert_eq!(by_query.status, StatusCode::NO_CONTENT);
    assert!(by_query.body.is_empty());
    let label = json!({"revoke_tokens_by_labels": ["two"]});
    let by_label = delete("/rbac-api/v2/tokens".to_owned(), label.clone()).await;
    assert_eq!(by_label.status, StatusCode::NO_CONTENT);
    let again = delete("/rbac-api/v2/tokens".to_owned(), label).await;
    assert_eq!(again.status, StatusCode::BAD_REQUEST);
    let nothing = delete("/rbac-api/v2/tokens".to_owned(), Value::Null).await;
    assert_eq!(nothing.status, StatusCode::BAD_REQUEST);
    let revoked = http::Request::get("/rbac-api/v1/users/current")
        .header("X-Authentication", &token)
        .body(Default::default());
    assert_eq!(
        world.send(revoked.unwrap()).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn the_status_of_the_services() {
    let world = World::new().await;
    world.nodes(3, &Manner::default());
    let service = |level: &str, status: Value| {
        json!({"service_version": "1.2.3", "service_status_version": 1, "detail_level": level,
            "state": "running", "status": status, "active_alerts": []})
    };
    let all = world.ok("/status/v1/services").await;
    assert_eq!(
        all,
        json!({
            "broker-service": service("info", json!({"nodes_connected": 3})),
            "orchestrator-service": service("info", json!({"db_up": true})),
            "status-service": service("info", json!({}))
        })
    );
    let one = world
        .ok("/status/v1/services/orchestrator-service?level=critical")
        .await;
    assert_eq!(one, service("critical", json!({})));
    let own = world.ok("/orchestrator/v1/status").await;
    assert_eq!(own, service("info", json!({"db_up": true})));
    assert_eq!(world.get("/status/v1/simple").await.text(), "running");
    assert_eq!(
        world.get("/status/v1/simple/status-service").await.text(),
        "running"
    );
    let unknown = world.get("/status/v1/services/tea-service").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(unknown.kind(), "puppetlabs.orchestrator/unknown-service");
    let level = world.get("/status/v1/services?level=loud").await;
    assert_eq!(level.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_store_that_is_gone_shows_in_the_status() {
    let world = World::new().await;
    world.store.close().await;
    let reply = world.get("/status/v1/simple").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.text(), "error");
    let all = world.get("/status/v1/services").await;
    assert_eq!(all.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(all.json()["orchestrator-service"]["state"], "error");
    assert_eq!(all.json()["status-service"]["state"], "running");
}

#[tokio::test]
async fn metrics_are_text_of_prometheus() {
    let (world, _) = world_with_a_job().await;
    let reply = world.get("/metrics").await;
    assert!(
        reply.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    let text = reply.text();
    for line in [
        "# TYPE tutti_jobs_created counter",
        "tutti_jobs_created_total 1",
        "tutti_runs_ended_total 1",
        "tutti_nodes_connected 1",
    ] {
        assert!(
            text.lines().any(|given| given == line),
            "{line} is not in\n{text}"
        );
    }
}

#[tokio::test]
async fn ids_follow_the_configured_address() {
    let base_url = Some("https://lb.example.com/".to_owned());
    let world = World::with(api::ServerInfo {
        base_url,
        ..api::ServerInfo::default()
    })
    .await;
    let root = world.ok("/orchestrator").await;
    assert_eq!(
        root["status"]["id"],
        "https://lb.example.com/orchestrator/v1/status"
    );
}

#[tokio::test]
async fn head_answers_like_get_without_the_body() {
    let world = World::new().await;
    let reply = world
        .send(world.request("HEAD", "/orchestrator/v1/jobs", ""))
        .await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.body.is_empty());
}

#[tokio::test]
async fn a_task_with_invalid_metadata_is_refused_with_its_place_and_marked_in_the_list() {
    let world = World::new().await;
    let modules = world
        .dir
        .path()
        .join("code/environments/production/modules");
    let write = |name: &str, content: &str| {
        let path = modules.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    for (task, metadata) in [
        ("text", "{\n  \"description\": \"x\",\n  oops\n}\n"),
        ("wrong", r#"{"parameters":{"a":{"type":"Strin"}}}"#),
        ("gone", r#"{"files":["odd/files/gone"]}"#),
    ] {
        write(&format!("odd/tasks/{task}.json"), metadata);
        write(&format!("odd/tasks/{task}.sh"), "#!/bin/sh\n");
    }
    write("odd/tasks/twice.sh", "");
    write("odd/tasks/twice.rb", "");
    let list = world.ok("/orchestrator/v1/tasks").await;
    for (task, place, words) in [
        (
            "text",
            json!({"file": "odd/tasks/text.json", "line": 3, "column": 3}),
            "line 3",
        ),
        (
            "wrong",
            json!({"file": "odd/tasks/wrong.json", "path": "parameters.a.type"}),
            "parameters.a.type",
        ),
        ("gone", json!({"task": "odd::gone"}), "odd/files/gone"),
        ("twice", json!({"task": "odd::twice"}), "tasks/twice.rb"),
    ] {
        let reply = world
            .get(&format!("/orchestrator/v1/tasks/odd/{task}"))
            .await;
        assert_eq!(
            reply.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{}",
            reply.text()
        );
        assert_eq!(reply.kind(), "puppet.tasks/invalid-task");
        let error = reply.json();
        assert_eq!(error["details"], place, "{task}");
        let msg = error["msg"].as_str().unwrap();
        assert!(msg.contains(words) && !msg.contains("/code/"), "{msg}");
        let items = list["items"].as_array().unwrap();
        let name = format!("odd::{task}");
        let item = items.iter().find(|item| item["name"] == *name).unwrap();
        assert_eq!(item["error"], error, "{task}");
        let command = json!({"task": name, "params": {}, "scope": {"nodes": ["a.example.com"]}});
        let run = world
            .post("/orchestrator/v1/command/task", command.to_string())
            .await;
        assert_eq!(run.json(), error, "{task}");
    }
    let sound = list["items"].as_array().unwrap();
    assert!(sound.iter().any(|item| item["name"] == "test"));
}
