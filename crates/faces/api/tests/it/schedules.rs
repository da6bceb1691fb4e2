//! Scheduled jobs over the API: every key, every kind of error, permissions, secrets, and the
//! launch of a slot.

use api_types::Route;
use http::StatusCode;
use serde_json::{Value, json};
use store::{GrantRow, NewUserRow};

use crate::agents::Manner;
use crate::doors::token;
use crate::world::{Reply, World};

const PLACE: &str = "/orchestrator/v1/scheduled_jobs/environment_jobs";
const LATER: &str = "2100-01-01T10:00:00+02:00";

/// A valid request for a route of scheduled jobs.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let task = json!({"environment": "production", "task": "test", "params": {},
        "scope": {"nodes": ["a"]}, "scheduled_time": LATER});
    let deploy = json!({"environment": "production", "scope": {"nodes": ["a"]},
        "scheduled_time": LATER});
    let plan = json!({"plan_name": "test::asks", "scheduled_time": LATER});
    let text = |value: Value| value.to_string();
    Some(match route.operation_id {
        "scheduled_create" => (PLACE, text(body())),
        "scheduled" => (PLACE, String::new()),
        "scheduled_one" => (
            "/orchestrator/v1/scheduled_jobs/environment_jobs/1",
            String::new(),
        ),
        "scheduled_update" => (
            "/orchestrator/v1/scheduled_jobs/environment_jobs/1",
            text(json!({"description": "x"})),
        ),
        "scheduled_old" => ("/orchestrator/v1/scheduled_jobs", String::new()),
        "scheduled_delete" => ("/orchestrator/v1/scheduled_jobs/2", String::new()),
        "schedule_deploy" => ("/orchestrator/v1/command/schedule_deploy", text(deploy)),
        "schedule_task" => ("/orchestrator/v1/command/schedule_task", text(task)),
        "schedule_plan" => ("/orchestrator/v1/command/schedule_plan", text(plan)),
        _ => return None,
    })
}

/// Creates the scheduled jobs of the samples: 1 and 2.
pub(crate) async fn prepare(world: &World) {
    for _ in 0..2 {
        make(world, body()).await;
    }
}

fn body() -> Value {
    json!({
        "type": "task",
        "input": {"name": "test", "parameters": {}, "scope": {"nodes": ["a"]}, "targets": [],
            "noop": false, "concurrency": null, "transport": "pxp"},
        "environment": "production",
        "schedule": {"start_time": LATER, "interval": {"units": "seconds", "value": 86_400}},
        "description": "",
        "userdata": {},
    })
}

async fn post(world: &World, body: Value) -> Reply {
    world.post(PLACE, body.to_string()).await
}

