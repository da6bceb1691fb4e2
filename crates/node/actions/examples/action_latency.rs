//! Latency of small actions on this machine, in milliseconds: of blocking ones, and of non-blocking
//! ones until the provisional response and until the outcome. The flushes of the disk are most of
//! it.
//!
//! `cargo run --release -p actions --example action_latency -- DIRECTORY [--smallest]`, after
//! `cargo build --release -p actions --example run-action`. Prints JSON.
#![expect(clippy::print_stdout, reason = "it is a program that reports")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actions::{ActionEngine, EngineConfig, NotSent, PxpOutbox};
use async_trait::async_trait;
use pcp::{MessageId, PcpUri};
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use tokio::sync::{Mutex, mpsc, watch};

const ROUNDS: usize = 100;
/// Number of rounds with `--smallest`, which only tests the program itself.
const ROUNDS_SMALLEST: usize = 2;

/// A broker that accepts every message.
struct Sink {
    sent: mpsc::UnboundedSender<PxpMessageBody>,
    connected: watch::Sender<bool>,
}

#[async_trait]
impl PxpOutbox for Sink {
    async fn send(&self, _to: &PcpUri, body: PxpMessageBody) -> Result<(), NotSent> {
        self.sent.send(body).map_err(|_| NotSent::NotConnected)
    }

    fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory: PathBuf = std::env::args_os().nth(1).ok_or("name a directory")?.into();
    let directory = tempfile::tempdir_in(directory)?;
    let wrapper = std::env::current_exe()?.with_file_name("run-action");
    let at = |name: &str| directory.path().join(name);
    let config = EngineConfig::new(at("spool"), at("cache"), vec![wrapper.into()]);
    let (sent, received) = mpsc::unbounded_channel();
    let connected = watch::Sender::new(true);
    let engine = ActionEngine::start(config, Arc::new(Sink { sent, connected })).await?;
    let received = Mutex::new(received);

    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let rounds = if is_smallest { ROUNDS_SMALLEST } else { ROUNDS };
    let (mut blocking, mut provisional, mut outcome) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        let (request, _) = command()?;
        let started = Instant::now();
        send(&engine, PxpMessageBody::BlockingRequest(request))?;
        next(&received).await?;
        blocking.push(started.elapsed());

        let (request, id) = command()?;
        let started = Instant::now();
        send(&engine, PxpMessageBody::NonBlockingRequest(request))?;
        next(&received).await?;
        provisional.push(started.elapsed());
        next(&received).await?;
        outcome.push(started.elapsed());
        send(&engine, PxpMessageBody::OutcomeAck { transaction_id: id })?;
    }
    println!(
        "{}",
        serde_json::json!({"actions_ms": {
            "blocking": spread(blocking), "provisional": spread(provisional), "outcome": spread(outcome),
        }})
    );
    engine.shutdown(Duration::from_secs(10)).await;
    Ok(())
}

/// The minimum, the median, and the 90th percentile of the times, in milliseconds.
fn spread(mut times: Vec<Duration>) -> serde_json::Value {
    times.sort_unstable();
    let ms = |percent: usize| {
        let at = (times.len() * percent / 100).min(times.len() - 1);
        (times[at].as_secs_f64() * 10_000.0).round() / 10.0
    };
    serde_json::json!({"min": ms(0), "p50": ms(50), "p90": ms(90)})
}

fn command() -> Outcome<(PxpRequest, TransactionId)> {
    let transaction_id = TransactionId::random();
    let request = PxpRequest {
        transaction_id: transaction_id.clone(),
        module: "command".to_owned(),
        action: "run".to_owned(),
        params: pxp::action::encode(&serde_json::json!({"command": "echo done"})),
        notify_outcome: Some(true),
        extended: Some(true),
        file_servers: Vec::new(),
    };
    Ok((request, transaction_id))
}

fn send(engine: &ActionEngine, body: PxpMessageBody) -> Outcome<()> {
    let controller = "pcp://bench/server".parse()?;
    engine.handle(controller, MessageId::random(), body);
    Ok(())
}

async fn next(
    received: &Mutex<mpsc::UnboundedReceiver<PxpMessageBody>>,
) -> Outcome<PxpMessageBody> {
    let body = received
        .lock()
        .await
        .recv()
        .await
        .ok_or("the engine is gone")?;
    match body {
        PxpMessageBody::Error(error) => Err(error.description.into()),
        body => Ok(body),
    }
}
