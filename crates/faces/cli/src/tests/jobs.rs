//! `job run`, `job plan`, `job show`, `job list`: what is asked, what is printed, how it ends.

use clap::Parser as _;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Arguments;
use super::fake::{Answers, Fake, TOKEN, stream};

pub(super) const DEPLOY: &str = "POST /orchestrator/v1/command/deploy";
const UUID: &str = "5f5a1b2c-0000-4000-8000-000000000001";
const GROUP: &str = "0e6d1f9c-1111-4222-8333-444455556666";

pub(super) fn job(state: &str, states: Value) -> Value {
    let link = json!({"id": ""});
    json!({
        "id": "https://localhost/orchestrator/v1/jobs/81", "name": "81", "state": state,
        "command": "deploy", "type": "deploy",
        "options": {"environment": "production", "enforce_environment": true, "noop": true,
            "scope": {"nodes": ["web1", "web2"]}, "tags": "web", "debug": true},
        "owner": {"login": "anna"}, "description": "ticket 7", "environment": {"name": "production"},
        "timestamp": "2026-11-21T20:00:09Z", "created_timestamp": "2026-11-21T20:00:00Z",
        "started_timestamp": "2026-11-21T20:00:01Z", "finished_timestamp": "2026-11-21T20:00:09Z",
        "duration": "9.0", "node_count": 2, "node_states": states,
        "nodes": link, "report": link, "events": link, "userdata": {}
    })
}

pub(super) fn result(status: &str) -> Value {
    if status == "unchanged" {
        return json!({"hash": "def", "status": status, "environment": "production",
            "configuration_version": "42", "transaction_uuid": UUID,
            "metrics": {"total": 12, "changed": 0}, "noop": null});
    }
    json!({
        "hash": "abc", "status": status, "environment": "production",
        "configuration_version": "42", "transaction_uuid": UUID,
        "metrics": {"total": 12, "changed": 1, "failed": 0, "skipped": 0},
        "noop": {"noop": 0, "no_noop": 1},
        "resources": [{"type": "File", "title": "/etc/motd", "status": "changed",
            "file": "/code/site.pp", "line": 3, "messages": ["content changed"]}],
    })
}

pub(super) fn event(id: u32, kind: &str, details: Value) -> Value {
    json!({"id": id.to_string(), "type": kind, "timestamp": "2026-11-21T20:00:01Z",
        "details": details, "message": ""})
}

fn events(second: Value) -> Value {
    let url = "https://console.example.com/#/cm/report/abc";
    stream(&[
        event(
            1,
            "node_running",
            json!({"node": "web1", "detail": {"noop": true}}),
        ),
        event(
            2,
            "node_running",
            json!({"node": "web2", "detail": {"noop": true}}),
        ),
        event(
            3,
            "node_finished",
            json!({"node": "web1", "detail": {"report-url": url},
            "result": result("changed")}),
        ),
        second,
        event(5, "job_finished", json!({})),
    ])
}

pub(super) fn nodes() -> Value {
    let node = |name: &str, state: &str, details: Value, result: Value| {
        json!({"name": name, "state": state, "transport": "pcp", "duration": 4.2,
            "start_timestamp": "2026-11-21T20:00:01Z", "finish_timestamp": "2026-11-21T20:00:05Z",
            "latest-event-id": 4, "details": details, "result": result})
    };
    let error = json!({"_error": {"kind": "x", "msg": "disabled", "details": {}}});
    json!({"next-events": {"id": "", "event": "6"}, "items": [
        node("web1", "finished", json!({"report-url": "https://c/#/cm/report/abc"}), result("changed")),
        node("web2", "errored", json!({"message": "Puppet agent is disabled: maintenance"}), error),
    ]})
}

fn answers(state: &str, states: Value, second: Value) -> Answers {
    vec![
        (DEPLOY, 202, json!({"job": {"id": "", "name": "81"}})),
        ("GET /orchestrator/v1/jobs/81", 200, job(state, states)),
        ("GET /orchestrator/v1/jobs/81/nodes", 200, nodes()),
        ("GET /orchestrator/v1/events/stream", 200, events(second)),
    ]
}

