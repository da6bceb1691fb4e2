//! Plans that this server runs: started, watched, answered, stopped and resumed over the API.

use http::StatusCode;
use jobs::NodeResolveError;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::deploys::knowing;
use crate::plan_programs::{run, settled, until};
use crate::task_rights::as_somebody;
use crate::world::{Reply, World};

const V1: &str = "/orchestrator/v1";
const GROUP: &str = "0e6d1f9c-1111-4222-8333-444455556666";
const VALIDATION: &str = "puppetlabs.orchestrator/validation-error";

async fn command(world: &World, name: &str, body: Value) -> Reply {
    let path = format!("{V1}/command/{name}");
    world.post(&path, body.to_string()).await
}

/// Sends a command that starts a plan, and waits until the plan has ended or waits for an answer.
/// Returns the number of the plan job.
async fn started(world: &World, name: &str, body: Value) -> String {
    let reply = command(world, name, body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let number = reply.json()["name"].as_str().expect("text").to_owned();
    settled(world, number.parse().expect("a number")).await;
    number
}

async fn plan_job(world: &World, number: &str) -> Value {
    world.ok(&format!("{V1}/plan_jobs/{number}")).await
}

fn is(reply: &Reply, status: u16, kind: &str) {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
    assert_eq!(reply.kind(), kind);
}

#[tokio::test]
async fn a_plan_runs_and_its_plan_job_tells_what_came_of_it() {
    let world = World::new().await;
    let body = json!({"plan_name": "test::rollout", "params": {"targets": ["a"]},
        "environment": "production", "description": "ticket 7", "userdata": {"t": 7}});
    let number = started(&world, "plan_run", body).await;
    assert_eq!(number, "1");
    let over = plan_job(&world, &number).await;
    assert_eq!(over["state"], "success");
    let result = json!({"targets": ["a"], "password_bytes": null});
    assert_eq!(over["result"], result);
    assert_eq!(over["owner"]["login"], "admin");
    assert_eq!(over["userdata"], json!({"t": 7}));
    let options = json!({"description": "ticket 7", "plan_name": "test::rollout",
        "parameters": {"targets": ["a"]}, "sensitive": [], "scheduled_job_id": null,
        "environment": "production", "code": "pinned"});
    assert_eq!(over["options"], options);
    let events = world.ok(&format!("{V1}/plan_jobs/{number}/events")).await;
    let events = events["items"].as_array().expect("items");
    let kinds: Vec<_> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["out_message", "plan_finished"]);
    let details = json!({"plan-id": "1", "result": result});
    assert_eq!(events[1]["details"], details);
}

#[tokio::test]
async fn a_plan_is_looked_at_as_it_is_asked_for() {
    let world = World::new().await;
    let body = |noop: &Value| json!({"plan_name": "test::rollout", "params": {"targets": "a"}, "noop": noop});
    for (noop, shown) in [
        (json!(true), Some(json!(true))),
        (json!("run"), Some(json!("run"))),
        (json!(false), None),
        (Value::Null, None),
    ] {
        let number = started(&world, "plan_run", body(&noop)).await;
        let over = plan_job(&world, &number).await;
        assert_eq!(over["options"].get("noop"), shown.as_ref(), "{noop}");
    }
    let params = json!({"targets": {"value": "a"}});
    let typed = json!({"plan_name": "test::rollout", "params": params, "noop": "run"});
    let number = started(&world, "environment_plan_run", typed).await;
    assert_eq!(plan_job(&world, &number).await["options"]["noop"], "run");
}

