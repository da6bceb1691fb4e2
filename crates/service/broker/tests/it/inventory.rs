//! Inventory queries and updates (B30-B32, B43, B44).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, TestBroker, V1Message, World, message, text_of};

const REQUEST: &str = "http://puppetlabs.com/inventory_request";
const UPDATE: &str = "http://puppetlabs.com/inventory_update";

fn quick() -> TestBroker {
    World::shared().broker(|config| config.timeouts.inventory = Duration::from_millis(50))
}

async fn ask(client: &mut Client, data: Value) -> Value {
    let request = message(1, REQUEST, "pcp:///server", data);
    client.send(request.clone()).await;
    let answer = client.recv().await;
    assert_eq!(answer["in_reply_to"], request["id"]);
    answer
}

/// Receives updates until there are this many changes.
async fn changes(client: &mut Client, count: usize) -> Vec<(String, i64)> {
    let mut all = Vec::new();
    while all.len() < count {
        let update = client.recv().await;
        assert_eq!(update["message_type"], UPDATE, "{update}");
        assert_eq!(update["sender"], "pcp:///server");
        for change in update["data"]["changes"].as_array().unwrap() {
            let client = change["client"].as_str().unwrap().to_owned();
            all.push((client, change["change"].as_i64().unwrap()));
        }
    }
    all
}

#[tokio::test]
async fn b30_to_b32_bad_data_gives_one_line() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    for data in [
        json!({"query": "pcp://*/*"}),
        json!({"query": [1]}),
        json!({"query": ["no uri"]}),
        json!({}),
        json!(null),
        json!({"query": [], "more": 1}),
        json!({"query": [], "subscribe": "yes"}),
    ] {
        let answer = ask(&mut client, data.clone()).await;
        let text = text_of(&answer);
        assert!(
            text.starts_with("Invalid inventory request") && text.len() < 300,
            "{data}: {text}"
        );
    }
    client
        .send(json!({"id": "00000000-0000-4000-8000-000000000001", "message_type": REQUEST}))
        .await;
    assert!(text_of(&client.recv().await).starts_with("Invalid inventory request"));
}

#[tokio::test]
async fn explicit_wildcard_and_sorted() {
    let broker = World::shared().broker(|_| {});
    let mut a = Client::connect(&broker, "a.example").await;
    let _c = Client::connect(&broker, "c.example").await;
    let _b = Client::at(&broker, "b.example", "/pcp/").await;
    let _d = Client::at(&broker, "a.example", "/pcp2/other").await;
    for (query, expected) in [
        (
            json!(["pcp://*/agent"]),
            vec![
                "pcp://a.example/agent",
                "pcp://b.example/agent",
                "pcp://c.example/agent",
            ],
        ),
        (
            json!(["pcp://a.example/*"]),
            vec!["pcp://a.example/agent", "pcp://a.example/other"],
        ),
        (
            json!(["pcp://c.example/agent", "pcp://gone.example/agent"]),
            vec!["pcp://c.example/agent"],
        ),
        (
            json!(["pcp://c.example/agent", "pcp://c.example/agent"]),
            vec!["pcp://c.example/agent"],
        ),
        (json!(["pcp://*.example/agent"]), vec![]),
        (json!([]), vec![]),
    ] {
        let answer = ask(&mut a, json!({ "query": query })).await;
        assert_eq!(
            answer["message_type"],
            "http://puppetlabs.com/inventory_response"
        );
        assert_eq!(answer["data"], json!({ "uris": expected }), "{query}");
    }
}

