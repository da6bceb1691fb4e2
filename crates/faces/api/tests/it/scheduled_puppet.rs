//! Scheduled jobs that run Puppet in waves or in passes.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use store::GrantRow;

use crate::catalogs::user_with;
use crate::deploys::{changed, knowing};
use crate::plan_programs::settled;
use crate::run_orders::{CROSSED, PAIR};
use crate::schedule_owners::{as_fred, fred};
use crate::schedules::{LATER, PLACE, make, post, put, shown, with};
use crate::world::World;

const V1: &str = "/orchestrator/v1";

/// A scheduled job of Puppet runs on these nodes, with one more key of the input.
fn repeated(scope: Value, key: &str, value: Value) -> Value {
    let mut body = with("type", json!("deploy"));
    body["input"] = json!({"scope": scope, key: value});
    body
}

/// The plan job of the last start, after its end.
async fn plan_job(world: &World, scheduled: &Value) -> Value {
    let job = &scheduled["last_run"]["job"];
    let number = job["name"].as_i64().unwrap_or_else(|| panic!("{job}"));
    let address = format!("https://tutti.example.com:8143{V1}/plan_jobs/{number}");
    assert_eq!(job["id"], json!(address));
    settled(world, number).await;
    world.ok(&format!("{V1}/plan_jobs/{number}")).await
}

#[tokio::test]
async fn a_slot_makes_the_plan_job_that_the_command_makes() {
    let world = knowing(Ok(&["a", "b"])).await;
    world.nodes(2, &changed());
    let query = json!({"query": "nodes[certname] {}"});
    let limits = json!({"max_waves": 5, "strict": false});
    let mut body = repeated(query.clone(), "until_converged", limits.clone());
    body["input"]["tags"] = json!("web");
    body["description"] = json!("ticket 7");
    let id = make(&world, body).await;
    assert_eq!(shown(&world, &id).await["input"]["until_converged"], limits);

    let now = world.start_soon(&id).await;
    let mut of_slot = plan_job(&world, &now).await;
    assert_eq!(of_slot["state"], "success", "{of_slot:#}");
    assert_eq!(of_slot["options"]["scheduled_job_id"], 1);
    assert_eq!(of_slot["owner"]["login"], "admin");
    let options = &world.ok(&format!("{V1}/jobs/1")).await["options"];
    assert_eq!(
        (&options["tags"], &options["description"]),
        (&json!("web"), &json!("ticket 7"))
    );

    let deploy = json!({"environment": "production", "scope": query, "tags": "web",
        "description": "ticket 7"});
    let command = json!({"deploy": deploy, "limits": limits});
    let reply = world
        .post(&format!("{V1}/command/converge"), command.to_string())
        .await;
    assert_eq!(reply.json(), json!({"name": "2"}));
    settled(&world, 2).await;
    let of_command = world.ok(&format!("{V1}/plan_jobs/2")).await;
    of_slot["options"]["scheduled_job_id"] = Value::Null;
    for key in ["options", "result", "userdata"] {
        assert_eq!(of_slot[key], of_command[key], "{key}");
    }
    let started = world.audited("scheduled_job_started").await;
    assert!(started.contains("plan_job"), "{started}");
}

#[tokio::test]
async fn a_slot_plans_the_passes_of_an_application() {
    let world = World::with_applications(Arc::new(PAIR)).await;
    world.nodes(2, &changed());
    let body = repeated(json!({"application": "Pair"}), "multi_pass", json!(true));
    let id = make(&world, body).await;
    let now = world.start_soon(&id).await;
    let plan = plan_job(&world, &now).await;
    assert_eq!(plan["state"], "success", "{plan:#}");
    assert_eq!(plan["options"]["plan_name"], "puppet:multi-pass");
    let parameters = json!({"nodes": 2, "passes": 2, "scope": {"application": "Pair"}});
    assert_eq!(plan["options"]["parameters"], parameters);
    assert_eq!(plan["result"]["nodes_by_runs"], json!({"2": 2}));
}

/// A scheduled job that ran Puppet once, and is changed, has another kind of job from then on.
#[tokio::test]
async fn the_way_of_running_can_be_changed() {
    let world = World::new().await;
    world.nodes(1, &changed());
    let id = make(
        &world,
        repeated(json!({"nodes": ["a"]}), "tags", json!("web")),
    )
    .await;
    let input = json!({"scope": {"nodes": ["a"]}, "until_converged": true});
    let reply = put(&world, &id, json!({ "input": input })).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let now = world.start_soon(&id).await;
    let plan = plan_job(&world, &now).await;
    assert_eq!(plan["options"]["plan_name"], "puppet:converge");
    assert_eq!(plan["options"]["parameters"]["max_waves"], 10);
}