#[tokio::test]
async fn whatever_is_wrong_with_a_command_is_told_before_anything_runs() {
    let world = World::new().await;
    let modules = world
        .dir
        .path()
        .join("code/environments/production/modules");
    let plans = modules.join("test/plans");
    std::fs::write(plans.join("latin.pp"), b"plan test::latin { # \xe9\n}").expect("written");
    let yaml = "parameters: [\nsteps: []\n";
    std::fs::write(plans.join("odd.yaml"), yaml).expect("written");
    let rollout = |params: Value| json!({"plan_name": "test::rollout", "params": params});
    let named = |name: &str| json!({"plan_name": name, "params": {}});
    let (long, far) = ("x".repeat(5_000), 31 * 24 * 3_600);
    for (body, status, kind, part) in [
        (rollout(json!({})), 400, VALIDATION, "'targets' is missing"),
        (
            rollout(json!({"targets": 7})),
            400,
            VALIDATION,
            "'targets' expects",
        ),
        (
            rollout(json!({"targets": "a", "version": ""})),
            400,
            VALIDATION,
            "'version' expects",
        ),
        (
            rollout(json!({"targets": "a", "colour": 1})),
            400,
            VALIDATION,
            "takes targets, version, password",
        ),
        (
            named("test::secret"),
            400,
            VALIDATION,
            "only other plans run it",
        ),
        (named("test::Odd"), 400, VALIDATION, "not a plan's name"),
        (
            named("test::gone"),
            404,
            "puppetlabs.orchestrator/unknown-plan",
            "test::gone",
        ),
        (
            json!({"plan_name": "test::rollout", "environment": "nowhere"}),
            404,
            "puppetlabs.orchestrator/unknown-environment",
            "nowhere",
        ),
        (
            json!({"plan_name": "test::asks", "environment": "../x"}),
            400,
            VALIDATION,
            "environment",
        ),
        (
            json!({"plan_name": "test::asks", "timeout": far}),
            400,
            VALIDATION,
            "timeout",
        ),
        (
            json!({"plan_name": "test::asks", "description": long}),
            400,
            VALIDATION,
            "description",
        ),
        (
            json!({"plan_name": "test::asks", "noop": "show"}),
            400,
            VALIDATION,
            "must be true, false or \\\"run\\\"",
        ),
        (
            json!({"plan_name": "test::asks", "noop": 1}),
            400,
            VALIDATION,
            "noop: must be ",
        ),
        (
            json!({"plan_name": "test::asks", "dry": true}),
            400,
            VALIDATION,
            "unknown key \\\"dry\\\"",
        ),
    ] {
        let reply = command(&world, "plan_run", body).await;
        is(&reply, status, kind);
        assert!(reply.text().contains(part), "{part}: {}", reply.text());
    }
    // The code is invalid, and the error contains the place.
    for (plan, place) in [
        ("test::broken", "broken.pp: "),
        ("test::latin", "it is not UTF-8"),
        ("test::odd", "odd.yaml"),
    ] {
        let reply = command(&world, "plan_run", named(plan)).await;
        is(&reply, 422, "bolt/invalid-plan");
        assert!(reply.text().contains(place), "{place}: {}", reply.text());
    }
    let jobs = world.ok(&format!("{V1}/plan_jobs")).await;
    assert_eq!(jobs["pagination"]["total"], 0, "nothing was started");
}

