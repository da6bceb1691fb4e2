//! On-demand Puppet runs: what nodes are asked, and what comes of it.

use std::sync::Arc;

use jobs::{
    JobSpec, JobWork, JobsConfig, NodeResolveError, NodeScope, PuppetEnvironment, PuppetFlags,
    PuppetReportSummary, PuppetWork, RunJobError, ScopeError,
};
use pcp::Certname;
use pxp::action::ActionResult;
use serde_json::{Value, json};
use store::JobNumber;

use crate::resolve::Oracle;
use crate::sim::Manner;
use crate::world::{World, names, patient, quick, request};

const UUID: &str = "5f5a1b2c-0000-4000-8000-000000000001";

pub(crate) fn deploy(nodes: &[Certname]) -> JobSpec {
    puppet_run(nodes, Some("production"), PuppetFlags::default())
}

fn puppet_run(nodes: &[Certname], environment: Option<&str>, flags: PuppetFlags) -> JobSpec {
    let run = PuppetWork {
        environment: environment.map(|name| PuppetEnvironment {
            name: name.parse().unwrap(),
            is_enforced: true,
        }),
        flags,
        ..PuppetWork::default()
    };
    JobSpec {
        owner: "admin".to_owned(),
        ..JobSpec::new(JobWork::Puppet(run), NodeScope::Nodes(nodes.to_vec()))
    }
}

pub(crate) async fn run(world: &World, spec: JobSpec) -> JobNumber {
    world.jobs().run(spec).await.unwrap()
}

pub(crate) async fn world(config: JobsConfig, oracle: Oracle) -> (World, Arc<Oracle>) {
    let oracle = Arc::new(oracle);
    let config = JobsConfig {
        resolve: oracle.clone(),
        console_url: Some("https://console.example.com".to_owned()),
        ..config
    };
    (World::with(config).await, oracle)
}

async fn states(world: &World, job: JobNumber) -> Vec<String> {
    let rows = world.store.job_states(job).await.unwrap();
    rows.into_iter().map(|row| row.state).collect()
}

async fn details(world: &World, job: JobNumber) -> Value {
    let run = world.runs(job).await.pop().unwrap();
    serde_json::from_str(&run.details.unwrap()).unwrap()
}

#[tokio::test]
async fn nodes_are_asked_by_the_stock_module_with_flags_and_the_jobs_number() {
    for stock in [false, true] {
        let world = World::new().await;
        let manner = Manner {
            stock,
            ..Manner::default()
        };
        let nodes = world.agents(3, &manner);
        let flags = PuppetFlags {
            noop: true,
            tags: Some("web".to_owned()),
            ..PuppetFlags::default()
        };
        let job = run(&world, puppet_run(&nodes, Some("production"), flags)).await;
        let events = world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
        let expected = ["new", "ready", "running", "finished"];
        assert_eq!(states(&world, job).await, expected);
        let flags = ["--environment", "production", "--strict_environment_mode"];
        let flags = [&flags[..], &["--noop", "--tags", "web"]].concat();
        let asked = json!({"env": [], "flags": flags, "job": job.to_string()});
        assert_eq!(world.sim.seen_puppet(), vec![asked; 3]);
        let node = &nodes[0];
        let message = format!("Started puppet run on {node} ...");
        assert!(events.iter().any(|event| event.message == message));
    }
}

#[tokio::test]
async fn the_result_has_the_shape_that_clients_know_with_what_the_report_adds() {
    let oracle = Oracle {
        report: Some(PuppetReportSummary {
            hash: Some("abc123".to_owned()),
            configuration_version: Some("42".to_owned()),
            code_id: Some("v1;production".parse().unwrap()),
            ..PuppetReportSummary::default()
        }),
        ..Oracle::default()
    };
    let (world, oracle) = world(patient(), oracle).await;
    let nodes = world.agents(1, &Manner::default());
    let job = run(&world, deploy(&nodes)).await;
    let events = world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "finished");
    let expected = json!({
        "hash": "abc123", "status": "unchanged", "noop": null, "environment": "production",
        "configuration_version": "42", "metrics": {"total": 7}, "transaction_uuid": UUID,
        "code_id": "v1;production",
    });
    assert_eq!(result, expected);
    let url = "https://console.example.com/#/cm/report/abc123";
    let kept = json!({"report-url": url, "transaction_uuid": UUID});
    assert_eq!(details(&world, job).await, kept);
    let event = events.iter().find(|event| event.kind == "node_finished");
    let event = event.unwrap();
    let message = format!("Finished puppet run on {} - Success!", nodes[0]);
    assert_eq!(event.message, message);
    let told: Value = serde_json::from_str(&event.details).unwrap();
    assert_eq!(told["node"], nodes[0].as_str());
    assert_eq!(told["detail"]["hash"], "abc123");
    assert_eq!(told["detail"]["code_id"], "v1;production");
    assert_eq!(told["detail"]["report-url"], url);
    let reported = oracle.reported.lock().unwrap();
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].transaction_uuid, UUID);
    assert_eq!(reported[0].certname, nodes[0]);
}

