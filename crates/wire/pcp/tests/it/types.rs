//! The data of the PCP layer's own messages.

use pcp::types::{
    AssociateResponse, InventoryChange, InventoryDirection, InventoryRequest, InventoryUpdate,
    MessageDataError, decode, encode,
};
use pcp::{MessageId, PcpUri};
use serde_json::value::RawValue;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("JSON")
}

#[test]
fn an_inventory_request_is_strict() {
    let good = raw(r#"{"query":["pcp://*/agent"],"subscribe":true}"#);
    let request: InventoryRequest = decode(Some(&good)).unwrap();
    assert!(request.query[0].is_wildcard());
    assert_eq!(request.subscribe, Some(true));
    assert_eq!(
        decode::<InventoryRequest>(None),
        Err(MessageDataError::Missing)
    );
    for bad in [
        "{}",
        "null",
        r#"{"query":"pcp://*/agent"}"#,
        r#"{"query":["x"]}"#,
        r#"{"query":[],"extra":1}"#,
        r#"{"query":[],"query":[]}"#,
        r#"{"query":[],"subscribe":"yes"}"#,
    ] {
        let error = decode::<InventoryRequest>(Some(&raw(bad))).unwrap_err();
        assert!(matches!(error, MessageDataError::Invalid(_)), "{bad}");
    }
}

#[test]
fn errors_are_one_short_line() {
    let bad = raw(&format!(
        r#"{{"query":[],"\n\u001b{}":1}}"#,
        "k".repeat(10_000)
    ));
    let error = decode::<InventoryRequest>(Some(&bad))
        .unwrap_err()
        .to_string();
    assert!(
        error.len() < 200 && !error.contains(char::is_control),
        "{error}"
    );
}

#[test]
fn changes_are_plus_and_minus_one() {
    let client: PcpUri = "pcp://a/agent".parse().unwrap();
    let change = |change| InventoryChange {
        client: client.clone(),
        change,
    };
    let update = InventoryUpdate {
        changes: vec![
            change(InventoryDirection::Connected),
            change(InventoryDirection::Disconnected),
        ],
    };
    let data = encode(&update);
    assert_eq!(
        data.get(),
        r#"{"changes":[{"client":"pcp://a/agent","change":1},{"client":"pcp://a/agent","change":-1}]}"#
    );
    assert_eq!(decode::<InventoryUpdate>(Some(&data)), Ok(update));
    let bad = raw(r#"{"changes":[{"client":"pcp://a/agent","change":0}]}"#);
    assert!(decode::<InventoryUpdate>(Some(&bad)).is_err());
}

#[test]
fn absent_keys_are_not_written() {
    let id: MessageId = "11111111-2222-3333-4444-555555555555".parse().unwrap();
    let yes = AssociateResponse {
        id,
        success: true,
        reason: None,
    };
    assert_eq!(
        encode(&yes).get(),
        format!(r#"{{"id":"{id}","success":true}}"#)
    );
}
