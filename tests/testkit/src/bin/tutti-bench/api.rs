//! Small authenticated requests on kept connections over real HTTPS: how many a second.
//!
//! The client is as small as can be, since it shares the cores with the server: one request after
//! the other on each connection, its bytes written as they are, of the answer only what is needed
//! to find its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustls::pki_types::ServerName;
use serde_json::json;
use testkit::client::{Client, tls_config};
use testkit::installation::Installation;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{figure, machine, percentiles};

const CONNECTIONS: usize = 32;
const SECONDS: u64 = 4;
/// Rounds of each request; the median counts.
const ROUNDS: usize = 5;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// With a right that is asked for, without one, and one that reads the store.
const ASKED: [(&str, &str); 3] = [
    ("a token", "/orchestrator/v1"),
    (
        "a token and a right",
        "/orchestrator/v1/inventory/unknown.example.com",
    ),
    (
        "a token, a right and a row of the store",
        "/orchestrator/v1/jobs/1/events",
    ),
];

pub(crate) async fn run(installation: &Installation) -> Result<()> {
    let metadata = json!({"input_method": "environment"});
    installation.add_task("noop", "init.sh", &metadata, "#!/bin/sh\n")?;
    let server = installation.server().start().await?;
    let client = Client::login(installation).await?;
    // A job on a node that is not there ends at once and leaves a row to read.
    let job = client.run_task("noop", &["absent.test"], json!({})).await?;
    client.wait(job).await?;
    for (what, path) in ASKED {
        let (mut rates, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let cpu = machine::cpu_seconds(server.pid())?;
            let started = Instant::now();
            let answered = storm(installation, client.token(), path).await?;
            let seconds = started.elapsed().as_secs_f64();
            let cpu = machine::cpu_seconds(server.pid())? - cpu;
            rates.push(f64::from(answered) / seconds);
            costs.push(cpu / f64::from(answered) * 1e6);
        }
        figure(
            "authenticated small GETs on kept connections",
            &json!({"with": what, "path": path, "connections": CONNECTIONS,
                    "per_s": percentiles(rates)?, "server_cpu_us_each": percentiles(costs)?}),
        );
    }
    server.stop().await?;
    Ok(())
}

/// All connections for [`SECONDS`]: how many requests were answered with 200.
async fn storm(installation: &Installation, token: &str, path: &str) -> Result<u32> {
    let tls = Arc::new(tls_config(&installation.ca_dir().join("ca_crt.pem"))?);
    let port = installation.api_port();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nX-Authentication: {token}\r\n\r\n"
    );
    let request: Arc<str> = request.into();
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (tls, request) = (Arc::clone(&tls), Arc::clone(&request));
        connections.spawn(async move {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            stream.set_nodelay(true)?;
            let name = ServerName::try_from("localhost")?;
            let stream = TlsConnector::from(tls).connect(name, stream).await?;
            let mut line = Line::new(stream);
            let mut answered = 0;
            while Instant::now() < end {
                line.ask(request.as_bytes()).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(connection) = connections.join_next().await {
        answered += connection??;
    }
    Ok(answered)
}

/// One connection.
struct Line {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

impl Line {
    fn new(stream: TlsStream<TcpStream>) -> Self {
        Self {
            stream,
            buffer: Vec::with_capacity(16 << 10),
        }
    }

    /// One request and all of its answer.
    async fn ask(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await?;
            anyhow::ensure!(read > 0, "the server hung up");
            if let Some(end) = end_of(&self.buffer)?
                && self.buffer.len() >= end
            {
                return Ok(());
            }
        }
    }
}

/// Where the answer ends, once its head is there.
fn end_of(answer: &[u8]) -> Result<Option<usize>> {
    let mut windows = answer.windows(END_OF_HEAD.len());
    let Some(head) = windows.position(|bytes| bytes == END_OF_HEAD) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&answer[..head])?;
    anyhow::ensure!(text.starts_with("HTTP/1.1 200"), "{text}");
    let length = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .with_context(|| format!("an answer without a length: {text}"))?;
    Ok(Some(head + END_OF_HEAD.len() + length.1.parse::<usize>()?))
}
