//! Passes of nodes that wait for each other: what each job tells the server of catalogs, and what it waits for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use environments::{EnvironmentName, JobCatalogRun, JobCatalogs};
use jobs::{
    ApplicationGraphError, ApplicationGraphs, EnvironmentApplications, JobSpec, JobWork,
    JobsConfig, NodeScope, RunJobError, RunPass, RunPasses,
};
use pcp::Certname;
use pxp::action::CodeId;
use store::JobNumber;

use crate::deploys::deploy;
use crate::run_orders::{failing, instance, node_name};
use crate::sim::Manner;
use crate::world::{World, patient};

/// Nodes 0 and 1 wait for each other, 2 waits for both, and 3 is in no application. The list has the capabilities that are
/// not in the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossed(Arc<Mutex<Vec<&'static str>>>);

#[async_trait]
impl ApplicationGraphs for Crossed {
    async fn applications(
        &self,
        _: &EnvironmentName,
        _: Option<&CodeId>,
        _: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError> {
        let components: [(usize, &[&str], &[&str]); 6] = [
            (0, &["a"], &[]),
            (0, &["on"], &["b"]),
            (0, &[], &["on"]),
            (1, &["b"], &[]),
            (1, &["web"], &["a"]),
            (2, &[], &["b", "web"]),
        ];
        Ok(Some(EnvironmentApplications {
            instances: vec![instance("App[one]", &components)],
        }))
    }

    async fn missing_capabilities(
        &self,
        _: &EnvironmentName,
        _: &Certname,
        capabilities: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError> {
        let missing = self.0.lock().unwrap();
        let capabilities = capabilities.iter();
        let found = capabilities.filter(|it| missing.contains(&it.as_str()));
        Ok(found.cloned().collect())
    }
}

async fn world(applications: &Crossed, catalogs: &JobCatalogs) -> World {
    World::with(JobsConfig {
        job_catalogs: catalogs.clone(),
        applications: Arc::new(applications.clone()),
        ..patient()
    })
    .await
}

/// The passes of the nodes, as the server plans them.
pub(crate) async fn plan(world: &World, spec: &JobSpec) -> RunPasses {
    let production = "production".parse().unwrap();
    let planning = world
        .jobs()
        .node_passes(&spec.scope, (&production, None), "");
    planning.await.unwrap().passes
}

/// The job of a pass.
pub(crate) fn pass_job(spec: &JobSpec, pass: &RunPass) -> JobSpec {
    let mut job = spec.clone();
    let JobWork::Puppet(work) = &mut job.work else {
        panic!("{:?}", job.work)
    };
    work.pass = Some(pass.clone());
    let nodes = pass.nodes.iter().map(|run| run.node.clone());
    job.scope = NodeScope::Nodes(nodes.collect());
    job
}

/// The components of a node that need something that is missing; `None` if none waits for a later pass.
fn lacks(catalogs: &JobCatalogs, node: usize, job: JobNumber) -> Option<BTreeSet<String>> {
    let run: JobCatalogRun = catalogs.run_of_job(node_name(node).as_str(), &job.to_string())?;
    assert_eq!(
        (run.code_id, run.environment.as_str()),
        (None, "production")
    );
    Some(run.waiting.missing.clone())
}

fn parts(numbers: &[usize]) -> Option<BTreeSet<String>> {
    Some(numbers.iter().map(|it| format!("Part[{it}]")).collect())
}

#[tokio::test]
async fn a_pass_is_no_cycle_and_its_nodes_lack_components_until_they_have_ended() {
    let (applications, catalogs) = (Crossed::default(), JobCatalogs::default());
    let mut world = world(&applications, &catalogs).await;
    let held = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.agents(4, &held);
    let spec = deploy(&nodes);
    let Err(RunJobError::Cycle(cycle)) = world.jobs().run(spec.clone()).await else {
        panic!("it was made");
    };
    assert!(cycle.to_string().contains("--multi-pass"), "{cycle}");
    let passes = plan(&world, &spec).await.passes;
    assert_eq!(passes.len(), 2);

    *applications.0.lock().unwrap() = vec!["Sql[a]", "Sql[b]"];
    let job = world.run(pass_job(&spec, &passes[0])).await;
    world.executing(3).await;
    // what is produced while the pass runs is no reason to have the component
    applications.0.lock().unwrap().clear();
    assert_eq!(lacks(&catalogs, 0, job), parts(&[1, 2]));
    assert_eq!(lacks(&catalogs, 1, job), parts(&[4]));
    assert_eq!(lacks(&catalogs, 3, job), None);

    // another process knows it from the store
    world.kill().await;
    let of_new_process = JobCatalogs::default();
    world.config.job_catalogs = of_new_process.clone();
    world.start().await;
    assert_eq!(lacks(&of_new_process, 0, job), parts(&[1, 2]));
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(lacks(&of_new_process, 0, job), None);

    let last = world.run(pass_job(&spec, &passes[1])).await;
    world.over(last).await;
    assert_eq!(world.state(last).await, "finished");
    assert_eq!(world.runs(last).await.len(), 3);
    let flags = &world.sim.seen_puppet()[0]["flags"];
    let is_strict = flags
        .as_array()
        .unwrap()
        .contains(&"--no-usecacheonfailure".into());
    assert!(is_strict, "{flags}");
}

#[tokio::test]
async fn components_whose_producers_ran_before_are_told_apart() {
    let (applications, catalogs) = (Crossed::default(), JobCatalogs::default());
    let world = world(&applications, &catalogs).await;
    let held = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.agents(4, &held);
    let spec = deploy(&nodes);
    let passes = plan(&world, &spec).await.passes;
    *applications.0.lock().unwrap() = vec!["Sql[a]"];
    let job = world.run(pass_job(&spec, &passes[0])).await;
    world.executing(3).await;
    assert_eq!(lacks(&catalogs, 0, job), parts(&[]));
    let run = catalogs.run_of_job(node_name(0).as_str(), &job.to_string());
    assert_eq!(Some(run.unwrap().waiting.present.clone()), parts(&[1, 2]));
    assert_eq!(lacks(&catalogs, 1, job), parts(&[4]));
    world.sim.let_go();
    world.over(job).await;
}

#[tokio::test]
async fn a_partial_run_succeeds_only_with_what_later_passes_consume() {
    let (applications, catalogs) = (Crossed::default(), JobCatalogs::default());
    let world = world(&applications, &catalogs).await;
    let nodes = world.agents(4, &Manner::default());
    let spec = deploy(&nodes);
    let passes = plan(&world, &spec).await.passes;
    *applications.0.lock().unwrap() = vec!["Sql[a]"];
    let job = world.run(pass_job(&spec, &passes[0])).await;
    world.over(job).await;
    let failed = world.runs(job).await.into_iter();
    let failed = failed.filter(|run| run.state != "finished");
    let failed: Vec<_> = failed.map(|run| run.certname).collect();
    assert_eq!(failed, [node_name(0).to_string()]);
}

#[tokio::test]
async fn within_a_pass_nodes_wait_for_one_another() {
    let (applications, catalogs) = (Crossed::default(), JobCatalogs::default());
    let world = world(&applications, &catalogs).await;
    let nodes = world.agents(4, &Manner::default());
    let spec = deploy(&nodes);
    let passes = plan(&world, &spec).await.passes;
    world.sim.add(&node_name(1), failing());
    // the last pass has node 2 behind node 1, which produces `web` there
    let job = world.run(pass_job(&spec, &passes[1])).await;
    world.over(job).await;
    let states = world.runs(job).await.into_iter();
    let states = states.map(|run| (run.certname, run.state));
    let mut states: Vec<_> = states.collect();
    states.sort();
    let state = |node: usize, state: &str| (node_name(node).to_string(), state.to_owned());
    assert_eq!(
        states,
        [
            state(0, "finished"),
            state(1, "failed"),
            state(2, "skipped")
        ]
    );
}