async fn make(world: &World, body: Value) -> String {
    let reply = post(world, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let made = reply.json();
    let name = made["scheduled_job"]["name"].as_str().expect("a number");
    name.to_owned()
}

async fn put(world: &World, id: &str, body: Value) -> Reply {
    let path = format!("{PLACE}/{id}");
    let request = world.request("PUT", &path, body.to_string());
    world.send(request).await
}

async fn shown(world: &World, id: &str) -> Value {
    world.ok(&format!("{PLACE}/{id}")).await
}

fn with(key: &str, value: Value) -> Value {
    let mut body = body();
    body[key] = value;
    body
}

fn with_input(key: &str, value: Value) -> Value {
    let mut body = body();
    body["input"][key] = value;
    body
}

#[tokio::test]
async fn a_scheduled_job_is_shown_with_every_key() {
    let world = World::new().await;
    let reply = post(&world, with("userdata", json!({"ticket": 7}))).await;
    let base = "https://tutti.example.com:8143/orchestrator/v1/scheduled_jobs/environment_jobs/1";
    assert_eq!(
        reply.json(),
        json!({"scheduled_job": {"id": base, "name": "1"}})
    );
    let mut job = shown(&world, "1").await;
    assert_eq!(job["owner"]["login"], "admin");
    job["owner"] = json!("…");
    let upcoming = job["upcoming"].as_array().expect("a list").len();
    assert_eq!(upcoming, 10);
    job["upcoming"] = json!("…");
    assert_eq!(
        job,
        json!({
            "id": base,
            "name": "1",
            "enabled": true,
            "environment": "production",
            "owner": "…",
            "description": "",
            "type": "task",
            "input": {
                "name": "test", "parameters": {}, "sensitive_parameters": [],
                "scope": {"nodes": ["a"]}, "targets": [], "noop": false, "concurrency": null,
                "transport": "pxp",
            },
            "userdata": {"ticket": 7},
            "schedule": {
                "start_time": "2100-01-01T08:00:00Z",
                "interval": {"units": "seconds", "value": 86_400},
            },
            "next_run": {"time": "2100-01-01T08:00:00Z"},
            "last_run": null,
            "runs": 0,
            "upcoming": "…",
        })
    );
}

#[tokio::test]
async fn lists_are_paged_and_ordered() {
    let world = World::new().await;
    let deploy = json!({"scope": {"nodes": ["a"]}});
    let mut first = with("type", json!("deploy"));
    first["input"] = deploy;
    first["schedule"] = json!({"start_time": "2101-01-01T00:00:00Z", "interval": null});
    make(&world, first).await;
    make(&world, body()).await;
    let list = world.ok(PLACE).await;
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().expect("a list").iter();
        items
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&list), ["2", "1"], "by the next start");
    assert_eq!(
        list["pagination"],
        json!({"limit": null, "offset": 0, "order_by": "next_run_time", "order": "asc",
            "total": 2, "type": ""})
    );
    for (query, expected) in [
        ("order=desc", vec!["1", "2"]),
        ("order_by=name", vec!["1", "2"]),
        ("order_by=type&order=desc", vec!["2", "1"]),
        ("order_by=environment", vec!["1", "2"]),
        ("order_by=owner&limit=1&offset=1", vec!["2"]),
        ("type=deploy", vec!["1"]),
        ("type=plan", vec![]),
    ] {
        let list = world.ok(&format!("{PLACE}?{query}")).await;
        assert_eq!(names(&list), expected, "{query}");
    }
    for wrong in ["order_by=x", "limit=x", "type=x", "more=1"] {
        let reply = world.get(&format!("{PLACE}?{wrong}")).await;
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
    }
}

