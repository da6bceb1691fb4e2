//! An agent that slept.

use std::time::Duration;

use agent::connection::{ConnectionConfig, PcpVersion};
use futures_util::SinkExt;
use pxp::PxpMessageBody;
use serde_json::json;

use super::support::{FakeBroker, Frame, Site, TestAgent, config, from_controller};

const TRANSACTION: &str = "1";

/// A request with this action of the module `tutti`, or of a task.
fn request(message_type: &str, module: &str, action: &str) -> Frame {
    let data = json!({
        "transaction_id": TRANSACTION, "module": module, "action": action, "params": {},
    });
    let message_type = format!("http://puppetlabs.com/rpc_{message_type}_request");
    Frame::text(pcp::v2::encode(&from_controller(&message_type, &data)))
}

fn cancel() -> Frame {
    let data = json!({"transaction_id": TRANSACTION, "force": false});
    let message = from_controller(pxp::types::CANCEL, &data);
    Frame::text(pcp::v2::encode(&message))
}

/// Its callers have given up what it was asked for meanwhile, and do not expect it any more.
#[tokio::test]
async fn what_arrived_during_a_sleep_is_not_carried_out() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let asleep_after = Duration::from_millis(1);
    let mut agent = TestAgent::start(ConnectionConfig {
        asleep_after,
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    let mut peer = broker.accept().await;
    agent.connected().await;
    // The agent runs on this thread: it sleeps, too.
    std::thread::sleep(10 * asleep_after);
    for frame in [
        request("non_blocking", "task", "run"),
        request("blocking", "tutti", "hold_lease"),
        cancel(),
        request("blocking", "ping", "ping"),
        request("blocking", "tutti", "release_lease"),
    ] {
        peer.ws.feed(frame).await.expect("an open connection");
    }
    peer.ws.flush().await.expect("an open connection");
    // It connects anew, so that the broker sends nothing more on the old connection.
    broker.accept().await;
    let (_, _, first) = agent.next_handled().await;
    assert!(matches!(first, PxpMessageBody::Cancel { .. }), "{first:?}");
    let (_, _, second) = agent.next_handled().await;
    let PxpMessageBody::BlockingRequest(second) = second else {
        panic!("{second:?}");
    };
    assert_eq!(second.action, "release_lease");
    assert!(agent.handled.try_recv().is_err());
}
