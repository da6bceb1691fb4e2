//! Permissions for tasks on nodes: task targets, queries, groups, Puppet runs.

use std::sync::Arc;

use api::ServerInfo;
use async_trait::async_trait;
use http::{Request, StatusCode, header};
use jobs::{
    EmptyResolver, NodeEnvironment, NodeResolveError, NodeResolver, PuppetReportSummary, PuppetRun,
};
use pcp::Certname;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::{Reply, World};

const GROUP: &str = "0e6d1f9c-1111-4222-8333-444455556666";

/// A resolver: the group has the node `b`; a query returns `c`; the last run of `d` was in the
/// environment `branch`.
#[derive(Debug)]
struct Oracle;

#[async_trait]
impl NodeResolver for Oracle {
    async fn query_certnames(&self, _: &Value) -> Result<Vec<String>, NodeResolveError> {
        Ok(vec!["c".to_owned()])
    }

    async fn nodes_of_group(&self, group: &str) -> Result<Vec<String>, NodeResolveError> {
        match group {
            GROUP => Ok(vec!["b".to_owned()]),
            other => Err(NodeResolveError::UnknownGroup(other.to_owned())),
        }
    }

    async fn nodes_of_environment(
        &self,
        environment: &str,
    ) -> Result<Vec<String>, NodeResolveError> {
        match environment {
            "production" => Ok(["a", "d"].map(str::to_owned).to_vec()),
            _ => Ok(Vec::new()),
        }
    }

    async fn classified_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<NodeEnvironment>, NodeResolveError> {
        EmptyResolver.classified_environments(nodes).await
    }

    async fn last_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, NodeResolveError> {
        let of = |node: &Certname| (node.as_str() == "d").then(|| "branch".to_owned());
        Ok(nodes.iter().map(of).collect())
    }

    async fn find_report(
        &self,
        run: &PuppetRun,
    ) -> Result<Option<PuppetReportSummary>, NodeResolveError> {
        EmptyResolver.find_report(run).await
    }
}

/// A world with the nodes `a` to `d`, and the token of a user with these permissions.
pub(crate) async fn as_somebody(rights: impl Fn(&str) -> Value) -> World {
    let mut world = Box::pin(World::knowing(ServerInfo::default(), Arc::new(Oracle))).await;
    world.nodes(4, &Manner::default());
    let target = json!({"display_name": "tests", "tasks": ["test"], "nodes": ["a"],
        "node_groups": [GROUP, "0e6d1f9c-1111-4222-8333-00000000ffff"],
        "pql_query": "nodes[certname] { }"});
    let made = post(&world, "/orchestrator/v1/command/task_target", &target).await;
    let target = made.json()["task_target"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let role = json!({"display_name": "somebody", "description": "", "user_ids": [],
        "group_ids": [], "permissions": rights(&target)});
    let role = post(&world, "/rbac-api/v1/roles", &role).await;
    let place = role.headers[header::LOCATION].to_str().unwrap();
    let role: i64 = place.rsplit('/').next().unwrap().parse().unwrap();
    let user = json!({"login": "somebody", "display_name": "Somebody", "email": "",
        "password": "a password of somebody", "role_ids": [role]});
    let user = post(&world, "/rbac-api/v1/users", &user).await;
    assert!(user.status.is_success(), "{}", user.text());
    let login = json!({"login": "somebody", "password": "a password of somebody"}).to_string();
    let request = Request::post("/rbac-api/v1/auth/token").body(login.into());
    let reply = world.send(request.unwrap()).await;
    world.token = reply.json()["token"].as_str().unwrap().to_owned();
    world
}

async fn post(world: &World, path: &str, body: &Value) -> Reply {
    let reply = world.post(path, body.to_string()).await;
    assert!(reply.status.as_u16() < 500, "{path}: {}", reply.text());
    reply
}

pub(crate) fn right(object_type: &str, action: &str, instance: &str) -> Value {
    json!({"object_type": object_type, "action": action, "instance": instance})
}

async fn run(world: &World, task: &str, scope: Value) -> Reply {
    let body = json!({"environment": "production", "task": task, "params": {}, "scope": scope});
    post(world, "/orchestrator/v1/command/task", &body).await
}

#[tokio::test]
async fn a_task_runs_on_the_permitted_nodes_and_the_others_are_named() {
    let world = as_somebody(|target| {
        json!([
            right("tasks", "run_with_constraints", target),
            right("orchestrator", "view", "*"),
        ])
    })
    .await;
    let reply = run(&world, "test", json!({"nodes": ["d", "c", "b", "a"]})).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let made = reply.json();
    assert_eq!(made["not_permitted"], json!(["d"]));
    let number = made["job"]["name"].as_str().unwrap();
    world.over(number).await;
    let job = world.ok(&format!("/orchestrator/v1/jobs/{number}")).await;
    assert_eq!(job["node_states"], json!({"finished": 3}));
    for (task, scope) in [
        ("test", json!({"nodes": ["d"]})),
        ("test::typed", json!({"nodes": ["a"]})),
    ] {
        let refused = run(&world, task, scope).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{task}");
        assert_eq!(refused.kind(), "puppetlabs.orchestrator/not-permitted");
    }
}

#[tokio::test]
async fn nodes_of_a_whole_environment_are_named_only_to_those_who_may_see_them() {
    let whole = json!({"whole_environment": true});
    for may_view in [false, true] {
        let world = as_somebody(|target| {
            let mut rights = vec![right("tasks", "run_with_constraints", target)];
            rights.extend(may_view.then(|| right("nodes", "view_data", "*")));
            json!(rights)
        })
        .await;
        let reply = run(&world, "test", whole.clone()).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        let named = may_view.then(|| json!(["d"]));
        assert_eq!(reply.json().get("not_permitted"), named.as_ref());
    }
}

/// With push access to a branch, a user can write the tasks of its environment. Together with the
/// permission for a harmless task, this must not give access to the nodes of another environment.
#[tokio::test]
async fn a_task_of_another_branch_does_not_run_on_nodes_of_production() {
    let world = as_somebody(|target| {
        json!([
            right("tasks", "run", "test"),
            right("tasks", "run", "test::typed@hotfix"),
            right("tasks", "run_with_constraints", target),
            right("orchestrator", "view", "*"),
        ])
    })
    .await;
    let code = world.dir.path().join("code/environments");
    for environment in ["branch", "hotfix"] {
        let tasks = code.join(environment).join("modules/test/tasks");
        std::fs::create_dir_all(&tasks).unwrap();
        for task in ["init.sh", "typed.sh"] {
            std::fs::write(tasks.join(task), "#!/bin/sh\nid\n").unwrap();
        }
    }
    let denied = "puppetlabs.orchestrator/not-permitted";
    let ask = async |path: &str, environment: &str, task: &str, nodes: &[&str]| {
        let mut body = json!({"environment": environment, "task": task, "params": {},
            "scope": {"nodes": nodes}});
        if path.ends_with("schedule_task") {
            body["scheduled_time"] = json!("2100-01-01T10:00:00Z");
        }
        post(&world, path, &body).await
    };
    let command = "/orchestrator/v1/command/task";
    for path in [command, "/orchestrator/v1/command/schedule_task"] {
        for (environment, task, nodes) in [
            // The attack, and a node that is in `branch` while the task is from `production`.
            ("branch", "test", &["a", "b"][..]),
            ("production", "test", &["d"][..]),
            ("production", "test::typed", &["a"][..]),
            ("branch", "test::typed", &["d"][..]),
        ] {
            let refused = ask(path, environment, task, nodes).await;
            assert_eq!(
                refused.status,
                StatusCode::FORBIDDEN,
                "{path} {environment} {task}"
            );
            assert_eq!(refused.kind(), denied);
        }
    }
    let mixed = ask(command, "branch", "test", &["a", "d"]).await;
    assert_eq!(mixed.status, StatusCode::ACCEPTED, "{}", mixed.text());
    assert_eq!(mixed.json()["not_permitted"], json!(["a"]));
    let own = ask(command, "production", "test", &["a", "d"]).await;
    assert_eq!(own.json()["not_permitted"], json!(["d"]), "{}", own.text());
    let named = ask(command, "hotfix", "test::typed", &["a", "d"]).await;
    assert_eq!(named.status, StatusCode::ACCEPTED, "{}", named.text());
    assert_eq!(named.json().get("not_permitted"), None);
    // The same over SSH with a connection that the caller chose.
    let body = json!({"environment": "branch", "task": "test", "params": {},
        "scope": {"nodes": ["a", "d"]}, "targets": [{"hostnames": ["a"], "transport": "ssh",
        "user": "root", "password": "x"}]});
    let refused = post(&world, command, &body).await;
    assert!(!refused.status.is_success(), "{}", refused.text());
}

#[tokio::test]
async fn a_task_target_is_for_the_environment_of_each_node() {
    let world = as_somebody(|target| json!([right("tasks", "run_with_constraints", target)])).await;
    let body = json!({"environment": "branch", "task": "test", "params": {},
        "scope": {"nodes": ["a", "b", "c"]}});
    let refused = post(&world, "/orchestrator/v1/command/task", &body).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text());
}