#[tokio::test]
async fn secret_parameters_and_answers_are_nowhere() {
    let world = World::new().await;
    let params = json!({"targets": "a", "password": "CANARY-7f", "version": "1"});
    let body = json!({"plan_name": "test::rollout", "params": params});
    let number = started(&world, "plan_run", body).await;
    let shown = plan_job(&world, &number).await;
    assert_eq!(shown["result"]["password_bytes"], 9, "the plan had it");
    let open = json!({"targets": "a", "version": "1"});
    assert_eq!(shown["options"]["parameters"], open);
    assert_eq!(shown["options"]["sensitive"], json!(["password"]));

    let asking = started(&world, "plan_run", json!({"plan_name": "test::asks"})).await;
    let answer = |step: &str, text: &str| {
        let body = json!({"plan_job": asking, "step": step, "answer": text});
        command(&world, "plan_answer", body)
    };
    assert!(answer("1", "yes").await.status.is_success());
    settled(&world, asking.parse().expect("a number")).await;
    let steps = format!("{V1}/plan_jobs/{asking}/steps?state=waiting");
    let steps = world.ok(&steps).await;
    assert_eq!(steps["items"][0]["step"], "2");
    assert_eq!(steps["items"][0]["sensitive"], true);
    // The answer is not marked as secret; the plan's question is.
    assert!(answer("2", "CANARY-7f").await.status.is_success());
    settled(&world, asking.parse().expect("a number")).await;
    assert_eq!(plan_job(&world, &asking).await["result"], json!(["yes", 9]));

    world.state.plans.shutdown().await;
    world.state.audit.shutdown().await;
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
async fn parameters_that_stand_for_nodes_become_certnames() {
    let world = knowing(Ok(&["a", "b"])).await;
    for kind in [
        json!({"value": "nodes{}", "type": "query"}),
        json!({"value": ["from", "nodes"], "type": "query"}),
        json!({"value": GROUP, "type": "node_group"}),
    ] {
        let params = json!({"targets": kind, "version": {"value": "2"}});
        let body = json!({"plan_name": "test::rollout", "params": params});
        let number = started(&world, "environment_plan_run", body).await;
        let result = plan_job(&world, &number).await["result"].clone();
        assert_eq!(
            (&result["targets"], &result["version"]),
            (&json!(["a", "b"]), &json!("2"))
        );
    }
    let query = json!({"plan_name": "test::rollout",
        "params": {"targets": {"value": "nodes{", "type": "query"}}});
    for (nodes, kind) in [
        (Ok(&[][..]), "empty-target"),
        (
            Err(NodeResolveError::Query("not PQL".to_owned())),
            "query-error",
        ),
        (
            Err(NodeResolveError::Unreachable("gone".to_owned())),
            "puppetdb-error",
        ),
    ] {
        let world = knowing(nodes).await;
        let reply = command(&world, "environment_plan_run", query.clone()).await;
        is(&reply, 400, &format!("puppetlabs.orchestrator/{kind}"));
        assert_eq!(reply.json()["details"]["path"], "params.targets");
    }
    let wrong = json!({"targets": {"value": "x", "type": "node_group"}});
    let body = json!({"plan_name": "test::rollout", "params": wrong});
    is(
        &command(&world, "environment_plan_run", body).await,
        400,
        VALIDATION,
    );
    // A user who may run the plan, but not query nodes.
    let world =
        as_somebody(|_| json!([{"object_type": "plans", "action": "run", "instance": "*"}]));
    let reply = command(&world.await, "environment_plan_run", query).await;
    is(&reply, 400, "puppetlabs.orchestrator/query-error");
}

#[tokio::test]
async fn a_question_is_answered_once_and_nothing_else_takes_an_answer() {
    let world = World::new().await;
    let plan = run(&world, "test::asks").await.to_string();
    let events = world.ok(&format!("{V1}/plan_jobs/{plan}/events")).await;
    let asked = &events["items"][0];
    assert_eq!(
        (&asked["type"], &asked["message"]),
        (&json!("prompt"), &json!("Go on?"))
    );
    assert_eq!(asked["details"]["step"], "1");
    let answer = async |plan: &str, step: &str| {
        let body = json!({"plan_job": plan, "step": step, "answer": {"any": ["JSON"]}});
        command(&world, "plan_answer", body).await
    };
    for step in ["2", "9.1"] {
        is(&answer(&plan, step).await, 409, "tutti/not-asked");
    }
    for step in ["", "x", "1.", "-1", "99999999999"] {
        is(&answer(&plan, step).await, 400, VALIDATION);
    }
    for (plan, status, kind) in [
        ("77", 404, "puppetlabs.orchestrator/unknown-job"),
        ("x", 400, VALIDATION),
    ] {
        is(&answer(plan, "1").await, status, kind);
    }
    assert_eq!(answer(&plan, "1").await.json(), json!({"name": plan}));
    is(&answer(&plan, "1").await, 409, "tutti/not-asked");
    let stop = json!({"plan_job": plan});
    assert!(command(&world, "stop_plan", stop).await.status.is_success());
    is(
        &answer(&plan, "2").await,
        409,
        "puppetlabs.orchestrator/plan-already-finished",
    );
    for body in [
        json!({"plan_job": plan, "step": "1"}),
        json!({"plan_job": plan, "answer": 1}),
        json!({"plan_job": 1, "step": "1", "answer": 1}),
        json!({"plan_job": plan, "step": 1, "answer": 1}),
        json!({"plan_job": plan, "step": "1", "answer": 1, "x": 1}),
    ] {
        is(&command(&world, "plan_answer", body).await, 400, VALIDATION);
    }
}

#[tokio::test]
async fn a_plan_that_failed_goes_on_and_no_other_does() {
    let world = World::new().await;
    let failed = run(&world, "test::fails").await;
    let resume = |body: Value| command(&world, "plan_resume", body);
    let reply = resume(json!({"plan_job": failed.to_string()})).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    assert_eq!(
        reply.json(),
        json!({"name": failed.to_string(), "step": "1"})
    );
    settled(&world, failed).await;
    let events = world.ok(&format!("{V1}/plan_jobs/{failed}/events")).await;
    let items = events["items"].as_array().expect("items");
    let kinds: Vec<_> = items.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["plan_failed", "plan_resumed", "plan_failed"]);
    let details = json!({"step": "1", "resumed_by": "admin"});
    assert_eq!(items[1]["details"], details);

    let from = json!({"plan_job": failed.to_string(), "from_step": "4.2"});
    is(&resume(from).await, 404, "tutti/unknown-step");
    let from = json!({"plan_job": failed.to_string(), "from_step": "first"});
    is(&resume(from).await, 400, VALIDATION);
    let asking = run(&world, "test::asks").await.to_string();
    let reply = resume(json!({"plan_job": asking})).await;
    is(&reply, 409, "tutti/plan-not-failed");
    let bolts = started_by_bolt(&world).await;
    for plan in [bolts.as_str(), "77"] {
        let reply = resume(json!({"plan_job": plan})).await;
        is(&reply, 404, "puppetlabs.orchestrator/unknown-job");
    }
    for body in [json!({}), json!({"plan_job": 1}), json!({"name": "1"})] {
        is(&resume(body).await, 400, VALIDATION);
    }
}

