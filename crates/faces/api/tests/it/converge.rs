//! `POST command/converge`, and its plan job.

use http::StatusCode;
use serde_json::{Value, json};

use crate::deploys::{changed, knowing};
use crate::plan_programs::{RERUN_LIMITS, settled};
use crate::world::{Reply, World};

const V1: &str = "/orchestrator/v1";

async fn converge(world: &World, deploy: Value, limits: Value) -> Reply {
    let body = json!({"deploy": deploy, "limits": limits});
    world
        .post(&format!("{V1}/command/converge"), body.to_string())
        .await
}

/// The plan job after its end.
async fn ended(world: &World, deploy: Value, limits: Value) -> Value {
    let reply = converge(world, deploy, limits).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    assert_eq!(reply.json(), json!({"name": "1"}));
    settled(world, 1).await;
    world.ok(&format!("{V1}/plan_jobs/1")).await
}

#[tokio::test]
async fn waves_are_jobs_of_a_plan_job_that_shows_its_limits() {
    let world = knowing(Ok(&[])).await;
    let nodes = world.nodes(2, &changed());
    let deploy = json!({"environment": "production", "scope": {"nodes": nodes}, "tags": "web",
        "concurrency": 1, "description": "ticket 7", "userdata": {"t": 7}});
    let plan = ended(&world, deploy, json!({"max_waves": 5})).await;
    assert_eq!(plan["state"], "success", "{plan:#}");
    let result = json!({"state": "converged", "waves": 1, "nodes_by_runs": {"1": 2},
        "unsettled": {}, "unsettled_omitted": 0});
    assert_eq!(plan["result"], result);
    assert_eq!(plan["userdata"], json!({"t": 7}));
    assert_eq!(plan["options"]["plan_name"], "puppet:converge");
    let parameters =
        json!({"nodes": 2, "max_waves": 5, "min_gap": 0, "max_delay": 1800, "strict": false});
    assert_eq!(plan["options"]["parameters"], parameters);
    let job = world.ok(&format!("{V1}/jobs/1")).await;
    let options = &job["options"];
    assert_eq!(
        (
            &options["tags"],
            &options["concurrency"],
            &options["description"]
        ),
        (&json!("web"), &json!(1), &json!("ticket 7"))
    );
}

#[tokio::test]
async fn nodes_that_change_the_same_again_fail_the_plan_job() {
    let world = knowing(Ok(&[])).await;
    let nodes = world.nodes(1, &changed());
    let deploy = json!({"environment": "production", "scope": {"nodes": nodes}});
    let plan = ended(&world, deploy, json!({"strict": true})).await;
    assert_eq!(plan["state"], "failure");
    let error = &plan["result"];
    assert_eq!(error["kind"], "tutti/not-converged");
    assert_eq!(error["msg"], "1 of 1 node has not converged after 2 waves");
    assert_eq!(error["details"]["unsettled"]["a"]["state"], "stalled");
    let resume = json!({"plan_job": "1"}).to_string();
    let reply = world
        .post(&format!("{V1}/command/plan_resume"), resume)
        .await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(
        reply.text().contains("start the runs again"),
        "{}",
        reply.text()
    );
    let plan = world.ok(&format!("{V1}/plan_jobs/1")).await;
    assert_eq!(plan["state"], "failure", "it stays as it is");
}

#[tokio::test]
async fn jobs_share_the_reruns_of_a_node() {
    let world = knowing(Ok(&[])).await;
    let nodes = world.nodes(1, &changed());
    let deploy = json!({"environment": "production", "scope": {"nodes": nodes}});
    let limits = json!({"strict": true, "max_delay": 0});
    let mut states = Vec::new();
    for number in 1..=RERUN_LIMITS.node.burst + 1 {
        let reply = converge(&world, deploy.clone(), limits.clone()).await;
        assert_eq!(reply.json(), json!({"name": number.to_string()}));
        settled(&world, number.into()).await;
        let plan = world.ok(&format!("{V1}/plan_jobs/{number}")).await;
        assert_eq!(plan["result"]["kind"], "tutti/not-converged", "{plan:#}");
        let details = &plan["result"]["details"];
        let node = &details["unsettled"]["a"];
        assert_eq!(details["state"], node["state"]);
        states.push((details["waves"].clone(), node.clone()));
    }
    let (waves, node) = states.pop().unwrap();
    assert_eq!((waves, &node["state"]), (json!(1), &json!("throttled")));
    let reason = node["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("its reruns are used up (in all jobs 2 at once"),
        "{reason}"
    );
    for (waves, node) in states {
        assert_eq!((waves, &node["state"]), (json!(2), &json!("stalled")));
    }
}

#[tokio::test]
async fn wrong_commands_start_nothing() {
    let world = World::new().await;
    let deploy = json!({"environment": "production", "scope": {"nodes": ["a"]}});
    let with = |key: &str, value: Value| {
        let mut deploy = deploy.clone();
        deploy[key] = value;
        deploy
    };
    for (deploy, limits, part) in [
        (
            with("noop", json!(true)),
            json!({}),
            "deploy: waves contradict noop: no run",
        ),
        (
            with("use_cached_catalog", json!(true)),
            json!({}),
            "deploy: waves contradict use_cached_catalog: each",
        ),
        (
            deploy.clone(),
            json!({"max_waves": 0}),
            "limits.max_waves: must be from 1 to 100",
        ),
        (
            deploy.clone(),
            json!({"max_waves": 101}),
            "limits.max_waves: must be from 1 to 100",
        ),
        (
            deploy.clone(),
            json!({"min_gap": 86_401}),
            "limits.min_gap: must be at most",
        ),
        (
            deploy.clone(),
            json!({"max_delay": u64::MAX}),
            "limits.max_delay: must be at most",
        ),
        (deploy.clone(), json!({"min_gap": -1}), "limits.min_gap"),
        (deploy.clone(), json!({"waves": 1}), "waves"),
        (
            with("environment", json!("../x")),
            json!({}),
            "environment: `../x`",
        ),
        (
            with("environment", json!("")),
            json!({}),
            "enforce_environment",
        ),
        (
            with("scope", json!({"nodes": []})),
            json!({}),
            "names no node",
        ),
        (
            with("scope", json!({"nodes": ["a\u{0}"]})),
            json!({}),
            "scope",
        ),
        (with("code_id", json!("ffff")), json!({}), "no-code-manager"),
    ] {
        let reply = converge(&world, deploy.clone(), limits.clone()).await;
        assert!(
            reply.status.is_client_error(),
            "{deploy} {limits}: {}",
            reply.text()
        );
        assert!(reply.text().contains(part), "{part}: {}", reply.text());
    }
    let plans = world.ok(&format!("{V1}/plan_jobs")).await;
    assert_eq!(plans["items"], json!([]));
}
