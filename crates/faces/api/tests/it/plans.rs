//! Plans in lists and details, plan jobs that Bolt records, and errors of both.

use api_types::Route;
use http::StatusCode;
use jobs::PlanStart;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::task_rights::as_somebody;
use crate::world::{Reply, World};

const V1: &str = "/orchestrator/v1";

/// The test plans that are not private.
const PLANS: [&str; 5] = [
    "test::asks",
    "test::broken",
    "test::fails",
    "test::rollout",
    "test::works",
];

/// The status of a valid request to a route. The sample of `plan` names an unknown plan.
pub(crate) fn opened(route: &Route) -> u16 {
    if let Some(status) = crate::directories::opened(route) {
        return status;
    }
    match route.operation_id {
        "plan" | "run_report" | "node_catalog" | "node_catalog_history" => 404,
        _ => route.success(),
    }
}

/// Replaces `<plan_job>` and the like in a sample request by plan jobs, of which `<plan_job>`
/// belongs to the user.
pub(crate) async fn filled(
    world: &World,
    path: String,
    body: String,
    token: Option<&str>,
) -> (String, String) {
    let mut body = body;
    for (place, plan) in [
        ("<asking_plan>", "test::asks"),
        ("<failed_plan>", "test::fails"),
    ] {
        if body.contains(place) {
            let number = crate::plan_programs::run(world, plan).await;
            body = body.replace(place, &number.to_string());
        }
    }
    if !path.contains("<plan_job>") && !body.contains("<plan_job>") {
        return (path, body);
    }
    let user = match token {
        Some(token) => world.state.access.authenticate(token).await.ok(),
        None => None,
    };
    let plan = PlanStart {
        plan: "app::deploy".to_owned(),
        owner_id: user.map(|user| user.user_id.clone()).unwrap_or_default(),
        ..PlanStart::default()
    };
    let plans = world.state.jobs.plan_jobs();
    let number = plans.start(plan).await.expect("started");
    let text = json!({"message": "x"});
    let told = plans.record_event(number, "out_message", &text, "");
    told.await.expect("told");
    let events = world.store.plan_events(number, 0, 1).await.expect("read");
    let put = |text: String| {
        text.replace("<plan_job>", &number.to_string())
            .replace("<plan_event>", &events[0].id.to_string())
    };
    (put(path), put(body))
}

async fn command(world: &World, name: &str, body: Value) -> Reply {
    let path = format!("{V1}/command/{name}");
    world.post(&path, body.to_string()).await
}