async fn started_by_bolt(world: &World) -> String {
    let reply = command(world, "plan_start", json!({"plan_name": "app"})).await;
    reply.json()["name"].as_str().expect("text").to_owned()
}

/// Starts a plan with a task that does not end; returns the numbers of the plan job and of its job.
async fn working(world: &World, nodes: &[String]) -> (String, String) {
    let body = json!({"plan_name": "test::works", "params": {"nodes": nodes}});
    let reply = command(world, "plan_run", body).await;
    let plan = reply.json()["name"].as_str().expect("text").to_owned();
    let path = format!("{V1}/plan_jobs/{plan}/steps?state=running");
    let job = until("a job is made", async || {
        let steps = world.ok(&path).await;
        steps["items"][0]["job"]["name"].as_str().map(str::to_owned)
    });
    let job = job.await;
    (plan, job)
}

#[tokio::test]
async fn a_stopped_plan_leaves_its_jobs_alone_or_takes_them_along() {
    let world = World::new().await;
    let held = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.nodes(1, &held);
    for (jobs, state) in [(Value::Null, "running"), (json!(true), "stopped")] {
        let (plan, job) = working(&world, &nodes).await;
        for _ in 0..2 {
            let body = json!({"plan_job": plan, "jobs": jobs});
            let reply = command(&world, "stop_plan", body).await;
            assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
            assert_eq!(reply.json(), json!({"name": plan}));
        }
        let over = plan_job(&world, &plan).await;
        assert_eq!(over["state"], "failure");
        assert_eq!(over["result"]["kind"], "tutti/plan-stopped");
        assert_eq!(ended(&world, &job).await, state);
    }
    // The same for the jobs of a plan that Bolt runs.
    let plan = started_by_bolt(&world).await;
    let body = json!({"task": "test", "scope": {"nodes": nodes}, "plan_job": plan});
    let job = command(&world, "plan_task", body).await.json();
    let body = json!({"plan_job": plan, "jobs": true});
    assert!(command(&world, "stop_plan", body).await.status.is_success());
    let job = job["job"]["name"].as_str().expect("a number");
    assert_eq!(ended(&world, job).await, "stopped");
}

/// The state of a job after `stopping`.
async fn ended(world: &World, job: &str) -> String {
    let state = until("the job is left alone or stopped", async || {
        let shown = world.ok(&format!("{V1}/jobs/{job}")).await;
        let state = shown["state"].as_str().expect("a state").to_owned();
        Some(state).filter(|state| state != "stopping")
    });
    state.await
}

