//! The benchmark of fairness at its smallest size: every figure exists, and no honest client fails.
//! Times are not compared here, since other tests use the machine at the same time; memory is.

use testkit::fairness::{FairnessSite, FairnessSize, latency, memory, reconnect};
use testkit::installation::Programs;

/// Descriptors that a server may open for itself meanwhile: its database and its log.
const OPENED_BESIDES: usize = 16;

/// Largest memory of a half-open connection, from which the limits are calculated.
const MOST_KIB: f64 = 16.0;

fn programs() -> Programs {
    Programs::beside(env!("CARGO_BIN_EXE_tutti")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_clients_are_served_during_every_attack() {
    let size = FairnessSize::smallest();
    let site = FairnessSite::start(&programs()).await.unwrap();
    for scenario in size.scenarios() {
        let figures = latency::measure(&site, scenario, &size).await.unwrap();
        assert!(figures.len() >= 2, "{scenario:?}");
        for figure in figures {
            assert_eq!(figure.failure, None, "{figure:?}");
            assert_eq!(figure.samples, size.samples, "{figure:?}");
            assert!(figure.attack_actions_per_s > 0.0, "{figure:?}");
            assert!(figure.with_ms.p50 <= figure.with_ms.p99, "{figure:?}");
        }
    }
    site.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_open_connection_takes_16_kib_at_most() {
    let size = FairnessSize::smallest();
    for (port, first_bytes) in size.measured_ports() {
        let site = FairnessSite::start(&programs()).await.unwrap();
        let connections = size.measured_connections;
        let measuring = memory::measure(&site, port, first_bytes, connections);
        let figure = measuring.await.unwrap();
        // The attacker never has more, and all of them are within the limits.
        assert!(figure.held <= connections + OPENED_BESIDES, "{figure:?}");
        assert!(figure.held > connections / 2, "{figure:?}");
        assert!(figure.kib_each <= MOST_KIB, "{figure:?}");
        site.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_one_address_that_come_back_at_once_are_no_attack() {
    let agents = FairnessSize::smallest().agents;
    let figure = reconnect::measure(&programs(), agents).await.unwrap();
    assert_eq!(figure.agents, agents);
    assert!(!figure.dropped_at_limit, "{figure:?}");
}