async fn start(world: &World) -> String {
    let body = json!({"plan_name": "app::deploy", "params": {}, "sensitive": []});
    let reply = command(world, "plan_start", body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let reply = reply.json();
    assert_eq!(reply.as_object().map(serde_json::Map::len), Some(1));
    reply["name"].as_str().expect("a number").to_owned()
}

async fn step(world: &World, plan: &str, node: &str) -> Reply {
    let body = json!({"task": "test", "environment": "production", "noop": null, "params": {},
        "scope": {"nodes": [node]}, "plan_job": plan});
    command(world, "plan_task", body).await
}

#[tokio::test]
async fn a_plan_of_bolt_is_kept_from_its_start_to_its_end() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let plan = start(&world).await;
    assert_eq!(plan, "1");
    let running = world.ok(&format!("{V1}/plan_jobs/1")).await;
    assert_eq!(running["state"], "running");
    assert_eq!(running["result"], Value::Null);
    assert!(
        running
            .as_object()
            .expect("an object")
            .contains_key("result")
    );
    assert_eq!(running["finished_timestamp"], Value::Null);
    assert_eq!(running["status"], json!({}));

    let reply = step(&world, &plan, &nodes[0]).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let job = reply.json()["job"]["name"]
        .as_str()
        .expect("text")
        .to_owned();
    world.over(&job).await;
    let shown = world.ok(&format!("{V1}/jobs/{job}")).await;
    assert_eq!(shown["type"], "plan_task");
    assert_eq!(shown["options"]["plan_job"], 1);
    let found = world.ok(&format!("{V1}/jobs?type=plan_task")).await;
    assert_eq!(found["pagination"]["total"], 1);

    let end = json!({"plan_job": plan, "result": {"ok": [1, null]}, "status": "success"});
    let reply = command(&world, "plan_finish", end.clone()).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let over = world.ok(&format!("{V1}/plan_jobs/1")).await;
    assert_eq!(over["state"], "success");
    assert_eq!(over["result"], json!({"ok": [1, null]}));
    assert!(over["duration"].is_number() && over["finished_timestamp"].is_string());
    let states = over["status"][&job].as_array().expect("states");
    let names: Vec<_> = states.iter().map(|state| &state["state"]).collect();
    assert_eq!(names, ["ready", "running", "finished"]);

    let events = world.ok(&format!("{V1}/plan_jobs/1/events")).await;
    let items = events["items"].as_array().expect("items");
    let kinds: Vec<_> = items.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["task_start", "plan_finished"]);
    assert_eq!(items[0]["details"], json!({"job-id": job}));
    let details = json!({"plan-id": "1", "result": {"ok": [1, null]}});
    assert_eq!(items[1]["details"], details);
    assert_eq!(events["next-events"]["event"], "3");
    let rest = world.ok(&format!("{V1}/plan_jobs/1/events?start=2")).await;
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(1));
    let one = world.ok(&format!("{V1}/plan_jobs/1/event/2")).await;
    assert_eq!(one["details"], details);

    // Repeated or late commands change nothing.
    let reply = command(&world, "plan_finish", end).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    assert_eq!(
        reply.kind(),
        "puppetlabs.orchestrator/plan-already-finished"
    );
    let reply = step(&world, &plan, &nodes[0]).await;
    assert_eq!(
        reply.kind(),
        "puppetlabs.orchestrator/plan-already-finished"
    );
    let jobs = world.ok(&format!("{V1}/jobs")).await;
    assert_eq!(jobs["pagination"]["total"], 1, "the late step made no job");
}

#[tokio::test]
async fn numbers_of_plan_jobs_are_a_series_of_their_own() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    world.run(&nodes).await;
    for expected in 1..=3 {
        assert_eq!(start(&world).await, expected.to_string());
        let wrong = command(&world, "plan_start", json!({"plan_name": "No"})).await;
        assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    }
    let list = world
        .ok(&format!("{V1}/plan_jobs?order_by=name&order=desc&limit=2"))
        .await;
    let names: Vec<_> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["name"])
        .collect();
    assert_eq!(names, ["3", "2"]);
    assert_eq!(
        list["pagination"],
        json!({"limit": 2, "offset": 0, "order_by": "name", "order": "desc", "total": 3,
            "type": ""})
    );
}

