//! Catalogs and files of agents during deployments: each answer is checked, and the times are compared with those
//! without deployments.
//!
//! Invariant: the deployments of another environment load the machine as much as those of the nodes' own one, so
//! the difference is what a request waits for a switch.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use serde_json::json;
use testkit::client::Client;
use testkit::control_repository::{ControlRepository, PRODUCTION};
use testkit::figures::Percentiles;
use testkit::installation::Installation;
use testkit::machine;
use testkit::release_traffic::{ReleaseTraffic, Releases, RequestKind, TrafficProgress};
use testkit::service::Service;

use crate::measurement::figure;

/// An environment in which no node is.
const OTHER: &str = "other";

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReleaseTrafficSize {
    /// Nodes, each of which has one request at a time.
    nodes: usize,
    /// Requests during the deployments of the nodes' environment.
    requests: u64,
    deployments: u32,
    /// Requests without deployments, and during those of another environment.
    compared_requests: u64,
    compared_deployments: u32,
}

impl ReleaseTrafficSize {
    pub(crate) const FULL: Self = Self {
        nodes: 4,
        requests: 1_000_000,
        deployments: 1_000,
        compared_requests: 100_000,
        compared_deployments: 100,
    };
    pub(crate) const SMALLEST: Self = Self {
        nodes: 2,
        requests: 60,
        deployments: 2,
        compared_requests: 20,
        compared_deployments: 1,
    };
}

/// Deployments of an environment that are spread over a number of requests.
struct SpreadDeployments<'d> {
    control: &'d ControlRepository,
    client: &'d Client,
    environment: &'d str,
    commits: &'d [String],
    requests: u64,
}

pub(crate) async fn run(installation: &Installation, size: ReleaseTrafficSize) -> Result<()> {
    let control = ControlRepository::create(installation)?;
    // The first release is live before the deployments.
    let releases = Arc::new(Releases::new(size.deployments + 1));
    let commits = control.import(releases.commits())?;
    let server = installation.server().start().await?;
    let client = Client::login(installation).await?;
    for environment in [PRODUCTION, OTHER] {
        control.set_branch(environment, &commits[0])?;
        control.deploy(&client, environment).await?;
    }
    let mut traffic = ReleaseTraffic::new(installation, &releases, size.nodes)?;
    let spread = |environment, deployments: u32, requests| SpreadDeployments {
        control: &control,
        client: &client,
        environment,
        commits: &commits[1..=deployments as usize],
        requests,
    };
    let compared = size.compared_requests;
    for (what, deployments) in [
        ("none", spread(OTHER, 0, compared)),
        (
            "of another environment",
            spread(OTHER, size.compared_deployments, compared),
        ),
        (
            "of the environment",
            spread(PRODUCTION, size.deployments, size.requests),
        ),
    ] {
        measure(&server, &mut traffic, what, &deployments).await?;
    }
    server.stop().await?;
    Ok(())
}

async fn measure(
    server: &Service,
    traffic: &mut ReleaseTraffic,
    what: &str,
    deployments: &SpreadDeployments<'_>,
) -> Result<()> {
    let (since, cpu) = (Instant::now(), machine::cpu_seconds(server.pid())?);
    let mut times = Vec::new();
    let deploying = traffic.during(deployments.requests, |progress| {
        deployments.run(progress, &mut times)
    });
    let report = deploying.await?;
    let seconds = since.elapsed().as_secs_f64();
    let requests = report.requests();
    let releases = report.releases(RequestKind::Catalog).len();
    figure(
        "agents during deployments",
        &json!({"deployments": what, "count": deployments.commits.len(), "requests": requests,
                "seconds": seconds, "per_s": requests as f64 / seconds,
                "releases_in_catalogs": releases,
                "deployment_ms": Percentiles::of(times).ok(),
                "server_cpu_s": machine::cpu_seconds(server.pid())? - cpu,
                "server_rss_kib": machine::resident_kib(server.pid())?,
                "times": report.figures()?}),
    );
    Ok(())
}

// === impl SpreadDeployments ===

impl SpreadDeployments<'_> {
    /// Makes one deployment after the other, each when its share of the requests was sent; adds the milliseconds
    /// of each.
    async fn run(&self, mut progress: TrafficProgress, times: &mut Vec<f64>) -> Result<()> {
        for (number, commit) in self.commits.iter().enumerate() {
            let share = self.requests * number as u64 / self.commits.len() as u64;
            progress.requests(share).await?;
            self.control.set_branch(self.environment, commit)?;
            let since = Instant::now();
            self.control.deploy(self.client, self.environment).await?;
            times.push(since.elapsed().as_secs_f64() * 1e3);
        }
        Ok(())
    }
}
