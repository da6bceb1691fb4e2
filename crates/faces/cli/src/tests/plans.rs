//! `plan run`, `show`, `steps`, `stop`, `resume`, `approve`: what is asked, what is printed, how it ends.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answers, Fake};

const RUN: &str = "POST /orchestrator/v1/command/plan_run";
const TYPED: &str = "POST /orchestrator/v1/command/environment_plan_run";
const RESUME: &str = "POST /orchestrator/v1/command/plan_resume";
const ANSWER: &str = "POST /orchestrator/v1/command/plan_answer";
const STOP: &str = "POST /orchestrator/v1/command/stop_plan";
const JOB: &str = "GET /orchestrator/v1/plan_jobs/12";
const EVENTS: &str = "GET /orchestrator/v1/plan_jobs/12/events";
const STEPS: &str = "GET /orchestrator/v1/plan_jobs/12/steps";
const ROLLOUT: &str = "GET /orchestrator/v1/plans/deploy/rollout";

fn rollout(targets: &str) -> Value {
    json!({"id": "", "name": "deploy::rollout", "environment": {"name": "production"},
    "permitted": true, "metadata": {"description": "Roll out a version", "parameters": {
        targets: {"type": "TargetSpec", "description": "Where."},
        "version": {"type": "String[1]", "default_value": "'latest'"},
        "retries": {"type": "Integer", "default_value": 3},
        "password": {"type": "Sensitive[String]", "sensitive": true},
    }}})
}

fn job(state: &str, result: Value) -> Value {
    json!({"id": "", "name": "12", "state": state, "options": {"plan_name": "deploy::rollout"},
        "result": result, "owner": {"login": "anna"},
        "created_timestamp": "2026-11-22T10:00:00Z",
        "finished_timestamp": "2026-11-22T10:00:04Z", "duration": 4.0, "events": {"id": ""}})
}

fn events(events: &[(&str, Value, &str)]) -> Value {
    let event = |(id, (kind, details, message)): (usize, &(&str, Value, &str))| {
        json!({"id": id.to_string(), "type": kind, "timestamp": "2026-11-22T10:00:01Z",
            "details": details, "message": message})
    };
    let next = (events.len() + 1).to_string();
    let items: Vec<_> = (1..).zip(events).map(event).collect();
    json!({"next-events": {"id": "", "event": next}, "items": items})
}

fn answers(state: &str, result: Value, told: &[(&str, Value, &str)]) -> Answers {
    vec![
        (ROLLOUT, 200, rollout("targets")),
        (RUN, 202, json!({"name": "12"})),
        (TYPED, 202, json!({"name": "12"})),
        (RESUME, 202, json!({"name": "12", "step": "4"})),
        (ANSWER, 202, json!({"name": "12"})),
        (STOP, 202, json!({"name": "12"})),
        (JOB, 200, job(state, result)),
        (EVENTS, 200, events(told)),
    ]
}

fn all_well() -> Answers {
    let told = [
        (
            "out_message",
            json!({"message": "rolling out"}),
            "rolling out\nnow",
        ),
        ("log", json!({"level": "warn"}), "slow"),
        (
            "task_start",
            json!({"job-id": "8"}),
            "Started task package as job 8",
        ),
        ("prompt", json!({"step": "4", "sensitive": false}), "Go on?"),
        ("answered", json!({"step": "4"}), "ben answered step 4"),
        (
            "plan_finished",
            json!({"plan-id": "12"}),
            "The plan ended: success",
        ),
    ];
    answers("success", json!({"version": "1.10", "nodes": 2}), &told)
}

