//! Delays and locks alone, with a time that the test sets.

use super::*;
use crate::defaults::{FAILURE_DECAY, LOCK_OUT, SLOW_STEP, SLOWEST};

const NOW: i64 = 1_000_000_000;

fn from(address: &str) -> LoginSource {
    LoginSource::new(Some(address.parse().unwrap()))
}

fn here() -> LoginSource {
    LoginSource::new(None)
}

/// An attempt with a password that no other attempt has.
fn attempt(locks: &LockOut, name: &str, source: LoginSource) -> LoginAttempt {
    let password = format!("{name} {source} {}", uuid::Uuid::new_v4());
    locks.to_attempt(name, &password.into(), source)
}

fn fail(locks: &mut LockOut, name: &str, source: LoginSource, times: u32) -> Vec<bool> {
    let mut once = |_| {
        let attempt = attempt(locks, name, source);
        locks.count_failure(&attempt, NOW)
    };
    (0..times).map(&mut once).collect()
}

fn after(passed: Duration) -> i64 {
    NOW + i64::try_from(passed.as_millis()).unwrap()
}

#[test]
fn the_tenth_failure_locks() {
    let mut locks = LockOut::new(NOW);
    assert_eq!(fail(&mut locks, "ann", here(), 9), [false; 9]);
    let next = attempt(&locks, "ann", here());
    assert_eq!(locks.remaining_lock(&next, NOW), None);
    assert!(locks.count_failure(&next, NOW));
    assert_eq!(locks.remaining_lock(&next, NOW), Some(LOCK_OUT));
    let end = after(LOCK_OUT);
    assert_eq!(
        locks.remaining_lock(&next, end - 1),
        Some(Duration::from_millis(1))
    );
    assert_eq!(locks.remaining_lock(&next, end), None);
    // The count starts again: the next mistake does not lock.
    assert!(!locks.count_failure(&next, end));
    assert_eq!(locks.remaining_lock(&next, end), None);
}

#[test]
fn all_spellings_of_a_name_are_counted_as_one() {
    let mut locks = LockOut::new(NOW);
    for spelled in ["rita k", " RITA K", "Rita\u{a0}  k\t"] {
        assert_eq!(fold_login(spelled), "rita k");
        fail(&mut locks, spelled, here(), 3);
    }
    let exact = attempt(&locks, "rita k", here());
    assert!(locks.count_failure(&exact, NOW), "the tenth");
    assert!(
        locks
            .remaining_lock(&attempt(&locks, "RITA k", here()), NOW)
            .is_some()
    );
}

#[test]
fn a_lock_is_for_the_source_that_failed() {
    let (mut locks, attacker) = (LockOut::new(NOW), from("192.0.2.1"));
    fail(&mut locks, "ann", attacker, 1_000);
    let waits = |source| {
        locks
            .remaining_lock(&attempt(&locks, "ann", source), NOW)
            .is_some()
    };
    assert!(waits(attacker));
    assert!(!waits(from("192.0.2.2")));
    assert!(!waits(here()));
}

#[test]
fn one_host_is_one_source() {
    assert_eq!(from("::ffff:192.0.2.1"), from("192.0.2.1"));
    assert_eq!(from("2001:db8::1"), from("2001:db8::ffff:0:0:1"));
    assert_ne!(from("2001:db8::1"), from("2001:db8:0:1::1"));
}

#[test]
fn what_is_taken_back_counts_no_more() {
    let mut locks = LockOut::new(NOW);
    fail(&mut locks, "ann", here(), 10);
    let next = attempt(&locks, "ann", here());
    locks.uncount_failure(&next);
    assert_eq!(locks.remaining_lock(&next, NOW), None);
    assert!(locks.count_failure(&next, NOW), "the tenth again");
    locks.uncount_failure(&attempt(&locks, "ann", from("192.0.2.1")));
    assert!(
        locks.remaining_lock(&next, NOW).is_some(),
        "of one source only"
    );
}

#[test]
fn many_failures_slow_a_name_down_from_everywhere_and_a_success_does_not_help() {
    let mut locks = LockOut::new(NOW);
    for index in 0..UNSLOWED_FAILURES {
        fail(&mut locks, "ann", from(&format!("192.0.2.{index}")), 1);
    }
    let next = attempt(&locks, "ann", here());
    assert_eq!(locks.delay(&next, NOW), Duration::ZERO);
    fail(&mut locks, "ann", from("198.51.100.1"), 3);
    locks.end_lock(&next);
    assert_eq!(locks.delay(&next, NOW), SLOW_STEP * 3);
    fail(&mut locks, "ann", from("198.51.100.1"), 1_000);
    assert_eq!(locks.delay(&next, NOW), SLOWEST);
    assert_eq!(locks.delay(&next, after(LOCK_OUT)), Duration::ZERO);
}

