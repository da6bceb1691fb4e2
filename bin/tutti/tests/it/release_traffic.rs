//! Catalogs and files of agents while versions of their environment become live: no answer mixes two, and none is
//! stale. After a deployment the nodes' catalogs are compiled in advance.

use std::sync::Arc;

use testkit::client::Client;
use testkit::control_repository::{ControlRepository, PRODUCTION};
use testkit::installation::{Installation, Programs};
use testkit::release_traffic::{ReleaseTraffic, Releases, RequestKind};

const RELEASES: u32 = 12;
const NODES: usize = 2;

/// Each request is sent in a round, and each release is live for at least one whole round of each node, so a
/// release that no answer has is one that the server never gave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_get_whole_and_current_answers_during_deployments() {
    let programs = Programs::beside(env!("CARGO_BIN_EXE_tutti")).unwrap();
    let installation = Installation::new(programs, "").unwrap();
    let control = ControlRepository::create(&installation).unwrap();
    let releases = Arc::new(Releases::new(RELEASES));
    let commits = control.import(releases.commits()).unwrap();
    let server = installation.server().start().await.unwrap();
    let client = Client::login(&installation).await.unwrap();
    control.set_branch(PRODUCTION, &commits[0]).unwrap();
    control.deploy(&client, PRODUCTION).await.unwrap();

    let mut traffic = ReleaseTraffic::new(&installation, &releases, NODES).unwrap();
    let (to, from, later) = (&client, &control, &commits[1..]);
    let deploying = traffic.during(0, |mut progress| async move {
        progress.whole_round().await?;
        for commit in later {
            from.set_branch(PRODUCTION, commit)?;
            from.deploy(to, PRODUCTION).await?;
            progress.whole_round().await?;
        }
        Ok(())
    });
    let report = deploying.await.unwrap();

    for kind in [
        RequestKind::Catalog,
        RequestKind::Metadata,
        RequestKind::Content,
        RequestKind::ContentByHash,
    ] {
        let seen: Vec<u32> = report.releases(kind).into_iter().collect();
        let all: Vec<u32> = (1..=RELEASES).collect();
        assert_eq!(seen, all, "{kind:?}");
    }
    // no node asks any more
    control.set_branch(PRODUCTION, &commits[0]).unwrap();
    control.deploy(&client, PRODUCTION).await.unwrap();
    for node in 1..=NODES {
        let node = format!("node{node}.test");
        client.compiled_ahead(&node).await.unwrap();
    }
    server.stop().await.unwrap();
}