fn broken() -> Answers {
    let told = [(
        "plan_failed",
        json!({"plan-id": "12"}),
        "The plan ended: failure",
    )];
    let error = json!({"kind": "bolt/run-failure", "msg": "run_task 'x' failed on 1 target",
        "details": {"file": "/code/deploy/plans/rollout.pp", "line": 7, "result_set": []}});
    answers("failure", error, &told)
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[tokio::test]
async fn a_plan_is_followed_to_its_end() {
    let fake = Fake::start(all_well()).await;
    let line = "tutti plan run deploy::rollout version=1.10 retries=4 password=x -n web1,web2 \
                -e test --description why --timeout 5m";
    let ran = fake.run(&words(line)).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("plan_run", ran.printed);
    let expected = json!({"plan_name": "deploy::rollout", "environment": "test",
        "params": {"version": "1.10", "retries": 4, "password": "x", "targets": ["web1", "web2"]},
        "description": "why", "userdata": {}, "timeout": 300});
    assert_eq!(fake.body(RUN), expected);
}

#[tokio::test]
async fn a_plan_that_fails_ends_with_1_and_its_reason() {
    let fake = Fake::start(broken()).await;
    let ran = fake
        .run(&words("puppet-plan run deploy::rollout targets=a"))
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (1, ""));
    assert_snapshot!("plan_run_failed", ran.printed);
    let json = "tutti plan run deploy::rollout targets=a --format json";
    let ran = fake.run(&words(json)).await;
    assert_eq!(ran.code, 1);
    let document: Value = serde_json::from_str(&ran.printed).unwrap();
    assert_eq!(document["result"]["kind"], "bolt/run-failure");
}

#[tokio::test]
async fn a_query_and_a_group_are_the_servers_to_resolve() {
    let fake = Fake::start(all_well()).await;
    let line = "tutti plan run deploy::rollout --query nodes{} version=2 --no-wait";
    let ran = fake.run(&words(line)).await;
    assert_eq!(
        (ran.code, ran.printed.as_str()),
        (0, "12\n"),
        "{}",
        ran.error
    );
    let body = fake.body(TYPED);
    let params = json!({"targets": {"value": "nodes{}", "type": "query"},
        "version": {"value": "2"}});
    assert_eq!(body["params"], params);
}

#[tokio::test]
async fn nodes_are_a_parameter_that_the_plan_has() {
    let mut answers = all_well();
    answers[0] = (ROLLOUT, 200, rollout("nodes"));
    let fake = Fake::start(answers).await;
    let run = async |rest: &str| {
        let line = format!("tutti plan run deploy::rollout {rest} --no-wait");
        fake.run(&words(&line)).await
    };
    assert_eq!(run("-n a").await.code, 0);
    assert_eq!(fake.body(RUN)["params"], json!({"nodes": ["a"]}));
    let twice = run("-n a nodes=b").await;
    assert!(twice.error.contains("given twice"), "{}", twice.error);

    let mut answers = all_well();
    answers[0] = (ROLLOUT, 200, rollout("hosts"));
    let fake = Fake::start(answers).await;
    let ran = fake
        .run(&words("tutti plan run deploy::rollout -n a"))
        .await;
    assert_eq!(ran.code, 2);
    assert!(
        ran.error.contains("no parameter targets or nodes"),
        "{}",
        ran.error
    );
}

#[tokio::test]
async fn a_plan_is_shown_with_what_it_takes() {
    let fake = Fake::start(all_well()).await;
    let ran = fake.run(&words("tutti plan show deploy::rollout")).await;
    assert_snapshot!("plan_show", ran.printed);

    let mut answers = all_well();
    let mut detail = rollout("targets");
    detail["replaced_functions"] = (1..=22)
        .map(|n| {
            json!({"name": format!("merge{n}"), "module": "site",
            "file": format!("lib/puppet/functions/merge{n}.rb")})
        })
        .collect();
    answers[0] = (ROLLOUT, 200, detail);
    let fake = Fake::start(answers).await;
    let ran = fake.run(&words("tutti plan show deploy::rollout")).await;
    let (_, functions) = ran.printed.split_once("sensitive\n").unwrap();
    assert_snapshot!("plan_show_replaced_functions", functions);
}

fn step(step: &str, state: &str, arguments: Value) -> Value {
    json!({"step": step, "type": "prompt", "site": "deploy::rollout (rollout.pp:3)",
        "arguments": arguments, "state": state, "job": null,
        "started_timestamp": "2026-11-22T10:00:00Z",
        "finished_timestamp": (state == "done").then_some("2026-11-22T10:00:03Z"),
        "until_timestamp": null, "sensitive": (state == "waiting").then_some(false)})
}

