//! How much memory an idle agent costs the broker.
//!
//! `cargo run --release -p broker --example idle_memory -- 2000`
//!
//! Opens that many mutual-TLS connections (RSA-4096 client certificate, P-256 server key) from a
//! second process and prints, as JSON, the broker's resident memory per connection over the empty
//! broker: idle, after every client echoed 1 KB, and after every client echoed 64 KB.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a program that reports"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use broker::defaults::SESSIONS_PER_CERTNAME;
use broker::{AuthorizationPolicy, Broker, BrokerConfig};
use futures_util::{SinkExt, StreamExt};
use pki::ca::{GenerateOptions, InitOptions, SignOptions};
use pki::{CertificateAuthority, ClientAuth, ClientTls, KeyType, ServerTls, TlsFiles};
use rustls_pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// Clients of one certificate; their types tell them apart.
const CLIENTS_OF_CERTIFICATE: usize = SESSIONS_PER_CERTNAME;
/// Handshakes of the clients at the same time.
const DIALLING: usize = 32;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        [] => measure(2_000).await,
        [count] => measure(count.parse().context("the number of connections")?).await,
        [count, address, directory] => {
            clients(count.parse()?, address.parse()?, Path::new(directory)).await
        }
        _ => anyhow::bail!("usage: idle_memory [connections]"),
    }
}

// --- the broker ---

async fn measure(count: usize) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let dir = directory.path();
    certificates(dir, count)?;
    let tls = Arc::new(ServerTls::load(
        files(dir, "broker.example"),
        ClientAuth::Optional,
    )?);
    let policy = AuthorizationPolicy::parse(
        r#"authorization: { version: 1, rules: [
            { name: all, sort-order: 1, match-request: { type: path, path: "/" }, allow: "*" }
        ] }"#,
    )?;
    let mut config = BrokerConfig::new("broker.example".parse()?, policy);
    config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let broker = Broker::start(config, tls, None)?;

    let mut child = tokio::process::Command::new(std::env::current_exe()?)
        .args([count.to_string(), broker.local_addr().to_string()])
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut orders = child.stdin.take().context("the child's stdin")?;
    let mut answers = BufReader::new(child.stdout.take().context("the child's stdout")?).lines();
    let mut step = async |order: &str| -> Result<()> {
        orders.write_all(format!("{order}\n").as_bytes()).await?;
        answers
            .next_line()
            .await?
            .context("the clients ended early")?;
        Ok(())
    };

    // One connection first, so that buffers shared by all are not counted per connection.
    step("0 1").await?;
    step("echo 65536").await?;
    let empty = resident_bytes()?;
    let started = std::time::Instant::now();
    step(&format!("1 {count}")).await?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(
        broker.connections() == count,
        "only {} are associated",
        broker.connections()
    );
    let idle = resident_bytes()?;
    step("echo 1024").await?;
    let after_1k = resident_bytes()?;
    step("echo 65536").await?;
    let after_64k = resident_bytes()?;
    let per = |bytes: u64| {
        let kilobytes = bytes.saturating_sub(empty) as f64 / (count - 1) as f64 / 1024.0;
        (kilobytes * 10.0).round() / 10.0
    };
    let report = json!({
        "connections": count,
        "empty_broker_mb": (empty as f64 / 1e5).round() / 10.0,
        "idle_kb_each": per(idle),
        "after_1_kb_echo_kb_each": per(after_1k),
        "after_64_kb_echo_kb_each": per(after_64k),
        "connect_seconds_both_processes": (seconds * 10.0).round() / 10.0,
    });
    println!("{report:#}");
    child.kill().await?;
    broker.shutdown().await;
    Ok(())
}

fn resident_bytes() -> Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .context("statm has two fields")?
        .parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}

