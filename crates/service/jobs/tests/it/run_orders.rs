//! Puppet runs in the order that applications give: starts, skipped nodes, restarts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use environments::EnvironmentName;
use jobs::{
    ApplicationComponent, ApplicationGraphError, ApplicationGraphs, ApplicationInstance,
    EnvironmentApplications, JobSpec, JobWork, JobsConfig, NodeScope, RunJobError, ScopeError,
};
use pcp::Certname;
use pxp::action::CodeId;
use serde_json::{Value, json};
use store::{EventRow, JobNumber};

use crate::deploys::deploy;
use crate::sim::Manner;
use crate::world::{World, patient, quick};

/// Applications as the test names them.
#[derive(Debug, Default)]
pub(crate) struct Applications {
    pub(crate) instances: Vec<ApplicationInstance>,
    /// Capabilities that were not produced.
    pub(crate) missing: Vec<String>,
    /// The error of the code, if it has one.
    pub(crate) refuses: Option<&'static str>,
}

#[async_trait]
impl ApplicationGraphs for Applications {
    async fn applications(
        &self,
        _: &EnvironmentName,
        _: Option<&CodeId>,
        _: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError> {
        match &self.refuses {
            Some(error) => Err(ApplicationGraphError::Compile((*error).to_owned())),
            None => Ok(Some(EnvironmentApplications {
                instances: self.instances.clone(),
            })),
        }
    }

    async fn missing_capabilities(
        &self,
        _: &EnvironmentName,
        _: &Certname,
        capabilities: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError> {
        let wanted: HashSet<&String> = capabilities.iter().collect();
        let missing = self.missing.iter().filter(|it| wanted.contains(it));
        Ok(missing.cloned().collect())
    }
}

/// An instance with components as `(node, produces, consumes)`, where nodes are numbers.
pub(crate) fn instance(
    reference: &str,
    components: &[(usize, &[&str], &[&str])],
) -> ApplicationInstance {
    let owned = |names: &[&str]| names.iter().map(|it| format!("Sql[{it}]")).collect();
    let components = components.iter().enumerate();
    let components = components.map(|(index, (node, produces, consumes))| ApplicationComponent {
        reference: format!("Part[{index}]"),
        node: node_name(*node),
        produces: owned(produces),
        consumes: owned(consumes),
    });
    ApplicationInstance {
        reference: reference.to_owned(),
        components: components.collect(),
    }
}

/// A database on node 3, and three nodes that consume from it, one of them through another.
pub(crate) fn lamp() -> Vec<ApplicationInstance> {
    vec![
        instance(
            "Lamp[app1]",
            &[
                (3, &["db"], &[]),
                (0, &[], &["db"]),
                (1, &["web"], &["db"]),
                (2, &[], &["web"]),
            ],
        ),
        instance("Lamp[app2]", &[(4, &["other"], &[])]),
    ]
}

pub(crate) fn node_name(number: usize) -> Certname {
    format!("node{number:05}.example.com").parse().unwrap()
}

pub(crate) fn config(applications: Applications, config: JobsConfig) -> JobsConfig {
    JobsConfig {
        applications: Arc::new(applications),
        ..config
    }
}

pub(crate) async fn world(applications: Applications) -> World {
    World::with(config(applications, patient())).await
}

pub(crate) fn failing() -> Manner {
    Manner {
        puppet: Some(json!({
            "kind": "changed", "time": "unknown", "transaction_uuid": "x",
            "environment": "production", "status": "failed", "metrics": {"failed": 1},
            "exitcode": 0, "version": 1,
        })),
        ..Manner::default()
    }
}

/// The events of nodes as `running 3`, by number of the node.
fn told(events: &[EventRow]) -> Vec<String> {
    let of_nodes = events.iter().filter_map(|event| {
        let name = event.certname.as_ref()?;
        let number: usize = name[4..9].parse().unwrap();
        let kind = event.kind.strip_prefix("node_")?;
        Some(format!("{kind} {number}"))
    });
    of_nodes.collect()
}

fn place(told: &[String], event: &str) -> usize {
    let place = told.iter().position(|it| it == event);
    place.unwrap_or_else(|| panic!("{event} is not in {told:?}"))
}

async fn results(world: &World, job: JobNumber) -> HashMap<String, (String, Value)> {
    let runs = world.runs(job).await.into_iter();
    let result = |text: Option<String>| serde_json::from_str(&text.unwrap()).unwrap();
    runs.map(|run| {
        (
            run.certname[4..9].to_owned(),
            (run.state, result(run.result)),
        )
    })
    .collect()
}

fn application(text: &str) -> JobSpec {
    JobSpec {
        scope: NodeScope::Application(text.parse().unwrap()),
        ..deploy(&[])
    }
}

/// A world with the applications of [`lamp`].
pub(crate) async fn lamp_world() -> World {
    let instances = lamp();
    world(Applications {
        instances,
        ..Applications::default()
    })
    .await
}

#[tokio::test]
async fn producers_run_before_their_consumers() {
    let world = lamp_world().await;
    let slow = Manner {
        takes_ms: 0..5,
        ..Manner::default()
    };
    let nodes = world.agents(6, &slow);
    let job = world.run(deploy(&nodes)).await;
    let told = told(&world.over(job).await);
    assert_eq!(world.state(job).await, "finished");
    for (first, then) in [(3, 0), (3, 1), (1, 2)] {
        let end = place(&told, &format!("finished {first}"));
        let start = place(&told, &format!("running {then}"));
        assert!(end < start, "{told:?}");
    }
    assert!(
        place(&told, "running 5") < place(&told, "finished 3"),
        "it waits for none"
    );
    assert!(world.sim.executions().values().all(|count| *count == 1));
}

#[tokio::test]
async fn with_a_barrier_the_levels_run_one_after_the_other() {
    let world = lamp_world().await;
    let slow = Manner {
        takes_ms: 0..5,
        ..Manner::default()
    };
    let nodes = world.agents(6, &slow);
    let mut spec = deploy(&nodes);
    let JobWork::Puppet(work) = &mut spec.work else {
        panic!("{:?}", spec.work)
    };
    work.has_barrier = true;
    let job = world.run(spec).await;
    let told = told(&world.over(job).await);
    assert_eq!(world.state(job).await, "finished");
    let row = world.store.job(job).await.unwrap().unwrap();
    let options: Value = serde_json::from_str(&row.options).unwrap();
    assert_eq!(options["batch"], json!([3, 2, 1]));
    for (before, after) in [(&[3, 4, 5][..], &[0, 1][..]), (&[0, 1], &[2])] {
        for (first, then) in before
            .iter()
            .flat_map(|it| after.iter().map(move |after| (it, after)))
        {
            let end = place(&told, &format!("finished {first}"));
            let start = place(&told, &format!("running {then}"));
            assert!(end < start, "{first} {then}: {told:?}");
        }
    }
}

/// Regular runs go on where a database does not.
#[tokio::test]
async fn splayed_runs_do_not_wait_for_producers() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &Manner::default());
    world.sim.change(&nodes[3], |manner| *manner = failing());
    let mut spec = deploy(&nodes);
    spec.limits.rollout.splay = Some(1);
    let job = world.run(spec).await;
    world.over(job).await;
    let states = results(&world, job).await;
    let state = |node: &str| states[node].0.as_str();
    assert_eq!(
        (state("00003"), state("00000"), state("00002")),
        ("failed", "finished", "finished")
    );
}