pub(super) fn all_well() -> Answers {
    let second = json!({"node": "web2", "detail": {}, "result": result("unchanged")});
    answers(
        "finished",
        json!({"finished": 2}),
        event(4, "node_finished", second),
    )
}

pub(super) fn one_errored() -> Answers {
    let why = "Puppet agent is disabled: maintenance";
    let second = json!({"node": "web2", "detail": {"message": why}});
    let states = json!({"finished": 1, "errored": 1});
    answers("failed", states, event(4, "node_errored", second))
}

#[tokio::test]
async fn a_run_is_followed_to_its_end() {
    let fake = Fake::start(all_well()).await;
    let ran = fake
        .run(&[
            "tutti",
            "job",
            "run",
            "-n",
            "web1,web2",
            "--noop",
            "-e",
            "production",
        ])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("job_run", ran.printed);
}

#[tokio::test]
async fn a_node_that_cannot_run_puppet_ends_with_1_and_its_reason() {
    let fake = Fake::start(one_errored()).await;
    let ran = fake.run(&["puppet-job", "run", "-n", "web1,web2"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (1, ""));
    assert_snapshot!("job_run_errored", ran.printed);
}

#[tokio::test]
async fn json_is_one_document() {
    let fake = Fake::start(one_errored()).await;
    let words = ["tutti", "job", "run", "-n", "web1,web2", "--format", "json"];
    let ran = fake.run(&words).await;
    assert_eq!(ran.code, 1);
    let document: Value = serde_json::from_str(&ran.printed).unwrap();
    assert_eq!(document["job"]["name"], "81");
    assert_eq!(document["items"][1]["state"], "errored");
}

#[tokio::test]
async fn every_flag_reaches_the_server() {
    let fake = Fake::start(all_well()).await;
    let words = "tutti job run --query nodes{} -e test --no-enforce-environment --no-noop --tags a,b \
                 --skip-tags c --debug --trace --evaltrace --use-cached-catalog --usecacheonfailure \
                 --ordering random --filetimeout 1 --http-connect-timeout 2 \
                 --http-keepalive-timeout 3 --http-read-timeout 4 --concurrency 5 --timeout 6 \
                 --batch 1,10% --pause-between-batches 5m --max-failures 2 --description why --code lock --no-wait";
    let words: Vec<_> = words.split_whitespace().collect();
    let ran = fake.run(&words).await;
    assert_eq!((ran.code, ran.printed.as_str()), (0, "81\n"));
    let body = json!({
        "environment": "test", "scope": {"query": "nodes{}"}, "enforce_environment": false,
        "noop": false, "no_noop": true, "debug": true, "trace": true, "evaltrace": true,
        "use_cached_catalog": true, "usecacheonfailure": true, "filetimeout": 1,
        "http_connect_timeout": 2, "http_keepalive_timeout": 3, "http_read_timeout": 4,
        "ordering": "random", "tags": "a,b", "skip_tags": "c", "concurrency": 5, "timeout": 6,
        "batch": [1, "10%"], "pause_between_batches": 300, "max_failures": 2,
        "code": "lock", "description": "why", "userdata": {}
    });
    assert_eq!(fake.body(DEPLOY), body);
    assert_eq!(fake.asked()[0].token.as_deref(), Some(TOKEN));
}

#[tokio::test]
async fn a_splay_reaches_the_server_in_seconds() {
    let mut answers = all_well();
    let known = json!({"items": [{"name": "web1", "connected": false}]});
    answers.push(("POST /orchestrator/v1/inventory", 200, known));
    let fake = Fake::start(answers).await;
    let ran = fake
        .run(&[
            "tutti",
            "job",
            "run",
            "-n",
            "web1",
            "--splay",
            "28m",
            "--no-wait",
        ])
        .await;
    assert_eq!((ran.code, ran.printed.as_str()), (0, "81\n"));
    assert_eq!(fake.body(DEPLOY)["splay"], 1_680);
    let planned = ["tutti", "job", "plan", "-n", "web1", "--splay", "28m"];
    let printed = fake.run(&planned).await.printed;
    assert!(printed.contains("starts spread over 28 min"), "{printed}");
}

#[tokio::test]
async fn waves_are_started_with_their_limits() {
    let mut answers = all_well();
    answers.push((
        "POST /orchestrator/v1/command/converge",
        202,
        json!({"name": "7"}),
    ));
    let fake = Fake::start(answers).await;
    let words = "tutti job run -n web1 -e production --tags a --barrier --until-converged --max-waves 5 --min-gap 1m \
                 --max-delay 2m --strict --no-wait";
    let words: Vec<_> = words.split_whitespace().collect();
    let ran = fake.run(&words).await;
    assert_eq!((ran.code, ran.printed.as_str()), (0, "7\n"));
    let body = fake.body("POST /orchestrator/v1/command/converge");
    let limits = json!({"max_waves": 5, "min_gap": 60, "max_delay": 120, "strict": true});
    assert_eq!(body["limits"], limits);
    let deploy = &body["deploy"];
    assert_eq!(
        (&deploy["tags"], &deploy["barrier"]),
        (&json!("a"), &json!(true))
    );
}

#[tokio::test]
async fn passes_are_started_by_a_command_of_their_own_and_shown_with_what_is_left_for_later() {
    let path = "POST /orchestrator/v1/environments/production/run_order";
    let item = |pass: u64, left_out: &[&str]| {
        json!({"name": "x", "pass": pass, "level": 0, "waits_for": [], "left_out": left_out,
            "components": [{"instance": "Pair[one]", "component": "Web[b]"}]})
    };
    let order = json!({"items": [item(1, &["Web[b]"]), item(2, &[])], "partial_instances": []});
    let mut answers = all_well();
    let command = "POST /orchestrator/v1/command/multi_pass";
    answers.extend([
        (command, 202, json!({"name": "7"})),
        (path, 200, order.clone()),
    ]);
    let fake = Fake::start(answers).await;
    let words = "tutti app run Pair -e production --multi-pass --barrier --yes --no-wait";
    let words: Vec<_> = words.split_whitespace().collect();
    let ran = fake.run(&words).await;
    assert_eq!((ran.code, ran.printed.as_str()), (0, "7\n"));
    let deploy = &fake.body(command)["deploy"];
    assert_eq!(deploy["scope"], json!({"application": "Pair"}));
    assert_eq!(deploy["barrier"], true);
    for contradiction in ["--quarantine", "--until-converged", "--splay=1h"] {
        let error = Arguments::try_parse_from([&words[..], &[contradiction]].concat());
        let error = error.expect_err(contradiction).to_string();
        assert!(error.contains("cannot be used with"), "{error}");
    }

    assert_eq!(fake.body(path)["multi_pass"], true);
    let fake = Fake::start(vec![(path, 200, order)]).await;
    let words = "tutti app plan Pair -e production --multi-pass";
    let planned = fake
        .run(&words.split_whitespace().collect::<Vec<_>>())
        .await;
    assert_eq!(fake.body(path)["multi_pass"], true);
    for line in [
        "Pass 1, level 0: 1 node",
        "Pair[one]: Web[b] (left for a later pass)",
        "Pass 2, level 0: 1 node",
    ] {
        assert!(planned.printed.contains(line), "{}", planned.printed);
    }
}

#[tokio::test]
async fn absent_nodes_are_looked_up_before_a_run_that_is_not_confirmed() {
    let path = "POST /orchestrator/v1/environments/production/run_order";
    let absent = json!({"unknown": [{"name": "wbe1", "near": ["web1"]}], "unknown_omitted": 0,
        "disconnected": [], "disconnected_omitted": 0});
    let order = json!({"items": [], "partial_instances": [], "absent_nodes": absent});
    for (line, is_looked_up) in [
        ("tutti job run -n wbe1 -e production --no-wait", true),
        ("tutti job run -n wbe1 --no-wait", false),
        ("tutti app run Lamp -e production --yes --no-wait", true),
    ] {
        // the run starts whether the server tells them or not
        for status in [200, 400] {
            let mut answers = all_well();
            answers.push((path, status, order.clone()));
            let fake = Fake::start(answers).await;
            let words: Vec<_> = line.split(' ').collect();
            let ran = fake.run(&words).await;
            assert_eq!((ran.code, ran.printed.as_str()), (0, "81\n"), "{line}");
            let asked = fake.asked().into_iter().map(|it| it.what);
            let asked: Vec<String> = asked.filter(|it| it == path || it == DEPLOY).collect();
            let expected = [path, DEPLOY];
            assert_eq!(asked, expected[usize::from(!is_looked_up)..], "{line}");
        }
    }
}

#[tokio::test]
async fn a_version_reaches_the_server_and_contradicts_the_last_catalog() {
    let fake = Fake::start(all_well()).await;
    let words = "tutti job run -n web1 -e production --code-id b4ed19 --no-wait";
    let words: Vec<_> = words.split_whitespace().collect();
    fake.run(&words).await;
    assert_eq!(fake.body(DEPLOY)["code_id"], "b4ed19");
    for contradiction in [
        "--use-cached-catalog",
        "--usecacheonfailure",
        "--code=latest",
    ] {
        let error = Arguments::try_parse_from([&words[..], &[contradiction]].concat());
        let error = error.expect_err(contradiction).to_string();
        assert!(error.contains("cannot be used with"), "{error}");
    }
}

#[tokio::test]
async fn without_an_environment_each_node_runs_in_its_own() {
    let fake = Fake::start(all_well()).await;
    fake.run(&["tutti", "job", "run", "-n", "web1", "--no-wait"])
        .await;
    let body = fake.body(DEPLOY);
    assert_eq!(
        (&body["environment"], &body["enforce_environment"]),
        (&json!(""), &json!(false))
    );
}

#[tokio::test]
async fn the_file_makes_an_environment_and_noop_the_habit() {
    let fake = Fake::start(all_well()).await;
    let conf = r#"{"options":{"environment":"test","noop":true}}"#;
    let conf = fake.file("orchestrator.conf", conf);
    let words = [
        "puppet-job",
        "run",
        "-n",
        "web1",
        "--no-wait",
        "--config-file",
        &conf,
    ];
    fake.run(&words).await;
    let body = fake.body(DEPLOY);
    assert_eq!(
        (&body["environment"], &body["noop"]),
        (&json!("test"), &json!(true))
    );
    let fake = Fake::start(all_well()).await;
    let conf = fake.file("orchestrator.conf", r#"{"options":{"noop":true}}"#);
    let words = [
        "tutti",
        "job",
        "run",
        "-n",
        "web1",
        "--no-wait",
        "--no-noop",
        "-c",
        &conf,
    ];
    fake.run(&words).await;
    assert_eq!(fake.body(DEPLOY)["noop"], false);
}

#[tokio::test]
async fn a_node_group_is_found_by_its_name() {
    let group = |name: &str, id: &str| {
        json!({"name": name, "id": id, "environment": "production", "environment_trumps": false,
            "parent": id, "rule": null, "classes": {}, "config_data": {}, "variables": {},
            "last_edited": "2026-11-21T20:00:00.000Z", "serial_number": 1})
    };
    let groups = json!([
        group("Web", GROUP),
        group("Twice", "a"),
        group("Twice", "b")
    ]);
    let mut all = all_well();
    all.push(("GET /classifier-api/v1/groups", 200, groups));
    let fake = Fake::start(all).await;
    let run = |name| ["tutti", "job", "run", "--no-wait", "--node-group", name];
    assert_eq!(fake.run(&run("Web")).await.code, 0);
    assert_eq!(fake.body(DEPLOY)["scope"], json!({"node_group": GROUP}));
    for (name, why) in [("Twice", "several"), ("None", "no node group")] {
        let ran = fake.run(&run(name)).await;
        assert_eq!(ran.code, 2);
        assert!(ran.error.contains(why), "{}", ran.error);
    }
}

#[tokio::test]
async fn a_refusal_of_the_server_ends_with_2_and_its_words() {
    let error =
        json!({"kind": "puppetlabs.orchestrator/empty-target", "msg": "no nodes", "details": {}});
    let fake = Fake::start(vec![(DEPLOY, 400, error)]).await;
    let ran = fake.run(&["tutti", "job", "run", "-q", "nodes{}"]).await;
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.error,
        "no nodes (puppetlabs.orchestrator/empty-target, HTTP 400)"
    );
}

#[tokio::test]
async fn who_lacks_a_permission_is_told_how_to_get_it() {
    let error = json!({"kind": "k/not-permitted", "msg": "anna lacks the permission a:b:c",
        "details": {"permission": "a:b:c"}});
    let fake = Fake::start(vec![(DEPLOY, 403, error)]).await;
    let ran = fake.run(&["tutti", "job", "run", "-q", "nodes{}"]).await;
    let told = "`tutti role add-permission ROLE a:b:c` (k/not-permitted, HTTP 403)";
    assert!(ran.error.ends_with(told), "{}", ran.error);
}

#[tokio::test]
async fn who_may_not_watch_any_more_is_told_that_the_job_goes_on() {
    let expired = json!({"kind": "k/expired", "msg": "the token has expired", "details": {}});
    let fake = Fake::start(vec![
        (
            "GET /orchestrator/v1/jobs/81",
            200,
            job("running", json!({})),
        ),
        ("GET /orchestrator/v1/events/stream", 401, expired),
    ])
    .await;
    let ran = fake.run(&["tutti", "job", "show", "81", "--follow"]).await;
    assert_eq!(ran.code, 2);
    for words in [
        "the token has expired",
        "the job goes on",
        "tutti job show 81",
    ] {
        assert!(ran.error.contains(words), "{words}: {}", ran.error);
    }
}

#[tokio::test]
async fn a_plan_shows_where_it_would_run_and_starts_nothing() {
    let known = json!({"items": [
        {"name": "web1", "connected": true, "broker": "pcp://b/server",
         "timestamp": "2026-11-21T20:00:00.000Z"},
        {"name": "web2", "connected": false},
    ]});
    let rows = json!([{"certname": "web2"}, {"certname": "web1"}, {"certname": "web1"}]);
    let fake = Fake::start(vec![
        ("POST /orchestrator/v1/inventory", 200, known),
        ("POST /pdb/query/v4", 200, rows),
    ])
    .await;
    let ran = fake
        .run(&["tutti", "job", "plan", "-q", "nodes[certname]{}"])
        .await;
    assert_eq!(ran.code, 1, "web2 is not connected");
    assert_snapshot!("job_plan", ran.printed);
    let asked = fake.body("POST /orchestrator/v1/inventory");
    assert_eq!(asked, json!({"nodes": ["web1", "web2"]}));

    let rollout = "--batch 1,100% --pause-between-batches 5m --max-failures 0";
    let mut words = vec!["tutti", "job", "plan", "-q", "nodes[certname]{}"];
    words.extend(rollout.split(' '));
    let ran = fake.run(&words).await;
    // The nodes are taken in the order of the query.
    assert_snapshot!("job_plan_batches", ran.printed);
    words.extend(["--format", "json"]);
    let told: Value = serde_json::from_str(&fake.run(&words).await.printed).unwrap();
    assert_eq!(told["batches"], json!([1, 1]));
    assert_eq!(told["pause_between_batches"], 300);
    let of_each = ["name", "batch"].map(|key| [&told["items"][0][key], &told["items"][1][key]]);
    assert_eq!(json!(of_each), json!([["web2", "web1"], [1, 2]]));

    let ran = fake
        .run(&["tutti", "job", "plan", "-n", "web1", "--batch", "0"])
        .await;
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("--batch must not be 0"), "{}", ran.error);
}

