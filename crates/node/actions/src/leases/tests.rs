//! Tests of requests and releases, without a lease holder.

use std::os::unix::fs::PermissionsExt;

use super::stored_lease::tests::{clock, params};
use super::*;

fn leases() -> (tempfile::TempDir, NodeLeases) {
    let spool = tempfile::tempdir().unwrap();
    let leases = NodeLeases::below(spool.path());
    (spool, leases)
}

fn hold(leases: &NodeLeases, lease: u128, ttl_s: Option<u32>) -> LeaseAnswer {
    leases
        .hold(&params(lease, ttl_s), "pcp://o/server")
        .unwrap()
}

fn release(leases: &NodeLeases, lease: Option<u128>) -> bool {
    release_as(leases, lease, false)
}

fn release_as(leases: &NodeLeases, lease: Option<u128>, restore: bool) -> bool {
    let lease = lease.map(Uuid::from_u128);
    leases
        .release(&ReleaseLeaseParams { lease, restore })
        .unwrap()
}

fn wanted(leases: &NodeLeases) -> Option<Uuid> {
    let now = ClockReading::read().unwrap();
    leases.read_wanted(&now).map(|lease| lease.lease)
}

#[test]
fn a_lease_is_wanted_before_a_holder_exists() {
    let (_spool, leases) = leases();
    let answer = hold(&leases, 1, Some(60));
    assert_eq!(answer.result.state, HoldLeaseState::Waiting);
    assert!(answer.needs_holder);
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(1)));
    let mode = std::fs::metadata(leases.directory()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
}

#[test]
fn a_renewal_extends_the_lease() {
    let (_spool, leases) = leases();
    hold(&leases, 1, Some(1));
    let first = leases.read_stored().unwrap().unwrap();
    hold(&leases, 1, Some(60));
    let second = leases.read_stored().unwrap().unwrap();
    assert!(second.end.unwrap().boot_ms > first.end.unwrap().boot_ms + 50_000);
}

#[test]
fn a_second_lease_waits_while_the_first_has_time_left() {
    let now = clock(100, "boot");
    let first = StoredLease::new(&params(1, Some(60)), "o", &now);
    let refusal = |lease, now| find_other_lease(Uuid::from_u128(lease), Some(&first), now);
    assert_eq!(refusal(1, &now), None, "a renewal");
    assert_eq!(
        refusal(2, &now).as_deref(),
        Some("the lease of job 12 (release of the shop) is held until 2026-11-29T12:04:00Z")
    );
    let (over, rebooted) = (clock(160, "boot"), clock(100, "next"));
    assert_eq!(refusal(2, &over), None, "it is over");
    assert_eq!(refusal(2, &rebooted), None, "after a reboot");
}

#[test]
fn a_lease_without_an_end_gives_way() {
    let (_spool, leases) = leases();
    hold(&leases, 1, None);
    assert_eq!(
        hold(&leases, 2, Some(60)).result.state,
        HoldLeaseState::Waiting
    );
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(2)));
    let late = hold(&leases, 1, None);
    assert!(!late.needs_holder);
    let why = late.result.message.unwrap();
    assert!(why.contains("is held until"), "{why}");
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(2)));
}

#[test]
fn a_released_lease_cannot_be_held_again() {
    let (_spool, leases) = leases();
    hold(&leases, 1, Some(60));
    assert!(release(&leases, Some(1)));
    assert!(!release(&leases, Some(1)), "it is gone");
    let late = hold(&leases, 1, Some(60));
    assert_eq!(late.result.state, HoldLeaseState::Refused);
    assert!(!late.needs_holder);
    assert_eq!(wanted(&leases), None);

    assert!(!release(&leases, Some(2)));
    let overtaken = hold(&leases, 2, Some(60));
    assert_eq!(
        overtaken.result.state,
        HoldLeaseState::Refused,
        "the release came first"
    );
    assert_eq!(
        hold(&leases, 3, Some(60)).result.state,
        HoldLeaseState::Waiting
    );
}

#[test]
fn a_release_of_another_lease_leaves_this_one() {
    let (_spool, leases) = leases();
    hold(&leases, 1, Some(60));
    assert!(!release(&leases, Some(2)));
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(1)));
}

#[test]
fn an_administrator_ends_a_lease_for_good() {
    let (_spool, leases) = leases();
    assert_eq!(leases.release_as_administrator().unwrap(), None);
    assert!(!leases.directory().exists(), "a look leaves nothing");
    hold(&leases, 1, None);
    let shown = leases.show().unwrap().unwrap();
    assert_eq!(leases.release_as_administrator().unwrap(), Some(shown));
    assert_eq!(leases.show().unwrap(), None);
    let message = hold(&leases, 1, None).result.message.unwrap();
    assert!(message.contains("administrator"), "{message}");
}