#[tokio::test]
async fn who_keeps_reports_and_fails_costs_the_report_and_not_the_outcome() {
    let oracle = Oracle {
        refuses: Some(NodeResolveError::Unreachable(
            "connection refused".to_owned(),
        )),
        ..Oracle::default()
    };
    let (world, _) = world(patient(), oracle).await;
    let nodes = world.agents(1, &Manner::default());
    let job = run(&world, puppet_run(&nodes, None, PuppetFlags::default())).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "finished");
    assert_eq!(result["hash"], Value::Null);
    assert_eq!(result["status"], "unchanged");
    let flags = world.sim.seen_puppet()[0]["flags"].clone();
    assert_eq!(flags, json!([]), "each node in its own environment");
}

#[tokio::test]
async fn while_the_report_is_looked_up_the_run_is_neither_asked_about_nor_given_up() {
    let (go, late) = tokio::sync::watch::channel(false);
    let oracle = Oracle {
        late: Some(late),
        report: Some(PuppetReportSummary::default()),
        ..Oracle::default()
    };
    let (world, oracle) = world(quick(), oracle).await;
    let nodes = world.agents(1, &Manner::default());
    let mut spec = deploy(&nodes);
    spec.limits.timeout = Some(std::time::Duration::from_millis(50));
    let job = run(&world, spec).await;
    let is_asked = |_: &World| !oracle.reported.lock().unwrap().is_empty();
    world.until("the report is asked for", is_asked).await;
    // Longer than its time limit and than several polls; the agent says its outcome meanwhile.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(world.state(job).await, "running");
    go.send_replace(true);
    world.over(job).await;
    assert_eq!(world.only_run(job).await.0, "finished");
    let asked = oracle.reported.lock().unwrap().len();
    assert_eq!(asked, 1, "once, however often the agent says it");
}