#[tokio::test]
async fn a_plan_that_takes_too_long_ends() {
    let world = World::new().await;
    let body = json!({"plan_name": "test::asks", "timeout": 1});
    let number = started(&world, "plan_run", body).await;
    let over = until("its time is over", async || {
        Some(plan_job(&world, &number).await).filter(|shown| shown["state"] == "failure")
    });
    assert_eq!(over.await["result"]["kind"], "tutti/plan-timeout");
}

#[tokio::test]
async fn who_may_run_one_plan_may_go_on_with_that_one_alone() {
    let right = |object: &str, action: &str, instance: &str| json!({"object_type": object, "action": action, "instance": instance});
    let world = as_somebody(|_| {
        let view = right("orchestrator", "view", "*");
        json!([view, right("plans", "run", "test::asks")])
    });
    let world = world.await;
    let denied = "puppetlabs.orchestrator/not-permitted";
    let body = |plan: &str| json!({"plan_name": plan, "params": {}});
    started(&world, "plan_run", body("test::asks")).await;
    // The same error for an unknown plan: a user who may not run a plan does not learn if it
    // exists.
    for plan in ["test::fails", "test::gone"] {
        is(&command(&world, "plan_run", body(plan)).await, 403, denied);
        let reply = command(&world, "environment_plan_run", body(plan)).await;
        is(&reply, 403, denied);
    }
    let failed = run(&world, "test::fails").await.to_string();
    let reply = command(&world, "plan_resume", json!({"plan_job": failed})).await;
    is(&reply, 403, denied);
    assert_eq!(
        reply.json()["details"]["permission"],
        "plans:run:test::fails"
    );
    let answer = json!({"plan_job": failed, "step": "1", "answer": 1});
    is(&command(&world, "plan_answer", answer).await, 403, denied);
    // A plan of another user can be answered by a user who may run it.
    let asking = run(&world, "test::asks").await.to_string();
    let answer = json!({"plan_job": asking, "step": "1", "answer": 1});
    let reply = command(&world, "plan_answer", answer).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let events = world.ok(&format!("{V1}/plan_jobs/{asking}/events")).await;
    assert_eq!(events["items"][1]["details"]["answered_by"], "somebody");
}

#[tokio::test]
async fn steps_come_by_pages_and_by_state() {
    let world = World::new().await;
    let plan = run(&world, "test::asks").await.to_string();
    let body = json!({"plan_job": plan, "step": "1", "answer": "yes"});
    command(&world, "plan_answer", body).await;
    settled(&world, plan.parse().expect("a number")).await;
    let steps = async |query: &str| {
        let list = world
            .ok(&format!("{V1}/plan_jobs/{plan}/steps{query}"))
            .await;
        let items = list["items"].as_array().expect("items").clone();
        let names = items
            .iter()
            .map(|item| item["step"].as_str().expect("text").to_owned());
        (
            names.collect::<Vec<_>>(),
            list["pagination"]["total"].clone(),
        )
    };
    assert_eq!(
        steps("").await,
        (vec!["1".to_owned(), "2".to_owned()], json!(2))
    );
    assert_eq!(
        steps("?limit=1&offset=1").await,
        (vec!["2".to_owned()], json!(2))
    );
    assert_eq!(steps("?state=done").await, (vec!["1".to_owned()], json!(1)));
    assert_eq!(steps("?state=failed").await, (Vec::new(), json!(0)));
    for wrong in ["state=x", "limit=10001", "limit=-1", "order=desc"] {
        let reply = world
            .get(&format!("{V1}/plan_jobs/{plan}/steps?{wrong}"))
            .await;
        is(&reply, 400, VALIDATION);
    }
    let reply = world.get(&format!("{V1}/plan_jobs/77/steps")).await;
    is(&reply, 404, "puppetlabs.orchestrator/unknown-job");
    let bolts = started_by_bolt(&world).await;
    let none = world.ok(&format!("{V1}/plan_jobs/{bolts}/steps")).await;
    assert_eq!(none["items"], json!([]));
}