#[test]
fn a_source_that_tries_many_names_is_slowed_down_and_others_are_not() {
    let (mut locks, attacker) = (LockOut::new(NOW), from("192.0.2.1"));
    for index in 0..UNSLOWED_FAILURES + 3 {
        fail(&mut locks, &format!("user{index}"), attacker, 1);
    }
    let next = attempt(&locks, "another", attacker);
    assert_eq!(locks.delay(&next, NOW), SLOW_STEP * 3);
    assert_eq!(locks.delay(&next, after(FAILURE_DECAY)), SLOW_STEP * 2);
    let honest = attempt(&locks, "another", from("192.0.2.2"));
    assert_eq!(locks.delay(&honest, NOW), Duration::ZERO);
}

#[test]
fn one_password_tried_over_many_users_is_slowed_down_from_everywhere() {
    let mut locks = LockOut::new(NOW);
    let spray = |locks: &LockOut, index: u32| {
        let source = from(&format!("192.0.2.{index}"));
        locks.to_attempt(&format!("user{index}"), &"Winter2026!".into(), source)
    };
    for index in 0..UNSLOWED_PASSWORD_USES + 2 {
        let attempt = spray(&locks, index);
        locks.count_failure(&attempt, NOW);
    }
    let next = spray(&locks, 200);
    assert_eq!(locks.delay(&next, NOW), SLOW_STEP * 2);
    // A user who repeats a mistake tries only one name.
    let mut locks = LockOut::new(NOW);
    let mistaken = locks.to_attempt("ann", &"old password".into(), here());
    for _ in 0..UNSLOWED_PASSWORD_USES + 2 {
        locks.count_failure(&mistaken, NOW);
    }
    assert_eq!(locks.delay(&mistaken, NOW), Duration::ZERO);
}

#[test]
fn a_success_ends_the_lock_of_that_name_and_source_only() {
    let (mut locks, elsewhere) = (LockOut::new(NOW), from("192.0.2.1"));
    fail(&mut locks, "ann", here(), 9);
    fail(&mut locks, "ann", elsewhere, 10);
    fail(&mut locks, "bob", here(), 10);
    locks.end_lock(&attempt(&locks, "ann", here()));
    assert_eq!(fail(&mut locks, "ann", here(), 1), [false]);
    let waits = |name, source| {
        locks
            .remaining_lock(&attempt(&locks, name, source), NOW)
            .is_some()
    };
    assert!(waits("ann", elsewhere) && waits("bob", here()));
}

#[test]
fn invented_names_and_addresses_take_no_memory() {
    let mut locks = LockOut::new(NOW);
    for index in 0..6_000_u32 {
        let source = LoginSource::new(Some(std::net::Ipv4Addr::from_bits(index).into()));
        let attempt = locks.to_attempt(&format!("user{index}"), &"x".into(), source);
        locks.count_failure(&attempt, NOW + i64::from(index));
        locks.remember_source("id", source);
    }
    assert_eq!(locks.pairs.len(), COUNTED_PAIRS);
    assert_eq!(locks.names.len(), COUNTED_NAMES);
    assert_eq!(locks.sources.len(), COUNTED_SOURCES);
    assert!(locks.last_names.len() <= COUNTED_PASSWORDS);
    assert_eq!(locks.known_sources["id"].len(), SOURCES_PER_USER);
}

#[test]
fn a_clock_that_goes_back_keeps_the_lock() {
    let mut locks = LockOut::new(NOW);
    fail(&mut locks, "ann", here(), 10);
    let wait = locks.remaining_lock(&attempt(&locks, "ann", here()), NOW - 5_000);
    assert_eq!(wait, Some(LOCK_OUT));
}

#[test]
fn the_lock_of_a_user_ends_by_itself() {
    let mut locks = LockOut::new(NOW);
    let time = Duration::from_secs(60);
    assert!(
        !locks.is_user_lock_over("id", time, NOW),
        "found at the start"
    );
    assert!(locks.is_user_lock_over("id", time, after(time)));
    locks.lock_user("id", after(time));
    assert!(!locks.is_user_lock_over("id", time, after(time)));
    assert!(locks.is_user_lock_over("id", time, after(time * 2)));
}
