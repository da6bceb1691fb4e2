//! Brokers on other machines: they connect to `/server` and see the orchestrator as a controller.
//!
//! A broker is identified by its verified client certificate, whose name must be in
//! [`ServerInfo::privileged_names`](crate::ServerInfo::privileged_names). Invariant: a link ends
//! when the server stops, when the broker's certificate is revoked, and when the broker is silent
//! for too long; [`fabric::remote`] does the rest.

use std::pin::Pin;

use api_types::{ApiError, kinds};
use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{
    Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection,
};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use fabric::remote::{self, RemoteBroker};
use futures_util::stream::{self, SplitSink, SplitStream, Stream};
use futures_util::{SinkExt as _, StreamExt as _};
use https::{ConnectionHandle, PeerCertificate};
use pcp::Certname;
use pki::CertnamePrivilege;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::PollSender;

use crate::SharedApiContext;
use crate::defaults::{BROKER_MESSAGE_BYTES, BROKER_PING, BROKER_SILENCE};
use crate::failure::ApiFailure;

/// Admits a broker whose certname is on the list.
pub(crate) fn admit_broker(
    api: &SharedApiContext,
    peer: Option<&PeerCertificate>,
) -> Result<(), ApiError> {
    let Some(certname) = peer.and_then(PeerCertificate::certname) else {
        let msg = "this is for brokers, which show a client certificate of this server's CA";
        return Err(ApiError::new(kinds::UNAUTHENTICATED, msg));
    };
    let names = &api.info.privileged_names;
    if names.has_privilege(CertnamePrivilege::RemoteBroker, certname) {
        return Ok(());
    }
    tracing::warn!(
        certname,
        "refused as a broker; if it is one, name it in broker.remote_brokers"
    );
    let msg = format!("{certname} is not on this server's list of brokers");
    Err(ApiError::new(kinds::NOT_PERMITTED, msg).with("certname", json!(certname)))
}

pub(crate) async fn connect(
    State(api): State<SharedApiContext>,
    Extension(peer): Extension<PeerCertificate>,
    Extension(hold): Extension<ConnectionHandle>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiFailure> {
    let upgrade = upgrade.map_err(|error| ApiError::invalid("Upgrade", error.body_text()))?;
    let name = peer.certname().unwrap_or_default();
    let certname: Certname = name
        .parse()
        .map_err(|error| ApiError::invalid("certificate", error))?;
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let authority = host.ok_or_else(|| ApiError::invalid("Host", "this header is missing"))?;
    let broker = RemoteBroker {
        certname,
        authority: authority.to_owned(),
    };
    let upgrade = upgrade
        .max_message_size(BROKER_MESSAGE_BYTES)
        .max_frame_size(BROKER_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(|socket| serve_broker(api, broker, socket, hold)))
}

async fn serve_broker(
    api: SharedApiContext,
    broker: RemoteBroker,
    socket: WebSocket,
    hold: ConnectionHandle,
) {
    let certname = broker.certname.clone();
    tracing::info!(broker = %certname, "a broker connected");
    let (sink, stream) = socket.split();
    // One message in transit; the fabric owns the bounded queue.
    let (outgoing, queue) = mpsc::channel(1);
    let link = remote::serve(
        &api.fabric,
        broker,
        broker_messages(stream),
        PollSender::new(outgoing),
    );
    tokio::select! {
        ended = link => if let Err(error) = ended {
            tracing::warn!(broker = %certname, %error, "a broker cannot be served");
        },
        () = write(sink, queue) => {}
        () = api.info.stopping.cancelled() => {}
        lost = hold.wait_end() => {
            tracing::warn!(broker = %certname, reason = ?lost, "a broker's connection is cut");
        }
    }
    tracing::info!(broker = %certname, "a broker's connection ended");
}

/// The messages of the broker, until it closes the link, disconnects or is silent for too long.
fn broker_messages(stream: SplitStream<WebSocket>) -> Pin<Box<dyn Stream<Item = String> + Send>> {
    Box::pin(stream::unfold(stream, |mut stream| async {
        loop {
            match timeout(BROKER_SILENCE, stream.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => return Some((text.to_string(), stream)),
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_)))) => {}
                Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) | Err(_) => return None,
            }
        }
    }))
}

async fn write(mut sink: SplitSink<WebSocket, Message>, mut queue: mpsc::Receiver<String>) {
    let mut pings = interval(BROKER_PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            text = queue.recv() => match text {
                Some(text) => Message::Text(text.into()),
                None => return,
            },
            _ = pings.tick() => Message::Ping(Default::default()),
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}
