//! Conversations of a controller and a pxp-agent, through this broker: every step arrives as it was sent, also between
//! the two versions of PCP. `crates/wire/pxp/tests/exchanges/sequences.json` has the steps.

use serde_json::Value;

use crate::support::{Client, TestBroker, V1Message, World, message};

const SEQUENCES: &str = include_str!("../../../../wire/pxp/tests/exchanges/sequences.json");

const CONTROLLER: &str = "pcp://a.example/agent";
const AGENT: &str = "pcp://b.example/agent";

/// A client of one of the versions.
struct End {
    client: Client,
    is_v1: bool,
}

impl End {
    async fn connect(broker: &TestBroker, certname: &str, path: &str) -> Self {
        Self {
            client: Client::at(broker, certname, path).await,
            is_v1: path == "/pcp/",
        }
    }

    async fn send(&mut self, id: u32, message_type: &str, ends: [&str; 2], data: &Value) {
        let [sender, target] = ends;
        if self.is_v1 {
            let envelope = V1Message::envelope(id, message_type, sender, &[target]);
            let data = data.to_string();
            let frame = V1Message::write(&envelope, &[(2, data.as_bytes())]);
            return self.client.send_binary(frame).await;
        }
        let sent = message(id, message_type, target, data.clone());
        self.client.send(sent).await;
    }

    /// Type, sender and data of the next message.
    async fn hear(&mut self) -> (Value, Value, Value) {
        if self.is_v1 {
            let V1Message { envelope, data } = self.client.recv_v1().await;
            let [message_type, sender] =
                ["message_type", "sender"].map(|key| envelope[key].clone());
            return (message_type, sender, data.unwrap());
        }
        let heard = self.client.recv().await;
        let [message_type, sender, data] =
            ["message_type", "sender", "data"].map(|key| heard[key].clone());
        (message_type, sender, data)
    }
}

#[tokio::test]
async fn a_recorded_conversation_passes_in_both_versions() {
    let sequences: Vec<Value> = serde_json::from_str(SEQUENCES).unwrap();
    let steps = sequences
        .iter()
        .flat_map(|it| it["steps"].as_array().unwrap());
    let steps: Vec<&Value> = steps.collect();
    assert!(!steps.is_empty());
    let broker = World::shared().broker(|_| {});
    for paths in [
        ["/pcp2/", "/pcp2/"],
        ["/pcp2/", "/pcp/"],
        ["/pcp/", "/pcp2/"],
        ["/pcp/", "/pcp/"],
    ] {
        let mut controller = End::connect(&broker, "a.example", paths[0]).await;
        let mut agent = End::connect(&broker, "b.example", paths[1]).await;
        for (id, step) in (1..).zip(&steps) {
            let message_type = format!("http://puppetlabs.com/{}", step["type"].as_str().unwrap());
            let (from, to, ends) = match step["from"].as_str().unwrap() {
                "controller" => (&mut controller, &mut agent, [CONTROLLER, AGENT]),
                _ => (&mut agent, &mut controller, [AGENT, CONTROLLER]),
            };
            let data = &step["data"];
            from.send(id, &message_type, ends, data).await;
            let heard = to.hear().await;
            let expected = (message_type.into(), ends[0].into(), data.clone());
            assert_eq!(heard, expected, "{paths:?}");
        }
    }
}
