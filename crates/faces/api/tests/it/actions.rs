//! `POST command/action`: executed actions, required permissions, and refusals.

use api::defaults::ACTION_FILE_BYTES;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value, json};

use crate::task_rights::{as_somebody, right};
use crate::world::{Reply, World};

/// Writes the metadata of the shipped module `bolt_shim`, the part that the server reads.
pub(crate) fn write_shim(world: &World) {
    let tasks = world
        .dir
        .path()
        .join("code/environments/production/modules/bolt_shim/tasks");
    std::fs::create_dir_all(&tasks).expect("a directory");
    let text = |kind: &str| json!({kind: {"type": "String"}});
    for (name, parameters) in [
        ("command", text("command")),
        (
            "script",
            json!({"content": {"type": "String"}, "name": {"type": "Optional[String]"},
            "arguments": {"type": "Optional[Array[String]]"}}),
        ),
        (
            "upload",
            json!({"content": {"type": "String"}, "path": {"type": "String[1]"}}),
        ),
    ] {
        let metadata = json!({"parameters": parameters}).to_string();
        std::fs::write(tasks.join(format!("{name}.json")), metadata).expect("written");
        std::fs::write(tasks.join(format!("{name}.py")), "#!/usr/bin/env python3\n")
            .expect("written");
    }
}

async fn act(world: &World, kind: &str, params: Value, nodes: &[&str]) -> Reply {
    let body = json!({"type": kind, "params": params, "scope": {"nodes": nodes}, "run_as": null});
    world
        .post("/orchestrator/v1/command/action", body.to_string())
        .await
}

#[tokio::test]
async fn an_action_needs_the_right_to_the_task_that_does_the_same() {
    let world = as_somebody(|_| {
        json!([
            right("tasks", "run", "bolt_shim::command"),
            right("orchestrator", "view", "*")
        ])
    })
    .await;
    write_shim(&world);
    let command = json!({"command": "uptime"});
    let reply = act(&world, "command", command.clone(), &["a", "b"]).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let made = reply.json();
    let number = made["job"]["name"].as_str().expect("a number");
    world.over(number).await;
    let job = world.ok(&format!("/orchestrator/v1/jobs/{number}")).await;
    assert_eq!(
        (&job["command"], &job["type"]),
        (&json!("command"), &json!("command"))
    );
    assert_eq!(job["options"]["params"], command);
    assert_eq!(job["owner"]["login"], "somebody");
    let listed = world.ok("/orchestrator/v1/jobs?type=command").await;
    assert_eq!(listed["items"][0]["name"], made["job"]["name"]);

    let content = STANDARD.encode("#!/bin/sh\n");
    for (kind, params) in [
        ("script", json!({"content": content, "name": "x.sh"})),
        (
            "upload",
            json!({"content": content, "name": "x", "path": "/tmp/x"}),
        ),
    ] {
        let refused = act(&world, kind, params, &["a"]).await;
        assert_eq!(
            refused.status,
            StatusCode::FORBIDDEN,
            "{kind}: {}",
            refused.text()
        );
    }
}

#[tokio::test]
async fn scripts_and_files_are_jobs_of_their_own_type() {
    let world = World::new().await;
    write_shim(&world);
    world.nodes(1, &crate::agents::Manner::default());
    let content = STANDARD.encode("#!/bin/sh\n");
    for (kind, params, shown) in [
        (
            "script",
            json!({"content": content, "name": "x.sh", "arguments": ["a", "-b"]}),
            json!({"script": "x.sh", "arguments": ["a", "-b"], "env_vars": {}}),
        ),
        (
            "upload",
            json!({"content": "", "name": "motd", "path": "/etc/motd"}),
            json!({"source": "motd", "destination": "/etc/motd"}),
        ),
    ] {
        let reply = act(&world, kind, params, &["a"]).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        let number = reply.json()["job"]["name"]
            .as_str()
            .expect("a number")
            .to_owned();
        let job = world.ok(&format!("/orchestrator/v1/jobs/{number}")).await;
        assert_eq!(
            (&job["type"], &job["options"]["params"]),
            (&json!(kind), &shown)
        );
        world.over(&number).await;
    }
}

#[tokio::test]
async fn mistakes_are_named_with_their_place() {
    let world = World::new().await;
    write_shim(&world);
    world.nodes(1, &crate::agents::Manner::default());
    let large = STANDARD.encode(vec![0; ACTION_FILE_BYTES + 1]);
    for (kind, params, part) in [
        ("command", json!({}), "params.command: is missing"),
        (
            "command",
            json!({"command": ""}),
            "params.command: is empty",
        ),
        (
            "command",
            json!({"command": 1}),
            "params.command: must be a string",
        ),
        (
            "command",
            json!({"command": "x", "shell": "y"}),
            "unknown parameter 'shell'",
        ),
        ("script", json!({"name": "x"}), "params.content: is missing"),
        (
            "script",
            json!({"content": "%", "name": "x"}),
            "params.content: is not Base64",
        ),
        (
            "script",
            json!({"content": "", "name": "x", "arguments": [1]}),
            "params.arguments: must be",
        ),
        (
            "upload",
            json!({"content": "", "name": "x"}),
            "params.path: is missing",
        ),
        (
            "upload",
            json!({"content": large, "name": "x", "path": "/x"}),
            "at most 16 MiB",
        ),
        ("reboot", json!({}), "type"),
    ] {
        let refused = act(&world, kind, params, &["a"]).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{kind}: {}",
            refused.text()
        );
        let msg = refused.json()["msg"].as_str().expect("text").to_owned();
        assert!(msg.contains(part), "{kind}: {msg}");
    }
    assert_eq!(world.ok("/orchestrator/v1/jobs").await["items"], json!([]));
}

#[tokio::test]
async fn name_that_no_user_can_have_is_refused_with_its_place() {
    let world = World::new().await;
    write_shim(&world);
    world.nodes(1, &crate::agents::Manner::default());
    for user in ["", "-x", "a b", "root:wheel"] {
        let body = json!({
            "type": "command", "params": {"command": "id"}, "scope": {"nodes": ["a"]},
            "run_as": user,
        });
        let path = "/orchestrator/v1/command/action";
        let refused = world.post(path, body.to_string()).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{user:?}: {}",
            refused.text()
        );
        let msg = refused.json()["msg"].as_str().expect("text").to_owned();
        assert!(msg.starts_with("run_as: "), "{user:?}: {msg}");
    }
}
