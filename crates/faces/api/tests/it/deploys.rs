//! `POST command/deploy`, and the job that it creates, key by key.

use std::sync::Arc;

use api::ServerInfo;
use async_trait::async_trait;
use environments::EnvironmentName;
use http::StatusCode;
use jobs::{
    CatalogCompilers, JobsConfig, KIND_PUPPETSERVER, NodeEnvironment, NodeResolveError,
    NodeResolver, PuppetReportSummary, PuppetRun, PuppetserverChoice,
};
use pcp::Certname;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::{Reply, World};

const UUID: &str = "5f5a1b2c-0000-4000-8000-000000000001";
const GROUP: &str = "0e6d1f9c-1111-4222-8333-444455556666";

/// A resolver that returns the same nodes for every query, group and environment.
#[derive(Debug)]
struct Oracle {
    nodes: Result<Vec<String>, NodeResolveError>,
}

#[async_trait]
impl NodeResolver for Oracle {
    async fn query_certnames(&self, _: &Value) -> Result<Vec<String>, NodeResolveError> {
        self.nodes.clone()
    }

    async fn nodes_of_group(&self, _: &str) -> Result<Vec<String>, NodeResolveError> {
        self.nodes.clone()
    }

    async fn nodes_of_environment(&self, _: &str) -> Result<Vec<String>, NodeResolveError> {
        self.nodes.clone()
    }

    async fn classified_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<NodeEnvironment>, NodeResolveError> {
        Ok(vec![
            NodeEnvironment::Into("production".to_owned());
            nodes.len()
        ])
    }

    async fn find_report(
        &self,
        _: &PuppetRun,
    ) -> Result<Option<PuppetReportSummary>, NodeResolveError> {
        Ok(Some(PuppetReportSummary {
            hash: Some("abc".to_owned()),
            ..PuppetReportSummary::default()
        }))
    }
}

pub(crate) async fn knowing(nodes: Result<&[&str], NodeResolveError>) -> World {
    let nodes = nodes.map(|nodes| nodes.iter().map(ToString::to_string).collect());
    Box::pin(World::knowing(
        ServerInfo::default(),
        Arc::new(Oracle { nodes }),
    ))
    .await
}

pub(crate) fn changed() -> Manner {
    Manner {
        puppet: Some(json!({
            "time": "2026-11-21T20:00:00+00:00", "transaction_uuid": UUID, "status": "changed",
            "environment": "production", "metrics": {"total": 7, "changed": 1}, "exitcode": 0,
            "version": 1, "configuration_version": "42",
        })),
        ..Manner::default()
    }
}

/// The run time is shown only for Puppet runs, and only while they run.
#[tokio::test]
async fn a_puppet_run_under_way_tells_for_how_long() {
    let world = knowing(Ok(&[])).await;
    let manner = Manner {
        held: true,
        ..changed()
    };
    let nodes = world.nodes(1, &manner);
    let body = json!({"environment": "production", "scope": {"nodes": nodes}});
    let job = deploy(&world, body).await.json()["job"]["name"].clone();
    let task = world.run(&nodes).await;
    let job = job.as_str().unwrap();
    let node = async |job: &str| {
        let nodes = world
            .ok(&format!("/orchestrator/v1/jobs/{job}/nodes"))
            .await;
        nodes["items"][0].clone()
    };
    let puppet = node(job).await;
    assert_eq!(puppet["state"], "running");
    let seconds = puppet["details"]["run-time"].as_f64();
    assert!(seconds.is_some_and(|seconds| seconds >= 0.0), "{puppet}");
    let task = node(&task).await;
    assert_eq!(
        (&task["state"], &task["details"]),
        (&json!("running"), &json!({}))
    );
    world.agents.let_go();
    world.over(job).await;
    assert!(node(job).await["details"].get("run-time").is_none());
}

async fn deploy(world: &World, body: Value) -> Reply {
    world
        .post("/orchestrator/v1/command/deploy", body.to_string())
        .await
}

