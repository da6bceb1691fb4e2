//! Catalogs that agents request over real mutual TLS on kept connections: time and rate.
//!
//! Invariant: each node has one request at a time; the facts of a node are as many as real ones, and one
//! of them changes with each request, as the uptime does.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use pki::{ClientTls, TlsFiles};
use rustls::ClientConfig;
use serde_json::json;
use testkit::figures::Percentiles;
use testkit::https_connection::HttpsConnection;
use testkit::installation::Installation;
use testkit::machine;
use tokio::task::JoinSet;

use crate::figure;

/// Nodes that request catalogs at the same time.
const NODES: usize = 8;

/// Facts of a node: as many, with as many bytes, as Facter reports on a small machine.
const FACTS: usize = 100;
const FACT_BYTES: usize = 200;

/// Code whose catalog depends on no fact, and code whose catalog depends on the one that changes.
const MANIFESTS: [(&str, &str); 4] = [
    ("one resource, unchanged", "notify { 'x': }"),
    (
        "one resource, compiled each time",
        "notify { \"${facts['changing']}\": }",
    ),
    (
        "3,001 resources, unchanged",
        "Integer[1, 3000].each |$n| { file { \"/f${n}\": content => \"x${n}\" } } notify { 'x': }",
    ),
    (
        "3,001 resources, compiled each time",
        "Integer[1, 3000].each |$n| { file { \"/f${n}\": content => \"x${n}\" } } notify { \"${facts['changing']}\": }",
    ),
];

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PuppetServerSize {
    /// Requests of one node alone, of which the times are taken.
    single: usize,
    /// Duration of the requests of all nodes.
    round: Duration,
}

impl PuppetServerSize {
    pub(crate) const FULL: Self = Self {
        single: 300,
        round: Duration::from_secs(5),
    };
    pub(crate) const SMALLEST: Self = Self {
        single: 2,
        round: Duration::from_millis(100),
    };
}

pub(crate) async fn run(installation: &Installation, size: PuppetServerSize) -> Result<()> {
    for (number, (_, manifest)) in MANIFESTS.iter().enumerate() {
        write_version(installation, number, manifest)?;
    }
    let server = installation.server().start().await?;
    let nodes =
        (0..NODES).map(|number| BenchNode::new(installation, &format!("node{number}.test")));
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    for (number, (what, _)) in MANIFESTS.iter().enumerate() {
        deploy(installation, number)?;
        let times = single_times(&nodes[0], size.single).await?;
        let cpu = machine::cpu_seconds(server.pid())?;
        let started = Instant::now();
        let answered = all_nodes(&nodes, size.round).await?;
        let seconds = started.elapsed().as_secs_f64();
        let cpu = machine::cpu_seconds(server.pid())? - cpu;
        let rate = f64::from(answered) / seconds;
        figure(
            "catalogs over HTTPS",
            &json!({"code": what, "ms": Percentiles::of(times)?, "nodes": NODES, "per_s": rate,
                    "server_cpu_ms_each": cpu / f64::from(answered) * 1e3,
                    "server_rss_kib": machine::resident_kib(server.pid())?}),
        );
    }
    server.stop().await?;
    Ok(())
}

/// A node with its certificate and its address of the server.
#[derive(Clone)]
struct BenchNode {
    certname: Arc<str>,
    tls: Arc<ClientConfig>,
    server: SocketAddr,
}

impl BenchNode {
    fn new(installation: &Installation, certname: &str) -> Result<Self> {
        let (cert, key) = installation.certificate(certname)?;
        let tls = ClientTls::load(&TlsFiles {
            cert,
            key,
            ca: installation.ca_dir().join("ca_crt.pem"),
            crl: None,
        })?;
        Ok(Self {
            certname: certname.into(),
            tls,
            server: SocketAddr::from((Ipv4Addr::LOCALHOST, installation.puppet_api_port())),
        })
    }

    async fn connect(&self) -> Result<HttpsConnection> {
        let from = Ipv4Addr::LOCALHOST.into();
        HttpsConnection::open(self.server, from, Arc::clone(&self.tls)).await
    }

    /// The request as agents send it, with the facts escaped twice.
    fn request(&self) -> ChangingRequest {
        let mut values = json!({"changing": CHANGING});
        for number in 0..FACTS {
            values[format!("fact_{number}")] = json!("x".repeat(FACT_BYTES));
        }
        let facts = json!({"name": &*self.certname, "values": values}).to_string();
        let facts = escape(&escape(&facts));
        let body = format!(
            "environment=production&facts_format=application%2Fjson&facts={facts}&static_catalog=true\
             &checksum_type=sha256"
        );
        let request = format!(
            "POST /puppet/v3/catalog/{}?environment=production HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nAccept-Encoding: gzip\r\n\
             Accept: application/vnd.puppet.rich+json\r\nContent-Length: {}\r\n\r\n{body}",
            self.certname,
            body.len()
        );
        let place = request.find(CHANGING).unwrap_or_default();
        ChangingRequest {
            bytes: request.into_bytes(),
            place,
        }
    }
}

/// The value of the fact that changes, which is replaced in each request by as many digits.
const CHANGING: &str = "CHANGING";

/// A request whose fact changes without another escape, since the client shares the cores.
struct ChangingRequest {
    bytes: Vec<u8>,
    place: usize,
}

impl ChangingRequest {
    fn with(&mut self, number: usize) -> &[u8] {
        let digits = format!("{number:08}");
        self.bytes[self.place..self.place + CHANGING.len()].copy_from_slice(digits.as_bytes());
        &self.bytes
    }
}

/// Percent-encodes all but letters and digits.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => escaped.push(char::from(byte)),
            false => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    escaped
}

/// Milliseconds of each request of one node, after a first one.
async fn single_times(node: &BenchNode, requests: usize) -> Result<Vec<f64>> {
    let mut connection = node.connect().await?;
    let mut request = node.request();
    let mut times = Vec::with_capacity(requests);
    for number in 0..=requests {
        let since = Instant::now();
        connection.ask(request.with(number)).await?;
        if number > 0 {
            times.push(since.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(times)
}

/// Lets all nodes request catalogs for the duration of a round; returns the number of catalogs.
async fn all_nodes(nodes: &[BenchNode], round: Duration) -> Result<u32> {
    let end = Instant::now() + round;
    let mut requesting = JoinSet::new();
    for node in nodes {
        let node = node.clone();
        requesting.spawn(async move {
            let mut connection = node.connect().await?;
            let mut request = node.request();
            let mut answered = 0_u32;
            while Instant::now() < end {
                connection.ask(request.with(answered as usize)).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(node) = requesting.join_next().await {
        answered += node??;
    }
    Ok(answered)
}

fn version_name(number: usize) -> String {
    format!("production_{number:040x}")
}

fn write_version(installation: &Installation, number: usize, manifest: &str) -> Result<()> {
    let versions = installation.code_dir().join("versions");
    let manifests = versions.join(version_name(number)).join("manifests");
    std::fs::create_dir_all(&manifests)?;
    std::fs::write(manifests.join("site.pp"), manifest)?;
    Ok(())
}

fn deploy(installation: &Installation, number: usize) -> Result<()> {
    let environments = installation.code_dir().join("environments");
    let (live, new) = (environments.join("production"), environments.join(".new"));
    std::os::unix::fs::symlink(format!("../versions/{}", version_name(number)), &new)?;
    if !live.is_symlink() {
        std::fs::remove_dir_all(&live)?;
    }
    std::fs::rename(new, live)?;
    Ok(())
}