#[tokio::test]
async fn every_mistake_has_its_kind_and_makes_nothing() {
    let world = World::new().await;
    let kind = |name: &str| format!("puppetlabs.orchestrator/{name}");
    let times = |schedule: Value| with("schedule", schedule);
    let deploy = |input: Value, environment: &str| {
        let mut body = with("type", json!("deploy"));
        body["input"] = input;
        body["environment"] = json!(environment);
        body
    };
    let cases = [
        (
            times(json!({"start_time": "2001-01-01T00:00:00Z"})),
            "invalid-time",
        ),
        (
            times(json!({"start_time": "2001-01-01T00:00:00Z",
                "interval": {"units": "seconds", "value": 60}})),
            "invalid-time",
        ),
        (times(json!({"cron": "0 0 30 2 *"})), "invalid-time"),
        (times(json!({"start_time": "tomorrow"})), "validation-error"),
        (
            times(json!({"start_time": "2100-01-01T00:00:00"})),
            "validation-error",
        ),
        (
            times(json!({"start_time": LATER, "often": true})),
            "validation-error",
        ),
        (times(json!({"cron": "x"})), "validation-error"),
        (
            times(json!({"cron": "* * * * *", "timezone": "Mars"})),
            "validation-error",
        ),
        (times(json!([])), "validation-error"),
        (
            times(json!({"start_time": LATER, "interval": {"units": "seconds", "value": 0}})),
            "validation-error",
        ),
        (with("environment", json!("nowhere")), "unknown-environment"),
        (with("environment", json!("../x")), "validation-error"),
        (with("environment", json!("")), "validation-error"),
        (with("type", json!("script")), "validation-error"),
        (with("input", json!({})), "validation-error"),
        (with("input", json!(7)), "validation-error"),
        (with("more", json!(1)), "validation-error"),
        (
            with("description", json!("x".repeat(5_000))),
            "validation-error",
        ),
        (with_input("name", json!("nothing")), "unknown-task"),
        (with_input("name", json!("a\u{0}b")), "validation-error"),
        (with_input("more", json!(1)), "validation-error"),
        (with_input("noop", json!(true)), "validation-error"),
        (with_input("scope", json!({"nodes": []})), "empty-target"),
        (with_input("scope", json!({})), "validation-error"),
        (
            with_input("scope", json!({"nodes": ["a"], "query": "x"})),
            "validation-error",
        ),
        (
            with_input("parameters", json!({"x": 1})),
            "validation-error",
        ),
        (
            with_input("parameters", json!({"x": {"value": 1, "type": "query"}})),
            "validation-error",
        ),
        (with_input("name", json!("test::typed")), "validation-error"),
        (
            with_input("targets", json!([{"hostnames": ["a"]}])),
            "validation-error",
        ),
        (with_input("transport", json!("ssh")), "validation-error"),
        (with_input("concurrency", json!(0)), "validation-error"),
        (deploy(json!({}), "production"), "validation-error"),
        (
            deploy(json!({"scope": {"nodes": []}}), "production"),
            "empty-target",
        ),
        (
            deploy(json!({"scope": {"nodes": ["a"]}}), "nowhere"),
            "unknown-environment",
        ),
        (
            deploy(
                json!({"scope": {"nodes": ["a"]}, "noop": true, "no_noop": true}),
                "production",
            ),
            "validation-error",
        ),
        (
            deploy(
                json!({"scope": {"nodes": ["a"]}, "environment": "x"}),
                "production",
            ),
            "validation-error",
        ),
        (
            deploy(
                json!({"scope": {"nodes": ["a"]}, "enforce_environment": true}),
                "",
            ),
            "validation-error",
        ),
    ];
    for (body, expected) in cases {
        let reply = post(&world, body.clone()).await;
        assert_eq!(reply.kind(), kind(expected), "{body}: {}", reply.text());
    }
    let list = world.ok(PLACE).await;
    assert_eq!(list["pagination"]["total"], 0);
    // Only Puppet runs may leave each node in its own environment.
    make(&world, deploy(json!({"scope": {"nodes": ["a"]}}), "")).await;
}

#[tokio::test]
async fn ids_that_are_none_or_nobody() {
    let world = World::new().await;
    for (id, expected) in [
        ("7", "unknown-job"),
        ("x", "validation-error"),
        ("-1", "validation-error"),
        ("99999999999999999999", "validation-error"),
    ] {
        let expected = format!("puppetlabs.orchestrator/{expected}");
        assert_eq!(world.get(&format!("{PLACE}/{id}")).await.kind(), expected);
        assert_eq!(
            put(&world, id, json!({"enabled": false})).await.kind(),
            expected
        );
        let old = format!("/orchestrator/v1/scheduled_jobs/{id}");
        let reply = world.send(world.request("DELETE", &old, "")).await;
        assert_eq!(reply.kind(), expected);
    }
}