#[test]
fn a_progress_counts_only_while_its_process_exists() {
    let (_spool, leases) = leases();
    hold(&leases, 1, Some(60));
    let claim = leases.begin_holding().unwrap().unwrap();
    assert!(leases.begin_holding().unwrap().is_none(), "one at a time");
    let record = |lease| HolderRecord {
        pid: std::process::id(),
        lease: Uuid::from_u128(lease),
        progress: HolderProgress::Held,
    };
    leases.record(&record(1)).unwrap();
    let answer = hold(&leases, 1, Some(60));
    assert_eq!(answer.result.state, HoldLeaseState::Held);
    assert!(!answer.needs_holder);
    leases.record(&record(2)).unwrap();
    assert_eq!(
        hold(&leases, 1, Some(60)).result.state,
        HoldLeaseState::Waiting,
        "that of another lease"
    );
    leases.record(&record(1)).unwrap();
    drop(claim);
    let answer = hold(&leases, 1, Some(60));
    assert_eq!(answer.result.state, HoldLeaseState::Waiting);
    assert!(answer.needs_holder);
    let claim = leases.begin_holding().unwrap().unwrap();
    assert_eq!(claim.earlier, Some(record(1)));
}

#[test]
fn a_holder_goes_on_if_the_lease_is_renewed_before_its_end() {
    let (_spool, leases) = leases();
    hold(&leases, 1, Some(60));
    let claim = leases.begin_holding().unwrap().unwrap();
    let claim = leases.end_holding(claim, || panic!("the lease is not over"));
    release(&leases, Some(1));
    let mut given_back = false;
    assert!(
        leases
            .end_holding(claim.unwrap(), || given_back = true)
            .is_none()
    );
    assert!(given_back);
    assert!(hold(&leases, 2, Some(60)).needs_holder);
}

#[test]
fn what_an_earlier_agent_left_is_resumed_or_removed() {
    let (_spool, leases) = leases();
    assert!(!leases.resume().unwrap());
    hold(&leases, 1, Some(60));
    let leftover = leases.directory().join(".tmp-x");
    std::fs::write(&leftover, "").unwrap();
    assert!(leases.resume().unwrap());
    assert!(!leftover.exists());
    let claim = leases.begin_holding().unwrap();
    assert!(!leases.resume().unwrap(), "it has a lease holder");
    drop(claim);

    let over = |end: Option<(&str, u64)>| {
        let mut lease = leases.read_stored().unwrap().unwrap();
        lease.end = end.map(|(boot_id, boot_ms)| stored_lease::LeaseEnd {
            boot_id: boot_id.to_owned(),
            boot_ms,
        });
        write_json(&leases.directory.join(LEASE_FILE), &lease).unwrap();
    };
    over(None);
    assert!(leases.resume().unwrap(), "until it is released");
    over(Some(("an earlier boot", u64::MAX)));
    assert!(!leases.resume().unwrap());
    assert!(!leases.directory.join(LEASE_FILE).exists());
}

#[test]
fn damaged_files_are_replaced_by_the_next_request() {
    let (_spool, leases) = leases();
    hold(&leases, 1, Some(60));
    for file in [LEASE_FILE, RELEASED_FILE] {
        for content in ["", "{\"lease\":", "[]", "null"] {
            std::fs::write(leases.directory.join(file), content).unwrap();
            assert_eq!(
                hold(&leases, 1, Some(60)).result.state,
                HoldLeaseState::Waiting
            );
            assert_eq!(wanted(&leases), Some(Uuid::from_u128(1)));
        }
    }
    std::fs::write(leases.directory.join(LEASE_FILE), "{").unwrap();
    assert_eq!(wanted(&leases), None);
    let error = leases.show().unwrap_err().to_string();
    assert!(error.contains("lease.json is damaged: "), "{error}");
    assert!(!leases.resume().unwrap());
}

#[test]
fn an_orchestrator_sees_and_ends_whichever_lease_the_node_has() {
    let (_spool, leases) = leases();
    assert!(!release(&leases, None));
    assert_eq!(leases.show_to_orchestrator().unwrap(), None);
    hold(&leases, 1, None);
    let shown = leases.show_to_orchestrator().unwrap().unwrap();
    assert_eq!((shown.lease, shown.ends_in_s), (Uuid::from_u128(1), None));
    assert!(release(&leases, None));
    assert_eq!(wanted(&leases), None);
    assert_eq!(hold(&leases, 1, None).result.state, HoldLeaseState::Refused);
    hold(&leases, 2, Some(60));
    let left = leases.show_to_orchestrator().unwrap().unwrap().ends_in_s;
    assert!((1..=60).contains(&left.unwrap()));
}