#[tokio::test]
async fn too_many_levels_for_a_barrier_are_refused() {
    let names: Vec<String> = (0..40).map(|number| format!("c{number}")).collect();
    let components = (0..40).map(|number: usize| {
        let produces = vec![names[number].as_str()];
        let consumes: Vec<&str> = number
            .checked_sub(1)
            .map(|it| names[it].as_str())
            .into_iter()
            .collect();
        (number, produces, consumes)
    });
    let components: Vec<_> = components.collect();
    let components: Vec<(usize, &[&str], &[&str])> = components
        .iter()
        .map(|it| (it.0, &it.1[..], &it.2[..]))
        .collect();
    let world = world(Applications {
        instances: vec![instance("Deep[x]", &components)],
        ..Applications::default()
    })
    .await;
    let nodes = world.agents(40, &Manner::default());
    let mut spec = deploy(&nodes);
    let JobWork::Puppet(work) = &mut spec.work else {
        panic!("{:?}", spec.work)
    };
    work.has_barrier = true;
    let Err(RunJobError::Limit(message)) = world.jobs().run(spec).await else {
        panic!("it was made");
    };
    assert!(message.contains("40 levels"), "{message}");
}

#[tokio::test]
async fn an_application_names_its_nodes() {
    let world = lamp_world().await;
    world.agents(6, &Manner::default());
    for (text, expected) in [("Lamp[app1]", 4), ("Lamp", 5), ("Lamp[app2]", 1)] {
        let job = world.run(application(text)).await;
        world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
        assert_eq!(world.runs(job).await.len(), expected, "{text}");
        let row = world.store.job(job).await.unwrap().unwrap();
        let options: Value = serde_json::from_str(&row.options).unwrap();
        assert_eq!(options["scope"], json!({"application": text}));
    }
    let refused = world.jobs().run(application("Lamp[app3]")).await;
    let Err(RunJobError::Scope(ScopeError::UnknownApplication { instances, .. })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(instances, ["Lamp[app1]", "Lamp[app2]"]);
}

#[tokio::test]
async fn a_failed_producer_skips_all_that_depend_on_it_and_no_other_node() {
    let world = lamp_world().await;
    let nodes = world.agents(6, &Manner::default());
    world.sim.add(&node_name(3), failing());
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    let results = results(&world, job).await;
    let state = |number: &str| results[number].0.as_str();
    assert_eq!(state("00003"), "failed");
    for number in ["00000", "00001", "00002"] {
        assert_eq!(state(number), "skipped");
        let error = &results[number].1["_error"];
        assert_eq!(error["kind"], "tutti/dependency-failed");
        assert_eq!(error["details"]["failed"], node_name(3).as_str());
    }
    let error = &results["00002"].1["_error"]["details"];
    assert_eq!(error["waits_for"], node_name(1).as_str());
    assert_eq!((state("00004"), state("00005")), ("finished", "finished"));
    assert_eq!(world.sim.executions().len(), 3);
}

#[tokio::test]
async fn a_producer_that_is_not_connected_skips_its_consumers_before_anything_starts() {
    let world = lamp_world().await;
    world.agents(3, &Manner::default());
    let job = world.run(application("Lamp[app1]")).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    let results = results(&world, job).await;
    assert_eq!(results["00003"].0, "errored");
    for number in ["00000", "00001", "00002"] {
        assert_eq!(results[number].0, "skipped");
    }
    assert!(world.sim.executions().is_empty());
}

#[tokio::test]
async fn a_run_that_did_not_produce_its_capability_fails() {
    let instances = lamp();
    let missing = vec!["Sql[web]".to_owned()];
    let world = world(Applications {
        instances,
        missing,
        ..Applications::default()
    })
    .await;
    let nodes = world.agents(4, &Manner::default());
    let job = world.run(deploy(&nodes)).await;
    let events = world.over(job).await;
    let results = results(&world, job).await;
    assert_eq!(results["00001"].0, "failed");
    assert_eq!(results["00002"].0, "skipped");
    let words = "did not produce Sql[web]";
    assert!(events.iter().any(|event| event.message.contains(words)));
}

#[tokio::test]
async fn nodes_that_wait_for_each_other_are_refused() {
    let crossed = instance("App[x]", &[(0, &["a"], &["b"]), (1, &["b"], &["a"])]);
    let world = world(Applications {
        instances: vec![crossed],
        ..Applications::default()
    })
    .await;
    let nodes = world.agents(2, &Manner::default());
    let refused = world.jobs().run(deploy(&nodes)).await;
    let Err(RunJobError::Cycle(cycle)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(cycle.path.len(), 2);
    let alone = world.run(deploy(&nodes[..1])).await;
    world.over(alone).await;
    assert_eq!(world.state(alone).await, "finished");
}

#[tokio::test]
async fn code_that_has_no_graph_is_refused() {
    let world = world(Applications {
        refuses: Some("no good"),
        ..Applications::default()
    })
    .await;
    let nodes = world.agents(1, &Manner::default());
    let refused = world.jobs().run(deploy(&nodes)).await.unwrap_err();
    assert!(refused.to_string().contains("no good"), "{refused}");
    assert!(world.sim.executions().is_empty());
}

#[tokio::test]
async fn a_batch_never_holds_a_node_that_waits_for_a_later_batch() {
    let world = lamp_world().await;
    let nodes = world.agents(6, &Manner::default());
    let mut spec = deploy(&nodes);
    spec.limits.rollout = serde_json::from_value(json!({"batch": 2})).unwrap();
    let job = world.run(spec).await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    let batch_of = crate::rollouts::batches(&world, job).await;
    crate::rollouts::in_order(&events, &batch_of);
    let told = told(&events);
    assert!(
        place(&told, "finished 3") < place(&told, "running 0"),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_node_of_a_later_batch_is_skipped_once() {
    let world = lamp_world().await;
    let nodes = world.agents(6, &Manner::default());
    world.sim.add(&node_name(3), failing());
    let mut spec = deploy(&nodes);
    spec.limits.rollout =
        serde_json::from_value(json!({"batch": 2, "max_failures": "100%"})).unwrap();
    let job = world.run(spec).await;
    let told = told(&world.over(job).await);
    assert_eq!(world.state(job).await, "failed");
    let skipped = told.iter().filter(|it| it.starts_with("skipped")).count();
    assert_eq!(skipped, 3, "{told:?}");
}

/// The kind of each node's error, by number; of all nodes that did not start.
async fn kinds(world: &World, job: JobNumber) -> Vec<String> {
    let results = results(world, job).await;
    let mut nodes: Vec<_> = results.into_iter().collect();
    nodes.sort_by(|one, other| one.0.cmp(&other.0));
    let skipped = nodes
        .into_iter()
        .filter(|(_, (state, _))| state == "skipped");
    let kind = |error: &Value| error["_error"]["kind"].as_str().unwrap().to_owned();
    skipped
        .map(|(number, (_, result))| format!("{} {}", &number[4..], kind(&result)))
        .collect()
}

const AFTER_A_FAILED_DATABASE: [&str; 5] = [
    "0 tutti/dependency-failed",
    "1 tutti/dependency-failed",
    "2 tutti/dependency-failed",
    "4 tutti/max-failures",
    "5 tutti/max-failures",
];

#[tokio::test]
async fn a_failure_that_also_halts_the_rollout_has_one_reason_for_each_node() {
    for options in [
        json!({"batch": [1, "100%"]}),
        // a batch without a success is one that failed
        json!({"batch": 3}),
    ] {
        let world = lamp_world().await;
        let nodes = world.agents(6, &Manner::default());
        world.sim.add(&node_name(3), failing());
        let mut spec = deploy(&nodes);
        spec.limits.rollout = serde_json::from_value(options.clone()).unwrap();
        let job = world.run(spec).await;
        let events = world.over(job).await;
        assert_eq!(
            kinds(&world, job).await,
            AFTER_A_FAILED_DATABASE,
            "{options}"
        );
        assert_eq!(world.sim.executions().len(), 1, "{options}");
        let halted = events.iter().find(|event| event.kind == "rollout_halted");
        let details: Value = serde_json::from_str(&halted.unwrap().details).unwrap();
        assert_eq!(
            details["detail"]["nodes_not_started"]
                .as_u64()
                .or(details["nodes_not_started"].as_u64()),
            Some(2)
        );
    }
}

/// Nodes that wait for no other start while the leases are taken.
#[tokio::test]
async fn the_first_failure_of_an_ordered_job_halts_it() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &Manner::default());
    world.sim.add(&node_name(3), failing());
    let mut spec = deploy(&nodes);
    spec.limits.rollout = serde_json::from_value(json!({"max_failures": 0})).unwrap();
    spec.limits.concurrency = Some(1);
    let job = world.run(spec).await;
    world.over(job).await;
    let expected = &AFTER_A_FAILED_DATABASE[..3];
    assert_eq!(kinds(&world, job).await, expected);
    assert_eq!(world.sim.executions().len(), 1);
}

#[tokio::test]
async fn one_slot_is_enough_for_any_order() {
    let world = world(Applications {
        instances: lamp(),
        ..Applications::default()
    })
    .await;
    let nodes = world.agents(6, &Manner::default());
    let mut spec = deploy(&nodes);
    spec.limits.concurrency = Some(1);
    let job = world.run(spec).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(world.sim.most_running(), 1);
}

#[tokio::test]
async fn a_node_that_others_wait_for_applies_no_earlier_catalog() {
    let world = world(Applications {
        instances: lamp(),
        ..Applications::default()
    })
    .await;
    let nodes = world.agents(6, &Manner::default());
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    for asked in world.sim.seen_puppet() {
        let flags = asked["flags"].as_array().unwrap();
        assert!(flags.contains(&json!("--no-usecacheonfailure")), "{asked}");
    }
    let mut spec = deploy(&nodes);
    let JobWork::Puppet(run) = &mut spec.work else {
        panic!("a Puppet run")
    };
    run.flags.usecacheonfailure = Some(true);
    let refused = world.jobs().run(spec.clone()).await;
    assert!(matches!(refused, Err(RunJobError::Flag(_))), "{refused:?}");
    spec.scope = NodeScope::Nodes(nodes[4..].to_vec());
    let unordered = world.run(spec).await;
    world.over(unordered).await;
    assert_eq!(world.state(unordered).await, "finished");
}

#[tokio::test]
async fn a_stopped_job_says_so_of_the_nodes_that_waited() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &Manner::held());
    let job = world.run(deploy(&nodes)).await;
    world.executing(1).await;
    world.jobs().stop(job, false).await.unwrap();
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.state(job).await, "stopped");
    let results = results(&world, job).await;
    assert_eq!(results["00003"].0, "finished");
    for number in ["00000", "00001", "00002"] {
        assert_eq!(results[number].1["_error"]["kind"], "tutti/stopped");
    }
}