#[tokio::test]
async fn an_edit_replaces_keys_whole_and_a_deletion_is_final() {
    let world = World::new().await;
    let id = make(&world, body()).await;
    let changed = put(
        &world,
        &id,
        json!({"schedule": {"cron": "30 2 * * mon", "timezone": "Europe/Berlin",
            "spread_seconds": 60, "overlap": "queue"}, "description": "weekly"}),
    )
    .await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    let now = shown(&world, &id).await;
    assert_eq!(now["description"], "weekly");
    assert_eq!(now["input"]["name"], "test", "what is not given stays");
    assert_eq!(now["schedule"]["cron"], "30 2 * * mon");
    assert_eq!(now["schedule"]["interval"], Value::Null);
    assert_eq!(now["schedule"]["overlap"], "queue");
    let refused = put(
        &world,
        &id,
        json!({"input": {"name": "nothing", "scope": {"nodes": ["a"]}}}),
    );
    assert_eq!(refused.await.kind(), "puppetlabs.orchestrator/unknown-task");
    let gone = put(&world, &id, json!({"enabled": false})).await;
    assert_eq!(gone.status, StatusCode::OK);
    for body in [
        json!({"description": "x"}),
        json!({"enabled": true}),
        json!({"enabled": false}),
    ] {
        let reply = put(&world, &id, body).await;
        assert_eq!(
            reply.kind(),
            "puppetlabs.orchestrator/disabled-scheduled-job"
        );
    }
    let now = shown(&world, &id).await;
    assert_eq!(
        (&now["enabled"], &now["next_run"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(world.ok(PLACE).await["items"], json!([]));
}

#[tokio::test]
async fn the_deprecated_commands_make_the_same() {
    let world = World::new().await;
    let options = json!({"interval": {"units": "seconds", "value": 3_600}});
    let task = json!({"environment": "production", "task": "test", "params": {},
        "scope": {"nodes": ["a"]}, "scheduled_time": LATER, "schedule_options": options});
    let path = "/orchestrator/v1/command/schedule_task";
    let reply = world.post(path, task.to_string()).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    assert_eq!(
        reply.json()["scheduled_job"],
        json!({"id": "https://tutti.example.com:8143/orchestrator/v1/scheduled_jobs/1", "name": "1"})
    );
    assert_eq!(
        shown(&world, "1").await["schedule"]["interval"]["value"],
        3_600
    );
    let deploy = json!({"environment": "production", "scope": {"nodes": ["a"]}, "noop": true,
        "scheduled_time": LATER});
    let path = "/orchestrator/v1/command/schedule_deploy";
    assert_eq!(
        world.post(path, deploy.to_string()).await.status,
        StatusCode::ACCEPTED
    );
    let job = shown(&world, "2").await;
    assert_eq!(
        (&job["type"], &job["input"]["noop"]),
        (&json!("deploy"), &json!(true))
    );
    let plan = json!({"plan_name": "test::works", "params": {"nodes": ["a"]},
        "scheduled_time": LATER});
    let path = "/orchestrator/v1/command/schedule_plan";
    assert_eq!(
        world.post(path, plan.to_string()).await.status,
        StatusCode::ACCEPTED
    );
    assert_eq!(
        shown(&world, "3").await["input"]["parameters"],
        json!({"nodes": ["a"]})
    );
    let past = json!({"plan_name": "test::asks", "scheduled_time": "2001-01-01T00:00:00Z"});
    let refused = world.post(path, past.to_string()).await;
    assert_eq!(refused.kind(), "puppetlabs.orchestrator/invalid-time");
    for body in [
        json!({"plan_name": "a"}),
        json!({"scheduled_time": LATER}),
        json!({
        "plan_name": "a", "scheduled_time": LATER, "more": 1}),
    ] {
        let refused = world.post(path, body.to_string()).await;
        assert_eq!(refused.kind(), "puppetlabs.orchestrator/validation-error");
    }
    let delete = world.request("DELETE", "/orchestrator/v1/scheduled_jobs/3", "");
    assert_eq!(world.send(delete).await.status, StatusCode::NO_CONTENT);
    let list = world.ok("/orchestrator/v1/scheduled_jobs").await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(2));
}

/// A13: the value is neither shown nor stored in plain text.
#[tokio::test]
async fn secret_parameters_are_names_only() {
    let world = World::new().await;
    let mut asked = with_input("name", json!("test::typed"));
    asked["input"]["parameters"] =
        json!({"name": {"value": "x"}, "password": {"value": "hunter2"}});
    let id = make(&world, asked).await;
    let job = shown(&world, &id).await;
    assert_eq!(job["input"]["parameters"], json!({"name": "x"}));
    assert_eq!(job["input"]["sensitive_parameters"], json!(["password"]));
    assert_eq!(
        put(&world, &id, json!({"description": "y"})).await.status,
        StatusCode::OK
    );
    assert!(!shown(&world, &id).await.to_string().contains("hunter2"));
    for name in ["tutti.db", "tutti.db-wal"] {
        let bytes = std::fs::read(world.dir.path().join(name)).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&bytes).contains("hunter2"),
            "{name}"
        );
    }
    // The metadata of the task no longer marks the parameter as sensitive.
    let metadata = "code/environments/production/modules/test/tasks/typed.json";
    let parameters = json!({"name": {"type": "String"}, "password": {"type": "String"}});
    let forgetful = json!({ "parameters": parameters }).to_string();
    std::fs::write(world.dir.path().join(metadata), forgetful).expect("written");
    let edit = json!({"description": "z"});
    assert_eq!(put(&world, &id, edit).await.status, StatusCode::OK);
    let job = shown(&world, &id).await;
    assert_eq!(job["input"]["sensitive_parameters"], json!(["password"]));
    assert!(!job.to_string().contains("hunter2"));
    // The run still gets the secret.
    let now = world.start_soon(&id).await;
    let job = now["last_run"]["job"]["name"].as_i64().expect("a job");
    let options = world.ok(&format!("/orchestrator/v1/jobs/{job}")).await["options"].clone();
    assert_eq!(options["params"]["password"], "Sensitive [value redacted]");
    assert_eq!(options["scheduled-job-id"], 1);
}

