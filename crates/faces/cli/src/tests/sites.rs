//! `node-group`, `schedule`, `connection`, `webhook`, `query`, `plan`.

use clap::Parser as _;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Arguments;
use super::fake::{Answers, Fake};

const GROUP: &str = "0e6d1f9c-1111-4222-8333-444455556666";
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

fn group() -> Value {
    json!({"name": "Web", "id": GROUP, "environment": "test", "environment_trumps": true,
        "parent": ROOT, "rule": ["~", "name", "^web"], "classes": {"nginx": {"workers": 4}},
        "config_data": {}, "variables": {"tier": "front"}, "description": "all webs",
        "last_edited": "2026-11-21T20:00:00.000Z", "serial_number": 3})
}

fn root() -> Value {
    json!({"name": "All Nodes", "id": ROOT, "environment": "production",
        "environment_trumps": false, "parent": ROOT, "rule": ["~", "name", ".*"], "classes": {},
        "config_data": {}, "variables": {}, "last_edited": "2026-11-21T20:00:00.000Z",
        "serial_number": 1})
}

fn groups(more: Answers) -> Answers {
    let all = (
        "GET /classifier-api/v1/groups",
        200,
        json!([group(), root()]),
    );
    [vec![all], more].concat()
}

fn scheduled() -> Value {
    json!({"id": "", "name": "3", "enabled": true, "environment": "production",
        "owner": {"login": "anna"}, "description": "nightly", "type": "task",
        "input": {"name": "backup", "parameters": {}}, "userdata": {},
        "schedule": {"start_time": null, "interval": null, "cron": "30 2 * * *",
            "timezone": "Europe/Berlin"},
        "next_run": {"time": "2026-11-22T01:30:00Z"},
        "last_run": {"time": "2026-11-21T01:30:00Z", "job": {"name": 80}}, "runs": 7,
        "upcoming": ["2026-11-22T01:30:00Z", "2026-11-23T01:30:00Z"]})
}

fn hook() -> Value {
    json!({"id": "6f1c2f6e", "url": "https://ci.example.com/x", "events": [], "description": "ci",
        "enabled": true, "created_by": "anna", "created_timestamp": "2026-11-21T20:00:00Z",
        "delivered": 5, "given_up": 1, "failing_since": "2026-11-21T21:00:00Z",
        "last_error": "HTTP 500"})
}

/// Runs each line and puts together what was printed.
async fn session(fake: &Fake, lines: &[&str]) -> String {
    let mut printed = String::new();
    for line in lines {
        let words: Vec<_> = ["tutti"].into_iter().chain(line.split(' ')).collect();
        let ran = fake.run(&words).await;
        printed.extend(["$ tutti ", line, "\n", &ran.printed, &ran.error]);
        printed.extend(["(", &ran.code.to_string(), ")\n\n"]);
    }
    printed
}

#[tokio::test]
async fn what_a_site_has_is_shown() {
    let list = |items: Value| {
        json!({"items": items, "pagination": {"limit": null, "offset": 0,
        "order": "asc", "order_by": "next_run_time", "total": 1, "type": ""}})
    };
    let connection = json!({"items": [{"connection_id": "c1", "certnames": ["switch1"],
        "type": "ssh", "parameters": {"user": "admin", "port": 2222}}]});
    let rows =
        json!([{"certname": "web1", "facts": {"os": "Debian"}}, {"certname": "web2", "up": true}]);
    let rules = json!({"rule": ["~", "name", "^web"], "rule_with_inherited": ["and"],
        "translated": {"nodes_query_format": null, "inventory_query_format": ["~", "certname", "^web"]}});
    let classified = json!({"name": "web1", "groups": [GROUP], "environment": "test",
        "classes": {"nginx": {"workers": 4}}, "parameters": {"tier": "front"}, "config_data": {}});
    let fake = Fake::start(groups(vec![
        (
            "GET /classifier-api/v1/groups/0e6d1f9c-1111-4222-8333-444455556666/rules",
            200,
            rules,
        ),
        (
            "POST /classifier-api/v1/classified/nodes/web1",
            200,
            classified,
        ),
        (
            "GET /orchestrator/v1/scheduled_jobs/environment_jobs",
            200,
            list(json!([scheduled()])),
        ),
        (
            "GET /orchestrator/v1/scheduled_jobs/environment_jobs/3",
            200,
            scheduled(),
        ),
        ("POST /inventory/v1/query/connections", 200, connection),
        ("GET /tutti/v1/webhooks", 200, json!({"items": [hook()]})),
        ("GET /tutti/v1/webhooks/6f1c2f6e", 200, hook()),
        (
            "POST /tutti/v1/webhooks/6f1c2f6e/test",
            200,
            json!({"delivered": false, "error": "HTTP 500"}),
        ),
        ("POST /pdb/query/v4", 200, rows),
    ]))
    .await;
    let lines = [
        "node-group list --ids",
        "node-group show Web",
        "node-group rules Web",
        "node-group explain web1",
        "schedule list",
        "schedule show 3",
        "schedule preview 3",
        "connection list",
        "webhook list",
        "webhook show 6f1c2f6e",
        "webhook test 6f1c2f6e",
        "query nodes{}",
    ];
    assert_snapshot!("site", session(&fake, &lines).await);
}