#[tokio::test]
async fn a_job_is_shown_with_its_nodes() {
    let fake = Fake::start(one_errored()).await;
    let ran = fake.run(&["tutti", "job", "show", "81"]).await;
    assert_eq!(ran.code, 1);
    assert_snapshot!("job_show", ran.printed);
}

#[tokio::test]
async fn jobs_are_listed_with_a_mark_where_the_environment_is_not_enforced() {
    let mut other = job("running", json!({"running": 2}));
    other["name"] = "82".into();
    other["options"] = json!({"environment": "", "enforce_environment": false,
        "scope": {"query": "nodes{}"}});
    other["environment"]["name"] = "".into();
    let items = json!({"items": [other, job("finished", json!({"finished": 2}))],
        "pagination": {"limit": 50, "offset": 0, "order": "desc", "order_by": "name", "total": 2,
            "type": ""}});
    let fake = Fake::start(vec![("GET /orchestrator/v1/jobs", 200, items)]).await;
    let ran = fake
        .run(&["tutti", "job", "list", "--type", "deploy"])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("job_list", ran.printed);
    assert_eq!(
        fake.asked()[0].query,
        "order_by=name&order=desc&limit=50&type=deploy"
    );
    let show = fake.run(&["puppet-job", "show"]).await;
    assert_eq!(show.printed, ran.printed);
}