#[tokio::test]
async fn a_slot_becomes_a_job_of_its_owner() {
    let world = World::new().await;
    world.nodes(1, &Manner::default());
    let id = make(&world, body()).await;
    let now = world.start_soon(&id).await;
    let job = now["last_run"]["job"]["name"]
        .as_i64()
        .expect("a bare number");
    assert_eq!(
        now["last_run"]["job"]["id"],
        format!("https://tutti.example.com:8143/orchestrator/v1/jobs/{job}")
    );
    let job = world.ok(&format!("/orchestrator/v1/jobs/{job}")).await;
    assert_eq!(job["owner"]["login"], "admin");
    assert_eq!(job["options"]["scheduled-job-id"], 1);
}

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

const RITA: &str = "00000000-0000-4000-8000-000000041ca0";
const FRED: &str = "00000000-0000-4000-8000-0000000f4ed5";

/// Creates the user Fred, who may view and run the task `test`.
async fn fred(world: &World) -> String {
    let user = NewUserRow {
        id: FRED.to_owned(),
        login: "fred".to_owned(),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        is_superuser: false,
        is_remote: false,
        created_ms: 0,
    };
    world.store.insert_user(user).await.unwrap();
    token(world, "freds", FRED, i64::MAX).await;
    let admin = world.store.user_by_login("admin").await.unwrap().unwrap();
    let admin = world.state.access.load_identity(&admin.id).await.unwrap();
    let spec = rbac::RoleSpec {
        display_name: "runners".to_owned(),
        permissions: vec![
            rbac::PermissionGrant::new("orchestrator", "view", "*"),
            rbac::PermissionGrant::new("tasks", "run", "test"),
            rbac::PermissionGrant::new("plans", "run", "test::asks"),
        ],
        user_ids: vec![FRED.to_owned()],
        ..rbac::RoleSpec::default()
    };
    world.state.access.create_role(&admin, spec).await.unwrap();
    FRED.to_owned()
}

async fn as_fred(world: &World, method: &str, path: &str, body: Value) -> Reply {
    let mut request = world.request(method, path, body.to_string());
    let token = http::HeaderValue::from_static("freds");
    request.headers_mut().insert("X-Authentication", token);
    world.send(request).await
}