#[tokio::test]
async fn v1_inventory_carries_in_reply_to() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::at(&broker, "a.example", "/pcp/").await;
    let envelope = V1Message::envelope(4, REQUEST, "pcp://a.example/agent", &["pcp:///server"]);
    client
        .send_binary(V1Message::write(
            &envelope,
            &[(2, br#"{"query":["pcp://*/*"]}"#)],
        ))
        .await;
    let answer = client.recv_v1().await;
    assert_eq!(answer.envelope["in-reply-to"], envelope["id"]);
    assert_eq!(
        answer.data,
        Some(json!({ "uris": ["pcp://a.example/agent"] }))
    );
}

#[tokio::test]
async fn b44_subscribers_are_told_in_order_and_flaps_are_kept() {
    let broker = quick();
    let mut watcher = Client::connect(&broker, "watch.example").await;
    let query = json!({ "query": ["pcp://*/agent"], "subscribe": true });
    ask(&mut watcher, query).await;
    let mut b = Client::connect(&broker, "b.example").await;
    let _other_type = Client::at(&broker, "b.example", "/pcp2/other").await;
    b.ws.close(None).await.unwrap();
    b.closed().await;
    let expected = ["pcp://b.example/agent"].map(|uri| [(uri.to_owned(), 1), (uri.to_owned(), -1)]);
    assert_eq!(changes(&mut watcher, 2).await, expected[0]);
}

#[tokio::test]
async fn b43_superseding_is_seen_as_gone_and_come() {
    let broker = quick();
    let mut watcher = Client::connect(&broker, "watch.example").await;
    let _old = Client::connect(&broker, "b.example").await;
    ask(
        &mut watcher,
        json!({ "query": ["pcp://b.example/agent"], "subscribe": true }),
    )
    .await;
    let _new = Client::connect(&broker, "b.example").await;
    let uri = "pcp://b.example/agent".to_owned();
    assert_eq!(
        changes(&mut watcher, 2).await,
        [(uri.clone(), -1), (uri, 1)]
    );
}

#[tokio::test]
async fn b44_asking_again_without_subscribe_ends_it() {
    let broker = quick();
    let mut watcher = Client::connect(&broker, "watch.example").await;
    let mut second = Client::connect(&broker, "second.example").await;
    let all = json!({ "query": ["pcp://*/agent"], "subscribe": true });
    ask(&mut watcher, all.clone()).await;
    ask(&mut second, all).await;
    ask(&mut watcher, json!({ "query": ["pcp://*/agent"] })).await;
    let _b = Client::connect(&broker, "b.example").await;
    // The second subscriber has its update, so the first one would have, too.
    changes(&mut second, 1).await;
    watcher.expect_silence().await;
}

#[tokio::test]
async fn b44_a_successor_has_to_subscribe_again() {
    let broker = quick();
    let all = json!({ "query": ["pcp://*/agent"], "subscribe": true });
    let mut old = Client::connect(&broker, "watch.example").await;
    let mut second = Client::connect(&broker, "second.example").await;
    ask(&mut old, all.clone()).await;
    ask(&mut second, all).await;
    let mut new = Client::connect(&broker, "watch.example").await;
    let _b = Client::connect(&broker, "b.example").await;
    changes(&mut second, 3).await;
    new.expect_silence().await;
}

#[tokio::test]
async fn a_storm_reaches_a_subscriber_whole() {
    let broker = quick();
    let mut watcher = Client::connect(&broker, "watch.example").await;
    ask(
        &mut watcher,
        json!({ "query": ["pcp://*/*"], "subscribe": true }),
    )
    .await;
    let world = broker.world.clone();
    // Some five sessions of each name, since one name may not have many.
    for index in 0..30 {
        let tls = world.client_tls(&world.identity(&format!("many{}.example", index % 6)));
        let path = format!("/pcp2/t{index}");
        drop(Client::over(broker.addr(), tls, &path, &[]).await.unwrap());
    }
    let all = changes(&mut watcher, 60).await;
    for index in 0..30 {
        let uri = format!("pcp://many{}.example/t{index}", index % 6);
        let of_one: Vec<i64> = all
            .iter()
            .filter(|(u, _)| *u == uri)
            .map(|(_, c)| *c)
            .collect();
        assert_eq!(of_one, [1, -1], "{uri}");
    }
}
