//! Unreadable and refused messages: they are answered, and the connection stays open (B12-B28).

use serde_json::{Value, json};

use crate::support::{Client, World, message, text_of};

const DECODE: &str = "Could not decode message";

/// Sends `text` and returns the error text; the client must be served afterwards.
async fn error_for(text: String) -> (Value, String) {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    client.send_text(text).await;
    let answer = client.recv().await;
    let text = text_of(&answer).to_owned();
    client.expect_alive().await;
    (answer, text)
}

async fn undecodable(text: impl Into<String>) {
    let (answer, text) = error_for(text.into()).await;
    assert!(text.starts_with(DECODE), "{text}");
    assert!(answer.get("in_reply_to").is_none());
    assert!(text.len() < 300, "no dump: {text}");
}

#[tokio::test]
async fn b12_not_json_is_answered_and_does_not_close() {
    undecodable("{ not json").await;
    undecodable("").await;
}

#[tokio::test]
async fn b13_not_an_object() {
    undecodable("[1,2,3]").await;
    undecodable("\"text\"").await;
}

#[tokio::test]
async fn b14_unknown_key() {
    let mut unknown = message(1, "test/x", "pcp:///server", json!(1));
    unknown["colour"] = json!("red");
    undecodable(unknown.to_string()).await;
}

#[tokio::test]
async fn b15_id_is_no_uuid() {
    undecodable(r#"{"id":"1","message_type":"test/x"}"#).await;
}

#[tokio::test]
async fn b16_an_upper_case_id_is_kept() {
    let mut sent = message(1, "test/x", "pcp://nobody.example/agent", json!(1));
    sent["id"] = json!("ABCDEF00-0000-4000-8000-00000000000A");
    let (answer, _) = error_for(sent.to_string()).await;
    assert_eq!(answer["in_reply_to"], sent["id"]);
}

#[tokio::test]
async fn b17_binary_on_v2() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    client.send_binary(b"{}".to_vec()).await;
    assert!(text_of(&client.recv().await).starts_with(DECODE));
    client.expect_alive().await;
}

/// Sends these frames and the text over v1, and expects a decoding error for each.
async fn v1_error(frames: Vec<Vec<u8>>, text: Option<&str>) {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::at(&broker, "a.example", "/pcp/").await;
    for frame in &frames {
        client.send_binary(frame.clone()).await;
    }
    if let Some(text) = text {
        client.send_text(text).await;
    }
    for _ in 0..frames.len() + usize::from(text.is_some()) {
        let answer = client.recv_v1().await;
        assert_eq!(
            answer.envelope["message_type"],
            "http://puppetlabs.com/error_message"
        );
        assert_eq!(answer.envelope["sender"], "pcp:///server");
        assert_eq!(answer.envelope["targets"], json!([]));
        assert_eq!(answer.envelope["expires"], "1970-01-01T00:00:00.000Z");
        let data = answer.data.expect("data");
        assert!(
            data["description"].as_str().unwrap().starts_with(DECODE),
            "{data}"
        );
    }
}

#[tokio::test]
async fn b18_text_on_v1_is_answered_and_does_not_close() {
    v1_error(vec![], Some("{}")).await;
}

#[tokio::test]
async fn b19_zero_bytes_on_v1() {
    v1_error(vec![vec![0; 250]], None).await;
}

#[tokio::test]
async fn b20_unknown_version_byte() {
    v1_error(
        vec![vec![2, 1, 0, 0, 0, 2, b'{', b'}'], vec![], vec![1]],
        None,
    )
    .await;
}

#[tokio::test]
async fn b21_foreign_sender() {
    let mut sent = message(1, "test/x", "pcp://a.example/agent", json!(1));
    sent["sender"] = json!("pcp://b.example/agent");
    let (answer, text) = error_for(sent.to_string()).await;
    assert_eq!(text, "Message not authenticated.");
    assert_eq!(answer["in_reply_to"], sent["id"]);
}

#[tokio::test]
async fn b22_own_name_with_another_type_is_refused_too() {
    let mut sent = message(1, "test/x", "pcp://a.example/agent", json!(1));
    // Other brokers compare the common name only and deliver this.
    sent["sender"] = json!("pcp://a.example/zzz");
    assert_eq!(
        error_for(sent.to_string()).await.1,
        "Message not authenticated."
    );
}

#[tokio::test]
async fn b25_wildcard() {
    for target in ["pcp://*/agent", "pcp://a.example/*", "pcp://*/*"] {
        let sent = message(1, "test/x", target, json!(1));
        let (_, text) = error_for(sent.to_string()).await;
        assert_eq!(text, "Multiple recipients no longer supported.");
    }
}

#[tokio::test]
async fn b26_target_is_no_uri() {
    undecodable(message(1, "test/x", "http://a.example/agent", json!(1)).to_string()).await;
    undecodable(message(1, "test/x", "pcp://a.example", json!(1)).to_string()).await;
}

#[tokio::test]
async fn b27_blank_in_the_type() {
    for bad in ["test x", "test\u{0}x", "test\nx"] {
        let sent = message(1, bad, "pcp://a.example/agent", json!(1));
        assert_eq!(
            error_for(sent.to_string()).await.1,
            "Message not authorized.",
            "{bad:?}"
        );
    }
}

#[tokio::test]
async fn b28_blank_in_the_target() {
    let sent = message(1, "test/x", "pcp://a b/agent", json!(1));
    assert_eq!(
        error_for(sent.to_string()).await.1,
        "Message not authorized."
    );
}

#[tokio::test]
async fn duplicate_keys_and_deep_nesting_are_refused() {
    undecodable(format!(
        r#"{{"id":"{0}","id":"{0}","message_type":"test/x"}}"#,
        "00000000-0000-4000-8000-000000000001"
    ))
    .await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    undecodable(format!(
        r#"{{"id":"00000000-0000-4000-8000-000000000001","message_type":"t","data":{deep}}}"#
    ))
    .await;
}
