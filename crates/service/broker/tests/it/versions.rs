//! PCP 1, and clients of both versions together (B37-B42).

use serde_json::{Value, json};

use crate::support::{Client, TestBroker, V1Message, World, id_text, message};

const A: &str = "pcp://a.example/agent";
const B: &str = "pcp://b.example/agent";

async fn pair(broker: &TestBroker, a: &str, b: &str) -> (Client, Client) {
    let a = Client::at(broker, "a.example", a).await;
    (a, Client::at(broker, "b.example", b).await)
}

async fn v1_error(envelope: Value, chunks: &[(u8, &[u8])]) -> Value {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::at(&broker, "a.example", "/pcp/").await;
    client
        .send_binary(V1Message::write(&envelope, chunks))
        .await;
    let answer = client.recv_v1().await;
    assert_eq!(
        answer.envelope["message_type"],
        "http://puppetlabs.com/error_message"
    );
    // The connection stays open.
    let own = V1Message::envelope(2, "test/x", A, &[A]);
    client
        .send_binary(V1Message::write(&own, &[(2, b"1")]))
        .await;
    assert_eq!(client.recv_v1().await.envelope["message_type"], "test/x");
    answer.data.expect("data")
}

#[tokio::test]
async fn b37_an_expired_message_is_delivered() {
    let broker = World::shared().broker(|_| {});
    let (mut a, mut b) = pair(&broker, "/pcp/", "/pcp/").await;
    let mut envelope = V1Message::envelope(1, "test/x", A, &[B]);
    envelope["expires"] = json!("2001-01-01T00:00:00Z");
    a.send_binary(V1Message::write(&envelope, &[(2, b"1")]))
        .await;
    let heard = b.recv_v1().await;
    assert_eq!(heard.envelope["expires"], "1970-01-01T00:00:00.000Z");
}

#[tokio::test]
async fn b38_debug_chunks_are_dropped() {
    let broker = World::shared().broker(|_| {});
    let (mut a, mut b) = pair(&broker, "/pcp/", "/pcp/").await;
    let envelope = V1Message::envelope(1, "test/x", A, &[B]);
    a.send_binary(V1Message::write(
        &envelope,
        &[(2, b"[1]"), (3, b"{\"hops\":[]}")],
    ))
    .await;
    // `read` refuses any chunk but envelope and data.
    assert_eq!(b.recv_v1().await.data, Some(json!([1])));
}

#[tokio::test]
async fn b39_two_targets() {
    let data = v1_error(V1Message::envelope(1, "test/x", A, &[A, B]), &[]).await;
    assert_eq!(
        data["description"],
        "Multiple recipients no longer supported."
    );
    assert_eq!(data["id"], id_text(1));
}

#[tokio::test]
async fn b40_destination_report_is_ignored() {
    let broker = World::shared().broker(|_| {});
    let (mut a, mut b) = pair(&broker, "/pcp/", "/pcp/").await;
    let mut envelope = V1Message::envelope(1, "test/x", A, &[B]);
    envelope["destination_report"] = json!(true);
    a.send_binary(V1Message::write(&envelope, &[(2, b"1")]))
        .await;
    assert_eq!(b.recv_v1().await.data, Some(json!(1)));
    let own = V1Message::envelope(2, "test/own", A, &[A]);
    a.send_binary(V1Message::write(&own, &[(2, b"1")])).await;
    assert_eq!(
        a.recv_v1().await.envelope["message_type"],
        "test/own",
        "no report came before"
    );
}

#[tokio::test]
async fn b41_expires_is_required() {
    let mut envelope = V1Message::envelope(1, "test/x", A, &[A]);
    envelope.as_object_mut().unwrap().remove("expires");
    let data = v1_error(envelope, &[]).await;
    let text = data["description"].as_str().unwrap();
    assert!(
        text.starts_with("Could not decode message") && text.contains("expires"),
        "{text}"
    );
}

#[tokio::test]
async fn data_that_is_not_json_is_answered_and_does_not_close() {
    let data = v1_error(
        V1Message::envelope(1, "test/x", A, &[A]),
        &[(2, b"\xff\xfe{")],
    )
    .await;
    assert!(
        data["description"]
            .as_str()
            .unwrap()
            .starts_with("Could not decode message")
    );
}

#[tokio::test]
async fn b42_v1_to_v2() {
    let broker = World::shared().broker(|_| {});
    let (mut a, mut b) = pair(&broker, "/pcp/", "/pcp2/").await;
    // Other brokers lose `false` and `null`.
    for data in ["{\"k\":1}", "false", "null", "\"text\""] {
        let envelope = V1Message::envelope(1, "test/x", A, &[B]);
        a.send_binary(V1Message::write(&envelope, &[(2, data.as_bytes())]))
            .await;
        let heard = b.recv().await;
        let expected: Value = serde_json::from_str(data).unwrap();
        assert_eq!(heard["data"], expected);
        assert!(heard.as_object().unwrap().contains_key("data"), "{heard}");
        assert_eq!(heard["target"], B);
        assert_eq!(heard["sender"], A);
        assert!(heard.get("expires").is_none() && heard.get("targets").is_none());
    }
}

#[tokio::test]
async fn b42_v2_to_v1() {
    let broker = World::shared().broker(|_| {});
    let (mut a, mut b) = pair(&broker, "/pcp2/", "/pcp/").await;
    let mut sent = message(1, "test/x", B, json!(false));
    sent["in_reply_to"] = json!(id_text(9));
    a.send(sent.clone()).await;
    let heard = b.recv_v1().await;
    let expected = json!({
        "id": sent["id"], "message_type": "test/x", "sender": A, "targets": [B],
        "expires": "1970-01-01T00:00:00.000Z",
    });
    assert_eq!(heard.envelope, expected, "in_reply_to has no place in v1");
    assert_eq!(heard.data, Some(json!(false)));
}

#[tokio::test]
async fn b42_error_messages_change_their_form_both_ways() {
    const ERROR: &str = "http://puppetlabs.com/error_message";
    let broker = World::shared().broker(|_| {});
    let (mut a, mut b) = pair(&broker, "/pcp/", "/pcp2/").await;
    let body = json!({ "description": "no", "id": id_text(5) }).to_string();
    let envelope = V1Message::envelope(1, ERROR, A, &[B]);
    a.send_binary(V1Message::write(&envelope, &[(2, body.as_bytes())]))
        .await;
    let heard = b.recv().await;
    assert_eq!(
        (&heard["data"], &heard["in_reply_to"]),
        (&json!("no"), &json!(id_text(5)))
    );
    let mut back = message(2, ERROR, A, json!("no way"));
    back["in_reply_to"] = json!(id_text(6));
    b.send(back).await;
    let heard = a.recv_v1().await.data.unwrap();
    assert_eq!(heard, json!({ "description": "no way", "id": id_text(6) }));
}

#[tokio::test]
async fn a_broker_without_v2_serves_v1() {
    let broker = World::shared().broker(|config| config.paths.v2 = None);
    assert!(
        Client::try_at(&broker, "a.example", "/pcp2/")
            .await
            .is_err()
    );
    Client::at(&broker, "a.example", "/pcp/").await;
}
