//! A revoked certificate ends its own sessions only.

use crate::support::{Client, Closed, World};

#[tokio::test]
async fn only_the_revoked_are_cut_and_cannot_come_back() {
    let world = World::new();
    let broker = world.broker(|_| {});
    let mut bad = Client::connect(&broker, "bad.example").await;
    let mut bad_v1 = Client::at(&broker, "bad.example", "/pcp/other").await;
    let mut good = Client::connect(&broker, "good.example").await;
    world.revoke("bad.example");
    let expected = Closed::Frame(1012, "Certificate revoked.".to_owned());
    assert_eq!(bad.closed().await, expected);
    assert_eq!(bad_v1.close_code().await, 1012);
    good.expect_alive().await;
    let again = Client::try_at(&broker, "bad.example", "/pcp2/agent").await;
    assert!(again.is_err(), "the handshake is refused");
    assert_eq!(broker.handle.connections(), 1);
}
