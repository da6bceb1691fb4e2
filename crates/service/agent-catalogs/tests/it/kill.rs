//! The server is killed at random moments, before, during and after writes.
//!
//! A child process deploys, changes facts, compiles in advance and requests catalogs as fast as it can, and prints each step
//! before and after. After each kill the catalog that a new engine gives must be the one that is compiled
//! now, and the contents that it names must be served.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::site::{NodeState, Site, document};

/// Directory of the site, in the environment of the child.
const CHILD: &str = "TUTTI_AGENT_CATALOGS_KILL_TEST";

/// Rounds; `TUTTI_KILLS` sets another number.
const KILLS: u64 = 12;

const MANIFEST: &str = "notify { \"version VERSION ${facts['role']}\": }
file { '/a': source => 'puppet:///modules/m/a' }";

fn deploy(site: &Site, number: u64) {
    let digit = char::from_digit(u32::try_from(number % 16).unwrap(), 16).unwrap();
    let manifest = MANIFEST.replace("VERSION", &digit.to_string());
    site.deploy(
        digit,
        &[
            ("manifests/site.pp", &manifest),
            ("modules/m/files/a", &format!("content {digit}")),
        ],
    );
}

fn node(role: u64) -> NodeState {
    NodeState::with_facts(json!({"role": role, "uptime": 1}))
}

/// The child: it never ends by itself.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let site = Site::open(PathBuf::from(directory)).await;
    for step in 0_u64.. {
        deploy(&site, step);
        println!("step {step}");
        if step % 2 == 0 {
            site.compile_ahead().await;
        }
        node(step / 3).catalog(&site.agents).await.unwrap();
        println!("step {step} done");
    }
}

/// Starts the child, and kills it some time after so many lines of output. Returns the last step that it
/// began.
fn kill_after(directory: &std::path::Path, lines: u64, further: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut steps = Vec::new();
    while (steps.len() as u64) < lines {
        let line = output.next().expect("the child ended by itself").unwrap();
        steps.extend(line.strip_prefix("step ").map(str::to_owned));
    }
    std::thread::sleep(further);
    child.kill().unwrap();
    child.wait().unwrap();
    let later = output.map_while(Result::ok);
    steps.extend(later.filter_map(|line| Some(line.strip_prefix("step ")?.to_owned())));
    let last = steps.last().unwrap().trim_end_matches(" done");
    last.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_catalog_is_torn_or_stale_whenever_the_server_is_killed() {
    let kills = std::env::var("TUTTI_KILLS").ok();
    let kills = kills.and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let directory = tempfile::tempdir().unwrap();
    Site::open(directory.path().to_owned()).await.close().await;
    tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
    let mut given_again = 0;
    for round in 0..kills {
        let path = directory.path().to_owned();
        let (lines, further) = (1 + round % 7, Duration::from_micros(round * 1_733 % 20_000));
        let killing = tokio::task::spawn_blocking(move || kill_after(&path, lines, further));
        let last = killing.await.unwrap();
        let site = Site::open(directory.path().to_owned()).await;
        for role in [last / 3, 1_000, last / 3] {
            let node = node(role);
            let given = node.catalog(&site.agents).await.unwrap();
            let compiled = node.catalog(&site.fresh_engine().await).await.unwrap();
            assert_eq!(document(&given), document(&compiled), "round {round}");
            assert_eq!(given.code_id, compiled.code_id);
            given_again += u64::from(given.compile_time.is_none());
            let contents = site.contents_of(&given).await;
            assert_eq!(contents.len(), 1, "round {round}");
        }
        // what is stored is used at once after an orderly end
        let node = node(last / 3);
        let last = node.catalog(&site.agents).await.unwrap();
        site.close().await;
        let site = Site::open(directory.path().to_owned()).await;
        let again = node.catalog(&site.agents).await.unwrap();
        assert!(again.compile_time.is_none(), "round {round}");
        assert_eq!(again.body, last.body);
        site.close().await;
    }
    assert!(given_again > 0, "no catalog was stored before a kill");
}