/// Further commands that run Puppet, as plan jobs.
const PLANNED_RUNS: [&str; 2] = [
    "/orchestrator/v1/command/converge",
    "/orchestrator/v1/command/multi_pass",
];

#[tokio::test]
async fn queries_groups_and_puppet_runs_need_their_own_rights() {
    let world = as_somebody(|_| json!([right("tasks", "run", "test")])).await;
    let query = run(&world, "test", json!({"query": "nodes{}"})).await;
    assert_eq!(query.status, StatusCode::BAD_REQUEST);
    assert_eq!(query.kind(), "puppetlabs.orchestrator/query-error");
    let group = run(&world, "test", json!({"node_group": GROUP})).await;
    assert_eq!(group.status, StatusCode::FORBIDDEN);
    assert_eq!(group.kind(), "puppetlabs.orchestrator/not-permitted");
    let body = json!({"environment": "production", "scope": {"nodes": ["a"]}});
    let deploy = post(&world, "/orchestrator/v1/command/deploy", &body).await;
    assert_eq!(deploy.status, StatusCode::FORBIDDEN);
    assert_eq!(deploy.kind(), "puppetlabs.orchestrator/not-permitted");
    for command in PLANNED_RUNS {
        let planned = post(&world, command, &json!({"deploy": body})).await;
        assert_eq!(planned.status, StatusCode::FORBIDDEN);
        assert_eq!(planned.kind(), "puppetlabs.orchestrator/not-permitted");
    }

    let world = as_somebody(|_| {
        json!([
            right("nodes", "view_data", "*"),
            right("node_groups", "view", GROUP),
            right("puppet_agent", "run", "*"),
        ])
    })
    .await;
    for scope in [json!({"query": "nodes{}"}), json!({"node_group": GROUP})] {
        let body = json!({"environment": "production", "scope": scope});
        let deploy = post(&world, "/orchestrator/v1/command/deploy", &body).await;
        assert_eq!(deploy.status, StatusCode::ACCEPTED, "{}", deploy.text());
        // and no right to run plans
        for command in PLANNED_RUNS {
            let planned = post(&world, command, &json!({"deploy": body})).await;
            assert_eq!(planned.status, StatusCode::ACCEPTED, "{}", planned.text());
        }
    }
}
