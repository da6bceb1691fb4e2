//! Tests of presence and of the delivery of messages.

use fabric::{Fabric, FabricSendError, PresenceChange};
use pcp::PcpMessage;

use crate::{engine, recorder, uri};

fn request(target: &str) -> PcpMessage {
    PcpMessage::new("test/x", None).to(uri(target))
}

#[tokio::test]
async fn a_message_goes_to_the_broker_that_spoke_last() {
    let (fabric, _inbox) = Fabric::new(engine());
    let (first, second) = (recorder(), recorder());
    let one = fabric.attach_broker(uri("pcp://b1/server"), first.clone());
    let two = fabric.attach_broker(uri("pcp://b2/server"), second.clone());
    one.add_node("n".parse().unwrap(), None);
    two.add_node("n".parse().unwrap(), None);
    // The end of the first session is reported late and must not remove the newer one.
    one.remove_node(&"n".parse().unwrap());
    fabric.send(request("pcp://n/agent")).await.unwrap();
    assert_eq!(first.delivered.lock().unwrap().len(), 0);
    assert_eq!(second.delivered.lock().unwrap().len(), 1);
    assert_eq!(
        fabric.presence(&"n".parse().unwrap()).unwrap().broker,
        uri("pcp://b2/server")
    );
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let (fabric, _inbox) = Fabric::new(engine());
    let absent = FabricSendError::NotConnected("n".parse().unwrap());
    assert_eq!(fabric.send(request("pcp://n/agent")).await, Err(absent));
    let no_target = fabric.send(PcpMessage::new("test/x", None)).await;
    assert!(matches!(no_target, Err(FabricSendError::BadTarget(_))));
    let wildcard = fabric.send(request("pcp://*/agent")).await;
    assert!(matches!(wildcard, Err(FabricSendError::BadTarget(_))));
}

#[tokio::test]
async fn a_broker_that_goes_takes_its_nodes_along() {
    let (fabric, _inbox) = Fabric::new(engine());
    let mut events = fabric.watch_presence();
    let stays = fabric.attach_broker(uri("pcp://b1/server"), recorder());
    let goes = fabric.attach_broker(uri("pcp://b2/server"), recorder());
    stays.add_node("a".parse().unwrap(), None);
    goes.add_node("b".parse().unwrap(), None);
    drop(goes);
    let names: Vec<_> = fabric
        .connected_nodes()
        .into_iter()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(names, ["a"]);
    for expected in ["a", "b"] {
        let change = events.next().await;
        assert!(
            matches!(&change, Ok(Some(PresenceChange::Connected(name, _))) if name.as_str() == expected),
            "{change:?}"
        );
    }
    let gone = PresenceChange::Disconnected("b".parse().unwrap());
    assert_eq!(events.next().await, Ok(Some(gone)));
}

#[tokio::test]
async fn a_full_inbox_gives_the_message_back() {
    let (fabric, mut inbox) = Fabric::new(engine());
    let port = fabric.attach_broker(uri("pcp://b1/server"), recorder());
    for _ in 0..fabric::defaults::INBOX_MESSAGES {
        port.try_send_to_engine("n".parse().unwrap(), request("pcp://orch.example/server"))
            .unwrap();
    }
    let one_more = request("pcp://orch.example/server");
    let back = port
        .try_send_to_engine("n".parse().unwrap(), one_more.clone())
        .unwrap_err();
    assert_eq!(*back, one_more);
    inbox.recv().await.unwrap();
    port.try_send_to_engine("n".parse().unwrap(), *back)
        .unwrap();
    drop(inbox);
    assert!(
        !port.send_to_engine("n".parse().unwrap(), one_more).await,
        "the engine is gone"
    );
}

/// A result with this number of bytes of data.
fn large(bytes: usize) -> PcpMessage {
    let text = format!("\"{}\"", "x".repeat(bytes - 2));
    let data = serde_json::value::RawValue::from_string(text).unwrap();
    PcpMessage::new("test/x", Some(data)).to(engine())
}

#[tokio::test]
async fn an_inbox_full_of_bytes_gives_the_message_back_until_one_is_taken() {
    let (fabric, mut inbox) = Fabric::new(engine());
    let port = fabric.attach_broker(uri("pcp://b1/server"), recorder());
    let name = || "n".parse().unwrap();
    let quarter = large(fabric::defaults::INBOX_BYTES / 4);
    // With the cost of messages in addition to their data, three of four fit.
    for _ in 0..3 {
        port.try_send_to_engine(name(), quarter.clone()).unwrap();
    }
    let back = port.try_send_to_engine(name(), quarter).unwrap_err();
    // Small messages are not delayed by that.
    port.try_send_to_engine(name(), request("pcp://orch.example/server"))
        .unwrap();
    let mut waiting = Box::pin(port.send_to_engine(name(), *back));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    inbox.recv().await.unwrap();
    assert!(waiting.await, "the room of the message that was taken");
}

#[tokio::test]
async fn a_message_larger_than_the_whole_inbox_passes_alone() {
    let (fabric, mut inbox) = Fabric::new(engine());
    let port = fabric.attach_broker(uri("pcp://b1/server"), recorder());
    let name = || "n".parse().unwrap();
    let small = || request("pcp://orch.example/server");
    let huge = large(fabric::defaults::INBOX_BYTES + 1);
    port.try_send_to_engine(name(), small()).unwrap();
    let back = port.try_send_to_engine(name(), huge).unwrap_err();
    inbox.try_recv().unwrap();
    port.try_send_to_engine(name(), *back).unwrap();
    // The inbox is full now; a waiting sender fails when the engine is dropped.
    let mut waiting = Box::pin(port.send_to_engine(name(), small()));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    drop(inbox);
    assert!(!waiting.await, "the engine is gone");
}

#[tokio::test]
async fn every_broker_that_holds_a_session_is_named_as_long_as_it_is_attached() {
    let (fabric, _inbox) = Fabric::new(engine());
    let (first, second) = (recorder(), recorder());
    let one = fabric.attach_broker(uri("pcp://b1/server"), first.clone());
    let two = fabric.attach_broker(uri("pcp://b2/server"), second.clone());
    let node = "n".parse().unwrap();
    assert_eq!(fabric.brokers().len(), 2);
    assert!(fabric.brokers_with_session(&node).is_empty());
    // The table has the newest session only.
    for (port, broker) in [(&one, &first), (&two, &second)] {
        broker.sessions.lock().unwrap().insert("n".parse().unwrap());
        port.add_node("n".parse().unwrap(), None);
    }
    two.remove_node(&node);
    second.sessions.lock().unwrap().remove(&node);
    assert!(fabric.presence(&node).is_none());
    assert_eq!(fabric.brokers_with_session(&node), [uri("pcp://b1/server")]);
    drop(one);
    assert!(fabric.brokers_with_session(&node).is_empty());
    assert_eq!(fabric.brokers(), [uri("pcp://b2/server")]);
}