#[tokio::test]
async fn a_rollout_is_shown_with_its_options_its_batch_and_its_pause() {
    let mut paused = job("running", json!({"finished": 1, "ready": 1}));
    paused["options"]["batch"] = json!([1, "100%"]);
    paused["options"]["pause_between_batches"] = json!(300);
    paused["options"]["max_failures"] = json!("10%");
    paused["rollout"] =
        json!({"batch": 1, "batches": 2, "next_batch_timestamp": "2026-11-21T20:05:00Z"});
    let node =
        |name: &str, state: &str, batch: u32| json!({"name": name, "state": state, "batch": batch});
    let nodes = json!({"next-events": {"id": "", "event": "9"},
        "items": [node("web1", "finished", 1), node("web2", "ready", 2)]});
    let fake = Fake::start(vec![
        ("GET /orchestrator/v1/jobs/81", 200, paused),
        ("GET /orchestrator/v1/jobs/81/nodes", 200, nodes),
    ])
    .await;
    let ran = fake.run(&["tutti", "job", "show", "81"]).await;
    let printed = &ran.printed;
    assert!(
        printed.contains("batches of 1,100%, 5 min 00 s between them, at most 10% may fail"),
        "{printed}"
    );
    assert!(
        printed.contains("1 of 2 (paused; the next one starts at 2026-11-21T20:05:00Z)"),
        "{printed}"
    );
    assert!(printed.contains("web2  ready  batch 2"), "{printed}");
}