/// A world whose server died while the database of the lamp ran, and is back.
async fn after_a_crash(database: Manner) -> (World, JobNumber) {
    let applications = Applications {
        instances: lamp(),
        ..Applications::default()
    };
    let mut world = World::with(config(applications, quick())).await;
    let nodes = world.agents(4, &Manner::default());
    let held = Manner {
        held: true,
        ..database
    };
    world.sim.add(&node_name(3), held);
    let job = world.run(deploy(&nodes)).await;
    world.executing(1).await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    (world, job)
}

#[tokio::test]
async fn the_order_survives_a_crash_of_the_server() {
    let (world, job) = after_a_crash(Manner::default()).await;
    let told = told(&world.over(job).await);
    assert_eq!(world.state(job).await, "finished");
    for (first, then) in [(3, 0), (3, 1), (1, 2)] {
        let end = place(&told, &format!("finished {first}"));
        let start = place(&told, &format!("running {then}"));
        assert!(end < start, "{told:?}");
    }
    assert!(world.sim.executions().values().all(|count| *count == 1));
}

#[tokio::test]
async fn a_producer_that_fails_after_a_crash_skips_its_consumers() {
    let (world, job) = after_a_crash(failing()).await;
    world.over(job).await;
    let results = results(&world, job).await;
    assert_eq!(results["00003"].0, "failed");
    for number in ["00000", "00001", "00002"] {
        assert_eq!(results[number].0, "skipped", "{results:?}");
    }
    assert_eq!(world.sim.executions().len(), 1);
}

