//! Scheduled jobs over the API: every key, every kind of error, permissions, secrets, and the
//! launch of a slot.

use api_types::Route;
use http::StatusCode;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::{Reply, World};

pub(crate) const PLACE: &str = "/orchestrator/v1/scheduled_jobs/environment_jobs";
pub(crate) const LATER: &str = "2100-01-01T10:00:00+02:00";

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

pub(crate) fn body() -> Value {
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

pub(crate) async fn post(world: &World, body: Value) -> Reply {
    world.post(PLACE, body.to_string()).await
}

pub(crate) async fn make(world: &World, body: Value) -> String {
    let reply = post(world, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let made = reply.json();
    let name = made["scheduled_job"]["name"].as_str().expect("a number");
    name.to_owned()
}

pub(crate) async fn put(world: &World, id: &str, body: Value) -> Reply {
    let path = format!("{PLACE}/{id}");
    let request = world.request("PUT", &path, body.to_string());
    world.send(request).await
}

pub(crate) async fn shown(world: &World, id: &str) -> Value {
    world.ok(&format!("{PLACE}/{id}")).await
}

pub(crate) fn with(key: &str, value: Value) -> Value {
    let mut body = body();
    body[key] = value;
    body
}

pub(crate) fn with_input(key: &str, value: Value) -> Value {
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

#[tokio::test]
async fn regular_runs_are_spread_in_each_job() {
    let world = World::new().await;
    world.nodes(2, &Manner::default());
    let mut regular = with("type", json!("deploy"));
    regular["input"] = json!({"scope": {"nodes": ["a", "b"]}, "splay": 1});
    let id = make(&world, regular).await;
    assert_eq!(shown(&world, &id).await["input"]["splay"], 1);
    let now = world.start_soon(&id).await;
    let job = now["last_run"]["job"]["name"].as_i64().expect("a job");
    let job = world.ok(&format!("/orchestrator/v1/jobs/{job}")).await;
    assert_eq!(job["options"]["splay"], 1);
}

/// Otherwise every slot would be refused.
#[tokio::test]
async fn a_splay_of_nodes_in_order_is_refused_when_it_is_scheduled() {
    let world = World::new().await;
    let mut regular = with("type", json!("deploy"));
    regular["input"] = json!({"scope": {"application": "Lamp"}, "splay": 60});
    let refused = post(&world, regular).await;
    assert_eq!(
        refused.status,
        StatusCode::BAD_REQUEST,
        "{}",
        refused.text()
    );
    assert!(
        refused
            .text()
            .contains("splay: contradicts scope.application"),
        "{}",
        refused.text()
    );
}

/// Such as the nodes whose last run failed: there may be none now.
#[tokio::test]
async fn a_query_may_find_no_node_yet() {
    let world = crate::deploys::knowing(Ok(&[])).await;
    let failed = json!({"query": "nodes[certname] { latest_report_status = \"failed\" }"});
    for mut body in [with("type", json!("deploy")), body()] {
        body["input"]["scope"] = failed.clone();
        if body["type"] == "deploy" {
            body["input"] = json!({"scope": failed});
        }
        let id = make(&world, body).await;
        let now = world.start_soon(&id).await;
        let error = &now["last_run"]["job"]["submission_error"];
        assert_eq!(
            error["kind"], "puppetlabs.orchestrator/empty-target",
            "{now}"
        );
    }
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
    pub(crate) async fn audited(&self, action: &str) -> String {
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
    pub(crate) async fn start_soon(&self, id: &str) -> Value {
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