/// A3, A4: a scheduled job runs nothing that its owner may not run now, and not with the
/// permissions of another user.
#[tokio::test]
async fn the_clock_lends_nobody_a_right() {
    let world = World::new().await;
    fred(&world).await;
    let own = as_fred(&world, "POST", PLACE, body()).await;
    assert_eq!(own.status, StatusCode::OK, "{}", own.text());
    let not_permitted = "puppetlabs.orchestrator/not-permitted";
    let other = as_fred(
        &world,
        "POST",
        PLACE,
        with_input("name", json!("test::typed")),
    )
    .await;
    assert_eq!(other.kind(), not_permitted);
    let mut deploy = with("type", json!("deploy"));
    deploy["input"] = json!({"scope": {"nodes": ["a"]}});
    assert_eq!(
        as_fred(&world, "POST", PLACE, deploy).await.kind(),
        not_permitted
    );
    let query = with_input("scope", json!({"query": "nodes {}"}));
    let refused = as_fred(&world, "POST", PLACE, query).await;
    assert_eq!(refused.kind(), "puppetlabs.orchestrator/query-error");
    // A scheduled job of the administrator: Fred can neither edit nor delete it.
    let id = make(&world, body()).await;
    let path = format!("{PLACE}/{id}");
    for change in [json!({"description": "mine"}), json!({"enabled": false})] {
        assert_eq!(
            as_fred(&world, "PUT", &path, change).await.kind(),
            not_permitted
        );
    }
    let old = format!("/orchestrator/v1/scheduled_jobs/{id}");
    assert_eq!(
        as_fred(&world, "DELETE", &old, json!(null)).await.kind(),
        not_permitted
    );
    // The administrator may delete Fred's scheduled job, but not edit it: it runs with Fred's
    // permissions.
    let edit = put(&world, "1", json!({"description": "x"})).await;
    assert_eq!(edit.kind(), not_permitted);
    assert_eq!(
        put(&world, "1", json!({"enabled": false})).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_owner_who_lost_the_right_or_is_revoked_gets_an_error_and_no_run() {
    let world = World::new().await;
    fred(&world).await;
    for _ in 0..2 {
        let made = as_fred(&world, "POST", PLACE, body()).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }
    let role = world.store.roles().await.unwrap();
    let role = role
        .iter()
        .find(|role| role.display_name == "runners")
        .unwrap();
    let left = vec![GrantRow {
        object_type: "orchestrator".to_owned(),
        action: "view".to_owned(),
        instance: "*".to_owned(),
    }];
    let mut changed = role.clone();
    changed.permissions = left;
    world.store.put_role(changed).await.unwrap();
    let lost = world.start_soon("1").await;
    let told = &lost["last_run"]["job"]["submission_error"];
    assert_eq!(
        told["kind"], "puppetlabs.orchestrator/not-permitted",
        "{lost}"
    );
    let revoked = store::UserChange {
        is_revoked: Some(true),
        ..store::UserChange::default()
    };
    world.store.update_user(FRED, revoked).await.unwrap();
    let gone = world.start_soon("2").await;
    let told = &gone["last_run"]["job"]["submission_error"];
    assert!(
        told["msg"].as_str().unwrap().contains("is revoked"),
        "{gone}"
    );
    assert_eq!(
        world.ok("/orchestrator/v1/jobs").await["pagination"]["total"],
        0
    );
}

#[tokio::test]
async fn the_clock_starts_nothing_for_who_is_gone_from_his_directory() {
    let world = World::new().await;
    let remote = NewUserRow {
        id: RITA.to_owned(),
        login: "rita".to_owned(),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        // The permissions of this user are not the reason for the refusal.
        is_superuser: true,
        is_remote: true,
        created_ms: 0,
    };
    world.store.insert_user(remote).await.unwrap();
    let origin = store::UserOrigin {
        origin: "ldap:one".to_owned(),
        subject: "rita".to_owned(),
    };
    let (store, access) = (&world.store, &world.state.access);
    store.set_user_origin(RITA, &origin, 0).await.unwrap();
    // A user without a token and without a scheduled job is not looked up in the directory.
    let due = async || {
        let due = access.due_remote_users("ldap:one", std::time::Duration::ZERO, 10);
        due.await.unwrap()
    };
    assert_eq!(due().await, []);
    token(&world, "ritas", RITA, i64::MAX).await;
    for _ in 0..2 {
        let mut request = world.request("POST", PLACE, body().to_string());
        let shown = http::HeaderValue::from_static("ritas");
        request.headers_mut().insert("X-Authentication", shown);
        let made = world.send(request).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }
    store.revoke_tokens_of(RITA, None, 0).await.unwrap();
    let asked = due().await;
    assert_eq!(asked.len(), 1, "for her schedules");
    access.revoke_remote_user(&asked[0]).await.unwrap();
    let gone = world.start_soon("1").await;
    let told = &gone["last_run"]["job"]["submission_error"];
    assert!(
        told["msg"].as_str().unwrap().contains("directory any more"),
        "{gone}"
    );
    // The user is in the directory again, without a login in between.
    let back = rbac::RemoteUser {
        origin: origin.origin,
        subject: origin.subject,
        login: "rita".to_owned(),
        ..rbac::RemoteUser::default()
    };
    let stays = access.confirm_remote_user(&asked[0], back);
    Box::pin(stays).await.unwrap();
    let back = world.start_soon("2").await;
    let told = &back["last_run"]["job"]["submission_error"];
    assert_eq!(*told, Value::Null, "{back}");
}

#[tokio::test]
async fn what_the_clock_does_is_in_the_audit() {
    let world = World::new().await;
    let id = make(&world, body()).await;
    world.start_soon(&id).await;
    let rows = world.store.audit_entries(1, 1_000).await.unwrap();
    let actions: Vec<&str> = rows.iter().map(|row| row.entry.action.as_str()).collect();
    assert!(actions.contains(&"scheduled_job_start"), "{actions:?}");
}

impl World {
    /// Waits for the audit entry of this action, and returns it.
    async fn audited(&self, action: &str) -> String {
        let waiting = async {
            loop {
                let rows = self.store.audit_entries(1, 1_000).await.unwrap();
                if let Some(row) = rows.iter().find(|row| row.entry.action == action) {
                    return format!("{row:?}");
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let patience = std::time::Duration::from_secs(20);
        tokio::time::timeout(patience, waiting)
            .await
            .expect("it is written")
    }

    /// Makes a scheduled job start at once; returns it when it has started.
    async fn start_soon(&self, id: &str) -> Value {
        let number: i64 = id.parse().expect("a number");
        let row = self.store.schedule(number).await.unwrap().unwrap();
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let mut edit = row.edit.clone();
        let mut timetable: Value = serde_json::from_str(&edit.timetable).unwrap();
        timetable["start_ms"] = json!(now_ms - 1_000);
        timetable["rule"] = json!("once");
        edit.timetable = timetable.to_string();
        edit.advance = store::ScheduleProgress {
            cursor_ms: Some(now_ms - 2_000),
            next_slot_ms: Some(now_ms - 1_000),
            next_ms: Some(now_ms - 1_000),
            queued_ms: None,
        };
        let written = self
            .store
            .update_schedule(number, row.revision, edit, true)
            .await;
        assert!(written.unwrap());
        // Every change wakes the scheduler.
        make(self, body()).await;
        let waiting = async {
            loop {
                let now = shown(self, id).await;
                let kind = now["last_run"]["job"]["submission_error"]["kind"].clone();
                if !now["last_run"].is_null() && kind != "tutti/submission-pending" {
                    return now;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let patience = std::time::Duration::from_secs(20);
        tokio::time::timeout(patience, waiting)
            .await
            .expect("it starts")
    }
}
