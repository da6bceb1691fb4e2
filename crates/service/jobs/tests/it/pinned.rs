//! Puppet runs that are pinned to a version of the code.

use std::sync::Arc;

use async_trait::async_trait;
use environments::{EnvironmentName, JobCatalogs};
use jobs::{
    CatalogCode, CatalogCompilers, JobSpec, JobWork, JobsConfig, KIND_PUPPETSERVER, NodeScope,
    PuppetEnvironment, PuppetFlags, PuppetWork, PuppetserverChoice, RunJobError,
};
use pcp::Certname;
use serde_json::{Value, json};

use crate::deploys::run;
use crate::sim::Manner;
use crate::world::{World, names, quick};

const CODE_ID: &str = "urn:puppet:code-id:1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;production";
const OTHER: &str = "urn:puppet:code-id:1:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;production";

/// A world whose `production` has the version [`CODE_ID`].
async fn world(pinned: &JobCatalogs) -> World {
    world_with(pinned, quick()).await
}

async fn world_with(pinned: &JobCatalogs, config: JobsConfig) -> World {
    let config = JobsConfig {
        job_catalogs: pinned.clone(),
        ..config
    };
    let world = World::with(config).await;
    let version = format!("code/environments/production_{}", "a".repeat(40));
    std::fs::create_dir_all(world.dir.path().join(version).join("manifests")).unwrap();
    world
}

fn pinned_run(nodes: &[Certname], code_id: &str, flags: PuppetFlags) -> JobSpec {
    let run = PuppetWork {
        environment: Some(PuppetEnvironment {
            name: "production".parse().unwrap(),
            is_enforced: false,
        }),
        flags,
        code: CatalogCode::Pinned {
            code_id: code_id.parse().unwrap(),
        },
        ..PuppetWork::default()
    };
    JobSpec::new(JobWork::Puppet(run), NodeScope::Nodes(nodes.to_vec()))
}

fn ran_with(code_id: &str) -> Option<Value> {
    Some(json!({
        "kind": "unknown", "time": "unknown", "transaction_uuid": "x", "environment": "production",
        "status": "unchanged", "metrics": {}, "exitcode": 0, "version": 1, "code_id": code_id,
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_has_the_version_of_its_job_from_request_to_result_and_after_a_crash() {
    let pinned = JobCatalogs::default();
    let mut world = world(&pinned).await;
    let manner = Manner {
        held: true,
        puppet: ran_with(CODE_ID),
        ..Manner::default()
    };
    let nodes = world.agents(1, &manner);
    let job = run(&world, pinned_run(&nodes, CODE_ID, PuppetFlags::default())).await;
    let (node, number) = (nodes[0].as_str(), job.to_string());
    let code_id = |pinned: &JobCatalogs| pinned.run_of_job(node, &number)?.code_id;
    world.executing(1).await;
    assert_eq!(code_id(&pinned).as_deref(), Some(CODE_ID));

    // another process knows it from the store
    world.kill().await;
    let of_new_process = JobCatalogs::default();
    world.config.job_catalogs = of_new_process.clone();
    world.start().await;
    assert_eq!(code_id(&of_new_process).as_deref(), Some(CODE_ID));
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(code_id(&of_new_process), None);

    let flags = &world.sim.seen_puppet()[0]["flags"];
    let flags: Vec<&str> = flags
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for needed in [
        "--strict_environment_mode",
        "--no-use_cached_catalog",
        "--no-usecacheonfailure",
    ] {
        assert!(flags.contains(&needed), "{flags:?}");
    }
}

#[tokio::test]
async fn a_run_of_another_version_is_no_success() {
    let pinned = JobCatalogs::default();
    let world = world(&pinned).await;
    let manner = Manner {
        puppet: ran_with(OTHER),
        ..Manner::default()
    };
    let nodes = world.agents(1, &manner);
    let job = run(&world, pinned_run(&nodes, CODE_ID, PuppetFlags::default())).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "failed", "{result}");
    assert_eq!(result["code_id"], OTHER);
}

#[tokio::test]
async fn a_version_that_is_not_there_and_the_last_catalog_are_refused() {
    let pinned = JobCatalogs::default();
    let world = world(&pinned).await;
    let nodes = world.agents(1, &Manner::default());
    let unknown = pinned_run(&nodes, OTHER, PuppetFlags::default());
    let error = world.jobs().run(unknown).await.unwrap_err();
    assert!(matches!(error, RunJobError::Code(_)), "{error}");
    for flags in [
        PuppetFlags {
            use_cached_catalog: Some(true),
            ..PuppetFlags::default()
        },
        PuppetFlags {
            usecacheonfailure: Some(true),
            ..PuppetFlags::default()
        },
    ] {
        let contradiction = pinned_run(&nodes, CODE_ID, flags);
        let error = world.jobs().run(contradiction).await.unwrap_err();
        assert!(matches!(error, RunJobError::Flag(_)), "{error}");
    }
}

/// Leaves one node to a puppetserver.
#[derive(Debug)]
struct PuppetserverOfNode(Certname);

#[async_trait]
impl CatalogCompilers for PuppetserverOfNode {
    async fn puppetservers(
        &self,
        nodes: &[Certname],
        environment: &EnvironmentName,
    ) -> Vec<Option<PuppetserverChoice>> {
        assert_eq!(environment.as_str(), "production");
        let choice = PuppetserverChoice {
            reason: "moved on Monday".to_owned(),
        };
        let nodes = nodes.iter();
        nodes
            .map(|node| (*node == self.0).then(|| choice.clone()))
            .collect()
    }
}

#[tokio::test]
async fn a_node_of_a_puppetserver_is_refused_before_anything_is_sent_and_the_others_run() {
    let pinned = JobCatalogs::default();
    let of_puppetserver = names(2)[0].clone();
    let config = JobsConfig {
        compilers: Arc::new(PuppetserverOfNode(of_puppetserver)),
        ..quick()
    };
    let world = world_with(&pinned, config).await;
    let manner = Manner {
        puppet: ran_with(CODE_ID),
        ..Manner::default()
    };
    let nodes = world.agents(2, &manner);
    let job = run(&world, pinned_run(&nodes, CODE_ID, PuppetFlags::default())).await;
    world.over(job).await;
    let runs = world.runs(job).await;
    let states: Vec<&str> = runs.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["errored", "finished"]);
    assert_eq!(world.sim.seen_puppet().len(), 1);
    let result: Value = serde_json::from_str(runs[0].result.as_deref().unwrap()).unwrap();
    assert_eq!(result["_error"]["kind"], KIND_PUPPETSERVER);
    let msg = result["_error"]["msg"].as_str().unwrap();
    for words in [
        nodes[0].as_str(),
        "puppetserver (moved on Monday)",
        "without code_id",
    ] {
        assert!(msg.contains(words), "{words}: {msg}");
    }

    let mut unpinned = pinned_run(&nodes, CODE_ID, PuppetFlags::default());
    if let JobWork::Puppet(run) = &mut unpinned.work {
        run.code = CatalogCode::default();
    }
    let job = run(&world, unpinned).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
}
