//! Bad input to the API of the real server: a clear refusal that names the place, and no change.

use std::path::PathBuf;

use reqwest::{Body, Method};
use serde_json::{Value, json};

use crate::world::World;

const NODES: [&str; 2] = ["node0.test", "node1.test"];
const RUN: &str = "/orchestrator/v1/command/task";

/// The response: the status, and the error as text.
async fn answer(world: &World, method: Method, path: &str, body: impl Into<Body>) -> (u16, Value) {
    let request = world.client.request(method, path).body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let parsed = serde_json::from_str(&text);
    (status, parsed.unwrap_or_else(|_| panic!("{path}: {text}")))
}

/// Expects a refusal with this status, whose message contains `words`.
async fn refused(world: &World, path: &str, body: impl Into<Body>, status: u16, words: &str) {
    let (got, error) = answer(world, Method::POST, path, body).await;
    assert_eq!(got, status, "{path}: {error}");
    assert!(error["kind"].is_string(), "{path}: {error}");
    let msg = error["msg"].as_str().unwrap();
    assert!(
        msg.contains(words),
        "`{words}` is not said of {path}: {error}"
    );
}

async fn jobs(world: &World) -> Value {
    let jobs = world.client.get("/orchestrator/v1/jobs").await.unwrap();
    jobs["pagination"]["total"].clone()
}

#[tokio::test]
async fn bodies_that_are_no_commands_change_nothing() {
    let world = World::start(&[]).await;
    world.shell("quick", &[], "true");
    refused(&world, RUN, "", 400, "no body").await;
    refused(&world, RUN, "{\"task\": \"qu", 400, "not JSON").await;
    refused(&world, RUN, &b"{\"task\": \"\xff\xfe\"}"[..], 400, "").await;
    let deep = format!("{{\"params\": {}", "{\"a\":".repeat(100_000));
    refused(&world, RUN, deep, 400, "more than 127 levels").await;
    let deep = format!("{{\"params\": {{\"a\": {}", "[".repeat(1_000_000));
    refused(&world, RUN, deep, 400, "more than 127 levels").await;
    let good = |more: &str| {
        format!("{{\"task\": \"quick\", \"scope\": {{\"nodes\": [\"n.test\"]}}{more}}}")
    };
    refused(&world, RUN, good(", \"taks\": 1"), 400, "taks").await;
    refused(
        &world,
        RUN,
        good(", \"task\": \"quick\""),
        400,
        "occurs twice",
    )
    .await;
    refused(&world, RUN, good(", \"noop\": \"yes\""), 400, "noop").await;
    refused(&world, RUN, good(", \"params\": []"), 400, "params").await;
    refused(&world, RUN, good(", \"timeout\": -1"), 400, "timeout").await;
    refused(&world, RUN, good(", \"timeout\": 1e300"), 400, "timeout").await;
    refused(
        &world,
        RUN,
        good(", \"concurrency\": 0"),
        400,
        "concurrency",
    )
    .await;
    refused(&world, RUN, good("} {"), 400, "follows the end").await;
    refused(&world, RUN, "[]", 400, "object").await;
    refused(&world, RUN, "\u{feff}{}", 400, "not JSON").await;
    let scope = json!({"task": "quick", "scope": {"nodes": "n.test"}});
    refused(&world, RUN, scope.to_string(), 400, "scope.nodes").await;
    let scope = json!({"task": "quick", "scope": {"nodes": []}});
    refused(&world, RUN, scope.to_string(), 400, "").await;
    let login = json!({"login": "x".repeat(20_000), "password": "x"}).to_string();
    refused(&world, "/rbac-api/v1/auth/token", login, 413, "16384").await;
    let huge = vec![b' '; 2 << 20];
    refused(&world, "/orchestrator/v1/inventory", huge, 413, "1048576").await;
    // Its length is not announced.
    let pieces = (0..32).map(|_| Ok::<_, std::io::Error>(vec![0x20; 1 << 16]));
    let pieces = Body::wrap_stream(futures_util::stream::iter(pieces));
    refused(&world, "/orchestrator/v1/inventory", pieces, 413, "1048576").await;
    assert_eq!(jobs(&world).await, json!(0));
    world.stop().await;
}

