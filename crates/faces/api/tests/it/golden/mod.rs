//! The exact JSON of every route of the orchestrator's API, in the files of `snapshots`: status,
//! keys, types and values, without those that differ from run to run. A route without a snapshot
//! fails.

use std::collections::BTreeSet;

use api_types::routes;
use jobs::PlanStart;
use serde_json::{Value, json};

use crate::answers::plain;
use crate::deploys::{changed, knowing};
use crate::plan_programs::settled;
use crate::world::World;

const V1: &str = "/orchestrator/v1";

/// Routes that do not return JSON, or have a test of their own.
const ELSEWHERE: &[&str] = &["events_stream", "openapi_document"];

/// Requests after which the test waits until the plan has ended or needs an answer.
const SETTLE: &[&str] = &[
    "command_plan_run",
    "command_environment_plan_run",
    "plan_run_asking",
    "plan_run_failing",
    "command_plan_resume",
];

/// Operation, method, path below `/orchestrator/v1`, and body; sent in this order to one server.
fn requests() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let none = Value::Null;
    let scope = json!({"nodes": ["a"]});
    let later = "2100-01-01T10:00:00Z";
    let scheduled = json!({"type": "task", "input": {"name": "test", "parameters": {},
        "scope": scope, "targets": [], "noop": false, "concurrency": null, "transport": "pxp"},
        "environment": "production", "description": "", "userdata": {},
        "schedule": {"start_time": later, "interval": {"units": "seconds", "value": 86_400}}});
    let target = json!({"display_name": "tests", "tasks": ["test"], "nodes": ["a"],
        "node_groups": []});
    let old_task = json!({"environment": "production", "task": "test", "params": {},
        "scope": scope, "scheduled_time": later});
    let old_deploy = json!({"environment": "production", "scope": scope, "scheduled_time": later});
    let plan = json!({"plan_name": "app::deploy", "params": {}});
    let rollout = json!({"plan_name": "test::rollout", "params": {"targets": ["a"]},
        "description": "ticket 7", "userdata": {"ticket": 7}, "timeout": 600});
    let typed = json!({"plan_name": "test::rollout", "environment": "production",
        "params": {"targets": {"value": "nodes{}", "type": "query"}, "version": {"value": "2"}}});
    let wrong = json!({"plan_name": "test::rollout", "params": {"version": 2, "colour": "red"}});
    vec![
        ("root", "GET", "", none.clone()),
        ("root_v1", "GET", "", none.clone()),
        ("root_v1_slash", "GET", "/", none.clone()),
        ("orchestrator_status", "GET", "/status", none.clone()),
        (
            "command_task",
            "POST",
            "/command/task",
            json!({"task": "test", "scope": scope}),
        ),
        (
            "command_deploy",
            "POST",
            "/command/deploy",
            json!({"environment": "production", "scope": scope}),
        ),
        ("command_plan_start", "POST", "/command/plan_start", plan),
        (
            "command_plan_task",
            "POST",
            "/command/plan_task",
            json!({"task": "test", "scope": scope, "plan_job": "2"}),
        ),
        (
            "command_plan_finish",
            "POST",
            "/command/plan_finish",
            json!({"plan_job": "2", "result": [1, {"a": null}], "status": "success"}),
        ),
        (
            "command_stop_plan",
            "POST",
            "/command/stop_plan",
            json!({"plan_job": "1"}),
        ),
        ("command_plan_run", "POST", "/command/plan_run", rollout),
        (
            "command_environment_plan_run",
            "POST",
            "/command/environment_plan_run",
            typed,
        ),
        ("plan_run_wrong", "POST", "/command/plan_run", wrong),
        (
            "plan_run_asking",
            "POST",
            "/command/plan_run",
            json!({"plan_name": "test::asks"}),
        ),
        (
            "plan_job_steps",
            "GET",
            "/plan_jobs/5/steps?limit=10",
            none.clone(),
        ),
        (
            "plan_job_events_asking",
            "GET",
            "/plan_jobs/5/events",
            none.clone(),
        ),
        (
            "command_plan_answer",
            "POST",
            "/command/plan_answer",
            json!({"plan_job": "5", "step": "1", "answer": "yes"}),
        ),
        (
            "plan_answer_late",
            "POST",
            "/command/plan_answer",
            json!({"plan_job": "5", "step": "1", "answer": "yes"}),
        ),
        (
            "plan_run_failing",
            "POST",
            "/command/plan_run",
            json!({"plan_name": "test::fails"}),
        ),
        (
            "command_plan_resume",
            "POST",
            "/command/plan_resume",
            json!({"plan_job": "6"}),
        ),
        (
            "plan_resume_unknown_step",
            "POST",
            "/command/plan_resume",
            json!({"plan_job": "6", "from_step": "2.1"}),
        ),
        ("plan_job_run", "GET", "/plan_jobs/3", none.clone()),
        ("command_stop", "POST", "/command/stop", json!({"job": "1"})),
        (
            "command_ping",
            "POST",
            "/command/ping",
            json!({"nodes": ["nobody"]}),
        ),
        ("leases", "POST", "/leases", json!({"nodes": ["nobody"]})),
        (
            "command_release_leases",
            "POST",
            "/command/release_leases",
            json!({"nodes": ["nobody"]}),
        ),
        ("jobs", "GET", "/jobs?limit=2&order_by=name", none.clone()),
        ("job", "GET", "/jobs/1", none.clone()),
        ("job_nodes", "GET", "/jobs/1/nodes", none.clone()),
        ("job_report", "GET", "/jobs/1/report", none.clone()),
        ("job_events", "GET", "/jobs/1/events", none.clone()),
        ("plan_jobs", "GET", "/plan_jobs", none.clone()),
        ("plan_job", "GET", "/plan_jobs/2", none.clone()),
        (
            "plan_job_events",
            "GET",
            "/plan_jobs/2/events",
            none.clone(),
        ),
        (
            "plan_job_event",
            "GET",
            "/plan_jobs/2/event/2",
            none.clone(),
        ),
        ("plans", "GET", "/plans", none.clone()),
        ("plan", "GET", "/plans/test/rollout", none.clone()),
        ("plan_unknown", "GET", "/plans/app/deploy", none.clone()),
        ("tasks", "GET", "/tasks", none.clone()),
        ("task", "GET", "/tasks/test/typed", none.clone()),
        (
            "task_permitted",
            "GET",
            "/tasks/test/init/permitted",
            none.clone(),
        ),
        ("inventory", "GET", "/inventory", none.clone()),
        ("inventory_node", "GET", "/inventory/nobody", none.clone()),
        (
            "inventory_query",
            "POST",
            "/inventory",
            json!({"nodes": ["a", "nobody"]}),
        ),
        (
            "selected_nodes",
            "POST",
            "/selected_nodes",
            json!({"nodes": ["a", "/^b$/"]}),
        ),
        ("code_environments", "GET", "/environments", none.clone()),
        (
            "code_environment",
            "GET",
            "/environments/production",
            none.clone(),
        ),
        (
            "applications",
            "GET",
            "/environments/production/applications",
            none.clone(),
        ),
        (
            "instances",
            "GET",
            "/environments/production/instances",
            none.clone(),
        ),
        (
            "run_order",
            "POST",
            "/environments/production/run_order",
            json!({"scope": {"nodes": ["a", "nobody"]}}),
        ),
        (
            "usage",
            "GET",
            "/usage?start_date=2001-02-28&end_date=2001-03-01",
            none.clone(),
        ),
        (
            "command_task_target",
            "POST",
            "/command/task_target",
            target,
        ),
        ("task_targets", "GET", "/scopes/task_targets", none.clone()),
        ("task_target", "GET", "/scopes/task_targets/1", none.clone()),
        (
            "task_target_delete",
            "DELETE",
            "/scopes/task_targets/1",
            none.clone(),
        ),
        (
            "scheduled_create",
            "POST",
            "/scheduled_jobs/environment_jobs",
            scheduled,
        ),
        (
            "scheduled",
            "GET",
            "/scheduled_jobs/environment_jobs",
            none.clone(),
        ),
        (
            "scheduled_one",
            "GET",
            "/scheduled_jobs/environment_jobs/1",
            none.clone(),
        ),
        (
            "scheduled_update",
            "PUT",
            "/scheduled_jobs/environment_jobs/1",
            json!({"description": "x"}),
        ),
        (
            "schedule_deploy",
            "POST",
            "/command/schedule_deploy",
            old_deploy,
        ),
        ("schedule_task", "POST", "/command/schedule_task", old_task),
        (
            "schedule_plan",
            "POST",
            "/command/schedule_plan",
            json!({"plan_name": "test::asks", "scheduled_time": later}),
        ),
        ("scheduled_old", "GET", "/scheduled_jobs", none.clone()),
        ("scheduled_delete", "DELETE", "/scheduled_jobs/2", none),
        (
            "command_action",
            "POST",
            "/command/action",
            json!({"type": "command", "params": {"command": "uptime"}, "scope": scope}),
        ),
        (
            "command_converge",
            "POST",
            "/command/converge",
            json!({"deploy": {"environment": "production", "scope": scope}, "limits": {"max_waves": 3}}),
        ),
        (
            "command_multi_pass",
            "POST",
            "/command/multi_pass",
            json!({"deploy": {"environment": "production", "scope": scope}}),
        ),
    ]
}