/// Changes `lease.json`, as the passage of time or a restart of the machine would.
fn make_over(leases: &NodeLeases) {
    let mut lease = leases.read_stored().unwrap().unwrap();
    lease.end.as_mut().unwrap().boot_id = "an earlier boot".to_owned();
    write_json(&leases.directory.join(LEASE_FILE), &lease).unwrap();
}

/// A lease 1 without an end that lease 2 replaces.
fn replaced() -> (tempfile::TempDir, NodeLeases) {
    let (spool, leases) = leases();
    hold(&leases, 1, None);
    hold(&leases, 2, Some(60));
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(2)));
    (spool, leases)
}

fn is_refused(leases: &NodeLeases, lease: u128) -> bool {
    hold(leases, lease, None).result.state == HoldLeaseState::Refused
}

#[test]
fn a_replaced_lease_is_back_when_the_new_one_is_over() {
    let (_spool, leases) = replaced();
    hold(&leases, 2, Some(60));
    make_over(&leases);
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(1)));
    let shown = leases.show().unwrap().unwrap();
    assert_eq!((shown.lease, shown.until), (Uuid::from_u128(1), None));
    assert!(leases.resume().unwrap(), "a lease holder is needed");
    let claim = leases.begin_holding().unwrap().unwrap();
    let claim = leases.end_holding(claim, || panic!("a lease is back"));
    drop(claim.unwrap());
    // The next one replaces it as well, and a late renewal of the second one waits.
    hold(&leases, 3, Some(60));
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(3)));
    assert!(hold(&leases, 2, Some(60)).result.message.is_some());
    make_over(&leases);
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(1)));
    assert!(release(&leases, None));
    assert_eq!(wanted(&leases), None);
    assert!(is_refused(&leases, 1));
}

#[test]
fn a_release_restores_a_replaced_lease_or_ends_it() {
    for named in [Some(2), None] {
        let (_spool, leases) = replaced();
        assert!(release_as(&leases, named, true));
        assert_eq!(wanted(&leases), Some(Uuid::from_u128(1)));
        assert!(is_refused(&leases, 2));
        assert!(!is_refused(&leases, 1));

        let (_spool, leases) = replaced();
        assert!(release(&leases, named));
        assert_eq!(wanted(&leases), None);
        assert!(is_refused(&leases, 1) && is_refused(&leases, 2));
    }
    let (_spool, leases) = replaced();
    make_over(&leases);
    assert!(release(&leases, Some(2)), "late, and a success");
    assert_eq!(wanted(&leases), None);
    assert!(is_refused(&leases, 1));
}

#[test]
fn the_replaced_lease_can_be_released_by_itself() {
    let (_spool, leases) = replaced();
    assert!(release(&leases, Some(1)));
    assert_eq!(wanted(&leases), Some(Uuid::from_u128(2)));
    make_over(&leases);
    assert_eq!(wanted(&leases), None);

    let (_spool, leases) = replaced();
    make_over(&leases);
    assert!(release(&leases, Some(1)));
    assert_eq!(wanted(&leases), None);
    assert!(!leases.resume().unwrap());
}

#[test]
fn an_administrator_ends_the_replaced_lease_too() {
    let (_spool, leases) = replaced();
    let shown = leases.release_as_administrator().unwrap().unwrap();
    assert_eq!(shown.lease, Uuid::from_u128(2));
    assert_eq!(wanted(&leases), None);
    for lease in [1, 2] {
        let message = hold(&leases, lease, None).result.message.unwrap();
        assert!(message.contains("administrator"), "{message}");
    }
}

#[test]
fn a_new_lease_without_an_end_replaces_for_good() {
    let (_spool, leases) = replaced();
    hold(&leases, 2, None);
    assert_eq!(leases.read_stored().unwrap().unwrap().replaced, None);
    assert!(release_as(&leases, Some(2), true));
    assert_eq!(wanted(&leases), None);
}

#[test]
fn the_file_of_two_leases_can_be_read() {
    let (_spool, leases) = leases();
    let text = "\"\u{10ffff}".repeat(1000);
    for (lease, ttl_s) in [(1, None), (2, Some(60))] {
        let params = HoldLeaseParams {
            job: text.clone(),
            reason: text.clone(),
            ..params(lease, ttl_s)
        };
        leases.hold(&params, &text).unwrap();
    }
    let stored = leases.read_stored().unwrap().unwrap();
    assert_eq!(stored.replaced.unwrap().lease, Uuid::from_u128(1));
}

#[test]
fn a_late_renewal_gives_no_end_to_a_lasting_lease() {
    let (_spool, leases) = leases();
    for ttl_s in [Some(60), None, Some(60)] {
        hold(&leases, 1, ttl_s);
    }
    assert_eq!(leases.read_stored().unwrap().unwrap().end, None);
    hold(&leases, 2, Some(60));
    make_over(&leases);
    hold(&leases, 1, Some(60));
    assert_eq!(leases.show().unwrap().unwrap().until, None);
}