#[tokio::test]
async fn failed_resources_fail_the_run_and_what_could_not_run_is_errored() {
    let world = World::new().await;
    let nodes = names(2);
    let failed = json!({"transaction_uuid": UUID, "status": "failed", "exitcode": 0,
        "environment": "production", "metrics": {"total": 7, "failed": 2}});
    let disabled = json!({"transaction_uuid": "unknown", "status": "unknown", "exitcode": 1,
        "metrics": {}, "error_type": "agent_disabled", "cause": "disabled",
        "error": "disabled: maintenance"});
    for (node, said) in nodes.iter().zip([failed, disabled]) {
        let manner = Manner {
            puppet: Some(said),
            ..Manner::default()
        };
        world.sim.add(node, manner);
    }
    let job = run(&world, deploy(&nodes)).await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    let runs = world.runs(job).await;
    assert_eq!(runs[0].state, "failed");
    assert_eq!(runs[1].state, "errored");
    let message = |kind: &str| {
        let event = events.iter().find(|event| event.kind == kind).unwrap();
        event.message.clone()
    };
    let [first, second] = [&nodes[0], &nodes[1]];
    let expected = format!("Finished puppet run on {first} - Failure! 2 resources failed");
    assert_eq!(message("node_failed"), expected);
    let expected = format!("Error running puppet on {second}: disabled: maintenance");
    assert_eq!(message("node_errored"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compiles_are_bounded_over_all_jobs_and_tasks_do_not_wait_for_them() {
    let config = JobsConfig {
        global_concurrent_compiles: 2,
        ..patient()
    };
    let world = World::with(config).await;
    let manner = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.agents(5, &manner);
    let first = run(&world, deploy(&nodes)).await;
    let second = run(&world, deploy(&nodes)).await;
    let task = world.run(request(&nodes)).await;
    world
        .until("all slots are taken", |world| {
            world.sim.requests().len() == 2 + 5
        })
        .await;
    assert_eq!(
        world.sim.seen_puppet().len(),
        2,
        "of one job, none of the other"
    );
    world.sim.let_go();
    for job in [first, second, task] {
        world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
    }
    assert_eq!(world.sim.seen_puppet().len(), 10);
    assert!(world.sim.executions().values().all(|count| *count == 1));
}

#[tokio::test]
async fn every_scope_comes_to_nodes_and_stands_in_the_options_as_asked() {
    let all = names(2);
    let oracle = Oracle {
        nodes: all
            .iter()
            .chain(&all[..1])
            .map(ToString::to_string)
            .collect(),
        ..Oracle::default()
    };
    let (world, oracle) = world(patient(), oracle).await;
    world.agents(2, &Manner::default());
    let query = json!(["=", "certname", "x"]);
    for (scope, shown, asked) in [
        (
            NodeScope::Query(query.clone()),
            json!({"query": query}),
            query.clone(),
        ),
        (
            NodeScope::NodeGroup("g".to_owned()),
            json!({"node_group": "g"}),
            "g".into(),
        ),
        (
            NodeScope::WholeEnvironment,
            json!({"whole_environment": true}),
            "production".into(),
        ),
    ] {
        let job = run(
            &world,
            JobSpec {
                scope,
                ..deploy(&[])
            },
        )
        .await;
        world.over(job).await;
        assert_eq!(world.runs(job).await.len(), 2, "a node counts once");
        let options = world.store.job(job).await.unwrap().unwrap().options;
        let options: Value = serde_json::from_str(&options).unwrap();
        assert_eq!(options["scope"], shown);
        assert_eq!(oracle.asked.lock().unwrap().last(), Some(&asked));
    }
    let task = JobSpec {
        scope: NodeScope::Query(query.clone()),
        ..request(&[])
    };
    let job = world.run(task).await;
    world.over(job).await;
    assert_eq!(world.runs(job).await.len(), 2, "tasks resolve the same way");
}

#[tokio::test]
async fn what_cannot_be_run_is_refused_and_nothing_is_stored() {
    let (world, _) = world(patient(), Oracle::default()).await;
    let nodes = world.agents(1, &Manner::default());
    let refused = |change: fn(&mut JobSpec)| {
        let mut spec = deploy(&nodes);
        change(&mut spec);
        let jobs = world.jobs().clone();
        async move { jobs.run(spec).await.unwrap_err() }
    };
    let error = refused(|spec| {
        *spec = puppet_run(&[], None, PuppetFlags::default());
        spec.scope = NodeScope::WholeEnvironment;
    })
    .await;
    let nowhere = RunJobError::Scope(ScopeError::NoEnvironment);
    assert_eq!(error.to_string(), nowhere.to_string());
    let error =
        refused(|spec| *spec = puppet_run(&[], Some("nowhere"), PuppetFlags::default())).await;
    assert!(matches!(error, RunJobError::Code(_)), "{error}");
    let error = refused(|spec| {
        let flags = PuppetFlags {
            noop: true,
            no_noop: true,
            ..PuppetFlags::default()
        };
        *spec = puppet_run(&[], None, flags);
    })
    .await;
    assert!(matches!(error, RunJobError::Flag(_)), "{error}");
    let error = refused(|spec| spec.limits.concurrency = Some(0)).await;
    assert!(matches!(error, RunJobError::Limit(_)), "{error}");
    let error = refused(|spec| spec.scope = NodeScope::Query("nodes{}".into())).await;
    let empty = RunJobError::Scope(ScopeError::EmptyTarget);
    assert_eq!(error.to_string(), empty.to_string());
    let error = refused(|spec| spec.scope = NodeScope::WholeEnvironment).await;
    assert!(
        matches!(&error, RunJobError::Scope(ScopeError::EmptyEnvironment(name)) if name == "production"),
        "{error}"
    );
    let (_, total) = world
        .store
        .jobs(&Default::default(), Default::default())
        .await
        .unwrap();
    assert_eq!(total, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_puppet_runs_go_on_and_none_runs_twice() {
    let config = JobsConfig {
        global_concurrent_compiles: 2,
        ..quick()
    };
    let mut world = World::with(config).await;
    let manner = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.agents(4, &manner);
    let job = run(&world, deploy(&nodes)).await;
    world
        .until("two are under way", |world| {
            world.sim.executions().len() == 2
        })
        .await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert!(world.sim.executions().values().all(|count| *count == 1));
    assert_eq!(world.sim.executions().len(), 4);
    let asked = world.sim.seen_puppet();
    assert!(asked.iter().all(|asked| asked["job"] == job.to_string()));
    for run in world.runs(job).await {
        let result: Value = serde_json::from_str(&run.result.unwrap()).unwrap();
        assert_eq!(result["status"], "unchanged");
    }
}

#[tokio::test]
async fn a_stock_agent_that_says_its_outcome_once_in_vain_is_asked() {
    let world = World::with(quick()).await;
    let nodes = world.agents(
        1,
        &Manner {
            stock: true,
            loses_outcomes: 100,
            ..Manner::default()
        },
    );
    let job = run(&world, deploy(&nodes)).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "finished");
    assert_eq!(result["status"], "unchanged");
}

#[tokio::test]
async fn a_stopped_deploy_skips_what_waits_and_ends_what_runs() {
    let config = JobsConfig {
        global_concurrent_compiles: 1,
        ..quick()
    };
    let world = World::with(config).await;
    let manner = Manner {
        held: true,
        result: Some(ActionResult::default()),
        ..Manner::default()
    };
    let nodes = world.agents(2, &manner);
    let job = run(&world, deploy(&nodes)).await;
    world
        .until("one is under way", |world| {
            world.sim.executions().len() == 1
        })
        .await;
    world.jobs().stop(job, true).await.unwrap();
    world.over(job).await;
    assert_eq!(world.state(job).await, "stopped");
    let runs = world.runs(job).await;
    let mut states: Vec<&str> = runs.iter().map(|run| run.state.as_str()).collect();
    states.sort_unstable();
    assert_eq!(states, ["failed", "skipped"]);
    assert_eq!(world.sim.seen_puppet().len(), 1);
}