#[tokio::test]
async fn names_that_are_paths_are_refused_everywhere() {
    let world = World::start(&[]).await;
    world.shell("quick", &[], "true");
    let long = "x".repeat(300);
    for name in [
        "../x", "a/b", "a\0b", "", ".", "..", "a\nb", "\u{7f}", &long,
    ] {
        let command = json!({"task": "quick", "scope": {"nodes": ["good.test", name]}});
        refused(&world, RUN, command.to_string(), 400, "scope.nodes[1]").await;
        let query = json!({"nodes": [name]}).to_string();
        refused(&world, "/orchestrator/v1/inventory", query, 400, "nodes[0]").await;
    }
    for name in [
        "../../etc/passwd",
        "a::b::c",
        "quick\0",
        "Größe",
        "quick::../init",
        "::",
        "",
    ] {
        let command = json!({"task": name, "scope": {"nodes": ["n.test"]}});
        refused(&world, RUN, command.to_string(), 400, "task").await;
    }
    for name in ["../production", "a/b", "", "..", "a\0b", "pröduction"] {
        let command = json!({"task": "quick", "environment": name, "scope": {"nodes": ["n.test"]}});
        refused(&world, RUN, command.to_string(), 400, "environment").await;
    }
    let command = json!({"task": "quick", "environment": "absent", "scope": {"nodes": ["n"]}});
    refused(&world, RUN, command.to_string(), 404, "absent").await;
    for job in ["0", "-1", "1x", "../1", "18446744073709551616", "", "1\0"] {
        let stop = json!({"job": job}).to_string();
        refused(&world, "/orchestrator/v1/command/stop", stop, 400, "job").await;
    }
    refused(
        &world,
        "/orchestrator/v1/command/stop",
        json!({"job": "77"}).to_string(),
        404,
        "77",
    )
    .await;
    assert_eq!(jobs(&world).await, json!(0));
    world.stop().await;
}

#[tokio::test]
async fn paths_that_lead_nowhere_are_refused() {
    let world = World::start(&[]).await;
    for path in [
        "jobs/0",
        "jobs/99999999999999999999",
        "jobs/1%00",
        "jobs/%ff",
        "jobs/1%2f..%2f..",
        "jobs/%2e%2e%2fstatus",
        "jobs/7/nodes?limit=-1",
        "jobs?limit=18446744073709551616",
        "jobs?limti=1",
        "jobs?order_by=%27;drop%20table",
        "tasks/..%2f..%2fetc/passwd",
        "tasks/quick/%00",
        "tasks/quick/init?environment=..%2fx",
        "inventory/..%2fx",
        "inventory/%00",
        "inventory/%ff",
        "events/stream?job=x",
        "events/stream?job=1&start=-1",
        "nothing",
    ] {
        let path = format!("/orchestrator/v1/{path}");
        let (status, error) = answer(&world, Method::GET, &path, "").await;
        assert!((400..500).contains(&status), "{path}: {status} {error}");
        assert!(error["msg"].is_string(), "{path}: {error}");
    }
    let (status, _) = answer(&world, Method::GET, "/orchestrator/v1/status", "").await;
    assert_eq!(status, 200, "the server is well");
    world.stop().await;
}

#[tokio::test]
async fn a_name_that_is_not_ascii_is_a_name() {
    let world = World::start(&["größe.test"]).await;
    world.shell("quick", &[], "echo done");
    let run = world.run("quick", "größe.test", json!({})).await;
    assert_eq!(run["state"], json!("finished"), "{run}");
    world.stop().await;
}