#[tokio::test]
async fn puppet_query_prints_json() {
    let fake = Fake::start(vec![(
        "POST /pdb/query/v4",
        200,
        json!([{"certname": "a"}]),
    )])
    .await;
    let ran = fake.run(&["puppet-query", "nodes{}"]).await;
    assert_eq!(
        serde_json::from_str::<Value>(&ran.printed).unwrap(),
        json!([{"certname": "a"}])
    );
    let conf = json!({"puppetdb": {"server_urls": ["https://127.0.0.1:1", fake.url],
        "cacert": fake.path("ca.pem"), "cert": fake.path("server.pem"), "key": fake.path("server.key")}});
    let conf = fake.file("puppetdb.conf", &conf.to_string());
    let none = fake.path("none").display().to_string();
    let words = [
        "puppet-query",
        "[\"from\",\"nodes\"]",
        "-c",
        &conf,
        "--token",
        &none,
    ];
    let ran = fake.run_alone(&words).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    let asked = fake.asked();
    assert_eq!(asked[1].body, json!({"query": ["from", "nodes"]}));
    assert_eq!(asked[1].token, None, "the certificate stands for who asks");
}

#[tokio::test]
async fn a_group_is_made_changed_and_pinned() {
    let edit = "POST /classifier-api/v1/groups/0e6d1f9c-1111-4222-8333-444455556666";
    let pin = "POST /classifier-api/v1/groups/0e6d1f9c-1111-4222-8333-444455556666/pin";
    let fake = Fake::start(groups(vec![(edit, 200, group()), (pin, 204, Value::Null)])).await;
    let words = [
        "tutti",
        "node-group",
        "edit",
        "Web",
        "--class",
        "ntp",
        "--no-class",
        "nginx",
        "--no-rule",
        "--variable",
        "n=1",
        "--environment-trumps",
        "false",
    ];
    assert_eq!(fake.run(&words).await.error, "");
    let delta = json!({"environment_trumps": false, "rule": null,
        "classes": {"ntp": {}, "nginx": null}, "variables": {"n": 1}});
    assert_eq!(fake.body(edit), delta);
    let nothing = fake.run(&["tutti", "node-group", "edit", "Web"]).await;
    assert_eq!(nothing.code, 2);
    let nodes = fake.file("nodes", "b\nc\n");
    let nodes = format!("@{nodes}");
    assert_eq!(
        fake.run(&["tutti", "node-group", "pin", "Web", "a", &nodes])
            .await
            .error,
        ""
    );
    assert_eq!(fake.body(pin), json!({"nodes": ["a", "b", "c"]}));
    let words = [
        "tutti",
        "node-group",
        "create",
        "New",
        "--parent",
        "Web",
        "--rule",
        r#"["=","name","x"]"#,
        "--class",
        r#"a={"b":1}"#,
    ];
    fake.run(&words).await;
    let asked = fake.asked().pop().unwrap();
    let id = asked
        .what
        .strip_prefix("PUT /classifier-api/v1/groups/")
        .unwrap();
    let body = json!({"name": "New", "parent": GROUP, "classes": {"a": {"b": 1}}, "id": id,
        "rule": ["=", "name", "x"]});
    assert_eq!(asked.body, body);
}