/// A server with an ended job and a running plan job.
async fn prepared() -> World {
    let world = knowing(Ok(&["a"])).await;
    let nodes = world.nodes(1, &changed());
    let job = world.run(&nodes).await;
    world.over(&job).await;
    let admin = world.store.user_by_login("admin").await.expect("read");
    let plan = PlanStart {
        plan: "app".to_owned(),
        owner: "admin".to_owned(),
        owner_id: admin.expect("there").id,
        ..PlanStart::default()
    };
    let plans = world.state.jobs.plan_jobs();
    plans.start(plan).await.expect("started");
    world
}

#[tokio::test]
async fn every_route_answers_exactly_so() {
    let world = prepared().await;
    for (operation, method, path, body) in requests() {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        if operation == "command_action" {
            crate::actions::write_shim(&world);
        }
        let request = world.request(method, &format!("{V1}{path}"), body);
        let reply = world.send(request).await;
        let answer = match reply.body.is_empty() {
            true => Value::Null,
            false => plain(reply.json()),
        };
        if let Some(job) = answer["job"]["name"].as_str() {
            world.over(job).await;
        }
        if reply.status == 202 && SETTLE.contains(&operation) {
            let plan = answer["name"].as_str().expect("a number");
            settled(&world, plan.parse().expect("a number")).await;
        }
        let shown = json!({"status": reply.status.as_u16(), "body": answer});
        insta::assert_json_snapshot!(operation, shown);
    }
}