fn steps(items: &[Value]) -> Value {
    let total = items.len();
    json!({"items": items, "pagination": {"limit": 500, "offset": 0, "total": total}})
}

async fn waiting(items: &[Value]) -> Fake {
    let mut answers = all_well();
    answers.push((STEPS, 200, steps(items)));
    Fake::start(answers).await
}

#[tokio::test]
async fn steps_are_shown_in_a_table() {
    let task = json!({"task": "package", "n": 1});
    let items = [
        step("1", "done", task),
        step("2.1", "waiting", json!("Go on?")),
    ];
    let fake = waiting(&items).await;
    let ran = fake
        .run(&words("tutti plan steps 12 --state waiting"))
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("plan_steps", ran.printed);
    assert!(fake.asked()[0].query.contains("state=waiting"));
}

#[tokio::test]
async fn what_a_plan_asks_is_answered_where_nobody_must_type() {
    for (arguments, flags, answer) in [
        (json!({"prompt": "Go?", "approval": true}), "", json!(true)),
        (
            json!({"prompt": "Go?", "approval": true}),
            " --deny",
            json!(false),
        ),
        (
            json!({"prompt": "Colour?"}),
            " 4 --answer blue",
            json!("blue"),
        ),
        (
            json!({"prompt": "Which?", "menu": {"1": "blue"}}),
            " --answer 1",
            json!("1"),
        ),
    ] {
        let fake = waiting(&[step("4", "waiting", arguments)]).await;
        let ran = fake
            .run(&words(&format!("tutti plan approve 12{flags}")))
            .await;
        assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{flags}");
        let body = json!({"plan_job": "12", "step": "4", "answer": answer, "sensitive": false});
        assert_eq!(fake.body(ANSWER), body);
    }
    let text = step("4", "waiting", json!({"prompt": "Colour?"}));
    let menu = step(
        "4",
        "waiting",
        json!({"prompt": "Which?", "menu": {"1": "blue"}}),
    );
    let two = [text.clone(), step("2.1", "waiting", json!({}))];
    let texts = [text];
    let mut secret = step("4", "waiting", json!({"prompt": "Password?"}));
    secret["sensitive"] = json!(true);
    for (items, flags, part) in [
        (&[][..], "", "waits for no answer"),
        (&texts, " 5", "step 5 of plan job 12 waits for no answer"),
        (&texts, "", "\"Colour?\"; answer with --answer"),
        (&texts, " --deny", "not for approval"),
        (&[menu], " --answer blue", "none of 1"),
        (&[secret], " --answer x", "which must not be an argument"),
        (&two, "", "several steps wait: 4, 2.1"),
    ] {
        let fake = waiting(items).await;
        let ran = fake
            .run(&words(&format!("tutti plan approve 12{flags}")))
            .await;
        assert_eq!(ran.code, 2);
        assert!(ran.error.contains(part), "{part}: {}", ran.error);
        assert!(fake.asked().iter().all(|asked| asked.what != ANSWER));
    }
}

#[tokio::test]
async fn a_plan_is_stopped_with_its_jobs_if_wanted() {
    for (line, jobs) in [
        ("tutti plan stop 12", false),
        ("tutti plan stop 12 --jobs", true),
    ] {
        let fake = Fake::start(all_well()).await;
        assert_eq!(fake.run(&words(line)).await.code, 0);
        assert_eq!(fake.body(STOP), json!({"plan_job": "12", "jobs": jobs}));
    }
}

#[tokio::test]
async fn a_plan_that_is_resumed_is_followed_behind_its_earlier_end() {
    let told = [
        ("plan_failed", json!({}), "The plan ended: failure"),
        (
            "plan_resumed",
            json!({"step": "4"}),
            "anna let the plan go on from its step 4",
        ),
        ("out_message", json!({}), "again"),
        ("plan_finished", json!({}), "The plan ended: success"),
    ];
    let fake = Fake::start(answers("success", json!(null), &told)).await;
    let ran = fake
        .run(&words("tutti plan retry 12 --from-step 4 --no-wait"))
        .await;
    assert_eq!(ran.printed, "Plan job 12 goes on at step 4\n");
    assert_eq!(
        fake.body(RESUME),
        json!({"plan_job": "12", "from_step": "4"})
    );
    let ran = fake.run(&words("tutti plan events 12 --follow")).await;
    assert_eq!(ran.code, 0);
    assert!(ran.printed.contains("\nagain\n"), "{}", ran.printed);
}

