//! Which nodes a deploy is not sent to: those classified elsewhere, those with an old Puppet, those
//! without an agent.

use std::sync::Arc;

use classifier::{Classifier, GroupInput, UnrestrictedEditor};
use inventory::{Inventory, NodeRecord};
use jobs::{
    FleetResolver, JobSpec, JobWork, JobsConfig, KIND_CONFLICT, KIND_EXECUTION, KIND_OLD_PUPPET,
    NodeEnvironment, NodeResolveError,
};
use pcp::Certname;
use serde_json::{Value, json};
use store::{Store, StoreConfig};

use crate::deploys::{deploy, run, world};
use crate::resolve::Oracle;
use crate::sim::Manner;
use crate::world::{World, names, patient};

fn free(mut spec: JobSpec) -> JobSpec {
    if let JobWork::Puppet(run) = &mut spec.work {
        run.environment.as_mut().unwrap().is_enforced = false;
    }
    spec
}

#[tokio::test]
async fn only_nodes_that_are_classified_into_the_environment_run() {
    let nodes = names(4);
    let into = |name: &str| NodeEnvironment::Into(name.to_owned());
    let conflict = NodeEnvironment::Conflict("the groups do not agree; CANARY".to_owned());
    let environments = [into("production"), into("test"), conflict];
    let oracle = Oracle {
        environments: nodes.iter().cloned().zip(environments).collect(),
        ..Oracle::default()
    };
    let (world, _) = world(patient(), oracle).await;
    world.agents(4, &Manner::default());
    let job = run(&world, deploy(&nodes)).await;
    world.over(job).await;
    let runs = world.runs(job).await;
    let states: Vec<&str> = runs.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["finished", "errored", "errored", "finished"]);
    let error = |at: usize| -> Value {
        let result: Value = serde_json::from_str(runs[at].result.as_deref().unwrap()).unwrap();
        result["_error"].clone()
    };
    let (elsewhere, conflict) = (error(1), error(2));
    for (error, kind, words) in [
        (elsewhere, KIND_EXECUTION, "`test`"),
        (conflict, KIND_CONFLICT, "CANARY"),
    ] {
        assert_eq!(error["kind"], kind);
        let msg = error["msg"].as_str().unwrap();
        assert!(msg.contains(words) && msg.contains("`production`"), "{msg}");
    }
    assert_eq!(
        world.sim.seen_puppet().len(),
        2,
        "the others were not asked"
    );

    let job = run(&world, free(deploy(&nodes))).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
}

#[tokio::test]
async fn a_nodes_conflict_is_named_with_its_groups_and_without_their_values() {
    let dir = tempfile::tempdir().unwrap();
    let config = StoreConfig::sqlite(dir.path().join("nodes.db"));
    let store = Store::open(&config).await.unwrap();
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let classifier = Classifier::open(store).await.unwrap();
    let nodes = names(2);
    for (name, password) in [("Web", "CANARY-1"), ("Db", "CANARY-2")] {
        let group = json!({"name": name, "parent": "00000000-0000-4000-8000-000000000000",
            "rule": ["=", "name", nodes[0].as_str()],
            "classes": {"app": {"password": password}}});
        let input = GroupInput::parse(&group).unwrap();
        classifier.create(input, UnrestrictedEditor).await.unwrap();
    }
    let config = JobsConfig {
        resolve: Arc::new(FleetResolver::new(inventory, classifier)),
        ..patient()
    };
    let world = World::with(config).await;
    world.agents(2, &Manner::default());
    let job = run(&world, deploy(&nodes)).await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    let runs = world.runs(job).await;
    assert_eq!(runs[0].state, "errored");
    assert_eq!(runs[1].state, "finished", "its groups agree");
    let event = events.iter().find(|event| event.kind == "node_errored");
    let message = &event.unwrap().message;
    for words in [nodes[0].as_str(), "app[password]", "\"Web\"", "\"Db\""] {
        assert!(message.contains(words), "{words}: {message}");
    }
    let told = format!("{:?}{:?}", runs[0], event);
    assert!(!told.contains("CANARY"), "{told}");
}

