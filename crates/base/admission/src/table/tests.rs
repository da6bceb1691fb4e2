//! Tests of the table alone: which connections are displaced, and for which networks.

use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const PATIENCE: Duration = Duration::from_secs(5);

/// Connections have names, so that a test can identify the displaced one.
type Table = AdmissionTable<&'static str>;

fn table(half_open: usize, per_network: usize, connections: usize) -> Table {
    Table::new(AdmissionLimits {
        half_open,
        half_open_per_network: per_network,
        connections,
        handshake_patience: PATIENCE,
        ..AdmissionLimits::default()
    })
}

fn network(last: u8) -> PeerNetwork {
    IpAddr::from([192, 0, 2, last]).into()
}

/// The number of an admitted connection and the one it displaced.
fn admitted(entry: AdmissionDecision<&'static str>) -> (u64, Option<&'static str>) {
    match entry {
        AdmissionDecision::Admitted { number, displaced } => (number, displaced),
        AdmissionDecision::Refused => panic!("refused"),
    }
}

#[test]
fn a_network_at_its_limit_displaces_its_own_oldest_silent_connection() {
    let (mut table, now) = (table(10, 2, 10), Instant::now());
    let (speaks, _) = admitted(table.enter(network(1), "speaks", now));
    table.advance(speaks, ConnectionStage::Handshaking);
    admitted(table.enter(network(1), "silent", now));
    let (third, displaced) = admitted(table.enter(network(1), "third", now));
    assert_eq!(displaced, Some("silent"));
    // Only handshakes are left: a new one is not displaced, an old one is.
    table.advance(third, ConnectionStage::Handshaking);
    assert_eq!(
        table.enter(network(1), "late", now),
        AdmissionDecision::Refused
    );
    let (_, displaced) = admitted(table.enter(network(1), "later", now + PATIENCE));
    assert_eq!(displaced, Some("speaks"));
    // Other networks are not affected.
    assert_eq!(admitted(table.enter(network(2), "other", now)).1, None);
}

#[test]
fn a_full_table_displaces_from_the_network_that_has_the_most() {
    let (mut table, now) = (table(4, 3, 10), Instant::now());
    admitted(table.enter(network(2), "modest", now));
    for name in ["a", "b", "c"] {
        let (number, _) = admitted(table.enter(network(1), name, now));
        table.advance(number, ConnectionStage::Handshaking);
    }
    // Handshakes of the network with the most connections are displaced as well, so sending a byte
    // does not help a flood.
    let (_, displaced) = admitted(table.enter(network(3), "honest", now));
    assert_eq!(displaced, Some("a"));
    assert_eq!(table.half_open(), 4);
}

#[test]
fn many_networks_with_one_connection_each_displace_the_oldest_silent_one() {
    let (mut table, now) = (table(3, 2, 10), Instant::now());
    for (last, name) in [(1, "first"), (2, "second"), (3, "third")] {
        admitted(table.enter(network(last), name, now));
    }
    assert_eq!(
        admitted(table.enter(network(4), "fourth", now)).1,
        Some("first")
    );
}

#[test]
fn authenticated_connections_are_never_displaced_and_count_against_no_network() {
    let (mut table, now) = (table(4, 2, 6), Instant::now());
    for name in ["a", "b", "c", "d", "e"] {
        let (number, _) = admitted(table.enter(network(1), name, now));
        table.advance(number, ConnectionStage::Authenticated);
    }
    let (anonymous, _) = admitted(table.enter(network(1), "anonymous", now));
    table.advance(anonymous, ConnectionStage::Anonymous);
    assert!(!table.is_full_of_authenticated());
    let (last, displaced) = admitted(table.enter(network(2), "last", now));
    assert_eq!(displaced, Some("anonymous"));
    table.advance(last, ConnectionStage::Authenticated);
    assert!(table.is_full_of_authenticated());
    assert_eq!(
        table.enter(network(3), "one more", now),
        AdmissionDecision::Refused
    );
    table.leave(last);
    assert!(!table.is_full_of_authenticated());
}

proptest! {
    /// In every order of steps, no limit is exceeded, no authenticated connection is displaced, and
    /// the first connection of a network is always admitted while another network has two.
    #[test]
    fn limits_hold_in_every_order(steps in prop::collection::vec((0u8..4, 0u8..5, 0u64..40), 1..200)) {
        let now = Instant::now();
        let mut table: AdmissionTable<u64> = AdmissionTable::new(AdmissionLimits {
            half_open: 6,
            half_open_per_network: 4,
            connections: 9,
            handshake_patience: PATIENCE,
            ..AdmissionLimits::default()
        });
        let mut authenticated = BTreeSet::new();
        for (kind, last, number) in steps {
            match kind {
                0 => {
                    let expected = table.next_number;
                    let entry = table.enter(network(last), expected, now);
                    if let AdmissionDecision::Admitted { displaced: Some(displaced), .. } = entry {
                        prop_assert!(!authenticated.contains(&displaced));
                    }
                }
                1 => table.advance(number, ConnectionStage::Handshaking),
                2 => {
                    if table.connections.contains_key(&number) {
                        authenticated.insert(number);
                    }
                    table.advance(number, ConnectionStage::Authenticated);
                }
                _ => {
                    table.leave(number);
                    authenticated.remove(&number);
                }
            }
            prop_assert!(table.half_open <= 6);
            prop_assert!(table.connections.len() <= 9);
            prop_assert!(table.networks.values().all(|of| of.half_open() <= 4));
            let counted: usize = table.networks.values().map(NetworkConnections::half_open).sum();
            prop_assert_eq!(counted, table.half_open);
        }
    }
}