#[tokio::test]
async fn the_audit_has_the_plan_and_its_plan_job_and_no_values() {
    let world = World::new().await;
    let params = json!({"targets": "CANARY", "password": "CANARY"});
    let body = json!({"plan_name": "test::rollout", "params": params});
    let number = started(&world, "plan_run", body).await;
    let asking = run(&world, "test::asks").await.to_string();
    let answer = json!({"plan_job": asking, "step": "1", "answer": "CANARY"});
    command(&world, "plan_answer", answer).await;
    let path = "/activity-api/v2/events?service_id=orchestrator";
    let activity = world.ok(path).await.to_string();
    let through = format!("Run a plan: plan \\\"test::rollout\\\" through plan_job {number}");
    assert!(activity.contains(&through), "{activity}");
    world.state.audit.shutdown().await;
    let rows = world.store.audit_entries(1, 1_000).await.expect("read");
    let all = format!("{rows:?}");
    assert!(all.contains("password") && !all.contains("CANARY"), "{all}");
    let answered = rows
        .iter()
        .find(|row| row.entry.action == "command_plan_answer");
    let entry = &answered.expect("an entry").entry;
    assert_eq!(
        (entry.object_type.as_str(), entry.object_id.as_str()),
        ("plan_job", asking.as_str())
    );
    assert!(entry.details.contains(r#""step":"1""#), "{}", entry.details);
}

#[tokio::test]
async fn a_plan_that_waits_for_an_answer_says_so_in_the_list_and_by_itself() {
    let world = World::new().await;
    let over = started(
        &world,
        "plan_run",
        json!({"plan_name": "test::rollout", "params": {"targets": "a"}}),
    )
    .await;
    let number = started(&world, "plan_run", json!({"plan_name": "test::asks"})).await;
    let shown = plan_job(&world, &number).await;
    let question = &shown["questions"][0];
    assert_eq!(
        (&question["step"], &question["prompt"]),
        (&json!("1"), &json!("Go on?"))
    );
    assert_eq!(question["sensitive"], false);
    assert!(question["asked_timestamp"].is_string(), "{question}");
    assert_eq!(shown["state"], "running", "as Puppet Enterprise has it");
    let list = world
        .ok(&format!("{V1}/plan_jobs?order_by=name&order=desc"))
        .await;
    assert_eq!(list["items"][0]["questions"], shown["questions"]);
    assert_eq!(list["items"][1].get("questions"), None);
    assert_eq!(plan_job(&world, &over).await.get("questions"), None);
    let answer = json!({"plan_job": number, "step": "1", "answer": "yes"});
    let reply = command(&world, "plan_answer", answer).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let next = until("the next question waits", async || {
        let shown = plan_job(&world, &number).await;
        (shown["questions"][0]["prompt"] == "Password?").then(|| shown["questions"][0].clone())
    })
    .await;
    assert_eq!(next["sensitive"], true);
    command(&world, "stop_plan", json!({"plan_job": number})).await;
    until("the plan is stopped", async || {
        let shown = plan_job(&world, &number).await;
        (shown["state"] == "failure" && shown.get("questions").is_none()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn plans_are_unattended_when_that_is_said() {
    let world = World::new().await;
    for (said, unattended) in [
        (json!(true), true),
        (json!(false), false),
        (Value::Null, false),
    ] {
        let mut body = json!({"plan_name": "test::rollout", "params": {"targets": "a"}});
        if !said.is_null() {
            body["unattended"] = said.clone();
        }
        let number = started(&world, "plan_run", body).await;
        let options = &plan_job(&world, &number).await["options"];
        assert_eq!(
            options.get("unattended"),
            unattended.then_some(&json!(true)),
            "{said}"
        );
    }
    let params = json!({"targets": {"value": "a"}});
    let typed = json!({"plan_name": "test::rollout", "params": params, "unattended": true});
    let number = started(&world, "environment_plan_run", typed).await;
    assert_eq!(
        plan_job(&world, &number).await["options"]["unattended"],
        true
    );
    let wrong =
        json!({"plan_name": "test::rollout", "params": {"targets": "a"}, "unattended": "yes"});
    is(&command(&world, "plan_run", wrong).await, 400, VALIDATION);
}