#[tokio::test]
async fn schedules_are_made_of_the_same_flags_as_jobs() {
    let create = "POST /orchestrator/v1/scheduled_jobs/environment_jobs";
    let reply = json!({"scheduled_job": {"id": "", "name": "3"}});
    let one = (
        "GET /orchestrator/v1/scheduled_jobs/environment_jobs/3",
        200,
        scheduled(),
    );
    let task = json!({"id": "", "name": "backup", "environment": {"name": "test"},
        "metadata": {"parameters": {"version": {"type": "String"}}}});
    let fake = Fake::start(vec![
        (create, 200, reply.clone()),
        one.clone(),
        ("GET /orchestrator/v1/tasks/backup/init", 200, task),
    ])
    .await;
    let words = [
        "tutti",
        "schedule",
        "task",
        "backup",
        "version=1.10",
        "n=1",
        "-n",
        "a",
        "-e",
        "test",
        "--cron",
        "30 2 * * *",
        "--timezone",
        "Europe/Berlin",
        "--spread",
        "15m",
    ];
    let ran = fake.run(&words).await;
    assert_eq!(
        (ran.error.as_str(), ran.printed.as_str()),
        (
            "",
            "Scheduled job 3; it starts first at 2026-11-22T01:30:00Z\n"
        )
    );
    let body = fake.body(create);
    assert_eq!(body["type"], "task");
    assert_eq!(
        body["input"]["parameters"],
        json!({"version": {"value": "1.10"}, "n": {"value": 1}})
    );
    assert_eq!(
        body["schedule"],
        json!({"start_time": null, "interval": null, "cron": "30 2 * * *",
        "timezone": "Europe/Berlin", "spread_seconds": 900})
    );

    let plan = json!({"id": "", "name": "deploy::rollout", "environment": {"name": "production"},
        "metadata": {"parameters": {"targets": {"type": "TargetSpec"}, "version": {"type": "String"}}}});
    let fake = Fake::start(vec![
        (create, 200, reply.clone()),
        one.clone(),
        ("GET /orchestrator/v1/plans/deploy/rollout", 200, plan),
    ])
    .await;
    let line = "tutti schedule plan deploy::rollout version=1.10 -q nodes{} --every 1d";
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(fake.run(&words).await.error, "");
    let body = fake.body(create);
    assert_eq!(body["type"], "plan");
    let parameters =
        json!({"targets": {"value": "nodes{}", "type": "query"}, "version": {"value": "1.10"}});
    let input = json!({"name": "deploy::rollout", "parameters": parameters});
    assert_eq!(body["input"], input);

    let fake = Fake::start(vec![(create, 200, reply), one]).await;
    let words = [
        "tutti",
        "schedule",
        "run",
        "-q",
        "nodes{}",
        "--at",
        "2027-01-10T02:00:00+01:00",
        "--noop",
        "--concurrency",
        "5",
        "--description",
        "why",
    ];
    assert_eq!(fake.run(&words).await.error, "");
    let body = fake.body(create);
    assert_eq!(
        (&body["type"], &body["description"]),
        (&json!("deploy"), &json!("why"))
    );
    assert_eq!(body["schedule"]["start_time"], "2027-01-10T01:00:00Z");
    let input = &body["input"];
    assert_eq!(
        (&input["noop"], &input["concurrency"]),
        (&json!(true), &json!(5))
    );
    assert_eq!(input["scope"], json!({"query": "nodes{}"}));
    for key in ["environment", "description", "userdata"] {
        assert!(input.get(key).is_none(), "{key} stands beside the input");
    }
}

#[tokio::test]
async fn secrets_of_connections_come_from_files() {
    let create = "POST /inventory/v1/command/create-connection";
    let fake = Fake::start(vec![(create, 201, json!({"connection_id": "c1"}))]).await;
    let (password, key) = (
        fake.file("password", "s3cret\n"),
        fake.file("id", "-----KEY-----\nx\n"),
    );
    let words = [
        "tutti",
        "connection",
        "add",
        "a,b",
        "--user",
        "admin",
        "--port",
        "2222",
        "--password-file",
        &password,
        "--private-key",
        &key,
        "--replace",
    ];
    let ran = fake.run(&words).await;
    assert_eq!(
        (ran.error.as_str(), ran.printed.as_str()),
        ("", "Made connection c1 of 2 nodes\n")
    );
    let body = json!({"certnames": ["a", "b"], "type": "ssh",
        "parameters": {"user": "admin", "port": 2222},
        "sensitive_parameters": {"password": "s3cret", "private-key-content": "-----KEY-----\nx\n"},
        "duplicates": "replace"});
    assert_eq!(fake.body(create), body);
}

#[tokio::test]
async fn forgetting_a_connection_tells_which_nodes_had_none() {
    let query = "POST /inventory/v1/query/connections";
    let delete = "POST /inventory/v1/command/delete-connection";
    let there = json!({"items": [{"connection_id": "c1", "certnames": ["a", "b"], "type": "ssh"}]});
    let fake = Fake::start(vec![(query, 200, there), (delete, 204, Value::Null)]).await;
    let ran = fake.run(&["tutti", "connection", "delete", "a,typo"]).await;
    assert_eq!(
        (ran.error.as_str(), ran.printed.as_str()),
        (
            "",
            "Forgot the connections of 1 node\nThere was none of typo\n"
        )
    );
    assert_eq!(fake.body(delete), json!({"certnames": ["a"]}));

    let fake = Fake::start(vec![(query, 200, json!({"items": []}))]).await;
    let names = (0..8)
        .map(|n| format!("n{n}"))
        .collect::<Vec<_>>()
        .join(",");
    let ran = fake.run(&["tutti", "connection", "delete", &names]).await;
    assert_ne!(ran.code, 0);
    for words in ["n0, n1, n2, n3, n4 and 3 more", "tutti connection list"] {
        assert!(ran.error.contains(words), "{}", ran.error);
    }
    assert!(
        fake.asked().iter().all(|asked| asked.what == query),
        "nothing is deleted"
    );
}

