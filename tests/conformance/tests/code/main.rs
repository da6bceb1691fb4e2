//! Deployments beside a real puppetserver on the same code: what it is told, and what its catalogs are made of.
#![cfg(test)]

mod catalogs;
mod runs;
mod world;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::peers::PuppetAgent;

use crate::catalogs::{Asker, Tally};
use crate::world::{NODE, World};

/// How many catalogs are asked for beside deployments.
struct Race {
    first_release: u32,
    /// Each overlaps a switch with a chance of one to three.
    catalogs: u32,
    /// And what must have become live meanwhile, at least.
    releases: usize,
}

const BESIDE_SERVER: Race = Race {
    first_release: 5,
    catalogs: 100,
    releases: 5,
};
const BESIDE_FOLLOWER: Race = Race {
    first_release: 3001,
    catalogs: 40,
    releases: 2,
};
/// Some deployments begin and end within one compile, some do not.
const BETWEEN_DEPLOYMENTS: Duration = Duration::from_millis(300);

/// One puppetserver for all of it: it takes most of a minute to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_puppetserver_compiles_versions() {
    let mut world = World::new().await;
    a_puppetserver_that_is_away(&mut world).await;
    world.puppetserver.resume().await.unwrap();
    a_certificate_that_may_not_flush(&mut world).await;
    versions_have_their_content(&world).await;
    Box::pin(catalogs_are_of_one_version(&world, &BESIDE_SERVER)).await;
    an_agent_applies_the_version_of_its_catalog(&world).await;
    Box::pin(runs::a_job_says_which_code_its_runs_used(&world)).await;
    what_generate_types_made_is_found(&mut world).await;
    an_environment_disappears(&world).await;
    world.follow().await;
    Box::pin(catalogs_are_of_one_version(&world, &BESIDE_FOLLOWER)).await;
    world.stop().await;
}