/// The end of the database's run was committed, and the server died before it skipped the nodes that wait for it.
#[tokio::test]
async fn a_failure_that_was_the_last_commit_skips_the_consumers_after_the_restart() {
    let applications = Applications {
        instances: lamp(),
        ..Applications::default()
    };
    let mut world = World::with(config(applications, quick())).await;
    let nodes = world.agents(4, &Manner::held());
    let job = world.run(deploy(&nodes)).await;
    world.executing(1).await;
    world.kill().await;
    let failed = store::RunChange {
        job,
        certname: node_name(3).to_string(),
        to_state: "failed".to_owned(),
        at_ms: jiff::Timestamp::now().as_millisecond(),
        duration_ms: None,
        result: Some("{}".to_owned()),
        details: Some("{}".to_owned()),
        sealed: None,
        event: None,
    };
    let changes = vec![store::JobRunChange::Run(failed)];
    world.store.commit(changes).await.unwrap();
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    for run in world.runs(job).await {
        let expected = match run.certname == node_name(3).as_str() {
            true => "failed",
            false => "skipped",
        };
        assert_eq!(run.state, expected, "{}", run.certname);
        let result: Value = serde_json::from_str(&run.result.unwrap()).unwrap();
        if expected == "skipped" {
            let details = &result["_error"]["details"];
            assert_eq!(details["failed"], node_name(3).as_str(), "{}", run.certname);
        }
    }
}