#[tokio::test]
async fn contradictions_are_refused_when_the_job_is_scheduled() {
    let world = World::new().await;
    let nodes = || json!({"nodes": ["a"]});
    let cases = [
        (
            "until_converged",
            json!(true),
            json!({"noop": true}),
            "input: waves contradict noop: no run",
        ),
        (
            "until_converged",
            json!({}),
            json!({"splay": 60}),
            "input: waves contradict splay: each wave",
        ),
        (
            "until_converged",
            json!({"max_waves": 0}),
            json!({}),
            "input.until_converged.max_waves: must be from 1 to 100",
        ),
        (
            "until_converged",
            json!({"min_gap": 86_401}),
            json!({}),
            "input.until_converged.min_gap: must be at most",
        ),
        (
            "until_converged",
            json!({"waves": 1}),
            json!({}),
            "input.until_converged",
        ),
        (
            "until_converged",
            json!(5),
            json!({}),
            "input.until_converged: must be true, or an object",
        ),
        (
            "multi_pass",
            json!(true),
            json!({"until_converged": true}),
            "input.multi_pass: contradicts until_converged",
        ),
        (
            "multi_pass",
            json!("yes"),
            json!({}),
            "input.multi_pass: must be true or false",
        ),
        (
            "multi_pass",
            json!(true),
            json!({"splay": 60}),
            "input: passes contradict splay: each pass",
        ),
        (
            "multi_pass",
            json!(true),
            json!({"quarantine": true}),
            "input: passes contradict quarantine",
        ),
        (
            "multi_pass",
            json!(true),
            json!({"usecacheonfailure": true}),
            "input: passes contradict usecacheonfailure",
        ),
    ];
    for (key, value, more, part) in cases {
        let mut body = repeated(nodes(), key, value);
        body["input"]
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let refused = post(&world, body.clone()).await;
        assert_eq!(
            refused.kind(),
            "puppetlabs.orchestrator/validation-error",
            "{body}"
        );
        assert!(refused.text().contains(part), "{part}: {}", refused.text());
    }
    let mut no_environment = repeated(nodes(), "multi_pass", json!(true));
    no_environment["environment"] = json!("");
    let refused = post(&world, no_environment).await;
    assert!(
        refused
            .text()
            .contains("passes contradict an empty environment"),
        "{}",
        refused.text()
    );
    let mut task = with("type", json!("task"));
    task["input"]["multi_pass"] = json!(true);
    assert_eq!(
        post(&world, task).await.kind(),
        "puppetlabs.orchestrator/validation-error"
    );
    // The deprecated command has the keys of `command/deploy` alone.
    let old = json!({"environment": "production", "scope": nodes(), "scheduled_time": LATER,
        "multi_pass": true});
    let refused = world
        .post(&format!("{V1}/command/schedule_deploy"), old.to_string())
        .await;
    assert_eq!(refused.kind(), "puppetlabs.orchestrator/validation-error");
    assert_eq!(world.ok(PLACE).await["items"], json!([]));
}

#[tokio::test]
async fn components_that_wait_for_each_other_are_refused_when_the_job_is_scheduled() {
    let world = World::with_applications(Arc::new(CROSSED)).await;
    let body = repeated(json!({"nodes": ["a", "b"]}), "multi_pass", json!(true));
    let refused = post(&world, body).await;
    assert_eq!(
        refused.kind(),
        "puppetlabs.orchestrator/dependency-cycle",
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn a_query_without_nodes_makes_no_plan_job() {
    let world = knowing(Ok(&[])).await;
    let query = json!({"query": "nodes[certname] { latest_report_status = \"failed\" }"});
    for key in ["until_converged", "multi_pass"] {
        let id = make(&world, repeated(query.clone(), key, json!(true))).await;
        let now = world.start_soon(&id).await;
        let error = &now["last_run"]["job"]["submission_error"];
        assert_eq!(
            error["kind"], "puppetlabs.orchestrator/empty-target",
            "{key}: {now}"
        );
    }
    let plans = world.ok(&format!("{V1}/plan_jobs")).await;
    assert_eq!(plans["items"], json!([]));
}

#[tokio::test]
async fn the_owner_needs_the_right_to_run_puppet_at_that_moment() {
    let mut world = World::new().await;
    fred(&world).await;
    let body = |key: &str| repeated(json!({"nodes": ["a"]}), key, json!(true));
    let keys = ["until_converged", "multi_pass"];
    let admin = world.token.clone();
    let roles = world.store.roles().await.unwrap();
    let runners = roles.iter().find(|role| role.display_name == "runners");
    let without = runners.unwrap().clone();
    let mut with_right = without.clone();
    with_right.permissions.push(GrantRow {
        object_type: "puppet_agent".to_owned(),
        action: "run".to_owned(),
        instance: "*".to_owned(),
    });
    world.store.put_role(with_right).await.unwrap();
    for key in keys {
        let made = as_fred(&world, "POST", PLACE, body(key)).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }
    world.store.put_role(without).await.unwrap();
    world.token = user_with(&world, "rita", Vec::new()).await;
    for key in keys {
        let refused = post(&world, body(key)).await;
        assert_eq!(refused.kind(), "puppetlabs.orchestrator/not-permitted");
    }
    world.token = admin;
    for id in ["1", "2"] {
        let now = world.start_soon(id).await;
        let error = &now["last_run"]["job"]["submission_error"];
        assert_eq!(
            error["kind"], "puppetlabs.orchestrator/not-permitted",
            "{now}"
        );
    }
    let plans = world.ok(&format!("{V1}/plan_jobs")).await;
    assert_eq!(plans["items"], json!([]));
}