#[tokio::test]
async fn the_key_of_a_webhook_is_shown_once() {
    let mut made = hook();
    made["secret"] = "whsec_abc".into();
    let fake = Fake::start(vec![
        ("POST /tutti/v1/webhooks", 201, made),
        ("PUT /tutti/v1/webhooks/6f1c2f6e", 200, hook()),
    ])
    .await;
    let lines = [
        "webhook create https://ci.example.com/x --event job_finished",
        "webhook edit 6f1c2f6e --disable --all-events",
    ];
    let printed = session(&fake, &lines).await;
    assert_eq!(printed.matches("whsec_abc").count(), 1, "{printed}");
    let body = fake.body("PUT /tutti/v1/webhooks/6f1c2f6e");
    assert_eq!(
        (&body["enabled"], &body["events"], &body["url"]),
        (&json!(false), &json!([]), &Value::Null)
    );
}

/// A scheduled job of Puppet runs with this input, whose last start made the job with this address.
fn scheduled_puppet(input: Value, last_job: Value) -> Value {
    let mut job = scheduled();
    job["type"] = json!("deploy");
    job["input"] = input;
    job["last_run"]["job"] = last_job;
    job
}

#[tokio::test]
async fn waves_and_passes_are_scheduled_with_the_flags_of_jobs_and_shown_in_words() {
    let create = "POST /orchestrator/v1/scheduled_jobs/environment_jobs";
    let show = "GET /orchestrator/v1/scheduled_jobs/environment_jobs/3";
    let reply = json!({"scheduled_job": {"id": "", "name": "3"}});
    let plan_job = |number: u64| json!({"id": format!("https://x/orchestrator/v1/plan_jobs/{number}"), "name": number});
    let limits = json!({"max_waves": 5, "min_gap": 60, "max_delay": 120, "strict": true});
    let refused = json!({"name": null, "submission_error":
        {"kind": "puppetlabs.orchestrator/empty-target", "msg": "no node", "details": {}}});
    for (flags, key, value, last_job, lines) in [
        (
            "--until-converged --max-waves 5 --min-gap 1m --max-delay 2m --strict",
            "until_converged",
            limits,
            plan_job(7),
            [
                "what           puppet until converged\n",
                "waves          at most 5; at least 1 min apart; at most 2 min for a node; until no run changes anything\n",
                "as plan job 7\n",
            ],
        ),
        (
            "--until-converged",
            "until_converged",
            json!({"strict": false}),
            refused,
            [
                "puppet until converged\n",
                "no plan job: no node\n",
                "runs           7\n",
            ],
        ),
        (
            "--multi-pass",
            "multi_pass",
            json!(true),
            json!({"id": "https://x/orchestrator/v1/jobs/8", "name": 8}),
            [
                "what           puppet in passes\n",
                "as job 8\n",
                "runs           7\n",
            ],
        ),
    ] {
        let input = json!({"scope": {"application": "Pair"}, key: value});
        let shown = scheduled_puppet(input, last_job);
        let fake = Fake::start(vec![(create, 200, reply.clone()), (show, 200, shown)]).await;
        let words =
            format!("tutti schedule run -e production --application Pair --every 1d {flags}");
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(fake.run(&words).await.error, "");
        let input = &fake.body(create)["input"];
        assert_eq!(input[key], value);
        let other = ["until_converged", "multi_pass"]
            .into_iter()
            .find(|it| *it != key);
        assert!(input.get(other.unwrap()).is_none(), "{input}");
        let printed = fake.run(&["tutti", "schedule", "show", "3"]).await.printed;
        for line in lines {
            assert!(printed.contains(line), "{printed}");
        }
    }
    for contradiction in [
        "--multi-pass --until-converged",
        "--multi-pass --splay 1h",
        "--until-converged --noop",
        "--max-waves 3",
    ] {
        let words = format!("tutti schedule run -e production -n a --every 1d {contradiction}");
        assert!(
            Arguments::try_parse_from(words.split(' ')).is_err(),
            "{contradiction}"
        );
    }
}