fn looked_at(noop: Value, result: Value) -> Answers {
    let effect = |number: u32, function: &str, object: &str, more: Value| {
        let mut details = json!({"number": number, "function": function, "object": object,
            "targets": [], "target_count": 0, "parameters": {}, "noop": false, "sent": false,
            "description": "", "site": "deploy/plans/rollout.pp:7", "depends_on": [],
            "may_depend_on": []});
        for (key, value) in more.as_object().unwrap() {
            details[key] = value.clone();
        }
        ("preview", details, "a sentence")
    };
    let told = [
        effect(
            1,
            "run_command",
            "uptime\nhostname",
            json!({"targets": ["web1"], "target_count": 1}),
        ),
        (
            "preview_decision",
            json!({"depends_on": [1]}),
            "deploy/plans/rollout.pp:8: the result of step 1 decides here",
        ),
        effect(
            2,
            "run_task",
            "package",
            json!({
            "targets": ["web1", "web2", "web3", "web4", "web5", "web6"], "target_count": 100,
            "parameters": {"name": "<result of step 1>", "tags": ["a"], "none": null},
            "depends_on": [1], "may_depend_on": [3, 4], "description": "puts it there"}),
        ),
        effect(
            3,
            "run_task",
            "careful",
            json!({"sent": true, "noop": true}),
        ),
        ("plan_finished", json!({}), "The plan ended: success"),
    ];
    let mut answers = answers("success", result, &told);
    for answer in &mut answers {
        if answer.0 == JOB {
            answer.2["options"]["noop"] = noop.clone();
        }
    }
    answers
}

#[tokio::test]
async fn a_plan_is_looked_at_before_it_is_run() {
    let result = json!({"preview": {"noop": true, "effects": 3, "sent": 1, "depending": 1,
        "maybe_depending": 1, "decisions": 1}, "result": {"done": "<result of step 1>"}});
    let fake = Fake::start(looked_at(json!(true), result)).await;
    let line = "tutti plan run deploy::rollout targets=a --noop";
    let ran = fake.run(&words(line)).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("plan_preview", ran.printed);
    assert_eq!(fake.body(RUN)["noop"], true);
    let ran = fake.run(&words("tutti plan jobs 12")).await;
    assert_snapshot!("plan_preview_job", ran.printed);
    let ran = fake.run(&words(&format!("{line} --format json"))).await;
    let printed: Value = serde_json::from_str(&ran.printed).unwrap();
    assert_eq!(printed["plan_job"]["options"]["noop"], true);
    assert_eq!(printed["events"][2]["details"]["depends_on"], json!([1]));
}

#[tokio::test]
async fn a_preview_that_ends_early_says_where() {
    let early = json!({"at": "deploy/plans/rollout.pp:9", "because": "no such file", "kind": "x",
        "depends_on": [1, 2]});
    let result = json!({"preview": {"effects": 1, "sent": 0, "ended_early": early}});
    let fake = Fake::start(looked_at(json!("run"), result)).await;
    let ran = fake
        .run(&words(
            "tutti plan run deploy::rollout targets=a --noop=run",
        ))
        .await;
    assert_eq!(ran.code, 0);
    assert_snapshot!("plan_preview_early", ran.printed);
    assert_eq!(fake.body(RUN)["noop"], "run");
    // What stands behind a blank is the plan's.
    let ran = fake
        .run(&words("tutti plan run --noop deploy::rollout targets=a"))
        .await;
    assert_eq!(ran.code, 0, "{}", ran.error);
}