#[tokio::test]
async fn all_mistakes_in_parameters_are_told_at_once() {
    let world = World::start(&[]).await;
    let metadata = json!({"input_method": "stdin", "parameters": {
        "count": {"type": "Integer[1, 5]"}, "mode": {"type": "Enum[fast, slow]"},
        "names": {"type": "Array[String[1]]"}, "missing": {"type": "String"}}});
    let add = |name: &str, metadata: &Value| {
        let installation = &world.installation;
        installation
            .add_task(name, "init.sh", metadata, "#!/bin/sh\n")
            .unwrap();
    };
    add("strict", &metadata);
    let command = json!({"task": "strict", "scope": {"nodes": ["n.test"]}, "params": {
        "count": 9, "mode": "other", "names": ["a", ""], "extra": 1}});
    let (status, error) = answer(&world, Method::POST, RUN, command.to_string()).await;
    assert_eq!(status, 400, "{error}");
    let problems = error["details"]["params"].to_string();
    for name in ["count", "mode", "names", "missing", "extra"] {
        assert!(problems.contains(name), "{name} is not in {error}");
    }

    for (name, metadata) in [
        ("list", json!([])),
        ("method", json!({"input_method": "telepathy"})),
        (
            "kind",
            json!({"parameters": {"a": {"type": "Integer[9, 1]"}}}),
        ),
        ("open", json!({"parameters": {"a": {"type": "String["}}})),
    ] {
        add(name, &metadata);
        let command = json!({"task": name, "scope": {"nodes": ["n.test"]}}).to_string();
        let (status, error) = answer(&world, Method::POST, RUN, command).await;
        assert!(status >= 400, "{name}: {error}");
        let msg = error["msg"].as_str().unwrap();
        assert!(msg.contains(name) && msg.contains("init.json"), "{error}");
    }
    let file = "code/environments/production/modules/list/tasks/init.json";
    std::fs::write(world.root().join(file), b"{\"description\": \"\xff\"}").unwrap();
    let command = json!({"task": "list", "scope": {"nodes": ["n.test"]}}).to_string();
    let (status, error) = answer(&world, Method::POST, RUN, command).await;
    assert!(
        status >= 400 && error.to_string().contains("init.json"),
        "{error}"
    );
    assert_eq!(jobs(&world).await, json!(0));
    // One broken task does not hide the others.
    let tasks = world.client.get("/orchestrator/v1/tasks").await.unwrap();
    assert!(tasks.to_string().contains("strict"), "{tasks}");
    world.stop().await;
}

/// A job of two nodes one after the other; the first waits at the gate, so that the second fetches
/// the task's file only after the gate was opened.
async fn one_after_the_other(world: &World) -> (u64, crate::world::Gate) {
    let gate = world.gate(
        "turns",
        "echo genuine >> \"$PT_begun.ledger\"",
        "echo genuine",
    );
    let command = json!({"task": "turns", "params": gate.params(), "scope": {"nodes": NODES},
                         "concurrency": 1});
    let created = world.client.post(RUN, &command).await.unwrap();
    let job = created["job"]["name"].as_str().unwrap().parse().unwrap();
    gate.begun().await;
    (job, gate)
}

#[tokio::test]
async fn a_job_runs_the_task_that_was_there_when_it_was_made() {
    let world = World::start(&NODES).await;
    let (job, gate) = one_after_the_other(&world).await;
    world.shell("turns", &["begun", "end", "root"], "echo forged");
    gate.open();
    for node in world.ended(job).await {
        assert_eq!(node["result"]["_output"], json!("genuine\n"), "{node}");
    }
    world.stop().await;
}

fn blob(world: &World) -> PathBuf {
    let blobs = world.installation.data_dir().join("blobs");
    let kept = std::fs::read_dir(blobs).unwrap().flatten();
    let directories = kept.filter(|entry| entry.path().is_dir());
    let mut files = directories.flat_map(|entry| std::fs::read_dir(entry.path()).unwrap());
    let file = files.next().expect("a task's file is kept").unwrap().path();
    assert!(files.next().is_none(), "one file is kept");
    file
}

/// Damages a file: the new content; `None` removes the file.
type Damage = fn(&[u8]) -> Option<Vec<u8>>;

#[tokio::test]
async fn a_damaged_file_is_not_executed_and_is_mended_by_the_next_job() {
    let damages: [Damage; 3] = [
        |bytes| Some([bytes, b"echo forged >> \"$PT_begun.ledger\"\n"].concat()),
        |bytes| Some(bytes[..bytes.len() / 2].to_vec()),
        |_| None,
    ];
    for damage in damages {
        let world = World::start(&NODES).await;
        let (job, gate) = one_after_the_other(&world).await;
        let path = blob(&world);
        match damage(&std::fs::read(&path).unwrap()) {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        gate.open();
        let nodes = world.ended(job).await;
        let states: Vec<_> = nodes.iter().map(|node| &node["state"]).collect();
        assert_eq!(states, ["finished", "errored"], "{nodes:?}");
        let words = nodes[1]["result"]["_error"]["msg"].as_str().unwrap();
        assert!(words.contains("init.sh"), "{words}");
        let ledger = std::fs::read_to_string(world.root().join("turns-begun.ledger")).unwrap();
        assert_eq!(ledger, "genuine\n", "only the first node ran it");
        let run = world.run("turns", NODES[1], gate.params()).await;
        assert_eq!(run["state"], json!("finished"), "{run}");
        world.stop().await;
    }
}