#[tokio::test]
async fn results_can_be_left_out_of_the_list() {
    let world = World::new().await;
    let plan = start(&world).await;
    let end = json!({"plan_job": plan, "result": "", "status": "failure"});
    assert!(
        command(&world, "plan_finish", end)
            .await
            .status
            .is_success()
    );
    for (query, has) in [
        ("", true),
        ("?results=include", true),
        ("?results=exclude", false),
    ] {
        let list = world.ok(&format!("{V1}/plan_jobs{query}")).await;
        let item = &list["items"][0];
        assert_eq!(item.get("result"), has.then_some(&json!("")), "{query}");
        assert_eq!(item["state"], "failure");
        assert_eq!((item.get("status"), item.get("timestamp")), (None, None));
    }
    for (query, found) in [
        ("min_finish_timestamp=2000-01-01T00:00:00Z", 1),
        ("max_finish_timestamp=2000-01-01T00:00:00Z", 0),
    ] {
        let list = world.ok(&format!("{V1}/plan_jobs?{query}")).await;
        assert_eq!(list["pagination"]["total"], found, "{query}");
    }
    for wrong in ["results=x", "order_by=task", "limit=-1", "type=task"] {
        let reply = world.get(&format!("{V1}/plan_jobs?{wrong}")).await;
        assert_eq!(
            reply.kind(),
            "puppetlabs.orchestrator/validation-error",
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn secrets_of_a_plan_are_nowhere() {
    let world = World::new().await;
    let body = json!({"plan_name": "app::deploy", "sensitive": ["password"],
        "params": {"password": "CANARY-7f", "version": "1"}});
    assert!(
        command(&world, "plan_start", body)
            .await
            .status
            .is_success()
    );
    let shown = world.ok(&format!("{V1}/plan_jobs/1")).await;
    assert_eq!(shown["options"]["parameters"], json!({"version": "1"}));
    assert_eq!(shown["options"]["sensitive"], json!(["password"]));
    world.store.close().await;
    for file in std::fs::read_dir(world.dir.path()).expect("a directory") {
        let path = file.expect("an entry").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("read");
            let found = bytes.windows(9).any(|window| window == b"CANARY-7f");
            assert!(!found, "in {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_stopped_plan_job_has_failed_and_takes_no_step() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let plan = start(&world).await;
    for _ in 0..2 {
        let reply = command(&world, "stop_plan", json!({"plan_job": plan})).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        assert_eq!(reply.json(), json!({"name": plan}));
    }
    let shown = world.ok(&format!("{V1}/plan_jobs/{plan}")).await;
    assert_eq!(shown["state"], "failure");
    assert_eq!(shown["result"]["kind"], "tutti/plan-stopped");
    assert_eq!(shown["result"]["details"], json!({"stopped_by": "admin"}));
    let reply = step(&world, &plan, &nodes[0]).await;
    assert_eq!(
        reply.kind(),
        "puppetlabs.orchestrator/plan-already-finished"
    );
    let end = json!({"plan_job": plan, "status": "success"});
    let reply = command(&world, "plan_finish", end).await;
    assert_eq!(
        reply.kind(),
        "puppetlabs.orchestrator/plan-already-finished"
    );
    let events = world.ok(&format!("{V1}/plan_jobs/{plan}/events")).await;
    assert_eq!(
        events["items"].as_array().map(Vec::len),
        Some(1),
        "stopped once"
    );
}

#[tokio::test]
async fn a_step_that_races_the_end_of_its_plan_is_refused_or_kept_as_a_step() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    for _ in 0..20 {
        let plan = start(&world).await;
        let end = json!({"plan_job": plan, "status": "success"});
        let (stepped, ended) = tokio::join!(
            step(&world, &plan, &nodes[0]),
            command(&world, "plan_finish", end)
        );
        assert_eq!(ended.status, StatusCode::ACCEPTED);
        let steps = world.ok(&format!("{V1}/plan_jobs/{plan}")).await;
        let steps = steps["status"].as_object().expect("an object").len();
        match stepped.status {
            StatusCode::ACCEPTED => assert_eq!(steps, 1),
            _ => {
                assert_eq!(
                    stepped.kind(),
                    "puppetlabs.orchestrator/plan-already-finished"
                );
                assert_eq!(steps, 0);
            }
        }
    }
}

/// Creates an administrator whose token `world` uses from now on; returns the user's id.
async fn become_administrator(world: &mut World, login: &str) -> String {
    const ADMINISTRATORS: i64 = 1;
    const PASSWORD: &str = "a password of his own";
    let access = &world.state.access;
    let spec = rbac::UserSpec {
        login: login.to_owned(),
        display_name: login.to_owned(),
        password: Some(PASSWORD.into()),
        role_ids: vec![ADMINISTRATORS],
        ..rbac::UserSpec::default()
    };
    let made = access.create_user(&access.api_user(), spec).await;
    made.expect("a user");
    let token = access.login(login, PASSWORD.into(), rbac::TokenRequest::default(), None);
    let token = Box::pin(token).await.expect("a token");
    world.token = token.expose_secret().to_owned();
    let user = world.store.user_by_login(login).await.expect("read");
    user.expect("there").id
}

#[tokio::test]
async fn only_the_owner_goes_on_with_a_plan_job_and_nobody_inherits_it_with_his_login() {
    let mut world = World::new().await;
    let id = become_administrator(&mut world, "bolt").await;
    let plan = start(&world).await;
    let shown = world.ok(&format!("{V1}/plan_jobs/{plan}")).await;
    assert_eq!(shown["owner"]["id"], *id);

    let access = &world.state.access;
    let deleted = access.delete_user(&access.api_user(), &id).await;
    deleted.expect("deleted");
    for login in ["somebody", "bolt"] {
        become_administrator(&mut world, login).await;
        let end = json!({"plan_job": plan, "status": "success"});
        let finish = command(&world, "plan_finish", end);
        for reply in [step(&world, &plan, "a").await, finish.await] {
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{login}");
            assert_eq!(reply.kind(), "puppetlabs.orchestrator/not-permitted");
        }
    }
    let path = format!("{V1}/plan_jobs");
    let listed = world.ok(&path).await["items"][0].clone();
    for shown in [world.ok(&format!("{path}/{plan}")).await, listed] {
        assert_eq!(shown["state"], "running");
        assert_eq!(shown["owner"]["login"], "bolt");
        assert_eq!(shown["owner"]["id"], "", "not the one who bears it now");
        assert_eq!(shown["owner"]["is_revoked"], true);
    }
}

#[tokio::test]
async fn what_a_plan_prints_is_cut_in_the_list_alone() {
    let world = World::new().await;
    let plan = start(&world).await;
    let text = "é".repeat(2_000);
    let number = plan.parse().expect("a number");
    let plans = world.state.jobs.plan_jobs();
    plans
        .record_event(number, "out_message", &json!({"message": text}), "")
        .await
        .expect("told");
    let list = world.ok(&format!("{V1}/plan_jobs/{plan}/events")).await;
    let cut = list["items"][0]["details"]["message"]
        .as_str()
        .expect("text");
    assert_eq!(cut.len(), 1_024);
    let id = list["items"][0]["id"].as_str().expect("an id");
    let one = world.ok(&format!("{V1}/plan_jobs/{plan}/event/{id}")).await;
    assert_eq!(one["details"]["message"], *text);
    let other = start(&world).await;
    for wrong in [format!("{other}/event/{id}"), format!("{plan}/event/999")] {
        let reply = world.get(&format!("{V1}/plan_jobs/{wrong}")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        assert_eq!(
            reply.kind(),
            "puppetlabs.orchestrator/mismatched-job-event-id",
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn plans_are_shown_to_all_and_permitted_to_those_who_may_run_them() {
    let world = World::new().await;
    let names = |list: &Value| -> Vec<(String, bool)> {
        let items = list["items"].as_array().expect("a list").iter();
        let name = |item: &Value| item["name"].as_str().expect("a name").to_owned();
        let pair = |item| (name(item), item["permitted"].as_bool().expect("it says"));
        items.map(pair).collect()
    };
    let list = world.ok(&format!("{V1}/plans")).await;
    let all = |permitted| PLANS.map(|name| (name.to_owned(), permitted));
    assert_eq!(names(&list), all(true), "the private one is left out");
    let secret = world.ok(&format!("{V1}/plans/test/secret")).await;
    assert_eq!(
        secret["metadata"],
        json!({"private": true, "parameters": {}})
    );

    let right = |object: &str, action: &str, instance: &str| json!({"object_type": object, "action": action, "instance": instance});
    let runner = as_somebody(|_| {
        let view = right("orchestrator", "view", "*");
        json!([view, right("plans", "run", "test::rollout")])
    });
    let runner = runner.await;
    let list = runner.ok(&format!("{V1}/plans")).await;
    let expected = PLANS.map(|name| (name.to_owned(), name == "test::rollout"));
    assert_eq!(names(&list), expected);
    let rollout = runner.ok(&format!("{V1}/plans/test/rollout")).await;
    assert_eq!(rollout["permitted"], true);
    let secret = runner.ok(&format!("{V1}/plans/test/secret")).await;
    assert_eq!(secret["permitted"], false);

    let broken = world.get(&format!("{V1}/plans/test/broken")).await;
    assert_eq!(broken.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(broken.kind(), "bolt/invalid-plan");
    let place = json!({"file": "test/plans/broken.pp", "line": 1, "column": 20});
    assert_eq!(broken.json()["details"], place);
    // The list marks the broken plan, and shows the descriptions of the others.
    let items = list["items"].as_array().unwrap();
    let named = |name: &str| items.iter().find(|item| item["name"] == name).unwrap();
    assert_eq!(named("test::broken")["error"], broken.json());
    let rollout = named("test::rollout");
    assert_eq!(rollout["description"], "Roll out a version");
    assert_eq!(rollout.get("error"), None);
    let text = broken.text();
    assert!(
        text.contains("broken.pp") && text.contains("line: 1"),
        "{text}"
    );
}

#[tokio::test]
async fn a_plan_names_the_functions_in_ruby_that_it_does_not_get() {
    let world = World::new().await;
    let path = format!("{V1}/plans/test/rollout");
    assert_eq!(world.ok(&path).await.get("replaced_functions"), None);
    let functions = world
        .dir
        .path()
        .join("code/environments/production/modules/test/lib/puppet/functions");
    std::fs::create_dir_all(&functions).unwrap();
    for name in ["merge", "own"] {
        let source = "Puppet::Functions.create_function(:f) do\n  def f\n    1\n  end\nend\n";
        std::fs::write(functions.join(format!("{name}.rb")), source).unwrap();
    }
    let detail = world.ok(&path).await;
    let expected =
        json!([{"name": "merge", "module": "test", "file": "lib/puppet/functions/merge.rb"}]);
    assert_eq!(detail["replaced_functions"], expected);
}

#[tokio::test]
async fn plans_that_are_not_there_are_unknown() {
    let world = World::new().await;
    let unknown = |reply: &Reply| {
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{}", reply.text());
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/unknown-plan");
    };
    unknown(&world.get(&format!("{V1}/plans/app/deploy")).await);
    unknown(
        &command(
            &world,
            "plan_run",
            json!({"plan_name": "app", "params": {}}),
        )
        .await,
    );
    let params = json!({"nodes": {"value": "nodes{}", "type": "query"}, "n": {"value": 1}});
    let body = json!({"plan_name": "app::x", "params": params});
    unknown(&command(&world, "environment_plan_run", body).await);
    for (name, body) in [
        ("plan_run", json!({"params": {}})),
        ("plan_run", json!({"plan_name": "../x", "params": {}})),
        ("plan_run", json!({"plan_name": "app", "params": []})),
        ("plan_run", json!({"plan_name": "app", "scope": {}})),
        ("plan_run", json!({"plan_name": "app", "timeout": -1})),
        ("environment_plan_run", json!({"plan_name": "app"})),
        (
            "environment_plan_run",
            json!({"plan_name": "app", "params": {"n": 1}}),
        ),
        (
            "environment_plan_run",
            json!({"plan_name": "app",
            "params": {"n": {"value": 1, "type": "query"}}}),
        ),
        (
            "environment_plan_run",
            json!({"plan_name": "app",
            "params": {"n": {"value": 1, "type": "x"}}}),
        ),
        ("plan_start", json!({"plan_name": 1})),
        (
            "plan_task",
            json!({"task": "test", "scope": {"nodes": ["a"]}}),
        ),
        ("plan_finish", json!({"plan_job": "1", "status": "done"})),
        ("plan_finish", json!({"plan_job": 1, "status": "success"})),
        ("stop_plan", json!({"plan_job": "x"})),
        (
            "task",
            json!({"task": "test", "scope": {"nodes": ["a"]}, "plan_job": "1"}),
        ),
    ] {
        let reply = command(&world, name, body.clone()).await;
        assert_eq!(
            reply.status,
            StatusCode::BAD_REQUEST,
            "{name} {body}: {}",
            reply.text()
        );
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
    }
    for (name, body) in [
        ("plan_finish", json!({"plan_job": "7", "status": "success"})),
        ("stop_plan", json!({"plan_job": "7"})),
    ] {
        let reply = command(&world, name, body).await;
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/unknown-job");
    }
    let body = json!({"plan_name": "app", "environment": "nowhere"});
    let reply = command(&world, "plan_run", body).await;
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/unknown-environment");
    let reply = world.get(&format!("{V1}/plans?environment=nowhere")).await;
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/unknown-environment");
}
