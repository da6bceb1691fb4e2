//! A receiver with the answers that a test sets. Main type: [`Receiver`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Timeout that ends a broken test with a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// A received message.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) bytes: Bytes,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: mpsc::UnboundedReceiver<Received>,
    _task: AbortOnDropHandle<()>,
}

/// The statuses of the next answers; 204 after the last one.
type Answers = Arc<Mutex<VecDeque<u16>>>;

impl Receiver {
    pub(crate) async fn start(answers: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (told, received) = mpsc::unbounded_channel();
        let answers: Answers = Arc::new(Mutex::new(answers.iter().copied().collect()));
        let router = Router::new()
            .route("/hook", post(take))
            .with_state((answers, told));
        let serve = async move { axum::serve(listener, router).await.unwrap() };
        Self {
            url,
            received,
            _task: AbortOnDropHandle::new(tokio::spawn(serve)),
        }
    }

    /// Waits for the next message, accepted or refused.
    pub(crate) async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(PATIENCE, self.received.recv()).await;
        next.expect("a message comes").unwrap()
    }

    /// True if no other message has arrived.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.received.try_recv().is_err()
    }
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }
}

async fn take(
    State((answers, told)): State<(Answers, mpsc::UnboundedSender<Received>)>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let received = Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp").parse().unwrap(),
        signature: header("webhook-signature"),
        bytes,
    };
    told.send(received).unwrap();
    let answer = answers.lock().unwrap().pop_front().unwrap_or(204);
    let status = StatusCode::from_u16(answer).unwrap();
    (status, [("location", "/elsewhere")]).into_response()
}