async fn a_puppetserver_that_is_away(world: &mut World) {
    let began = Instant::now();
    let deployment = world.deploy(1).await;
    let notes = deployment["notes"].to_string();
    assert!(notes.contains("was not told to forget"), "{deployment:#}");
    assert!(notes.contains("onnection refused"), "{deployment:#}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

async fn a_certificate_that_may_not_flush(world: &mut World) {
    let other = world.installation.client_certificate("other.test").unwrap();
    world.restart_server(Some(other)).await;
    let deployment = world.deploy(2).await;
    let notes = deployment["notes"].to_string();
    assert!(notes.contains("auth.conf needs a rule"), "{deployment:#}");
    assert_eq!(world.live(), "2", "it is live all the same");
    world.restart_server(None).await;
    let notes = world.deploy(3).await["notes"].clone();
    assert!(notes.as_array().is_none_or(Vec::is_empty), "{notes:#}");
}

/// Modules, data and `environment.conf` are read through the link; an old version's files are given by its id.
async fn versions_have_their_content(world: &World) {
    let asker = Asker::new(world);
    let old = asker.catalog().await.unwrap();
    assert_eq!(old.mistakes(world, &asker).await, Vec::<String>::new());
    assert_eq!(old.release(), "3");
    world.deploy(4).await;
    assert_eq!(old.mistakes(world, &asker).await, Vec::<String>::new());
    let new = asker.catalog().await.unwrap();
    assert_eq!(new.mistakes(world, &asker).await, Vec::<String>::new());
    assert_eq!(new.release(), "4");
    let id = new.code_id().to_owned();
    for (path, status) in [
        ("modules/web/files/absent", 500),
        ("modules/web/manifests/init.pp", 403),
        ("modules/web/files/../../../data/common.yaml", 400),
    ] {
        let answer = asker.content(path, &id).await;
        let fits =
            answer.status == status || (400..=403).contains(&status) && answer.status / 100 == 4;
        assert!(fits, "{path}: {}", answer.status);
        assert!(!String::from_utf8_lossy(&answer.body).contains("release"));
    }
}

/// Deployments that change all there is, one after the other, and catalogs all the time.
async fn catalogs_are_of_one_version(world: &World, race: &Race) {
    let (over, asked) = (AtomicBool::new(false), AtomicU32::new(0));
    let deploying = async {
        let mut release = race.first_release;
        while !over.load(Ordering::Relaxed) {
            let notes = world.deploy(release).await["notes"].clone();
            assert!(notes.as_array().is_none_or(Vec::is_empty), "{notes:#}");
            release += 1;
            tokio::time::sleep(BETWEEN_DEPLOYMENTS).await;
        }
        release - race.first_release
    };
    let asking = async {
        let one = || async {
            let (asker, mut tally) = (Asker::new(world), Tally::default());
            while asked.fetch_add(1, Ordering::Relaxed) < race.catalogs {
                tally.add(asker.catalog().await, world, &asker).await;
            }
            tally
        };
        let (mut tally, more) = tokio::join!(one(), one());
        tally.extend(more);
        over.store(true, Ordering::Relaxed);
        tally
    };
    let began = Instant::now();
    let (deployed, tally) = tokio::join!(deploying, asking);
    let seconds = began.elapsed().as_secs();
    let releases = tally.releases();
    eprintln!(
        "{deployed} deployments in {seconds} s beside {} catalogs, of {releases} releases",
        race.catalogs
    );
    assert_eq!(
        tally.wrong(),
        0,
        "{tally:#?}\n{}",
        world.puppetserver.log_text()
    );
    assert!(releases > race.releases, "{tally:#?}");
    assert!(deployed as usize > 2 * race.releases, "{deployed}");
}

/// `puppet agent -t`: the next version is live before it has fetched the file of its catalog.
async fn an_agent_applies_the_version_of_its_catalog(world: &World) {
    let port = world.puppetserver.port();
    let agent = PuppetAgent::new(&world.installation, NODE, port).unwrap();
    world.deploy(1001).await;
    world.shut_gate();
    let running = agent.run(&["agent", "--test"]);
    let switching = async {
        world.agent_at_gate().await;
        world.deploy(1002).await;
        world.open_gate();
    };
    let (ran, ()) = tokio::join!(running, switching);
    let ran = ran.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert_eq!(world.live(), "1002");
    let motd = std::fs::read_to_string(world.motd()).unwrap();
    assert_eq!(motd, "motd of 1001\n", "{said}");
}

async fn what_generate_types_made_is_found(world: &mut World) {
    world.generate_types();
    world.restart_server(None).await;
    world.deploy(2001).await;
    let types = world.live_directory().join(".resource_types/web_page.pp");
    assert!(types.exists(), "{}", types.display());
    let asker = Asker::new(world);
    let catalog = asker.catalog().await.unwrap();
    assert_eq!(catalog.release(), "2001");
    assert!(
        catalog.has("Web_page", "made"),
        "the generated type is used"
    );
}

async fn an_environment_disappears(world: &World) {
    world.branch("other");
    world.deploy_all().await;
    let asker = Asker::new(world);
    assert!(asker.environments().await.contains(&"other".to_owned()));
    let catalog = asker.catalog_of("other").await.unwrap();
    assert!(
        catalog.code_id().ends_with(";other"),
        "{}",
        catalog.code_id()
    );
    let content = catalog.content_path().expect("it is static");
    let id = catalog.code_id().to_owned();
    world.remove_branch("other");
    world.deploy_all().await;
    assert_eq!(asker.environments().await, ["production"]);
    let error = asker.catalog_of("other").await.unwrap_err();
    assert!(
        error.contains("tutti code deploy other") || error.contains("404"),
        "{error}"
    );
    // Nodes that still have a catalog of it get its files.
    let answer = asker.content_of("other", &content, &id).await;
    assert_eq!(
        (answer.status, json!(answer.body.is_empty())),
        (200, json!(false))
    );
}