fn certificates(dir: &Path, count: usize) -> Result<()> {
    let options = InitOptions {
        common_name: "Example CA".to_owned(),
        key_type: KeyType::Rsa4096,
    };
    let authority = CertificateAuthority::init(&dir.join("ca"), &options)?;
    let of_broker = GenerateOptions {
        alt_names: vec!["127.0.0.1".parse()?],
        key_type: KeyType::EcP256,
        ..GenerateOptions::default()
    };
    let generated = authority.generate("broker.example", &of_broker)?;
    let broker = files(dir, "broker.example");
    std::fs::write(broker.cert, generated.cert_pem)?;
    std::fs::write(broker.key, generated.key_pem)?;
    // One key for all: a key takes seconds to make, and the broker sees a certificate of its own each time.
    let key = pki::key::generate(KeyType::Rsa4096)?;
    for number in 0..count.div_ceil(CLIENTS_OF_CERTIFICATE) {
        let certname = client_certname(number);
        let request = pki::csr::create_request(&certname, &key)?;
        authority.submit(&certname, request.as_bytes())?;
        let client = files(dir, &certname);
        std::fs::write(
            client.cert,
            authority.sign(&certname, &SignOptions::without_consent())?,
        )?;
        std::fs::write(client.key, key.serialize_pem())?;
    }
    Ok(())
}

fn client_certname(certificate: usize) -> String {
    format!("agent{certificate}.example")
}

fn files(dir: &Path, certname: &str) -> TlsFiles {
    TlsFiles {
        cert: dir.join(format!("{certname}.crt")),
        key: dir.join(format!("{certname}.key")),
        ca: dir.join("ca/ca_crt.pem"),
        crl: Some(dir.join("ca/ca_crl.pem")),
    }
}

// --- the clients ---

type Client = WebSocketStream<TlsStream<TcpStream>>;

async fn clients(count: usize, broker: SocketAddr, dir: &Path) -> Result<()> {
    let mut clients: Vec<Client> = Vec::with_capacity(count);
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    while let Some(order) = orders.next_line().await? {
        match order.split_once(' ').context("an order has two words")? {
            ("echo", length) => echo(&mut clients, length.parse()?).await?,
            (first, end) => {
                let numbers = first.parse::<usize>()?..end.parse()?;
                let opened: Vec<Result<Client>> = futures_util::stream::iter(numbers)
                    .map(|number| open(dir, broker, number))
                    .buffered(DIALLING)
                    .collect()
                    .await;
                for client in opened {
                    clients.push(client?);
                }
            }
        }
        println!("done");
    }
    Ok(())
}

async fn open(dir: &Path, broker: SocketAddr, number: usize) -> Result<Client> {
    let certname = client_certname(number / CLIENTS_OF_CERTIFICATE);
    let tls = TlsConnector::from(ClientTls::load(&files(dir, &certname))?);
    let tcp = TcpStream::connect(broker).await?;
    let stream = tls.connect(ServerName::from(broker.ip()), tcp).await?;
    let config = WebSocketConfig::default()
        .read_buffer_size(4096)
        .write_buffer_size(0);
    let uri = format!("wss://{broker}/pcp2/t{number}");
    let upgrade = tokio_tungstenite::client_async_with_config(uri, stream, Some(config));
    let (client, _) = Box::pin(upgrade).await?;
    Ok(client)
}

async fn echo(clients: &mut [Client], length: usize) -> Result<()> {
    let data = "x".repeat(length);
    for (number, client) in clients.iter_mut().enumerate() {
        let message = json!({
            "id": "00000000-0000-4000-8000-000000000000",
            "message_type": "example/echo",
            "target": format!("pcp://{}/t{number}", client_certname(number / CLIENTS_OF_CERTIFICATE)),
            "data": data,
        });
        client.send(Message::text(message.to_string())).await?;
        let heard = client.next().await.context("the connection ended")??;
        ensure!(heard.len() >= length, "not the echo: {heard}");
    }
    if clients.is_empty() {
        eprintln!("no clients to echo");
    }
    Ok(())
}