#[tokio::test]
async fn what_puppet_runs_changed_is_counted_by_day() {
    let world = knowing(Ok(&[])).await;
    let mut manner = changed();
    manner.puppet.as_mut().expect("a run")["metrics"] =
        json!({"total": 9, "changed": 5, "corrective_change": 2});
    let nodes = world.nodes(2, &manner);
    let body = json!({"environment": "production", "scope": {"nodes": nodes}});
    assert_eq!(deploy(&world, body).await.status, StatusCode::ACCEPTED);
    world.over("1").await;
    // The sum of two days, in case the test runs at midnight.
    let sum = async |key: &str, query: &str| {
        let usage = world.ok(&format!("/orchestrator/v1/usage{query}")).await;
        let days = usage["items"].as_array().expect("days").iter();
        let counts: Option<Vec<_>> = days.map(|day| day[key].as_u64()).collect();
        counts.map(|counts| counts.iter().sum::<u64>())
    };
    assert_eq!(sum("corrective_agent_changes", "").await, Some(4));
    assert_eq!(sum("intentional_agent_changes", "").await, Some(6));
    assert_eq!(sum("total_nodes", "").await, Some(2));
    let without = "?events=exclude";
    assert_eq!(sum("corrective_agent_changes", without).await, None);
    assert_eq!(sum("total_nodes", without).await, Some(2));
}