#[test]
fn sizes_and_limits_that_make_no_sense_are_refused_before_anything_is_sent() {
    for (flags, part) in [
        ("--batch 5x", "must be a number of nodes"),
        ("--batch 101%", "must be a number of nodes"),
        ("--max-failures=-1", "must be a number of nodes"),
        ("--pause-between-batches 5m", "--batch <SIZES>"),
        ("--splay 5m --batch 1", "cannot be used with"),
    ] {
        for verb in [
            "job run",
            "task run package",
            "command run true",
            "schedule run --every 1d",
        ] {
            let line = format!("tutti {verb} -n web1 {flags}");
            let error = Arguments::try_parse_from(line.split(' ')).expect_err(&line);
            assert!(error.to_string().contains(part), "{line}: {error}");
        }
    }
}

#[tokio::test]
async fn plans_that_wait_for_an_answer_stand_below_the_jobs() {
    let items = json!({"items": [job("finished", json!({"finished": 2}))],
        "pagination": {"limit": 50, "offset": 0, "order": "desc", "order_by": "name", "total": 1,
            "type": ""}});
    let plan = json!({"id": "", "name": "12", "state": "running",
        "options": {"plan_name": "deploy::rollout"}, "result": null, "owner": {"login": "anna"},
        "created_timestamp": "2026-11-22T10:00:00Z", "events": {"id": ""},
        "questions": [{"step": "3", "prompt": "Go on?", "sensitive": false,
            "asked_timestamp": "2026-11-22T10:00:02Z"}]});
    let plans = json!({"items": [plan], "pagination": {"limit": 50, "offset": 0,
        "order_by": "name", "order": "desc", "total": 1}});
    let answers = vec![
        ("GET /orchestrator/v1/jobs", 200, items),
        ("GET /orchestrator/v1/plan_jobs", 200, plans),
    ];
    let fake = Fake::start(answers.clone()).await;
    let ran = fake.run(&["tutti", "job", "list"]).await;
    let last = ran.printed.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "plan job 12 asks: Go on?  tutti plan approve 12 3 --answer TEXT"
    );
    // Who looks for something else gets that alone, and so does who may not see plan jobs.
    let ran = fake
        .run(&["tutti", "job", "list", "--state", "finished"])
        .await;
    assert!(!ran.printed.contains("asks"), "{}", ran.printed);
    let fake = Fake::start(answers[..1].to_vec()).await;
    let ran = fake.run(&["tutti", "job", "list"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
}
