//! Requests of real clients, one by one, over a real socket with TLS 1.2.

use pxp::action::ActionResult;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::site::Site;
use crate::world::World;

const DONE: [&str; 3] = ["stopped", "finished", "failed"];

fn says(text: &str, exitcode: i64) -> Manner {
    let result = ActionResult {
        exitcode,
        stdout: Some(text.to_owned()),
        ..ActionResult::default()
    };
    Manner {
        result,
        ..Manner::default()
    }
}

/// The `orchestrator_client` gem: a command, the job's state until it ends, the report, the nodes,
/// the events.
#[tokio::test]
async fn the_gem_runs_a_task_and_waits() {
    let world = World::new().await;
    let nodes = world.nodes(2, &says("done\n", 0));
    let site = Site::start(&world).await;
    let mut gem = site.connect(&world.token).await;
    let command = json!({"environment": "production", "task": "test", "params": {},
        "scope": {"nodes": nodes}});
    let job = gem.ask("POST", "command/task", Some(command)).await["job"].clone();
    assert!(
        job["id"]
            .as_str()
            .unwrap()
            .ends_with("/orchestrator/v1/jobs/1"),
        "{job}"
    );
    let name = job["name"].as_str().unwrap().to_owned();
    world.over(&name).await;
    let state = gem.ask("GET", &format!("jobs/{name}"), None).await["state"].clone();
    assert!(DONE.contains(&state.as_str().unwrap()), "{state}");
    let report = gem.ask("GET", &format!("jobs/{name}/report"), None).await;
    assert_eq!(report["items"].as_array().unwrap().len(), 2);
    let found = gem.ask("GET", &format!("jobs/{name}/nodes"), None).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 2);
    // `each_event` continues from `next-events` until the job's last event.
    let (mut start, mut kinds) = (None::<String>, Vec::new());
    while !kinds
        .iter()
        .any(|kind| kind == "job_finished" || kind == "job_aborted")
    {
        let query = start
            .map(|start| format!("?start={start}"))
            .unwrap_or_default();
        let page = gem
            .ask("GET", &format!("jobs/{name}/events{query}"), None)
            .await;
        let items = page["items"].as_array().unwrap();
        kinds.extend(
            items
                .iter()
                .map(|item| item["type"].as_str().unwrap().to_owned()),
        );
        start = Some(page["next-events"]["event"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 5);
    site.end().await;
}

#[tokio::test]
async fn the_gem_stops_a_job_and_gets_errors_as_json() {
    let world = World::new().await;
    let nodes = world.nodes(
        1,
        &Manner {
            held: true,
            ..Manner::default()
        },
    );
    let name = world.run(&nodes).await;
    let site = Site::start(&world).await;
    let mut gem = site.connect(&world.token).await;
    let stopped = gem
        .ask("POST", "command/stop", Some(json!({"job": name})))
        .await;
    assert_eq!(stopped["job"]["name"], name);
    world.agents.let_go();
    world.over(&name).await;
    for (method, path) in [
        ("GET", "jobs/77"),
        ("GET", "nowhere"),
        ("POST", "command/task"),
    ] {
        let (status, body) = gem.send(method, path, None).await;
        assert!(status.is_client_error());
        assert!(
            body["kind"].is_string() && body["msg"].is_string(),
            "{body}"
        );
        assert!(body["details"].is_object(), "{body}");
    }
    let mut stranger = site.connect("wrong").await;
    let (status, body) = stranger.send("GET", "jobs", None).await;
    assert_eq!(status.as_u16(), 401);
    assert_eq!(body["kind"], "puppetlabs.rbac/user-unauthenticated");
    site.end().await;
}

/// Bolt's pcp transport: check connections, run, wait, and expect one result for each target, under
/// exactly the name that was sent.
#[tokio::test]
async fn bolt_runs_a_task_on_its_targets() {
    let world = World::new().await;
    world
        .agents
        .add("Good.Example.com", says(r#"{"answer": 42}"#, 0));
    world.agents.add("bad.example.com", says("no luck\n", 3));
    let site = Site::start(&world).await;
    let mut bolt = site.connect(&world.token).await;
    let targets = json!(["Good.Example.com", "bad.example.com", "away.example.com"]);
    let inventory = bolt
        .ask("POST", "inventory", Some(json!({"nodes": targets})))
        .await;
    let connected: Vec<_> = inventory["items"].as_array().unwrap().iter().collect();
    let connected: Vec<_> = connected
        .iter()
        .map(|item| item["connected"].clone())
        .collect();
    assert_eq!(connected, [json!(true), json!(true), json!(false)]);
    let command = json!({"task": "test", "environment": "production", "noop": null,
        "params": {}, "scope": {"nodes": targets}, "description": "a plan's step"});
    let job = bolt.ask("POST", "command/task", Some(command)).await["job"].clone();
    let name = job["name"].as_str().unwrap().to_owned();
    world.over(&name).await;
    assert_eq!(
        bolt.ask("GET", &format!("jobs/{name}"), None).await["state"],
        "failed"
    );
    let nodes = bolt.ask("GET", &format!("jobs/{name}/nodes"), None).await;
    let of = |name: &str| -> Value {
        let items = nodes["items"].as_array().unwrap();
        items
            .iter()
            .find(|item| item["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(of("Good.Example.com")["state"], "finished");
    assert_eq!(of("Good.Example.com")["result"], json!({"answer": 42}));
    let bad = of("bad.example.com");
    assert_eq!(bad["state"], "failed");
    assert_eq!(
        bad["result"]["_error"]["kind"],
        "puppetlabs.tasks/task-error"
    );
    assert_eq!(bad["result"]["_error"]["details"]["exit_code"], 3);
    assert_eq!(bad["result"]["_output"], "no luck\n");
    let away = of("away.example.com");
    assert_eq!(away["state"], "errored");
    let kind = away["result"]["_error"]["kind"].as_str().unwrap();
    assert_eq!(kind, "puppetlabs.orchestrator/execution-failure");
    site.end().await;
}

/// A client that polls for finished jobs (`pe_event_forwarding`): newest first, by number, without
/// gaps.
#[tokio::test]
async fn a_poller_counts_jobs_by_their_numbers() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let site = Site::start(&world).await;
    let mut poller = site.connect(&world.token).await;
    for n in 1..=12 {
        // A refused command uses no job number.
        poller
            .send("POST", "command/task", Some(json!({"task": "none"})))
            .await;
        let name = world.run(&nodes).await;
        assert_eq!(name, n.to_string());
        world.over(&name).await;
    }
    let newest = poller
        .ask("GET", "jobs?limit=1&order_by=name&order=desc", None)
        .await;
    assert_eq!(newest["items"][0]["name"], "12");
    assert_eq!(newest["pagination"]["total"], 12);
    site.end().await;
}
