//! Recorded conversations with a pxp-agent, replayed against this agent: the same answers in the
//! same order.
//!
//! `crates/wire/pxp/tests/exchanges/sequences.json` has the steps. `$T` and `$U` stand for
//! transaction ids, `$M` for the id of the request message.

use pcp::MessageId;
use pxp::{PxpMessageBody, TransactionId};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::fake::{Node, orchestrator, until};

const SEQUENCES: &str = include_str!("../../../../wire/pxp/tests/exchanges/sequences.json");

/// Keys that this agent adds to the results of a stock agent.
const ADDED_KEYS: [&str; 1] = ["spool_id"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    what: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    from: Side,
    #[serde(rename = "type")]
    message_type: String,
    data: Value,
    /// Sent when the agent has finished the transaction and knows it from its spool only.
    #[serde(default)]
    after_end: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Side {
    Controller,
    Agent,
}

/// Removes this agent's additions: keys, and the cause after the usual text of an error.
fn as_recorded(mut data: Value, recorded: &Value) -> Value {
    let usual = recorded["description"].as_str();
    let told = data["description"].as_str();
    let cause = usual
        .zip(told)
        .and_then(|(usual, told)| told.strip_prefix(usual));
    if cause.is_some_and(|cause| cause.starts_with(": ")) {
        data["description"] = recorded["description"].clone();
    }
    if let Some(results) = data.get_mut("results").and_then(Value::as_object_mut) {
        results.retain(|key, _| !ADDED_KEYS.contains(&key.as_str()));
    }
    data
}

/// Waits until the agent has finished a transaction whose outcome was sent.
async fn forget_the_turn(node: &Node, id: &TransactionId) {
    let transaction_id = id.clone();
    let acknowledgement = PxpMessageBody::OutcomeAck { transaction_id };
    let message_id = MessageId::random();
    node.engine
        .handle(orchestrator(), message_id, acknowledgement);
    until(
        "the acknowledgement is recorded, the last step of all",
        || {
            let record = std::fs::read_to_string(node.entry(id).join("metadata"));
            record.is_ok_and(|record| record.contains("\"acknowledged\":true"))
        },
    )
    .await;
}

async fn replay(node: &Node, sequence: &Sequence) {
    let what = &sequence.what;
    let (first, second) = (TransactionId::random(), TransactionId::random());
    let mut asked = MessageId::random();
    for (number, step) in sequence.steps.iter().enumerate() {
        let filled = |asked: &MessageId| -> Value {
            let text = step.data.to_string();
            let text = text.replace("$T", first.as_str());
            let text = text.replace("$U", second.as_str());
            serde_json::from_str(&text.replace("$M", asked.as_str())).unwrap()
        };
        let message_type = format!("http://puppetlabs.com/{}", step.message_type);
        if step.from == Side::Controller {
            if step.after_end {
                forget_the_turn(node, &first).await;
            }
            asked = MessageId::random();
            let data = to_raw_value(&filled(&asked)).unwrap();
            let body = PxpMessageBody::decode(&message_type, Some(&data)).unwrap();
            node.engine.handle(orchestrator(), asked, body);
        } else {
            let answer = node.broker.next().await;
            assert_eq!(answer.message_type(), message_type, "{what}, step {number}");
            let data: Value = serde_json::from_str(answer.encode().get()).unwrap();
            let recorded = filled(&asked);
            let data = as_recorded(data, &recorded);
            assert_eq!(data, recorded, "{what}, step {number}");
        }
    }
    assert!(node.broker.already().await.is_none(), "{what}: one more");
}

#[tokio::test]
async fn a_stock_controller_is_answered_as_by_a_stock_agent() {
    let node = Node::start().await;
    let sequences: Vec<Sequence> = serde_json::from_str(SEQUENCES).unwrap();
    assert!(!sequences.is_empty());
    for sequence in &sequences {
        replay(&node, sequence).await;
    }
}