#[tokio::test]
async fn a_puppet_run_has_the_shape_that_clients_know() {
    let world = knowing(Ok(&[])).await;
    let nodes = world.nodes(1, &changed());
    let body = json!({"environment": "production", "scope": {"nodes": nodes}, "noop": true,
        "tags": "web,db", "concurrency": 2, "userdata": {"ticket": "T-1"}});
    let reply = deploy(&world, body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let url = "https://tutti.example.com:8143/orchestrator/v1/jobs/1";
    assert_eq!(reply.json(), json!({"job": {"id": url, "name": "1"}}));
    world.over("1").await;

    let job = world.ok("/orchestrator/v1/jobs/1").await;
    assert_eq!(job["state"], "finished");
    assert_eq!(
        (&job["command"], &job["type"]),
        (&json!("deploy"), &json!("deploy"))
    );
    let options = json!({
        "environment": "production", "enforce_environment": true, "scope": {"nodes": nodes},
        "target": null, "code": "latest", "code_id": null, "noop": true, "no_noop": false, "debug": false, "trace": false,
        "evaltrace": false, "use_cached_catalog": false, "usecacheonfailure": null,
        "filetimeout": null, "http_connect_timeout": null, "http_keepalive_timeout": null,
        "http_read_timeout": null, "ordering": null, "tags": "web,db", "skip_tags": null,
        "concurrency": 2, "timeout": null, "description": "", "scheduled-job-id": null
    });
    assert_eq!(job["options"], options);
    let states = job["status"].as_array().unwrap().iter();
    let states: Vec<_> = states
        .map(|status| status["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["new", "ready", "running", "finished"]);

    let nodes = world.ok("/orchestrator/v1/jobs/1/nodes").await;
    let node = &nodes["items"][0];
    assert_eq!(node["state"], "finished");
    assert_eq!(node["transaction_uuid"], UUID);
    let report_url = "https://console.example.com/#/cm/report/abc";
    assert_eq!(node["details"], json!({"report-url": report_url}));
    let result = json!({
        "hash": "abc", "status": "changed", "noop": null, "environment": "production",
        "configuration_version": "42", "metrics": {"total": 7, "changed": 1},
        "transaction_uuid": UUID
    });
    assert_eq!(node["result"], result);

    let events = world.ok("/orchestrator/v1/jobs/1/events").await;
    let items = events["items"].as_array().unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|event| {
            (
                event["type"].as_str().unwrap(),
                event["message"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("node_running", "Started puppet run on a ..."),
        ("node_finished", "Finished puppet run on a - Success!"),
        ("job_finished", "The job is over: finished"),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        items[0]["details"],
        json!({"node": "a", "detail": {"noop": true}})
    );
    let mut detail = result;
    detail["report-url"] = report_url.into();
    assert_eq!(items[1]["details"], json!({"node": "a", "detail": detail}));
    let list = world.ok("/orchestrator/v1/jobs?type=deploy").await;
    assert_eq!(list["pagination"]["total"], 1);
}

#[tokio::test]
async fn every_kind_of_scope_comes_to_its_nodes() {
    let world = knowing(Ok(&["a", "b"])).await;
    world.nodes(2, &changed());
    for scope in [
        json!({"query": "nodes[certname]{}"}),
        json!({"query": ["from", "nodes"]}),
        json!({"node_group": GROUP}),
        json!({"whole_environment": true}),
        Value::Null,
    ] {
        let body = json!({"environment": "production", "scope": scope});
        let number = deploy(&world, body).await.json()["job"]["name"].clone();
        let number = number.as_str().unwrap();
        world.over(number).await;
        let job = world.ok(&format!("/orchestrator/v1/jobs/{number}")).await;
        assert_eq!(job["node_states"], json!({"finished": 2}), "{scope}");
    }
    let own = json!({"environment": "", "enforce_environment": false, "scope": {"nodes": ["a"]}});
    assert_eq!(deploy(&world, own).await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn why_a_scope_comes_to_nothing_is_told_by_its_kind() {
    let text = || "why".to_owned();
    let query = json!({"query": "nodes{}"});
    let group = json!({"node_group": GROUP});
    let all = json!({"whole_environment": true});
    for (nodes, scope, kind) in [
        (Ok(&[][..]), &query, "empty-target"),
        (Ok(&[][..]), &group, "empty-target"),
        (Ok(&[][..]), &all, "empty-environment"),
        (Err(NodeResolveError::Query(text())), &query, "query-error"),
        (
            Err(NodeResolveError::Unreachable(text())),
            &query,
            "puppetdb-error",
        ),
        (
            Err(NodeResolveError::NoRules(text())),
            &group,
            "validation-error",
        ),
        (
            Err(NodeResolveError::UnknownGroup(text())),
            &group,
            "validation-error",
        ),
    ] {
        let world = knowing(nodes).await;
        for (command, mut body) in [
            ("deploy", json!({"environment": "production"})),
            (
                "task",
                json!({"environment": "production", "task": "test", "params": {}}),
            ),
        ] {
            body["scope"] = scope.clone();
            let path = format!("/orchestrator/v1/command/{command}");
            let reply = world.post(&path, body.to_string()).await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{command} {scope}");
            assert_eq!(
                reply.kind(),
                format!("puppetlabs.orchestrator/{kind}"),
                "{command}"
            );
        }
        assert_eq!(world.ok("/orchestrator/v1/jobs").await["items"], json!([]));
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_deploy_is_named() {
    let world = World::new().await;
    let good = json!({"environment": "production", "scope": {"nodes": ["a"]}});
    let with = |change: Value| {
        let mut body = good.clone();
        for (key, value) in change.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    for (body, path) in [
        (json!({"scope": {"nodes": ["a"]}}), "."),
        (with(json!({"unknown": 1})), "unknown"),
        (with(json!({"noop": true, "no_noop": true})), "no_noop"),
        (with(json!({"noop": "true"})), "noop"),
        (with(json!({"environment": ""})), "enforce_environment"),
        (
            json!({"environment": "", "enforce_environment": false}),
            "scope",
        ),
        (
            with(json!({"environment": "", "enforce_environment": false, "code": "lock"})),
            "code",
        ),
        (with(json!({"code": "pinned"})), "code"),
        (
            with(json!({"code_id": "b4ed", "code": "latest"})),
            "code_id",
        ),
        (
            with(json!({"code_id": "b4ed", "use_cached_catalog": true})),
            "code_id",
        ),
        (
            with(json!({"code_id": "b4ed", "usecacheonfailure": true})),
            "code_id",
        ),
        (
            json!({"environment": "", "enforce_environment": false, "scope": {"nodes": ["a"]}, "code_id": "b4ed"}),
            "code_id",
        ),
        (with(json!({"code_id": "urn:../../x"})), "code_id"),
        (with(json!({"environment": "../x"})), "environment"),
        (with(json!({"environment": "--trace"})), "environment"),
        (with(json!({"scope": {}})), "scope"),
        (
            with(json!({"scope": {"nodes": ["a"], "query": "x"}})),
            "scope",
        ),
        (with(json!({"scope": []})), "scope"),
        (with(json!({"scope": {"query": 5}})), "scope.query"),
        (
            with(json!({"scope": {"node_group": "x"}})),
            "scope.node_group",
        ),
        (
            with(json!({"scope": {"application": "app[x]"}})),
            "scope.application",
        ),
        (with(json!({"target": "App"})), "target"),
        (with(json!({"ordering": "up"})), "ordering"),
        (with(json!({"tags": "--debug"})), "tags"),
        (with(json!({"skip_tags": "a b"})), "skip_tags"),
        (with(json!({"filetimeout": -1})), "filetimeout"),
        (with(json!({"http_read_timeout": 1.5})), "http_read_timeout"),
        (with(json!({"concurrency": 0})), "concurrency"),
        (with(json!({"timeout": 9_999_999})), "timeout"),
    ] {
        let reply = deploy(&world, body.clone()).await;
        assert_eq!(
            reply.status,
            StatusCode::BAD_REQUEST,
            "{body}: {}",
            reply.text()
        );
        assert_eq!(
            reply.kind(),
            "puppetlabs.orchestrator/validation-error",
            "{body}"
        );
        assert_eq!(
            reply.json()["details"]["path"],
            path,
            "{body}: {}",
            reply.text()
        );
    }
    let unknown = deploy(&world, with(json!({"environment": "none"}))).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(
        unknown.kind(),
        "puppetlabs.orchestrator/unknown-environment"
    );
    assert_eq!(unknown.json()["details"], json!({"environment": "none"}));
    let empty = deploy(&world, with(json!({"scope": {"nodes": []}}))).await;
    assert_eq!(empty.kind(), "puppetlabs.orchestrator/empty-target");
    assert_eq!(world.ok("/orchestrator/v1/jobs").await["items"], json!([]));
}

/// Leaves the node `a` to a puppetserver.
#[derive(Debug)]
struct PuppetserverOfA;

#[async_trait]
impl CatalogCompilers for PuppetserverOfA {
    async fn puppetservers(
        &self,
        nodes: &[Certname],
        _: &EnvironmentName,
    ) -> Vec<Option<PuppetserverChoice>> {
        let nodes = nodes.iter();
        nodes
            .map(|node| (node.as_str() == "a").then(PuppetserverChoice::default))
            .collect()
    }
}

#[tokio::test]
async fn a_node_of_a_puppetserver_takes_no_part_in_a_job_that_names_a_version() {
    let config = JobsConfig {
        compilers: Arc::new(PuppetserverOfA),
        ..JobsConfig::default()
    };
    let world = Box::pin(World::with_jobs(ServerInfo::default(), config)).await;
    let digits = "a".repeat(40);
    let version = format!("deploys/versions/production_{digits}/manifests");
    std::fs::create_dir_all(world.dir.path().join(version)).unwrap();
    let code_id = format!("urn:puppet:code-id:1:{digits};production");
    let mut manner = changed();
    manner.puppet.as_mut().unwrap()["code_id"] = json!(code_id);
    let nodes = world.nodes(2, &manner);
    let body = json!({"environment": "production", "scope": {"nodes": nodes}, "code_id": code_id});
    let reply = deploy(&world, body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    world.over("1").await;
    let listed = world.ok("/orchestrator/v1/jobs/1/nodes").await;
    let states: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["errored", "finished"], "{listed}");
    let error = &listed["items"][0]["result"]["_error"];
    assert_eq!(error["kind"], KIND_PUPPETSERVER, "{listed}");
    let msg = error["msg"].as_str().unwrap();
    let expected =
        "the catalogs of a are compiled by a puppetserver, which knows no version but the live one";
    assert!(msg.starts_with(expected), "{msg}");
}
