//! Plans that start at scheduled times.

use http::StatusCode;
use serde_json::{Value, json};

use crate::schedule_owners::{as_fred, fred};
use crate::schedules::{PLACE, make, post, shown, with};
use crate::world::World;

fn plan_body(name: &str, parameters: Value) -> Value {
    let mut plan = with("type", json!("plan"));
    plan["input"] = json!({"name": name, "parameters": parameters});
    plan
}

async fn plan_job(world: &World, now: &Value) -> Value {
    let job = &now["last_run"]["job"];
    let number = job["name"].as_i64().expect("a bare number");
    let path = format!("/orchestrator/v1/plan_jobs/{number}");
    assert_eq!(
        job["id"],
        format!("https://tutti.example.com:8143{path}"),
        "{now}"
    );
    world.ok(&path).await
}

#[tokio::test]
async fn a_slot_becomes_a_plan_job_of_its_owner() {
    let world = World::new().await;
    let parameters = json!({"targets": {"value": ["a"]}, "password": {"value": "CANARY"}});
    let id = make(&world, plan_body("test::rollout", parameters)).await;
    let input = shown(&world, &id).await["input"].clone();
    assert_eq!(input["parameters"], json!({"targets": ["a"]}));
    assert_eq!(input["sensitive_parameters"], json!(["password"]));
    let now = world.start_soon(&id).await;
    assert!(!now.to_string().contains("CANARY"));
    let job = plan_job(&world, &now).await;
    assert_eq!(job["owner"]["login"], "admin");
    let options = &job["options"];
    assert_eq!(options["plan_name"], "test::rollout");
    assert_eq!(options["parameters"], json!({"targets": ["a"]}));
    assert_eq!(options["sensitive"], json!(["password"]));
    assert_eq!(options["scheduled_job_id"], 1);
    assert_eq!(options["unattended"], true, "no person is there to answer");
    let started = world.audited("scheduled_job_started").await;
    assert!(
        started.contains("plan_job") && !started.contains("CANARY"),
        "{started}"
    );
}

#[tokio::test]
async fn a_plan_that_cannot_run_is_not_scheduled() {
    let world = World::new().await;
    let typed = |kind: &str| json!({"value": "nodes{}", "type": kind});
    for (name, parameters, kind, words) in [
        ("a::b", json!({}), "unknown-plan", "a::b"),
        ("test::secret", json!({}), "validation-error", "is private"),
        ("test::rollout", json!({}), "validation-error", "targets"),
        (
            "test::works",
            json!({"nodes": {"value": ["a"]}, "colour": {"value": "red"}}),
            "validation-error",
            "colour",
        ),
        (
            "test::works",
            json!({"nodes": typed("application")}),
            "validation-error",
            "query",
        ),
    ] {
        let refused = post(&world, plan_body(name, parameters)).await;
        assert_eq!(
            refused.kind(),
            format!("puppetlabs.orchestrator/{kind}"),
            "{}",
            refused.text()
        );
        assert!(refused.text().contains(words), "{}", refused.text());
    }
    assert_eq!(world.ok(PLACE).await["items"], json!([]));
}

#[tokio::test]
async fn a_scheduled_plan_needs_the_right_of_its_owner_at_that_moment() {
    let world = World::new().await;
    fred(&world).await;
    let other = plan_body("test::fails", json!({}));
    let refused = as_fred(&world, "POST", PLACE, other).await;
    assert_eq!(refused.kind(), "puppetlabs.orchestrator/not-permitted");
    let asks = || plan_body("test::asks", json!({}));
    for _ in 0..2 {
        let made = as_fred(&world, "POST", PLACE, asks()).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }
    let now = world.start_soon("1").await;
    assert_eq!(plan_job(&world, &now).await["owner"]["login"], "fred");
    let roles = world.store.roles().await.unwrap();
    let runners = roles.iter().find(|role| role.display_name == "runners");
    let mut runners = runners.unwrap().clone();
    runners
        .permissions
        .retain(|grant| grant.object_type != "plans");
    world.store.put_role(runners).await.unwrap();
    let lost = world.start_soon("2").await;
    let told = &lost["last_run"]["job"]["submission_error"];
    assert_eq!(
        told["kind"], "puppetlabs.orchestrator/not-permitted",
        "{lost}"
    );
    let jobs = world.ok("/orchestrator/v1/plan_jobs").await;
    assert_eq!(jobs["pagination"]["total"], 1);
}