#[test]
fn every_route_of_the_orchestrator_has_its_golden_answer() {
    let golden: BTreeSet<_> = requests()
        .iter()
        .map(|(operation, ..)| *operation)
        .collect();
    let ours = routes::ALL
        .iter()
        .filter(|route| route.path.starts_with("/orchestrator"));
    let missing: Vec<_> = ours
        .map(|route| route.operation_id)
        .filter(|operation| !golden.contains(operation) && !ELSEWHERE.contains(operation))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// The 44 routes that known clients use, by method and path; none may be removed.
#[test]
fn the_routes_that_clients_know_are_there() {
    let known = [
        "GET /orchestrator",
        "GET /orchestrator/v1",
        "POST command/deploy",
        "POST command/stop",
        "POST command/stop_plan",
        "POST command/task",
        "POST command/task_target",
        "POST command/plan_run",
        "POST command/environment_plan_run",
        "POST command/schedule_deploy",
        "POST command/schedule_task",
        "POST command/schedule_plan",
        "GET inventory",
        "GET inventory/{}",
        "POST inventory",
        "GET jobs",
        "GET jobs/{}",
        "GET jobs/{}/nodes",
        "GET jobs/{}/report",
        "GET jobs/{}/events",
        "GET scheduled_jobs/environment_jobs",
        "POST scheduled_jobs/environment_jobs",
        "GET scheduled_jobs/environment_jobs/{}",
        "PUT scheduled_jobs/environment_jobs/{}",
        "GET scheduled_jobs",
        "DELETE scheduled_jobs/{}",
        "GET plans",
        "GET plans/{}/{}",
        "GET plan_jobs",
        "GET plan_jobs/{}",
        "GET plan_jobs/{}/events",
        "GET plan_jobs/{}/event/{}",
        "GET tasks",
        "GET tasks/{}/{}",
        "GET tasks/{}/{}/permitted",
        "GET usage",
        "GET scopes/task_targets",
        "GET scopes/task_targets/{}",
        "GET environments",
        "GET environments/{}",
        "GET environments/{}/applications",
        "GET environments/{}/instances",
        "GET status",
        "POST command/plan_start",
        "POST command/plan_task",
        "POST command/plan_finish",
        "GET swagger.json",
    ];
    let unnamed = |path: &str| {
        let part = |part: &str| match part.starts_with('{') {
            true => "{}".to_owned(),
            false => part.to_owned(),
        };
        let parts: Vec<_> = path.split('/').map(part).collect();
        let path = parts.join("/");
        match path.strip_prefix("/orchestrator/v1/") {
            Some(rest) => rest.to_owned(),
            None => path,
        }
    };
    let there: BTreeSet<_> = routes::ALL
        .iter()
        .map(|route| format!("{} {}", route.method, unnamed(route.path)))
        .collect();
    let missing: Vec<_> = known
        .into_iter()
        .filter(|route| !there.contains(*route))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
