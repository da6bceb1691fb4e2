//! Messages of a pxp-agent 1.15.25 and of a pcp-broker 1.8.0, as stored in `tests/exchanges`.
//!
//! The programs themselves are not available to the tests. The files hold messages in the form in
//! which both programs were observed to send them: order of keys, times, error texts, and data
//! chunks byte for byte.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

use pcp::PcpMessage;
use pcp::types::{
    ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, ERROR_MESSAGE, INVENTORY_RESPONSE, INVENTORY_UPDATE,
    InventoryResponse, InventoryUpdate,
};
use pxp::PxpMessageBody;
use pxp::action::{self, ActionResult, StatusResult};
use serde::Deserialize;

const AGENT: &str = include_str!("../exchanges/pxp-agent-1.15.25.json");
const BROKER: &str = include_str!("../exchanges/pcp-broker-1.8.0.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    what: String,
    version: u8,
    /// PCP 1: the frame, in hexadecimal.
    hex: Option<String>,
    /// PCP 2: the text of the frame.
    text: Option<String>,
    #[serde(rename = "type")]
    message_type: String,
    exitcode: Option<i64>,
    status: Option<String>,
    words: Option<String>,
    pcp_words: Option<String>,
    #[serde(default)]
    replaced: bool,
}

impl Exchange {
    fn decode(&self) -> PcpMessage {
        match self.version {
            1 => {
                let hex = self.hex.as_deref().unwrap();
                let bytes: Vec<u8> = (0..hex.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                    .collect();
                let frame = pcp::v1::decode(&bytes).unwrap();
                pcp::v1::to_message(&frame).unwrap()
            }
            _ => {
                let text = self.text.as_deref().unwrap();
                pcp::v2::decode(text).unwrap().to_message()
            }
        }
    }

    fn check(&self) {
        let what = &self.what;
        let message = self.decode();
        assert_eq!(message.message_type, self.message_type, "{what}");
        assert_eq!(message.has_replaced_bytes, self.replaced, "{what}");
        let data = message.data.as_deref();
        match message.message_type.as_str() {
            ASSOCIATE_REQUEST => assert!(data.is_none(), "{what}"),
            ASSOCIATE_RESPONSE => assert!(data.unwrap().get().contains("success"), "{what}"),
            ERROR_MESSAGE => {
                let words: String = serde_json::from_str(data.unwrap().get()).unwrap();
                assert_eq!(Some(words), self.pcp_words, "{what}");
            }
            INVENTORY_RESPONSE => {
                let inventory: InventoryResponse = pcp::types::decode(data).unwrap();
                assert!(inventory.uris.is_sorted(), "{what}");
            }
            INVENTORY_UPDATE => {
                let update: InventoryUpdate = pcp::types::decode(data).unwrap();
                assert_eq!(update.changes.len(), 2, "{what}");
            }
            _ if data.is_none_or(|data| data.get() == "null") => {}
            _ => self.check_body(&message),
        }
    }

    fn check_body(&self, message: &PcpMessage) {
        let what = &self.what;
        let data = message.data.as_deref();
        match PxpMessageBody::decode(&message.message_type, data).unwrap() {
            PxpMessageBody::Error(error) => {
                assert_eq!(Some(error.description), self.words, "{what}")
            }
            PxpMessageBody::NonBlockingResponse(response) => {
                let result: ActionResult = action::decode(&response.results).unwrap();
                assert_eq!(Some(result.exitcode), self.exitcode, "{what}");
            }
            PxpMessageBody::BlockingResponse(response) => {
                let Some(expected) = &self.status else { return };
                let status: StatusResult = action::decode(&response.results).unwrap();
                let told = serde_json::to_value(status.status).unwrap();
                assert_eq!(told, expected.as_str(), "{what}");
            }
            PxpMessageBody::ProvisionalResponse { .. } => {}
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn every_message_of_a_stock_agent_is_understood() {
    let exchanges: Vec<Exchange> = serde_json::from_str(AGENT).unwrap();
    assert!(!exchanges.is_empty());
    exchanges.iter().for_each(Exchange::check);
}

#[test]
fn every_message_of_a_stock_broker_is_understood() {
    let exchanges: Vec<Exchange> = serde_json::from_str(BROKER).unwrap();
    assert!(!exchanges.is_empty());
    exchanges.iter().for_each(Exchange::check);
}
