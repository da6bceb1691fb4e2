//! A PuppetDB that takes commands: [`FakePuppetDb`].

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use inventory::{Inventory, PuppetDbConfig};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A command as PuppetDB gets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TakenCommand {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) certname: String,
    pub(crate) payload: Value,
}

/// The fake, as long as it runs.
pub(crate) struct FakePuppetDb {
    pub(crate) address: SocketAddr,
    state: Arc<FakeState>,
    stop: Option<DropGuard>,
}

struct FakeState {
    /// Queries, and the rows of the answer to each.
    queries: Mutex<Vec<Value>>,
    rows: Mutex<Vec<Value>>,
    taken: watch::Sender<Vec<TakenCommand>>,
    /// Certname whose commands are refused.
    refused: Mutex<Option<String>>,
}

#[derive(serde::Deserialize)]
struct CommandParameters {
    command: String,
    version: String,
    certname: String,
}

impl FakePuppetDb {
    /// An address at which nothing listens.
    pub(crate) async fn free_address() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    pub(crate) async fn start(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let state = Arc::new(FakeState {
            queries: Mutex::default(),
            rows: Mutex::default(),
            taken: watch::Sender::default(),
            refused: Mutex::default(),
        });
        let router = Router::new()
            .route("/pdb/cmd/v1", post(take))
            .route("/pdb/query/v4", post(answer))
            .with_state(Arc::clone(&state));
        let stop = CancellationToken::new();
        let serving =
            axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
        tokio::spawn(serving.into_future());
        Self {
            address,
            state,
            stop: Some(stop.drop_guard()),
        }
    }

    /// Answers all queries with these rows.
    pub(crate) fn answer_with(&self, rows: Vec<Value>) {
        *self.state.rows.lock().unwrap() = rows;
    }

    pub(crate) fn queries(&self) -> Vec<Value> {
        self.state.queries.lock().unwrap().clone()
    }

    pub(crate) fn refuse(&self, certname: &str) {
        *self.state.refused.lock().unwrap() = Some(certname.to_owned());
    }

    /// The commands, as soon as there are `count`.
    pub(crate) async fn taken(&self, count: usize) -> Vec<TakenCommand> {
        let mut taken = self.state.taken.subscribe();
        let enough = taken.wait_for(|taken| taken.len() >= count);
        let waited = tokio::time::timeout(std::time::Duration::from_secs(20), enough).await;
        waited.expect("the commands arrive").unwrap().clone()
    }
}

impl Drop for FakePuppetDb {
    fn drop(&mut self) {
        self.stop.take();
    }
}

/// An inventory that uses the PuppetDB at this address.
pub(crate) fn inventory(address: SocketAddr) -> Inventory {
    let config = PuppetDbConfig::new([format!("http://{address}")], None).unwrap();
    Inventory::puppetdb(config)
}

async fn answer(State(state): State<Arc<FakeState>>, body: Bytes) -> Response {
    let query: Value = serde_json::from_slice(&body).unwrap();
    state.queries.lock().unwrap().push(query["query"].clone());
    let rows = state.rows.lock().unwrap().clone();
    axum::Json(rows).into_response()
}

async fn take(
    State(state): State<Arc<FakeState>>,
    Query(parameters): Query<CommandParameters>,
    body: Bytes,
) -> Response {
    if state.refused.lock().unwrap().as_ref() == Some(&parameters.certname) {
        return (StatusCode::BAD_REQUEST, "{\"error\": \"no\"}").into_response();
    }
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&body[..])
        .read_to_end(&mut text)
        .unwrap();
    let command = TakenCommand {
        name: parameters.command,
        version: parameters.version,
        certname: parameters.certname,
        payload: serde_json::from_slice(&text).unwrap(),
    };
    state.taken.send_modify(|taken| taken.push(command));
    "{\"uuid\": \"1\"}".into_response()
}