#[tokio::test]
async fn a_plan_that_fails_names_nodes_exit_codes_errors_and_the_place() {
    let of = |target: &str, value: Value| json!({"target": target, "action": "command", "status": "failure", "value": value});
    let long: String = (0..20).map(|n| format!("line {n}\n")).collect();
    let set = json!([
        of("web1", json!({"stdout": "", "stderr": "no space left\n", "exit_code": 28,
            "_error": {"msg": "The command failed with exit code 28", "details": {"exit_code": 28}}})),
        of("web2", json!({"_error": {"msg": "not connected", "kind": "x", "details": {}}})),
        of("web3", json!({"stderr": long, "_error": {"msg": "x", "details": {"exit_code": 1}}})),
        {"target": "web4", "status": "success", "value": {}},
    ]);
    let error = json!({"kind": "bolt/run-failure", "msg": "run_command 'df' failed on 3 targets",
        "details": {"result_set": set, "file": "deploy/plans/rollout.pp", "line": 7}});
    let ended = ("plan_failed", json!({"result": error}), "");
    let fake = Fake::start(answers("failure", error, &[ended])).await;
    let ran = fake.run(&["tutti", "plan", "run", "deploy::rollout"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_snapshot!(ran.printed);
}

#[tokio::test]
async fn plans_are_listed_by_list_and_plan_jobs_by_jobs() {
    let plans = json!({"environment": {"name": "production"}, "items": [
        {"id": "", "name": "deploy::rollout", "permitted": true, "description": "One after the other\nand more"},
        {"id": "", "name": "secret", "permitted": false}]});
    let jobs = json!({"items": [job("running", Value::Null)], "pagination": {"limit": 5, "offset": 0,
        "order_by": "name", "order": "desc", "total": 1}});
    let fake = Fake::start(vec![
        ("GET /orchestrator/v1/plans", 200, plans),
        ("GET /orchestrator/v1/plan_jobs", 200, jobs),
    ])
    .await;
    let ran = fake.run(&["tutti", "plan", "list"]).await;
    assert_eq!(
        (ran.code, ran.printed.as_str()),
        (0, "deploy::rollout  One after the other\n")
    );
    let ran = fake.run(&["tutti", "plan", "list", "--all"]).await;
    assert_eq!(
        ran.printed,
        "deploy::rollout  One after the other\nsecret           (not permitted)\n"
    );
    let ran = fake.run(&["tutti", "plan", "jobs", "--limit", "5"]).await;
    assert!(
        ran.code == 0 && ran.printed.contains("12  running"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_plan_that_is_not_watched_is_unattended_unless_it_may_be_answered_later() {
    for (flags, unattended) in [
        ("--no-wait", Some(true)),
        ("--no-wait --answer-later", None),
        ("-e production", None),
    ] {
        let fake = Fake::start(all_well()).await;
        let line = format!("tutti plan run deploy::rollout -n web1 {flags}");
        assert_eq!(fake.run(&words(&line)).await.code, 0);
        assert_eq!(
            fake.body(RUN).get("unattended"),
            unattended.map(Value::from).as_ref(),
            "{flags}"
        );
    }
}

#[tokio::test]
async fn a_plan_that_waits_for_an_answer_is_told_from_one_that_works() {
    let mut waiting = job("running", Value::Null);
    waiting["questions"] = json!([{"step": "4", "prompt": "Go on?", "sensitive": false,
        "asked_timestamp": "2026-11-22T10:00:02Z"}]);
    let list = json!({"items": [waiting], "pagination": {"limit": 5, "offset": 0,
        "order_by": "name", "order": "desc", "total": 1}});
    let mut answers = answers("running", Value::Null, &[]);
    answers.push(("GET /orchestrator/v1/plan_jobs", 200, list));
    answers
        .iter_mut()
        .filter(|answer| answer.0 == JOB)
        .for_each(|answer| answer.2 = waiting.clone());
    let fake = Fake::start(answers).await;
    let ran = fake.run(&words("tutti plan jobs")).await;
    assert!(
        ran.printed.contains("12  waiting  deploy::rollout"),
        "{}",
        ran.printed
    );
    let asks = "plan job 12 asks: Go on?  tutti plan approve 12 4 --answer TEXT\n";
    assert!(ran.printed.ends_with(asks), "{}", ran.printed);
    let ran = fake.run(&words("tutti plan jobs 12")).await;
    assert!(
        ran.printed.contains("Plan job 12 waiting: deploy::rollout"),
        "{}",
        ran.printed
    );
    assert!(ran.printed.contains(asks), "{}", ran.printed);
}
