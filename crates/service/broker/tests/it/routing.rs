//! From client to client (B23, B24, B29, B37-B42), and back-pressure between them.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, World, guard, message, text_of};

#[tokio::test]
async fn b23_to_itself() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let sent = message(
        1,
        "test/self",
        "pcp://a.example/agent",
        json!({"k": [1, null, false]}),
    );
    client.send(sent.clone()).await;
    let heard = client.recv().await;
    assert_eq!(heard["id"], sent["id"]);
    assert_eq!(heard["data"], sent["data"]);
    assert_eq!(heard["sender"], "pcp://a.example/agent");
    assert_eq!(heard["target"], "pcp://a.example/agent");
}

#[tokio::test]
async fn b24_not_connected() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let sent = message(1, "test/x", "pcp://nobody.example/agent", json!(1));
    client.send(sent.clone()).await;
    let answer = client.recv().await;
    assert_eq!(text_of(&answer), "Not connected.");
    assert_eq!(answer["in_reply_to"], sent["id"]);
}

#[tokio::test]
async fn b24_nothing_is_delivered_later() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    client
        .send(message(1, "test/x", "pcp://b.example/agent", json!(1)))
        .await;
    assert_eq!(text_of(&client.recv().await), "Not connected.");
    Client::connect(&broker, "b.example")
        .await
        .expect_silence()
        .await;
}

#[tokio::test]
async fn b29_an_unknown_server_message_is_not_answered() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    client
        .send(message(1, "test/unknown", "pcp:///server", json!(1)))
        .await;
    client.expect_silence().await;
    let without_target = json!({"id": "00000000-0000-4000-8000-000000000001", "message_type": "t"});
    client.send(without_target).await;
    client.expect_silence().await;
}

#[tokio::test]
async fn sender_and_target_are_filled_in_and_replies_keep_their_reference() {
    let broker = World::shared().broker(|_| {});
    let mut a = Client::connect(&broker, "a.example").await;
    let mut b = Client::connect(&broker, "b.example").await;
    let mut sent = message(1, "test/x", "pcp://b.example/agent", json!("hello"));
    sent["in_reply_to"] = json!("00000000-0000-4000-8000-00000000beef");
    a.send(sent.clone()).await;
    let heard = b.recv().await;
    assert_eq!(heard["sender"], "pcp://a.example/agent");
    assert_eq!(heard["in_reply_to"], sent["in_reply_to"]);
}

#[tokio::test]
async fn numbers_and_strings_pass_unchanged() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let data = r#"{"b":123456789012345678901234567890,"a":1.10,"c":"\u00e9\ud83d\ude00"}"#;
    client
        .send_text(format!(
            r#"{{"id":"00000000-0000-4000-8000-000000000001","message_type":"t","target":"pcp://a.example/agent","data":{data}}}"#
        ))
        .await;
    match client.next().await {
        Some(Ok(Message::Text(text))) => assert!(text.contains(data), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_fragmented_message_arrives_whole_and_pings_are_answered() {
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let text = message(1, "test/x", "pcp://a.example/agent", json!("äöü".repeat(9))).to_string();
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(7).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let code = if index == 0 {
            Data::Text
        } else {
            Data::Continue
        };
        let last = index + 1 == pieces.len();
        let frame = Frame::message(piece.to_vec(), OpCode::Data(code), last);
        client.ws.send(Message::Frame(frame)).await.unwrap();
        if index == 1 {
            client
                .ws
                .send(Message::Ping(b"between"[..].into()))
                .await
                .unwrap();
        }
    }
    match client.next().await {
        Some(Ok(Message::Pong(payload))) => assert_eq!(&payload[..], b"between"),
        other => panic!("{other:?}"),
    }
    assert_eq!(client.recv().await["data"], "äöü".repeat(9));
}

/// Sends `count` messages to `target` while it receives as many.
async fn exchange(client: Client, target: &str, count: u32) {
    let (mut sink, mut stream) = client.ws.split();
    let sending = async {
        for id in 0..count {
            let text = message(id, "test/x", target, json!("x".repeat(500))).to_string();
            sink.send(Message::text(text)).await.unwrap();
        }
    };
    let receiving = async {
        let mut heard = 0;
        while heard < count {
            match stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    assert!(text.contains("test/x"), "{text}");
                    heard += 1;
                }
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::join!(sending, receiving);
}

#[tokio::test]
async fn two_clients_that_flood_each_other_lose_nothing() {
    let broker = World::shared().broker(|config| config.limits.outbox_bytes = 16 * 1024);
    let a = Client::connect(&broker, "a.example").await;
    let b = Client::connect(&broker, "b.example").await;
    guard(async {
        tokio::join!(
            exchange(a, "pcp://b.example/agent", 3_000),
            exchange(b, "pcp://a.example/agent", 3_000)
        )
    })
    .await;
}

#[tokio::test]
async fn a_reader_that_stops_blocks_nobody_else_and_its_sender_is_told() {
    let broker = World::shared().broker(|config| {
        config.limits.outbox_bytes = 64 * 1024;
        config.timeouts.delivery = Duration::from_millis(50);
    });
    // Connected, and never read from again.
    let _stuck = Client::connect(&broker, "stuck.example").await;
    let mut flooder = Client::connect(&broker, "flood.example").await;
    let mut a = Client::connect(&broker, "a.example").await;
    // More than the kernel's buffers and the queue take.
    let big = json!("x".repeat(1 << 20));
    let told = async {
        for id in 0..64 {
            flooder
                .send(message(
                    id,
                    "test/x",
                    "pcp://stuck.example/agent",
                    big.clone(),
                ))
                .await;
        }
        flooder.recv().await
    };
    let (told, ()) = tokio::join!(told, async {
        for _ in 0..50 {
            a.expect_alive().await;
        }
    });
    assert_eq!(
        text_of(&told),
        "pcp://stuck.example/agent does not take messages fast enough."
    );
}

#[tokio::test]
async fn two_hundred_clients_at_once() {
    let broker = World::shared().broker(|_| {});
    let world = broker.world.clone();
    // Five sessions of each name, since one name may not have many.
    let names: Vec<_> = (0..40)
        .map(|index| format!("many{index}.example"))
        .collect();
    let tls: Vec<_> = names
        .iter()
        .map(|name| world.client_tls(&world.identity(name)))
        .collect();
    let addr = broker.addr();
    let clients = (0..200).map(|index| {
        let tls = std::sync::Arc::clone(&tls[index % 40]);
        let name = &names[index % 40];
        async move {
            let path = format!("/pcp2/t{index}");
            let mut client = Client::over(addr, tls, &path, &[]).await.unwrap();
            client.uri = format!("pcp://{name}/t{index}");
            client.expect_alive().await;
            client
        }
    });
    let clients = futures_util::future::join_all(clients).await;
    assert_eq!(broker.handle.connections(), 200);
    drop(clients);
}
