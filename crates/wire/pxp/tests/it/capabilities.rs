//! The header by which an agent announces extensions.

use pxp::{AgentCapabilities, CapabilitiesError};
use uuid::Uuid;

#[test]
fn the_header_says_it_all() {
    let capabilities = AgentCapabilities {
        version: "0.1.0".into(),
        live_output: true,
        acknowledged_results: true,
        cancel: true,
        facts: true,
        extended_requests: true,
        file_servers: true,
        leases: true,
        spool_id: Some(Uuid::from_u128(7)),
    };
    let header = capabilities.to_string();
    assert_eq!(
        header,
        "version=0.1.0, live_output, acknowledged_results, cancel, facts, \
         extended_requests, file_servers, leases, spool_id=00000000-0000-0000-0000-000000000007"
    );
    assert_eq!(header.parse(), Ok(capabilities));
}

#[test]
fn what_a_newer_agent_says_is_ignored() {
    let header = " teleport ,live_output,, lease=5, version = 9 ";
    let expected = AgentCapabilities {
        version: "9".into(),
        live_output: true,
        ..Default::default()
    };
    assert_eq!(header.parse(), Ok(expected));
    assert_eq!("".parse(), Ok(AgentCapabilities::default()));
}

#[test]
fn bad_headers_are_refused() {
    let parse = |text: &str| text.parse::<AgentCapabilities>().unwrap_err();
    assert_eq!(parse("spool_id=7"), CapabilitiesError::SpoolId);
    assert_eq!(parse("version=\u{1b}[31m"), CapabilitiesError::NotAscii);
    assert_eq!(parse("version=ä"), CapabilitiesError::NotAscii);
    assert_eq!(parse(&"x".repeat(1_025)), CapabilitiesError::TooLong(1_025));
}