#[tokio::test]
async fn a_node_whose_puppet_is_known_to_be_too_old_is_not_asked() {
    let nodes = names(4);
    let versions = ["4.10.12", "5.0.0", "8.10.0"].map(str::to_owned);
    let oracle = Oracle {
        versions: nodes.iter().cloned().zip(versions).collect(),
        ..Oracle::default()
    };
    let (world, _) = world(patient(), oracle).await;
    world.agents(4, &Manner::default());
    let job = run(&world, free(deploy(&nodes))).await;
    world.over(job).await;
    let runs = world.runs(job).await;
    let states: Vec<&str> = runs.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["errored", "finished", "finished", "finished"]);
    let result: Value = serde_json::from_str(runs[0].result.as_deref().unwrap()).unwrap();
    assert_eq!(result["_error"]["kind"], KIND_OLD_PUPPET);
    let msg = result["_error"]["msg"].as_str().unwrap();
    for words in [nodes[0].as_str(), "4.10.12", "5.0.0", "upgrade"] {
        assert!(msg.contains(words), "{words}: {msg}");
    }
    assert_eq!(world.sim.seen_puppet().len(), 3, "the others were");
}

#[tokio::test]
async fn a_job_does_not_wait_for_versions_that_do_not_come() {
    let refuses = Some(NodeResolveError::Unreachable(
        "connection refused".to_owned(),
    ));
    let silent = Oracle {
        versions_never_come: true,
        ..Oracle::default()
    };
    let away = Oracle {
        refuses,
        ..Oracle::default()
    };
    for oracle in [silent, away] {
        let (world, _) = world(patient(), oracle).await;
        world.agents(1, &Manner::default());
        let job = run(&world, free(deploy(&names(1)))).await;
        world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
    }
}

#[tokio::test]
async fn an_embedded_inventory_knows_the_version_by_the_nodes_facts() {
    let dir = tempfile::tempdir().unwrap();
    let config = StoreConfig::sqlite(dir.path().join("nodes.db"));
    let store = Store::open(&config).await.unwrap();
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let classifier = Classifier::open(store).await.unwrap();
    let nodes = names(3);
    for (node, facts) in nodes.iter().zip([
        json!({"puppetversion": "3.8.7"}),
        json!({"puppetversion": 4}),
    ]) {
        let record = NodeRecord {
            facts: Arc::new(facts.as_object().unwrap().clone()),
            trusted: Arc::default(),
            environment: None,
            timestamp: jiff::Timestamp::UNIX_EPOCH,
        };
        inventory.record_facts(node, record).await.unwrap();
    }
    let fleet = FleetResolver::new(inventory, classifier);
    let known = jobs::NodeResolver::puppet_versions(&fleet, &nodes)
        .await
        .unwrap();
    assert_eq!(known, [Some("3.8.7".to_owned()), None, None]);
}

/// Reaches every node, as somebody who has an SSH connection for it.
struct Ssh;

#[async_trait::async_trait]
impl fabric::AgentlessNode for Ssh {
    fn can_reach(&self, _: &Certname) -> bool {
        true
    }

    fn capabilities(&self) -> Arc<pxp::AgentCapabilities> {
        Arc::default()
    }

    async fn deliver(&self, message: pcp::PcpMessage) -> Result<(), fabric::FabricSendError> {
        panic!("a Puppet run is nothing for SSH: {message:?}")
    }
}

#[tokio::test]
async fn a_node_that_only_ssh_reaches_is_told_to_need_an_agent() {
    let world = World::new().await;
    let _port = world.fabric.attach_agentless_node(Arc::new(Ssh));
    let job = run(&world, free(deploy(&names(1)))).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "errored");
    let error = &result["_error"];
    assert_eq!(error["kind"], KIND_EXECUTION);
    let msg = error["msg"].as_str().unwrap();
    assert!(msg.contains("SSH") && msg.contains("tutti-agent"), "{msg}");
}
